"""Gold as ids, paths, titles, headings, pages or texts -> passages or documents of a corpus."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple
from urllib.parse import unquote

from rapidfuzz import fuzz, process

from kg2rag.text.scripts import words
from kg2rag.types import Corpus
from kg2rag.types.document_names import documents_by_record, passages_by_beginning

WINDOW_WORDS, STRIDE_WORDS = 5, 3
"""Length of a window of a gold text, and distance from one window to the next, in words."""
TEXT_WORDS = 4
"""Least number of words of gold that is a text."""
FOUND_SHARE = 0.5
"""Least share of a text's windows that the corpus contains, and that make a passage gold."""
COMMON_PASSAGES = 4
"""A window that more passages contain is a common phrase, and tells no passage from another."""
SIMILAR = 60
"""Least similarity, up to 100, of a name that an error suggests."""
_SEPARATORS = (";", "|", "\n", ",")
_BULLET = re.compile(r"^\s*(?:[-*•·–]|\d{1,2}[.)])\s+")
"""The mark of an item of a list."""
_LABEL = re.compile(r"(?:\A|\n)\s*([^\W\d]+) \d+: ")
_PAGE = re.compile(r"page=(\d+)")
_NUMBER_OF_HEADING = re.compile(r"^(?:\d+(?:\.\d+)*[.)]?|[IVXLC]+\.|[A-Z]\.)\s+(?=\w)")
_FILE = re.compile(r"(?!(?:index|readme)\.).+\.(?=\w*[a-z])\w{1,8}", re.IGNORECASE)
"""The name of a file that, by itself, tells a document: pages called `index` are in many folders."""
_PAGE_ENDING = re.compile(
    r"(?:/(?:index|readme))?(?:\.(?:mdx?|markdown|html?|rst|txt|adoc|org|ipynb|qmd|pdf|docx))?$"
)


class GoldTarget(NamedTuple):
    """The target of a piece of gold: a document, passages, or a document that is one passage.

    `document` is "" for passages only, and `passages` is empty for a document of several.
    """

    document: str = ""
    passages: tuple[str, ...] = ()


