"""Pages, notebooks and sources -> phrases to avoid in plain technical English: a part of `make check`.

A line that needs such a phrase ends with the comment `prose: ok` (in Markdown, as an HTML comment).
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = "*.md docs/*.md docs/[ds]*/*.md notebooks/*.ipynb kg2rag/**/*.py kg2rag/**/*.toml eval/*.* eval/[bmt]*/*.*"
AVOID = {
    r"where (?:it is |they are )?not given|where given": "name the default",  # prose: ok
    r"\bof which\b": "two sentences",
    r"\bwhat (?:it|they) (?:is|are|has|have|was|were|does|do)\b": "a noun",
    r"(?<!stand)\balone\b": "only",
    r"\b(?:is|are|was|be) said\b|\bsays? so\b": "report, state, record",
    r"\bone's own\b|\bof (?:its|their|ours) own\b": "leave it out",
    r"\bwhoever\b|\bwherever\b": "name the reader or the place",
}


def faults(file: Path) -> Iterator[str]:
    """One line for each phrase of a file: file and line, phrase, advice; of a notebook, its text cells are read."""
    lines = file.read_text(encoding="utf-8").splitlines()
    if file.suffix == ".ipynb":
        cells = json.loads("\n".join(lines))["cells"]
        lines = [
            line
            for cell in cells
            if cell["cell_type"] == "markdown"
            for line in cell["source"]
        ]
    for number, line in enumerate(lines, 1):
        for pattern, advice in AVOID.items():
            match = re.search(pattern, line)
            if match and "prose: ok" not in line:
                yield f"{file.relative_to(ROOT)}:{number}: {match[0]!r}: {advice}"


files = (file for pattern in FILES.split() for file in ROOT.glob(pattern))
phrases = [fault for file in files if file.is_file() for fault in faults(file)]
sys.exit("\n".join(phrases) or 0)
