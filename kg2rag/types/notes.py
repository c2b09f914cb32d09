"""What a strategy says of a query as a whole: the arithmetic of its scores, the entities it linked, why it fell back.

A strategy with more to say declares a frozen dataclass that derives from `Notes`, one named field for each thing. A
stage and a fusion keep the notes of what they read in `inputs`.

`formula` and `source` are each one text for all hits, or a mapping from stage to text. A formula holds numbers, names
of score parts, + - · / and parentheses. It is a sum; a term that names a part which the hit lacks is left out. Every
hit's score can thus be recomputed from its parts:

>>> import numpy as np
>>> from kg2rag.types.rankings import Ranking
>>> parts = {"cosine": np.array([0.9, 0.4]), "strength": np.array([np.nan, 7.0])}
>>> found = {"stages": ("vector", "graph"), "stage_codes": np.array([0, 1]), "score_parts": parts}
>>> sums = Notes({"vector": "cosine", "graph": "cosine · strength / 10"}, {"vector": "dense", "graph": "graph"})
>>> ids, rows, scores = ["fastapi", "starlette"], np.array([0, 1]), np.array([0.9, 0.28])
>>> ranking = Ranking.from_scores("q", rows, scores, ids, **found, notes=sums)
>>> print(ranking.explain(), end="")
 1  fastapi  0.9  vector, from dense
    = 0.9 (cosine)
 2  starlette  0.28  graph
    = 0.4 (cosine) · 7 (strength) / 10

Of a fusion's "1 / (60 + dense rank) + 1 / (60 + bm25 rank)", a hit that only BM25 found shows the second term. Parts
that no term names (the restart weights of a PageRank, say) are shown beside the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, is_dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

if TYPE_CHECKING:
    from kg2rag.types.rankings import Ranking

PerStage = str | Mapping[str, str]  # one text for all hits, or stage -> text
Kind = TypeVar("Kind", bound="Notes")


class LinkedEntity(NamedTuple):
    """An entity that a query was linked to: its name, the linker that found it, and how sure that is, in (0, 1]."""

    name: str
    linker: str
    confidence: float


@dataclass(frozen=True)
class Notes:
    """What every room may read of a ranking; strategies add fields.

    Attributes
    ----------
    formula : of the scores, see above; empty where the strategy gives none.
    source : where the hits were searched: "dense", "bm25", "graph", …
    warning : why the ranking is not what the strategy usually returns: a fall-back, or a step that was left out.
    query_cut : how much of a very long query was read.
    entities : those that the query was linked to, most important first; None where the strategy links none.
    tokens, left_out : of a token limit: the tokens used, and the ids of the hits that did not fit.
    inputs : the notes of the rankings that were joined, or of the one that a stage read.
    other : fields of a class that this process does not know, as they were read.
    """

    formula: PerStage = ""
    source: PerStage = ""
    _: KW_ONLY
    warning: str = ""
    query_cut: str = ""
    entities: tuple[LinkedEntity, ...] | None = None
    tokens: int | None = None
    left_out: tuple[str, ...] | None = None
    inputs: tuple[Notes, ...] = ()
    other: Mapping[str, object] = field(default_factory=dict)
    classes: ClassVar[dict[str, type[Notes]]] = {}

    def __init_subclass__(cls) -> None:
        Notes.classes[cls.__name__] = cls

    def __iter__(self) -> Iterator[Notes]:
        """These notes, then those of their inputs, depth first."""
        yield self
        yield from chain.from_iterable(self.inputs)

    def find(self, kind: type[Kind]) -> Kind | None:
        """The first notes of a class among these and their inputs."""
        return next((each for each in self if isinstance(each, kind)), None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Every warning, the last step's first."""
        return tuple(dict.fromkeys(each.warning for each in self if each.warning))

    @property
    def linked(self) -> tuple[LinkedEntity, ...] | None:
        """The entities of the query, as the last step that linked any has them."""
        return next((each.entities for each in self if each.entities is not None), None)

    def display_fields(self) -> dict[str, object]:
        """What a reader is shown, own fields first; a name that an input repeats is numbered, "trees 2".

        Formula and source are left out, so are fields that are None and those that one stage leaves for the next.
        """
        shown: dict[str, object] = {}
        for notes in self:
            own: dict[str, object] = {}
            if notes.entities is not None:
                linkers = [*(entity.linker for entity in notes.entities), ""]
                own = {"entities": tuple(entity.name for entity in notes.entities), "linked_by": linkers[0]}
            for each in fields(notes):
                value, hidden = getattr(notes, each.name), each.name in _HIDDEN or each.metadata.get("inner")
                if not hidden and value is not None and (value or each.name not in _BASE):
                    own[each.name] = value
            for name, value in (own | dict(notes.other)).items():
                free = chain([name], (f"{name} {number}" for number in count(2)))
                shown[next(one for one in free if shown.get(one, value) == value)] = value
        return shown

    def to_json(self) -> dict[str, object]:
        """Plain values, under "kind" the class; what is at its default is left out."""
        kept = {each.name: getattr(self, each.name) for each in fields(self) if not each.metadata.get("inner")}
        blank = type(self)()
        written = {name: plain(value) for name, value in kept.items() if value != getattr(blank, name)}
        other = written.pop("other", {})
        return {"kind": type(self).__name__, **written, **other}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Notes:
        """What `to_json` gave; of a class that is not loaded the base fields, and the others as `other`."""
        given: dict[str, Any] = {name: _tuples(value) for name, value in record.items()}
        kind = Notes.classes.get(str(record.get("kind")), Notes)
        if kind is not Notes or given.get("kind") == "Notes":
            given.pop("kind", None)
        given["inputs"] = tuple(map(Notes.from_json, record.get("inputs", ())))
        if record.get("entities") is not None:
            given["entities"] = tuple(LinkedEntity(*entity) for entity in record["entities"])
        known = {each.name for each in fields(kind)}
        return kind(**{name: given.pop(name) for name in known & given.keys()}, other=given)


_BASE = {each.name for each in fields(Notes)}
_HIDDEN = ("formula", "source", "entities", "inputs", "other")
INNER = {"inner": True}  # metadata of a field that one stage leaves for the next: it is neither shown nor written


def plain(value: object) -> Any:
    """A value as JSON has it; text where JSON has nothing like it."""
    if isinstance(value, Notes):
        return value.to_json()
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return plain(value.tolist()) if hasattr(value, "tolist") else str(value)


def _tuples(value: object) -> object:
    """Lists as tuples, at every depth: notes cannot be changed."""
    if isinstance(value, Mapping):
        return {name: _tuples(part) for name, part in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def sources(ranking: Ranking) -> dict[str, str]:
    """Stage -> where its hits were searched; the stage's own name where the ranking does not record it."""
    return {stage: for_stage(ranking.notes.source, stage) or stage for stage in ranking.stages}


def for_stage(recorded: PerStage, stage: str) -> str:
    """The text of a stage: its own, or the one for all; empty where there is none."""
    return recorded if isinstance(recorded, str) else recorded.get(stage, "")
