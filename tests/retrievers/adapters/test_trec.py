from __future__ import annotations

import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.retrievers.adapters import trec
from kg2rag.types import Ranking


def ranking(query_id: str, ids: list[str], scores: list[float]) -> Ranking:
    return Ranking(query_id, np.arange(len(ids)), np.array(scores), ids)


def test_a_run_is_written_with_ranks_from_one_in_single_precision_and_blanks_and_per_cent_signs_encoded():
    text = trec.dump(
        [ranking("q1", ["a", "b"], [2 / 3, 0.5]), ranking("q2", ["c"], [-1e-12])],
        "mine",
    )
    assert (
        text
        == "q1 Q0 a 1 0.666666687 mine\nq1 Q0 b 2 0.5 mine\nq2 Q0 c 1 -9.99999996e-13 mine\n"
    )
    encoded = "q%201 Q0 100%25%20Ed%20Wood%C2%A0film 1 1 s\n"
    assert trec.dump([ranking("q 1", ["100% Ed Wood\u00a0film"], [1])], "s") == encoded
    assert (
        trec.dump_qrels({"q 1": {"a%b": 1, "c": 2}}) == "q%201 0 a%25b 1\nq%201 0 c 2\n"
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        min_size=1,
        max_size=8,
        unique=True,
    )
)
def test_any_ids_come_back_and_are_written_again_as_they_were_and_queries_without_hits_are_empty(
    tmp_path_factory, ids
):
    path = tmp_path_factory.mktemp("trec") / "run.trec"
    path.write_bytes(
        trec.dump(
            [ranking(ids[0], ids, [1 / 3] * len(ids)), ranking("none", [], [])], "s"
        ).encode()
    )
    first, second = trec.as_rankings(trec.load(path), [ids[0], "another"])
    assert (first.passage_ids, len(second)) == (ids, 0)
    assert trec.dump([first, second], "s").encode() == path.read_bytes()


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)]
)
def test_compressed_files_are_read_and_cut_ones_are_named(tmp_path, suffix, pack):
    path = tmp_path / f"mine.trec{suffix}"
    path.write_bytes(pack(b"q Q0 a 1 0.5 s\n"))
    assert trec.load(path) == {"q": [("a", 0.5)]}
    assert trec.name_of(path) == "mine"
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(
        ValueError, match=f"mine.trec{suffix} is no whole {suffix} file"
    ):
        trec.load(path)


def test_a_header_is_skipped_and_no_id_is_taken_for_one(tmp_path):
    path = tmp_path / "run.trec"
    text = trec.dump([ranking("#1", ["#a"], [1.0])], "s")
    assert text == "%231 Q0 %23a 1 1 s\n"
    path.write_text(f"# ir_metadata.start\n#\n# ir_metadata.end\n{text}")
    assert trec.load(path) == {"#1": [("#a", 1.0)]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q Q0 a 1 0.5", "got 5"),
        ("q Q0 a one 0.5 s", "'one'"),
        ("q%ff Q0 a 1 0.5 s", "q%ff"),
    ],
)
def test_a_broken_line_is_named(tmp_path, line, message):
    (tmp_path / "file").write_text(f"q Q0 b 1 0.5 s\n{line}\n")
    with pytest.raises(ValueError, match=f"line 2: .*{message}"):
        trec.load(tmp_path / "file")


@given(
    st.lists(
        st.sampled_from([0.0, -1.5, 1e-30, 0.5, 0.5 + 1e-9, 1 / 3, 1e30])
        | st.floats(-10, 10),
        max_size=30,
    )
)
def test_written_scores_fall_in_single_precision_whatever_the_ties(
    scores: list[float],
) -> None:
    ordered = sorted(scores, reverse=True)
    # by id, ties would be the other way round
    ids = [f"p{len(scores) - i}" for i in range(len(scores))]
    text = trec.dump(
        [Ranking("q", np.arange(len(scores)), np.array(ordered), ids)], "s"
    )
    read = [np.float32(line.split()[4]) for line in text.splitlines()]
    assert all(np.diff(read) < 0)
    assert np.allclose(read, ordered, rtol=1e-5, atol=1e-6)


def test_hits_are_ordered_by_score_then_by_rank_and_a_score_that_is_no_number_is_refused(
    tmp_path,
):
    file = tmp_path / "zero.trec"
    file.write_text("q Q0 a 0 0.25 s\nq Q0 b 0 0.75 s\nq Q0 c 0 0.25 s\n")
    assert trec.load(file) == {"q": [("b", 0.75), ("a", 0.25), ("c", 0.25)]}
    # ranks contradict scores
    file.write_text(
        "q Q0 a 1 0.25 s\nq Q0 b 2 0.75 s\nq Q0 d 4 0.5 s\nq Q0 c 3 0.5 s\n"
    )
    assert [id_ for id_, _ in trec.load(file)["q"]] == ["b", "c", "d", "a"]
    file.write_text("q Q0 a 1 nan s\n")
    with pytest.raises(ValueError, match="line 1"):
        trec.load(file)
