"""The documentation site builds without a warning, and everything that its pages name is in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from kg2rag.retrievers import systems

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "docs" / "site"
FETCHED = {
    "img": "src",
    "script": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
}
UNFETCHED = {"canonical", "next", "prev", "search", "index", "author", "help"}
"""What a `link` may be that no browser fetches."""


class Links(HTMLParser):
    """The ids, links and fetched files of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value for name, value in attrs if value}
        self.ids |= {known[name] for name in ("id", "name") if name in known}
        if tag == "a" and "href" in known:
            self.links.append(known["href"])
        if (
            tag in FETCHED
            and FETCHED[tag] in known
            and known.get("rel") not in UNFETCHED
        ):
            self.fetched.append(known[FETCHED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx", reason="the extra `docs` is not installed")
    out = tmp_path_factory.mktemp("site")
    code = f"import sys; sys.path.insert(0, {str(SITE)!r}); import build; from pathlib import Path; "
    call = f"sys.exit(build.main('html', Path({str(out)!r})))"
    done = subprocess.run(
        [sys.executable, "-c", code + call],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr  # a warning is an error
    return out / "html"


def pages_of(site: Path) -> list[Path]:
    """The pages, without the theme's own templates."""
    return [file for file in site.rglob("*.html") if "_static" not in file.parts]


def targets(page: Path, links: list[str]) -> Iterator[tuple[Path, str]]:
    """Files and fragments that relative links lead to."""
    for link in links:
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc:
            file = (
                page
                if not parts.path
                else (page.parent / unquote(parts.path)).resolve()
            )
            yield file, unquote(parts.fragment)


@pytest.mark.slow
def test_every_link_inside_the_site_leads_somewhere(site: Path) -> None:
    pages = {file.resolve(): Links(file) for file in pages_of(site)}
    broken = [
        f"{page.relative_to(site)} -> {file.name}#{fragment}"
        for page, found in pages.items()
        for file, fragment in targets(page, found.links + found.fetched)
        if not file.exists()
        or (fragment and file in pages and fragment not in pages[file].ids)
    ]
    assert broken == []


@pytest.mark.slow
def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    outside = {
        link
        for file in pages_of(site)
        for link in Links(file).fetched
        if urlsplit(link).netloc
    }
    assert outside == set()
    styles = "\n".join(file.read_text(encoding="utf-8") for file in site.rglob("*.css"))
    assert "@import url(http" not in styles
    assert "url(http" not in styles


@pytest.mark.slow
def test_each_system_has_a_page_with_its_parameters_and_results(site: Path) -> None:
    for name in systems.names():
        text = (site / "strategies" / f"{name}.html").read_text(encoding="utf-8")
        assert all(
            f">{parameter}</span>" in text for parameter in systems.parameters(name)
        ), name
    assert "musique" in (site / "strategies" / "mention_chains.html").read_text(
        encoding="utf-8"
    )


@pytest.mark.slow
def test_each_notebook_is_shown_with_its_outputs(site: Path) -> None:
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        text = (site / "notebooks" / f"{notebook.stem}.html").read_text(
            encoding="utf-8"
        )
        assert "cell_output" in text, notebook.stem
