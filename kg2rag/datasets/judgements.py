"""Documents, queries and judgements of a test collection -> corpus and questions; what is left out is counted.

Collections judge documents by a grade; below 1 it says that a document is not relevant, and no gold comes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Passage, Question

Judgement = tuple[str, str, str, int]
"""Where it stands, query, document, grade."""
UNSEARCHED = "queries without a relevant document in this split left out"


def collect(
    where: str,
    documents: Iterable[tuple[str, str, str]],
    queries: Mapping[str, str],
    judgements: Iterable[Judgement],
    *,
    ours: bool = True,
) -> tuple[Corpus, tuple[Question, ...], dict[str, int]]:
    """The corpus, the questions that have a relevant document, and what was left out or changed, and how often.

    Parameters
    ----------
    where : what errors call the collection.
    documents : id, title and text of each; a title alone serves as text.
    queries : id -> text.
    ours : whether what nothing could find is an error, as in files of one's own: a document that is empty, and a
        judgement of a query that is not there. Otherwise it is left out and counted.

    Raises
    ------
    DataError : the former; a document without id, or of an id that stands twice; a judged document that the corpus
        lacks, or one that is judged twice and differently; no question.
    """
    notes: Counter[str] = Counter()
    empty: set[str] = set()
    corpus = Corpus.from_passages(_passages(where, documents, notes, empty, ours=ours))
    known = set(corpus.ids)
    grades: dict[tuple[str, str], int] = {}
    gold: dict[str, dict[str, int]] = {}
    for place, query, document, grade in judgements:
        if query not in queries or document in empty:
            if ours:
                raise DataError(f"{place}: {query!r} is none of the queries. Are both of the same version?")
            notes[f"judgements of {'documents' if query in queries else 'queries'} without text left out"] += 1
        elif document not in known:
            raise DataError(
                f"{place}: {document!r}, judged for query {query!r}, is no document of the corpus. Are judgements "
                "and documents from the same version? kg2rag.from_frames takes what you can repair."
            )
        elif (former := grades.setdefault((query, document), grade)) != grade:
            raise DataError(f"{place}: {query!r} and {document!r} are judged twice, {former} and {grade}.")
        elif grade < 1:
            notes["judgements below 1 left out"] += 1
        elif document in gold.setdefault(query, {}):
            notes["repeated judgements left out"] += 1
        else:
            gold[query][document] = grade
    questions = tuple(Question(id_, text, gold[id_]) for id_, text in queries.items() if gold.get(id_))
    if not questions:
        raise DataError(f"{where}: none of its {len(queries)} queries has a relevant document.")
    notes[UNSEARCHED] = len(queries) - len(questions)
    return corpus, questions, {what: count for what, count in notes.items() if count}


def _passages(
    where: str, documents: Iterable[tuple[str, str, str]], notes: Counter[str], empty: set[str], *, ours: bool
) -> Iterator[Passage]:
    seen: set[str] = set()
    for number, (id_, title, text) in enumerate(documents, start=1):
        place = f"{where}, document {number} ({id_!r})"
        if not id_.strip() or id_ in seen:
            fault = "another has this id" if id_ in seen else "its id is empty"
            raise DataError(f"{place}: {fault}. Each needs its own.")
        seen.add(id_)
        if text.strip():
            yield Passage(id_, title, text, id_, 0)
        elif title.strip():
            notes["documents without text, their title serves as text"] += 1
            yield Passage(id_, "", title, id_, 0)
        elif ours:
            raise DataError(f"{place}: title and text are both empty. Leave the document out.")
        else:
            notes["documents without title and text left out"] += 1
            empty.add(id_)
