"""QADataset -> what to know of it before trusting a score: counts, and findings with examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kg2rag.datasets.documents import ALIKE, near_duplicates
from kg2rag.datasets.registry import FAMILIES, describe, names
from kg2rag.text.normalisation import normalise
from kg2rag.types import QADataset, Question

if TYPE_CHECKING:
    import pandas as pd

SHORT, LONG = 5, 200
"""Words: below SHORT there is little to match; above LONG the usual encoders, which read 256 word pieces, cut off."""


def lint(data: QADataset, examples: int = 3) -> pd.DataFrame:
    """Every check that found something; no row is best.

    Columns: severity ("warning": scores may mislead; "note": they must be read with it in mind), check, count, of (the
    passages or questions there are; 0 where no total makes sense), examples (the first few ids).
    """
    import pandas as pd

    rows: list[tuple[str, str, int, int, tuple[str, ...]]] = []
    for check, severity, found in _checks(data):
        if ids := list(found):
            of = len(data.corpus) if check.startswith("passages") else len(data)
            rows.append((severity, check, len(ids), of, tuple(ids[:examples])))
    dropped = data.source.get("notes")
    for what, count in sorted(dropped.items()) if isinstance(dropped, Mapping) else ():
        rows.append(("note", f"loading: {what}", count, 0, ()))
    return pd.DataFrame(rows, columns=["severity", "check", "count", "of", "examples"])


def info(data: QADataset) -> dict[str, object]:
    """The counts that a paper's table of data sets needs, by name; means are over questions or passages."""
    corpus, questions = data.corpus, data.questions
    candidates = [len(question.candidates) for question in questions if question.candidates is not None]
    loader = str(data.source.get("loader", data.name))
    about = describe(loader) if loader in names() or loader.startswith(tuple(FAMILIES)) else {}
    return {
        "name": data.name,
        "setting": data.setting,
        "questions": len(data),
        "passages": len(corpus),
        "documents": len(set(corpus.doc_ids)),
        "questions by type": _counts(question.type or "unknown" for question in questions),
        "questions by hops": _counts("unknown" if q.hops is None else str(q.hops) for q in questions),
        "gold per question": _mean([len(question.gold) for question in questions], 2),
        "candidates per question": _mean(candidates),
        "words per passage": _mean(_lengths(data)),
        "words per question": _mean([len(question.text.split()) for question in questions]),
        "questions with answers": sum(bool(question.answers) for question in questions),
        "questions with supporting sentences": sum(bool(question.supporting) for question in questions),
        "questions with gold triples": sum(bool(question.triples) for question in questions),
        "graph files": sorted(data.graph_files),
        **{name: about.get(name, "") for name in ("licence", "citation", "homepage")},
    }


def _checks(data: QADataset) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Each check, and the ids of what it finds."""
    corpus, asked, sizes = data.corpus, data.questions, _lengths(data)
    alike = (f"{later} ~ {earlier}" for later, earlier, _ in near_duplicates(corpus))
    yield f"passages that nearly repeat an earlier one (Jaccard >= {ALIKE})", "warning", alike
    # The sentences of a paragraph share its title by right.
    titles = [] if data.source.get("passages") == "sentence" else corpus.titles
    yield "passages whose title an earlier one has too", "note", _repeated(titles, corpus.ids)
    ids = corpus.ids
    yield f"passages of fewer than {SHORT} words", "note", (ids[row] for row, size in enumerate(sizes) if size < SHORT)
    yield f"passages of more than {LONG} words", "note", (ids[row] for row, size in enumerate(sizes) if size > LONG)
    texts = {question.id: normalise(question.text) for question in asked}
    yield "questions that repeat an earlier one", "warning", _repeated(list(texts.values()), list(texts))
    lone = (one.id for one in asked if (one.hops or 0) > 1 and len(one.gold) == 1)
    yield "questions of several hops with one gold passage", "warning", lone
    yes_no = [one for one in asked if one.answers and normalise(one.answers[0]) in ("yes", "no")]
    named = [one for one in asked if one.answers and one not in yes_no]
    yield "questions that contain their answer", "note", (one.id for one in named if _says(texts[one.id], one))
    yield "questions answered yes or no", "note", (one.id for one in yes_no)
    yield "questions without an answer", "note", (one.id for one in asked if not one.answers)
    elsewhere = (one.id for one in named if not _says(_gold_text(data, one), one))
    yield "questions whose answer stands in no gold passage", "note", elsewhere


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _mean(values: Sequence[int], digits: int = 1) -> float | None:
    return round(float(np.mean(values)), digits) if values else None


def _lengths(data: QADataset) -> list[int]:
    return [len(text.split()) for text in data.corpus.table["text"].to_pylist()]


def _says(text: str, question: Question) -> bool:
    """Whether a normalised text has one of the question's answers in it, at word boundaries."""
    return any(answer and f" {answer} " in f" {text} " for answer in map(normalise, question.answers))


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
