"""A retriever or stage -> HTML for Jupyter: each part a box with its parameters, those off their default in bold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from html import escape

from kg2rag.text.templates import render


@dataclass(frozen=True)
class Box:
    """One component: its parameters as (name, value, whether that is the default), and the components inside it."""

    name: str
    summary: str
    parameters: tuple[tuple[str, str, bool], ...]
    members: tuple[Box, ...]


def as_html(component: object) -> str:
    """The component's boxes; its escaped `repr`, or its class's name, where these cannot be drawn. Never raises."""
    try:
        return render("system.html.j2", box=box_of(component))
    except Exception:  # noqa: BLE001 (a display must not hide a result behind a traceback)
        try:
            return f"<code>{escape(repr(component))}</code>"
        except Exception:  # noqa: BLE001
            return f"<code>{escape(type(component).__name__)}</code>"


def box_of(component: object) -> Box:
    """The boxes of a component and, inside, of the retrievers and stages that it is made of."""
    own = fields(component) if is_dataclass(component) else ()
    values = {each: getattr(component, each.name) for each in own if each.repr}
    return Box(
        type(component).__name__,
        (type(component).__doc__ or "").strip().partition("\n")[0],
        tuple(
            (each.name, repr(value), each.default is MISSING or bool(value == each.default))
            for each, value in values.items()
            if not any(True for _ in _members(value))
        ),
        tuple(box_of(member) for value in values.values() for member in _members(value)),
    )


def _members(value: object) -> Iterator[object]:
    for each in value if isinstance(value, tuple) else (value,):
        if is_dataclass(each) and (hasattr(each, "retrieve_batch") or hasattr(each, "apply")):
            yield each
