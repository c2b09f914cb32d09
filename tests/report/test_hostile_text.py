"""Text that attacks whatever shows it: on no page, in a real Chromium, does a script run or a request leave."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from attacks import Visited, browser, dom, visited

import kg2rag
from kg2rag.evaluation.comparison import Comparison
from kg2rag.report import plots
from kg2rag.report.question_explanation import explain
from kg2rag.report.widgets import browse
from kg2rag.text import templates
from kg2rag.text.shown import console as console_of
from kg2rag.types import Corpus, Passage, QADataset, Question, Ranking, Triple, rank


@pytest.fixture(scope="module")
def server() -> Iterator[Visited]:
    with visited() as running:
        yield running


@pytest.fixture(scope="module")
def attacks(server: Visited) -> list[str]:
    return server.attacks()


@pytest.fixture(scope="module")
def data(attacks: list[str]) -> QADataset:
    return hostile_data(attacks)


def hostile_data(attacks: list[str]) -> QADataset:
    """A question and a passage for each attack, which is title, text, type, answer and half of an id."""
    passages = [Passage(f"p{i} {text}", text, f"{text} text", f"d{i} {text}", 0) for i, text in enumerate(attacks)]
    questions = tuple(
        Question(f"q{i} {text}", f"{text}?", {passages[i].id: 1}, answers=(text,), type=text[:24])
        for i, text in enumerate(attacks)
    )
    return QADataset("hostile " + attacks[0], Corpus.from_passages(passages), questions)


@pytest.fixture(scope="module")
def result(data: QADataset) -> Comparison:
    return hostile_result(data)


def hostile_result(data: QADataset) -> Comparison:
    """Two systems, one of which finds what the other does not."""
    ids = data.corpus.ids
    right = {query.id: [(ids[i], 2.0), (ids[i - 1], 1.0)] for i, query in enumerate(data.queries)}
    wrong = {query.id: [(ids[i - 1], 2.0)] for i, query in enumerate(data.queries)}
    systems = {name: kg2rag.Recorded(data.corpus, run) for name, run in (("right", right), ("wrong", wrong))}
    return kg2rag.compare(systems, data, metrics=["recall@1", "mrr@10"], baseline="wrong", progress=False)


def by_path(data: QADataset, attacks: list[str]) -> Ranking:
    """A ranking whose hits were reached over triples."""
    triples = {i: (Triple(text, f"{text} of", f"{text} too", data.corpus.ids[i]),) for i, text in enumerate(attacks)}
    rows = np.arange(len(attacks))
    return rank("q0", rows, -rows.astype(float), data.corpus.ids, 20, stages=("expanded",), paths=triples)


@pytest.fixture(scope="module")
def surfaces(
    result: Comparison, data: QADataset, attacks: list[str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Name of each surface -> a whole page."""
    folder = tmp_path_factory.mktemp("saved")
    result.save(folder)
    systems = {"recorded": kg2rag.Recorded(data.corpus, {q.id: [(data.corpus.ids[0], 1.0)] for q in data.queries})}
    explained = explain(systems, data, data.queries[0].id, k=2)
    fallen = result.waterfall("right")
    graph = nx.MultiDiGraph()
    for text in attacks:
        graph.add_edge(text, f"{text} too", relation=text, strength=5.0)
    fragments = {
        "table": result._repr_html_(),
        "explanation": explained._repr_html_(),
        "path": by_path(data, attacks).explain(20, dict(zip(data.corpus.ids, attacks, strict=True)))._repr_html_(),
        "waterfall": fallen._repr_html_(),
        "browser": browse(result, data).panel.shown.value,
        "network": str(plots.to_svg(plots.network(graph), "network")),
    }
    pages = {name: f"<!doctype html><meta charset=utf-8><body>{html}" for name, html in fragments.items()}
    pages["report page"] = (folder / "report.html").read_text()
    return pages | {"explanation page": explained.to_html(), "waterfall page": fallen.to_html()}


SURFACES = (
    *("table", "explanation", "path", "waterfall", "browser", "network"),
    *("report page", "explanation page", "waterfall page"),
)


