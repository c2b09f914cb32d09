"""Installed Python packages -> a question set about code, made when every system was fixed.

    python eval/blind_code.py DATA/blind/code

A question is the first sentence of a function's docstring; its gold is that function, without docstring and decorators,
written by `ast.unparse`. The passages are functions of all packages, in one pool, without titles. Left out are tests,
questions of fewer or more words than `WORDS`, functions of fewer or more characters than `CHARACTERS`, and every
question and function that occurs more than once. What gold misses: another function that does the same counts as wrong,
as does one around it. People who search for code ask otherwise: the docstring's author knew the function, and its name
often says the same.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Annotated

import typer
from blind import lines

from kg2rag.compute import new_folder
from kg2rag.text.records import sha256

PACKAGES = {
    "aiohttp": "3.14.5",
    "dask": "2026.8.0",
    "distributed": "2026.8.0",
    "fsspec": "2026.9.0",
    "jupyter_server": "2.21.1",
    "networkx": "3.6.1",
    "pandas": "3.1.1",
    "pydantic": "2.14.3",
    "scikit-learn": "1.9.1",
    "tornado": "6.6.1",
}
"""Package -> the version that is read."""
WORDS, CHARACTERS = range(5, 26), range(80, 2001)
PASSAGES, QUESTIONS = 3000, 300
_TEST = re.compile(r"(?:^|[/_])(?:tests?|conftest)(?:[/_.]|$)")
_PARAGRAPH, _SENTENCE = re.compile(r"\n\s*\n"), re.compile(r"(?<=[.!?])\s")


def main(out: Annotated[Path, typer.Argument(help="The folder of the set.")]) -> None:
    """Make the set, and print the digest of each file."""
    if other := {name: version(name) for name, wanted in PACKAGES.items() if version(name) != wanted}:
        raise ValueError(f"Other versions are installed: {other}. Wanted: {PACKAGES}.")
    found = [pair for name in PACKAGES for pair in functions(name)]
    asked, coded = Counter(question.casefold() for question, _ in found), Counter(code for _, code in found)
    once = [(question, code) for question, code in found if asked[question.casefold()] == coded[code] == 1]
    chosen = random.Random(0).sample(once, PASSAGES)
    passages = [{"_id": f"f{at}", "text": code} for at, (_, code) in enumerate(chosen)]
    queries = [{"_id": f"q{at}", "text": question} for at, (question, _) in enumerate(chosen[:QUESTIONS])]
    judged = [f"q{at}\tf{at}\t1" for at in range(QUESTIONS)]
    with new_folder(out) as partial:
        (partial / "qrels").mkdir()
        lines(partial / "corpus.jsonl", map(json.dumps, passages))
        lines(partial / "queries.jsonl", map(json.dumps, queries))
        lines(partial / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", *judged])
    typer.echo(f"{QUESTIONS} questions, {PASSAGES:,} passages of {len(once):,} functions")
    for file in sorted(out.rglob("*.*")):
        typer.echo(f"  {sha256(file)}  {file.relative_to(out)}")


def functions(package: str) -> Iterator[tuple[str, str]]:
    """The question and the code of each function with a docstring, in the order of files and lines."""
    files = sorted(str(file) for file in distribution(package).files or () if file.suffix == ".py")
    if not files:
        raise FileNotFoundError(f"The installed {package} lists no Python files. Install it from a wheel.")
    for file in files:
        if _TEST.search(file):
            continue
        text = Path(str(distribution(package).locate_file(file))).read_text("utf-8")
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or len(node.body) == 1:
                continue
            if not (doc := ast.get_docstring(node)):
                continue
            first = _SENTENCE.split(" ".join(_PARAGRAPH.split(doc)[0].split()))[0].rstrip(".")
            node.body, node.decorator_list = node.body[1:], []
            code = ast.unparse(node)
            if len(first.split()) in WORDS and len(code) in CHARACTERS:
                yield first, code


if __name__ == "__main__":
    typer.run(main)
