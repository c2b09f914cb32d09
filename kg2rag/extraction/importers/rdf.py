"""RDF (Turtle, N-Triples, N-Quads, TriG, RDF/XML, JSON-LD) -> networkx, by rdflib.

A resource is named by its label in the vocabularies of `LABELS`, else by the last part of its IRI.
Of several labels, one without a language or in English counts; the others are aliases. Ours: a
literal value is no entity, and neither is a blank node without a label.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kg2rag.extraction.importers.json_graph import NOTES
from kg2rag.text.records import DataError, decode, reading

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
DESCRIPTIONS = (
    "http://www.w3.org/2000/01/rdf-schema#comment",
    "http://www.w3.org/2004/02/skos/core#definition",
    "http://schema.org/description",
    "https://schema.org/description",
    "http://purl.org/dc/terms/description",
)
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LITERALS = "statements with a literal value, left out"
_REMOTE_CONTEXT = re.compile(r'"@context"\s*:\s*(?:\[\s*)?"\w+:')
_IRI_PART = re.compile(r"[/#:]")


def read_rdf(file: Path) -> nx.Graph:
    """The statements between resources as edges, in the order of their names.

    DataError: no RDF of the suffix's format, no statement between resources, or JSON-LD whose
    context is an address, since no address is read. ImportError without rdflib.
    """
    import networkx as nx

    literals: defaultdict[Any, dict[str, list[Any]]] = defaultdict(dict)
    links: list[tuple[Any, Any, Any]] = []
    types: dict[Any, Any] = {}
    notes: Counter[str] = Counter()
    for subject, predicate, value in _statements(file):
        if str(predicate) == TYPE:
            types[subject] = min(value, types.get(subject, value))
        elif not hasattr(value, "language"):
            links.append((subject, predicate, value))
        elif str(predicate) in (*LABELS, *DESCRIPTIONS):
            literals[subject].setdefault(str(predicate), []).append(value)
        else:
            notes[LITERALS] += 1
    if not links:
        raise DataError(f"{file}: RDF without a statement between two resources.")
    graph = nx.MultiDiGraph(**{NOTES: notes})
    ends = {end for subject, _, value in links for end in (subject, value)}
    names = {term: _names(term, literals[term]) for term in (*ends, *types.values())}
    for term in sorted(ends, key=lambda end: (names[end], str(end))):
        name, *aliases = names[term]
        description = _texts(literals[term], DESCRIPTIONS)[:1]
        type_ = names[types[term]][0] if term in types else ""
        graph.add_node(str(term), name=name, type=type_, aliases=aliases)
        graph.nodes[str(term)]["description"] = "".join(description)
    relations = [_names(relation, literals[relation])[0] for _, relation, _ in links]
    edges = zip(links, relations, strict=True)
    for (head, _, tail), relation in sorted(
        edges, key=lambda edge: (names[edge[0][0]], edge[1], names[edge[0][2]])
    ):
        graph.add_edge(str(head), str(tail), relation=relation)
    return graph


def _statements(file: Path) -> list[tuple[Any, Any, Any]]:
    """Subject, predicate and object of every statement of all graphs in a file, each once."""
    try:
        import rdflib
    except ModuleNotFoundError:
        raise ImportError(
            f"{file}: RDF is read by rdflib: pip install 'kg2rag[rdf]'."
        ) from None
    text = decode(file.read_bytes(), file)
    if file.suffix.lower() == ".jsonld" and _REMOTE_CONTEXT.search(text):
        raise DataError(
            f"{file}: its @context is an address, which is not read. Write the context into the file, or expand it."
        )
    dataset = rdflib.Dataset(default_union=True)
    advice = f"Is it {FORMATS[file.suffix.lower()]}?"
    with reading(file, advice), warnings.catch_warnings():
        # of rdflib about itself
        warnings.simplefilter("ignore", DeprecationWarning)
        dataset.parse(data=text, format=FORMATS[file.suffix.lower()])
        return list(dict.fromkeys(dataset.triples((None, None, None))))


def _names(term: Any, literals: dict[str, list[Any]]) -> list[str]:
    """The name of a resource and its aliases; "" for a blank node without a label."""
    labels = _texts(literals, LABELS)
    if labels:
        return labels
    if hasattr(term, "n3") and term.n3().startswith("_:"):
        return [""]
    parts = [part for part in _IRI_PART.split(str(term)) if part]
    return [unquote(parts[-1]).replace("_", " ")]


def _texts(literals: dict[str, list[Any]], predicates: tuple[str, ...]) -> list[str]:
    """The values of some predicates, each once; of each predicate, those without a language or in English first."""
    texts = [
        str(literal)
        for predicate in predicates
        for literal in sorted(literals.get(predicate, ()), key=_language_order)
        if str(literal).strip()
    ]
    return list(dict.fromkeys(texts))


def _language_order(literal: Any) -> tuple[bool, str, str]:
    language = literal.language or ""
    return not (language == "" or language.startswith("en")), language, str(literal)
