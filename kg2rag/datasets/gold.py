"""Gold as people write it -> passages or documents: ids, paths, titles, headings, pages, texts."""

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

WINDOW_WORDS, STRIDE_WORDS = 5, 3
"""Words of a window of a gold text, and words from one window to the next."""
TEXT_WORDS = 4
"""Words from which gold that names nothing is taken for a text."""
FOUND_SHARE = 0.5
"""Least share of a text's windows in the corpus, and in a single passage that is gold."""
SIMILAR = 60
"""Similarity, up to 100, from which an error suggests a name."""
_SEPARATORS = (";", "|", "\n", ",")
_PAGE = re.compile(r"page=(\d+)")
_PAGE_ENDING = re.compile(
    r"(?:/(?:index|readme))?(?:\.(?:mdx?|markdown|html?|rst|txt|adoc|org|ipynb|qmd|pdf|docx))?$"
)


class GoldTarget(NamedTuple):
    """The target of a piece of gold: a document, passages, or both if a document is one passage."""

    document: str = ""
    passages: tuple[str, ...] = ()


class GoldIndex:
    """The passages and documents of a corpus by every name that gold may have for them."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._rows = defaultdict[str, list[int]](list)
        for row, document in enumerate(corpus.doc_ids):
            self._rows[document].append(row)

    @cached_property
    def _targets_by_id(self) -> Mapping[str, GoldTarget]:
        targets = {document: GoldTarget(document) for document in self._rows}
        for id_ in self.corpus.ids:
            targets[id_] = targets.get(id_, GoldTarget())._replace(passages=(id_,))
        return targets

    def find(self, name: str) -> GoldTarget | None:
        """The target of a name or a text; None if the corpus has nothing of it."""
        return self.find_all([name])[name]

    def find_all(self, names: Iterable[str]) -> dict[str, GoldTarget | None]:
        """The targets of names and texts.

        In this order: an id; a path in another spelling; a page or heading of a document
        (`a.pdf#page=3`, `a.md#heading`); a title; a heading; a text that stands in passages for the
        most part.
        """
        targets = {name: self._by_name(name) for name in names}
        texts = [
            name
            for name, target in targets.items()
            if target is None and _has_blanks(name)
        ]
        return {**targets, **self._by_text(texts)}

    def _by_name(self, name: str) -> GoldTarget | None:
        if name in self._targets_by_id:
            return self._targets_by_id[name]
        return (
            self._by_path(name)
            or self._by_fragment(name)
            or self._by_title(name)
            or self._by_heading(name)
        )

    def has_name(self, name: str) -> bool:
        """Whether an id, a path, a title or a heading of the corpus is called so."""
        return self._by_name(name) is not None

    def passages_of(self, document: str) -> list[str]:
        """The ids of a document's passages."""
        return [self.corpus.ids[row] for row in self._rows[document]]

    def separated(self, cell: str) -> list[str]:
        """The names that `;`, `|`, `,` or line ends join in a cell; none if it joins no names."""
        for separator in _SEPARATORS:
            names = [name.strip() for name in cell.split(separator) if name.strip()]
            if (
                len(names) > 1
                and all(map(self._by_name, names))
                and not self._by_name(cell)
            ):
                return names
        return []

    def is_text(self, name: str) -> bool:
        """Whether unknown gold is a text: several words, or a script without word spaces."""
        return len(words(name)) >= TEXT_WORDS and _has_blanks(name)

    def suggestion(self, name: str) -> str:
        """The id or title that is most like a name, as a question for an error; "" if none is."""
        names = [*self._rows, *dict.fromkeys(filter(None, self.corpus.titles))]
        close = process.extractOne(name, names, scorer=fuzz.ratio, score_cutoff=SIMILAR)
        return f" Did you mean {close[0]!r}?" if close else ""

    def _by_path(self, name: str) -> GoldTarget | None:
        key = path_key(name)
        if key in self._documents_by_path:
            return GoldTarget(self._documents_by_path[key])
        if key in self._passages_by_path:
            return GoldTarget(passages=(self._passages_by_path[key],))
        # An absolute path, or a path from another folder, ends in the document's path; a bare name
        # ends a document's.
        for start in _starts(key):
            ending = key[start:]
            if "/" in ending and ending in self._documents_by_path:
                return GoldTarget(self._documents_by_path[ending])
        return _only_document(
            self._documents_by_ending.get(key, [])
        ) or self._by_address(name)

    def _by_address(self, name: str) -> GoldTarget | None:
        """The document of a path in other capitals, of a file URL, or of a page address."""
        key = address_key(name)
        for start in (
            (0, *_starts(key)) if "/" in name or key != name.casefold() else ()
        ):
            ending = key[start:]
            if start == 0 or "/" in ending:
                target = _only_document(self._documents_by_address.get(ending, []))
                if target:
                    return target
        return None

    @cached_property
    def _documents_by_address(self) -> Mapping[str, list[str]]:
        documents = defaultdict[str, list[str]](list)
        for document in self._rows:
            documents[address_key(document)].append(document)
        return documents

    @cached_property
    def _documents_by_path(self) -> Mapping[str, str]:
        return {path_key(document): document for document in self._rows}

    @cached_property
    def _documents_by_ending(self) -> Mapping[str, list[str]]:
        documents = defaultdict[str, list[str]](list)
        for key, document in self._documents_by_path.items():
            for start in _starts(key):
                documents[key[start:]].append(document)
        return documents

    @cached_property
    def _passages_by_path(self) -> Mapping[str, str]:
        return {path_key(id_): id_ for id_ in self.corpus.ids}

    def _by_fragment(self, name: str) -> GoldTarget | None:
        place, _, fragment = name.rpartition("#")
        rows = self._rows.get(self._document_of(place), [])
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
            target = self._by_path(name) or self._by_title(name) or GoldTarget()
        return target.document

    def _passages_in(self, rows: Sequence[int]) -> GoldTarget | None:
        if not rows:
            return None
        return GoldTarget(passages=tuple(self.corpus.ids[row] for row in rows))

    def _has_page(self, row: int, page: int) -> bool:
        fields = self.corpus[row].metadata
        first = fields.get("page", 0)
        return bool(first) and first <= page <= fields.get("last_page", first)

    @cached_property
    def _rows_by_heading(self) -> Mapping[str, list[int]]:
        rows = defaultdict[str, list[int]](list)
        for row, passage in enumerate(self.corpus):
            headings = passage.metadata.get("headings", ())
            keys = {_heading_key(str(heading)) for heading in headings} - {""}
            for key in keys:
                rows[key].append(row)
        return rows

    def _by_title(self, name: str) -> GoldTarget | None:
        return _only_document(self._documents_by_title.get(words_key(name), []))

    @cached_property
    def _documents_by_title(self) -> Mapping[str, list[str]]:
        documents = defaultdict[str, list[str]](list)
        for document, rows in self._rows.items():
            title = words_key(self.corpus.titles[rows[0]])
            if title:
                documents[title].append(document)
        return documents

    def _by_heading(self, name: str) -> GoldTarget | None:
        rows = self._rows_by_heading.get(_heading_key(name), [])
        if len({self.corpus.doc_ids[row] for row in rows}) > 1:
            return None
        return self._passages_in(rows)

    def _by_text(self, texts: Sequence[str]) -> dict[str, GoldTarget | None]:
        """The passages that hold most of each text, or that it consists of for the most part."""
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
            for run in _runs(passage_words):
                if run in rows_of:
                    rows_of[run].append(row)
        return {
            text: self._best_rows([rows_of[window] for window in text_windows], lengths)
            for text, text_windows in windows.items()
        }

    def _best_rows(
        self, holders: Sequence[Sequence[int]], lengths: Sequence[int]
    ) -> GoldTarget | None:
        """The passages that contain most windows of a text.

        `holders` : for each window, the rows that contain it.
        """
        counts = Counter(chain.from_iterable(holders))
        n_held = sum(map(bool, holders))
        n_needed = FOUND_SHARE * len(holders)
        if not counts or n_held < n_needed:
            return None
        n_best = max(counts.values())
        rows = list[int]()
        for row, count in sorted(counts.items()):
            is_covered = count * STRIDE_WORDS >= FOUND_SHARE * lengths[row]
            if count == n_best or count >= n_needed or is_covered:
                rows.append(row)
        return self._passages_in(rows)


