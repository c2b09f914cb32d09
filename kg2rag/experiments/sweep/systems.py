"""The systems of a sweep, as a file or a caller names them -> spaces of parameters, checked against the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from kg2rag.experiments.sweep.space import Choice, Space, read
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.knowledge.graph import KnowledgeGraph
from kg2rag.retrievers import systems as catalogue
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Passage

SystemSpaces = tuple[str, Mapping[str, Space]]
"""A system's name, and the space of each parameter that is set."""


def read_systems(
    systems: Mapping[str, Mapping[str, object] | Sequence[Mapping[str, object]]], *, ranges: bool
) -> tuple[SystemSpaces, ...]:
    """The systems in the order given; `ranges` allows ranges without a step, which a grid cannot take.

    Raises
    ------
    ValueError : an unknown system or parameter, or what is no space of values.
    """
    if not isinstance(systems, Mapping) or not systems:
        raise ValueError(f"systems = {systems!r}: name at least one. Known: {', '.join(catalogue.names())}.")
    found: list[SystemSpaces] = []
    for system, given in systems.items():
        for number, parameters in enumerate([given] if isinstance(given, Mapping) else given, start=1):
            where = f"systems.{system}" if isinstance(given, Mapping) else f"systems.{system}[{number}]"
            if not isinstance(parameters, Mapping):
                raise ValueError(f"{where} = {parameters!r}: expected parameters with their values.")
            found.append((system, _spaces(where, system, parameters, ranges=ranges)))
    return tuple(found)


def check_systems(spaces: Sequence[SystemSpaces]) -> None:
    """Build every system with each of its values once; ValueError with the catalogue's own words."""
    for system, own in spaces:
        for settings in _each_value_once(own):
            try:
                catalogue.build(system, smallest(), **settings)
            except ValueError as error:
                raise ValueError(f"systems.{system}: {error}") from error


@cache
def smallest() -> KnowledgeBase:
    """A knowledge base to build systems over that are looked at and never run."""
    corpus = Corpus.from_passages([Passage("p", "", "p", "p", 0)])
    return KnowledgeBase.build(corpus, KnowledgeGraph.build(Mentions().extract(corpus), corpus))


def _spaces(where: str, system: str, given: Mapping[str, object], *, ranges: bool) -> dict[str, Space]:
    known = catalogue.parameters(system)
    found: dict[str, Space] = {}
    for name, values in given.items():
        if name not in known:
            raise ValueError(
                f"{where}.{name}: system {system!r} has no parameter {name!r}. Known: {', '.join(sorted(known))}."
            )
        try:
            found[name] = read(values)
            if not ranges:
                found[name].grid()
        except ValueError as error:
            raise ValueError(f"{where}.{name} = {values!r}: {error}.") from error
    return found


def _each_value_once(spaces: Mapping[str, Space]) -> Iterator[dict[str, object]]:
    """Settings in which one parameter at a time departs from the first values."""
    values = {
        name: space.values if isinstance(space, Choice) else (space.low, space.high) for name, space in spaces.items()
    }
    first = {name: known[0] for name, known in values.items()}
    yield first
    for name, known in values.items():
        yield from ({name: value} for value in known)
