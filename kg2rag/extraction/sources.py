"""The name of a graph source, as the command line takes it -> its extractor: "mentions", KIND:FILE, KIND:MODEL.

Several, joined by "+", are their union: "mentions+openie:FILE".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from kg2rag.extraction import Extractor
from kg2rag.extraction.combined import CombinedExtractor
from kg2rag.extraction.cooccurrence import Cooccurrence
from kg2rag.extraction.dependency.extractor import DependencyTriples
from kg2rag.extraction.importers.graphml import GraphMLFile
from kg2rag.extraction.importers.hipporag import HippoRAGOpenIE
from kg2rag.extraction.importers.lightrag import LightRAG
from kg2rag.extraction.importers.msgraphrag import MicrosoftGraphRAG
from kg2rag.extraction.importers.saved import SavedGraph
from kg2rag.extraction.importers.subkgs import KG2RAGSubgraphs
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.extraction.mentions.extractor import Mentions

PLAIN: Mapping[str, Callable[[], Extractor]] = {"mentions": Mentions, "cooccurrence": Cooccurrence}
FROM_FILE: Mapping[str, Callable[[Path], Extractor]] = {
    "openie": HippoRAGOpenIE,
    "subkgs": KG2RAGSubgraphs,
    "triples": TriplesFile,
    "graphml": GraphMLFile,
}
FROM_FOLDER: Mapping[str, Callable[[Path], Extractor]] = {
    "graph": SavedGraph,
    "lightrag": LightRAG,
    "msgraphrag": MicrosoftGraphRAG,
}
FROM_MODEL: Mapping[str, Callable[..., Extractor]] = {"dependency": DependencyTriples}


def known() -> str:
    """The sources there are, as error messages and help texts list them."""
    given = {":FILE": FROM_FILE, ":FOLDER": FROM_FOLDER, "[:MODEL]": FROM_MODEL}
    return ", ".join([*PLAIN, *(f"{kind}{what}" for what, kinds in given.items() for kind in kinds)])


def parse(spec: str) -> Extractor:
    """The extractor that a name stands for; names joined by "+" stand for their union.

    A "+" joins where a known kind follows it, and ":", "+" or the end that: paths may hold one otherwise.

    Raises
    ------
    ValueError : an unknown kind, a kind that needs a file without one, or the other way round.
    FileNotFoundError : the file is not there.
    """
    kinds = "|".join((*PLAIN, *FROM_FILE, *FROM_FOLDER, *FROM_MODEL))
    parts = re.split(rf"\+(?=(?:{kinds})(?:[:+]|$))", spec.strip())
    return _single(spec) if len(parts) == 1 else CombinedExtractor(tuple(map(_single, parts)))


def _single(spec: str) -> Extractor:
    kind, colon, file = spec.strip().partition(":")
    if kind in PLAIN and not colon:
        return PLAIN[kind]()
    if kind in FROM_MODEL and bool(colon) == bool(file):
        return FROM_MODEL[kind](file) if file else FROM_MODEL[kind]()
    if kind in FROM_FILE and file:
        return FROM_FILE[kind](Path(file))
    if kind in FROM_FOLDER and file:
        return FROM_FOLDER[kind](Path(file))
    if kind in PLAIN:
        raise ValueError(f"Graph source {spec!r}: {kind!r} takes no file. Known: {known()}.")
    if kind in FROM_MODEL:
        raise ValueError(f"Graph source {spec!r} names no model: write {kind} or {kind}:MODEL.")
    if kind in FROM_FILE:
        raise ValueError(f"Graph source {spec!r} names no file: write {kind}:FILE.")
    if kind in FROM_FOLDER:
        raise ValueError(f"Graph source {spec!r} names no folder: write {kind}:FOLDER.")
    raise ValueError(f"Unknown graph source {spec!r}. Known: {known()}.")
