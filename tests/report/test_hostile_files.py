"""Text that attacks what is written for people and programs: each surface shows it, or refuses it, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from urllib.parse import unquote

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from fuzz import seeds
from word_embedder import WordEmbedder

import kg2rag
from kg2rag.compute import Store
from kg2rag.evaluation import Comparison
from kg2rag.extraction import Extraction
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.report import ScoreSheet, markdown
from kg2rag.report.markup import pipe_table
from kg2rag.retrievers.adapters import trec
from kg2rag.text.cells import console as console_of
from kg2rag.text.cells import csv_of, frame_of_csv, visible
from kg2rag.types import Corpus, Passage, QADataset, Question, Ranking, Triple

ATTACKS: Mapping[str, str] = {
    "formula": '=HYPERLINK("http://x";"y")',
    "plus": "+1+cmd|' /C calc'!A0",
    "minus": "-2+3",
    "at": "@SUM(1)",
    "tab": "\t=1",
    "return": "\r=1",
    "quoted formula": "'=1",
    "pipe": "a|b\\|c\\",
    "braces": "{}{{ 7 * 7 }}{% raw %}",
    "latex": r"\input{/etc/passwd}$x_1^2$ & 5% #1 ~",
    "lines": "one\ntwo\r\nthree\u2028four\x85five",
    "blanks": " a  b\u00a0c ",
    "markup": "<script>alert(1)</script><b onclick=x>[l](javascript:x)`c`*d*_e_",
    "terminal": "\x1b[31mred\x1b]8;;http://x\x07\u202e\u200b\x00 [/INST][bold]",
    "quotes": "a\"b'c,d;e",
    "hash": "# not a comment",
    "megabyte": "x" * 1_000_000,
}


def scores(name: str) -> pd.DataFrame:
    """The scores of two systems, one of them of a hostile name."""
    rows = [
        (name, "recall@5", 0.5, 0.4, 0.6, np.nan),
        ("other", "recall@5", 0.25, -0.125, 0.3, 0.5),
    ]
    frame = pd.DataFrame(
        rows, columns=["system", "metric", "mean", "ci_low", "ci_high", "p_holm"]
    )
    counts = pd.array([1, 1], "Int64")
    return frame.assign(
        wins=counts,
        ties=counts,
        losses=counts,
        detectable=0.1,
        p_best=np.nan,
        seed_sd=np.nan,
    )


def sheet(name: str) -> ScoreSheet:
    data = {
        "name": name,
        "setting": "pooled",
        "questions": 1,
        "passages": 1,
        "unit": "passage",
    }
    config = {"data": data, "remarks": {name: name}}
    return ScoreSheet(
        scores(name), {name: 1.0, "other": 2.0}, "other", config, {name: name}
    )


def on_one_line(text: str) -> str:
    return visible(" ".join(text.splitlines()))


def in_scores_csv(text: str, folder: Path) -> None:
    frame = scores(text).assign(**{text: -1.5})
    file = folder / "scores.csv"
    file.write_bytes(csv_of(frame, index=False).encode())
    read = pd.read_csv(file, keep_default_na=False, lineterminator="\n")
    assert not {read["system"][0][:1], read.columns[-1][:1]} & set("=+-@\t\r")
    back = frame_of_csv(read)
    assert (back["system"].tolist(), back.columns[-1]) == ([text, "other"], text)
    assert back["ci_low"].tolist() == [0.4, -0.125]  # a negative number is no text


def in_markdown(text: str, _: Path) -> None:
    lines = markdown(sheet(text)).split("\n")
    rows = lines[: lines.index("")]
    assert len(rows) == 4  # the header, the rule, two systems
    assert [len(cells_of(row)) for row in rows] == [3, 3, 3, 3]
    shown = re.sub(r"\\([\\`*_|<>\[\]])", r"\1", cells_of(rows[2])[0])
    assert shown.strip() == f"{on_one_line(text)} ‡".strip()
    assert not re.search(r"(?<!\\)<[a-z/]", "\n".join(lines))


def in_pipe_table(text: str, _: Path) -> None:
    lines = pipe_table(["a", "b"], [[text, "x"], ["y", text]])
    assert len(lines) == 4
    assert [len(cells_of(line)) for line in lines] == [2, 2, 2, 2]
    assert not re.search(r"(?<!\\)<[a-z/]", "\n".join(lines))


def in_trec_run(text: str, folder: Path) -> None:
    corpus = Corpus.from_passages([Passage(text, "t", "x", "d", 0)])
    ranking = Ranking(text, np.array([0]), np.array([0.5]), corpus.ids)
    file = folder / "run.trec"
    file.write_text(trec.dump([ranking], text), encoding="utf-8", newline="")
    assert len(file.read_bytes().split(b"\n")) == 2
    assert trec.load(file) == {text: [(text, 0.5)]}


def in_trec_qrels(text: str, folder: Path) -> None:
    written = trec.dump_qrels({text: {text: 1}})
    query, _, passage, grade = written.removesuffix("\n").split()
    assert (unquote(query), unquote(passage), grade) == (text, text, "1")


def in_terminal(text: str, _: Path) -> None:
    stream = StringIO()
    console_of(file=stream, force_terminal=False, width=200).print(text, markup=False)
    assert not set(stream.getvalue()) & set("\x1b\x07\x00\r\u202e\u200b")


def in_graphml(text: str, folder: Path) -> None:
    corpus = Corpus.from_passages([Passage("p", text, text, "d", 0)])
    graph = KnowledgeGraph.build(
        Extraction((Triple(f"a{text}", f"r{text}", "b", "p"),)), corpus
    ).to_networkx()
    if "\x00" in text:  # XML has no way to write it
        with pytest.raises(ValueError, match="XML compatible"):
            nx.write_graphml(graph, folder / "g.graphml")
        return
    nx.write_graphml(graph, folder / "g.graphml")
    assert len(nx.read_graphml(folder / "g.graphml", force_multigraph=True)) == 2


def cells_of(row: str) -> list[str]:
    """The cells of a row of a pipe table, as GitHub splits them: a backslash escapes what follows it."""
    found = re.findall(r"(?:\\.|[^|\\])+", row)
    return [cell for cell in found if cell != " " or len(found) < 3]


SURFACES: Mapping[str, Callable[[str, Path], None]] = {
    "scores.csv": in_scores_csv,
    "Markdown": in_markdown,
    "pipe table": in_pipe_table,
    "TREC run": in_trec_run,
    "TREC qrels": in_trec_qrels,
    "terminal": in_terminal,
    "GraphML": in_graphml,
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("surface", SURFACES)
def test_a_surface_shows_an_attack_as_text_and_reads_it_back(
    surface: str, attack: str, tmp_path: Path
) -> None:
    SURFACES[surface](ATTACKS[attack], tmp_path)


PLACES = ("../../x", "a/b", "..", "a b", "a\0b", "C:\\x", "x" * 300, "=1")


def test_hostile_ids_are_in_files_and_never_their_names(tmp_path: Path) -> None:
    corpus = Corpus.from_passages(
        [Passage(name, name, "text", name, 0) for name in PLACES]
    )
    questions = tuple(
        Question(name, f"{name}?", {name: 1}, answers=(name,), type=name)
        for name in PLACES
    )
    data = QADataset("../../name", corpus, questions)
    systems = {"a": kg2rag.Recorded(corpus, {name: [(name, 1.0)] for name in PLACES})}
    result = kg2rag.compare(systems, data, metrics=["recall@1"])
    result.save(tmp_path / "out")
    written = {
        str(file.relative_to(tmp_path))
        for file in tmp_path.rglob("*")
        if file.is_file()
    }
    tables = {f"out/{name}.csv" for name in ("scores", "curve", "token_curve", "sizes")}
    others = ".kg2rag.json config.json per_query.parquet qrels.trec report.html runs/a.trec.gz".split()
    assert written == tables | {f"out/{name}" for name in others}
    loaded = Comparison.load(tmp_path / "out").rankings["a"]
    assert [hit.passage_id for ranking in loaded for hit in ranking] == list(PLACES)


def test_hostile_labels_of_a_sweep_are_in_its_files_and_never_their_names(
    tmp_path: Path,
) -> None:
    named = {
        "graphs": {"../../g": "mentions"},
        "encoder": WordEmbedder(),
        "name": "../../sweep",
    }
    store = Store(tmp_path / "store")
    sweep = kg2rag.Sweep(
        seeds.DATA, {"bm25": {}}, metrics=["recall@1"], k=3, store=store, **named
    )
    found = sweep.run(tmp_path / "out", progress=False)
    assert {path.name for path in tmp_path.iterdir()} == {"out", "store"}
    names = {
        str(path.relative_to(tmp_path / "out"))
        for path in (tmp_path / "out").rglob("*")
    }
    assert names == {
        ".kg2rag.json",
        "results.parquet",
        "sweep.json",
        "report.md",
        "report.html",
    }
    assert found.to_frame()["graph"].tolist() == ["../../g"]
