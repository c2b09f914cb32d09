"""Two runs of the same questions -> what one returns and the other does not, and how far the rest has moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kg2rag.types import Ranking


@dataclass(frozen=True)
class Moved:
    """A passage in two rankings of a question; a rank of 0 is none within the depth."""

    passage_id: str
    before: int
    after: int
    gold: bool

    @property
    def told(self) -> str:
        """The change in words: "entered", "left", "up 3", "down 1", "same"."""
        if not (self.before and self.after):
            return "entered" if self.after else "left"
        by = self.before - self.after
        return f"up {by}" if by > 0 else f"down {-by}" if by < 0 else "same"


@dataclass(frozen=True)
class Changed:
    """What changed for a question between two rankings cut at a depth; `moves` in the order of the second."""

    query_id: str
    moves: tuple[Moved, ...]

    @property
    def entered(self) -> int:
        """How many passages are new within the depth."""
        return sum(not one.before for one in self.moves)

    @property
    def left(self) -> int:
        """How many passages are gone from it."""
        return sum(not one.after for one in self.moves)

    @property
    def gold(self) -> int:
        """Gold passages within the depth: gained less lost."""
        return sum(one.gold * (bool(one.after) - bool(one.before)) for one in self.moves)

    @property
    def moved(self) -> int:
        """How many passages are in both, at another rank."""
        return sum(bool(one.before and one.after) and one.before != one.after for one in self.moves)


def changed(before: Ranking, after: Ranking, k: int, is_gold: Callable[[str], bool]) -> Changed:
    """The change from one ranking of a question to another within their first `k` hits."""
    first, second = ({id_: rank for rank, id_ in enumerate(one.passage_ids[:k], start=1)} for one in (before, after))
    ids = [*second, *(id_ for id_ in first if id_ not in second)]
    moves = (Moved(id_, first.get(id_, 0), second.get(id_, 0), is_gold(id_)) for id_ in ids)
    return Changed(after.query_id, tuple(moves))


def changes(
    before: Sequence[Ranking], after: Sequence[Ranking], k: int, is_gold: Callable[[str, str], bool]
) -> Iterator[Changed]:
    """The change of each question that both runs have, in the order of the second.

    `is_gold` is asked with the ids of the question and of a passage.
    """
    by_id = {one.query_id: one for one in before}
    for ranking in after:
        if ranking.query_id in by_id:
            query = ranking.query_id
            yield changed(by_id[query], ranking, k, lambda id_, query=query: is_gold(query, id_))  # type: ignore[misc]
