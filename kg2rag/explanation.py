"""A ranking -> why each hit is there: its stage, the triples on its path with their strengths, the sum of its score.

Shows itself in Jupyter (self-contained HTML, everything escaped) and in a terminal (rich). What a strategy says of a
hit lies in the ranking; nothing is computed anew here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

    from kg2rag.types import Hit, Ranking

FORMULA = "score"
"""The key of `Ranking.metadata` under which a strategy writes how a score is made of its parts."""


@dataclass(frozen=True)
class Explanation:
    """The first hits of a ranking, explained; make one with `Ranking.explain`.

    Attributes
    ----------
    limit : hits shown.
    texts : passage id -> what to show of the passage; ids alone where empty.
    """

    ranking: Ranking
    limit: int = 10
    texts: Mapping[str, str] = field(default_factory=dict)
    title: str = ""

    def hits(self) -> list[Hit]:
        """The hits shown."""
        return list(self.ranking.top(self.limit))

    def sum_of(self, hit: Hit) -> str:
        """How the score is made, with this hit's numbers: "0.7 · 0.91 (hybrid) + 0.3 · 0.5 (graph)"."""
        formula = self.ranking.metadata.get(FORMULA)
        if formula is None:
            return ", ".join(f"{name} {_number(value)}" for name, value in hit.parts.items())
        names = sorted(hit.parts, key=len, reverse=True)
        if not names:
            return str(formula)
        pattern = re.compile("|".join(rf"(?<![\w.]){re.escape(name)}(?!\w)" for name in names))
        return pattern.sub(lambda found: f"{_number(hit.parts[found.group()])} ({found.group()})", str(formula))

    def notes(self) -> dict[str, str]:
        """What the strategy says of the query as a whole."""
        return {name: _readable(value) for name, value in self.ranking.metadata.items() if name != FORMULA}

    def _repr_html_(self) -> str:
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("kg2rag", "templates"), autoescape=True, undefined=StrictUndefined
        )
        rows = [self._row(at, hit) for at, hit in enumerate(self.hits(), start=1)]
        template = environment.get_template("explanation.html.j2")
        return template.render(title=self.title, rows=rows, notes=self.notes())

    def _row(self, at: int, hit: Hit) -> dict[str, Any]:
        return {
            "rank": at,
            "hit": hit,
            "score": _number(hit.score),
            "sum": self.sum_of(hit),
            "text": self.texts.get(hit.passage_id, ""),
            "path": [(triple, f"{0.8 + triple.strength / 4:.2f}") for triple in hit.path],
        }

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        lines = [Text(self.title, style="bold")] if self.title else []
        for at, hit in enumerate(self.hits(), start=1):
            lines += self._lines(at, hit)
        lines += [Text(f"{name}: {value}", style="dim") for name, value in self.notes().items()]
        return Group(*lines)

    def _lines(self, at: int, hit: Hit) -> list[Text]:
        from rich.text import Text

        head = Text.assemble((f"{at:>2}  ", "dim"), (hit.passage_id, "bold"), f"  {_number(hit.score)}  ")
        lines = [head.append(hit.stage, style="cyan")]
        text = self.texts.get(hit.passage_id, "")
        if text:
            lines.append(Text(f"    {text}"))
        if self.sum_of(hit):
            lines.append(Text(f"    = {self.sum_of(hit)}", style="dim"))
        lines += [Text(f"    {triple}  (strength {triple.strength:g})", style="green") for triple in hit.path]
        return lines

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=120, no_color=True)
        with console.capture() as captured:
            console.print(self)
        return captured.get()


def side_by_side(explanations: Mapping[str, Explanation]) -> Any:
    """Explanations in columns, for a terminal."""
    from rich.table import Table

    table = Table(*explanations, show_lines=False, expand=True)
    table.add_row(*explanations.values())
    return table


def _number(value: float) -> str:
    return f"{value:.4g}"


def _readable(value: object) -> str:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_readable(part)}" for name, part in value.items()) or "none"
    if isinstance(value, tuple | list):
        return ", ".join(map(_readable, value)) or "none"
    return str(value)
