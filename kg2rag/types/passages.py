"""The records of all components: passages, queries, triples, paths, hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrievable text (a paper's *chunk*): `Passage(id, text)` or `Passage(id, title, text)`.

    `doc_id` names the document it belongs to (default: the id); `position` its place there, from 0.
    `metadata` holds further fields as JSON values; they are not searched.
    """

    id: str
    title: str = ""
    text: str = None  # type: ignore[assignment]  # with two arguments, the second is the text
    doc_id: str = ""
    position: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.text is None:
            object.__setattr__(self, "text", self.title)
            object.__setattr__(self, "title", "")
        if self.doc_id == "":
            object.__setattr__(self, "doc_id", self.id)

    @property
    def contents(self) -> str:
        """The indexed and encoded text: title, line break, text; only the text without a title."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class Query:
    """A question; `candidates` are the passage ids that it may return, None means all.

    Candidates belong to the setting "distractor".

    TypeError: the id or the text is not a string, or the candidates are a single string.
    """

    id: str
    text: str
    candidates: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.id, str) and isinstance(self.text, str)):
            raise TypeError(
                f"A query has an id and a text, both strings, not {self.id!r} and {self.text!r}."
            )
        if isinstance(self.candidates, str):
            raise TypeError(
                f"Candidates are a tuple of passage ids, such as ({self.candidates!r},), not one string."
            )


@dataclass(frozen=True, slots=True)
class Triple:
    """A fact and the passage that states it.

    `strength`, in (0, 10], is the strength of the relation; `confidence`, in (0, 1], is that of the
    extractor. `relation` is a short name, `description` a sentence, empty if the source has none.
    """

    head: str
    relation: str
    tail: str
    passage_id: str
    strength: float = 5.0
    confidence: float = 1.0
    description: str = ""

    def __post_init__(self) -> None:
        self._require_number("strength", self.strength, 10)
        self._require_number("confidence", self.confidence, 1)

    def _require_number(self, name: str, value: object, maximum: int) -> None:
        """Raise TypeError if a field is not a number, ValueError if it is outside (0, maximum]."""
        if not isinstance(value, int | float | np.number):
            raise TypeError(f"{self}: {name} is a number, not {value!r}.")
        if not 0 < value <= maximum:
            raise ValueError(f"{self}: {name} {value} is outside (0, {maximum}].")

    def __str__(self) -> str:
        return f"{self.head} -[{self.relation}]-> {self.tail}"


class PassageSource(Protocol):
    """The part of a corpus that hits read."""

    def row(self, id_: str) -> int:
        """The row of a passage id."""

    def __getitem__(self, row: int, /) -> Passage:
        """The passage in a row."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage of a ranking.

    `stage` names the component that found it. `path` holds the triples that led to it; it is empty
    for a text match. `score_parts` are the named parts of the score. `corpus` has the text; it is
    None in a run from a file.
    """

    passage_id: str
    score: float
    stage: str
    path: tuple[Triple, ...] = ()
    score_parts: Mapping[str, float] = field(default_factory=dict)
    corpus: PassageSource | None = field(default=None, repr=False, compare=False)

    @property
    def passage(self) -> Passage:
        """The passage; ValueError if the ranking was read from a file, which has only ids."""
        if self.corpus is None:
            raise ValueError(
                f"The hit {self.passage_id!r} is of a ranking that was read from a file, which has "
                "only ids. Look it up: data.corpus[data.corpus.row(hit.passage_id)]."
            )
        return self.corpus[self.corpus.row(self.passage_id)]

    @property
    def title(self) -> str:
        """The passage's title; see `passage` for the error."""
        return self.passage.title

    @property
    def text(self) -> str:
        """The passage's text."""
        return self.passage.text

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Further fields of the passage, such as its file and headings."""
        return self.passage.metadata

    @property
    def path_text(self) -> str:
        """The path in one line, such as "FastAPI -[built on]-> Starlette"; empty for a text match.

        Triples that read alike, as those of two passages of one title, are written once.
        """
        return "; ".join(dict.fromkeys(map(str, self.path)))


class Paths(Protocol):
    """A mapping from corpus row to the path of triples to its passage: a dict or `LazyPaths`."""

    def get(self, row: int, default: tuple[Triple, ...], /) -> tuple[Triple, ...]:
        """The path to the passage in a row, or the default."""


@dataclass(frozen=True)
class LazyPaths:
    """Paths that are built when a hit is read, since few hits of a ranking are.

    `path_of` returns the triples of the path to the passage in a row; none if it has no path.
    """

    path_of: Callable[[int], Iterable[Triple]]

    def get(self, row: int, default: tuple[Triple, ...] = ()) -> tuple[Triple, ...]:
        """The path to the passage in a row, or the default."""
        return tuple(self.path_of(row)) or default


def first_of(*paths: Paths) -> LazyPaths:
    """Paths that return, for each row, the first path in several mappings that is not empty."""

    def path_of(row: int) -> tuple[Triple, ...]:
        candidates = (mapping.get(row, ()) for mapping in paths)
        return next((path for path in candidates if path), ())

    return LazyPaths(path_of)


FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Matrix = NDArray[np.float32]
