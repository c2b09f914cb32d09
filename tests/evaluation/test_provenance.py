"""What a comparison's numbers depend on is in its configuration, and changes its fingerprint."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from kg2rag import (
    BM25,
    Dense,
    ExpansionQueries,
    KnowledgeBase,
    MentionPPR,
    QADataset,
    compare,
    load,
)
from kg2rag.compute import Store
from kg2rag.evaluation import provenance
from kg2rag.evaluation.provenance import parameters
from kg2rag.evaluation.run_key import identity
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.extraction.sources import CombinedExtractor
from kg2rag.retrievers.adapters.recorded import Recorded
from kg2rag.retrievers.fusion import fuse
from kg2rag.retrievers.mention_chains.coefficients import digest
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.system_parts import tuning

Config = Callable[..., dict[str, object]]


@pytest.fixture(scope="module")
def data() -> QADataset:
    return load("bundled")


@pytest.fixture(scope="module")
def kb(data: QADataset, session_store: Store) -> KnowledgeBase:
    return KnowledgeBase.build(data.corpus, store=session_store)


@pytest.fixture(scope="module")
def config(data: QADataset) -> Config:
    """The configuration of a comparison on three questions of the teaching set, as it is saved."""
    few = replace(data, questions=data.questions[:3])

    def of(*systems: object, **given: object) -> dict[str, object]:
        named = {f"s{number}": system for number, system in enumerate(systems)}
        return json.loads(
            json.dumps(compare(named, few, metrics=["recall@5"], k=5, **given).config)
        )

    return of


def test_graph_encoder_and_parameters_are_in_it_as_values(
    config: Config, kb: KnowledgeBase
) -> None:
    system = MentionPPR(kb, damping=0.6)
    found = config(system, fuse(Dense(kb), system))
    assert found["parameters"]["s0"]["class"].endswith(".MentionPPR")
    assert found["parameters"]["s0"]["damping"] == 0.6
    assert [
        one["class"].split(".")[-1] for one in found["parameters"]["s1"]["retrievers"]
    ] == [
        "Dense",
        "MentionPPR",
    ]
    (knowledge,) = found["knowledge"]
    assert knowledge["systems"] == ["s0", "s1"]
    assert knowledge["corpus"] == kb.corpus.fingerprint
    assert knowledge["graph"]["fingerprint"] == kb.source.fingerprint
    assert knowledge["encoder"]["dtype"] in ("float32", "bfloat16")
    (mine, theirs) = found["tuning"].values()
    assert mine == theirs  # the fused system has the other one in it
    assert {row["system"] for row in mine} == {"mention_ppr"}


def test_coefficients_that_were_fitted_on_judged_questions_are_marked_by_the_texts(
    data: QADataset, kb: KnowledgeBase, tmp_path: Path
) -> None:
    packaged = (
        files("kg2rag.retrievers.mention_chains") / "coefficients.toml"
    ).read_text(encoding="utf-8")
    asked = digest(data.questions[0].text.upper())
    (tmp_path / "own.toml").write_text(
        packaged.replace('seen = "', f'seen = "{asked} ', 1), encoding="utf-8"
    )
    honest, own = (
        MentionChains(kb),
        MentionChains(kb, coefficients=str(tmp_path / "own.toml")),
    )
    assert not [row for row in tuning(honest, data) if data.name in row["sets"]]
    (row,) = (row for row in tuning(own, data) if data.name in row["sets"])
    assert row["kind"] == "fitted"
    assert " 1 of " in row["what"]


def test_a_run_that_is_read_is_configured_as_when_it_was_made(
    data: QADataset, config: Config, tmp_path: Path
) -> None:
    kbs = (KnowledgeBase.build(data.corpus, store=Store(tmp_path)) for _ in range(2))
    made, read = (config(ExpansionQueries(kb), BM25(kb)) for kb in kbs)
    assert read == made
    assert made["graphs"][0]["entities"] > 0
    assert made["build_seconds"]["s0"] > 0
    assert list(made["tuning"]) == ["s0"]  # nothing was chosen for bm25


def test_a_system_that_reads_nothing_of_a_graph_is_named_with_it(
    data: QADataset, config: Config, kb: KnowledgeBase, tmp_path: Path
) -> None:
    file = tmp_path / "triples.jsonl"
    file.write_text(
        json.dumps(
            {"head": "a", "relation": "r", "tail": "b", "passage_id": kb.corpus.ids[0]}
        )
        + "\n"
    )
    own = replace(
        kb, source=CombinedExtractor((TriplesFile(file), Mentions())), _memory={}
    )
    read, unread = config(ExpansionQueries(own)), config(BM25(own))
    assert (read["graph_unread"], list(unread["graph_unread"])) == ({}, ["s0"])
    assert unread["graph_unread"]["s0"] == ["triples(triples.jsonl)+mentions"]
    source = read["graphs"][0]["source"]
    assert source == read["knowledge"][0]["graph"]["source"]
    assert "TriplesFile(path='triples.jsonl'" in source
    assert str(tmp_path) not in json.dumps(read)
    plain = config(BM25(KnowledgeBase.build(data.corpus, store=Store(tmp_path))))
    assert plain["graph_unread"] == {}  # the default graph: nobody chose it
    # not opened to be described
    assert plain["knowledge"][0]["encoder"] == {"encoder": repr(kb.embedder)}
    assert plain["graphs"] == []


def test_files_and_what_a_repr_hides_count_by_their_content_and_are_recorded_with_a_checksum(
    data: QADataset, tmp_path: Path
) -> None:
    file, ids, sums, keys = tmp_path / "links.json", data.corpus.ids, set(), set()
    for at, entity in enumerate(("Auth Service", "API Gateway")):
        file.write_text(json.dumps({"q001": [entity]}), encoding="utf-8")
        sums.update(parameters({"linker": f"ngram+gold({file})"})["linker"]["sha256"])
        keys |= {str(identity(f"ngram+gold({file})")), str(identity(file))}
        recorded = parameters(
            Recorded(data.corpus, {"q001": [(ids[at], 1.0)]}, "theirs")
        )
        sums.add(recorded["run"]["sha256"])
    assert (len(sums), len(keys)) == (4, 4)


@pytest.mark.parametrize("change", [{"k": 6}, {"metrics": ["recall@2"]}])
def test_what_changes_numbers_changes_the_fingerprint_and_time_does_not(
    change: dict[str, object],
) -> None:
    one = {"k": 5, "metrics": ["recall@5"], "seconds": 1.0}
    assert provenance.fingerprint({**one, **change}) != provenance.fingerprint(one)
    assert provenance.fingerprint(
        {**one, "seconds": 2.0, "batch_size": 7}
    ) == provenance.fingerprint(one)


def test_gold_that_no_candidate_is_caps_every_recall(data: QADataset) -> None:
    first, second = data.questions[:2]
    own = (
        replace(first, candidates=tuple(first.gold)),
        replace(second, candidates=(data.corpus.ids[-1],)),
    )
    assert (
        provenance.data(replace(data, questions=own, setting="distractor"))[
            "gold_out_of_reach"
        ]
        == 1
    )
