"""`Mentions`: the mention table of a corpus as an extractor, the default graph source.

Three statements of another name in encyclopaedic prose are read, and joined to the table's keys:
an acronym in brackets next to its expansion ("European Union (EU)", either way
round), whose letters must be the initials; "also known as Y" (called, abbreviated as) in a page's
first sentence before its verb; and the name that this sentence opens with, if it shares a word
with the title ("Publix Super Markets, Inc., …"). An alias counts only if the whole corpus gives
it one meaning and no page has it as its title.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.mentions.table import MentionTable, numbered_sentences
from kg2rag.text.normalisation import (
    FUNCTION_WORDS,
    NAME,
    JoinedTexts,
    Lexicon,
    is_date_or_number,
    normalise,
)
from kg2rag.types import Corpus, Triple

_ACRONYM = r"(?:[A-Z]\.?){2,7}s?"
_LONG_SHORT = re.compile(rf"\(\s*({_ACRONYM})\s*[),;]")
_SHORT_LONG = re.compile(rf"\b({_ACRONYM})\s+\(([^()]+)\)")
_VERB = re.compile(r"\b(?:is|was|are|were|refers|stands)\b")
_KNOWN_AS = re.compile(
    r"\b(?:known(?:\s+\w+ly)?\s+(?:as|by)|called|abbreviated(?:\s+(?:as|to))?|referred\s+to\s+as|nicknamed|aka)"
    r"\s+(?:the\s+)?[\"“'‘`]{0,2}"
)
# The text after a whole name, which is not part of a longer one.
_WHOLE = re.compile(r"['’\"”`]*\s*(?:[,;()]|$|or\b)")
# The text after a whole name that may be in a list of names.
_IN_LIST = re.compile(r"['’\"”`]*\s*(?:[,;()]|$|(?:or|and|in|by)\b)")
_ARTICLES = frozenset({"the", "a", "an"})
ACRONYM, NAME_OF_PAGE = range(2)
_LONGEST_EXPANSION = 12  # words before a bracket that may be the acronym's


class Statement(NamedTuple):
    """A statement that `alias` is another name of `name`.

    `kind` is ACRONYM, matched letter by letter, with case, or NAME_OF_PAGE, which is no alias if
    several passages share the name ("San Juan", "Clock Tower").
    """

    name: str
    alias: str
    kind: int


class Meaning(NamedTuple):
    """The key that an alias stands for, and the first statement of it."""

    code: int
    statement: Statement


Meanings = dict[str, Meaning]
"""Key of an alias -> its meaning."""


def find_aliases(
    corpus: Corpus, table: MentionTable
) -> tuple[MentionTable, dict[str, tuple[str, ...]], dict[str, int]]:
    """Join the names that the corpus states to be of one thing.

    Mentions of an alias become mentions of its meaning, those of a shared name that is an acronym,
    too. Mentions of titles that are dates or numbers ("1984") are left out, since such hubs join
    unrelated passages.

    Returns
    -------
    table : the table, in which a name that became an alias keeps its key without mentions.
    aliases : name of an entity -> its other names, in order of appearance.
    notes : the numbers of joined and omitted items, by cause.
    """
    code_of = {key: code for code, key in enumerate(table.keys)}
    notes: Counter[str] = Counter()
    meanings = _unambiguous_meanings(corpus, table, code_of, notes)
    is_date = np.array([is_date_or_number(key) for key in table.keys], dtype=bool)[
        table.key
    ]
    notes["mentions of dates and numbers left out"] = int(is_date.sum())
    target_of = np.arange(len(table.keys), dtype=np.int32)
    for key, meaning in meanings.items():
        if key in code_of:
            target_of[code_of[key]] = meaning.code
    notes["names joined to what they stand for"] = int(
        np.count_nonzero(target_of != np.arange(len(target_of)))
    )
    by_name = np.stack([table.row, table.sentence, target_of[table.key]], axis=1)
    by_name = by_name[~is_date]
    by_alias = np.array(
        list(_alias_occurrences(corpus, table, meanings)), dtype=np.int32
    ).reshape(-1, 3)
    notes["mentions by an alias"] = len(by_alias)
    mentions = np.unique(np.concatenate([by_name, by_alias]), axis=0)
    # A page does not mention its own title.
    pages = table.page_row.astype(np.int64) * len(table.keys) + table.page_key
    row_and_key = mentions[:, 0].astype(np.int64) * len(table.keys) + mentions[:, 2]
    row, sentence, key = mentions[~np.isin(row_and_key, pages)].T
    joined_table = replace(table, row=row, sentence=sentence, key=key)
    return (
        joined_table,
        _aliases_by_name(table.entity_names(corpus.titles), meanings),
        notes,
    )


def _aliases_by_name(
    entity_names: Sequence[Sequence[str]], meanings: Meanings
) -> dict[str, tuple[str, ...]]:
    """Name of an entity -> its other names."""
    aliases: dict[str, tuple[str, ...]] = {}
    for meaning in meanings.values():
        for name in entity_names[meaning.code]:
            aliases[name] = (*aliases.get(name, ()), meaning.statement.alias)
    return aliases


def _unambiguous_meanings(
    corpus: Corpus, table: MentionTable, code_of: Mapping[str, int], notes: Counter[str]
) -> Meanings:
    """The meanings of the aliases that have only one; an alias of another alias is left out."""
    meanings: Meanings = {}
    for alias, statements in _statements_by_alias(
        corpus, table, code_of, notes
    ).items():
        meaning = Meaning(*next(iter(statements.items())))
        code = code_of.get(alias)
        is_title = code is not None and code < table.n_titles
        if len(statements) > 1:
            notes["aliases with several meanings left out"] += 1
        elif is_title or (code is not None and meaning.statement.kind == NAME_OF_PAGE):
            notes["aliases that are titles or shared names left out"] += 1
        else:
            meanings[alias] = meaning
    return {
        alias: meaning
        for alias, meaning in meanings.items()
        if table.keys[meaning.code] not in meanings
    }


def _statements_by_alias(
    corpus: Corpus, table: MentionTable, code_of: Mapping[str, int], notes: Counter[str]
) -> dict[str, dict[int, Statement]]:
    """Key of an alias -> the codes that it is stated to mean -> the first statement of each."""
    statements: dict[str, dict[int, Statement]] = {}
    for statement in _statements(corpus):
        alias = normalise(statement.alias)
        code = code_of.get(normalise(statement.name))
        if code is None:
            notes["aliases of what no two passages name"] += 1
        elif alias != table.keys[code] and _may_be_alias(alias, statement):
            statements.setdefault(alias, {}).setdefault(code, statement)
    return statements


def _may_be_alias(key: str, statement: Statement) -> bool:
    """Whether the key of an alias is long enough, no date or number, and no function word unless an acronym."""
    is_acronym = statement.kind == ACRONYM and statement.alias.isupper()
    is_word = key in FUNCTION_WORDS and not is_acronym
    return len(key) > 1 and not is_word and not is_date_or_number(key)


def _statements(corpus: Corpus) -> Iterator[Statement]:
    """The statements in the order of the passages: of a page's opening, then of acronyms."""
    for row, title in enumerate(corpus.titles):
        sentences = corpus.sentences(row)
        if title:
            yield from _opening_statements(title, sentences[0])
        for sentence in sentences:
            yield from _acronym_statements(sentence)


