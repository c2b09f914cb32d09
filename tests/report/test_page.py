"""The page of a comparison: what it holds, and what its script does in a real Chromium, with hostile texts too."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from attacks import Visited, browser, dom, visited
from markupsafe import Markup

import kg2rag
from kg2rag.evaluation.result import Comparison
from kg2rag.report import Frame, html, plots, questions_json
from kg2rag.report.html import as_json, document, source
from kg2rag.report.question_explanation import explain
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Corpus, Notes, Passage, QADataset, Question, Ranking, Triple

TEXTS = ("Kiln builder", "Hall of clay", "River bank", "Old mill")
CHECKS = """
const wanted = (ok, what) => { if (!ok) throw new Error(what); };
const list = () => [...document.querySelectorAll(".list button")], form = document.querySelector("form").elements;
const change = (name, value, kind = "change") => {
  form[name].value = value; form[name].dispatchEvent(new Event(kind));
};
const columns = () => [...document.querySelectorAll(".pair > section")];
"""


class Walking(Retriever):
    """A system that finds passage `shift` places after the question's own, the first over a path."""

    def __init__(self, corpus: Corpus, shift: int, paths: bool = False) -> None:
        self.corpus, self.shift, self.paths = corpus, shift, paths

    def __repr__(self) -> str:
        return f"Walking({self.shift})"

    def retrieve_batch(self, queries: Any, k: int) -> list[Ranking]:
        n, ids, found = len(self.corpus), self.corpus.ids, []
        for at, query in enumerate(queries):
            rows = (at + self.shift + np.arange(min(3, n))) % n
            scores, row = np.array([0.9, 0.5, 0.25])[: len(rows)], int(rows[0])
            title = self.corpus[row].title
            paths = {
                row: (
                    Triple(
                        title, "lies near", f"{title} too", ids[row], 7.0, 1.0, "told"
                    ),
                )
            }
            told: Any = {
                "stages": ("walk",),
                "notes": Notes("0.5 · cosine", "graph"),
                "paths": paths if self.paths else {},
            }
            told["score_parts"] = {
                "cosine": scores / 0.5,
                "graph rank": np.arange(len(rows)) + 1.0,
            }
            found.append(
                Ranking.from_scores(query.id, rows, scores, ids, **told).top(k)
            )
        return found


def dataset(texts: tuple[str, ...], name: str = "tiny") -> QADataset:
    """A question and a passage for each text, which is title, text, type, answer and half of an id."""
    passages = [
        Passage(f"p{i} {text}", text, f"{text} text", f"d{i} {text}", 0)
        for i, text in enumerate(texts)
    ]
    questions = tuple(
        Question(
            f"q{i} {text}",
            f"{text}?",
            {passages[i].id: 1},
            answers=(text,),
            type=text[:24],
            hops=i % 2 + 1,
        )
        for i, text in enumerate(texts)
    )
    return QADataset(name, Corpus.from_passages(passages), questions)


def compared(data: QADataset) -> Comparison:
    systems = {
        "right": Walking(data.corpus, 0, paths=True),
        "wrong": Walking(data.corpus, 1),
    }
    return kg2rag.compare(
        systems, data, metrics=["recall@1", "mrr@10"], baseline="wrong"
    )


@pytest.fixture(scope="module")
def result() -> Comparison:
    return compared(dataset(TEXTS))


def held(page: str) -> Any:
    """What the page's script reads."""
    found = re.search(
        r'<script type="application/json" id="kg2rag-page">(.*?)</script>',
        page,
        re.DOTALL,
    )
    assert found
    return json.loads(found.group(1))


