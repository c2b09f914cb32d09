"""Pages, notebooks and sources -> the phrases in them that plain technical English does without: `make check`.

A line that needs one of them ends with the comment `prose: ok` (in Markdown, as an HTML comment).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = "*.md docs/*.md docs/decisions/*.md docs/site/*.md notebooks/*.ipynb kg2rag/**/*.py kg2rag/**/*.toml".split()
AVOID = {
    r"where (?:it is |they are )?not given|where given": "name the default",
    r"\bof which\b": "two sentences",
    r"\bwhat (?:it|they) (?:is|are|has|have|was|were|does|do)\b": "a noun",
    r"(?<!stand)\balone\b": "only",
    r"\b(?:is|are|was|be) said\b|\bsays? so\b": "report, state, record",
    r"\bone's own\b|\bof (?:its|their|ours) own\b": "leave it out",
    r"\bwhoever\b|\bwherever\b": "name the reader or the place",
}


def lines(file: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of prose; of a notebook those of its text cells."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".ipynb":
        yield from enumerate(text.splitlines(), 1)
        return
    for number, cell in enumerate(json.loads(text)["cells"]):
        if cell["cell_type"] == "markdown":
            yield from ((number, line) for line in cell["source"])


def faults(place: str = "") -> Iterator[str]:
    """One line for each phrase below a place: file and line, phrase, advice."""
    files = {file for pattern in PAGES for file in ROOT.glob(pattern)}
    for file in sorted(file for file in files if str(file.relative_to(ROOT)).startswith(place)):
        for number, line in lines(file):
            for pattern, advice in AVOID.items():
                if (match := re.search(pattern, line)) and "prose: ok" not in line:
                    yield f"{file.relative_to(ROOT)}:{number}: {match[0]!r}: {advice}"


if __name__ == "__main__":
    phrases = list(faults(*sys.argv[1:]))
    print("\n".join(phrases))
    sys.exit(bool(phrases))
