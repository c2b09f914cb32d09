"""A ranking -> why each hit was retrieved: stage, source, the triples on its path, the arithmetic of its score.

Displays itself in Jupyter (self-contained HTML, all text escaped) and in a terminal (rich). Only shows what the ranking
records; nothing is recomputed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from kg2rag.text.templates import render
from kg2rag.types.arrays import FloatArray
from kg2rag.types.notes import Notes, for_stage, sources
from kg2rag.types.passages import Hit, Triple

if TYPE_CHECKING:
    from rich.console import Group, RenderableType


class _Ranked(Protocol):
    """What an explanation reads of a `Ranking`, which imports this module."""

    @property
    def stages(self) -> Sequence[str]: ...
    @property
    def notes(self) -> Notes: ...
    @property
    def score_parts(self) -> Mapping[str, FloatArray]: ...
    @property
    def passage_ids(self) -> list[str]: ...
    def top(self, k: int) -> Iterable[Hit]: ...


GOLD = "◆ gold"
"""Marks hits that are gold."""
LISTED = 12  # members of a note that are shown; a strategy may record hundreds


@dataclass(frozen=True, repr=False)
class Explanation:
    """The first hits of a ranking, explained; make one with `Ranking.explain`.

    Attributes
    ----------
    limit : hits shown.
    texts : passage id -> the text shown for it; only ids are shown where empty.
    gold : gold id -> the passages that count as it (itself, or those of a document); empty where unknown.
    """

    ranking: _Ranked
    limit: int = 10
    texts: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    gold: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def hits(self) -> list[Hit]:
        """The hits shown."""
        return list(self.ranking.top(self.limit))

    def stage_of(self, hit: Hit) -> str:
        """The stage that found the hit and, if it has another name, its source: "seed, from dense"."""
        source = sources(self.ranking)[hit.stage]
        return hit.stage if source == hit.stage else f"{hit.stage}, from {source}"

    def formula_of(self, hit: Hit) -> str | None:
        """The formula of the hit's score, with the names of its parts; None where the strategy records none."""
        formula = for_stage(self.ranking.notes.formula, hit.stage)
        if not formula:
            return None
        named = self._names()
        return " + ".join(term for term in _terms(formula) if hit.score_parts.keys() >= set(named.findall(term)))

    def sum_of(self, hit: Hit) -> str:
        """The formula with this hit's numbers: "0.7 · 0.91 (hybrid) + 0.3 · 0.5 (graph)"."""
        formula = self.formula_of(hit)
        if formula is None:
            return ", ".join(f"{name} {_number(value)}" for name, value in hit.score_parts.items())
        return self._names().sub(lambda found: f"{_number(hit.score_parts[found.group()])} ({found.group()})", formula)

    def besides(self, hit: Hit) -> dict[str, float]:
        """The hit's score parts that its formula does not name."""
        formula = self.formula_of(hit)
        named = set(self._names().findall(formula)) if formula is not None else set(hit.score_parts)
        return {name: value for name, value in hit.score_parts.items() if name not in named}

    def _names(self) -> re.Pattern[str]:
        """Matches the names of the ranking's score parts, the longer of two that begin alike."""
        names = sorted(self.ranking.score_parts, key=len, reverse=True)
        return re.compile("|".join(rf"(?<![\w.]){re.escape(name)}(?!\w)" for name in names) or "(?!)")

    def is_gold(self, hit: Hit) -> bool:
        """Whether the hit counts as gold."""
        return any(hit.passage_id in passages for passages in self.gold.values())

    def missed(self) -> dict[str, str]:
        """Gold that none of the hits shown counts as -> where it is ranked instead."""
        places = {id_: at for at, id_ in enumerate(self.ranking.passage_ids, start=1)}
        first = {id_: min((places[p] for p in of_gold if p in places), default=0) for id_, of_gold in self.gold.items()}
        nowhere = f"not among the {len(places)} passages of the ranking"
        return {id_: f"at rank {at}" if at else nowhere for id_, at in first.items() if not 0 < at <= self.limit}

    def notes(self) -> dict[str, str]:
        """What the strategy records about the query as a whole."""
        return {name: _readable(value) for name, value in self.ranking.notes.said().items()}

    def html(self, *, styled: bool) -> str:
        """A fragment; without its styles on a page that brings them, `explanation.css` of the templates."""
        told = {"title": self.title, "rows": self._rows(), "missed": self.missed(), "notes": self.notes()}
        return render("explanation.html.j2", styled=styled, **told)

    def _repr_html_(self) -> str:
        return self.html(styled=True)

    def _rows(self) -> list[dict[str, Any]]:
        """What both displays show of each hit."""
        return [
            {
                "rank": at,
                "hit": hit,
                "gold": self.is_gold(hit),
                "score": _number(hit.score),
                "stage": self.stage_of(hit),
                "sum": self.sum_of(hit),
                "besides": _readable(besides) if (besides := self.besides(hit)) else "",
                "text": self.texts.get(hit.passage_id, ""),
                "path": [(triple, f"{0.8 + triple.strength / 4:.2f}") for triple in hit.path],
            }
            for at, hit in enumerate(self.hits(), start=1)
        ]

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.padding import Padding
        from rich.text import Text

        lines: list[RenderableType] = [Text(self.title, style="bold")] if self.title else []
        for row in self._rows():
            head = Text.assemble((f"{row['rank']:>2}  ", "dim"), (row["hit"].passage_id, "bold"), f"  {row['score']}  ")
            head.append(row["stage"], style="cyan").append(f"  {GOLD}" * row["gold"], style="bold green")
            below = [
                Text(row["text"]),
                Text(f"= {row['sum']}" if row["sum"] else "", style="dim"),
                Text(f"besides: {row['besides']}" if row["besides"] else "", style="dim"),
                *(Text(_stated(triple), style="green") for triple, _ in row["path"]),
            ]
            lines += [head, *(Padding(line, (0, 0, 0, 4), expand=False) for line in below if line)]
        lines += [Text(f"{GOLD} {id_}: {where}", style="bold yellow") for id_, where in self.missed().items()]
        lines += [Text(f"{name}: {value}", style="dim") for name, value in self.notes().items()]
        return Group(*lines)

    def __repr__(self) -> str:
        from kg2rag.text.shown import console as console_of

        console = console_of(width=120, no_color=True)
        with console.capture() as captured:
            console.print(self)
        return captured.get()


