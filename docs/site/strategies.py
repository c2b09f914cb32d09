"""The catalogue of systems -> one page each: method, parameters, source and results; and an index by groups."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

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

sys.path.append(str(Path(__file__).resolve().parents[2] / "eval"))

import studies
from pages import anchor

PARTS: Mapping[str, tuple[Callable[..., Any], ...]] = {
    "graph_augmented": (Dense, BM25, Fusion, GraphAugment),
    "hybrid": (Dense, BM25, Fusion),
    "kg2rag": (Dense, Expand, Organise),
    "rerank": (Rerank,),
}
"""The components of the systems that a function of the catalogue puts together."""
HERE = systems.__name__
METRIC = "recall@5"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Try first": ("hybrid", "mention_chains", "mention_ppr", "graph_augmented"),
    "Without a graph": ("bm25", "dense", "pattern", "rerank"),
    "Graph additions to a text ranking": ("vector_first", "confidence_gated"),
    "Query expansion and fusion": (
        "expansion_queries",
        "dynamic_hybrid",
        "practical_graphrag",
    ),
    "Walks": ("linearrag", "hippo1", "hippo2"),
    "Paths and trees": ("proprag", "kg2rag", "kg2rag_official"),
    "Described entities and relations": ("lightrag", "graphrag_local"),
}
"""Heading of the index -> its systems; a system of no group stands below *Other systems*."""


def pages() -> dict[str, str]:
    """Path below the source folder -> the page."""
    names = systems.names()
    comparisons = list(studies.read().values())
    texts = {f"strategies/{name}.md": page(name, comparisons) for name in names}
    return texts | {"strategies/index.md": index(names)}


def page(name: str, comparisons: Sequence[studies.Study]) -> str:
    """The page of one system."""
    builder = builder_of(name)
    blocks = {
        "": [summary(builder)],
        "How it works": [*explained(name, builder)],
        "Parameters": [*parameters(name, builder)],
        "Results": [*measured(name, comparisons)],
        "Tuned parameters": [*chosen(name)],
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
    """The method of a strategy: its docstrings and those of its modules, and its files."""
    rest = "\n".join(parsed(inspect.getdoc(builder) or "")["Extended Summary"])
    if rest:
        yield from ("", prose(rest))
    components = PARTS.get(name, (builder,))
    has_several = len(components) > 1
    for component in components:
        module = sys.modules[component.__module__]
        if module.__name__ == HERE:
            continue
        yield ""
        if has_several:
            yield from (f"### {component.__name__}", "")
        yield prose(module.__doc__ or "")
        if has_several:
            yield from ("", prose("\n".join(described(component))))
    modules = dict.fromkeys(component.__module__ for component in components)
    files = ", ".join(f"`{module.replace('.', '/')}.py`" for module in modules)
    yield from ("", f"Defined in {files}.")


def described(thing: Callable[..., Any]) -> list[str]:
    """The prose of a docstring, without its sections."""
    sections = parsed(inspect.getdoc(thing) or "")
    return [*sections["Summary"], "", *sections["Extended Summary"]]


def parameters(name: str, builder: Callable[..., Any]) -> Iterator[str]:
    """One row a parameter: its default and meaning, the latter also from the components that it is handed to."""
    meanings: dict[str, str] = {}
    for component in (*reversed(PARTS.get(name, ())), builder):
        meanings |= listed(parsed(inspect.getdoc(component) or ""), "Parameters")
    meaning_of = {
        part: text for names, text in meanings.items() for part in names.split(", ")
    }
    defaults = systems.parameters(name)
    if not defaults:
        yield "None."
        return
    yield from ("| parameter | default | meaning |", "|---|---|---|")
    for parameter, default in defaults.items():
        meaning = prose(meaning_of.get(parameter, "")).replace("|", r"\|")
        yield f"| `{parameter}` | `{default!r}` | {meaning} |"
    option = f"--set '{name}.PARAMETER=VALUE'"
    yield from ("", f"`kg2rag compare SET --systems {name} {option}` changes one.")


def measured(name: str, comparisons: Iterable[studies.Study]) -> Iterator[str]:
    """One row per kept comparison with the system under its catalogue name."""
    rows = [
        result_row(name, study) for study in comparisons if name in study.recall.index
    ]
    if not rows:
        yield "No kept comparison contains this system."
        return
    yield (
        "*recall@5* in per cent with its 95 % interval, and points above the baseline. † marks a "
        "parameter that was chosen with access to the set."
    )
    yield ""
    header = ["comparison", METRIC, "baseline", "difference"]
    yield from pipe_table(header, rows, [METRIC, "difference"])


def result_row(name: str, study: studies.Study) -> list[str]:
    """Comparison, recall, baseline and difference."""
    row = study.recall.loc[name]
    baseline = study.config["baseline"]
    gain = row["mean"] - study.recall.loc[baseline, "mean"]
    set_name, title = study.about["page"], study.about["title"]
    link = f"[{set_name}: {title}](../docs/results/{set_name}.md#{anchor(title)})"
    mark = f" {studies.MARK}" if name in study.marked else ""
    mean = f"{100 * row['mean']:.1f} ({100 * row['ci_low']:.1f} to {100 * row['ci_high']:.1f})"
    difference = ""
    if name != baseline:
        difference = f"{100 * gain:+z.1f}{stars(row['p_holm'])}".replace("*", r"\*")
    return [link + mark, mean, f"`{baseline}`", difference]


def chosen(name: str) -> Iterator[str]:
    """The parameters of a system that were chosen with access to questions, a line each."""
    lines: dict[str, None] = {}
    for row in studies.register():
        if row.system == name:
            sets = [f"`{set_name}`" for set_name in row.sets]
            accessible = ", ".join((*row.training, *sets)) or "no questions"
            lines[f"{prose(row.what)}: {row.kind}, with access to {accessible}."] = None
    yield from bullets(iter(lines))


def bullets(lines: Iterator[str]) -> Iterator[str]:
    """Lines as a list."""
    return (f"- {line}" for line in lines)


def index(names: tuple[str, ...]) -> str:
    """All strategies by group, with a sentence each."""
    lines = [
        "# Strategies",
        "",
        "Each page is generated from docstrings, parameters and committed results. "
        "[Strategies: which to try first](../docs/strategies.md) says when each helps and hurts.",
        "",
    ]
    grouped = {name for group in GROUPS.values() for name in group}
    other = tuple(name for name in names if name not in grouped)
    for title, group in (*GROUPS.items(), ("Other systems", other)):
        if group:
            lines += [f"## {title}", "", "| system | method |", "|---|---|"]
            for name in group:
                method = prose(summary(builder_of(name)).strip("*"))
                lines.append(f"| [`{name}`]({name}.md) | {method} |")
            lines.append("")
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *names, "```", ""])
