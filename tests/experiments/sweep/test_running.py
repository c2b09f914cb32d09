"""A sweep that is interrupted, resumed, shared out or shuffled ends in the same file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from word_embedder import WordEmbedder

from kg2rag.compute import Role, SentenceEncoder, Store, counter_of
from kg2rag.compute.files import _MACHINE
from kg2rag.evaluation import evaluate
from kg2rag.experiments.sweep import Sweep, SweepResult, runner, workbench
from kg2rag.experiments.sweep.configuration import Bench, DatasetRef
from kg2rag.experiments.sweep.workbench import Opened, Outcome
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.systems import build
from kg2rag.text.normalisation import normalise
from kg2rag.types import Matrix, QADataset, Ranking

Make = Callable[..., Sweep]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reference")


@pytest.fixture
def finished(sweep: Make, reference: Path) -> bytes:
    """The bytes of the results of an uninterrupted run by one process."""
    if not (reference / "results.parquet").is_file():
        sweep().run(reference, jobs=1)
    return (reference / "results.parquet").read_bytes()


def test_every_configuration_has_a_row_for_each_question(sweep: Make, finished: bytes, reference: Path) -> None:
    result = SweepResult.load(reference)
    assert len(result.per_question) == 12 * 40
    assert result.numbers == list(range(1, 13))


def test_what_scores_depend_on_is_recorded(sweep: Make, data: QADataset, root: Path, tmp_path: Path) -> None:
    systems = {"bm25": {"k1": [0.5, 0.9]}, "mention_ppr": {"damping": [0.5]}}
    sweep(systems=systems, graphs={"names": "mentions", "all": "cooccurrence"}).run(tmp_path, jobs=1)
    inputs = json.loads((tmp_path / "sweep.json").read_text())["inputs"]
    (passages,) = inputs["data"][data.setting]
    assert (passages["questions"], passages["passages"]) == (40, len(data.corpus))
    assert passages["corpus_fingerprint"] == data.corpus.fingerprint
    assert len(passages["questions_sha256"]) == 64
    graphs = {label: graph["fingerprint"] for label, graph in inputs["graphs"].items()}
    assert list(graphs) == ["names", "all"]
    assert graphs["names"] != graphs["all"]
    assert inputs["encoders"]["words"]["fingerprint"] == WordEmbedder().fingerprint(Store(root))
    assert {row["system"] for row in inputs["tuning"]["mention_ppr"]} == {"mention_ppr"}
    assert "bm25" not in inputs["tuning"]


def test_scores_are_those_of_the_system_run_by_hand(
    data: QADataset, root: Path, finished: bytes, reference: Path
) -> None:
    system = BM25(KnowledgeBase.build(data.corpus, store=Store(root)), k1=1.5, b=0.75)
    expected = evaluate(system.retrieve_batch(data.queries, 10), data, ["recall@5", "mrr@10"])
    table = pd.read_parquet(reference / "results.parquet")
    own = table[table["parameters"] == '{"b": 0.75, "k1": 1.5}'].set_index("query_id")
    pd.testing.assert_frame_equal(own[["recall@5", "mrr@10"]], expected, check_index_type=False, check_names=False)


def test_two_workers_write_the_same_bytes_after_one_is_killed(sweep: Make, data: QADataset, tmp_path: Path) -> None:
    driver, killed = os.getpid(), tmp_path / "killed"

    class Deadly(WordEmbedder):
        """Kills the first worker that encodes something."""

        def encode(self, texts: Sequence[str], store: Store, role: Role = "passage") -> Matrix:
            if os.getpid() != driver and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return super().encode(texts, store, role)

    words = {word for text in (*data.corpus.contents, *(one.text for one in data.questions)) for word in text.split()}
    axes = {word: axis for axis, word in enumerate(sorted(set(normalise(" ".join(sorted(words))).split())))}
    systems = {"graph_augmented": {"beta": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}}
    # Axes in order of encoding would sum cosines in another order in every process.
    options = {"systems": systems, "store": Store(tmp_path / "store")}
    sweep(**options, encoders={"words": Deadly(axes)}).run(tmp_path / "serial", jobs=1)
    with pytest.raises(BrokenProcessPool):
        sweep(**options, encoders={"words": Deadly(axes)}).run(tmp_path / "spread", jobs=2)
    assert killed.exists()
    sweep(**options, encoders={"words": Deadly(axes)}).run(tmp_path / "spread", jobs=2, resume=True)
    serial, spread = (tmp_path / name / "results.parquet" for name in ("serial", "spread"))
    assert spread.read_bytes() == serial.read_bytes()


def test_a_run_that_stops_half_way_is_resumed_to_the_same_bytes(
    sweep: Make, finished: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, ran = runner.Runner.keep, []

    def stop(self: runner.Runner, configuration: object, outcome: Outcome) -> None:
        if len(ran) == 5:
            raise KeyboardInterrupt
        ran.append(outcome.id)
        keep(self, configuration, outcome)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(runner.Runner, "keep", stop)
        with pytest.raises(KeyboardInterrupt):
            sweep().run(tmp_path, jobs=1)
    assert len(SweepResult.load(tmp_path).numbers) == 5
    first = len(ran)
    monkeypatch.setattr(
        runner.Runner, "keep", lambda self, one, outcome: (ran.append(outcome.id), keep(self, one, outcome))[0]
    )
    sweep().run(tmp_path, jobs=1, resume=True)
    assert len(ran) - first == 7
    assert (tmp_path / "results.parquet").read_bytes() == finished
    assert not (tmp_path / "parts").exists()


KILLED = """
import signal, sys
from kg2rag.experiments.sweep import read_sweep, runner
from kg2rag.compute.store import Store
keep, kept = runner.Runner.keep, []
def stop_after_five(self, one, outcome):
    if len(kept) == 5:
        signal.pause()
    kept.append(one)
    keep(self, one, outcome)
