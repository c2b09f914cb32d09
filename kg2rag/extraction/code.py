"""Passages of Python -> definitions, imports, calls, uses and base classes, by `ast`.

The edges answer "callers of X", "what uses X" and the blast radius of X. The passage with the code
states a triple; the line describes it. A passage is a file or a part of a file: a function, a class,
or a method with its indentation. A title that is a dotted name is the module or class that contains
the passage. Passages of one document share its imports.

A name is resolved in this order: local to the function; defined in the passage; imported by its
document; defined in its module or class; the only definition of this name in the corpus. No types
are inferred: `x.save()` refers to the only method `save`, unless strings, lists and similar types
have one. Calls of builtins make no triple. Calls with an unknown callee make none either and are
counted.
"""

from __future__ import annotations

import ast
import builtins
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from typing import NamedTuple

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.python_source import Definition, PythonSource, Scope
from kg2rag.types import Corpus, Triple

STRENGTHS: Mapping[str, float] = {
    "inherits from": 9.0,
    "calls": 8.0,
    "defines": 6.0,
    "uses": 5.0,
    "imports": 4.0,
}
"""Ours: how much a change of the tail affects the head; "defines" joins a whole to its part."""
CERTAIN, ONLY_DEFINITION, ONLY_METHOD = 1.0, 0.7, 0.5
"""Confidence in a name that the code resolves, or that has one definition, or one method, in the corpus."""
BUILTIN = frozenset[str]().union(
    *map(dir, (str, bytes, list, dict, set, tuple, int, float, BytesIO, TextIOWrapper))
)
"""Names of methods that built-in types have, too."""
SELF = frozenset({"self", "cls"})


class Meaning(NamedTuple):
    """The name of a definition, or of a thing of another package, and the confidence in it."""

    name: str
    confidence: float


class Edge(NamedTuple):
    """A fact that a node of the code states."""

    head: str
    relation: str
    tail: Meaning
    node: ast.AST


class Context(NamedTuple):
    """The definition or module that a node of the code belongs to.

    `name` is its name, `in_class` the class of a method, and `local_names` are those that a function
    binds.
    """

    name: str
    in_class: str = ""
    local_names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class PythonCode:
    """The graph of Python sources: functions, methods and classes, and their dependencies.

    Entities go by their qualified names, such as `kg2rag.types.passages.Triple` where a passage's
    title is its module, and by the ends of these as aliases (`Triple`). Definitions of one name in
    passages without a title are one.
    """

    @property
    def fingerprint(self) -> str:
        """The version of the rules; nothing else is read but the corpus."""
        return "code-1"

    def extract(self, corpus: Corpus) -> Extraction:
        """Triples, definitions as entities, and their mentions, in the corpus's order.

        `notes` counts passages that are no Python (or Python 2), and calls whose callee is unknown.
        """
        notes: Counter[str] = Counter()
        sources = _read_sources(corpus, notes)
        imports: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for row, source in sources.items():
            imports[corpus.doc_ids[row]] |= source.imports
        names = _Names(
            definition
            for source in sources.values()
            for definition in source.definitions
        )
        triples: list[Triple] = []
        mentions: list[Mention] = []
        for row, source in sources.items():
            passage_id = corpus.ids[row]
            mentions += (
                Mention(definition.name, passage_id)
                for definition in source.definitions
            )
            reader = _Reader(source, imports[corpus.doc_ids[row]], names, notes)
            triples += _triples(reader.edges(), source, passage_id)
        return Extraction(
            tuple(triples),
            tuple(mentions),
            tuple(map(_entity, names.definitions.values())),
            notes,
        )


def _read_sources(corpus: Corpus, notes: Counter[str]) -> dict[int, PythonSource]:
    """Row -> source, for the passages that are Python; `notes` counts the others."""
    sources: dict[int, PythonSource] = {}
    for row, (title, text) in enumerate(
        zip(corpus.titles, corpus.table["text"].to_pylist(), strict=True)
    ):
        try:
            sources[row] = PythonSource(
                title.strip(), textwrap.dedent(text.expandtabs())
            )
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            notes["passages that are no Python 3"] += 1
    return sources


