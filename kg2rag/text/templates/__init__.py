"""A template of this folder and its content -> HTML: the one Jinja environment of the package.

Every text is escaped, and a name that the content lacks is an error. A line that holds only block tags leaves no blank
line; a tag closed by `+%}` keeps the line break after it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **content: object) -> str:
    """The template of that file name, filled in; jinja2's UndefinedError where the content lacks a name."""
    return _environment().get_template(template).render(**content)


def source(name: str) -> str:
    """The text of a file of this folder, such as a style sheet, as it is."""
    from importlib.resources import files

    return files("kg2rag.text.templates").joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("kg2rag.text", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
