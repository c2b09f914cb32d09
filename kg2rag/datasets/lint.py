"""QADataset -> the counts of a data set, and faults that may make its scores misleading."""

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
"""Words of a passage: shorter ones match few queries; encoders truncate longer ones at 256 tokens."""


def lint(data: QADataset) -> pd.DataFrame:
    """One row per check that found a fault; an empty table is best.

    Columns: severity ("warning": scores may mislead; "note": scores need this context), check,
    count, examples (the first three ids).
    """
    import pandas as pd

    rows = list[tuple[str, str, int, tuple[str, ...]]]()
    checks = chain(_passage_checks(data), _question_checks(data), _answer_checks(data))
    for check, severity, faulty_ids in checks:
        ids = tuple(faulty_ids)
        if ids:
            rows.append((severity, check, len(ids), ids[:3]))
    notes = data.source.get("notes")
    if isinstance(notes, Mapping):
        rows += [
            ("note", f"loading: {note}", count, ())
            for note, count in sorted(notes.items())
        ]
    return pd.DataFrame(rows, columns=["severity", "check", "count", "examples"])


def info(data: QADataset) -> dict[str, object]:
    """The counts of a data set for the table of a paper; means are over questions or passages."""
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
    """The number of questions with a non-empty field."""
    return sum(bool(getattr(question, field)) for question in questions)


def _reference(data: QADataset) -> dict[str, object]:
    """The licence, citation and homepage of a set that `load` knows; empty texts for others."""
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
"""A check, its severity, and the faulty ids."""


def _passage_checks(data: QADataset) -> Iterator[Check]:
    """The checks of passages: near-duplicates, repeated titles, short and long texts."""
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
    """The checks of questions: repeated texts, and single gold for several hops."""
    texts = [normalise(question.text) for question in data.questions]
    ids = [question.id for question in data.questions]
    yield "questions that repeat an earlier one", "warning", _repeated(texts, ids)
    single = []
    for question in data.questions:
        if (question.hops or 0) > 1 and len(question.gold) == 1:
            single.append(question.id)
    yield "questions of several hops with one gold passage", "warning", single


def _answer_checks(data: QADataset) -> Iterator[Check]:
    """The checks of answers: in the question, yes or no, missing, and in no gold passage."""
    answered = [question for question in data.questions if question.answers]
    yes_no = (question.id for question in filter(_is_yes_no, answered))
    factual = list(filterfalse(_is_yes_no, answered))
    self_answered = []
    not_in_gold = []
    for question in factual:
        if _has_answer(normalise(question.text), question):
            self_answered.append(question.id)
        if not _has_answer(_gold_text(data, question), question):
            not_in_gold.append(question.id)
    yield "questions that contain their answer", "note", self_answered
    yield "questions answered yes or no", "note", yes_no
    unanswered = [question.id for question in data.questions if not question.answers]
    yield "questions without an answer", "note", unanswered
    yield "questions whose answer stands in no gold passage", "note", not_in_gold


def _is_yes_no(question: Question) -> bool:
    """Whether the first answer is yes or no."""
    return normalise(question.answers[0]) in ("yes", "no")


def _gold_text(data: QADataset, question: Question) -> str:
    """The joined normalised texts of a question's gold passages."""
    rows = chain.from_iterable(data.gold_rows(question).values())
    return " ".join(normalise(data.corpus[row].contents) for row in rows)


def _mean(values: Sequence[int], digits: int = 1) -> float | None:
    """The rounded mean; None without values."""
    return round(float(np.mean(values)), digits) if values else None


def _lengths(data: QADataset) -> list[int]:
    """The number of words of each passage, split at blanks."""
    return [len(text.split()) for text in data.corpus.table["text"].to_pylist()]


def _has_answer(text: str, question: Question) -> bool:
    """Whether a normalised text contains an answer of the question at word boundaries."""
    return any(
        answer and f" {answer} " in f" {text} "
        for answer in map(normalise, question.answers)
    )


def _repeated(keys: Sequence[str], ids: Sequence[str]) -> Iterator[str]:
    """The ids whose non-empty key an earlier id has too."""
    seen: set[str] = set()
    for key, id_ in zip(keys, ids, strict=False):
        if key and key in seen:
            yield id_
        seen.add(key)
