"""`browse`: a comparison as a panel to click through in a notebook, and as plain HTML where no widget can be shown."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kg2rag.report.listing import Choice, Compared, first_choice
from kg2rag.report.widgets.questions import Board
from kg2rag.text.templates import render
from kg2rag.types import QADataset

if TYPE_CHECKING:
    from kg2rag.report.widgets.panel import Panel

LISTED = 10  # questions that the plain page lists


class Browser:
    """Questions to pick, two systems side by side; make one with `browse`.

    In a notebook it shows its panel. Where no widget can be shown (on a web site, in a notebook that is not trusted),
    it shows its first state as HTML: the questions on which the two systems differ most, and the first of them
    explained.

    Notes
    -----
    JupyterLab keeps a panel in a saved notebook where Settings ▸ Save Widget State Automatically is on, as `nbconvert
    --execute` always does. Else it says "model not found" when the notebook is opened again, until the cell is run.
    """

    def __init__(self, board: Board, choice: Choice) -> None:
        self.board = board
        self.first = choice

    def __repr__(self) -> str:
        return f"Browser({self.board.data.name!r}, {len(self.board.data)} questions, {self.board.result.systems})"

    @cached_property
    def panel(self) -> Panel:
        """The widgets, and what is chosen in them."""
        from kg2rag.report.widgets.panel import Panel

        return Panel(self.board, self.first)

    def to_html(self) -> str:
        """The first state, without widgets; every text is escaped."""
        questions = self.board.questions(self.first)
        return render(
            "browse.html.j2",
            choice=self.first,
            total=len(questions),
            rows=[self._row(row) for row in questions.head(LISTED).to_dict("records")],
            explained=self.board.explained(self.first, questions.index[0]),
            caveat=self.board.caveat(),
        )

    def _row(self, row: Mapping[Hashable, Any]) -> dict[str, str]:
        """A question of the list, its scores as the tables print them."""
        metric = self.first.metric
        scores = {name: self.board.score(metric, row[name]) for name in ("left", "right")}
        difference = self.board.difference(metric, row["difference"])
        return {"type": row["type"], "question": row["question"], "difference": difference, **scores}

    def _repr_html_(self) -> str:
        return self.to_html()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """The panel, and the plain page beside it for whoever cannot show a panel."""
        shown: dict[str, Any] = self.panel.box._repr_mimebundle_()
        return {**shown, "text/html": self.to_html(), "text/plain": repr(self)}


def browse(
    result: Compared,
    data: QADataset | None = None,
    *,
    systems: tuple[str, str] | None = None,
    metric: str | None = None,
    hits: int = 5,
) -> Browser:
    """Pick a question of a comparison and see what two systems return for it, and why.

    Parameters
    ----------
    data : what was compared on; a comparison that was loaded from files needs it, another one remembers it.
    systems : left and right to begin with; else the baseline and the best other system.
    metric : by which the questions are ordered to begin with; the comparison's first where not given.
    hits : shown of each ranking to begin with.

    Raises
    ------
    ValueError : an unknown system or metric, fewer than two systems, or other data than were compared.
    ImportError : ipywidgets is not installed.
    """
    try:
        import ipywidgets  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "kg2rag.report.widgets needs ipywidgets: pip install 'kg2rag[notebooks]'. Without it, "
            "result.compare_queries(a, b) shows where two systems differ most."
        ) from error
    if data is None:
        if result.inputs is None:
            raise ValueError(
                "This comparison was loaded from files, without its data: browse(result, kg2rag.load(...))."
            )
        data = result.inputs.data
    if len(result.systems) < 2:
        raise ValueError(
            f"browse sets two systems side by side; this comparison has {len(result.systems)}. "
            "kg2rag.explain shows a single one."
        )
    if hits < 1:
        raise ValueError(f"hits must be at least 1, not {hits}.")
    metric = _known("metric", metric or result.metrics[0], result.metrics)
    first = first_choice(result, metric)
    left, right = systems or (first.left, first.right)
    for name in (left, right):
        _known("system", name, result.systems)
    if left == right:
        raise ValueError(f"System {left!r} cannot be compared with itself. Name two of: {', '.join(result.systems)}.")
    return Browser(Board(result, data), Choice(left, right, metric, hits=hits))


def _known(what: str, name: str, known: list[str]) -> str:
    if name not in known:
        raise ValueError(f"Unknown {what} {name!r}. This comparison has: {', '.join(known)}.")
    return name