def test_the_page_holds_each_text_once_and_each_hit_with_what_explains_it(
    result: Comparison,
) -> None:
    data = held(result.to_html())
    assert data["systems"] == ["right", "wrong"]
    assert data["first"] == [1, 0]
    assert data["passages"][0] == [
        "p0 Kiln builder",
        "Kiln builder",
        "Kiln builder text",
    ]
    assert len(data["passages"]) == len(TEXTS)
    assert data["questions"][1][:4] == [
        "q1 Hall of clay",
        "Hall of clay?",
        "Hall of clay",
        "2",
    ]
    assert data["questions"][1][4] == [[100.0, 100.0], [0.0, 0.0]]
    right, wrong = data["hits"][0]["systems"]
    assert [right["gold"], wrong["gold"]] == [[1], [0]]
    assert [data["passages"][at][1] for at in wrong["passages"]] == [
        "Hall of clay",
        "River bank",
        "Old mill",
    ]
    assert data["labels"][right["stages"][0]] == "walk, from graph"
    assert data["formulas"][right["formulas"][0]] == [["0.5 · ", "cosine", ""]]
    assert data["parts"][right["parts"]] == ["cosine", "graph rank"]
    assert right["values"][0] == [1.8, 1]
    assert data["triples"][right["paths"][0][0]] == [
        "Kiln builder",
        "lies near",
        "Kiln builder too",
        7,
        "told",
    ]
    assert not any(wrong["paths"])


def test_a_page_that_would_be_too_large_leaves_hits_out_and_says_so(
    result: Comparison,
) -> None:
    data = json.loads(
        questions_json(
            result.rankings, result.per_query, result.sheet, result.inputs.data, 0.001
        )
    )
    assert 0 < len(data["hits"]) < len(TEXTS)
    assert len(data["questions"]) == len(TEXTS)


def test_without_its_data_set_a_comparison_shows_ids(result: Comparison) -> None:
    data = json.loads(questions_json(result.rankings, result.per_query, result.sheet))
    assert data["passages"][0] == ["p0 Kiln builder"]
    assert data["hits"][0]["gold"] == []


@pytest.mark.parametrize(
    "text",
    ["</script><script>", "<!--", "&amp;", "\u2028\u2029", "lone \ud800", "\x00\u202e"],
)
def test_data_in_a_page_ends_no_element_and_reads_as_before(text: str) -> None:
    page = document(
        "title", Markup("<p>body</p>"), {"page.js": as_json({"text": text})}
    )
    data = re.search(r'id="kg2rag-page">(.*?)</script>', page, re.DOTALL)
    assert data
    assert not set(data.group(1)) & set("<>&\u2028\u2029")
    assert json.loads(data.group(1))["text"] == text.replace("\ud800", "?")


def test_the_policy_allows_this_style_and_this_script_alone(result: Comparison) -> None:
    page = result.to_html(result.waterfall("right"))
    policy = unescape(
        re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    )
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "script-src 'sha256-" in policy
    assert not re.search(
        r"\s(style|on\w+)=", page.partition("<body")[2].partition("<script")[0]
    )
    assert source("page.js") in page
    assert "innerHTML" not in source("page.js")
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_a_frame_holds_the_page_as_text(result: Comparison) -> None:
    frame = result.browse(height=300)
    assert isinstance(frame, Frame)
    srcdoc = re.search(r'srcdoc="([^"]*)"', frame._repr_html_())
    assert srcdoc
    assert held(unescape(srcdoc.group(1)))["systems"] == ["right", "wrong"]


