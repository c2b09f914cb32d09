"""Templates and texts -> the answers of the server; an error is a page too."""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from kg2rag.serving.asked import ChoiceError
from kg2rag.serving.library import Library, within
from kg2rag.text.templates import render, source

_STYLES = ("table.css", "explanation.css", "explained.css", "served.css")  # what comes later has the last word


def page(template: str, title: str, *, status: int = 200, **content: object) -> HTMLResponse:
    """A page of the server from its template."""
    return HTMLResponse(render(template, title=title, **content), status_code=status)


def file(text: str, kind: str, name: str) -> Response:
    """A text to be saved under a name."""
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)


async def styles(_: Request) -> Response:
    """The one style sheet: that of the pages, and those of what notebooks show too."""
    return Response("\n".join(source(name) for name in _STYLES), media_type="text/css")


def library_of(request: Request) -> Library:
    """What the server shows."""
    found: Library = request.app.state.library
    return found


async def failed(request: Request, error: Exception) -> Response:
    """What cannot be shown, and why: an address that is wrong, or a folder that is damaged."""
    status = 404 if isinstance(error, KeyError) else 400 if isinstance(error, ChoiceError) else 422
    title = {404: "Nothing there", 400: "No such choice", 422: "This cannot be shown"}[status]
    root: Path = library_of(request).root
    return page("served_problem.html.j2", title, status=status, problem=within(root, error))


async def unknown(_: Request, error: Exception) -> Response:
    """An address or a method that no page has."""
    status = int(getattr(error, "status_code", 404))
    said = {404: "No page has this address.", 405: "This server is only read: it answers GET and HEAD."}
    return page("served_problem.html.j2", "Nothing there", status=status, problem=said.get(status, "Refused."))
