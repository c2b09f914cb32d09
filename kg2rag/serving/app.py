"""The application: a library behind its guard, one page an address."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.routing import Route

from kg2rag.serving import answers, change_pages, listing_pages, question_pages
from kg2rag.serving.guard import LOOPBACK, Guard
from kg2rag.serving.library import Library
from kg2rag.serving.texts import Texts

ROUTES = {
    "/": listing_pages.everything,
    "/beside": listing_pages.beside,
    "/sweep": listing_pages.sweep,
    "/report": listing_pages.report,
    "/comparison": question_pages.comparison,
    "/questions": question_pages.questions,
    "/question": question_pages.question,
    "/export": question_pages.export,
    "/changes": change_pages.changed_runs,
    "/style.css": answers.styles,
}
"""Every address that is answered, by GET and HEAD alone."""
_EXPECTED = (KeyError, ValueError, OSError, TypeError, AttributeError, IndexError, ArithmeticError)
"""What a damaged folder or a wrong address can raise; the page says which."""


def application(
    root: Path, *, data: Sequence[Path] = (), names: Collection[str] = LOOPBACK, addresses: bool = False
) -> Guard:
    """The pages of what is saved below a folder.

    Parameters
    ----------
    data : folders of data sets, whose texts are joined with comparisons that were saved without; see `Texts`.
    names, addresses : what requests may call the server; see `Guard`.

    Raises
    ------
    NotADirectoryError : the root, or a folder of data sets, is none.
    """
    library = Library(root, Texts(data))
    app = Starlette(
        routes=[Route(path, page, methods=["GET"]) for path, page in ROUTES.items()],
        exception_handlers={HTTPException: answers.unknown, **dict.fromkeys(_EXPECTED, answers.failed)},
    )
    app.state.library = library
    return Guard(app, names, addresses)
