"""Two runs, of one comparison or of two: which passages entered and left the first k, and how ranks changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from kg2rag.serving.answers import library_of, page
from kg2rag.serving.asked import DEPTHS, ChoiceError, number, one_of
from kg2rag.serving.changes import Changed, changes
from kg2rag.serving.library import OpenComparison

LISTED = 200
"""Questions that the page lists."""


def changed_runs(request: Request) -> Response:
    """The page of two runs; with `id` the ranks of one question in full."""
    asked = request.query_params
    library = library_of(request)
    first, second = (library.comparison(asked.get(side) or asked.get("a", "")) for side in ("a", "b"))
    names = first.result.systems, second.result.systems
    left = one_of("system", asked.get("left") or first.result.baseline, names[0])
    other = left if left in names[1] and first is not second else next((one for one in names[1] if one != left), left)
    right = one_of("system", asked.get("right") or other, names[1])
    k = number("k", asked.get("k", "10"), 100)
    found = _found(first, second, left, right, k)
    if not found:
        raise ChoiceError(f"{first.saved.at} and {second.saved.at} have no question in common.")
    apart = sorted(
        (one for one in found if one.entered or one.left or one.moved),
        key=lambda one: (-abs(one.gold), -one.entered - one.left, -one.moved),
    )
    given = {"a": first.saved.at, "b": second.saved.at, "left": left, "right": right, "k": k}
    return page(
        "served_changes.html.j2",
        f"{left} and {right}",
        first=first,
        second=second,
        left=left,
        right=right,
        k=k,
        depths=sorted({*DEPTHS, k}),
        told=_told(found, k),
        rows=[
            {"change": one, "question": _text(first, second, one.query_id), "link": _link(given, one.query_id)}
            for one in apart[:LISTED]
        ],
        apart=len(apart),
        total=len(found),
        opened=_opened(first, second, found, asked.get("id", ""), left, right),
        folders=[one.saved.at for one in library.entries() if one.saved.kind == "comparison" and not one.problem],
    )


def _found(first: OpenComparison, second: OpenComparison, left: str, right: str, k: int) -> list[Changed]:
    gold = first.gold_of(left), second.gold_of(right)
    return list(
        changes(
            first.result.rankings[left],
            second.result.rankings[right],
            k,
            lambda query, id_: any(id_ in one.get(query, ()) for one in gold),
        )
    )


def _told(found: list[Changed], k: int) -> dict[str, Any]:
    """What happened over all questions."""
    both = [sum(bool(one.before and one.after) for one in change.moves) for change in found]
    of = [
        max(1, sum(bool(one.before) for one in change.moves), sum(bool(one.after) for one in change.moves))
        for change in found
    ]
    return {
        "same": sum(not (one.entered or one.left or one.moved) for one in found),
        "others": sum(bool(one.entered or one.left) for one in found),
        "overlap": f"{100 * sum(b / n for b, n in zip(both, of, strict=True)) / len(found):.1f}",
        "gained": sum(max(one.gold, 0) for one in found),
        "lost": -sum(min(one.gold, 0) for one in found),
        "k": k,
    }


def _opened(
    first: OpenComparison, second: OpenComparison, found: list[Changed], id_: str, left: str, right: str
) -> Mapping[str, Any] | None:
    """The question whose ranks are shown in full; None where none is asked for."""
    if not id_:
        return None
    by_id = {one.query_id: one for one in found}
    if id_ not in by_id:
        raise ChoiceError(f"The two have no question {id_[:80]!r} in common.")
    texts = {**first.texts(left, id_), **second.texts(right, id_)}
    return {"change": by_id[id_], "question": _text(first, second, id_), "texts": texts, "id": id_}


def _text(first: OpenComparison, second: OpenComparison, id_: str) -> str:
    return next((one.text(id_) for one in (first, second) if one.text(id_) != id_), id_)


def _link(given: Mapping[str, object], id_: str) -> str:
    return f"changes?{urlencode({**given, 'id': id_})}#question"