def _has_blanks(name: str) -> bool:
    """Whether there are blanks between words, or words of a script that may have none."""
    return " " in name.strip() or not name.isascii()


def _only_document(documents: Sequence[str]) -> GoldTarget | None:
    """The document, if no other has the name, too."""
    if len(documents) != 1:
        return None
    return GoldTarget(documents[0])


def _heading_key(heading: str) -> str:
    """A heading by its words, which an address joins by hyphens."""
    return words_key(heading.replace("-", " "))


def _windows(text: str) -> list[tuple[str, ...]]:
    """Runs of words of a text; a text shorter than a window is one."""
    text_words = words(text)
    last = max(0, len(text_words) - WINDOW_WORDS)
    starts = sorted({*range(0, last + 1, STRIDE_WORDS), last})
    return [tuple(text_words[start : start + WINDOW_WORDS]) for start in starts]


def _runs(passage_words: Sequence[str]) -> set[tuple[str, ...]]:
    """The runs of words of a passage that may equal a window: of its length, and the whole."""
    whole = tuple(passage_words)
    if len(whole) < WINDOW_WORDS:
        return {whole}
    return {
        whole,
        *zip(*(whole[start:] for start in range(WINDOW_WORDS)), strict=False),
    }


def path_key(path: str) -> str:
    """A path in one spelling: composed letters, `/`, no `./`."""
    return posixpath.normpath(unicodedata.normalize("NFC", path).replace("\\", "/"))


def address_key(path: str) -> str:
    """A path or URL without capitals, percent signs, ending and `index`, as sites publish it.

    >>> [address_key(name) for name in ("https://x.org/Ferry%20times/", "ferry times.md", "guide/index.md")]
    ['https:/x.org/ferry times', 'ferry times', 'guide']
    """
    return _PAGE_ENDING.sub("", path_key(unquote(path)).casefold()).strip("/")


def _starts(path: str) -> Iterable[int]:
    """The places at which the parts of a path begin, except the first."""
    return (match.end() for match in re.finditer("/", path))


def words_key(text: str) -> str:
    """A text by its words."""
    return " ".join(words(text))
