"""Passages of Python -> what defines, imports, calls, uses and inherits from what, by the standard library's `ast`.

So that "callers of X", "what uses X" and the blast radius of X have edges. Every triple is stated by the passage that
has the code, and described by the line. Passages of one document share its imports. Calls of builtins, and calls of
which the code does not say what is called, make no triple; the latter are counted.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.code_names import (
    SURE,
    Definition,
    Meaning,
    Names,
    Source,
    guessed,
    imported,
    local_names,
    meaning,
    read_source,
)
from kg2rag.types import Corpus, Triple

STRENGTHS: Mapping[str, float] = {"inherits from": 9.0, "calls": 8.0, "defines": 6.0, "uses": 5.0, "imports": 4.0}
"""Ours: how far a change of the tail concerns the head, but for "defines", which joins a part to its whole."""


@dataclass(frozen=True)
class PythonCode:
    """The graph of a corpus of Python sources: functions, methods and classes, and how they depend on each other.

    Entities go by their qualified names, such as `kg2rag.types.passages.Triple` where a passage's title is its module,
    and by the ends of these as aliases (`Triple`). Definitions of one name in passages without a title are one.
    """

    kind: ClassVar[str] = "code-1"

    @property
    def fingerprint(self) -> str:
        """The kind with its version; nothing else is read but the corpus."""
        return self.kind

    def extract(self, corpus: Corpus) -> Extraction:
        """Triples, definitions as entities, and their mentions, in the corpus's order.

        `notes` counts passages that are no Python (or Python 2), and calls of which nothing says what is called.
        """
        notes: Counter[str] = Counter()
        sources: dict[int, Source] = {}
        imports: defaultdict[str, dict[str, str]] = defaultdict(dict)
        documents = corpus.table["doc_id"].to_pylist()
        for row, (title, text) in enumerate(zip(corpus.titles, corpus.table["text"].to_pylist(), strict=True)):
            if (source := read_source(title, text)) is None:
                notes["passages that are no Python 3"] += 1
                continue
            sources[row] = source
            imports[documents[row]] |= source.imports
        names = Names(one for source in sources.values() for one in source.definitions)
        triples: dict[tuple[str, str, str, str], Triple] = {}
        mentions: list[Mention] = []
        for row, source in sources.items():
            passage = corpus.ids[row]
            mentions += (Mention(one.name, passage) for one in source.definitions)
            reader = _Reader(source, imports[documents[row]], names, notes)
            for head, relation, (tail, confidence), line in reader.edges():
                key = head, relation, tail, passage
                if head != tail and key not in triples:
                    triples[key] = Triple(*key, STRENGTHS[relation], confidence, line)
        counted = {cause: count for cause, count in notes.items() if count}
        return Extraction(tuple(triples.values()), tuple(mentions), tuple(_entities(names)), counted)


Edge = tuple[str, str, Meaning, str]


@dataclass(frozen=True)
class _Reader:
    """Reads the edges of one passage."""

    source: Source
    imports: Mapping[str, str]
    names: Names
    notes: Counter[str]

    def edges(self) -> Iterator[Edge]:
        """Head, relation, tail with its confidence, and the line."""
        source = self.source
        heads = [source.outer] if source.outer else [one.name for one in source.definitions if not one.owner]
        for node, dotted in imported(source):
            yield from ((head, "imports", self.names.imported(dotted), source.line(node)) for head in heads[:1])
        for definition in source.definitions:
            if definition.owner:
                yield definition.owner, "defines", (definition.name, SURE), source.line(definition.node)
            if isinstance(definition.node, ast.ClassDef):
                for base in definition.node.bases:
                    yield from self._edge(definition, "inherits from", base, frozenset())
            yield from self._references(definition)
        if heads:
            module = ast.ClassDef(name="", bases=[], keywords=[], body=[], decorator_list=[])
            outside = Definition(heads[0], "module", "", module)
            for statement in source.tree.body:
                if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    yield from self._within(statement, outside, frozenset())

    def _references(self, definition: Definition) -> Iterator[Edge]:
        """Calls and uses of a definition's own body, not of what is defined in it."""
        node = definition.node
        hidden = local_names(node)
        parts: list[ast.AST] = [*node.decorator_list, *node.body]
        parts += (
            node.keywords if isinstance(node, ast.ClassDef) else [node.args, *([node.returns] if node.returns else [])]
        )
        for part in parts:
            yield from self._within(part, definition, hidden)

    def _within(self, node: ast.AST, definition: Definition, hidden: frozenset[str]) -> Iterator[Edge]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.Call):
            yield from self._edge(definition, "calls", node.func, hidden)
            inner = node.func.value if isinstance(node.func, ast.Attribute) else None
            parts: list[ast.AST] = [*([inner] if inner is not None else []), *node.args, *node.keywords]
            for part in parts:
                yield from self._within(part, definition, hidden)
            return
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            found = meaning(node, definition, self.source, self.imports, self.names, hidden)
            if found is not None and found[0] in self.names.known:
                yield definition.name, "uses", found, self.source.line(node)
                return
        for child in ast.iter_child_nodes(node):
            yield from self._within(child, definition, hidden)

    def _edge(self, head: Definition, relation: str, node: ast.expr, hidden: frozenset[str]) -> Iterator[Edge]:
        found = meaning(node, head, self.source, self.imports, self.names, hidden) or guessed(node, self.names, hidden)
        if found is not None:
            yield head.name, relation, found, self.source.line(node)
        elif relation == "calls" and isinstance(node, ast.Attribute):
            self.notes["calls of methods of unknown objects, left out"] += 1


def _entities(names: Names) -> Iterator[Entity]:
    for name, definition in names.known.items():
        parts = name.split(".")
        ends = [".".join(parts[-length:]) for length in (1, 2) if length < len(parts)]
        yield Entity(name, definition.kind, definition.about, tuple(ends))