class GoldIndex:
    """An index of the passages and documents of a corpus by their ids, paths, titles and headings."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._found = dict[str, GoldTarget | None]()
        self._rows = defaultdict[str, list[int]](list)
        for row, document in enumerate(corpus.doc_ids):
            self._rows[document].append(row)

    @cached_property
    def _targets_by_id(self) -> Mapping[str, GoldTarget]:
        """Id of a document or passage -> its target."""
        targets = {document: GoldTarget(document) for document in self._rows}
        for id_ in self.corpus.ids:
            targets[id_] = targets.get(id_, GoldTarget())._replace(passages=(id_,))
        return targets

    def find(self, name: str) -> GoldTarget | None:
        """The target of a name or a text; None if the corpus has none."""
        return self.find_all([name])[name]

    def find_all(self, names: Iterable[str]) -> dict[str, GoldTarget | None]:
        """Name or text -> its target in the corpus, None if there is none.

        These are tried in order: an id; a path in another spelling; a page or heading of a document
        (`a.pdf#page=3`, `a.md#heading`); a title; the id of a record (`DOC-7` for `a.trec#DOC-7`); a
        heading; the name of a file without its ending; a text that passages contain for at least half.
        """
        distinct = list(dict.fromkeys(names))
        targets = {
            name: self._by_name(name) for name in distinct if name not in self._found
        }
        texts = [
            name
            for name, target in targets.items()
            if target is None and _has_blanks(name)
        ]
        # All passages are read for texts, and the same texts are looked up several times.
        self._found |= {**targets, **self._by_text(texts)}
        return {name: self._found[name] for name in distinct}

    def _by_name(self, name: str) -> GoldTarget | None:
        """The target of a name; None for an unknown name and for a text."""
        return (
            self._by_identifier(name) or self._by_heading(name) or self._by_stem(name)
        )

    def _by_identifier(self, name: str) -> GoldTarget | None:
        """The target of an id, path, page or title, and of a heading behind one; None for another name.

        The id of a record is one if only one file has it. Last, a name is a document if ids of
        passages are the name and a number (`D1` for `D1-0`, `D1-1`).
        """
        if name in self._targets_by_id:
            return self._targets_by_id[name]
        return (
            self._by_path(name)
            or self._by_fragment(name)
            or self._by_title(name)
            or _only_document(self._documents_by_record.get(name, []))
            or self._by_beginning(name)
        )

    def _by_beginning(self, name: str) -> GoldTarget | None:
        """The passages whose ids are a name with a number."""
        passages = self._passages_by_beginning.get(name, ())
        return GoldTarget(passages=tuple(passages)) if passages else None

    def is_beginning(self, name: str) -> bool:
        """Whether a name is no id, but the beginning of ids, such as "D1" of "D1-0"."""
        is_id = name in self._targets_by_id
        return not is_id and name in self._passages_by_beginning

    def is_identifier(self, name: str) -> bool:
        """Whether a name is an id, path, page or title of the corpus."""
        return self._by_identifier(name) is not None

    def has_name(self, name: str) -> bool:
        """Whether a name is an id, path, title or heading of the corpus."""
        return self._by_name(name) is not None

    def passages_of(self, document: str) -> list[str]:
        """The ids of a document's passages."""
        return [self.corpus.ids[row] for row in self._rows[document]]

    def separated(self, cell: str) -> list[str]:
        """The names in a cell, separated by `;`, `|`, `,` or line ends; [] if it is one name.

        All parts of the cell must be names of the corpus, or texts behind numbered labels.
        """
        texts = _labelled_texts(cell)
        if texts:
            return texts
        for separator in _SEPARATORS:
            parts = [_BULLET.sub("", part).strip() for part in cell.split(separator)]
            names = list(filter(None, parts))
            if (
                names
                and names != [cell]
                and all(map(self._by_name, names))
                and not self._by_name(cell)
            ):
                return names
        return []

    def is_text(self, name: str) -> bool:
        """Whether unknown gold is a text of at least `TEXT_WORDS` words."""
        return len(words(name)) >= TEXT_WORDS and _has_blanks(name)

    def suggestion(self, name: str) -> str:
        """The end of an error that suggests the most similar id or title; "" if none is similar."""
        names = [*self._rows, *dict.fromkeys(filter(None, self.corpus.titles))]
        close = process.extractOne(name, names, scorer=fuzz.ratio, score_cutoff=SIMILAR)
        return f" Did you mean {close[0]!r}?" if close else ""

    def _by_path(self, name: str) -> GoldTarget | None:
        """The document or passage whose path equals a name, ends it, or ends with it."""
        key = path_key(name)
        if key in self._documents_by_path:
            return GoldTarget(self._documents_by_path[key])
        if key in self._passages_by_path:
            return GoldTarget(passages=(self._passages_by_path[key],))
        # An absolute path, or a path from another folder, ends in the document's path, which may be
        # the name of a file; a bare name ends a document's.
        for start in _starts(key):
            ending = key[start:]
            if "/" in ending and ending in self._documents_by_path:
                return GoldTarget(self._documents_by_path[ending])
        name_of_file = key.rpartition("/")[2]
        if name_of_file in self._documents_by_path and _FILE.fullmatch(name_of_file):
            return GoldTarget(self._documents_by_path[name_of_file])
        return _only_document(
            self._documents_by_ending.get(key, [])
        ) or self._by_address(name)

    def _by_address(self, name: str) -> GoldTarget | None:
        """The document of a path in other capitals, of a file URL, or of a page address.

        A name without `/` and ending is no address.
        """
        key = address_key(name)
        if "/" not in name and key == name.casefold():
            return None
        for start in (0, *_starts(key)):
            ending = key[start:]
            if start == 0 or "/" in ending:
                target = _only_document(self._documents_by_address.get(ending, []))
                if target:
                    return target
        return None

    @cached_property
    def _documents_by_address(self) -> Mapping[str, list[str]]:
        """`address_key` -> the documents that have it, or an address with it in their metadata."""
        documents = defaultdict[str, list[str]](list)
        for document, rows in self._rows.items():
            addresses = [
                value
                for value in self.corpus[rows[0]].metadata.values()
                if isinstance(value, str) and "://" in value
            ]
            for key in dict.fromkeys(map(address_key, [document, *addresses])):
                documents[key].append(document)
        return documents

    @cached_property
    def _documents_by_record(self) -> Mapping[str, list[str]]:
        """Id of a record in its file, such as a DOCNO -> the documents `file#id`."""
        return documents_by_record(self._rows)

    @cached_property
    def _passages_by_beginning(self) -> Mapping[str, list[str]]:
        """Beginning of ids, such as a DOCNO -> the passages whose id has it and a number."""
        return passages_by_beginning(self.corpus)

    @cached_property
    def _documents_by_path(self) -> Mapping[str, str]:
        """`path_key` -> document."""
        return {path_key(document): document for document in self._rows}

    @cached_property
    def _documents_by_ending(self) -> Mapping[str, list[str]]:
        """The last parts of a path -> the documents whose path ends so."""
        documents = defaultdict[str, list[str]](list)
        for key, document in self._documents_by_path.items():
            for start in _starts(key):
                documents[key[start:]].append(document)
        return documents

    def _by_stem(self, name: str) -> GoldTarget | None:
        """The only document whose file has a name without its ending."""
        return _only_document(self._documents_by_stem.get(name.casefold(), []))

    @cached_property
    def _documents_by_stem(self) -> Mapping[str, list[str]]:
        """The name of a file without its ending, in small letters -> the documents that have it."""
        documents = defaultdict[str, list[str]](list)
        for key, document in self._documents_by_path.items():
            name = key.rpartition("/")[2]
            if _FILE.fullmatch(name):
                documents[name.rpartition(".")[0].casefold()].append(document)
        return documents

    @cached_property
    def _passages_by_path(self) -> Mapping[str, str]:
        """`path_key` -> id of a passage."""
        return {path_key(id_): id_ for id_ in self.corpus.ids}

    def _by_fragment(self, name: str) -> GoldTarget | None:
        """The passages of `document#page=3` or `document#heading`."""
        document_name, _, fragment = name.rpartition("#")
        rows = self._rows.get(self._document_of(document_name), [])
        page = _PAGE.fullmatch(fragment.strip())
        if page:
            return self._passages_in(
                [row for row in rows if self._has_page(row, int(page[1]))]
            )
        with_heading = self._rows_by_heading.get(_heading_key(fragment), [])
        return self._passages_in(sorted(set(rows) & set(with_heading)))

    def _document_of(self, name: str) -> str:
        """The document of an id, path or title; "" if there is none."""
        target = GoldTarget(name)
        if name and name not in self._rows:
            target = (
                self._by_path(name)
                or self._by_title(name)
                or self._by_stem(name)
                or GoldTarget()
            )
        return target.document

    def _passages_in(self, rows: Sequence[int]) -> GoldTarget | None:
        """The target of the passages in some rows; None without rows."""
        if not rows:
            return None
        return GoldTarget(passages=tuple(self.corpus.ids[row] for row in rows))

    def _has_page(self, row: int, page: int) -> bool:
        """Whether a passage has text of a page, counted from 1."""
        fields = self.corpus[row].metadata
        first = fields.get("page", 0)
        return bool(first) and first <= page <= fields.get("last_page", first)

    @cached_property
    def _rows_by_heading(self) -> Mapping[str, list[int]]:
        """`_heading_key` -> the rows of the passages under such headings, with their numbers or without."""
        rows = defaultdict[str, list[int]](list)
        for row, passage in enumerate(self.corpus):
            headings = passage.metadata.get("headings", ())
            names = [str(heading) for heading in headings]
            names += [_NUMBER_OF_HEADING.sub("", name, count=1) for name in names]
            keys = set(map(_heading_key, names)) - {""}
            for key in keys:
                rows[key].append(row)
        return rows

    def _by_title(self, name: str) -> GoldTarget | None:
        """The only document with a title."""
        return _only_document(self._documents_by_title.get(words_key(name), []))

    @cached_property
    def _documents_by_title(self) -> Mapping[str, list[str]]:
        """`words_key` of a title -> the documents that have it."""
        documents = defaultdict[str, list[str]](list)
        for document, rows in self._rows.items():
            title = words_key(self.corpus.titles[rows[0]])
            if title:
                documents[title].append(document)
        return documents

    def _by_heading(self, name: str) -> GoldTarget | None:
        """The passages under a heading that only one document has."""
        rows = self._rows_by_heading.get(_heading_key(name), [])
        if len({self.corpus.doc_ids[row] for row in rows}) > 1:
            return None
        return self._passages_in(rows)

    def _by_text(self, texts: Sequence[str]) -> dict[str, GoldTarget | None]:
        """Text -> the passages that contain it or parts of it, see `_best_rows`."""
        if not texts:
            return {}
        windows = {text: _windows(text) for text in texts}
        rows_of = {
            window: list[int]()
            for text_windows in windows.values()
            for window in text_windows
        }
        lengths = list[int]()
        for row, passage in enumerate(self.corpus.table["text"].to_pylist()):
            passage_words = words(passage)
            lengths.append(len(passage_words))
            for ngram in _word_ngrams(passage_words):
                if ngram in rows_of:
                    rows_of[ngram].append(row)
        return {
            text: self._best_rows([rows_of[window] for window in text_windows], lengths)
            for text, text_windows in windows.items()
        }

    def _best_rows(
        self, holders: Sequence[Sequence[int]], lengths: Sequence[int]
    ) -> GoldTarget | None:
        """The target of a text; None if the corpus contains too few of its windows.

        It is the passages with the most windows, and those with windows that these lack that have at
        least `FOUND_SHARE` of the windows, or so many that at least `FOUND_SHARE` of the passage is
        from the text. Windows in more than `COMMON_PASSAGES` passages, and the words of a passage in
        them, are left out, if other windows are in the corpus.

        holders : for each window of the text, the rows that contain it.
        lengths : the number of words of each passage.
        """
        if sum(map(bool, holders)) < FOUND_SHARE * len(holders) or not any(holders):
            return None
        telling = _telling_windows(holders)
        n_telling = Counter(chain.from_iterable(telling))
        n_best = max(n_telling.values())
        best = {row for row, count in n_telling.items() if count == n_best}
        others = chain.from_iterable(rows for rows in telling if best.isdisjoint(rows))
        counts = Counter(chain.from_iterable(holders))
        further = set[int]()
        for row in set(others):
            n_common = counts[row] - n_telling[row]
            n_words = lengths[row] - n_common * STRIDE_WORDS
            if _is_half(n_telling[row], len(telling), n_words):
                further.add(row)
        return self._passages_in(sorted(best | further))


