"""The name of a graph source, as the command line takes it -> its extractor: "mentions", KIND:FILE, KIND:MODEL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from kg2rag.extraction import Extractor
from kg2rag.extraction.dependency import DependencyTriples
from kg2rag.extraction.hipporag import HippoRAGOpenIE
from kg2rag.extraction.mentions import Mentions
from kg2rag.extraction.subkgs import KG2RAGSubgraphs
from kg2rag.extraction.triples import TriplesFile

PLAIN: Mapping[str, Callable[[], Extractor]] = {"mentions": Mentions}
FROM_FILE: Mapping[str, Callable[[Path], Extractor]] = {
    "openie": HippoRAGOpenIE,
    "subkgs": KG2RAGSubgraphs,
    "triples": TriplesFile,
}
FROM_MODEL: Mapping[str, Callable[..., Extractor]] = {"dependency": DependencyTriples}


def known() -> str:
    """The sources there are, as error messages and help texts list them."""
    return ", ".join([*PLAIN, *(f"{kind}:FILE" for kind in FROM_FILE), *(f"{kind}[:MODEL]" for kind in FROM_MODEL)])


def parse(spec: str) -> Extractor:
    """The extractor that a name stands for.

    Raises
    ------
    ValueError : an unknown kind, a kind that needs a file without one, or the other way round.
    FileNotFoundError : the file is not there.
    """
    kind, colon, file = spec.strip().partition(":")
    if kind in PLAIN and not colon:
        return PLAIN[kind]()
    if kind in FROM_MODEL and bool(colon) == bool(file):
        return FROM_MODEL[kind](file) if file else FROM_MODEL[kind]()
    if kind in FROM_FILE and file:
        return FROM_FILE[kind](Path(file))
    if kind in PLAIN:
        raise ValueError(f"Graph source {spec!r}: {kind!r} takes no file. Known: {known()}.")
    if kind in FROM_MODEL:
        raise ValueError(f"Graph source {spec!r} names no model: write {kind} or {kind}:MODEL.")
    if kind in FROM_FILE:
        raise ValueError(f"Graph source {spec!r} names no file: write {kind}:FILE.")
    raise ValueError(f"Unknown graph source {spec!r}. Known: {known()}.")
