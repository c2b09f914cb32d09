"""The name of a graph source, as the command line takes it -> its extractor: "mentions", KIND:FILE, KIND:MODEL.

Several names joined by "+" are combined: "mentions+openie:FILE". `docs/add_a_graph_source.md` says how to add one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from kg2rag.extraction import Extractor
from kg2rag.extraction.code.extractor import PythonCode
from kg2rag.extraction.combined import CombinedExtractor
from kg2rag.extraction.cooccurrence import Cooccurrence
from kg2rag.extraction.dependency import DependencyTriples
from kg2rag.extraction.importers.hipporag import HippoRAGOpenIE
from kg2rag.extraction.importers.lightrag import LightRAG
from kg2rag.extraction.importers.msgraphrag import MicrosoftGraphRAG
from kg2rag.extraction.importers.networkx_graph import GraphMLFile
from kg2rag.extraction.importers.saved import SavedGraph
from kg2rag.extraction.importers.subkgs import KG2RAGSubgraphs
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.extraction.mentions.extractor import Mentions
from kg2rag.text import plugins
from kg2rag.text.nearest import nearest

GROUP = "kg2rag.graphs"
"""Entry points under which other packages register loaders."""


@dataclass(frozen=True)
class Loader:
    """How the extractor of a graph source is made.

    Parameters
    ----------
    make : the extractor's class, or a function that returns one.
    argument : what follows the name: nothing, a path (FILE or FOLDER), or a model's name that may be left out.
    """

    make: Callable[..., Extractor]
    argument: Literal["", "FILE", "FOLDER", "[MODEL]"] = ""

    def usage(self, kind: str) -> str:
        """How the source is written: "openie:FILE", "dependency[:MODEL]"."""
        return {"": kind, "[MODEL]": f"{kind}[:MODEL]"}.get(self.argument, f"{kind}:{self.argument}")


LOADERS: dict[str, Loader] = {
    "mentions": Loader(Mentions),
    "cooccurrence": Loader(Cooccurrence),
    "code": Loader(PythonCode),
    "openie": Loader(HippoRAGOpenIE, "FILE"),
    "subkgs": Loader(KG2RAGSubgraphs, "FILE"),
    "triples": Loader(TriplesFile, "FILE"),
    "subkgs-raw": Loader(partial(KG2RAGSubgraphs, raw=True), "FILE"),
    "graphml": Loader(GraphMLFile, "FILE"),
    "graph": Loader(SavedGraph, "FOLDER"),
    "lightrag": Loader(LightRAG, "FOLDER"),
    "msgraphrag": Loader(MicrosoftGraphRAG, "FOLDER"),
    "dependency": Loader(DependencyTriples, "[MODEL]"),
}


def known() -> str:
    """The sources there are, as error messages and help texts list them; those of other packages by name alone."""
    others = [name for name in plugins.names(GROUP, LOADERS) if name not in LOADERS]
    return ", ".join([*(loader.usage(kind) for kind, loader in LOADERS.items()), *others])


def takes_file(kind: str) -> bool:
    """Whether this is the name of one of our sources that read a file."""
    return kind in LOADERS and LOADERS[kind].argument == "FILE"


def parse(spec: str) -> Extractor:
    """The extractor of a graph source; names joined by "+" are combined.

    A "+" joins where a known name follows it, and ":", "+" or the end follows that: a path may contain others.

    Raises
    ------
    ValueError : an unknown name, a source that needs a file without one, or the other way round.
    FileNotFoundError : the file does not exist.
    RuntimeError : a source of another package cannot be imported.
    """
    kinds = "|".join(map(re.escape, plugins.names(GROUP, LOADERS)))
    parts = re.split(rf"\+(?=(?:{kinds})(?:[:+]|$))", spec.strip())
    return _single(spec) if len(parts) == 1 else CombinedExtractor(tuple(map(_single, parts)))


def _single(spec: str) -> Extractor:
    kind, colon, argument = spec.strip().partition(":")
    loader = _loader(kind, spec)
    if colon and not loader.argument:
        raise ValueError(f"Graph source {spec!r}: {kind!r} takes no file. Known: {known()}.")
    if loader.argument == "[MODEL]" and colon and not argument:
        raise ValueError(f"Graph source {spec!r} names no model: write {kind} or {kind}:MODEL.")
    if loader.argument in ("", "[MODEL]"):
        return loader.make(argument) if colon else loader.make()
    if not argument:
        raise ValueError(f"Graph source {spec!r} names no {loader.argument.lower()}: write {loader.usage(kind)}.")
    return loader.make(Path(argument))


def _loader(kind: str, spec: str) -> Loader:
    names = plugins.names(GROUP, LOADERS)
    if kind not in names:
        hint = f" Did you mean {close!r}?" if (close := nearest(kind, names)) else ""
        raise ValueError(f"Unknown graph source {spec!r}. Known: {known()}.{hint}")
    loader = plugins.look_up("graph source", kind, dict[str, object](LOADERS), GROUP)
    if not isinstance(loader, Loader):
        raise TypeError(
            f"Graph source {kind!r} is registered as {loader!r}, which is no Loader. Register "
            'kg2rag.extraction.sources.Loader(YourExtractor, "FILE").'
        )
    return loader
