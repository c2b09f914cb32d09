"""The catalogue of systems -> one page each: what it does, its parameters, its source, its cost, when it wins."""

from __future__ import annotations

import inspect
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import outcomes
from docstrings import listed, parsed, prose

from kg2rag.retrievers import systems
from kg2rag.retrievers.bm25 import BM25
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.fusion import Fusion
from kg2rag.retrievers.graph_augmented import GraphAugment
from kg2rag.retrievers.kg2rag.expand import Expand
from kg2rag.retrievers.kg2rag.organise import Organise
from kg2rag.retrievers.mention_chains.cross import CrossOrder
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.rerankers.stage import Rerank

PARTS: Mapping[str, tuple[Callable[..., Any], ...]] = {
    "graph_augmented": (Dense, BM25, Fusion, GraphAugment),
    "hybrid": (Dense, BM25, Fusion),
    "kg2rag": (Dense, Expand, Organise),
    "mention_chains+cross": (MentionChains, CrossOrder),
    "rerank": (Rerank,),
}
"""The components of the systems that a function of the catalogue puts together."""
HERE = systems.__name__


def pages(results: Path) -> dict[str, str]:
    """Path below the source folder -> the page."""
    found = outcomes.read(results)
    register = tomllib.loads(Path(systems.__file__).with_name("tuning.toml").read_text(encoding="utf-8"))["number"]
    names = (*systems.names(), *systems.TRAINED)
    made = {f"strategies/{name}.md": page(name, found, register, results) for name in names}
    return made | {"strategies/index.md": index(names)}


def page(name: str, found: list[outcomes.Outcome], register: list[dict[str, Any]], results: Path) -> str:
    """All that is known of one system."""
    builder, own = builder_of(name), outcomes.of(name, found)
    numbers = [row for row in register if row["system"] == name]
    marked = {one.name: " †" for one in own for row in numbers if any(one.name.endswith(part) for part in row["sets"])}
    blocks = {
        "": [summary(builder)],
        "How it works": [*explained(name, builder)],
        "Parameters": [*parameters(name, builder)],
        "Results": [*measured(name, own, marked)],
        "When it wins, and when not": [*sentences(name, own, found)],
        "Cost": [*bullets(outcomes.costs(name, own, results / "timings.toml"))],
        "What was chosen on which questions": [*bullets(map(chosen, numbers))],
    }
    lines = [f"# {name}", ""]
    for title, block in blocks.items():
        if block:
            lines += [f"## {title}", "", *block, ""] if title else [*block, ""]
    return "\n".join(lines)


def builder_of(name: str) -> Callable[..., Any]:
    """The class or function that makes a system."""
    return {**systems.SYSTEMS, **systems.TRAINED}[name]


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


def measured(name: str, own: list[outcomes.Outcome], marked: Mapping[str, str]) -> Iterator[str]:
    """The table of committed comparisons."""
    if not own:
        yield "No comparison with it is committed."
        return
    yield "Per cent, with 95 % intervals; points over `dense` by recall@5, tested by paired randomisation (Holm)."
    yield from ("", *outcomes.table(name, own, marked), "")
    yield "The commands are in [Results](../docs/results.md), configurations and runs in `eval/results`."
    if marked:
        yield "†: a number of the system was chosen with questions, or scores, of that set in view."


def sentences(name: str, own: list[outcomes.Outcome], found: list[outcomes.Outcome]) -> Iterator[str]:
    """When it wins and when not."""
    yield from bullets(outcomes.verdicts(name, own))
    kinds, shuffled = list(outcomes.kinds(name, own)), list(outcomes.placebo(name, found))
    if kinds:
        text = f"Points over `dense` by number of hops and by type of question (groups of {outcomes.FEWEST} or more)"
        yield from ("", f"{text}:", "", *bullets(iter(kinds)))
    if shuffled:
        yield from ("", "Over graphs against the same graphs shuffled:", "", *bullets(iter(shuffled)))


def chosen(row: Mapping[str, Any]) -> str:
    """One number of the register, in words."""
    on = ", ".join((*row["training"], *(f"`{one}`" for one in row["sets"]))) or "no questions"
    return f"{prose(row['what'])}: {row['kind']}, with {on} in view."


def bullets(lines: Iterator[str]) -> Iterator[str]:
    """Lines as a list."""
    return (f"- {line}" for line in lines)


def index(names: tuple[str, ...]) -> str:
    """All strategies with a sentence each."""
    lines = [
        "# Strategies",
        "",
        "Each page is made from the system's docstring, its parameters and committed results.",
        "",
    ]
    lines += ["| system | what it does |", "|---|---|"]
    lines += [f"| [`{name}`]({name}.md) | {prose(summary(builder_of(name)).strip('*'))} |" for name in names]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *names, "```", ""])
