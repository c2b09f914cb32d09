"""`Mentions`: the mention table of a corpus as an extractor, the default graph source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.mentions.aliases import VERSION as ALIASES
from kg2rag.extraction.mentions.aliases import find_aliases
from kg2rag.extraction.mentions.table import VERSION, MentionTable
from kg2rag.types import Corpus, Triple


@dataclass(frozen=True)
class Mentions:
    """The mention table as an extractor: a passage's title -[mentions]-> what its text names.

    The strength of such a triple falls with the number of passages that name its tail: 10 · ln(1 + N/df) / ln(1 + N).

    Parameters
    ----------
    aliases : read the texts for other names of the same things ("X (ABC)", "X, also known as Y"), count those as
        mentions of X, and leave out what is a date or a number (see `aliases.py`). False gives the
        table as `mention_ppr` walks it.
    """

    aliases: bool = True

    @property
    def fingerprint(self) -> str:
        """The version of the rules."""
        return f"mentions-{VERSION}" + (f", aliases-{ALIASES}" if self.aliases else "")

    def extract(self, corpus: Corpus) -> Extraction:
        """Triples between titles and names; mentions of every key; passages without a title give mentions alone.

        `notes` counts what the aliases joined and left out.
        """
        # Compiled, and not needed where a graph is read from the store.
        from kg2rag.extraction.mentions.finding import find_mentions

        table, titles = find_mentions(corpus), corpus.titles
        others: dict[str, tuple[str, ...]] = {}
        notes: dict[str, int] = {}
        if self.aliases:
            table, others, notes = find_aliases(corpus, table)
        display = table.written(titles)
        strength = [10 * log(1 + len(corpus) / max(df, 1)) / log(1 + len(corpus)) for df in table.document_frequency]
        triples: dict[Triple, None] = {}
        mentions = [Mention(title, corpus.ids[row]) for row, title in enumerate(titles) if title]
        for key, row, sentence in zip(table.key.tolist(), table.row.tolist(), table.sentence.tolist(), strict=True):
            for name in display[key]:
                mentions.append(Mention(name, corpus.ids[row], sentence))
                if titles[row]:
                    triples[Triple(titles[row], "mentions", name, corpus.ids[row], round(strength[key], 3))] = None
        return Extraction(tuple(triples), tuple(mentions), tuple(_entities(table, display, others)), notes)


def _entities(
    table: MentionTable, display: Sequence[Sequence[str]], others: Mapping[str, tuple[str, ...]]
) -> Iterator[Entity]:
    """Titles, with and without their brackets, then names; a name that became an alias has no record."""
    aliases: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for key, names in enumerate(display[: table.n_titles]):
        for name in names:
            if table.names[key] != name:
                aliases[name][table.names[key]] = None
            else:
                aliases[name].update({})
    for name, known in aliases.items():
        yield Entity(name, "title", aliases=tuple(dict.fromkeys((*known, *others.get(name, ())))))
    for name, frequency in zip(table.names[table.n_titles :], table.document_frequency[table.n_titles :], strict=True):
        if frequency:
            yield Entity(name, "name", aliases=others.get(name, ()))
