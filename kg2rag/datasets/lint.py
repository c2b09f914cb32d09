"""QADataset -> what to know of it before trusting a score: counts, and findings with examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kg2rag.datasets.documents import ALIKE, near_duplicates
from kg2rag.datasets.registry import FAMILIES, names, resolve
from kg2rag.text.normalisation import normalise
from kg2rag.types import QADataset, Question

Severity = Literal["warning", "note"]
SHORT, LONG = 5, 200
"""Words: below SHORT there is little to match; above LONG the usual encoders, which read 256 word pieces, cut off."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth knowing: how many of how many (0 where no total makes sense), and the first few.

    "warning" means that scores may mislead; "note" that they must be read with it in mind.
    """

    severity: Severity
    check: str
    count: int
    of: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        total = f" of {self.of:,}" if self.of else ""
        examples = f" (such as {', '.join(self.examples)})" if self.examples else ""
        return f"{self.severity}: {self.check}: {self.count:,}{total}{examples}"


def lint(data: QADataset, examples: int = 3) -> list[Finding]:
    """Every check that found something, with the first few ids; an empty list is best."""
    findings = []
    for check, severity, found in _checks(data):
        if ids := list(found):
            of = len(data.corpus) if check.startswith("passages") else len(data)
            findings.append(Finding(severity, check, len(ids), of, tuple(ids[:examples])))
    dropped = data.source.get("notes")
    for what, count in sorted(dropped.items()) if isinstance(dropped, Mapping) else ():
        findings.append(Finding("note", f"loading: {what}", count, 0, ()))
    return findings


def info(data: QADataset) -> dict[str, object]:
    """The counts that a paper's table of data sets needs, by name; means are over questions or passages."""
    corpus, questions = data.corpus, data.questions
    candidates = [len(question.candidates) for question in questions if question.candidates is not None]
    loader = str(data.source.get("loader", data.name))
    spec = resolve(loader) if loader in names() or loader.startswith(tuple(FAMILIES)) else None
    return {
        "name": data.name,
        "setting": data.setting,
        "questions": len(data),
        "passages": len(corpus),
        "documents": len(set(corpus.doc_ids)),
        "questions by type": _counts(question.type or "unknown" for question in questions),
        "questions by hops": _counts("unknown" if q.hops is None else str(q.hops) for q in questions),
        "gold per question": round(float(np.mean([len(question.gold) for question in questions])), 2),
        "candidates per question": round(float(np.mean(candidates)), 1) if candidates else None,
        "words per passage": round(float(np.mean(_lengths(data))), 1),
        "words per question": round(float(np.mean([len(question.text.split()) for question in questions])), 1),
        "questions with answers": sum(bool(question.answers) for question in questions),
        "questions with supporting sentences": sum(bool(question.supporting) for question in questions),
        "questions with gold triples": sum(bool(question.triples) for question in questions),
        "graph files": sorted(data.graph_files),
        **{name: getattr(spec, name, "") for name in ("licence", "citation", "homepage")},
    }


def _checks(data: QADataset) -> Iterator[tuple[str, Severity, Iterable[str]]]:
    """Each check, and the ids of what it finds."""
    corpus, asked = data.corpus, data.questions
    alike = (f"{later} ~ {earlier}" for later, earlier, _ in near_duplicates(corpus))
    yield f"passages that nearly repeat an earlier one (Jaccard >= {ALIKE})", "warning", alike
    # The sentences of a paragraph share its title by right.
    titles = [] if data.source.get("passages") == "sentence" else corpus.titles
    yield "passages whose title an earlier one has too", "note", _repeated(titles, corpus.ids)
    words = list(zip(corpus.ids, _lengths(data), strict=True))
    yield f"passages of fewer than {SHORT} words", "note", (id_ for id_, count in words if count < SHORT)
    yield f"passages of more than {LONG} words", "note", (id_ for id_, count in words if count > LONG)
    texts = [normalise(question.text) for question in asked]
    ids = [question.id for question in asked]
    yield "questions that repeat an earlier one", "warning", _repeated(texts, ids)
    lone = (one.id for one in asked if (one.hops or 0) > 1 and len(one.gold) == 1)
    yield "questions of several hops with one gold passage", "warning", lone
    told = (one.id for one, text in zip(asked, texts, strict=True) if not _yes_no(one) and _says(text, one))
    yield "questions that contain their answer", "note", told
    yield "questions answered yes or no", "note", (one.id for one in asked if _yes_no(one))
    yield "questions without an answer", "note", (one.id for one in asked if not one.answers)
    elsewhere = (one.id for one in asked if one.answers and not _yes_no(one) and not _says(_gold_text(data, one), one))
    yield "questions whose answer stands in no gold passage", "note", elsewhere


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _lengths(data: QADataset) -> list[int]:
    return [len(text.split()) for text in data.corpus.table["text"].to_pylist()]


def _yes_no(question: Question) -> bool:
    return bool(question.answers) and normalise(question.answers[0]) in ("yes", "no")


def _says(text: str, question: Question) -> bool:
    """Whether a normalised text has one of the question's answers in it, at word boundaries."""
    answers = map(normalise, question.answers)
    return any(answer and f" {answer} " in f" {text} " for answer in answers)


def _gold_text(data: QADataset, question: Question) -> str:
    rows = (row for rows in data.gold_rows(question).values() for row in rows)
    return " ".join(normalise(data.corpus.contents[row]) for row in rows)


def _repeated(keys: Sequence[str], ids: Sequence[str]) -> Iterator[str]:
    """The ids whose key an earlier one has too; empty keys are no duplicates."""
    seen: set[str] = set()
    for key, id_ in zip(keys, ids, strict=False):
        if key and key in seen:
            yield id_
        seen.add(key)
