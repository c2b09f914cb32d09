"""A retriever or stage -> HTML for Jupyter: each part a box with its parameters, those off their default in bold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from html import escape

_FLEX = "display:flex;flex-wrap:wrap;align-items:"


def as_html(component: object) -> str:
    """The component's boxes; its escaped `repr`, or its class's name, where these cannot be drawn. Never raises."""
    try:
        return _box(component)
    except Exception:  # noqa: BLE001 (a display must not hide a result behind a traceback)
        try:
            return f"<code>{escape(repr(component))}</code>"
        except Exception:  # noqa: BLE001
            return f"<code>{escape(type(component).__name__)}</code>"


def _box(component: object) -> str:
    """A component's box and, inside, those of the retrievers and stages that it is made of; of a pipeline a row."""
    name = type(component).__name__
    values = {
        each: getattr(component, each.name)
        for each in (fields(component) if is_dataclass(component) else ())
        if each.repr
    }
    members = [_box(member) for value in values.values() for member in _members(value)]
    if name == "Pipeline":
        return f'<div style="{_FLEX}center">{"<span>&nbsp;&gt;&gt;&nbsp;</span>".join(members)}</div>'
    lines = []
    for each, value in values.items():
        if not any(True for _ in _members(value)):
            usual = each.default is MISSING or bool(value == each.default)
            weight = "" if usual else ";font-weight:bold"
            told = escape(f"{each.name}={value!r}")
            lines.append(f'<div style="font-family:monospace;font-size:90%{weight}">{told}</div>')
    inside = f'<div style="{_FLEX}flex-start">{"".join(members)}</div>' if members else ""
    summary = escape((type(component).__doc__ or "").strip().partition("\n")[0])
    style = "border:1px solid;border-radius:4px;padding:2px 8px;margin:2px"
    return f'<div title="{summary}" style="{style}"><strong>{escape(name)}</strong>{"".join(lines)}{inside}</div>'


def _members(value: object) -> Iterator[object]:
    for each in value if isinstance(value, tuple) else (value,):
        if is_dataclass(each) and (hasattr(each, "retrieve_batch") or hasattr(each, "apply")):
            yield each