runner.Runner.keep = stop_after_five
read_sweep(sys.argv[1], store=Store(sys.argv[3])).run(sys.argv[2], jobs=1)
"""
FILE = """
data = "bundled"
metrics = ["recall@5"]
k = 5
[systems.bm25]
k1 = [0.3, 0.6, 0.9, 1.2]
b = [0.2, 0.4, 0.6, 0.8]
"""


def test_a_killed_run_is_resumed_to_the_same_bytes(tmp_path: Path, root: Path) -> None:
    from kg2rag.experiments.sweep import read_sweep

    (tmp_path / "sweep.toml").write_text(FILE)
    wanted = read_sweep(tmp_path / "sweep.toml", store=Store(root))
    wanted.run(tmp_path / "whole", jobs=1)
    killed = tmp_path / "killed"
    arguments = [sys.executable, "-c", KILLED, str(tmp_path / "sweep.toml"), str(killed), str(root)]
    process = subprocess.Popen(arguments, env={**os.environ, "PYTHONHASHSEED": "7"})
    wait_for(lambda: len(list(killed.glob("parts/*.parquet"))) == 5)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (killed / "parts" / f".partial-4194305-{_MACHINE}-0-half.parquet.tmp").write_bytes(b"PAR1 half")
    wanted.run(killed, jobs=1, resume=True)
    assert (killed / "results.parquet").read_bytes() == (tmp_path / "whole" / "results.parquet").read_bytes()


def wait_for(condition: Callable[[], bool]) -> None:
    """Return when the condition holds, however long it takes."""
    while not condition():
        time.sleep(0.05)


def test_a_folder_with_results_is_not_run_over(sweep: Make, finished: bytes, reference: Path) -> None:
    with pytest.raises(FileExistsError, match=r"holds 12 finished configurations\. Go on with --resume"):
        sweep().run(reference, jobs=1)


def test_results_of_other_metrics_are_not_mixed(sweep: Make, finished: bytes, reference: Path) -> None:
    with pytest.raises(ValueError, match=r"results of another sweep: its metrics is \['recall@5', 'mrr@10'\]"):
        sweep(metrics=["recall@5"]).run(reference, jobs=1, resume=True)


def test_results_that_the_sweep_lacks_are_not_dropped(sweep: Make, finished: bytes, reference: Path) -> None:
    with pytest.raises(ValueError, match="holds 11 configurations that the sweep does not have"):
        sweep(systems={"bm25": {"k1": 0.5, "b": 0.0}}).run(reference, jobs=1, resume=True)
    assert (reference / "results.parquet").read_bytes() == finished


def test_a_longer_grid_runs_what_is_new_alone(sweep: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep(systems={"bm25": {"k1": [0.5, 0.9]}}).run(tmp_path, jobs=1)
    keep, ran = runner.Runner.keep, []
    monkeypatch.setattr(
        runner.Runner, "keep", lambda self, one, outcome: (ran.append(one.parameters), keep(self, one, outcome))[0]
    )
    result = sweep(systems={"bm25": {"k1": [0.2, 0.5, 0.9]}}).run(tmp_path, jobs=1, resume=True)
    assert ran == [{"k1": 0.2}]
    assert list(result.parameters["k1"]) == [0.2, 0.5, 0.9]


class Broken(BM25):
    """Fails for one value of k1."""

    def retrieve_batch(self, queries, k):  # type: ignore[no-untyped-def]
        if self.k1 == 0.9:
            raise RuntimeError("the disk is full")
        return super().retrieve_batch(queries, k)


def test_a_configuration_that_fails_is_listed_and_loses_no_other(
    sweep: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kg2rag import systems

    with monkeypatch.context() as patched:
        patched.setitem(systems.SYSTEMS.entries, "bm25", Broken)
        result = sweep().run(tmp_path, jobs=1)
        assert list(result.failed["number"]) == [5, 6, 7, 8]
        assert set(result.failed["error"]) == {"RuntimeError: the disk is full"}
        assert result.numbers == [1, 2, 3, 4, 9, 10, 11, 12]
        assert "the disk is full" in result.to_markdown()
        assert "the disk is full" in result.to_html()


def test_failed_configurations_are_run_again_on_resuming(
    sweep: Make, finished: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(workbench, "check_candidates", lambda *_: 1 / 0)
        assert len(sweep().run(tmp_path, jobs=1).failed) == 12
    assert not len(sweep().run(tmp_path, jobs=1, resume=True).failed)
    assert (tmp_path / "results.parquet").read_bytes() == finished


def test_the_one_file_has_a_row_group_for_each_configuration(finished: bytes, reference: Path) -> None:
    assert pq.ParquetFile(reference / "results.parquet").num_row_groups == 12


@pytest.mark.parametrize(
    ("system", "first", "second"),
    [
        ("kg2rag", {"seeds": 4}, {"seeds": 4, "context": 3, "fill": "all"}),
        ("graph_augmented", {"beta": 0.3}, {"beta": 0.6}),
        ("mention_ppr", {"damping": 0.3}, {"damping": 0.6}),
    ],
)
def test_what_a_worker_remembers_changes_no_ranking(
    sweep: Make, system: str, first: dict[str, object], second: dict[str, object]
) -> None:
    wanted = sweep(systems={system: [first, second]})
    one = Opened(wanted.bench(wanted.configurations[0]).datasets[0], wanted.bench(wanted.configurations[0]))
    for parameters in (first, second):
        made = build(system, one.kb, **parameters)
        remembered, _ = one.retrieve(made, 10)
        for own, direct in zip(remembered, made.retrieve_batch(one.data.queries, 10), strict=True):
            assert own.passage_ids == direct.passage_ids
            assert own.scores.tobytes() == direct.scores.tobytes()


def test_stages_whose_parameters_did_not_change_are_not_run_again(sweep: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from kg2rag.retrievers.kg2rag.expand import Expand

    wanted = sweep(systems={"kg2rag": {"seeds": 4, "context": [2, 3, 4]}})
    on = wanted.bench(wanted.configurations[0])
    one, calls, apply = Opened(on.datasets[0], on), [], Expand.apply
    monkeypatch.setattr(
        Expand, "apply", lambda self, asked, given: (calls.append(len(asked)), apply(self, asked, given))[1]
    )
    for context in (2, 3, 4):
        one.retrieve(build("kg2rag", one.kb, seeds=4, context=context), 10)
    assert calls.count(40) == 1


@pytest.mark.parametrize("system", ["dense", "mention_chains", "dynamic_hybrid"])
def test_the_sentence_encoder_is_itself_to_every_system(data: QADataset, kb: KnowledgeBase, system: str) -> None:
    few = replace(data, questions=data.questions[:4])
    bench = Bench("encoder", (DatasetRef("few", {}, few),), Mentions(), SentenceEncoder(), str(kb.store.root))
    on = Opened(bench.datasets[0], bench)
    assert counter_of(on.kb.embedder) == counter_of(kb.embedder)
    by_hand = KnowledgeBase.build(few.corpus, Mentions(), embedder=SentenceEncoder(), store=kb.store)
    rankings, _ = on.retrieve(build(system, on.kb), 10)
    for own, direct in zip(rankings, build(system, by_hand).retrieve_batch(few.queries, 10), strict=True):
        assert own.passage_ids == direct.passage_ids
        assert own.scores.tobytes() == direct.scores.tobytes()


def test_a_function_of_ones_own_is_a_metric_and_an_objective(sweep: Make, tmp_path: Path) -> None:
    def first(ranking: Ranking, gold: Mapping[str, int]) -> float:
        return float(ranking.passage_ids[0] in gold)

    wanted = sweep(systems={"bm25": {"k1": [0.5, 0.9]}}, metrics=["hit_rate@1", first], objective="first")
    result = wanted.run(tmp_path, jobs=2)
    table = pd.read_parquet(tmp_path / "results.parquet")
    assert table["first"].tolist() == table["hit_rate@1"].tolist()
    assert result.objective == "first"
