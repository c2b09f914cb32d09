"""The catalogue of systems -> one page each: what it does, its parameters, its source, its results."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from docstrings import listed, parsed, prose

from kg2rag.report import stars
from kg2rag.report.markup import pipe_table
from kg2rag.retrievers import systems
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.designs.graph_augmented import GraphAugment
from kg2rag.retrievers.fusion import Fusion
from kg2rag.retrievers.published.kg2rag.paper import Expand, Organise
from kg2rag.retrievers.rerankers import Rerank

PARTS: Mapping[str, tuple[Callable[..., Any], ...]] = {
    "graph_augmented": (Dense, BM25, Fusion, GraphAugment),
    "hybrid": (Dense, BM25, Fusion),
    "kg2rag": (Dense, Expand, Organise),
    "rerank": (Rerank,),
}
"""The components of the systems that a function of the catalogue puts together."""
HERE = systems.__name__
METRIC = "recall@5"


class Kept:
    """A kept comparison, as far as the pages show it."""

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.name, self.baseline, self.tuning = folder.name, config["baseline"], config.get("tuning", {})
        self.scores = pd.read_csv(folder / "scores.csv").set_index(["system", "metric"])


def pages(results: Path) -> dict[str, str]:
    """Path below the source folder -> the page."""
    found = [Kept(file.parent) for file in sorted(results.glob("*/config.json"))]
    names = systems.names()
    made = {f"strategies/{name}.md": page(name, found) for name in names}
    return made | {"strategies/index.md": index(names)}


def page(name: str, found: Sequence[Kept]) -> str:
    """All that is known of one system."""
    builder = builder_of(name)
    blocks = {
        "": [summary(builder)],
        "How it works": [*explained(name, builder)],
        "Parameters": [*parameters(name, builder)],
        "Results": [*measured(name, found)],
        "What was chosen on which questions": [*chosen(name, found)],
    }
    lines = [f"# {name}", ""]
    for title, block in blocks.items():
        if block:
            lines += [f"## {title}", "", *block, ""] if title else [*block, ""]
    return "\n".join(lines)


def builder_of(name: str) -> Callable[..., Any]:
    """The class or function that makes a system."""
    return systems.SYSTEMS[name]


def summary(builder: Callable[..., Any]) -> str:
    """The first sentence of its docstring."""
    return f"**{' '.join(parsed(inspect.getdoc(builder) or '')['Summary'])}**"


def explained(name: str, builder: Callable[..., Any]) -> Iterator[str]:
    """What a module says of a strategy: how it works, its formula, its source, what is theirs and what is ours."""
    rest = [*parsed(inspect.getdoc(builder) or "")["Extended Summary"]]
    if any(rest):
        yield from ("", prose("\n".join(rest)))
    components = PARTS.get(name, (builder,))
    for component in components:
        module = sys.modules[component.__module__]
        if module.__name__ != HERE:
            yield from ("", *([f"### {component.__name__}", ""] if len(components) > 1 else []))
            yield prose(module.__doc__ or "")
            if len(components) > 1:
                yield from ("", prose("\n".join(described(component))))
    modules = dict.fromkeys(component.__module__ for component in components)
    yield from ("", "Defined in " + ", ".join(f"`{module.replace('.', '/')}.py`" for module in modules) + ".")


def described(thing: Callable[..., Any]) -> list[str]:
    """The prose of a docstring, without its sections."""
    found = parsed(inspect.getdoc(thing) or "")
    return [*found["Summary"], "", *found["Extended Summary"]]


def parameters(name: str, builder: Callable[..., Any]) -> Iterator[str]:
    """One row a parameter: its default and meaning, the latter also from the components that it is handed to."""
    meanings: dict[str, str] = {}
    for component in (*reversed(PARTS.get(name, ())), builder):
        meanings |= listed(parsed(inspect.getdoc(component) or ""), "Parameters")
    spread = {part: text for names, text in meanings.items() for part in names.split(", ")}
    known = systems.parameters(name)
    if known:
        yield from ("| parameter | default | meaning |", "|---|---|---|")
        for parameter, default in known.items():
            yield f"| `{parameter}` | `{default!r}` | {prose(spread.get(parameter, '')).replace('|', chr(92) + '|')} |"
        yield from ("", f"`kg2rag compare SET --systems {name} --set '{name}.PARAMETER=VALUE'` changes one.")
    else:
        yield "None."


def measured(name: str, found: Iterable[Kept]) -> Iterator[str]:
    """One row a kept comparison with the system under its own name."""
    rows = []
    for one in found:
        if (name, METRIC) in one.scores.index:
            row, base = one.scores.loc[(name, METRIC)], one.scores.loc[(one.baseline, METRIC)]
            marked = any(one.name.endswith(each) for number in one.tuning.get(name, ()) for each in number["sets"])
            over = "" if name == one.baseline else f"{100 * (row['mean'] - base['mean']):+.1f}{stars(row['p_holm'])}"
            link = f"[{one.name}](../docs/results/{one.name}.md){' †' * marked}"
            mean = f"{100 * row['mean']:.1f} ({100 * row['ci_low']:.1f} to {100 * row['ci_high']:.1f})"
            rows.append([link, mean, f"`{one.baseline}`", over.replace("*", r"\*")])
    if not rows:
        yield "No comparison with it is kept."
        return
    yield "*recall@5* in per cent with its 95 % interval, and the points over the baseline with stars."
    yield from ("", *pipe_table(["comparison", METRIC, "baseline", "over it"], rows, [METRIC, "over it"]))


def chosen(name: str, found: Iterable[Kept]) -> Iterator[str]:
    """The numbers of a system that were chosen by looking at questions, in words."""
    lines: dict[str, None] = {}
    for row in (row for one in found for row in one.tuning.get(name, ())):
        on = ", ".join((*row["training"], *(f"`{each}`" for each in row["sets"]))) or "no questions"
        lines[f"{prose(row['what'])}: {row['kind']}, with {on} in view."] = None
    yield from bullets(iter(lines))


def bullets(lines: Iterator[str]) -> Iterator[str]:
    """Lines as a list."""
    return (f"- {line}" for line in lines)


def index(names: tuple[str, ...]) -> str:
    """All strategies with a sentence each."""
    lines = [
        "# Strategies",
        "",
        "Each page is made from the system's docstring, its parameters and committed results. "
        "[Which to try first](../docs/strategies.md), and when each helps and hurts, is a page by itself.",
        "",
    ]
    lines += ["| system | what it does |", "|---|---|"]
    lines += [f"| [`{name}`]({name}.md) | {prose(summary(builder_of(name)).strip('*'))} |" for name in names]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *names, "```", ""])
