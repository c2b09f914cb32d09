"""Judgements of a test collection -> the gold of its queries; what cannot be judged is counted, what is wrong refused.

Collections judge documents by a grade; below 1 it says that a document is not relevant, and no gold comes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from kg2rag.text.records import DataError
from kg2rag.types import Passage

Judgement = tuple[str, str, str, int]
"""Where it stands, query, document, grade."""


@dataclass
class Collected:
    """A collection while it is read.

    Attributes
    ----------
    where : what errors call it.
    notes : what was left out or changed, and how often.
    empty : the ids of documents without title and text, which no search can find.
    """

    where: str
    notes: Counter[str] = field(default_factory=Counter)
    empty: set[str] = field(default_factory=set)

    def passages(self, documents: Iterable[tuple[str, str, str]]) -> Iterator[Passage]:
        """Each document (id, title, text) as a passage; a title alone serves as text, what is empty is left out.

        Raises DataError: a document without id, or an id that stands twice.
        """
        seen: set[str] = set()
        for number, (id_, title, text) in enumerate(documents, start=1):
            if not id_.strip():
                raise DataError(f"{self.where}, document {number}: its id is empty. Every document needs one.")
            if id_ in seen:
                raise DataError(f"{self.where}, document {number} ({id_!r}): another has this id. Ids must be unique.")
            seen.add(id_)
            if text.strip():
                yield Passage(id_, title, text, id_, 0)
            elif title.strip():
                self.notes["documents without text, their title serves as text"] += 1
                yield Passage(id_, "", title, id_, 0)
            else:
                self.notes["documents without title and text left out"] += 1
                self.empty.add(id_)

    def gold(
        self, judgements: Iterable[Judgement], queries: Collection[str], documents: Collection[str]
    ) -> dict[str, dict[str, int]]:
        """Query -> relevant document -> grade of 1 or more, for the queries that have any.

        Left out and counted: grades below 1, judgements of queries or documents without text, and repeated ones.

        Raises DataError: a document that the corpus lacks, or two grades for one document of a query.
        """
        grades: dict[tuple[str, str], int] = {}
        found: dict[str, dict[str, int]] = {}
        for where, query, document, grade in judgements:
            if query not in queries:
                self.notes["judgements of queries without text left out"] += 1
            elif document in self.empty:
                self.notes["judgements of documents without text left out"] += 1
            elif document not in documents:
                raise DataError(
                    f"{where}: {document!r}, judged for query {query!r}, is no document of the corpus. Are judgements "
                    "and documents from the same version? kg2rag.from_frames takes what you can repair."
                )
            elif (former := grades.setdefault((query, document), grade)) != grade:
                raise DataError(f"{where}: {query!r} and {document!r} are judged twice, {former} and {grade}.")
            elif grade < 1:
                self.notes["judgements below 1 left out"] += 1
            elif document in found.setdefault(query, {}):
                self.notes["repeated judgements left out"] += 1
            else:
                found[query][document] = grade
        return found
