"""The passages of many files -> `Documents`: titles that tell files apart, prose in which names are found, and links.

A heading that several documents have is no title and names nothing; a sentence that several have,
numbers aside, is a footer or a notice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kg2rag.datasets.documents.entries import FileEntry
from kg2rag.datasets.documents.links import resolve_links
from kg2rag.datasets.documents.near_duplicates import near_duplicates
from kg2rag.datasets.documents.splitting import NO_NAME, PassageRow
from kg2rag.datasets.documents.tables import read_questions
from kg2rag.datasets.frames import from_frames
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Passage, QADataset

if TYPE_CHECKING:
    import pandas as pd

WIDE = 10
"""Passages of a section from which its heading names something in the first of them only: else it would be a hub."""
COMMON = 4
"""Documents from which a sentence that all of them have, numbers aside, names nothing: a footer, a notice."""
SHARED = 3
"""Documents from which a heading that all of them have is no title."""
SHOWN = 5
"""Reasons and files that `repr` names."""
_FIELDS = ("id", "title", "text", "doc_id", "position", "metadata")


@dataclass(frozen=True, eq=False)
class Documents(QADataset):
    """Documents, and questions about them where there are any.

    Attributes
    ----------
    report : one row a file or record: document, status ("read" or "skipped"), reason (why it was skipped), passages,
        divided (blocks that were longer than a passage), and numbers of words: words (of the file), left_out
        (navigation, running heads, front matter), lost (in no passage); remark (what else to know: a guessed encoding,
        pages without text, which words are lost).
    """

    report: pd.DataFrame = field(kw_only=True, repr=False)

    def with_questions(self, questions: Any) -> QADataset:
        """The documents as a data set; `questions` in any shape that `from_frames` takes, or a file with a table.

        Gold names passages, documents (the files' paths in the folder), titles, pages
        (`a.pdf#page=3`), headings (`a.md#heading`), or is a text that stands in the passages.
        """
        rows = (
            read_questions(questions)
            if isinstance(questions, str | Path)
            else questions
        )
        data = from_frames(self.corpus, rows, name=self.name)
        return replace(data, source={**self.source, "questions": data.source["notes"]})

    def near_duplicates(self) -> pd.DataFrame:
        """Passages that say nearly the same: passage, of (the earlier one), similarity."""
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
    """The documents of many files; DataError where none of them has a text.

    `endings` : of files that are read, for the error; `n_hidden` : hidden files and folders, for the notes.
    """
    import pandas as pd

    rows = [row for entry in entries.values() for row in entry.rows]
    notes = Counter(entry.reason for entry in entries.values() if entry.reason)
    if not rows:
        reasons = (
            "; ".join(
                f"{count} × {reason}" for reason, count in notes.most_common(SHOWN)
            )
            or "none"
        )
        raise DataError(
            f"{name}: no text in {len(entries)} files ({reasons}). Read are {', '.join(endings)}."
        )
    titles, names = dict[str, list[str]](), dict[str, list[str]]()
    for entry in entries.values():
        titles |= entry.titles
        names |= entry.names
    _choose_titles(rows, titles)
    _keep_naming_prose(rows)
    resolve_links(rows, names)
    corpus = _corpus_of(rows)
    report = pd.DataFrame(
        [entry.summary(relative_path) for relative_path, entry in entries.items()]
    )
    notes["words in no passage"] = int(report["lost"].sum())
    notes["hidden files and folders"] = n_hidden
    source = {**source, "corpus": corpus.fingerprint, "notes": dict(+notes)}
    return Documents(name, corpus, (), source=source, report=report)


def _corpus_of(rows: Sequence[PassageRow]) -> Corpus:
    passages = [Passage(**{field: row[field] for field in _FIELDS}) for row in rows]
    return Corpus.from_passages(passages, [row["sentences"] for row in rows])


def _choose_titles(rows: list[PassageRow], titles: Mapping[str, list[str]]) -> None:
    """Give each document the first of its titles that fewer than `SHARED` documents have.

    A heading that is no title becomes text of the document's first passage.
    """
    shared = Counter(
        title
        for offered in titles.values()
        for title in {text.casefold() for text in offered[:-1]}
    )
    chosen = {
        id_: next(
            (title for title in offered[:-1] if shared[title.casefold()] < SHARED),
            offered[-1],
        )
        for id_, offered in titles.items()
    }
    for row in rows:
        former = row["title"]
        title = chosen.get(row["doc_id"], former)
        if title != former:
            row["title"] = title
            if row["position"] == 0:
                row["text"] = f"{former}\n{row['text']}"


def _keep_naming_prose(rows: list[PassageRow]) -> None:
    """Leave in `sentences` what may name something: headings of one document, and sentences that few documents have."""
    sentences = {
        (row["doc_id"], without_numbers(text))
        for row in rows
        for text in row["sentences"]
    }
    n_documents = Counter(text for _, text in sentences)
    for row, headings in zip(rows, _naming_headings(rows), strict=True):
        prose = [
            text
            for text in row["sentences"]
            if n_documents[without_numbers(text)] < COMMON
        ]
        row["sentences"] = [*headings, *prose] or [""]


def _naming_headings(rows: list[PassageRow]) -> Iterator[list[str]]:
    """The headings of each passage that one document has; of a wide section only those of its first passage."""
    sections = Counter(key for row in rows for key in _heading_keys(row))
    n_documents = Counter(heading for _, heading in sections)
    begun = set[tuple[str, str]]()
    for row in rows:
        keys = [key for key in _heading_keys(row) if n_documents[key[1]] == 1]
        yield [
            NO_NAME.sub(" ", key[1])
            for key in keys
            if sections[key] < WIDE or key not in begun
        ]
        begun.update(keys)


def _heading_keys(row: PassageRow) -> list[tuple[str, str]]:
    """The document and the text of each heading of a passage."""
    return [(row["doc_id"], heading) for heading in row.get("headings", ())]


def without_numbers(text: str) -> str:
    """A sentence by its letters, so that a date or a counter in it does not count."""
    return re.sub(r"[\d\W]+", " ", text).strip()
