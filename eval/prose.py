"""Pages, notebooks and sources -> phrases to avoid in plain technical English: a part of `make check`.

A line that needs such a phrase ends with the comment `prose: ok` (in Markdown, as an HTML comment).
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = (
    "*.md docs/*.md docs/decisions/*.md docs/site/*.md notebooks/*.ipynb kg2rag/**/*.py kg2rag/**/*.toml "
    "eval/*.md eval/*.toml eval/*.py eval/bench/*.py eval/trials/*.py eval/models/*.py tests/**/*.py"
).split()
AVOID = {
    r"where (?:it is |they are )?not given|where given": "name the default",  # prose: ok
    r"\bof which\b": "two sentences",
    r"\bwhat (?:it|they) (?:is|are|has|have|was|were|does|do)\b": "a noun",
    r"(?<!stand)\balone\b": "only",
    r"\b(?:is|are|was|be) said\b|\bsays? so\b": "report, state, record",
    r"\bone's own\b|\bof (?:its|their|ours) own\b": "leave it out",
    r"\bwhoever\b|\bwherever\b": "name the reader or the place",
}


def lines(file: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of prose: text cells of notebooks, docstrings of tests, all lines of other files."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ipynb":
        for number, cell in enumerate(json.loads(text)["cells"]):
            if cell["cell_type"] == "markdown":
                yield from ((number, line) for line in cell["source"])
    elif file.is_relative_to(ROOT / "tests"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                yield from enumerate((ast.get_docstring(node, clean=False) or "").splitlines(), node.body[0].lineno)
    else:
        yield from enumerate(text.splitlines(), 1)


def faults(file: Path) -> Iterator[str]:
    """One line for each phrase of a file: file and line, phrase, advice."""
    for number, line in lines(file):
        for pattern, advice in AVOID.items():
            match = re.search(pattern, line)
            if match and "prose: ok" not in line:
                yield f"{file.relative_to(ROOT)}:{number}: {match[0]!r}: {advice}"


def main() -> None:
    """Print the phrases of all files, or of files below a place; exit code 1 if there are any."""
    place = ROOT.joinpath(*sys.argv[1:])
    files = {file for pattern in FILES for file in ROOT.glob(pattern) if file.is_relative_to(place)}
    phrases = [fault for file in sorted(files) for fault in faults(file)]
    print("\n".join(phrases))
    sys.exit(bool(phrases))


if __name__ == "__main__":
    main()
