"""Templates and contents -> HTML: self-contained pages, and fragments for notebooks.

Jinja escapes every text. The security policy of a page allows only the hashes of its style and its
scripts, so that no text of a data set can be run as one.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from kg2rag.types.explanation import CSS as EXPLANATION

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_PER_CENT = re.compile(r"(?<=\d) %")
# These characters occur in JSON only within strings, where an escape may replace them.
_UNSAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def render(template: str, **content: object) -> Markup:
    """The rendered template; jinja2.UndefinedError: the content lacks a name."""
    from markupsafe import Markup

    return Markup(_environment().get_template(template).render(**content))  # noqa: S704


def document(title: str, body: Markup, data: Mapping[str, str] | None = None) -> str:
    """A whole page with a rendered body.

    data : name of a script -> the JSON that it reads, from the element "kg2rag-NAME" before it. The
    JSON is escaped, so that it cannot end the element.
    """
    style = source("fragment.css") + EXPLANATION + source("page.css")
    scripts = []
    for name, text in (data or {}).items():
        scripts.append(
            (name.removesuffix(".js"), text.translate(_UNSAFE), source(name))
        )
    allowed = " ".join(_hash(script) for _, _, script in scripts) or "'none'"
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {allowed}; base-uri 'none'; "
        "form-action 'none'"
    )
    content = {
        "title": title,
        "body": body,
        "policy": policy,
        "style": style,
        "scripts": scripts,
    }
    return str(render("page.html.j2", **content))


def as_json(value: object) -> str:
    """A value as compact JSON; a character that UTF-8 cannot encode is replaced."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace").decode("utf-8")


def fragment(body: Markup) -> str:
    """A body with its style for a cell of a notebook, which reads no dollar sign as a formula."""
    return f'<style>{source("fragment.css")}{EXPLANATION}</style>\n<div class="kg2rag mathjax_ignore">{body}</div>'


class HtmlPage(ABC):
    """A result with a page, which Jupyter shows in a cell."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The heading of the page."""

    @abstractmethod
    def body(self) -> Markup:
        """The rendered contents of the page, without its style."""

    def to_html(self) -> str:
        """A self-contained page."""
        return document(self.title, self.body())

    def _repr_html_(self) -> str:
        return fragment(self.body())


@dataclass(frozen=True)
class Frame:
    """A whole page in a frame of a notebook's cell, which isolates its script."""

    page: str = field(repr=False)
    height: int = 900

    def _repr_html_(self) -> str:
        return str(render("frame.html.j2", page=self.page, height=self.height))


@cache
def source(name: str) -> str:
    """The text of a style sheet or script in `templates`."""
    from importlib.resources import files

    return (
        files("kg2rag.report").joinpath("templates", name).read_text(encoding="utf-8")
    )


def _hash(text: str) -> str:
    """The hash of a style or script in the form of a content security policy."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _environment() -> Environment:
    """The environment of Jinja, with the templates of this package."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("kg2rag.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = _unbroken
    return environment


def _unbroken(text: str) -> str:
    """A text with no-break spaces between numbers and per-cent signs."""
    return _PER_CENT.sub("\N{NO-BREAK SPACE}%", text)
