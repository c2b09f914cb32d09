"""The pages that a newcomer reads, followed in an empty folder with an empty environment -> seconds a step.

python eval/newcomer.py --out eval/results/newcomer.csv

A wheel of the checkout is installed as quickstart.md says; then come the first table, the first notebook, a data set
(add_a_dataset.md) and a retriever (add_a_strategy.md) of one's own, their code taken from the pages and put into a
package with its entry points. A command that fails ends the walk. Seconds depend on network, pip's cache and load, so
the load of the last minute stands beside each.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = """[project]
name = "my-package"
version = "0.1"

[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
packages = ["my_package"]
"""
ARTICLES = (
    ("ada", "Ada Lovelace", "Ada Lovelace wrote notes on the Analytical Engine."),
    ("engine", "Analytical Engine", "Charles Babbage designed the Analytical Engine."),
    ("tam", "Tam Elder", "Tam Elder kept a pottery by the ferry."),
)
QUIZ = (("1", "Who designed the engine on which Ada wrote?", "Babbage", ["ada", "engine"]),)
Step = tuple[str, str, str, str]
"""What is done, by which page, the command, and what its output has to hold."""


def main(
    out: Annotated[Path | None, typer.Option(help="A .csv file for the table.")] = None,
    extras: Annotated[str, typer.Option(help="What is installed besides the core.")] = "offline,notebooks",
) -> None:
    """Walk, print each step as it is done, and write the table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for step, page, command, holds in steps(Path(folder), extras):
            load, begin = os.getloadavg()[0], time.perf_counter()
            text = run(command, Path(folder))
            if holds not in text:
                sys.exit(f"{step}: {command}\nsays nothing of {holds!r}:\n{text}")
            seconds = time.perf_counter() - begin
            rows.append((step, page, command, f"{seconds:.0f}", f"{load:.1f}", os.cpu_count()))
            typer.echo(f"{seconds:6.0f} s  load {load:4.1f}  {step}: {command}")
    if out is not None:
        table = pd.DataFrame(rows, columns=["step", "page", "command", "seconds", "load", "cores"])
        table.to_csv(out, index=False, lineterminator="\n")


def steps(folder: Path, extras: str) -> Iterator[Step]:
    """The walk; what a person would copy or write beforehand is made as each step comes."""
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(wheel, check=True)
    (built,) = folder.glob("kg2rag-*.whl")
    (folder / "constraints.txt").write_bytes((ROOT / "constraints.txt").read_bytes())
    venv.create(folder / "env", with_pip=True)
    yield "install", "quickstart", f"pip install -q -c constraints.txt '{built.name}[{extras}]'", ""
    yield "first table", "quickstart", "kg2rag compare bundled", "Report: reports/bundled/report.html"
    name = "01_first_comparison.ipynb"
    (folder / name).write_bytes((ROOT / "notebooks" / name).read_bytes())
    yield "first notebook", "README", f"jupyter nbconvert --to notebook --execute --inplace {name}", "Writing"
    write_package(folder)
    yield "own package", "add_a_dataset", "pip install -q --no-deps ./my_package", ""
    yield "own data, checked", "add_a_dataset", "kg2rag datasets lint quiz --path data", ""
    yield (
        "own data",
        "add_a_dataset",
        "kg2rag compare quiz --path data --systems bm25,dense",
        "quiz, pooled: 1 questions",
    )
    check = "from kg2rag.testing import check_retriever; from my_package.title_match import TitleMatch"
    yield (
        "own retriever, held to the contract",
        "add_a_strategy",
        f'python -c "{check}; check_retriever(TitleMatch)"',
        "",
    )
    own = "kg2rag compare bundled --systems dense,title_match --set title_match.min_share=0.75"
    yield "own retriever", "add_a_strategy", own, "title_match"


def write_package(folder: Path) -> None:
    """A package with the pages' modules and entry points, and the data that its data set reads."""
    source = folder / "my_package" / "my_package"
    source.mkdir(parents=True)
    (source / "__init__.py").touch()
    entries = []
    for page, module in (("add_a_dataset", "quiz"), ("add_a_strategy", "title_match")):
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        (source / f"{module}.py").write_text(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0], encoding="utf-8")
        entries += re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[:1]
    (source.parent / "pyproject.toml").write_text("\n".join([PACKAGE, *entries]), encoding="utf-8")
    data = folder / "data"
    data.mkdir()
    articles = [dict(zip(("id", "title", "text"), one, strict=True)) for one in ARTICLES]
    quiz = [dict(zip(("id", "question", "answer", "articles"), one, strict=True)) for one in QUIZ]
    for name, records in (("articles", articles), ("quiz", quiz)):
        (data / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")


def run(command: str, folder: Path) -> str:
    """What a command says, in a shell that knows the environment and not the checkout; ends the walk if it fails."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KG2RAG", "HF_"))}
    path = f"{folder / 'env' / 'bin'}{os.pathsep}{own['PATH']}"
    own |= {"PATH": path, "KG2RAG_STORE": str(folder / "store"), "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
    shell = ["bash", "-c", command]
    done = subprocess.run(shell, cwd=folder, env=own, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{command}\nended with {done.returncode}:\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    typer.run(main)
