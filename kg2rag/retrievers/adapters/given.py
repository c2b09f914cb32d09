"""What a person has at hand -> a system: a function, a ranx run, a frame, a mapping of rankings.

Anything with `retrieve_batch` is a system already and stays as it is; so does what is none of these, for the caller to
refuse.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from kg2rag.retrievers.adapters.recorded import Recorded
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Corpus, QADataset, Query, Ranking, called

Found = Iterable[str | tuple[str, float]]
"""Passage ids, best first, or (passage id, score)."""


@dataclass(frozen=True)
class Answering(Retriever):
    """A function (text of the question, k) -> passage ids, best first, or pairs of id and score, as a system.

    Without scores, or where these do not fall, a hit's score is 1/rank. What the function raises is raised on.

    Raises
    ------
    TypeError : the function returns something else.
    ValueError : an id that the corpus lacks, or one twice.
    """

    corpus: Corpus = field(repr=False)
    function: Callable[[str, int], Found] = field(repr=False)
    name: str

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Call the function for each query; hits beyond `k` are cut."""
        run = {query.id: _hits(self.function(query.text, k), f"{self.name}({query.text!r}, {k})") for query in queries}
        return Recorded(self.corpus, run, self.name).retrieve_batch(queries, k)

    def prepare(self, queries: Sequence[Query]) -> None:
        """Nothing: what the function builds is its own matter."""


def as_system(name: str, given: Any, data: QADataset) -> Any:
    """A system of that name; questions that a run does not have count as answered with nothing.

    `given` : a function, see `Answering`; a `ranx.Run`; a frame with query_id, passage_id and score; a mapping from
    question id to passage id to score, or to passage ids, best first. Ids may be numbers.

    Raises ValueError: a run of other passages, or of none of the questions; TypeError: a mapping of something else.
    """
    if hasattr(given, "retrieve_batch") or isinstance(given, type | str | list | tuple):
        return given
    asked, ranx = [question.id for question in data.questions], sys.modules.get("ranx")
    if ranx is not None and isinstance(given, ranx.Run):
        return Recorded.from_ranx(given, data.corpus, name).answering(asked)
    if isinstance(given, pd.DataFrame):
        return Recorded.from_frame(given, data.corpus, name).answering(asked)
    if isinstance(given, Mapping):
        return Recorded(data.corpus, {str(id_): _recorded(id_, of) for id_, of in given.items()}, name).answering(asked)
    return Answering(data.corpus, given, name) if callable(given) else given


def _recorded(query: object, of: Any) -> list[tuple[str, float]]:
    if isinstance(of, Mapping):
        return sorted(((str(id_), float(score)) for id_, score in of.items()), key=lambda hit: -hit[1])
    return _hits(of, f"the ranking of query {query!r}")


def _hits(found: Any, what: str) -> list[tuple[str, float]]:
    """Ids and scores; 1/rank for ids alone."""
    if isinstance(found, str | bytes | Mapping) or not isinstance(found, Iterable):
        raise TypeError(f"{what} is {called(found)}; passage ids are wanted, best first, or pairs of id and score.")
    hits: list[tuple[str, float]] = []
    for rank, hit in enumerate(found, start=1):
        pair = hit if isinstance(hit, tuple) else (hit, 1.0 / rank)
        if len(pair) != 2:
            raise TypeError(f"{what}: hit {rank} is {hit!r}; a passage id is wanted, or a pair of id and score.")
        hits.append((str(pair[0]), float(pair[1])))
    return hits
