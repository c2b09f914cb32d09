"""Passages of Python -> what defines, imports, calls, uses and inherits from what, by the standard library's `ast`.

So that "callers of X", "what uses X" and the blast radius of X have edges. Every triple is stated by the passage that
has the code, and described by the line. A passage is a file or a part of one: a function, a class, a method with the
indentation that it has in its class. Its title, where it is a dotted name, is the module or class that it is part of.
Passages of one document share its imports.

What a name means is decided in this order: what is local to the function; what the passage defines; what its document
imports; what its module or class defines; the only thing in the corpus with that name. No types are inferred: of
`x.save()` only the name `save` is known, and it means the only method of that name, unless strings, lists and the like
have one. Calls of builtins make no triple. Calls whose callee the code does not tell make none either, and are counted.
"""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
import warnings
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.types import Corpus, Triple

STRENGTHS: Mapping[str, float] = {"inherits from": 9.0, "calls": 8.0, "defines": 6.0, "uses": 5.0, "imports": 4.0}
"""Ours: how far a change of the tail concerns the head, but for "defines", which joins a part to its whole."""
SURE, ALONE, UNTYPED = 1.0, 0.7, 0.5
"""Confidence in what the code says; in the only definition of a name; in the only method of a name, of any object."""
BUILTIN = frozenset[str]().union(*map(dir, (str, bytes, list, dict, set, tuple, int, float, BytesIO, TextIOWrapper)))
"""Names of methods that say nothing of the object."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | ast.ClassDef
Meaning = tuple[str, float]
"""A definition's name, or another package's, and the confidence."""
Edge = tuple[str, str, Meaning, ast.AST]
"""Head, relation, tail, and the place in the code that states it."""
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class PythonCode:
    """The graph of a corpus of Python sources: functions, methods and classes, and how they depend on each other.

    Entities go by their qualified names, such as `kg2rag.types.passages.Triple` where a passage's title is its module,
    and by the ends of these as aliases (`Triple`). Definitions of one name in passages without a title are one.
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
        sources: dict[int, _Source] = {}
        imports: defaultdict[str, dict[str, str]] = defaultdict(dict)
        documents = corpus.table["doc_id"].to_pylist()
        for row, (title, text) in enumerate(zip(corpus.titles, corpus.table["text"].to_pylist(), strict=True)):
            try:
                sources[row] = _Source(title.strip(), textwrap.dedent(text.expandtabs()))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                notes["passages that are no Python 3"] += 1
                continue
            imports[documents[row]] |= sources[row].imports
        names = _Names(one for source in sources.values() for one in source.definitions)
        triples: dict[tuple[str, str, str, str], Triple] = {}
        mentions: list[Mention] = []
        for row, source in sources.items():
            passage = corpus.ids[row]
            mentions += (Mention(one.name, passage) for one in source.definitions)
            reader = _Reader(source, imports[documents[row]], names, notes)
            for head, relation, (tail, confidence), node in reader.edges():
                key = head, relation, tail, passage
                if head != tail and key not in triples:
                    line = source.lines[getattr(node, "lineno", 1) - 1].strip()
                    triples[key] = Triple(*key, STRENGTHS[relation], confidence, line)
        entities = []
        for name, one in names.known.items():
            parts = name.split(".")
            ends = tuple(".".join(parts[-length:]) for length in (1, 2) if length < len(parts))
            entities.append(Entity(name, one.kind, (ast.get_docstring(one.node) or "").partition("\n")[0], ends))
        return Extraction(tuple(triples.values()), tuple(mentions), tuple(entities), notes)


@dataclass(frozen=True)
class _Definition:
    """A function, method or class of a qualified name, defined in `owner`; `in_class` is a method's class."""

    name: str
    kind: str
    owner: str
    node: Scope
    in_class: str = ""

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def is_method(self) -> bool:
        """Whether it is in a class, or its first parameter says that it was."""
        if self.in_class or isinstance(self.node, ast.ClassDef):
            return bool(self.in_class)
        return [one.arg for one in self.node.args.args[:1]] in (["self"], ["cls"])

    @property
    def hidden(self) -> frozenset[str]:
        """Parameters of a function and what it binds, which hide what is defined elsewhere."""
        if isinstance(self.node, ast.ClassDef):
            return frozenset()
        names = (node for node in ast.walk(self.node) if isinstance(node, ast.Name))
        given = (node for node in ast.iter_child_nodes(self.node.args) if isinstance(node, ast.arg))
        return frozenset(one.id for one in names if isinstance(one.ctx, ast.Store)).union(one.arg for one in given)


