"""RDF (Turtle, N-Triples, N-Quads, TriG, RDF/XML, JSON-LD) -> networkx, by rdflib.

A resource is named by its label in the vocabularies of `LABELS`, else by the last part of its IRI.
Of several labels, one without a language or in English counts; the others are aliases. Ours: a
literal value is no entity, and neither is a blank node without a label.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from kg2rag.extraction.importers.json_graph import NOTES
from kg2rag.text.decoding import decode
from kg2rag.text.records import DataError, parse_json, reading

if TYPE_CHECKING:
    import networkx as nx

FORMATS = {
    ".ttl": "turtle",
    ".n3": "n3",
    ".nt": "nt",
    ".nq": "nquads",
    ".trig": "trig",
    ".rdf": "xml",
    ".owl": "xml",
    ".jsonld": "json-ld",
}
"""Suffix -> the format as rdflib calls it."""
LABELS = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
    "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",
    "http://www.w3.org/2004/02/skos/core#altLabel",
)
"""Predicates whose objects name a resource, the most specific first."""
NAMES = ("label", "prefLabel", "name", "headline")
"""Last parts of the predicates whose objects name a resource without a label of `LABELS`."""
DESCRIPTIONS = ("comment", "definition", "description", "abstract")
"""Last parts of the predicates whose objects describe a resource, the most specific first."""
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LITERALS = "statements with a literal value, left out"
CONTEXTS = "addresses of contexts, not read: terms of JSON-LD are names of relations"
_KEYWORDS = {"id": "@id", "type": "@type"}
"""What the contexts of most vocabularies call the keywords of JSON-LD."""
Statement = tuple[Any, Any, Any]
"""Subject, predicate and object, as terms of rdflib."""
_IRI_PART = re.compile(r"[/#:]")


class Resources(NamedTuple):
    """The statements of a file.

    Attributes
    ----------
    links : subject, predicate and object, none of them a literal, of every statement but of types.
    types : resource -> its first type.
    texts : resource -> predicate -> the literals that name or describe it.
    n_values : statements with other literals.
    """

    links: list[Statement]
    types: dict[Any, Any]
    texts: defaultdict[Any, dict[str, list[Any]]]
    n_values: int

    @classmethod
    def of(cls, statements: Iterable[Statement]) -> Resources:
        """The statements by their kinds."""
        resources = cls([], {}, defaultdict(dict), 0)
        n_values = 0
        for subject, predicate, value in statements:
            if str(predicate) == TYPE:
                known = resources.types.setdefault(subject, value)
                resources.types[subject] = min(value, known)
            elif not hasattr(value, "language"):
                resources.links.append((subject, predicate, value))
            elif _text_predicate(predicate):
                texts = resources.texts[subject]
                texts.setdefault(_text_predicate(predicate), []).append(value)
            else:
                n_values += 1
        return resources._replace(n_values=n_values)

    def names(self, term: Any) -> list[str]:
        """The name of a resource and its aliases; "" for a blank node without a label."""
        labels = _texts(self.texts[term], LABELS) or _texts(self.texts[term], NAMES)[:1]
        if labels or term.n3().startswith("_:"):
            return labels or [""]
        parts = [part for part in _IRI_PART.split(str(term)) if part]
        return [unquote(parts[-1]).replace("_", " ")]

    def attributes(self, term: Any) -> dict[str, object]:
        """The attributes of a node: name, type, description, aliases."""
        name, *aliases = self.names(term)
        return {
            "name": name,
            "type": self.names(self.types[term])[0] if term in self.types else "",
            "description": "".join(_texts(self.texts[term], DESCRIPTIONS)[:1]),
            "aliases": aliases,
        }


def read_rdf(file: Path) -> nx.Graph:
    """The statements between resources as edges, in the order of their names.

    DataError: no RDF of the suffix's format, or no statement between resources. ImportError without
    rdflib.
    """
    import networkx as nx

    notes: Counter[str] = Counter()
    resources = Resources.of(_statements(file, notes))
    if not resources.links:
        raise DataError(f"{file}: RDF without a statement between two resources.")
    notes[LITERALS] = resources.n_values
    graph = nx.MultiDiGraph(**{NOTES: notes})
    links = sorted(
        resources.links, key=lambda link: [resources.names(term) for term in link]
    )
    for term in dict.fromkeys(end for link in links for end in (link[0], link[2])):
        graph.add_node(str(term), **resources.attributes(term))
    for head, relation, tail in links:
        name = resources.names(relation)[0]
        graph.add_edge(str(head), str(tail), relation=name)
    return graph


def is_linked_data(value: Any) -> bool:
    """Whether a JSON value is JSON-LD: an object with a context, or a list of such objects."""
    objects = value if isinstance(value, list) else [value]
    return bool(objects) and all(
        isinstance(member, dict) and "@context" in member for member in objects
    )


def _text_predicate(predicate: Any) -> str:
    """The predicate of a text, as `LABELS`, `NAMES` or `DESCRIPTIONS` have it; "" for others."""
    if str(predicate) in LABELS:
        return str(predicate)
    last = _IRI_PART.split(str(predicate))[-1]
    return last if last in (*NAMES, *DESCRIPTIONS) else ""


def _statements(file: Path, notes: Counter[str]) -> list[Statement]:
    """Subject, predicate and object of every statement of all graphs in a file, each once."""
    try:
        import rdflib
    except ModuleNotFoundError:
        raise ImportError(
            f"{file}: RDF is read by rdflib: pip install 'kg2rag[rdf]'."
        ) from None
    text = decode(file.read_bytes(), file)
    form = FORMATS.get(file.suffix.lower(), "json-ld")
    if form == "json-ld":
        text = json.dumps(_with_contexts(parse_json(text, file), notes))
    dataset = rdflib.Dataset(default_union=True)
    advice = f"Is it {form}?"
    with reading(file, advice), warnings.catch_warnings():
        # of rdflib about itself
        warnings.simplefilter("ignore", DeprecationWarning)
        dataset.parse(data=text, format=form)
        return list(dict.fromkeys(dataset.triples((None, None, None))))


def _with_contexts(value: Any, notes: Counter[str]) -> Any:
    """A value of JSON-LD; a context that is an address, which is not read, becomes the prefix of all terms."""
    if isinstance(value, list):
        return [_with_contexts(member, notes) for member in value]
    if not isinstance(value, dict):
        return value
    members = {name: _with_contexts(member, notes) for name, member in value.items()}
    if "@context" in members:
        members["@context"] = _context(members["@context"], notes)
    return members


def _context(value: Any, notes: Counter[str]) -> Any:
    """A context of JSON-LD with its first address as the prefix of all terms, and without the others."""
    contexts = value if isinstance(value, list) else [value]
    addresses = [context for context in contexts if isinstance(context, str)]
    notes[CONTEXTS] += len(addresses)
    if not addresses:
        return value
    vocabulary = {"@vocab": f"{addresses[0].rstrip('/#')}/", **_KEYWORDS}
    return [vocabulary, *(context for context in contexts if context not in addresses)]


def _texts(literals: dict[str, list[Any]], predicates: tuple[str, ...]) -> list[str]:
    """The distinct texts of some predicates, in the order of the predicates and of `_language_order`."""
    texts = [
        str(literal)
        for predicate in predicates
        for literal in sorted(literals.get(predicate, ()), key=_language_order)
        if str(literal).strip()
    ]
    return list(dict.fromkeys(texts))


def _language_order(literal: Any) -> tuple[bool, str, str]:
    """The sort key of a literal: those without a language or in English come first."""
    language = literal.language or ""
    return not (language == "" or language.startswith("en")), language, str(literal)
