"""Records in XML, such as notes and posts: the fields with their texts, and their metadata.

A field of texts is one that has marks of HTML in some record of the file. Any other field without a
sentence is metadata, as dates, ids, addresses and states are.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import Any

from kg2rag.datasets.documents.archives import local_name
from kg2rag.datasets.documents.records.json_values import SENTENCE_WORDS

_HTML = re.compile(
    r"</?(?:p|div|br|span|h[1-6]|ul|ol|li|a|b|i|em|strong|img|table|pre|blockquote|en-note)\b[^<>]*>"
)
HEADING_NAME = re.compile(r"(?i)\w*title|head|heading|headline")
_OBJECT = re.compile(r"\s*(?:\{.*\}|<\?xml\b.*)\s*", re.DOTALL)
# Marks of WordPress: one with a value or an address, the end of one, and those of page builders.
_SHORTCODE = re.compile(
    r"\[[a-z][\w-]*(?:\s+[\w-]+=(?:\"[^\"\]]*\"|'[^'\]]*'|[^\s\]]*))+\s*/?\]|\[/[a-z][\w-]*\]|"
    r"\[[a-z][\w-]*\s+https?://[^\s\[\]]+\s*\]|\[(?:vc|et_pb|fusion|av|elementor|cs)_[a-z_]+\]"
)
Metadata = dict[str, list[str]]
"""The name of a field -> its values in a record."""


def fields_of_texts(records: Iterable[Any]) -> frozenset[str]:
    """The names of the fields that have marks of HTML in a record."""
    leaves = (leaf for record in records for leaf in _leaves(record))
    return frozenset(local_name(leaf) for leaf in leaves if _HTML.search(leaf.text))


def take_metadata(record: Any, fields: Container[str]) -> tuple[Metadata, list[str]]:
    """Take what is no text from a record: its own metadata, and all that was taken.

    fields : the names of the fields with texts.
    """
    metadata: Metadata = {}
    texts = list[str]()
    for leaf in list(_leaves(record)):
        text = leaf.text
        if not _is_text(leaf, fields):
            texts.append(text)
            leaf.text = None
            if leaf.getparent() is record and not _OBJECT.fullmatch(text):
                metadata.setdefault(local_name(leaf), []).append(text.strip())
        elif _HTML.search(text):
            texts += _SHORTCODE.findall(text)
            leaf.text = _SHORTCODE.sub(" ", text)
    for element in record.iterdescendants():
        if not len(element) and not (element.text or "").strip():
            texts += element.attrib.values()
            element.attrib.clear()
    return metadata, texts


def _leaves(record: Any) -> Iterator[Any]:
    """The elements below a record that have a text and no elements; not those of XHTML."""
    for element in record.iterdescendants():
        is_xhtml = isinstance(element.tag, str) and "xhtml" in element.tag
        has_text = bool(element.text and element.text.strip())
        if local_name(element) and has_text and not len(element) and not is_xhtml:
            yield element


def _is_text(leaf: Any, fields: Container[str]) -> bool:
    """Whether an element has a title or a text: a field of texts or a sentence."""
    if _OBJECT.fullmatch(leaf.text) and not _HTML.search(leaf.text):
        return False
    name = local_name(leaf)
    n_words = sum(map(str.isalpha, leaf.text.split()))
    return (
        name in fields
        or n_words >= SENTENCE_WORDS
        or HEADING_NAME.fullmatch(name) is not None
    )