class _Source:
    """A passage that is Python; else a SyntaxError or one that `ast` has with it.

    `outer` is the dotted name in its title, or ""; `imports` maps a name to the dotted name that it stands for.
    """

    def __init__(self, title: str, text: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a string that is not raw
            self.tree = ast.parse(text)
        self.outer = title if _DOTTED.fullmatch(title) else ""
        self.lines = text.splitlines() or [""]
        self.definitions = list(_definitions(self.tree, self.outer, ""))
        self.imported = list(_imports(self.tree, self.outer))
        self.imports = {name: meant for _, name, meant, _ in self.imported}


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The statements right below a node, and what holds further ones; expressions, which hold none, are passed over."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child


def _definitions(node: ast.AST, owner: str, in_class: str) -> Iterator[_Definition]:
    for child in _parts(node):
        if not isinstance(child, Scope):
            yield from _definitions(child, owner, in_class)
            continue
        name, is_class = f"{owner}.{child.name}" if owner else child.name, isinstance(child, ast.ClassDef)
        kind = "class" if is_class else "method" if in_class else "function"
        yield _Definition(name, kind, owner, child, "" if is_class else in_class)
        yield from _definitions(child, name, name if is_class else "")


def _imports(node: ast.AST, outer: str) -> Iterator[tuple[ast.AST, str, str, str]]:
    """Every import below a node: its statement, the name that it binds, what that stands for, and what is imported.

    The last is "" for a name from a module, which is imported as what it stands for at the end of the passage.
    """
    for child in _parts(node):
        if isinstance(child, ast.Import):
            for one in child.names:
                first = one.name.partition(".")[0]
                yield child, one.asname or first, one.name if one.asname else first, one.name
        elif isinstance(child, ast.ImportFrom):
            package = outer.split(".")[: -child.level] if child.level and outer else []
            for one in child.names:
                if one.name != "*":
                    meant = ".".join(filter(None, (*package, child.module, one.name)))
                    yield child, one.asname or one.name, meant, ""
        yield from _imports(child, outer)


class _Names:
    def __init__(self, definitions: Iterable[_Definition]) -> None:
        self.known: dict[str, _Definition] = {}
        self.by_last: defaultdict[str, list[str]] = defaultdict(list)
        self.times: Counter[str] = Counter()
        for definition in definitions:
            self.times[definition.name] += 1
            if definition.name not in self.known:
                self.known[definition.name] = definition
                self.by_last[definition.last].append(definition.name)

    def imported(self, dotted: str) -> Meaning:
        """What a dotted name of an import means: ours where the corpus defines it, under its full name or its end."""
        package, last = dotted.partition(".")[0], dotted.rpartition(".")[2]
        # A name that a package passes on from one of its modules: kg2rag.types.Triple is kg2rag.types.passages.Triple.
        same = [name for name in self.by_last.get(last, ()) if name.partition(".")[0] == package]
        return (same[0] if dotted not in self.known and len(same) == 1 else dotted), SURE

    def only_match(self, last: str, *, method: bool) -> Meaning | None:
        """The only method, or else function or class, of that last name; None where there is none, or several."""
        found = [name for name in self.by_last.get(last, ()) if self.known[name].is_method == method]
        return (found[0], UNTYPED if method else ALONE) if sum(self.times[name] for name in found) == 1 else None


@dataclass(frozen=True)
class _Reader:
    """Reads the edges of one passage; `imports` are those of its whole document."""

    source: _Source
    imports: Mapping[str, str]
    names: _Names
    notes: Counter[str]

    def edges(self) -> Iterator[Edge]:
        source = self.source
        outer = [source.outer] if source.outer else [one.name for one in source.definitions if not one.owner]
        for node, name, _, dotted in source.imported if outer else ():
            yield outer[0], "imports", self.names.imported(dotted or source.imports[name]), node
        for definition in source.definitions:
            node = definition.node
            if definition.owner:
                yield definition.owner, "defines", (definition.name, SURE), node
            # Calls and uses in its body, not in the definitions within it.
            parts: list[ast.AST] = [*node.decorator_list, *node.body]
            if isinstance(node, ast.ClassDef):
                parts += node.keywords
                for base in node.bases:
                    yield from self._edge(definition, "inherits from", base, frozenset())
            else:
                parts += [node.args, *([node.returns] if node.returns else [])]
            hidden = definition.hidden
            for part in parts:
                yield from self._within(part, definition, hidden)
        module = ast.ClassDef(name="", bases=[], keywords=[], body=[], decorator_list=[])
        for statement in source.tree.body if outer else ():
            yield from self._within(statement, _Definition(outer[0], "module", "", module), frozenset())

    def _within(self, node: ast.AST, scope: _Definition, hidden: Collection[str]) -> Iterator[Edge]:
        """Calls and uses in a part of a definition, in which these names are local."""
        children: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, Scope | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.Call):
            yield from self._edge(scope, "calls", node.func, hidden)
            inner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            children = [*inner, *node.args, *node.keywords]
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            found = self._meaning(node, scope, hidden)
            if found is not None and found[0] in self.names.known:
                yield scope.name, "uses", found, node
                return
        for child in children:
            yield from self._within(child, scope, hidden)

    def _edge(self, scope: _Definition, relation: str, node: ast.expr, hidden: Collection[str]) -> Iterator[Edge]:
        found = self._meaning(node, scope, hidden) or self._guess(node, hidden)
        if found is not None:
            yield scope.name, relation, found, node
        elif relation == "calls" and isinstance(node, ast.Attribute):
            self.notes["calls of methods of unknown objects, left out"] += 1

    def _meaning(self, node: ast.expr, scope: _Definition, hidden: Collection[str]) -> Meaning | None:
        """What an expression surely names; None where the code does not say, or it is a builtin."""
        known = self.names.known
        if isinstance(node, ast.Name) and node.id not in hidden:
            own = next((one.name for one in self.source.definitions if one.last == node.id and not one.in_class), "")
            if not own and node.id in self.imports:
                return self.names.imported(self.imports[node.id])
            outer = self.source.outer
            while not own and outer:
                own, outer = f"{outer}.{node.id}" if f"{outer}.{node.id}" in known else "", outer.rpartition(".")[0]
            return (own, SURE) if own else None
        if not isinstance(node, ast.Attribute):
            return None
        owner, attribute = node.value, node.attr
        if isinstance(owner, ast.Name) and owner.id in ("self", "cls") and scope.in_class:
            own = f"{scope.in_class}.{attribute}"
            return (own, SURE) if own in known else None
        if isinstance(owner, ast.Name) and owner.id not in hidden and owner.id in self.imports:
            return self.names.imported(f"{self.imports[owner.id]}.{attribute}")
        made = isinstance(owner, ast.Call)  # Circle(3).area is Circle.area
        found = self._meaning(owner.func if isinstance(owner, ast.Call) else owner, scope, hidden)
        if found is None or (made and (found[0] not in known or known[found[0]].kind != "class")):
            return None
        inner = f"{found[0]}.{attribute}"
        return (inner, found[1]) if inner in known or found[0] not in known else None

    def _guess(self, node: ast.expr, hidden: Collection[str]) -> Meaning | None:
        """The meaning of a call or a base class by its name only; None where several, or nothing, have that name.

        `np.array()` is not taken for a method `array`: what is neither local nor imported is a module as likely as not.
        """
        if isinstance(node, ast.Name):
            builtin = node.id in hidden or hasattr(builtins, node.id)
            return None if builtin else self.names.only_match(node.id, method=False)
        if not isinstance(node, ast.Attribute) or node.attr in BUILTIN:
            return None
        root: ast.expr = node.value
        while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
            root = root.func if isinstance(root, ast.Call) else root.value
        unknown = isinstance(root, ast.Name) and root.id not in hidden
        return None if unknown else self.names.only_match(node.attr, method=True)