def _acronym_statements(sentence: str) -> Iterator[Statement]:
    """The statements of acronyms next to their expansions in a sentence.

    >>> [(s.name, s.alias) for s in _acronym_statements("A member of the Party for Democracy (PD) and NATO (a pact).")]
    [('Party for Democracy', 'PD')]
    """
    for match in _LONG_SHORT.finditer(sentence):
        words = sentence[: match.start()].split()[-_LONGEST_EXPANSION:]
        for start in range(len(words) - 1, -1, -1):
            if _abbreviates(match[1], words[start:]):
                yield Statement(" ".join(words[start:]), match[1], ACRONYM)
                break
    for match in _SHORT_LONG.finditer(sentence):
        if _abbreviates(match[1], match[2].split()):
            yield Statement(match[2], match[1], ACRONYM)


def _abbreviates(acronym: str, words: list[str]) -> bool:
    """Whether letters are the initials of words, with or without function words."""
    if not words or not words[0][:1].isupper() or not words[-1][:1].isupper():
        return False
    letters = acronym.replace(".", "").rstrip("s").casefold()
    keys = [normalise(word) for word in words]
    initials = "".join(key[:1] for key in keys)
    content_initials = "".join(key[:1] for key in keys if key not in FUNCTION_WORDS)
    return letters in (initials, content_initials)


