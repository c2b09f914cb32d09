"""Pages, docstrings, notebooks and committed results -> the documentation site in build/site/html, without a network.

python docs/site/build.py            makes it; a warning is an error
python docs/site/build.py linkcheck  asks whether the addresses outside of it answer, which needs a network

The source is assembled in build/site/source with the repository's own paths, so that links between its files hold.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

SITE = Path(__file__).resolve().parent
ROOT = SITE.parent.parent
PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CITATION.cff",
    "LICENSE",
)
FOLDERS = {
    "docs": ("*.md", "*.png"),
    "docs/decisions": ("*.md",),
    "docs/results": ("*.md", "*.svg"),
    "notebooks": ("*.ipynb",),
}


def main(builder: str = "html", out: Path = ROOT / "build" / "site") -> int:
    """Assemble the source, build it and return Sphinx's exit status."""
    from sphinx.cmd.build import main as sphinx

    source = assemble(out / "source")
    options = [
        "-b",
        builder,
        "-c",
        str(SITE),
        "-W",
        "--keep-going",
        "-q",
        "-j",
        "auto",
        "-d",
        str(out / "doctrees"),
    ]
    return int(sphinx([*options, str(source), str(out / builder)]))


def assemble(source: Path) -> Path:
    """Bring a folder to hold what the site is made of, and nothing else; what has not changed is left as it is."""
    import api
    import strategies

    made = {**api.pages(), **strategies.pages()}
    wanted = {source / name: text.encode() for name, text in made.items()}
    wanted |= {
        source / file.relative_to(base): file.read_bytes() for base, file in files()
    }
    for file in source.rglob("*"):
        if file.is_file() and file not in wanted:
            file.unlink()
    for file, content in wanted.items():
        if not file.is_file() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    return source


def files() -> Iterator[tuple[Path, Path]]:
    """The files that are taken as they are, each with the folder that its place is relative to."""
    yield from ((ROOT, ROOT / name) for name in PAGES)
    yield from (
        (SITE, file)
        for pattern in ("*.md", "*.svg", "*.png")
        for file in SITE.glob(pattern)
    )
    for folder, patterns in FOLDERS.items():
        yield from (
            (ROOT, file)
            for pattern in patterns
            for file in (ROOT / folder).glob(pattern)
        )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
