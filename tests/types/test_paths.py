from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from kg2rag.retrievers.fusion import fuse_rankings
from kg2rag.types import Ranking, Triple, first_of, rescored
from kg2rag.types.passages import Paths

FACT, OTHER = Triple("a", "r", "b", "p2"), Triple("c", "r", "d", "p0")


class Lazy(Mapping[int, tuple[Triple, ...]]):
    """Works a path out when it is looked up, and must not be iterated, counted or copied."""

    def __init__(self, paths: dict[int, tuple[Triple, ...]]) -> None:
        self.paths, self.looked_up = paths, list[int]()

    def __getitem__(self, row: int) -> tuple[Triple, ...]:
        self.looked_up.append(row)
        return self.paths[row]

    def __iter__(self) -> Iterator[int]:
        raise AssertionError("every path was worked out")

    def __len__(self) -> int:
        raise AssertionError("every path was worked out")


def ranking(paths: Paths) -> Ranking:
    return Ranking.of("q", np.array([0, 2]), np.array([0.5, 0.9]), ["p0", "p1", "p2"], stages=("x",), paths=paths)


def test_rank_and_top_look_up_no_path() -> None:
    lazy = Lazy({2: (FACT,)})
    found = ranking(lazy).top(1)
    assert lazy.looked_up == []
    assert found.hit(1).path == (FACT,)
    assert lazy.looked_up == [2]


def test_a_rescored_ranking_looks_up_the_paths_of_the_hits_that_are_read_alone() -> None:
    lazy = Lazy({0: (OTHER,), 2: (FACT,)})
    before = ranking(lazy)
    new = rescored(before, before.rows, -before.scores, 9, formula="x", score_parts={}, paths={2: (OTHER, FACT)})
    assert lazy.looked_up == []
    assert [hit.path for hit in new] == [(OTHER,), (OTHER, FACT)]
    assert lazy.looked_up == [0]


def test_fused_rankings_look_up_no_path_until_a_hit_is_read() -> None:
    one, other = Lazy({2: (FACT,)}), Lazy({0: (OTHER,), 2: (OTHER,)})
    fused = fuse_rankings([ranking(one), ranking(other)], (1.0, 1.0), 9)
    assert (one.looked_up, other.looked_up) == ([], [])
    assert {hit.passage_id: hit.path for hit in fused} == {"p2": (FACT,), "p0": (OTHER,)}


def test_the_view_of_several_mappings_has_each_row_once_and_the_first_path_of_it() -> None:
    view = first_of({2: (FACT,)}, {}, {0: (OTHER,), 2: (OTHER,)})
    assert dict(view) == {2: (FACT,), 0: (OTHER,)}
    assert len(view) == 2
    with pytest.raises(KeyError, match="7"):
        view[7]