def _opening_statements(title: str, sentence: str) -> Iterator[Statement]:
    """The statements of other names of a page, before the verb of its first sentence.

    >>> sentence = "Publix Super Markets, Inc., known as The Pub, is a shop."
    >>> [statement.alias for statement in _opening_statements("Publix", sentence)]
    ['Publix Super Markets', 'Pub']
    """
    verb = _VERB.search(sentence)
    if not verb:
        return
    opening = sentence[: verb.start()]
    other_names = list(_names_known_as(opening))
    quotes = len(opening) - len(opening.lstrip("\"“'`‘ "))
    name = _name_at(opening, quotes, _WHOLE)
    title_words = set(normalise(title).split()) - FUNCTION_WORDS
    shares_word = not title_words.isdisjoint(normalise(name).split())
    if not shares_word and normalise(title) not in map(normalise, other_names):
        return
    if " " in name and not _is_topic(name, title):
        yield Statement(title, name, NAME_OF_PAGE)
    for other_name in other_names:
        kind = ACRONYM if other_name.isupper() else NAME_OF_PAGE
        yield Statement(title, other_name, kind)


def _names_known_as(opening: str) -> Iterator[str]:
    """The names behind phrases such as "known as" in the opening of a page."""
    for phrase in _KNOWN_AS.finditer(opening):
        name = _name_at(opening, phrase.end(), _IN_LIST)
        if name:
            yield name


def _is_topic(name: str, title: str) -> bool:
    """Whether a title has the form "History of NAME" or "List of NAME finals"."""
    topic = rf"\bof (?:the )?{re.escape(normalise(name))}\b"
    return re.search(topic, normalise(title)) is not None


def _name_at(text: str, start: int, end: re.Pattern[str]) -> str:
    """The capitalised phrase at `start`, without its article; "" unless `end` matches behind it."""
    match = NAME.match(text, start)
    if not match or not end.match(text, match.end()):
        return ""
    words = match.group().split()
    return " ".join(words[1:] if normalise(words[0]) in _ARTICLES else words)


def _alias_occurrences(
    corpus: Corpus, table: MentionTable, meanings: Meanings
) -> Iterator[tuple[int, int, int]]:
    """The row, the sentence and the meaning of each alias in the texts, outside longer names."""
    if not meanings:
        return
    keys = list(dict.fromkeys((*table.keys, *meanings)))
    lexicon = Lexicon(keys)
    is_alias = np.array([key in meanings for key in keys])
    for texts, rows, numbers in numbered_sentences(corpus):
        joined = JoinedTexts(texts)
        matches = lexicon.matches(joined)
        for index in np.flatnonzero(is_alias[matches.codes]).tolist():
            meaning = meanings[keys[matches.codes[index]]]
            surface = joined.text[matches.starts[index] : matches.ends[index]]
            if meaning.statement.kind != ACRONYM or _letters(surface) == _letters(
                meaning.statement.alias
            ):
                text = matches.texts[index]
                yield int(rows[text]), int(numbers[text]), meaning.code


def _letters(text: str) -> str:
    """The letters of a text, without dots, digits and blanks."""
    return "".join(filter(str.isalpha, text))