def _triples(
    edges: Iterable[Edge], source: PythonSource, passage_id: str
) -> list[Triple]:
    """The triples of a passage, each once, described by the first line that states them."""
    triples: dict[tuple[str, str, str], Triple] = {}
    for edge in edges:
        fact = edge.head, edge.relation, edge.tail.name
        if edge.head != edge.tail.name and fact not in triples:
            line = source.lines[getattr(edge.node, "lineno", 1) - 1].strip()
            triples[fact] = Triple(
                *fact, passage_id, STRENGTHS[edge.relation], edge.tail.confidence, line
            )
    return list(triples.values())


def _entity(definition: Definition) -> Entity:
    """The record of a definition: first line of its docstring, and name endings as aliases."""
    parts = definition.name.split(".")
    aliases = tuple(
        ".".join(parts[-length:]) for length in (1, 2) if length < len(parts)
    )
    summary = (ast.get_docstring(definition.node) or "").partition("\n")[0]
    return Entity(definition.name, definition.kind, summary, aliases)


class _Names:
    """The definitions of a corpus, the first of each qualified name.

    `n_definitions` counts all definitions of a name.
    """

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self.definitions: dict[str, Definition] = {}
        self.names_by_last_part: defaultdict[str, list[str]] = defaultdict(list)
        self.n_definitions: Counter[str] = Counter()
        for definition in definitions:
            self.n_definitions[definition.name] += 1
            if definition.name not in self.definitions:
                self.definitions[definition.name] = definition
                self.names_by_last_part[definition.last].append(definition.name)

    def meaning_of_import(self, dotted: str) -> Meaning:
        """The meaning of an imported dotted name.

        A package may re-export a name: kg2rag.types.Triple is kg2rag.types.passages.Triple.
        """
        package, _, path = dotted.partition(".")
        last = path.rpartition(".")[2] or package
        candidates = [
            name
            for name in self.names_by_last_part.get(last, ())
            if name.partition(".")[0] == package
        ]
        is_reexported = dotted not in self.definitions and len(candidates) == 1
        return Meaning(candidates[0] if is_reexported else dotted, CERTAIN)

    def only_match(self, last: str, *, method: bool) -> Meaning | None:
        """The only method, or only function or class, of this last name; None if it is ambiguous."""
        names = [
            name
            for name in self.names_by_last_part.get(last, ())
            if self.definitions[name].is_method == method
        ]
        if sum(self.n_definitions[name] for name in names) != 1:
            return None
        return Meaning(names[0], ONLY_METHOD if method else ONLY_DEFINITION)