def opened(page: str, folder: Path) -> str:
    """The document after Chromium has loaded a page and let its scripts run."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8", errors="replace")
    return dom(file.as_uri(), folder)


@browser
def test_the_browser_would_run_what_is_not_escaped(server: Visited, attacks: list[str], tmp_path: Path) -> None:
    assert "data-attacked" in opened(f"<!doctype html><body>{attacks[0]}{attacks[2]}", tmp_path)
    assert {"/script", "/image"} <= set(server.paths)
    server.paths.clear()


@browser
@pytest.mark.parametrize("surface", SURFACES)
def test_no_script_runs_and_no_request_leaves(
    surface: str, surfaces: dict[str, str], server: Visited, tmp_path: Path
) -> None:
    server.paths.clear()
    document = opened(surfaces[surface], tmp_path)
    assert 'data-attacked="yes"' not in document.split(">", 2)[1]
    assert len(document) > 1000
    assert server.paths == []


@browser
def test_the_policy_alone_stops_what_would_not_be_escaped(server: Visited, attacks: list[str], tmp_path: Path) -> None:
    server.paths.clear()
    head = f"<!doctype html><html><head>{templates.render('policy.html.j2')}</head>"
    page = f"{head}<body>{attacks[0]}{attacks[2]}{attacks[5]}"
    assert "data-attacked" not in opened(page, tmp_path).split("<head>")[0]
    assert server.paths == []


def test_every_page_has_the_policy_before_anything_that_it_governs() -> None:
    folder = Path(templates.__file__).parent
    # Those that are served have a stricter one, in a header: tests/serving.
    own = [file.read_text() for file in folder.glob("*.j2") if not file.name.startswith("served_")]
    pages = [text for text in own if "<!doctype" in text]
    assert len(pages) >= 4
    for page in pages:
        head = page[page.index("<head>") :]
        assert head.split("\n")[1:3] == ['<meta charset="utf-8">', '{% include "policy.html.j2" %}']


def test_a_terminal_gets_no_control_character_of_the_data() -> None:
    control = "\x1b[31m\x1b]8;;http://x\x1b\\x\x07\u202e\u200b\x00 [/INST]"
    corpus = Corpus.from_passages([Passage(f"p{control}", control, control, "d", 0)])
    over = QADataset("tiny", corpus, (Question("q", control, {corpus.ids[0]: 1}, answers=(control,)),))
    explained = explain({"recorded": kg2rag.Recorded(corpus, {"q": [(corpus.ids[0], 1.0)]})}, over, "q", k=1)
    stream = StringIO()
    console_of(file=stream, force_terminal=False, width=200).print(explained)
    for text in (stream.getvalue(), repr(explained)):
        assert not set(text) & set("\x1b\x07\x00\u202e\u200b")
        assert "[/INST]" in text


@pytest.mark.parametrize(
    "name", ["../../x", "a/b", "..", "=1+1", "+1", "-1", "@x", ".x", "a\nb", "a b", "a\0b", "", "a\\b", "[/INST]"]
)
def test_a_system_name_that_could_leave_its_folder_or_be_a_formula_is_refused(name: str, data: QADataset) -> None:
    systems = {name: kg2rag.Recorded(data.corpus, {query.id: [(data.corpus.ids[0], 1.0)] for query in data.queries})}
    with pytest.raises(ValueError, match="cannot name a file"):
        kg2rag.compare(systems, data, metrics=["recall@1"], progress=False)


def test_dollar_signs_in_names_are_drawn_as_they_are(attacks: list[str]) -> None:
    graph = nx.MultiDiGraph()
    graph.add_edge("$\\frac{1}$", "costs $5 or $6", relation="$x_", strength=5.0)
    drawn = str(plots.to_svg(plots.network(graph), "n"))
    assert "$\\frac{1}$" in drawn
    assert "costs $5 or $6" in drawn
    stream = StringIO()
    plots.network(graph).savefig(stream, format="svg")  # as a notebook does