@dataclass(frozen=True)
class Mentions:
    """The mention table as an extractor: a passage's title -[mentions]-> each name in its text.

    The strength of such a triple falls with the number of passages that name its tail: 10 · ln(1 +
    N/df) / ln(1 + N).

    Parameters
    ----------
    terms : whether passages without a title are also joined by the rare terms that they share, see the module `terms`:
        the rarest key of such a passage, name or term, -[appears with]-> its other keys, and -[continues in]-> the
        rarest key of the next passage of its document. If all passages have titles, only those in scripts without
        capitals are joined by terms.
    """

    terms: bool = True

    @property
    def fingerprint(self) -> str:
        """The name of the source, and its parameter unless it is the default."""
        return "mentions" if self.terms else "mentions(terms=False)"

    def extract(self, corpus: Corpus) -> Extraction:
        """Triples between titles, names and terms; mentions of every key.

        `notes` counts the joined and omitted aliases, and the passages without a title that share
        nothing.
        """
        # A slow import, which a stored graph does not need.
        from kg2rag.extraction.mentions.finding import find_mentions

        table, aliases, notes = find_aliases(corpus, find_mentions(corpus))
        n_named = len(table.keys)
        if self.terms:
            table = _add_terms(table, corpus, aliases)
        entity_names = table.entity_names(corpus.titles)
        mentions = [
            Mention(title, corpus.ids[row])
            for row, title in enumerate(corpus.titles)
            if title
        ]
        for key, row, sentence in zip(
            table.key.tolist(), table.row.tolist(), table.sentence.tolist(), strict=True
        ):
            mentions += (
                Mention(name, corpus.ids[row], sentence) for name in entity_names[key]
            )
        triples = dict.fromkeys(_title_triples(table, corpus, entity_names))
        untitled = np.array([not title for title in corpus.titles])
        if self.terms and untitled.any():
            triples |= dict.fromkeys(
                _term_triples(table, corpus, entity_names, untitled)
            )
            n_isolated = int(untitled.sum()) - len(
                np.unique(table.row[untitled[table.row]])
            )
            notes = {**notes, "passages without a title that share nothing": n_isolated}
        return Extraction(
            tuple(triples),
            tuple(mentions),
            tuple(_entities(table, entity_names, aliases, n_named)),
            notes,
        )


def _add_terms(
    table: MentionTable, corpus: Corpus, aliases: Mapping[str, tuple[str, ...]]
) -> MentionTable:
    """The table with the terms of passages that need them, without existing aliases."""
    # A slow import (scikit-learn), which a stored graph does not need.
    from kg2rag.extraction.mentions.terms import (
        needs_terms,
        with_terms,
    )

    need_terms = needs_terms(corpus)
    if not need_terms.any():
        return table
    alias_keys = frozenset(
        normalise(alias) for names in aliases.values() for alias in names
    )
    return with_terms(table, corpus, need_terms, alias_keys)


def _strengths(table: MentionTable, n_passages: int) -> list[float]:
    """The strength of each key as a tail, to three decimals."""
    maximum = log(1 + n_passages)
    return [
        round(10 * log(1 + n_passages / max(count, 1)) / maximum, 3)
        for count in table.document_frequency
    ]


def _title_triples(
    table: MentionTable, corpus: Corpus, entity_names: Sequence[Sequence[str]]
) -> Iterator[Triple]:
    """The triples from the title of each passage to the names in its text."""
    strengths = _strengths(table, len(corpus))
    titles = corpus.titles
    for key, row in zip(table.key.tolist(), table.row.tolist(), strict=True):
        if titles[row]:
            for name in entity_names[key]:
                yield Triple(
                    titles[row], "mentions", name, corpus.ids[row], strengths[key]
                )


def _term_triples(
    table: MentionTable,
    corpus: Corpus,
    entity_names: Sequence[Sequence[str]],
    untitled: NDArray[np.bool_],
) -> Iterator[Triple]:
    """The triples from the rarest key of each passage without a title; see `terms.stars`."""
    from kg2rag.extraction.mentions.terms import stars  # slow: scikit-learn

    strengths = _strengths(table, len(corpus))
    for row, head, tail, is_of_next in stars(table, corpus, untitled).T.tolist():
        relation = "continues in" if is_of_next else "appears with"
        for name in entity_names[tail]:
            yield Triple(
                entity_names[head][0], relation, name, corpus.ids[row], strengths[tail]
            )


def _entities(
    table: MentionTable,
    entity_names: Sequence[Sequence[str]],
    aliases: Mapping[str, tuple[str, ...]],
    n_named: int,
) -> Iterator[Entity]:
    """The entity records of titles, names and terms, but not of names that became aliases.

    Keys from `n_named` on are terms.
    """
    spellings: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for key, titles in enumerate(entity_names[: table.n_titles]):
        for title in titles:
            # A title without another spelling is an entity, too.
            other_names = spellings[title]
            if table.names[key] != title:
                other_names[table.names[key]] = None
    for title, other_names in spellings.items():
        yield Entity(
            title,
            "title",
            aliases=tuple(dict.fromkeys((*other_names, *aliases.get(title, ())))),
        )
    frequency = table.document_frequency
    for key in range(table.n_titles, len(table.keys)):
        if frequency[key]:
            name = table.names[key]
            yield Entity(
                name, "name" if key < n_named else "term", aliases=aliases.get(name, ())
            )
