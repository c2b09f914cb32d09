"""One passage of a ranking, as an object that is made when it is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kg2rag.types.passages import Triple


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage of a ranking.

    `stage` names the component that brought it in, `path` the triples that led to it (empty for a text match),
    `score_parts` the named numbers its score was made of.
    """

    passage_id: str
    score: float
    stage: str
    path: tuple[Triple, ...] = ()
    score_parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def path_text(self) -> str:
        """The path in one line, such as "FastAPI -[built on]-> Starlette"; empty for a text match."""
        return ", ".join(map(str, self.path))