def clicked(
    result: Comparison, script: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """What became of a script that clicks through the page in Chromium: "passed", or what was not as wanted."""
    whole = f"{CHECKS} const root = document.documentElement.dataset; try {{ {script}; root.test = 'passed' }}"
    whole += " catch (error) { root.test = error.stack }"
    monkeypatch.setattr(
        html, "source", lambda name: source(name) + (whole if name == "page.js" else "")
    )
    return unescape(
        re.search(r'data-test="([^"]*)"', opened(result.to_html(), folder)).group(1)
    )


def opened(page: str, folder: Path) -> str:
    """The document after Chromium has loaded a page and let its script run."""
    file = folder / "page.html"
    file.write_text(page, encoding="utf-8", errors="replace")
    return dom(file.as_uri(), folder)


@browser
def test_in_a_browser_questions_are_filtered_and_two_systems_compared(
    result: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = """
    wanted(list().length === 4, "all are listed");
    wanted(columns()[0].textContent.startsWith("wrong") && columns()[1].textContent.startsWith("right"), "two systems");
    wanted(columns()[0].querySelectorAll(".is-gold").length === 0, "wrong finds no gold");
    wanted(columns()[1].querySelector(".hit").matches(".is-gold"), "the first hit of right is gold");
    wanted(columns()[1].querySelector(".kg2rag-path").textContent.includes("lies near"), "its path");
    wanted(columns()[1].querySelector(".sum").textContent === "= 0.5 · 1.8 (cosine)", "its arithmetic");
    wanted(columns()[1].textContent.includes("besides: graph rank 1"), "what the arithmetic leaves out");
    wanted(columns()[1].querySelectorAll(".hit")[1].textContent.includes("▼ wrong 1"), "its rank in the other");
    change("words", "river", "input");
    wanted(list().length === 1 && list()[0].textContent.includes("River bank"), "by words");
    wanted(document.querySelector(".question").textContent === "River bank?", "the one that matches is shown");
    change("words", "", "input"); change("hops", "2");
    wanted(list().length === 2, "by hops");
    change("hops", ""); change("type", "Old mill");
    wanted(list().length === 1, "by type");
    change("type", ""); change("ahead", "left");
    wanted(list().length === 0 && document.body.textContent.includes("No question matches"), "by which is ahead");
    change("ahead", "right");
    wanted(list().length === 4, "right is ahead on all");
    list()[1].focus(); list()[1].click();
    list()[1].dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    wanted(document.activeElement === list()[2] && list()[2].getAttribute("aria-current") === "true", "by keyboard");
    change("ahead", ""); change("left", "0");
    wanted(form.right.value === "1" && columns()[0].textContent.startsWith("right"), "systems change places");
    change("metric", "1");
    wanted(list()[0].textContent.includes("100.0 → 0.0"), "another metric")
    """
    assert clicked(result, script, tmp_path, monkeypatch) == "passed"


@pytest.fixture(scope="module")
def server() -> Any:
    with visited() as running:
        yield running


def network(attacks: list[str]) -> str:
    graph = nx.MultiDiGraph()
    for text in attacks:
        graph.add_edge(text, f"{text} too", relation=text, strength=5.0)
    return str(plots.to_svg(plots.network(graph), "network"))


@browser
def test_hostile_texts_run_nothing_and_ask_for_nothing(
    server: Visited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one document per kind of view: pages under their policy, fragments of notebooks without any."""
    attacks = [*server.attacks(), "\u202egnp.exe\u2066 \u200b", "wide " * 4000]
    assert "data-attacked" in opened(
        f"<!doctype html><body>{attacks[0]}{attacks[2]}", tmp_path
    )
    assert {"/script", "/image"} <= set(server.paths)  # what is not escaped runs
    server.paths.clear()
    data = dataset(tuple(attacks), "hostile " + attacks[0])
    result = compared(data)
    explained = explain(
        {"right": Walking(data.corpus, 0, paths=True)}, data, data.queries[0].id, k=3
    )
    fallen = result.waterfall("right")
    shown = (result, explained, fallen, result.browse())
    fragments = "".join(
        [*(one._repr_html_() for one in shown), network(server.attacks())]
    )
    pages = (
        explained.to_html(),
        fallen.to_html(),
        f"<!doctype html><meta charset=utf-8><body>{fragments}",
    )
    for page in pages:
        document = opened(page, tmp_path)
        assert 'data-attacked="yes"' not in document.split(">", 2)[1]
    click = "for (const button of list()) { button.click(); wanted(columns()[1].querySelector('.is-gold'), 'gold') }"
    assert clicked(result, click, tmp_path, monkeypatch) == "passed"
    assert server.paths == []


@browser
def test_the_policy_alone_stops_what_would_not_be_escaped(
    server: Visited, tmp_path: Path
) -> None:
    server.paths.clear()
    attacks = server.attacks()
    page = document("title", Markup(attacks[0] + attacks[2] + attacks[5]))
    assert "data-attacked" not in opened(page, tmp_path).split("<head>")[0]
    assert server.paths == []