@dataclass(frozen=True)
class _Reader:
    """Reads the edges of one passage; `imports` are those of its whole document."""

    source: PythonSource
    imports: Mapping[str, str]
    names: _Names
    notes: Counter[str]

    def edges(self) -> Iterator[Edge]:
        """The edges of the passage: imports, those of each definition, then of the other code."""
        module = self.source.module
        if module:
            for imported in self.source.import_records:
                meaning = self.names.meaning_of_import(
                    imported.module or self.source.imports[imported.name]
                )
                yield Edge(module, "imports", meaning, imported.statement)
        for definition in self.source.definitions:
            yield from self._definition_edges(definition)
        if module:
            for statement in self.source.tree.body:
                yield from self._edges_within(statement, Context(module))

    def _definition_edges(self, definition: Definition) -> Iterator[Edge]:
        """The edges of a definition: owner, bases, calls and uses, without inner definitions."""
        node = definition.node
        context = Context(definition.name, definition.in_class, definition.local_names)
        if definition.owner:
            yield Edge(
                definition.owner, "defines", Meaning(definition.name, CERTAIN), node
            )
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                yield from self._edge(context, "inherits from", base)
        for part in definition.parts():
            yield from self._edges_within(part, context)

    def _edges_within(self, node: ast.AST, context: Context) -> Iterator[Edge]:
        """The edges of the calls and uses in a part of a definition."""
        if isinstance(node, Scope | ast.Import | ast.ImportFrom):
            return  # their edges are read elsewhere
        if isinstance(node, ast.Call):
            yield from self._edge(context, "calls", node.func)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(
            node.ctx, ast.Load
        ):
            meaning = self._meaning(node, context)
            if meaning is not None and meaning.name in self.names.definitions:
                yield Edge(context.name, "uses", meaning, node)
                return  # the objects within a used attribute are no further uses
        for child in _read_below(node):
            yield from self._edges_within(child, context)

    def _edge(self, context: Context, relation: str, node: ast.expr) -> Iterator[Edge]:
        """The edge to the meaning of an expression; none if it is unknown."""
        meaning = self._meaning(node, context) or self._guess(node, context)
        if meaning is not None:
            yield Edge(context.name, relation, meaning, node)
        elif relation == "calls" and isinstance(node, ast.Attribute):
            self.notes["calls of methods of unknown objects, left out"] += 1

    def _meaning(self, node: ast.expr, context: Context) -> Meaning | None:
        """The certain meaning of an expression; None if it is unknown or a builtin."""
        if isinstance(node, ast.Name) and node.id not in context.local_names:
            return self._meaning_of_name(node.id)
        if isinstance(node, ast.Attribute):
            return self._meaning_of_attribute(node, context)
        return None

    def _meaning_of_name(self, name: str) -> Meaning | None:
        """The meaning of a name: in the passage, an import of the document, or an outer scope."""
        for definition in self.source.definitions:
            if definition.last == name and not definition.in_class:
                return Meaning(definition.name, CERTAIN)
        if name in self.imports:
            return self.names.meaning_of_import(self.imports[name])
        outer = self.source.outer
        while outer:
            if f"{outer}.{name}" in self.names.definitions:
                return Meaning(f"{outer}.{name}", CERTAIN)
            outer = outer.rpartition(".")[0]
        return None

    def _meaning_of_attribute(
        self, node: ast.Attribute, context: Context
    ) -> Meaning | None:
        """The meaning of an attribute: a method, or a name of a module or class: Circle(3).area."""
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id not in (
            *context.local_names,
            *SELF,
        ):
            imported = self.imports.get(owner.id)
            if imported is not None:
                return self.names.meaning_of_import(f"{imported}.{node.attr}")
        meaning = self._meaning_of_object(owner, context)
        if meaning is None:
            return None
        attribute = f"{meaning.name}.{node.attr}"
        definitions = self.names.definitions
        if meaning.name in definitions and attribute not in definitions:
            return None
        return Meaning(attribute, meaning.confidence)

    def _meaning_of_object(self, node: ast.expr, context: Context) -> Meaning | None:
        """The class of `self` or of a called class; else the meaning of an expression."""
        if isinstance(node, ast.Name) and node.id in SELF and context.in_class:
            return Meaning(context.in_class, CERTAIN)
        if not isinstance(node, ast.Call):
            return self._meaning(node, context)
        meaning = self._meaning(node.func, context)
        definition = self.names.definitions.get(meaning.name) if meaning else None
        return meaning if definition and definition.kind == "class" else None

    def _guess(self, node: ast.expr, context: Context) -> Meaning | None:
        """The meaning of a call or base class by its name only; None if that is ambiguous.

        `np.array()` is not taken for a method `array`: what is neither local nor imported is a
        module as likely as not.
        """
        if isinstance(node, ast.Name):
            if node.id in context.local_names or hasattr(builtins, node.id):
                return None
            return self.names.only_match(node.id, method=False)
        if not isinstance(node, ast.Attribute) or node.attr in BUILTIN:
            return None
        root = _root(node)
        if isinstance(root, ast.Name) and root.id not in context.local_names:
            return None
        return self.names.only_match(node.attr, method=True)


def _read_below(node: ast.AST) -> Iterable[ast.AST]:
    """The parts of a node in which calls and uses are looked for; of a call, not its callee."""
    if not isinstance(node, ast.Call):
        return ast.iter_child_nodes(node)
    owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    return [*owner, *node.args, *node.keywords]


def _root(node: ast.Attribute) -> ast.expr:
    """The object that a chain of attributes, calls and subscripts begins with."""
    root: ast.expr = node.value
    while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
        root = root.func if isinstance(root, ast.Call) else root.value
    return root
