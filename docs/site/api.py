"""The public names of `kg2rag/__init__.pyi` -> one page of the API reference a room."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from inspect import isclass, ismodule
from pathlib import Path
from pkgutil import resolve_name

import kg2rag

_NAME = re.compile(
    r"^from \.(?P<module>[\w.]*) import (\w+) as (?P<name>\w+)$", re.MULTILINE
)
ROOMS: Mapping[str, str] = {
    "retrievers": "Strategies, stages, fusion, linkers and rerankers",
    "evaluation": "Comparisons, diagnosis and graphs against their questions",
    "knowledge": "Corpora as strategies see them",
    "datasets": "Question sets",
    "experiments": "Sweeps and ledgers",
    "answers": "Contexts and answer scores",
    "llm": "Language models: extraction, linker, reranker, analyser, reader and question writing",
    "extraction": "Triples from passages",
    "compute": "Encoders and the store",
    "report": "Tables, explanations and figures",
    "types": "What flows between all of them",
    "text": "Errors of files",
    "testing": "The contract, as a test",
}


def pages() -> dict[str, str]:
    """Path below the source folder -> the page."""
    stub = (Path(kg2rag.__file__).parent / "__init__.pyi").read_text(encoding="utf-8")
    rooms: defaultdict[str, list[str]] = defaultdict(list)
    for found in _NAME.finditer(stub):
        rooms[found["module"].split(".")[0]].append(found["name"])
    rooms["testing"] = ["testing.check_retriever"]
    if set(rooms) != set(ROOMS):
        raise ValueError(
            f"A room has no title here: {', '.join(set(rooms) ^ set(ROOMS))}."
        )
    made = {
        f"api/{room}.md": page(room, sorted(rooms[room], key=str.lower))
        for room in ROOMS
    }
    return made | {"api/index.md": index()}


def page(room: str, names: list[str]) -> str:
    """The reference of one room."""
    head = [f"# {room}", "", f"{ROOMS[room]}.", "", "```{eval-rst}"]
    return "\n".join(
        [*head, *(line for name in names for line in directive(name)), "```", ""]
    )


def directive(name: str) -> list[str]:
    """What autodoc is told about a public name."""
    thing = resolve_name(f"kg2rag.{name}")
    if ismodule(thing):
        options = ["   :members:"]
        if name == "plots":
            options += ["   :imported-members:", "   :no-index:"]
        return [
            f".. rubric:: kg2rag.{name}",
            "",
            f".. automodule:: {thing.__name__}",
            *options,
            "",
        ]
    kind = "class" if isclass(thing) else "function"
    return [
        f".. auto{kind}:: kg2rag.{name}",
        *(["   :members:"] if kind == "class" else []),
        "",
    ]


def index() -> str:
    """The list of rooms."""
    lines = [
        "# API reference",
        "",
        "The public names of the package `kg2rag`, by the room in which each is defined.",
        "",
    ]
    lines += [
        f"- [{room}]({room}.md): {title[0].lower()}{title[1:]}."
        for room, title in ROOMS.items()
    ]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *ROOMS, "```", ""])