def _stated(triple: Triple) -> str:
    """A triple of a path with its strength and, where it has one, its description on one line."""
    about = " ".join(triple.description.split())
    return f"{triple}  (strength {triple.strength:g}){about and f': {about}'}"


def side_by_side(explanations: Mapping[str, Explanation]) -> Any:
    """Explanations in columns of a terminal."""
    from rich.table import Table

    table = Table(*explanations, show_lines=False, expand=True)
    table.add_row(*explanations.values())
    return table


def _terms(formula: str) -> list[str]:
    """The terms of a sum; a + within parentheses separates none."""
    terms, depth = [""], 0
    for character in formula:
        depth += (character == "(") - (character == ")")
        if character == "+" and not depth:
            terms.append("")
        else:
            terms[-1] += character
    return [term.strip() for term in terms]


def _number(value: float) -> str:
    return f"{value:.4g}"


def _readable(value: object) -> str:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return _listed([f"{name} {_readable(part)}" for name, part in value.items()])
    if isinstance(value, tuple | list):
        return _listed([f"({_readable(x)})" if isinstance(x, tuple | list) else _readable(x) for x in value])
    return str(value)


def _listed(members: Sequence[str]) -> str:
    unshown = [f"… and {len(members) - LISTED} more"] if len(members) > LISTED else []
    return ", ".join([*members[:LISTED], *unshown]) or "none"
