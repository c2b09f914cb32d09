"""A comparison -> what its page shows of each question: scores, first hits of every system, gold, why each was found.

One JSON text, which the page's script reads. Texts, triples, formulas and labels are stored once and referred to by
their numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.report.html import as_json
from kg2rag.report.question_explanation import check_same_questions
from kg2rag.report.table import Sheet
from kg2rag.types import QADataset, Question, Ranking
from kg2rag.types.explanation import notes_of, stage_label, terms_of

if TYPE_CHECKING:
    import pandas as pd

HITS = 10
"""Hits of each ranking that the page shows."""
LETTERS = 600
"""Of a passage that the page shows."""
NOTE = 300
"""Letters of a note that the page shows."""
MEGABYTES = 16
"""Of a page's questions with their hits; of those beyond, it lists the scores alone, and says so."""


class _Numbered:
    """Values of one kind, each stored once as JSON."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.texts: list[str] = []
        self.size = 0

    def add(self, key: Hashable, value: Any) -> int:
        """The number of the value that `key` identifies."""
        found = self.numbers.get(key)
        if found is None:
            found = self.numbers[key] = len(self.texts)
            self.texts.append(as_json(value))
            self.size += len(self.texts[-1])
        return found


class _Writer:
    """Rankings -> JSON that refers to shared values by number. `data` has texts and gold, or is None."""

    def __init__(self, data: QADataset | None) -> None:
        self.data = data
        self.shared = {kind: _Numbered() for kind in ("passages", "triples", "labels", "formulas", "parts")}

    def size(self) -> int:
        """Letters of the shared values."""
        return sum(one.size for one in self.shared.values())

    def found(self, rankings: Sequence[Ranking], question: Question | None) -> dict[str, Any]:
        """What the systems return for a question, and where they rank its gold."""
        gold = self._gold(question)
        return {
            "answers": list(question.answers) if question else [],
            "gold": [[id_, [self._passage(one) for one in passages]] for id_, passages in gold.items()],
            "systems": [self._ranking(ranking, gold) for ranking in rankings],
        }

    def _gold(self, question: Question | None) -> dict[str, list[str]]:
        """Gold id -> the passages that count as it; of a document of many, the first ten."""
        if question is None or self.data is None:
            return {}
        ids = self.data.corpus.ids
        return {id_: [ids[row] for row in rows[:HITS]] for id_, rows in self.data.gold_rows(question).items()}

    def _ranking(self, ranking: Ranking, gold: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        first = ranking.top(HITS)
        formulas = {stage: self._formula(ranking, stage) for stage in ranking.stages}
        codes = np.zeros(len(first), int) if first.stage_codes is None else first.stage_codes
        stages = [ranking.stages[code] for code in codes]
        parts = {name: column for name, column in first.score_parts.items() if not np.isnan(column).all()}
        places = {id_: at for at, id_ in enumerate(ranking.passage_ids, start=1)} if gold else {}
        return {
            "passages": [self._passage(id_) for id_ in first.passage_ids],
            "scores": [_number(score) for score in first.scores],
            "stages": [self._label(stage_label(ranking, stage)) for stage in stages],
            "formulas": [formulas[stage] for stage in stages],
            "parts": self.shared["parts"].add(tuple(parts), list(parts)),
            "values": [[_number(column[at]) for column in parts.values()] for at in range(len(first))],
            "paths": [[self._triple(one) for one in ranking.paths.get(int(row), ())] for row in first.rows],
            "gold": [min((places[p] for p in passages if p in places), default=0) for passages in gold.values()],
            "length": len(ranking),
            "notes": [[name, text[:NOTE]] for name, text in notes_of(ranking).items()],
        }

    def _passage(self, id_: str) -> int:
        known = self.shared["passages"].numbers.get(id_)
        if known is not None:
            return known
        if self.data is None:
            return self.shared["passages"].add(id_, [id_])
        passage = self.data.corpus[self.data.corpus.row(id_)]
        text = passage.text if len(passage.text) <= LETTERS else f"{passage.text[: LETTERS - 1]}…"
        title = passage.title if passage.title != id_ else ""
        return self.shared["passages"].add(id_, [id_, title[:LETTERS], text])

    def _label(self, text: str) -> int:
        return self.shared["labels"].add(text, text)

    def _triple(self, triple: Any) -> int:
        told = (triple.head, triple.relation, triple.tail, _number(triple.strength), triple.description)
        return self.shared["triples"].add(told, told)

    def _formula(self, ranking: Ranking, stage: str) -> int:
        """The number of a stage's formula, or -1."""
        terms = terms_of(ranking, stage)
        return -1 if terms is None else self.shared["formulas"].add(str(terms), terms)


def questions_json(
    rankings: Mapping[str, Sequence[Ranking]],
    per_query: pd.DataFrame,
    sheet: Sheet,
    data: QADataset | None = None,
    megabytes: float = MEGABYTES,
) -> str:
    """Everything that the page shows of the questions.

    Parameters
    ----------
    rankings : system -> its rankings, in the order of the questions.
    per_query : one row per system and question: query_id, system, type, hops, question and one column per metric.
    data : has texts, gold and answers; without it the page shows ids.
    megabytes : of the questions with their hits, about; those beyond have scores alone.

    Raises
    ------
    ValueError : data with other questions.
    """
    if data is not None:
        check_same_questions(rankings, data)
    writer, found = _Writer(data), list[str]()
    asked = [as_json(one) for one in _asked(list(rankings), per_query, sheet)]
    left = megabytes * 2**20
    for at, together in enumerate(zip(*rankings.values(), strict=True)):
        found.append(as_json(writer.found(together, data.questions[at] if data else None)))
        left -= len(found[-1])
        if left < writer.size():
            break
    parts = {
        "systems": as_json(list(rankings)),
        "metrics": as_json([[name, sheet.digits(name)] for name in sheet.metrics]),
        "questions": f"[{','.join(asked)}]",
        "found": f"[{','.join(found)}]",
        "first": as_json(_first(list(rankings), sheet)),
        **{kind: f"[{','.join(one.texts)}]" for kind, one in writer.shared.items()},
    }
    return "{" + ",".join(f'"{name}":{text}' for name, text in parts.items()) + "}"


def _asked(systems: Sequence[str], per_query: pd.DataFrame, sheet: Sheet) -> Iterator[tuple[Any, ...]]:
    """Each question: id, text, type, hops and the scores by system and metric, in the unit of the tables."""
    scale = np.array([sheet.scale(metric) for metric in sheet.metrics])
    parts = dict(iter(per_query.groupby("system", sort=False)))
    scores = np.stack([parts[name][sheet.metrics].to_numpy(dtype=float) * scale for name in systems], axis=1)
    about = parts[systems[0]][["query_id", "question", "type", "hops"]].astype("string").fillna("")
    for row, own in zip(about.itertuples(index=False), scores.round(4).tolist(), strict=True):
        yield (*row, [[None if score != score else score for score in of_system] for of_system in own])


def _first(systems: Sequence[str], sheet: Sheet) -> tuple[int, int]:
    """The two systems beside each other at first: the baseline and the best other one by the first metric."""
    means = sheet.scores[sheet.scores["metric"] == sheet.metrics[0]].set_index("system")["mean"]
    left = systems.index(sheet.baseline) if sheet.baseline in systems else 0
    others = means.drop(systems[left], errors="ignore").dropna()
    return left, systems.index(str(others.idxmax())) if len(others) else left


def _number(value: float) -> float | int | None:
    """To five digits; whole numbers without a point, what is not finite as null."""
    if not np.isfinite(value):
        return None
    short = float(f"{value:.5g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
