"""A corpus -> its mention table, by rules only: no model, no key, ten seconds per 100,000 passages.

Titles are found by longest match over all titles of the corpus, with and without their bracketed disambiguation;
names are capitalised phrases that at least two passages share. Where a title "Rebecca" could mean two pages, the
mention points to both; the number of its pages shows that. The rules are ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kg2rag.extraction.links import links_of
from kg2rag.extraction.mentions.table import SIZE, MentionTable, numbered_sentences
from kg2rag.text.languages import function_words, script_of
from kg2rag.text.normalisation import CALENDAR, FUNCTION_WORDS, NAME, JoinedTexts, Lexicon, normalise, without_brackets
from kg2rag.text.scripts import SYLLABLES, search_text
from kg2rag.types import Corpus, IntArray

_SYLLABLES = SYLLABLES.replace("\\", "")  # of a class of RE2
_ENDING = re.compile(r"(['’]s|['’\-]+)$")


def find_mentions(corpus: Corpus, *, size: int = SIZE) -> MentionTable:
    """The mention table of a corpus; `size` bytes of text are read at a time, which changes no result."""
    titles, names, page_key, page_row = _titles(corpus)
    lexicon, n_titles = Lexicon(titles.to_pylist(), names), len(titles)
    found, phrases = list[IntArray](), list[IntArray]()  # (3, n) each: row, sentence, and title or phrase
    known: dict[str, tuple[int, str]] = {}  # key of a phrase -> its number, and how it is first written
    lower_case: Counter[str] = Counter()
    for texts, rows, numbers in numbered_sentences(corpus, size):
        joined = JoinedTexts(texts)
        matches = lexicon.matches(joined)
        found.append(np.stack([rows[matches.texts], numbers[matches.texts], matches.codes]))
        spans = np.array([match.span() for match in NAME.finditer(joined.text)], dtype=np.int64).reshape(-1, 2)
        # No title overlaps a phrase that ends before the first title whose end is behind its start.
        nearest = np.searchsorted(matches.ends, spans[:, 0], side="right")
        spans = spans[spans[:, 1] <= np.append(matches.starts, len(joined.text))[nearest]]
        surfaces = pa.array([joined.text[start:end] for start, end in spans.tolist()], pa.string()).dictionary_encode()
        named = map(name_of, surfaces.dictionary.to_pylist())
        codes = [-1 if one is None else known.setdefault(one[0], (len(known), one[1]))[0] for one in named]
        code, at = np.array(codes, dtype=np.int64)[surfaces.indices.to_numpy()], joined.text_of(spans[:, 0])
        phrases.append(np.stack([rows[at], numbers[at], code])[:, code >= 0])
        lower_case.update(word for word in re.findall(r"\w+", joined.text) if word.islower())
    found.append(_linked(corpus, titles))
    row, sentence, phrase = np.concatenate(phrases, axis=1)
    shared = _shared(list(known), phrase, row, lower_case, titles)
    code = np.where(shared, n_titles + np.cumsum(shared) - 1, -1)[phrase]
    row, sentence, key = np.concatenate([*found, np.stack([row, sentence, code])[:, code >= 0]], axis=1)
    own = page_row.astype(np.int64) * n_titles + page_key  # a page does not mention its own title
    kept = ~np.isin(np.where(key < n_titles, row * n_titles + key, -1), own)
    row, sentence, key = row[kept], sentence[kept], key[kept]
    order = np.lexsort((key, sentence, row))
    columns = np.stack([row, sentence, key]).astype(np.int32)[:, order]
    row, sentence, key = columns[:, np.diff(columns, axis=1, prepend=-1).any(axis=0)]
    added = [(key, name) for (key, (_, name)), one in zip(known.items(), shared, strict=True) if one]
    keys, names = titles.to_pylist() + [key for key, _ in added], names + [name for _, name in added]
    return MentionTable(keys, names, n_titles, page_key, page_row, key, row, sentence)


def _linked(corpus: Corpus, titles: pa.StringArray) -> IntArray:
    """(3, n) row, sentence and title of the hyperlinks of passages: what a link leads to is mentioned there.

    The sentence is the first that has the words of the link.
    """
    code_of = {key: code for code, key in enumerate(titles.to_pylist())}
    mentions = []
    for link in links_of(corpus):
        code = code_of.get(normalise(corpus.titles[link.target]))
        if code is not None:
            sentences = corpus.sentences(link.row)
            holding = (number for number, sentence in enumerate(sentences) if link.words in sentence)
            mentions.append((link.row, next(holding, 0), code))
    return np.array(mentions, dtype=np.int64).reshape(-1, 3).T


def _titles(corpus: Corpus) -> tuple[pa.StringArray, list[str], NDArray[np.int32], NDArray[np.int32]]:
    """The titles, with and without their brackets, none of function words only, and which passages have them.

    Keys and first spellings in order of appearance; key and row of each page, sorted by key then row.
    """
    written = [dict.fromkeys((title, without_brackets(title))) for title in corpus.titles]
    rows = np.repeat(np.arange(len(written)), np.fromiter(map(len, written), dtype=np.int64))
    surfaces = [surface for surfaces in written for surface in surfaces]
    keys = pa.array(map(normalise, surfaces), pa.string())
    no_name = pa.array(["", *sorted(FUNCTION_WORDS)])
    # A single letter of a script without blanks would be found within every word that has it.
    lacking = pc.or_(pc.is_in(keys, value_set=no_name), pc.match_substring_regex(keys, f"^[{_SYLLABLES}]$"))
    kept = np.flatnonzero(~lacking.to_numpy(zero_copy_only=False))
    encoded = keys.take(pa.array(kept)).dictionary_encode()
    codes = encoded.indices.to_numpy().astype(np.int64)
    names = [surfaces[at] for at in kept[np.unique(codes, return_index=True)[1]].tolist()]
    key, row = np.divmod(np.unique(codes * len(corpus) + rows[kept]), len(corpus))
    return encoded.dictionary, names, key.astype(np.int32), row.astype(np.int32)


def name_of(phrase: str) -> tuple[str, str] | None:
    """(key, name) of a capitalised phrase, without the function words it begins with; None where it is no name.

    >>> name_of("The Hague's"), name_of("In May")
    (('hague', 'Hague'), None)
    """
    words: Sequence[str] = search_text(phrase).split()
    while words and _is_function_word(normalise(words[0])):
        words = words[1:]
    name = _ENDING.sub("", " ".join(words))
    key = normalise(name)
    return (key, name) if len(key) > 1 and not set(key.split()) <= CALENDAR else None


def _is_function_word(key: str) -> bool:
    """Whether a normalised word is English and no name, or one of no other language of its script."""
    script = script_of(key)
    return key in FUNCTION_WORDS or (script != "latin" and key in function_words(script))


def _shared(
    keys: list[str], phrase: IntArray, row: IntArray, lower_case: Mapping[str, int], titles: pa.StringArray
) -> NDArray[np.bool_]:
    """(n_keys,) which keys two passages share, are no titles, and are not more often written in lower case.

    `phrase` and `row`, (n_phrases,), say which passage has which key.
    """
    known, times = pa.array(keys, pa.string()), np.bincount(phrase, minlength=len(keys))
    passages = np.bincount(np.unique(phrase << 32 | row) >> 32, minlength=len(keys))
    code = pc.index_in(pa.array(map(normalise, lower_case), pa.string()), value_set=known)
    counts = np.fromiter(lower_case.values(), dtype=np.int64)[code.is_valid().to_numpy(False)]
    usual = np.bincount(code.drop_null().to_numpy(), counts, minlength=len(keys))
    titled: NDArray[np.bool_] = pc.is_in(known, value_set=titles).to_numpy(False)
    return (passages > 1) & ~titled & (usual < times)
