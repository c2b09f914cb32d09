"""`Mentions`: the mention table of a corpus as an extractor, the default graph source. All of it is ours.

Three ways in which encyclopaedic prose gives a thing another name are read, and joined to the table's keys: an acronym
in brackets next to its expansion ("European Union (EU)", either way round), whose letters must be the initials; "also
known as Y" (called, abbreviated as) in a page's first sentence before its verb; and the name that this sentence opens
with, where it shares a word with the title ("Publix Super Markets, Inc., …"). An alias counts only where the whole
corpus gives it one meaning and no page has it as its title.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import NamedTuple

import numpy as np

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.mentions.table import TERMS, VERSION, MentionTable, numbered_sentences
from kg2rag.text.normalisation import FUNCTION_WORDS, NAME, JoinedTexts, Lexicon, is_date_or_number, normalise
from kg2rag.types import Corpus, Triple

ALIASES = 3  # raise it when the rules of aliases change, so that stored graphs are rebuilt

_ACRONYM = r"(?:[A-Z]\.?){2,7}s?"
_LONG_SHORT = re.compile(rf"\(\s*({_ACRONYM})\s*[),;]")
_SHORT_LONG = re.compile(rf"\b({_ACRONYM})\s+\(([^()]+)\)")
_VERB = re.compile(r"\b(?:is|was|are|were|refers|stands)\b")
_KNOWN_AS = re.compile(
    r"\b(?:known(?:\s+\w+ly)?\s+(?:as|by)|called|abbreviated(?:\s+(?:as|to))?|referred\s+to\s+as|nicknamed|aka)"
    r"\s+(?:the\s+)?[\"“'‘`]{0,2}"
)
_WHOLE = re.compile(r"['’\"”`]*\s*(?:[,;()]|$|or\b)")  # what follows a name that is not part of more
_LISTED = re.compile(r"['’\"”`]*\s*(?:[,;()]|$|(?:or|and|in|by)\b)")  # and where names are in a list
_ARTICLES = frozenset({"the", "a", "an"})
ACRONYM, NAME_OF_PAGE = range(2)
_LONGEST_EXPANSION = 12  # words before a bracket that may be the acronym's
Known = dict[str, tuple[int, "Stated"]]  # alias key -> the key of its meaning, and its first statement


class Stated(NamedTuple):
    """A statement that `alias` is another name of `name`; an ACRONYM is matched letter by letter with its case.

    A NAME_OF_PAGE does not take over a name that several passages share ("San Juan", "Clock Tower").
    """

    name: str
    alias: str
    kind: int


def find_aliases(
    corpus: Corpus, table: MentionTable
) -> tuple[MentionTable, dict[str, tuple[str, ...]], dict[str, int]]:
    """Join the names that the corpus states to be of one thing.

    Mentions of an alias become mentions of its meaning; a shared name that is an acronym is joined to its meaning;
    mentions of titles that are dates or numbers ("1984") are left out: such hubs join unrelated passages.

    Returns the table, where a name that became an alias keeps its key without mentions; how an entity is written -> its
    other names, in order of appearance; and what was joined or left out, by cause.
    """
    key_of = {key: code for code, key in enumerate(table.keys)}
    notes: Counter[str] = Counter()
    known = _unambiguous(corpus, table, key_of, notes)
    columns = np.stack([table.row, table.sentence, table.key], axis=1)
    dated = np.array([is_date_or_number(key) for key in table.keys], dtype=bool)[columns[:, 2]]
    notes["mentions of dates and numbers left out"] = int(dated.sum())
    joined = np.arange(len(table.keys), dtype=np.int32)
    for key, (code, _) in known.items():
        if key in key_of:
            joined[key_of[key]] = code
    notes["names joined to what they stand for"] = int(np.count_nonzero(joined != np.arange(len(joined))))
    kept = columns[~dated]
    kept[:, 2] = joined[kept[:, 2]]
    found = np.array(list(_occurrences(corpus, table, known)), dtype=np.int32).reshape(-1, 3)
    notes["mentions by an alias"] = len(found)
    rows, size = np.unique(np.concatenate([kept, found]), axis=0), len(table.keys)
    own = table.page_row.astype(np.int64) * size + table.page_key  # a page does not mention its own title
    rows = rows[~np.isin(rows[:, 0].astype(np.int64) * size + rows[:, 2], own)]
    written = table.written(corpus.titles)
    aliases: dict[str, tuple[str, ...]] = {}
    for code, alias in known.values():
        for name in written[code]:
            aliases[name] = (*aliases.get(name, ()), alias.alias)
    changed = replace(table, row=rows[:, 0], sentence=rows[:, 1], key=rows[:, 2])
    return changed, aliases, notes


def _unambiguous(corpus: Corpus, table: MentionTable, key_of: Mapping[str, int], notes: Counter[str]) -> Known:
    """The aliases of one meaning; none means another alias."""
    statements: list[Stated] = []
    for row, title in enumerate(corpus.titles):
        sentences = corpus.sentences(row)
        statements += _opening(title, sentences[0]) if title else ()
        statements += (stated for sentence in sentences for stated in _acronyms(sentence))
    meanings: dict[str, dict[int, Stated]] = {}
    for stated in statements:
        key, code = normalise(stated.alias), key_of.get(normalise(stated.name))
        if code is None:
            notes["aliases of what no two passages name"] += 1
        elif key != table.keys[code] and not (len(key) < 2 or key in FUNCTION_WORDS or is_date_or_number(key)):
            meanings.setdefault(key, {}).setdefault(code, stated)
    known: Known = {}
    for key, codes in meanings.items():
        code, stated = next(iter(codes.items()))
        own = key_of.get(key)
        if len(codes) > 1:
            notes["aliases with several meanings left out"] += 1
        elif own is not None and (own < table.n_titles or stated.kind == NAME_OF_PAGE):
            notes["aliases that are titles or shared names left out"] += 1
        else:
            known[key] = code, stated
    return {key: value for key, value in known.items() if table.keys[value[0]] not in known}


def _acronyms(sentence: str) -> Iterator[Stated]:
    """Acronyms next to their expansions.

    >>> [(s.name, s.alias) for s in _acronyms("A member of the Party for Democracy (PD) and NATO (a pact).")]
    [('Party for Democracy', 'PD')]
    """
    for match in _LONG_SHORT.finditer(sentence):
        words = sentence[: match.start()].split()[-_LONGEST_EXPANSION:]
        for start in range(len(words) - 1, -1, -1):
            if _abbreviates(match[1], words[start:]):
                yield Stated(" ".join(words[start:]), match[1], ACRONYM)
                break
    for match in _SHORT_LONG.finditer(sentence):
        if _abbreviates(match[1], match[2].split()):
            yield Stated(match[2], match[1], ACRONYM)


def _abbreviates(acronym: str, words: list[str]) -> bool:
    """Whether the letters are the initials of the words, all of them or those that are no function words."""
    if not words or not words[0][:1].isupper() or not words[-1][:1].isupper():
        return False
    letters = acronym.replace(".", "").rstrip("s").casefold()
    long = [normalise(word) for word in words]
    every = "".join(word[:1] for word in long)
    content = "".join(word[:1] for word in long if word not in FUNCTION_WORDS)
    return letters in (every, content)


def _opening(title: str, sentence: str) -> Iterator[Stated]:
    """What a page's first sentence calls its subject, before the verb.

    >>> [stated.alias for stated in _opening("Publix", "Publix Super Markets, Inc., known as The Pub, is a shop.")]
    ['Publix Super Markets', 'Pub']
    """
    verb = _VERB.search(sentence)
    if not verb:
        return
    before = sentence[: verb.start()]
    given = [name for phrase in _KNOWN_AS.finditer(before) if (name := _name_at(before, phrase.end(), _LISTED))]
    quotes = len(before) - len(before.lstrip("\"“'`‘ "))
    name, key = _name_at(before, quotes, _WHOLE), normalise(title)
    named = bool(set(normalise(name).split()) & set(key.split()) - FUNCTION_WORDS)
    if not named and key not in map(normalise, given):
        return
    # Of "History of X", "List of X finals", X is the topic and not the page.
    if " " in name and not re.search(rf"\bof (?:the )?{re.escape(normalise(name))}\b", key):
        yield Stated(title, name, NAME_OF_PAGE)
    for other in given:
        yield Stated(title, other, ACRONYM if other.isupper() else NAME_OF_PAGE)


def _name_at(text: str, start: int, end: re.Pattern[str]) -> str:
    """The capitalised phrase that begins at `start`, without its article; "" where `end` does not follow it."""
    match = NAME.match(text, start)
    if not match or not end.match(text, match.end()):
        return ""
    words = match.group().split()
    return " ".join(words[1:] if normalise(words[0]) in _ARTICLES else words)


def _occurrences(corpus: Corpus, table: MentionTable, known: Known) -> Iterator[tuple[int, int, int]]:
    """(row, sentence, key) of the aliases in the texts, outside longer titles and names."""
    if not known:
        return
    keys = list(dict.fromkeys((*table.keys, *known)))
    lexicon, meant = Lexicon(keys), np.array([key in known for key in keys])
    for texts, rows, numbers in numbered_sentences(corpus):
        joined = JoinedTexts(texts)
        found = lexicon.matches(joined)
        for at in np.flatnonzero(meant[found.codes]).tolist():
            code, stated = known[keys[found.codes[at]]]
            written = joined.text[found.starts[at] : found.ends[at]], stated.alias
            letters = ["".join(filter(str.isalpha, one)) for one in written]
            if stated.kind != ACRONYM or letters[0] == letters[1]:
                yield int(rows[found.texts[at]]), int(numbers[found.texts[at]]), code


@dataclass(frozen=True)
class Mentions:
    """The mention table as an extractor: a passage's title -[mentions]-> what its text names.

    The strength of such a triple falls with the number of passages that name its tail: 10 · ln(1 + N/df) / ln(1 + N).

    Parameters
    ----------
    terms : passages without a title are joined by the rare terms that they share as well, see the module `terms`: the
        rarest key of such a passage, name or term, -[appears with]-> its other keys, and -[continues in]-> the rarest
        of the next passage of its document. Corpora whose passages all have titles are only
        changed in scripts without capitals.
    """

    terms: bool = True

    @property
    def fingerprint(self) -> str:
        """The version of the rules."""
        return f"mentions-{VERSION}, aliases-{ALIASES}" + (f", terms-{TERMS}" if self.terms else "")

    def extract(self, corpus: Corpus) -> Extraction:
        """Triples between titles, names and terms; mentions of every key.

        `notes` counts what the aliases joined and left out, and the passages without a title that share nothing.
        """
        # Compiled, and not needed where a graph is read from the store.
        from kg2rag.extraction.mentions.finding import find_mentions

        (table, others, notes), titles = find_aliases(corpus, find_mentions(corpus)), corpus.titles
        n_named, untitled = len(table.keys), np.array([not title for title in titles])
        # Compiled too: scikit-learn.
        from kg2rag.extraction.mentions.terms import needs_terms, stars, with_terms

        joined = needs_terms(corpus)
        if self.terms and joined.any():
            known = frozenset(normalise(name) for found in others.values() for name in found)
            table = with_terms(table, corpus, joined, known)
        display = table.written(titles)
        strength = [10 * log(1 + len(corpus) / max(df, 1)) / log(1 + len(corpus)) for df in table.document_frequency]
        triples: dict[Triple, None] = {}
        mentions = [Mention(title, corpus.ids[row]) for row, title in enumerate(titles) if title]
        for key, row, sentence in zip(table.key.tolist(), table.row.tolist(), table.sentence.tolist(), strict=True):
            for name in display[key]:
                mentions.append(Mention(name, corpus.ids[row], sentence))
                if titles[row]:
                    triples[Triple(titles[row], "mentions", name, corpus.ids[row], round(strength[key], 3))] = None
        if self.terms and untitled.any():
            for row, head, tail, next_row in stars(table, corpus, untitled).T.tolist():
                for name in display[tail]:
                    relation = "continues in" if next_row else "appears with"
                    stated = Triple(display[head][0], relation, name, corpus.ids[row], round(strength[tail], 3))
                    triples[stated] = None
            isolated = untitled.sum() - len(np.unique(table.row[untitled[table.row]]))
            notes = {**notes, "passages without a title that share nothing": int(isolated)}
        return Extraction(tuple(triples), tuple(mentions), tuple(_entities(table, display, others, n_named)), notes)


def _entities(
    table: MentionTable, display: Sequence[Sequence[str]], others: Mapping[str, tuple[str, ...]], n_named: int
) -> Iterator[Entity]:
    """Titles, with and without their brackets, names, terms; a name that became an alias has no record."""
    aliases: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for key, names in enumerate(display[: table.n_titles]):
        for name in names:
            aliases[name] |= {table.names[key]: None} if table.names[key] != name else {}
    for name, known in aliases.items():
        yield Entity(name, "title", aliases=tuple(dict.fromkeys((*known, *others.get(name, ())))))
    frequency = table.document_frequency
    for key in range(table.n_titles, len(table.keys)):
        if frequency[key]:
            name = table.names[key]
            yield Entity(name, "name" if key < n_named else "term", aliases=others.get(name, ()))
