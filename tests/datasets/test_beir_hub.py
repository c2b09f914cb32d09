"""Sets of BEIR by name, read by the hub's own client from a cache laid out as it lays it out; no network."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kg2rag import DataError
from kg2rag.datasets import beir, load

FIRST, SECOND, OTHER = "a" * 40, "b" * 40, "c" * 40
DOCUMENTS = [
    {"_id": "0012", "title": "Bridge", "text": "It crosses the river."},
    {"_id": "0013", "title": None, "text": "The abbey stands on a hill."},
    {"_id": "0014", "title": "", "text": " "},
]
QUERIES = [
    {"_id": "1", "text": "what crosses the river?"},
    {"_id": "2", "text": "where is the abbey?"},
]
HEADER = "query-id\tcorpus-id\tscore\n"
QRELS = {
    "test.tsv": HEADER + "1\t0012\t2\n1\t0014\t1\n2\t0013\t0\n9\t0012\t1\n",
    "train.tsv": HEADER + "2\t0013\t1\n",
}
Copy = Callable[..., None]


@pytest.fixture
def cached(hub_folder: Callable[[str, str], Path]) -> Copy:
    """Put both repositories of a set into a hub cache, the newest commit of each being FIRST and SECOND."""

    def put(
        name: str = "arguana",
        *,
        packed: bool = False,
        documents: Any = DOCUMENTS,
        qrels: Any = QRELS,
    ) -> None:
        made = hub_folder(f"BeIR/{name}", FIRST)
        for what, rows in {"corpus": documents, "queries": QUERIES}.items():
            if packed:
                lines = "".join(json.dumps(row) + "\n" for row in rows)
                (made / f"{what}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
            else:
                (made / what).mkdir(exist_ok=True)
                schema = pa.schema([(name, pa.string()) for name in rows[0]])
                for part, rows_of in enumerate((rows[:1], rows[1:])):
                    file = made / what / f"{what}-0000{part}-of-00002.parquet"
                    pq.write_table(pa.Table.from_pylist(rows_of, schema=schema), file)
        judged = hub_folder(f"BeIR/{name}-qrels", SECOND)
        for file_name, text in qrels.items():
            (judged / file_name).write_text(text)

    return put


@pytest.mark.parametrize("packed", [False, True])
def test_both_layouts_of_the_hub_make_the_same_set(cached: Copy, packed: bool) -> None:
    cached(packed=packed)
    data = load("beir/arguana")
    assert data.name == "beir-arguana"
    assert data.qrels == {"1": {"0012": 2}}
    assert [(each.id, each.title, each.text) for each in data.corpus] == [
        ("0012", "Bridge", "It crosses the river."),
        ("0013", "", "The abbey stands on a hill."),
    ]


def test_commits_of_both_repositories_are_recorded_and_can_be_asked_for(
    cached: Copy,
) -> None:
    cached()
    source = load("beir/arguana").source
    assert (source["hub"], source["judgements"]) == (
        "BeIR/arguana",
        "BeIR/arguana-qrels",
    )
    assert source["revision"] == f"{FIRST}+{SECOND}"
    assert set(source["files"]) >= {"test.tsv", "corpus-00001-of-00002.parquet"}  # type: ignore[call-overload]
    assert load("beir/arguana", revision=f"{FIRST}+{SECOND}").source == source
    with pytest.raises(
        ConnectionError,
        match=f"'BeIR/arguana-qrels' .revision '{OTHER}'. could not be read",
    ):
        load("beir/arguana", revision=f"{FIRST}+{OTHER}")


def test_what_is_not_ours_to_repair_is_left_out_and_counted(cached: Copy) -> None:
    cached()
    assert load("beir/arguana").source["notes"] == {
        "documents without title and text left out": 1,
        "judgements below 1 left out": 1,
        "judgements of documents without text left out": 1,
        "judgements of queries without text left out": 1,
        "queries without a relevant document in this split left out": 1,
    }


def test_a_split_is_chosen_and_dev_is_what_the_hub_calls_validation(
    cached: Copy,
) -> None:
    cached(qrels={"dev.tsv": QRELS["train.tsv"], "test.tsv": QRELS["test.tsv"]})
    assert load("beir/arguana", split="validation").qrels == {"2": {"0013": 1}}
    with pytest.raises(ValueError, match=r"beir/arguana.*'train'.*dev, test"):
        load("beir/arguana", split="train")


def test_files_that_are_not_whole_are_named(cached: Copy, tmp_path: Path) -> None:
    cached(packed=True)
    snapshot = tmp_path / "hub" / "datasets--BeIR--arguana" / "snapshots" / FIRST
    file = snapshot / "corpus.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"corpus\.jsonl\.gz"):
        load("beir/arguana")
    file.unlink()
    (snapshot / "corpus").mkdir()
    (snapshot / "corpus" / "corpus-00000-of-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"corpus-00000-of-00001\.parquet"):
        load("beir/arguana")


def test_without_a_network_the_ways_out_are_named_and_for_a_wrong_name_the_nearest(
    cached: Copy,
) -> None:
    with pytest.raises(ConnectionError, match=r"'BeIR/scifact'.*--path.*'bundled'"):
        load("beir/scifact")
    for near, name in {
        "beir/sci-fact": "'beir/scifact'",
        "trec-covid": "'beir/trec-covid'",
    }.items():
        with pytest.raises(ValueError, match=name):
            load(near)
    assert set(beir.PINNED) < set(beir.ON_HUB)
    # Two commits.
    assert all(len(one) == 81 and one[40] == "+" for one in beir.PINNED.values())
