import json
import re

import pytest

from kg2rag.datasets import DATASETS, load


def test_hotpotqas_hub_rows_make_the_same_set_as_the_official_file(
    hotpot, write, hub_copy, tmp_path, as_on_the_hub
):
    hub_copy("hotpotqa", [as_on_the_hub(record) for record in hotpot])
    from_hub, from_file = (
        load("hotpotqa"),
        load("hotpotqa", path=write("hotpot.json", hotpot)),
    )
    assert from_hub.questions == from_file.questions
    assert from_hub.corpus.fingerprint == from_file.corpus.fingerprint
    assert {name: from_hub.source[name] for name in ("hub", "split", "revision")} == {
        "hub": "hotpotqa/hotpot_qa",
        "split": "validation",
        "revision": DATASETS["hotpotqa"].hub.revision,
    }
    assert str(tmp_path) not in json.dumps(from_hub.source)


def test_evidences_are_triples_whichever_way_the_hub_lays_them_out(
    hotpot, hub_copy, as_on_the_hub
):
    lists = {"fact": ["Ed Wood"], "relation": ["director"], "entity": ["Tim Burton"]}
    records = [{"fact": "Ed Wood", "relation": "director", "entity": "Tim Burton"}]
    for evidences in (lists, records, [["Ed Wood", "director", "Tim Burton"]]):
        hub_copy(
            "2wikimultihopqa", [{**as_on_the_hub(hotpot[0]), "evidences": evidences}]
        )
        assert load("2wiki").questions[0].triples == (
            ("Ed Wood", "director", "Tim Burton"),
        )


def test_columns_of_unequal_length_are_refused_as_a_wrong_record(
    hotpot, hub_copy, as_on_the_hub
):
    row = as_on_the_hub(hotpot[0])
    row["context"]["title"].pop()
    hub_copy("hotpotqa", [row])
    with pytest.raises(
        ValueError, match=r"validation.*record 1 \('h1'\): field 'context'"
    ):
        load("hotpotqa")


def test_without_a_network_the_error_names_the_ways_out(hub_copy, musique):
    with pytest.raises(
        ConnectionError,
        match=r"'dgslibisey/MuSiQue' \(revision '[0-9a-f]{40}'.*--path.*'bundled'",
    ):
        load("musique")
    hub_copy("musique", musique)
    with pytest.raises(ConnectionError, match="musique_ans_v1"):
        load("musique", split="train")
    with pytest.raises(ConnectionError, match="v2"):
        load("musique", revision="v2")


def test_the_sets_of_the_hub_are_pinned_to_a_commit():
    pinned = [spec.hub.revision for spec in DATASETS.values() if spec.hub]
    assert len(pinned) == 3
    assert all(re.fullmatch("[0-9a-f]{40}", revision) for revision in pinned)
