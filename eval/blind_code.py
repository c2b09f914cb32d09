"""Installed Python packages -> a question set about code, made when every system was fixed.

    python eval/blind_code.py DATA/blind/code

A question is the first sentence of a function's docstring; its gold passage is the function,
without docstring and decorators, written by `ast.unparse`. The corpus is one pool of functions of
all packages, without titles. Left out are tests, questions and functions of another length than
`WORDS` and `CHARACTERS`, and every question or function that occurs more than once. Gold is
incomplete: another function with the same purpose counts as wrong, as does a function around the
gold one. The questions differ from those of people who search for code: the author of a docstring
knew the function, and its name often has the same words.
"""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Annotated

import typer
from blind import write_beir

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
"""Package -> its version."""
WORDS, CHARACTERS = range(5, 26), range(80, 2001)
PASSAGES, QUESTIONS = 3000, 300
_TEST = re.compile(r"(?:^|[/_])(?:tests?|conftest)(?:[/_.]|$)")
_PARAGRAPH, _SENTENCE = re.compile(r"\n\s*\n"), re.compile(r"(?<=[.!?])\s")


def main(out: Annotated[Path, typer.Argument(help="The folder of the set.")]) -> None:
    """Make the set, and print the checksum of each file."""
    for name, expected in PACKAGES.items():
        if version(name) != expected:
            raise ValueError(
                f"{name} {version(name)} is installed; the set needs {name} {expected}."
            )
    unique = unique_functions()
    chosen = random.Random(0).sample(unique, PASSAGES)
    passages = [
        {"_id": f"f{number}", "text": code} for number, (_, code) in enumerate(chosen)
    ]
    queries = [
        {"_id": f"q{number}", "text": question}
        for number, (question, _) in enumerate(chosen[:QUESTIONS])
    ]
    with new_folder(out) as partial:
        judgements = [(f"q{number}", f"f{number}") for number in range(QUESTIONS)]
        write_beir(partial, passages, queries, judgements, ensure_ascii=True)
    typer.echo(
        f"{QUESTIONS} questions, {PASSAGES:,} passages of {len(unique):,} functions"
    )
    for file in sorted(out.rglob("*.*")):
        typer.echo(f"  {sha256(file)}  {file.relative_to(out)}")


def unique_functions() -> list[tuple[str, str]]:
    """The question and the code of each function of all packages, without equal questions and equal functions."""
    functions = [function for package in PACKAGES for function in functions_of(package)]
    questions = Counter(question.casefold() for question, _ in functions)
    codes = Counter(code for _, code in functions)
    unique = []
    for question, code in functions:
        if questions[question.casefold()] == codes[code] == 1:
            unique.append((question, code))
    return unique


def functions_of(package: str) -> Iterator[tuple[str, str]]:
    """The question and the code of each function of a package, in the order of files and lines."""
    files = sorted(
        str(file) for file in distribution(package).files or () if file.suffix == ".py"
    )
    if not files:
        raise FileNotFoundError(
            f"The installed {package} lists no Python files. Install it from a wheel."
        )
    for file in files:
        if _TEST.search(file):
            continue
        text = Path(str(distribution(package).locate_file(file))).read_text("utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                question, code = question_and_code(node)
                if len(question.split()) in WORDS and len(code) in CHARACTERS:
                    yield question, code


def question_and_code(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
) -> tuple[str, str]:
    """The first sentence of the docstring, and the rest of the function; empty if either is missing."""
    docstring = ast.get_docstring(function)
    if not docstring or len(function.body) == 1:
        return "", ""
    paragraph = " ".join(_PARAGRAPH.split(docstring)[0].split())
    function.body, function.decorator_list = function.body[1:], []
    return _SENTENCE.split(paragraph)[0].rstrip("."), ast.unparse(function)


if __name__ == "__main__":
    typer.run(main)
