import json
import re
from types import SimpleNamespace

import pytest

from kg2rag.datasets import DATASETS, hotpotqa, hub, load, twowiki
from kg2rag.datasets.getting import OFFICIAL
from kg2rag.datasets.reading import check


def test_hotpotqas_hub_rows_make_the_same_set_as_the_official_file(hotpot, write, hub_copy, tmp_path, as_on_the_hub):
    hub_copy("hotpotqa", [as_on_the_hub(record) for record in hotpot])
    from_hub, from_file = load("hotpotqa"), load("hotpotqa", path=write("hotpot.json", hotpot))
    assert from_hub.questions == from_file.questions
    assert from_hub.corpus.fingerprint == from_file.corpus.fingerprint
    assert (from_hub.source["hub"], from_hub.source["split"], from_hub.source["revision"]) == (
        "copy-hotpotqa",
        "validation",
        None,
    )
    assert str(tmp_path) not in json.dumps(from_hub.source)


def test_evidences_are_triples_whichever_way_the_hub_lays_them_out(hotpot, as_on_the_hub):
    expected = [("Ed Wood", "director", "Tim Burton")]
    lists = {"fact": ["Ed Wood"], "relation": ["director"], "entity": ["Tim Burton"]}
    records = [{"fact": "Ed Wood", "relation": "director", "entity": "Tim Burton"}]
    for evidences in (lists, records, [list(expected[0])]):
        row = {**as_on_the_hub(hotpot[0]), "evidences": evidences}
        assert check([twowiki.from_hub(row)], twowiki.TwoWikiRecord, "hub")[0].evidences == expected


def test_columns_of_unequal_length_are_refused_as_a_wrong_record(hotpot, as_on_the_hub):
    row = as_on_the_hub(hotpot[0])
    row["context"]["title"].pop()
    with pytest.raises(ValueError, match=r"hub, record 1 \('h1'\): field 'context' must be a list, not dict"):
        check([hotpotqa.from_hub(row)], hotpotqa.HotpotRecord, "hub")


def test_without_a_network_the_error_names_the_ways_out(monkeypatch, tmp_path):
    monkeypatch.setattr(hub, "reachable", lambda: False)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    with pytest.raises(ConnectionError, match=r"'dgslibisey/MuSiQue' \(revision '[0-9a-f]{40}'.*--path.*'bundled'"):
        load("musique")


def test_asking_offline_leaves_the_libraries_as_they_were(monkeypatch):
    import datasets.config

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    with hub.offline():
        assert datasets.config.HF_HUB_OFFLINE is True
    assert datasets.config.HF_HUB_OFFLINE is False


def test_the_commit_is_read_from_the_addresses_of_the_files():
    address = "hf://datasets/a/b@0123456789abcdef0123456789abcdef01234567/x.parquet"
    table = SimpleNamespace(info=SimpleNamespace(download_checksums={address: {}}))
    assert hub.commit_of(table) == "0123456789abcdef0123456789abcdef01234567"


def test_rows_of_another_commit_than_the_one_asked_for_are_refused():
    assert hub.required("a/b", "main", "c" * 40) == "c" * 40
    assert hub.required("a/b", "d" * 40, None) == "d" * 40
    with pytest.raises(ValueError, match=f"a/b: revision {'d' * 40} was asked for, and the rows are of {'c' * 40}"):
        hub.required("a/b", "d" * 40, "c" * 40)


def test_the_sets_to_get_are_pinned_to_a_commit():
    for name in OFFICIAL:
        assert re.fullmatch("[0-9a-f]{40}", DATASETS[name].hub.revision), name
