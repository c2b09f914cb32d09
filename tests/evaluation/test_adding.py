"""Systems are added to a saved comparison: its runs stay to the byte, the tables are those of a fresh comparison."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copytree
from typing import Any

import keep
import numpy as np
import pandas as pd
import pytest
import yaml
from word_embedder import WordEmbedder

from kg2rag import (
    BM25,
    Comparison,
    Comparisons,
    DataError,
    Dense,
    GraphAugment,
    KnowledgeBase,
    MentionPPR,
    add_systems,
    compare,
    replicates,
)
from kg2rag.evaluation import storage
from kg2rag.types import IntArray, QADataset, Question

Worlds = Callable[..., KnowledgeBase]
Systems = dict[str, Any]
OPTIONS: dict[str, Any] = {"metrics": ["recall@1", "mrr@3", "recall@20tokens"], "k": 3, "seed": 5, "progress": False}
TABLES = ("scores.csv", "curve.csv", "token_curve.csv", "sizes.csv", "per_query.parquet", "qrels.trec")


@pytest.fixture
def kb(kb_of: Worlds) -> KnowledgeBase:
    return kb_of(
        ("Kiln", "Built by Ida. The Kiln stands in Tam."),
        ("Ida", "A potter of Tam."),
        ("Tam", "Sold jugs."),
        ("Uri", "Knew Ida, and bought jugs in Tam for years and years, in every month of the year."),
    )


@pytest.fixture
def data(kb: KnowledgeBase) -> QADataset:
    questions = (
        Question("q1", "Who built the Kiln?", {"p0": 1}, type="bridge", hops=2),
        Question("q2", "Who sold jugs in Tam?", {"p2": 1, "p3": 1}),
        Question("q3", "Where is the Kiln of Ida?", {"p0": 1}),
    )
    return QADataset("pottery", kb.corpus, questions)


@pytest.fixture
def old(kb: KnowledgeBase) -> Systems:
    return {"bm25": BM25(kb), "augmented": Dense(kb) >> GraphAugment(kb, hops=1), "dense": Dense(kb)}


@pytest.fixture
def new(kb: KnowledgeBase) -> Systems:
    return {"ppr": MentionPPR(kb), "bm25_b": BM25(kb, b=0.9)}


@pytest.fixture
def saved(old: Systems, data: QADataset, tmp_path: Path) -> Path:
    compare(old, data, folder=tmp_path / "saved", **OPTIONS)
    return tmp_path / "saved"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_all_tables_are_those_of_a_comparison_of_all(
    saved: Path, old: Systems, new: Systems, data: QADataset, tmp_path: Path
) -> None:
    compare({**old, **new}, data, folder=tmp_path / "fresh", **OPTIONS)
    runs = {name: (saved / "runs" / f"{name}.trec").read_bytes() for name in old}
    result = add_systems(saved, new, data, progress=False)
    after, fresh = contents(saved), contents(tmp_path / "fresh")
    assert set(after) == set(fresh)
    assert {name: after[f"runs/{name}.trec"] for name in old} == runs
    differing = [name for name in fresh if after[name] != fresh[name]]
    assert sorted(differing) == ["config.json", "report.html"]  # both have times
    assert result.systems == [*old, *new]
    assert result.pairs()["p_holm"].equals(Comparison.load(tmp_path / "fresh").pairs()["p_holm"])
    assert result.waterfall("ppr", k=1).totals().loc["all", "gold"] == 4
    with pytest.raises(ValueError, match="'bm25' were loaded from files, without the system"):
        result.waterfall("bm25")


def test_the_configuration_is_that_of_all_and_says_what_was_added(
    saved: Path, old: Systems, new: Systems, data: QADataset, tmp_path: Path
) -> None:
    compare({**old, **new}, data, folder=tmp_path / "fresh", **OPTIONS)
    add_systems(saved, new, data, command="kg2rag compare --add", progress=False)
    config, fresh = (json.loads((one / "config.json").read_text()) for one in (saved, tmp_path / "fresh"))
    (added,) = config["added"]
    assert added["systems"] == ["ppr", "bm25_b"]
    assert added["command"] == "kg2rag compare --add"
    assert added["commit"] == config["commit"]
    assert added["versions"]["kg2rag"] == config["versions"]["kg2rag"]
    differing = {name for name in {*config, *fresh} if config.get(name) != fresh.get(name)}
    assert differing <= {*"added files sha256 started seconds ms_per_query load_average command".split()}
    assert config["fingerprint"] == fresh["fingerprint"]
    assert "ppr, bm25_b: added 20" in (saved / "report.html").read_text()


def test_systems_added_one_after_the_other_are_those_added_together(
    saved: Path, new: Systems, data: QADataset, tmp_path: Path
) -> None:
    copytree(saved, tmp_path / "together")
    add_systems(tmp_path / "together", new, data, progress=False)
    for name, system in new.items():
        add_systems(saved, {name: system}, data, progress=False)
    once, twice = contents(tmp_path / "together"), contents(saved)
    assert {name for name in once if once[name] != twice[name]} == {"config.json", "report.html"}
    assert [one["systems"] for one in Comparison.load(saved).config["added"]] == [["ppr"], ["bm25_b"]]


def test_a_result_in_memory_is_extended_and_stays_as_it_was(old: Systems, new: Systems, data: QADataset) -> None:
    first = compare(old, data, **OPTIONS)
    result = add_systems(first, new, data, progress=False)
    fresh = compare({**old, **new}, data, **OPTIONS)
    assert first.systems == list(old)
    for name in ("scores", "per_query", "curve", "token_curve", "sizes"):
        pd.testing.assert_frame_equal(getattr(result, name), getattr(fresh, name))
    assert result.waterfall("bm25", k=1).totals().equals(fresh.waterfall("bm25", k=1).totals())


def test_functions_runs_and_strategies_over_the_graph_are_added_too(
    saved: Path, kb: KnowledgeBase, data: QADataset
) -> None:
    add_systems(saved, {"mine": first_passage, "theirs": {"q1": ["p1", "p0"]}}, data, progress=False)
    result = add_systems(saved, {"ppr": MentionPPR}, data, graphs={"mentions": kb}, progress=False)
    assert result.systems == ["bm25", "augmented", "dense", "mine", "theirs", "ppr.mentions"]
    assert result.to_frame().loc["mine", "recall@1"] == pytest.approx(2 / 3)
    assert "theirs: 2 questions have no line" in result.to_markdown()


@dataclass(frozen=True)
class Named(WordEmbedder):
    """An encoder with another name."""

    name: str = ""

    def __init__(self, name: str) -> None:
        super().__init__()
        object.__setattr__(self, "name", name)


@dataclass(frozen=True)
class Drawn(BM25):
    """A system with a seed."""

    seed: int = 0


def test_a_system_under_several_seeds_is_added_but_nothing_to_it(
    saved: Path, kb: KnowledgeBase, new: Systems, old: Systems, data: QADataset, tmp_path: Path
) -> None:
    drawn = {"drawn": replicates(Drawn(kb), 2)}
    compare({**old, **drawn}, data, folder=tmp_path / "fresh", **OPTIONS)
    add_systems(saved, drawn, data, progress=False)
    for name in (*TABLES, "per_seed.csv"):
        assert (saved / name).read_bytes() == (tmp_path / "fresh" / name).read_bytes()
    with pytest.raises(ValueError, match=r"config\.json: drawn ran under several seeds, and only the first"):
        add_systems(saved, new, data)


def test_headers_of_runs_stay_and_new_ones_are_written_on_request(
    saved: Path, old: Systems, new: Systems, data: QADataset
) -> None:
    compare(old, data, **OPTIONS).save(saved, ir_metadata=True)
    assert (headed := (saved / "runs" / "bm25.trec").read_bytes()).startswith(b"# ir_metadata.start")
    add_systems(saved, new, data, ir_metadata=True, command="added", progress=False)
    assert (saved / "runs" / "bm25.trec").read_bytes() == headed
    lines = (saved / "runs" / "ppr.trec").read_text().splitlines()
    about = yaml.safe_load("\n".join(line[2:] for line in lines if line.startswith("#") and "ir_metadata" not in line))
    assert about["implementation"]["executable"]["cmd"] == "added"
    result = add_systems(saved, {"third": new["ppr"]}, data, progress=False)
    assert (saved / "runs" / "ppr.trec").read_text().splitlines() == lines
    assert result.config["added"][0]["command"] == "added"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"k": 2}, r"k is 2; .*config\.json has 3\."),
        ({"seed": 0}, r"seed is 0; .*config\.json has 5\."),
        ({"baseline": "bm25"}, r"baseline is 'bm25'; .*config\.json has 'dense'"),
        ({"metrics": ["recall@2"]}, r"metrics is \['recall@2'\]; .*config\.json has \['recall@1', 'mrr@3'"),
        ({"unit": "document"}, r"unit is 'document'; .*config\.json has 'passage'"),
        ({"family": "all"}, r"family is 'all'; .*config\.json has 'metric'"),
        ({"clustered": True}, r"clustered is True; .*config\.json has False"),
    ],
)
def test_other_options_are_refused_and_nothing_is_written(
    saved: Path, new: Systems, data: QADataset, options: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kg2rag.evaluation.configuration.run", lambda *_, **__: pytest.fail("work was done"))
    before = contents(saved)
    with pytest.raises(ValueError, match=said):
        add_systems(saved, new, data, **options)
    assert contents(saved) == before


def test_other_questions_graphs_encoders_and_taken_names_are_refused(
    saved: Path, new: Systems, data: QADataset, kb: KnowledgeBase, kb_of: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kg2rag.evaluation.configuration.run", lambda *_, **__: pytest.fail("work was done"))
    digest = Comparison.load(saved).config["data"]["questions_sha256"]
    with pytest.raises(
        ValueError, match=rf"questions_sha256 of 'pottery' is \w+ \(2 questions.*config\.json has {digest}"
    ):
        add_systems(saved, new, replace(data, questions=data.questions[:2]))
    other = kb_of(*((title, "Another text.") for title in ("Kiln", "Ida", "Tam", "Uri")))
    with pytest.raises(ValueError, match=r"corpus_fingerprint of 'pottery' is .*config\.json has"):
        add_systems(saved, new, replace(data, corpus=other.corpus))
    with pytest.raises(ValueError, match=r"mine read what no system of .*config\.json reads: corpus "):
        add_systems(saved, {"mine": BM25(other)}, data)
    paired = KnowledgeBase.build(data.corpus, "cooccurrence", embedder=kb.embedder, store=kb.store)
    with pytest.raises(ValueError, match=r"mine read .*: graph cooccurrence.* \(there: \w{64}\)\. Build them over"):
        add_systems(saved, {"mine": BM25(paired)}, data)
    encoded = KnowledgeBase.build(data.corpus, kb.source, embedder=Named("9"), store=kb.store)
    with pytest.raises(ValueError, match=r"mine read .*: encoder Named\(name='9'\) \(there: WordEmbedder"):
        add_systems(saved, {"mine": BM25(encoded)}, data)
    for name in ("dense", "DENSE"):
        with pytest.raises(ValueError, match=r"config\.json has a system 'dense' already"):
            add_systems(saved, {name: BM25(kb)}, data)
    with pytest.raises(ValueError, match="cannot name a file"):
        add_systems(saved, {"a/b": BM25(kb)}, data)


def test_folders_that_lack_what_is_needed_are_refused(
    saved: Path, new: Systems, data: QADataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError, match=r"config\.json is missing"):
        add_systems(tmp_path / "nowhere", new, data)
    monkeypatch.setattr(keep, "RESULTS", tmp_path)
    said = Comparison.load(saved).config
    Comparison.load(saved).save(tmp_path / "without")
    with pytest.raises(DataError, match=r"first_hits\.parquet is missing"):
        add_systems(tmp_path / "without", new, data)
    replace(Comparison.load(saved), config={**said, "command": "kg2rag compare"}).save(tmp_path / "commanded")
    keep.main(tmp_path / "commanded", "kept", tmp_path)
    with pytest.raises(DataError, match="has only the first hits of each run"):
        add_systems(tmp_path / "kept", new, data)
    (saved / "curve.csv").write_text("")
    with pytest.raises(DataError, match=r"curve\.csv is not as it was saved"):
        add_systems(saved, new, data)


def test_a_metric_of_ones_own_is_given_again(old: Systems, new: Systems, data: QADataset, tmp_path: Path) -> None:
    metrics = {"recall@1": "recall@1", "first": first_is_gold}
    compare(old, data, folder=tmp_path / "own", metrics=metrics, k=3, progress=False)
    with pytest.raises(ValueError, match=r"config\.json has metrics of your own: first"):
        add_systems(tmp_path / "own", new, data)
    with pytest.raises(ValueError, match="metric_functions is"):
        add_systems(tmp_path / "own", new, data, metrics={**metrics, "first": len})
    result = add_systems(tmp_path / "own", new, data, metrics=metrics, progress=False)
    assert result.metrics == ["recall@1", "first"]
    assert result.to_frame()["first"].between(0.5, 1).all()


def first_passage(text: str, k: int) -> list[str]:
    return ["p0"]


def first_is_gold(ranking: Any, gold: Any) -> float:
    return float(ranking[0].passage_id in gold)


@dataclass(frozen=True)
class Words:
    """A counter of words."""

    def count(self, texts: Sequence[str]) -> IntArray:
        return np.array([len(text.split()) for text in texts], dtype=np.int64)


def test_tokens_are_counted_as_then(old: Systems, new: Systems, data: QADataset, tmp_path: Path) -> None:
    compare(old, data, folder=tmp_path / "words", counter=Words(), **OPTIONS)
    with pytest.raises(ValueError, match=r"Tokens are counted by EncoderTokens.*config\.json has Words\(\)\. Pass it"):
        add_systems(tmp_path / "words", new, data)
    add_systems(tmp_path / "words", new, data, counter=Words(), progress=False)
    compare({**old, **new}, data, folder=tmp_path / "fresh", counter=Words(), **OPTIONS)
    assert contents(tmp_path / "words")["sizes.csv"] == contents(tmp_path / "fresh")["sizes.csv"]


def test_interrupted_while_a_system_runs_the_folder_is_as_it_was(
    saved: Path, new: Systems, data: QADataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = contents(saved)
    with monkeypatch.context() as patched:
        patched.setattr("kg2rag.evaluation.configuration.run", stopped)
        with pytest.raises(KeyboardInterrupt):
            add_systems(saved, new, data)
    assert contents(saved) == before
    calls = iter(range(100))

    def fails(path: Path, content: bytes) -> None:
        if next(calls) == 4:
            raise KeyboardInterrupt
        path.write_bytes(content)

    monkeypatch.setattr(storage, "write", fails)
    with pytest.raises(KeyboardInterrupt):
        add_systems(saved, new, data, progress=False)
    with pytest.raises(FileNotFoundError, match="has no finished comparison"):  # never half of one and half of another
        Comparison.load(saved)


@pytest.fixture
def sets(data: QADataset) -> dict[str, QADataset]:
    return {"all": data, "two": replace(data, questions=data.questions[:2])}


def test_on_several_sets_each_is_extended_and_the_summary_made_anew(
    sets: dict[str, QADataset], old: Systems, new: Systems, tmp_path: Path
) -> None:
    compare(lambda _: {**old, **new}, sets, folder=tmp_path / "fresh", **OPTIONS)
    compare(lambda _: old, sets, folder=tmp_path / "sets", **OPTIONS)
    result = add_systems(tmp_path / "sets", lambda _: new, sets, progress=False)
    assert result.systems == [*old, *new]
    assert (tmp_path / "sets" / "macro.csv").read_bytes() == (tmp_path / "fresh" / "macro.csv").read_bytes()
    assert Comparisons.load(tmp_path / "sets").systems == [*old, *new]
    in_memory = add_systems(compare(lambda _: old, sets, **OPTIONS), lambda _: new, sets, progress=False)
    pd.testing.assert_frame_equal(in_memory.macro, compare(lambda _: {**old, **new}, sets, **OPTIONS).macro)


def test_several_sets_go_on_where_they_were_interrupted(
    sets: dict[str, QADataset], old: Systems, new: Systems, kb: KnowledgeBase, tmp_path: Path
) -> None:
    compare(lambda _: old, sets, folder=tmp_path / "sets", **OPTIONS)
    add_systems(tmp_path / "sets" / "all", new, sets["all"], progress=False)
    before = contents(tmp_path / "sets" / "all")
    with pytest.raises(ValueError, match="has a system 'ppr' already"):
        add_systems(tmp_path / "sets", lambda _: new, sets)
    with pytest.raises(ValueError, match="the parameters of ppr"):
        add_systems(tmp_path / "sets", lambda _: {**new, "ppr": MentionPPR(kb, damping=0.7)}, sets, resume=True)
    result = add_systems(tmp_path / "sets", lambda _: new, sets, resume=True, progress=False)
    assert result.systems == [*old, *new]
    assert contents(tmp_path / "sets" / "all") == before


def test_sets_and_a_single_set_are_not_mixed_up(
    sets: dict[str, QADataset], saved: Path, old: Systems, new: Systems, data: QADataset, tmp_path: Path
) -> None:
    several = compare(lambda _: old, sets, folder=tmp_path / "sets", **OPTIONS)
    with pytest.raises(ValueError, match="holds comparisons on several sets"):
        add_systems(tmp_path / "sets", new, data)
    with pytest.raises(TypeError, match="on several sets"):
        add_systems(several, new, data)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="on one set"):
        add_systems(several["all"], lambda _: new, sets)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="is on all, two; the data are all"):
        add_systems(tmp_path / "sets", lambda _: new, {"all": data})
    with pytest.raises(FileNotFoundError, match="no comparison on several sets"):
        add_systems(saved, lambda _: new, sets)
