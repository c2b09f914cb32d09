"""The widgets: clicks become a `Choice`, and its answer is shown.

Every change makes a new choice and redraws what depends on it; no widget reads another one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import ipywidgets as widgets

from kg2rag.report.listing import AHEAD, ORDERS, PAGE, Choice
from kg2rag.report.widgets.questions import Board

HITS = (3, 5, 10, 20, 50)
_WIDE = 160  # characters of a question in the list
_NAMED = {"description_width": "5em"}


class Panel:
    """A box of widgets over a board.

    Attributes
    ----------
    box : what is displayed.
    choice : what is chosen now. question : the id of the question shown; empty where none matches.
    page : of the list, from 0.
    """

    def __init__(self, board: Board, choice: Choice) -> None:
        self.board = board
        self.choice = choice
        self.question = ""
        self.page = 0
        self._drawing = False
        now, names = self.choice, self.board.result.systems
        total = len(self.board.data)
        kinds, hops = _counted("all types", total, self.board.kinds()), _counted("any hops", total, self.board.hops())
        self.left = _dropdown("left", names, now.left)
        self.right = _dropdown("right", names, now.right)
        self.metric = _dropdown("metric", self.board.result.metrics, now.metric)
        self.order = _dropdown("order", ORDERS, now.order)
        self.kind = _dropdown("type", kinds, now.kind)
        self.hops = _dropdown("hops", hops, now.hops)
        self.ahead = _dropdown("ahead", [(name or "any", name) for name in AHEAD], now.ahead)
        self.hits = _dropdown("hits", sorted({*HITS, now.hits}), now.hits)
        self.words = widgets.Text(
            description="search", placeholder="words, or an id", style=_NAMED, layout={"width": "20em"}
        )
        self.list = widgets.Select(rows=9, layout={"width": "100%"})
        self.back = widgets.Button(description="‹ previous", layout={"width": "8em"})
        self.forth = widgets.Button(description="next ›", layout={"width": "8em"})
        self.place = widgets.Label()
        self.shown = widgets.HTML(layout={"width": "100%"})
        rows = (
            (self.left, self.right, self.metric),
            (self.order, self.ahead, self.hits),
            (self.kind, self.hops, self.words),
        )
        bars = [widgets.HBox(row, layout={"flex_flow": "row wrap"}) for row in rows]
        caveat = [widgets.Label(self.board.caveat())] if self.board.caveat() else []
        turn = widgets.HBox((self.back, self.forth, self.place))
        self.box = widgets.VBox((*bars, *caveat, self.list, turn, self.shown))
        self.box.add_class("kg2rag-browse")
        for name in ("metric", "order", "ahead", "kind", "hops", "words", "hits", "left", "right"):
            getattr(self, name).observe(partial(self._set, name), "value")
        self.list.observe(lambda change: self._pick(change["new"]), "value")
        self.back.on_click(lambda _: self._turn(-1))
        self.forth.on_click(lambda _: self._turn(+1))
        self._redraw()

    def _set(self, name: str, change: dict[str, Any]) -> None:
        """A system is on one side only: where it is chosen on the other side, the two are exchanged."""
        if self._drawing:
            return
        chosen = {name: change["new"]}
        other = {"left": "right", "right": "left"}.get(name)
        if other and getattr(self.choice, other) == change["new"]:
            chosen[other] = change["old"]
        self.choice = replace(self.choice, **chosen)
        self.page = 0
        # Another order starts at its beginning; otherwise the question stays.
        self._redraw(first_of_page="order" in chosen)

    def _turn(self, by: int) -> None:
        self.page += by
        self._redraw(first_of_page=True)

    def _pick(self, question: str | None) -> None:
        if self._drawing or question is None:
            return
        self.question = question
        self._explain()

    def _redraw(self, *, first_of_page: bool = False) -> None:
        """List, place and explanation anew; the question stays where it is still listed."""
        found = self.board.questions(self.choice)
        ids = found.index.to_list()
        if not first_of_page and self.question in found.index:
            self.page = ids.index(self.question) // PAGE
        start = self.page * PAGE
        page = found.iloc[start : start + PAGE]
        if first_of_page or self.question not in page.index:
            self.question = str(page.index[0]) if len(page) else ""
        self._drawing = True  # our own changes are not clicks
        try:
            self.left.value, self.right.value = self.choice.left, self.choice.right
            self.list.options = [
                (self._line(row), id_) for id_, row in zip(page.index, page.to_dict("records"), strict=True)
            ]
            self.list.value = self.question or None
        finally:
            self._drawing = False
        self.back.disabled, self.forth.disabled = self.page == 0, start + PAGE >= len(found)
        self.place.value = _place(start, len(page), len(found), len(self.board.data))
        self._explain()

    def _explain(self) -> None:
        if not self.question:
            self.shown.value = "<p>No question matches: take words out of the search, or choose all types.</p>"
            return
        html = self.board.explained(self.choice, self.question)._repr_html_()
        # Widgets set lines 28 pixels apart, which suits buttons, not text.
        self.shown.value = f'<div style="line-height: 1.45">{html}</div>'

    def _line(self, row: Mapping[Hashable, Any]) -> str:
        """A question in the list; the scores in the unit of the tables."""
        text = " ".join(str(row["question"]).split())
        cut = text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"
        left, right = (self.board.score(self.choice.metric, row[name]) for name in ("left", "right"))
        lead = self.board.difference(self.choice.metric, row["difference"])
        return f"{lead}   {left} → {right}   {row['type']}   {cut}"


def _counted(every: str, total: int, counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """Options that say how many questions each takes; the first takes all."""
    return [(f"{every} ({total})", ""), *((f"{name} ({n})", name) for name, n in counts.items())]


def _dropdown(name: str, options: Any, value: Any) -> widgets.Dropdown:
    return widgets.Dropdown(options=options, value=value, description=name, style=_NAMED, layout={"width": "20em"})


def _place(start: int, shown: int, found: int, total: int) -> str:
    if not shown:
        return f"none of {total} questions matches"
    place = f"{start + 1}–{start + shown} of {found}"
    return f"{place} questions" if found == total else f"{place} that match; {total} questions in all"
