"""QADataset -> what to know of it before trusting a score: counts, and findings with examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, filterfalse
from typing import TYPE_CHECKING

import numpy as np

from kg2rag.datasets.documents import ALIKE, near_duplicates
from kg2rag.datasets.registry import FAMILIES, describe, names
from kg2rag.text.normalisation import normalise
from kg2rag.types import QADataset, Question

if TYPE_CHECKING:
    import pandas as pd

SHORT, LONG = 5, 200
"""Words of a passage: fewer match little; usual encoders truncate more at 256 word pieces."""


def lint(data: QADataset) -> pd.DataFrame:
    """Every check that found something; no row is best.

    Columns: severity ("warning": scores may mislead; "note": they must be read with it in mind),
    check, count, examples (the first three ids).
    """
    import pandas as pd

    rows = list[tuple[str, str, int, tuple[str, ...]]]()
    for check, severity, ids in chain(
        _passage_checks(data), _question_checks(data), _answer_checks(data)
    ):
        listed = tuple(ids)
        if listed:
            rows.append((severity, check, len(listed), listed[:3]))
    notes = data.source.get("notes")
    if isinstance(notes, Mapping):
        rows += [
            ("note", f"loading: {note}", count, ())
            for note, count in sorted(notes.items())
        ]
    return pd.DataFrame(rows, columns=["severity", "check", "count", "examples"])


def info(data: QADataset) -> dict[str, object]:
    """The counts for a paper's table of data sets; means are over questions or passages."""
    corpus = data.corpus
    questions = data.questions
    candidates = [
        len(question.candidates)
        for question in questions
        if question.candidates is not None
    ]
    types = sorted(question.type or "unknown" for question in questions)
    hops = sorted(str(question.hops or "unknown") for question in questions)
    return {
        "name": data.name,
        "setting": data.setting,
        "questions": len(data),
        "passages": len(corpus),
        "documents": len(set(corpus.doc_ids)),
        "questions by type": dict(Counter(types)),
        "questions by hops": dict(Counter(hops)),
        "gold per question": _mean([len(question.gold) for question in questions], 2),
        "candidates per question": _mean(candidates),
        "words per passage": _mean(_lengths(data)),
        "words per question": _mean(
            [len(question.text.split()) for question in questions]
        ),
        "questions with answers": _n_with("answers", questions),
        "questions with supporting sentences": _n_with("supporting", questions),
        "questions with gold triples": _n_with("triples", questions),
        "graph files": sorted(data.graph_files),
        **_reference(data),
    }


def _n_with(field: str, questions: Sequence[Question]) -> int:
    return sum(bool(getattr(question, field)) for question in questions)


def _reference(data: QADataset) -> dict[str, object]:
    """Licence, citation and homepage of a set that `load` knows; empty for others."""
    loader = str(data.source.get("loader", data.name))
    reference: dict[str, object] = dict.fromkeys(
        ("licence", "citation", "homepage"), ""
    )
    if loader in names() or loader.startswith(tuple(FAMILIES)):
        reference = {
            name: value for name, value in describe(loader).items() if name in reference
        }
    return reference


Check = tuple[str, str, Iterable[str]]
"""A check, its severity, and the ids that it finds."""


def _passage_checks(data: QADataset) -> Iterator[Check]:
    corpus = data.corpus
    pairs = (
        f"{pair.passage} ~ {pair.of}" for pair in near_duplicates(corpus).itertuples()
    )
    yield (
        f"passages that nearly repeat an earlier one (Jaccard >= {ALIKE})",
        "warning",
        pairs,
    )
    # All sentences of a paragraph have its title.
    if data.source.get("passages") != "sentence":
        repeated = _repeated(corpus.titles, corpus.ids)
        yield "passages whose title an earlier one has too", "note", repeated
    lengths = list(zip(corpus.ids, _lengths(data), strict=True))
    short = [passage_id for passage_id, length in lengths if length < SHORT]
    yield f"passages of fewer than {SHORT} words", "note", short
    long = [passage_id for passage_id, length in lengths if length > LONG]
    yield f"passages of more than {LONG} words", "note", long


def _question_checks(data: QADataset) -> Iterator[Check]:
    texts = [normalise(question.text) for question in data.questions]
    ids = [question.id for question in data.questions]
    yield "questions that repeat an earlier one", "warning", _repeated(texts, ids)
    single = []
    for question in data.questions:
        if (question.hops or 0) > 1 and len(question.gold) == 1:
            single.append(question.id)
    yield "questions of several hops with one gold passage", "warning", single


def _answer_checks(data: QADataset) -> Iterator[Check]:
    answered = [question for question in data.questions if question.answers]
    yes_no = (question.id for question in filter(_is_yes_no, answered))
    factual = list(filterfalse(_is_yes_no, answered))
    repeating = []
    elsewhere = []
    for question in factual:
        if _has_answer(normalise(question.text), question):
            repeating.append(question.id)
        if not _has_answer(_gold_text(data, question), question):
            elsewhere.append(question.id)
    yield "questions that contain their answer", "note", repeating
    yield "questions answered yes or no", "note", yes_no
    unanswered = [question.id for question in data.questions if not question.answers]
    yield "questions without an answer", "note", unanswered
    yield "questions whose answer stands in no gold passage", "note", elsewhere


def _is_yes_no(question: Question) -> bool:
    return normalise(question.answers[0]) in ("yes", "no")


def _gold_text(data: QADataset, question: Question) -> str:
    """The normalised texts of a question's gold."""
    rows = chain.from_iterable(data.gold_rows(question).values())
    return " ".join(normalise(data.corpus[row].contents) for row in rows)


def _mean(values: Sequence[int], digits: int = 1) -> float | None:
    return round(float(np.mean(values)), digits) if values else None


def _lengths(data: QADataset) -> list[int]:
    return [len(text.split()) for text in data.corpus.table["text"].to_pylist()]


def _has_answer(text: str, question: Question) -> bool:
    """Whether a normalised text has one of the question's answers in it, at word boundaries."""
    return any(
        answer and f" {answer} " in f" {text} "
        for answer in map(normalise, question.answers)
    )


def _repeated(keys: Sequence[str], ids: Sequence[str]) -> Iterator[str]:
    """The ids whose key an earlier one has too; empty keys are no duplicates."""
    seen: set[str] = set()
    for key, id_ in zip(keys, ids, strict=False):
        if key and key in seen:
            yield id_
        seen.add(key)
