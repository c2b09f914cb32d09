"""QADataset -> what to know of it before trusting a score: counts, and findings with examples."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kg2rag.datasets.registry import FAMILIES, names, resolve
from kg2rag.text.normalisation import normalise
from kg2rag.types import QADataset, Question

Severity = Literal["warning", "note"]
Check = Callable[[QADataset], Iterator[str]]
"""Data -> the ids of what is found."""
SHORT, LONG = 5, 200
"""Words: below SHORT there is little to match; above LONG the usual encoders, which read 256 word pieces, cut off."""
THRESHOLD, SHINGLE, SKETCH, BUCKET = 0.8, 4, 8, 40
"""Near duplicates: least Jaccard similarity, words of a shingle, hashes of a sketch, texts kept for each hash."""


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
    """Every check that found something, in the order of `CHECKS`, with the first few ids; an empty list is best."""
    findings = []
    for check, severity, over, find in CHECKS:
        found = list(find(data))
        if found:
            of = len(data.corpus) if over == "passages" else len(data)
            findings.append(Finding(severity, check, len(found), of, tuple(found[:examples])))
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


def _counts(values: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _lengths(data: QADataset) -> list[int]:
    return [len(text.split()) for text in data.corpus.table["text"].to_pylist()]


def _yes_no(question: Question) -> bool:
    return bool(question.answers) and normalise(question.answers[0]) in ("yes", "no")


def _says(text: str, answers: list[str]) -> bool:
    """Whether a normalised text has one of the normalised answers in it, at word boundaries."""
    return any(answer and f" {answer} " in f" {text} " for answer in answers)


def _too_little_gold(question: Question) -> bool:
    return (question.hops or 0) > 1 and len(question.gold) == 1


def _answer_in_question(question: Question) -> bool:
    return not _yes_no(question) and _says(normalise(question.text), [normalise(a) for a in question.answers])


def _answer_in_no_gold(data: QADataset) -> Iterator[str]:
    documents: dict[str, list[int]] = defaultdict(list)
    for row, id_ in enumerate(data.corpus.ids if data.unit == "passage" else data.corpus.doc_ids):
        documents[id_].append(row)
    for question in data.questions:
        if not question.answers or _yes_no(question):
            continue
        gold = " ".join(normalise(data.corpus.contents[row]) for id_ in question.gold for row in documents[id_])
        if not _says(gold, [normalise(answer) for answer in question.answers]):
            yield question.id


def _repeated(keys: list[str], ids: list[str]) -> Iterator[str]:
    """The ids whose key an earlier one has too; empty keys are no duplicates."""
    seen: set[str] = set()
    for key, id_ in zip(keys, ids, strict=True):
        if key and key in seen:
            yield id_
        seen.add(key)


def _duplicate_titles(data: QADataset) -> Iterator[str]:
    if data.source.get("passages") == "sentence":  # the sentences of a paragraph share its title by right
        return iter(())
    return _repeated(data.corpus.titles, data.corpus.ids)


def _duplicate_questions(data: QADataset) -> Iterator[str]:
    return _repeated([normalise(q.text) for q in data.questions], [q.id for q in data.questions])


def _passages_of_length(keep: Callable[[int], bool]) -> Check:
    return lambda data: (id_ for id_, length in zip(data.corpus.ids, _lengths(data), strict=True) if keep(length))


def _questions(keep: Callable[[Question], bool]) -> Check:
    return lambda data: (question.id for question in data.questions if keep(question))


def near_duplicates(texts: Sequence[str], threshold: float = THRESHOLD) -> list[tuple[int, int]]:
    """Pairs (text, first earlier text) whose word 4-grams have a Jaccard similarity of at least `threshold`.

    Two texts are compared, exactly, where their bottom-SKETCH sketches (Broder 1997) have a hash in common: of pairs
    with a similarity J, about (1 - J) ** SKETCH are missed, three in a million at 0.8.
    """
    found = []
    shingles = [hashed_shingles(text) for text in texts]
    known: dict[int, list[int]] = defaultdict(list)
    for later, own in enumerate(shingles):
        sketch = own[:SKETCH].tolist()
        for earlier in sorted({earlier for one in sketch for earlier in known[one]}):
            shared = len(np.intersect1d(own, shingles[earlier], assume_unique=True))
            if shared / (len(own) + len(shingles[earlier]) - shared) >= threshold:
                found.append((later, earlier))
                break
        for one in sketch:
            if len(known[one]) < BUCKET:  # a shingle of many texts is boilerplate
                known[one].append(later)
    return found


def hashed_shingles(text: str) -> NDArray[np.uint64]:
    """The distinct hashes of a text's word 4-grams, ascending; equal in every process. A shorter text is one."""
    from pandas.util import hash_array

    words = normalise(text).split()
    grams = [" ".join(words[start : start + SHINGLE]) for start in range(max(1, len(words) - SHINGLE + 1))]
    return np.unique(hash_array(np.array(grams if words else [], dtype=object), categorize=False))


def _near_duplicates(data: QADataset) -> Iterator[str]:
    ids = data.corpus.ids
    return (f"{ids[second]} ~ {ids[first]}" for second, first in near_duplicates(data.corpus.table["text"].to_pylist()))


CHECKS: tuple[tuple[str, Severity, Literal["passages", "questions"], Check], ...] = (
    (f"passages that nearly repeat an earlier one (Jaccard >= {THRESHOLD})", "warning", "passages", _near_duplicates),
    ("passages whose title an earlier one has too", "note", "passages", _duplicate_titles),
    (f"passages of fewer than {SHORT} words", "note", "passages", _passages_of_length(lambda words: words < SHORT)),
    (f"passages of more than {LONG} words", "note", "passages", _passages_of_length(lambda words: words > LONG)),
    ("questions that repeat an earlier one", "warning", "questions", _duplicate_questions),
    ("questions of several hops with one gold passage", "warning", "questions", _questions(_too_little_gold)),
    ("questions that contain their answer", "note", "questions", _questions(_answer_in_question)),
    ("questions answered yes or no", "note", "questions", _questions(_yes_no)),
    ("questions without an answer", "note", "questions", _questions(lambda q: not q.answers)),
    ("questions whose answer stands in no gold passage", "note", "questions", _answer_in_no_gold),
)
