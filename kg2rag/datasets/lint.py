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


def lint(data: QADataset) -> pd.DataFrame:
    """Every check that found something; no row is best.

    Columns: severity ("warning": scores may mislead; "note": they must be read with it in mind), check, count, examples
    (the first three ids).
    """
    import pandas as pd

    found = [(severity, check, list(ids)) for check, severity, ids in _checks(data)]
    rows = [(severity, check, len(ids), tuple(ids[:3])) for severity, check, ids in found if ids]
    dropped = data.source.get("notes")
    notes = sorted(dropped.items()) if isinstance(dropped, Mapping) else ()
    rows += [("note", f"loading: {what}", count, ()) for what, count in notes]
    return pd.DataFrame(rows, columns=["severity", "check", "count", "examples"])


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
        "questions by type": dict(Counter(sorted(one.type or "unknown" for one in questions))),
        "questions by hops": dict(Counter(sorted(str("unknown" if q.hops is None else q.hops) for q in questions))),
        "gold per question": _mean([len(question.gold) for question in questions], 2),
        "candidates per question": _mean(candidates),
        "words per passage": _mean(_lengths(data)),
        "words per question": _mean([len(question.text.split()) for question in questions]),
        "questions with answers": sum(bool(one.answers) for one in questions),
        "questions with supporting sentences": sum(bool(one.supporting) for one in questions),
        "questions with gold triples": sum(bool(one.triples) for one in questions),
        "graph files": sorted(data.graph_files),
        **{name: about.get(name, "") for name in ("licence", "citation", "homepage")},
    }


def _checks(data: QADataset) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Each check, and the ids of what it finds."""
    corpus, asked, sizes = data.corpus, data.questions, _lengths(data)
    alike = (f"{one.passage} ~ {one.of}" for one in near_duplicates(corpus).itertuples())
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
    said = [normalise(text) for text in corpus.contents]
    gold = {one.id: " ".join(said[row] for rows in data.gold_rows(one).values() for row in rows) for one in named}
    elsewhere = (one.id for one in named if not _says(gold[one.id], one))
    yield "questions whose answer stands in no gold passage", "note", elsewhere


def _mean(values: Sequence[int], digits: int = 1) -> float | None:
    return round(float(np.mean(values)), digits) if values else None


def _lengths(data: QADataset) -> list[int]:
    return [len(text.split()) for text in data.corpus.table["text"].to_pylist()]


def _says(text: str, question: Question) -> bool:
    """Whether a normalised text has one of the question's answers in it, at word boundaries."""
    return any(answer and f" {answer} " in f" {text} " for answer in map(normalise, question.answers))


def _repeated(keys: Sequence[str], ids: Sequence[str]) -> Iterator[str]:
    """The ids whose key an earlier one has too; empty keys are no duplicates."""
    seen: set[str] = set()
    for key, id_ in zip(keys, ids, strict=False):
        if key and key in seen:
            yield id_
        seen.add(key)
