"""What a comparison's numbers depend on is in its configuration, and changes its fingerprint."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag import (
    BM25,
    Dense,
    ExpansionQueries,
    KnowledgeBase,
    MentionChains,
    MentionPPR,
    QADataset,
    SentenceEncoder,
    compare,
    load,
)
from kg2rag.compute import Store
from kg2rag.evaluation import described
from kg2rag.extraction.combined import CombinedExtractor
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.retrievers.adapters.recorded import Recorded
from kg2rag.retrievers.fusion import fuse
from kg2rag.retrievers.mention_chains.cross import CrossOrder

Little = Callable[..., dict[str, object]]


@pytest.fixture(scope="module")
def data() -> QADataset:
    return load("bundled")


@pytest.fixture(scope="module")
def kb(data: QADataset, session_store: Store) -> KnowledgeBase:
    return KnowledgeBase.build(data.corpus, store=session_store)


@pytest.fixture(scope="module")
def config(kb: KnowledgeBase, data: QADataset) -> Little:
    """The configuration of a comparison on three questions of the teaching set."""
    few = replace(data, questions=data.questions[:3])

    def of(*systems: object, data: QADataset = few, **given: object) -> dict[str, object]:
        named = {f"s{number}": system for number, system in enumerate(systems or (Dense(kb), BM25(kb)))}
        return dict(compare(named, data, metrics=["recall@5"], k=5, progress=False, **given).config)  # type: ignore[arg-type]

    return of


def test_graph_encoder_and_parameters_are_in_it_as_values(config: Little, kb: KnowledgeBase) -> None:
    system = MentionPPR(kb, damping=0.6)
    found = json.loads(json.dumps(config(system, fuse(Dense(kb), system))))
    assert found["parameters"]["s0"]["class"].endswith(".MentionPPR")
    assert found["parameters"]["s0"]["damping"] == 0.6
    assert [one["class"].split(".")[-1] for one in found["parameters"]["s1"]["retrievers"]] == ["Dense", "MentionPPR"]
    (knowledge,) = found["knowledge"]
    assert knowledge["systems"] == ["s0", "s1"]
    assert knowledge["corpus"] == kb.corpus.fingerprint
    assert knowledge["graph"]["fingerprint"] == kb.source.fingerprint
    assert knowledge["encoder"]["weights_sha256"]
    assert knowledge["encoder"]["dtype"] in ("float32", "bfloat16")
    assert found["processor"]
    (mine, theirs) = found["tuning"].values()
    assert mine == theirs  # the fused system has the other one in it
    assert {row["system"] for row in mine} == {"mention_ppr"}
    assert {"what", "kind", "training", "sets"} <= set(mine[0])


def test_graphs_that_were_opened_are_counted_and_nothing_was_chosen_for_bm25(config: Little, kb: KnowledgeBase) -> None:
    found = config(ExpansionQueries(kb), BM25(kb))
    assert found["graphs"] == [
        {"source": repr(kb.source), "entities": kb.graph.n_entities, "triples": kb.graph.n_triples}
    ]
    assert found["tuning"] == {}


def test_a_file_named_within_a_parameter_comes_with_its_checksum(kb: KnowledgeBase, tmp_path: Path) -> None:
    file, prints = tmp_path / "links.json", list[dict[str, object]]()
    for entity in ("Auth Service", "API Gateway"):
        file.write_text(json.dumps({"q001": [entity]}), encoding="utf-8")
        prints.append(described.parameters(ExpansionQueries(kb, linker=f"ngram+gold:{file}"))["linker"])
    assert [one["value"] for one in prints] == [f"ngram+gold:{file}"] * 2
    assert prints[0]["sha256"] != prints[1]["sha256"]


def test_a_chosen_graph_is_named_by_class_and_files_wherever_they_lie(kb: KnowledgeBase, tmp_path: Path) -> None:
    file = tmp_path / "triples.jsonl"
    file.write_text(json.dumps({"head": "a", "relation": "r", "tail": "b", "passage_id": kb.corpus.ids[0]}) + "\n")
    own = replace(kb, source=CombinedExtractor((TriplesFile(file), Mentions())))
    assert described.given_graphs(BM25(own)) == ["CombinedExtractor(TriplesFile(triples.jsonl), Mentions)"]
    assert described.given_graphs(BM25(kb)) == []


def test_a_part_that_a_system_lacks_has_no_numbers_in_it(kb: KnowledgeBase) -> None:
    chains = MentionChains(kb)
    cross = object.__new__(CrossOrder)  # which needs weights that take minutes to train, and is only described
    for name, value in {"kb": kb, "weights": "none", "scored": 12, "depth": 100}.items():
        object.__setattr__(cross, name, value)
    tuned = described.tuning(described.parameters({"chains": chains, "cross": (chains, cross)}))
    assert {row["system"] for row in tuned["chains"]} == {"mention_chains"}
    assert {row["system"] for row in tuned["cross"]} == {"mention_chains", "mention_chains+cross"}


def test_what_nothing_has_read_is_not_opened_to_be_described(data: QADataset, session_store: Store) -> None:
    fresh = KnowledgeBase.build(data.corpus, store=session_store)
    before = described.encodings({"bm25": BM25(fresh)})
    BM25(fresh).retrieve("Who?", 2)
    assert described.knowledge({"bm25": BM25(fresh)}, before) == [
        {
            "systems": ["bm25"],
            "corpus": data.corpus.fingerprint,
            "passages": len(data.corpus),
            "shuffled": False,
            "graph": {"source": repr(fresh.source), "fingerprint": fresh.source.fingerprint},
            "encoder": {"encoder": repr(fresh.embedder)},
        }
    ]
    Dense(fresh).retrieve("Who?", 2)
    (read,) = described.knowledge({"dense": Dense(fresh)}, before)
    assert read["encoder"]["dim"] == 384


def test_a_file_that_a_system_reads_counts_by_its_bytes(tmp_path: Path, kb: KnowledgeBase) -> None:
    file = tmp_path / "coefficients.toml"
    text = Path("kg2rag/retrievers/mention_chains/coefficients.toml").read_text(encoding="utf-8")
    prints = []
    for more in ("", "# fitted again\n"):
        file.write_text(text + more, encoding="utf-8")
        prints.append(described.parameters(MentionChains(kb, coefficients=str(file)))["coefficients"]["sha256"])
    assert prints[0] != prints[1]
    assert described.parameters(MentionChains(kb))["coefficients"] == "default"


def test_of_a_recorded_run_there_is_a_checksum_and_not_the_run(data: QADataset) -> None:
    ids = data.corpus.ids
    found = [
        described.parameters(Recorded(data.corpus, {"q001": [(ids[row], 1.0)]}, "theirs", frozenset("ba")))
        for row in (0, 1)
    ]
    assert found[0]["name"] == "theirs"
    assert set(found[0]) == {"class", "name", "run", "empty"}
    assert found[0]["empty"] == ["a", "b"]
    assert found[0]["run"] != found[1]["run"]
    assert ids[0] not in json.dumps(found[0])


def test_whatever_may_change_a_number_changes_the_fingerprint(
    config: Little, kb: KnowledgeBase, data: QADataset
) -> None:
    few, first = replace(data, questions=data.questions[:3]), data.questions[0]
    other_answer = replace(few, questions=[replace(first, answers=(*first.answers, "another")), *few.questions[1:]])
    float32 = replace(kb, embedder=SentenceEncoder(dtype="float32", max_tokens=64), _memory={})
    configs = [
        config(Dense(kb), BM25(kb)),
        config(Dense(kb), BM25(kb, k1=1.2)),
        config(BM25(kb), Dense(kb)),
        config(Dense(kb), BM25(kb), seed=1),
        config(Dense(kb), BM25(kb), baseline="s1"),
        config(Dense(kb), BM25(kb), unit="document"),
        config(Dense(kb), BM25(kb), data=replace(data, questions=data.questions[:2])),
        config(Dense(kb), BM25(kb), data=other_answer),
        config(MentionPPR(kb), BM25(kb)),
        config(MentionPPR(kb.placebo(0)), BM25(kb)),
        config(MentionPPR(kb.placebo(1)), BM25(kb)),
        config(Dense(float32), BM25(kb)),
    ]
    prints = [each["fingerprint"] for each in configs]
    assert len(set(prints)) == len(prints)
    assert config(Dense(kb), BM25(kb), batch_size=1, command="again")["fingerprint"] == prints[0]


@given(
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.lists(st.booleans()), max_size=4),
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.lists(st.booleans()), max_size=4),
)
def test_fingerprints_are_equal_only_for_equal_configurations(one: dict[str, object], other: dict[str, object]) -> None:
    alike = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (described.fingerprint(one) == described.fingerprint(other)) == alike
    assert described.fingerprint({**one, "seconds": 1.5}) == described.fingerprint({**one, "started": "now"})