def _telling_windows(holders: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
    """The windows, as the rows that contain them, in few passages; all windows if none is."""
    few = [rows for rows in holders if 0 < len(rows) <= COMMON_PASSAGES]
    return few or holders


def _is_half(n_common: int, n_windows: int, n_words: int) -> bool:
    """Whether a text and a passage have at least `FOUND_SHARE` of either in common.

    n_common : the number of windows in both.
    n_windows : the number of windows of the text.
    n_words : the number of words of the passage.
    """
    is_of_text = n_common >= FOUND_SHARE * n_windows
    is_of_passage = n_common * STRIDE_WORDS >= FOUND_SHARE * n_words
    return is_of_text or is_of_passage


def _labelled_texts(cell: str) -> list[str]:
    r"""The texts behind labels with one word and a number each, as Giskard joins them; [] for another text.

    >>> _labelled_texts("Document 3: The ferry leaves.\n\nDocument 7: Dogs pay.")
    ['The ferry leaves.', 'Dogs pay.']
    """
    before, *parts = _LABEL.split(cell.strip())
    words_of_labels = set(parts[::2])
    if before or len(words_of_labels) != 1:
        return []
    return [text.strip() for text in parts[1::2] if text.strip()]


def _has_blanks(name: str) -> bool:
    """Whether a name has blanks between words, or a script that may have none."""
    return " " in name.strip() or not name.isascii()


def _only_document(documents: Sequence[str]) -> GoldTarget | None:
    """The target of the only document; None for no document or several."""
    if len(documents) != 1:
        return None
    return GoldTarget(documents[0])


def _heading_key(heading: str) -> str:
    """The words of a heading, also of one as the fragment of an address, joined by hyphens."""
    return words_key(heading.replace("-", " "))


def _windows(text: str) -> list[tuple[str, ...]]:
    """The windows of a text, every `STRIDE_WORDS` words and at the end; a short text is one."""
    text_words = words(text)
    last = max(0, len(text_words) - WINDOW_WORDS)
    starts = sorted({*range(0, last + 1, STRIDE_WORDS), last})
    return [tuple(text_words[start : start + WINDOW_WORDS]) for start in starts]


def _word_ngrams(passage_words: Sequence[str]) -> set[tuple[str, ...]]:
    """The word n-grams of a passage that may equal a window: those of its length, and the whole."""
    whole = tuple(passage_words)
    if len(whole) < WINDOW_WORDS:
        return {whole}
    return {
        whole,
        *zip(*(whole[start:] for start in range(WINDOW_WORDS)), strict=False),
    }


def path_key(path: str) -> str:
    """A path in one spelling: Unicode in form NFC, `/` in place of a backslash, and no `./`."""
    return posixpath.normpath(unicodedata.normalize("NFC", path).replace("\\", "/"))


def address_key(path: str) -> str:
    """A path or URL without capitals, percent signs, ending and `index`, as sites publish it.

    >>> [address_key(name) for name in ("https://x.org/Ferry%20times/", "ferry times.md", "guide/index.md")]
    ['https:/x.org/ferry times', 'ferry times', 'guide']
    """
    return _PAGE_ENDING.sub("", path_key(unquote(path)).casefold()).strip("/")


def _starts(path: str) -> Iterable[int]:
    """The offsets at which the parts of a path begin, without the first."""
    return (match.end() for match in re.finditer("/", path))


def words_key(text: str) -> str:
    """The words of a text, normalised and joined by blanks."""
    return " ".join(words(text))
