"""Names of documents that a corpus has only within other ids -> their passages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from kg2rag.types.corpus import Corpus

_PART = re.compile(r"[\W_]+(?:[^\W\d_]+[\W_]*)?\d+$")
"""The part of an id of a passage that numbers it in its document: "-3", "#2", "_chunk_0", ":p7"."""
_ADDRESS = re.compile(r"\w+://\S+$")


def passages_by_beginning(corpus: Corpus) -> Mapping[str, list[str]]:
    """Beginning of ids -> the ids of the passages with it and a number, in the order of the corpus.

    Passages whose documents have other ids are left out.
    """
    passages = defaultdict[str, list[str]](list)
    for id_, document in zip(corpus.ids, corpus.doc_ids, strict=True):
        part = _PART.search(id_)
        if part and part.start() and document == id_:
            passages[id_[: part.start()]].append(id_)
    return passages


def documents_by_record(documents: Iterable[str]) -> Mapping[str, list[str]]:
    """Id of a record in its file, such as a DOCNO -> the documents `file#id`."""
    named = defaultdict[str, list[str]](list)
    for document in documents:
        _, mark, record = document.partition("#")
        if mark:
            named[record].append(document)
    return named


def first_passages(corpus: Corpus) -> Mapping[str, str]:
    """Name of a document -> its first passage, for ids, ids of records, beginnings of ids, and addresses.

    A name of several documents is left out. Addresses are those in the metadata of passages.
    """
    first: dict[str, str] = {}
    for id_, document in zip(corpus.ids, corpus.doc_ids, strict=True):
        first.setdefault(document, id_)
    records = {
        record: first[documents[0]]
        for record, documents in documents_by_record(first).items()
        if len(documents) == 1
    }
    beginnings = {name: ids[0] for name, ids in passages_by_beginning(corpus).items()}
    return {**_passages_by_address(corpus), **beginnings, **records, **first}


def _passages_by_address(corpus: Corpus) -> Mapping[str, str]:
    """Address in the metadata of one document only -> its first passage."""
    documents = defaultdict[str, dict[str, str]](dict)
    for passage in corpus:
        for value in passage.metadata.values():
            if isinstance(value, str) and _ADDRESS.match(value):
                documents[value].setdefault(passage.doc_id, passage.id)
    return {
        address: next(iter(passages.values()))
        for address, passages in documents.items()
        if len(passages) == 1
    }
