"""Hyperlinks and references between documents -> triples, without a model.

`from_folder` keeps the links of a passage in its metadata: [[words, id of the passage that it leads
to], …], for hyperlinks, [[wiki links]], their aliases and references. Other corpora may have the
same. Ours: a link to a passage is a fact between the titles of both, and its words are a name of
the title if they lead to no other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.text.normalisation import entity_key, is_date_or_number
from kg2rag.text.records import DataError, quote
from kg2rag.types import Corpus, Triple

RELATION = "links to"


class Link(NamedTuple):
    """A link: the row of its passage, its words, and the row of its target."""

    row: int
    words: str
    target: int


def links_of(corpus: Corpus) -> Iterator[Link]:
    """The links of a corpus, passage by passage; none if no metadata has `links`.

    DataError: a link is no pair of texts, or leads to a passage that the corpus lacks.
    """
    if "metadata" not in corpus.table.column_names:
        return
    metadata = corpus.table["metadata"]
    has_links = pc.fill_null(pc.match_substring(metadata, '"links"'), False)
    for row in np.flatnonzero(has_links.to_numpy(zero_copy_only=False)).tolist():
        for link in json.loads(metadata[row].as_py()).get("links") or ():
            words, target = _words_and_target(link, corpus, row)
            yield Link(row, words, corpus.row(target))


def _words_and_target(link: Any, corpus: Corpus, row: int) -> tuple[str, str]:
    """The words of a link in the metadata, and the id of its target; DataError if it is invalid."""
    where = f"passage {corpus.ids[row]!r}: the link {quote(link)}"
    if (
        not isinstance(link, list)
        or len(link) != 2
        or not all(isinstance(part, str) for part in link)
    ):
        raise DataError(f"{where} is no pair of its words and the id of a passage.")
    words, target = link
    if target not in corpus:
        raise DataError(
            f"{where} leads to {target!r}, which is no passage of the corpus."
        )
    return words, target


@dataclass(frozen=True)
class Links:
    """The links between the passages of a corpus as a graph.

    The strength of a link falls with the number n of passages that link to its title: 10 · ln(1 +
    N/n) / ln(1 + N), of N passages.
    """

    @property
    def fingerprint(self) -> str:
        """The version of the rules."""
        return "links"

    def extract(self, corpus: Corpus) -> Extraction:
        """A triple for each link from a title to another, and a mention of each passage's title.

        A passage without a title has the id of its document as title. `notes` counts the links, the
        omitted links within a title, and the passages without a link. DataError: a link is
        malformed.
        """
        titles = [
            title or doc_id
            for title, doc_id in zip(corpus.titles, corpus.doc_ids, strict=True)
        ]
        notes: Counter[str] = Counter()
        stated: dict[tuple[int, str], None] = {}
        names: dict[str, set[str]] = {}
        for link in links_of(corpus):
            notes["links read"] += 1
            target = titles[link.target]
            if entity_key(target) == entity_key(titles[link.row]):
                notes["links within a title, left out"] += 1
                continue
            stated[link.row, target] = None
            names.setdefault(link.words.strip(), set()).add(target)
        notes["passages without a link"] = len(corpus) - len({row for row, _ in stated})
        strengths = strengths_of([target for _, target in stated], len(corpus))
        triples = [
            Triple(titles[row], RELATION, target, corpus.ids[row], strengths[target])
            for row, target in stated
        ]
        return Extraction(
            tuple(triples),
            tuple(map(Mention, titles, corpus.ids)),
            tuple(_entities(titles, names)),
            notes,
        )


def strengths_of(targets: Iterable[str], n_passages: int) -> dict[str, float]:
    """The strength of the links to each target, to three decimals; see `Links`.

    >>> strengths_of(["Ada", "Ada", "Bob"], 3)
    {'Ada': 6.61, 'Bob': 10.0}
    """
    strengths = {}
    for target, count in Counter(targets).items():
        share = log(1 + n_passages / count) / log(1 + n_passages)
        strengths[target] = round(10 * share, 3)
    return strengths


def _entities(titles: list[str], names: dict[str, set[str]]) -> Iterator[Entity]:
    """The entity records of the titles, with the words of links to them as aliases.

    A number, a title, or words of links to several titles are no alias.
    """
    title_keys = {entity_key(title) for title in titles}
    aliases: dict[str, list[str]] = {}
    for words, targets in names.items():
        key = entity_key(words)
        is_name = len(key) > 1 and key not in title_keys and not is_date_or_number(key)
        if is_name and len(targets) == 1:
            aliases.setdefault(next(iter(targets)), []).append(words)
    for title in dict.fromkeys(titles):
        yield Entity(title, "title", aliases=tuple(aliases.get(title, ())))
