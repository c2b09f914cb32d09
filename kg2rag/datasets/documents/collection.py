"""The passages of many files -> `Documents`, with titles, sentences for extraction, and links.

A heading that several documents have is no title, and no entity is extracted from it. A sentence
that several documents have, numbers aside, is a footer or a notice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kg2rag.datasets.documents.passages.entries import FileEntry
from kg2rag.datasets.documents.passages.excerpts import remove_excerpts, remove_lists
from kg2rag.datasets.documents.passages.furniture import remove_furniture
from kg2rag.datasets.documents.passages.links import resolve_links
from kg2rag.datasets.documents.passages.near_duplicates import near_duplicates
from kg2rag.datasets.documents.passages.splitting import NO_NAME, PassageRow
from kg2rag.datasets.documents.records.tables import read_questions
from kg2rag.datasets.documents.wiki_folders import wiki_titles
from kg2rag.datasets.frames import from_frames
from kg2rag.text.decoding import guessed_encodings
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Passage, QADataset

if TYPE_CHECKING:
    import pandas as pd

WIDE = 10
"""Passages of a section from which only the first has its heading for extraction: else it is a hub."""
COMMON = 4
"""Documents that share a sentence, numbers aside, from which it is left out of extraction."""
SHARED = 3
"""Documents that share a heading, from which it is no title."""
SHOWN = 5
"""Reasons and files in `repr` and in errors."""
_FIELDS = ("id", "title", "text", "doc_id", "position", "metadata")


@dataclass(frozen=True, eq=False)
class Documents(QADataset):
    """A data set of documents, at first without questions.

    Attributes
    ----------
    report : one row per file or record: document, status ("read" or "skipped"), reason (why it was
        skipped), passages, divided (blocks longer than a passage), the numbers of words: words (of
        the file), left_out (navigation, running heads, front matter) and lost (in no passage), and
        remark (such as a guessed encoding, pages without text, examples of lost words).
    """

    report: pd.DataFrame = field(kw_only=True, repr=False)

    def with_questions(self, questions: Any) -> QADataset:
        """The documents with questions, in any shape that `from_frames` takes, or a file of them.

        Gold names passages, documents (by their paths in the folder), titles, pages
        (`a.pdf#page=3`) or headings (`a.md#heading`), or is a text from the passages. The notes of
        the questions are added to those of the documents.
        """
        with guessed_encodings() as guesses:
            rows = (
                read_questions(questions)
                if isinstance(questions, str | Path)
                else questions
            )
        data = from_frames(self.corpus, rows, name=self.name)
        joined = dict[str, object](guesses)
        for notes in (self.source.get("notes"), data.source.get("notes")):
            if isinstance(notes, Mapping):
                joined |= notes
        return replace(data, source={**self.source, "notes": joined})

    def near_duplicates(self) -> pd.DataFrame:
        """One row per passage that nearly repeats an earlier one: passage, of, similarity."""
        return near_duplicates(self.corpus)

    def __repr__(self) -> str:
        lines = [f"Documents({self.name!r}, {self.corpus!r})"]
        skipped = Counter(self.report.loc[self.report["status"] == "skipped", "reason"])
        lines += [
            f"{count:,} skipped: {reason}"
            for reason, count in skipped.most_common(SHOWN)
        ]
        divided = int(self.report["divided"].sum())
        if divided:
            lines.append(f"{divided:,} blocks longer than a passage, divided")
        lost = int(self.report["lost"].sum())
        if lost:
            lines.append(f"{lost:,} words in no passage, see report")
        remarks = self.report[self.report["remark"] != ""].groupby("remark", sort=False)
        for remark, documents in list(remarks["document"])[:SHOWN]:
            more = f" and {len(documents) - 1:,} more" * (len(documents) > 1)
            lines.append(f"{documents.iloc[0]}{more}: {remark}")
        if len(remarks) > SHOWN:
            lines.append(f"{len(remarks) - SHOWN:,} more remarks, see report")
        return "\n  ".join(lines)


def collect(
    name: str,
    entries: Mapping[str, FileEntry],
    source: Mapping[str, object],
    *,
    endings: Sequence[str] = (),
    n_hidden: int = 0,
) -> Documents:
    """The data set of the entries of files; DataError: no file has a text.

    Parameters
    ----------
    entries : path of each file, or id of each record -> its entry.
    source : `QADataset.source` without the corpus and the notes.
    endings : the endings of files that are read, for the error.
    n_hidden : the number of hidden files and folders, for the notes.
    """
    import pandas as pd

    n_repeated = remove_furniture(entries)
    remove_lists(entries)
    n_excerpts = remove_excerpts(entries)
    rows = [row for entry in entries.values() for row in entry.rows]
    notes = Counter(entry.reason for entry in entries.values() if entry.reason)
    if not rows:
        counts = [f"{count} × {reason}" for reason, count in notes.most_common(SHOWN)]
        raise DataError(
            f"{name}: no text in {len(entries)} files ({'; '.join(counts) or 'none'}). Read are {', '.join(endings)}."
        )
    titles = dict[str, list[str]]()
    names = dict[str, list[str]]()
    for entry in entries.values():
        titles |= entry.titles
        names |= entry.names
    _set_titles(rows, titles, wiki_titles(entries))
    _select_sentences(rows)
    resolve_links(rows, names)
    corpus = _corpus_of(rows)
    report = pd.DataFrame([entry.summary(path) for path, entry in entries.items()])
    notes["words in no passage"] = int(report["lost"].sum())
    notes["words that most pages of a folder repeat"] = n_repeated
    notes["words of excerpts of other pages"] = n_excerpts
    notes["hidden files and folders"] = n_hidden
    source = {**source, "corpus": corpus.fingerprint, "notes": dict(+notes)}
    return Documents(name, corpus, (), source=source, report=report)


def _corpus_of(rows: Sequence[PassageRow]) -> Corpus:
    """The corpus of passages, with their `sentences`."""
    passages = [Passage(**{field: row[field] for field in _FIELDS}) for row in rows]
    return Corpus.from_passages(passages, [row["sentences"] for row in rows])


def _set_titles(
    rows: list[PassageRow],
    titles: Mapping[str, list[str]],
    titles_in_wikis: Mapping[str, str],
) -> None:
    """Give the passages of each document its first title that fewer than `SHARED` documents have.

    A title that more have stays with a document if no other has it first: lists show the heading of an
    article below the name of a site. The last title, made of the file's name, serves if there is none. A
    former title that is a heading becomes text of the document's first passage.

    titles : document -> its possible titles, best first.
    titles_in_wikis : document -> its title, if its wiki has a rule for it.
    """
    n_documents = Counter[str]()
    n_first = Counter[str]()
    for candidates in titles.values():
        n_documents.update({title.casefold() for title in candidates[:-1]})
        n_first.update(title.casefold() for title in candidates[:-1][:1])
    for row in rows:
        possible_titles = titles.get(row["doc_id"])
        if possible_titles is None:
            continue
        former = row["title"]
        title = titles_in_wikis.get(
            row["doc_id"], _first_rare(possible_titles, n_documents, n_first)
        )
        if title != former:
            row["title"] = title
            if row["position"] == 0 and former != possible_titles[-1]:
                row["text"] = f"{former}\n{row['text']}"


def _first_rare(
    titles: Sequence[str], n_documents: Mapping[str, int], n_first: Mapping[str, int]
) -> str:
    """The first title that fewer than `SHARED` documents have, or else the last.

    n_documents, n_first : title in lower case -> how many documents have it, and how many have it first.
    """
    if len(titles) > 1 and n_first[titles[0].casefold()] == 1:
        return titles[0]
    rare = (title for title in titles[:-1] if n_documents[title.casefold()] < SHARED)
    return next(rare, titles[-1])


def _select_sentences(rows: list[PassageRow]) -> None:
    """Set `sentences`, the text for extraction: headings of one document, and uncommon sentences."""
    forms = [list(map(without_numbers, row["sentences"])) for row in rows]
    n_documents = Counter(
        form
        for _, form in {
            (row["doc_id"], form)
            for row, row_forms in zip(rows, forms, strict=True)
            for form in row_forms
        }
    )
    for row, row_forms, headings in zip(
        rows, forms, _extracted_headings(rows), strict=True
    ):
        prose = [
            text
            for text, form in zip(row["sentences"], row_forms, strict=True)
            if n_documents[form] < COMMON
        ]
        row["sentences"] = [*_names_of(row), *headings, *prose] or [""]


def _names_of(row: PassageRow) -> list[str]:
    """The sentence that states the other names of a document, for the extraction of names.

    It is in the form that encyclopaedias begin with. Only the first passage has it.
    """
    aliases = row["metadata"].get("aliases")
    if row["position"] or not row["title"] or not isinstance(aliases, list):
        return []
    names = [f"known as {alias}" for alias in aliases if isinstance(alias, str)]
    return [f"{', '.join([row['title'], *names])}, is a page."]


def _extracted_headings(rows: list[PassageRow]) -> Iterator[list[str]]:
    """The headings of each passage from which entities are extracted.

    These are headings that only one document has. The heading of a section of `WIDE` passages
    counts for the first passage only.
    """
    n_passages = Counter(section for row in rows for section in _sections_of(row))
    n_documents = Counter(heading for _, heading in n_passages)
    seen = set[tuple[str, str]]()
    for row in rows:
        sections = [part for part in _sections_of(row) if n_documents[part[1]] == 1]
        yield [
            NO_NAME.sub(" ", section[1])
            for section in sections
            if n_passages[section] < WIDE or section not in seen
        ]
        seen.update(sections)


def _sections_of(row: PassageRow) -> list[tuple[str, str]]:
    """The sections that contain a passage, each as its document and heading."""
    return [(row["doc_id"], heading) for heading in row.get("headings", ())]


def without_numbers(text: str) -> str:
    """A sentence with blanks in place of digits and punctuation, so that dates make no difference."""
    return re.sub(r"[\d\W]+", " ", text).strip()
