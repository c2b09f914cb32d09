"""A comparison -> what its page shows of each question: scores, first hits of every system, gold, why each was found.

One JSON text, which the page's script reads. Texts, triples, formulas and labels are stored once and referred to by
their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.report.html import as_json
from kg2rag.report.table import Sheet
from kg2rag.types import QADataset, Question, Ranking
from kg2rag.types.explanation import notes_of, stage_label, terms_of

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("passages", "triples", "labels", "formulas", "parts")
HITS, LETTERS, NOTE = 10, 600, 300
"""What the page shows: so many hits of each ranking, letters of a passage, and letters of a note."""
MEGABYTES = 16
"""Of a page's questions with their hits; of those beyond, it lists the scores alone, and says so."""


class _Writer:
    """Rankings -> JSON that refers to shared values by number. `data` has texts and gold, or is None."""

    def __init__(self, data: QADataset | None) -> None:
        self.data, self.size = data, 0
        self.shared: dict[str, dict[str, tuple[int, str]]] = {kind: {} for kind in KINDS}

    def number(self, kind: str, key: str, value: Callable[[], Any]) -> int:
        """The number of a shared value, which is stored as JSON where its key is new; `size` counts their letters."""
        known = self.shared[kind]
        if key not in known:
            known[key] = len(known), as_json(value())
            self.size += len(known[key][1])
        return known[key][0]

    def found(self, rankings: Sequence[Ranking], question: Question | None) -> dict[str, Any]:
        """What the systems return for a question, and where they rank its gold: of many passages, the first ten."""
        ids = self.data.corpus.ids if self.data else ()
        every = self.data.gold_rows(question) if self.data and question else {}
        gold = {id_: [ids[row] for row in rows[:HITS]] for id_, rows in every.items()}
        return {
            "answers": list(question.answers) if question else [],
            "gold": [[id_, [self._passage(one) for one in passages]] for id_, passages in gold.items()],
            "systems": [self._ranking(ranking, gold) for ranking in rankings],
        }

    def _ranking(self, ranking: Ranking, gold: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        first = ranking.top(HITS)
        codes = np.zeros(len(first), int) if first.stage_codes is None else first.stage_codes
        stages = [ranking.stages[code] for code in codes]
        parts = {name: column for name, column in first.score_parts.items() if not np.isnan(column).all()}
        places = {id_: at for at, id_ in enumerate(ranking.passage_ids, start=1)} if gold else {}
        formulas = {stage: terms_of(ranking, stage) for stage in ranking.stages}
        return {
            "passages": [self._passage(id_) for id_ in first.passage_ids],
            "scores": [_number(score) for score in first.scores],
            "stages": [self._shared("labels", stage_label(ranking, stage)) for stage in stages],
            "formulas": [-1 if formulas[one] is None else self._shared("formulas", formulas[one]) for one in stages],
            "parts": self._shared("parts", list(parts)),
            "values": [[_number(column[at]) for column in parts.values()] for at in range(len(first))],
            "paths": [
                [
                    self._shared("triples", (one.head, one.relation, one.tail, _number(one.strength), one.description))
                    for one in ranking.paths.get(int(row), ())
                ]
                for row in first.rows
            ],
            "gold": [min((places[p] for p in passages if p in places), default=0) for passages in gold.values()],
            "length": len(ranking),
            "notes": [[name, text[:NOTE]] for name, text in notes_of(ranking).items()],
        }

    def _shared(self, kind: str, value: Any) -> int:
        return self.number(kind, str(value), lambda: value)

    def _passage(self, id_: str) -> int:
        def told() -> list[str]:
            if self.data is None:
                return [id_]
            passage = self.data.corpus[self.data.corpus.row(id_)]
            text = passage.text if len(passage.text) <= LETTERS else f"{passage.text[: LETTERS - 1]}…"
            return [id_, passage.title[:LETTERS] if passage.title != id_ else "", text]

        return self.number("passages", id_, told)


def questions_json(
    rankings: Mapping[str, Sequence[Ranking]],
    per_query: pd.DataFrame,
    sheet: Sheet,
    data: QADataset | None = None,
    megabytes: float = MEGABYTES,
) -> str:
    """Everything that the page shows of the questions.

    rankings : system -> its rankings, in the order of the questions.
    per_query : one row per system and question: query_id, system, type, hops, question and one column per metric.
    data : has texts, gold and answers; without it the page shows ids. ValueError: data with other questions.
    megabytes : of the questions with their hits, about; those beyond have scores alone.
    """
    for name, run in rankings.items():
        if data is not None and [ranking.query_id for ranking in run] != [question.id for question in data.questions]:
            told = f"{data.name} has other questions than the rankings of {name!r}."
            raise ValueError(f"{told} Pass the data that were compared.")
    writer, found = _Writer(data), list[str]()
    asked = [as_json(one) for one in _asked(list(rankings), per_query, sheet)]
    left = megabytes * 2**20
    for at, together in enumerate(zip(*rankings.values(), strict=True)):
        found.append(as_json(writer.found(together, data.questions[at] if data else None)))
        left -= len(found[-1])
        if left < writer.size:
            break
    parts = {
        "systems": as_json(list(rankings)),
        "metrics": as_json([[name, sheet.digits(name)] for name in sheet.metrics]),
        "questions": f"[{','.join(asked)}]",
        "found": f"[{','.join(found)}]",
        "first": as_json(_first(list(rankings), sheet)),
        **{kind: f"[{','.join(text for _, text in known.values())}]" for kind, known in writer.shared.items()},
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
