"""Rankings and scores -> the questions of a page as JSON: scores, hits, gold, explanations.

The script of the page reads it. Texts, triples, formulas and labels are stored once and referred to
by numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kg2rag.report.html import as_json
from kg2rag.report.score_sheet import ScoreSheet, decimals
from kg2rag.types.explanation import notes_of, stage_label, terms_of

if TYPE_CHECKING:
    from kg2rag.types import QADataset, Question, Ranking

SHARED_KINDS = ("passages", "triples", "labels", "formulas", "parts")
MAX_HITS, MAX_PASSAGE_CHARACTERS, MAX_NOTE_CHARACTERS = 10, 600, 300
"""Largest parts of a ranking, a passage and a note that the page shows."""
MEGABYTES = 16
"""Default size of the questions with their hits in a page; further questions have only scores."""
NO_FORMULA = -1


@dataclass
class SharedValues:
    """Values that many rankings share, as JSON, numbered from 0 for each kind.

    `size` is the number of their characters.
    """

    size: int = 0
    _values: dict[str, dict[str, tuple[int, str]]] = field(
        default_factory=lambda: {kind: {} for kind in SHARED_KINDS}
    )

    def number(self, kind: str, key: str, make_value: Callable[[], Any]) -> int:
        """The number of the value with a key; a new value is made and stored."""
        values = self._values[kind]
        if key not in values:
            values[key] = len(values), as_json(make_value())
            self.size += len(values[key][1])
        return values[key][0]

    def number_of(self, kind: str, value: Any) -> int:
        """The number of a value that is its own key."""
        return self.number(kind, str(value), lambda: value)

    def lists(self) -> dict[str, str]:
        """Kind -> its values as a JSON list."""
        return {
            kind: f"[{','.join(text for _, text in values.values())}]"
            for kind, values in self._values.items()
        }


@dataclass
class QuestionWriter:
    """Converts the rankings of a question to JSON values that refer to shared values by number.

    data : the data set, with texts and gold; None shows only ids.
    """

    data: QADataset | None
    shared: SharedValues = field(default_factory=SharedValues)

    def hits_of_question(
        self, rankings: Sequence[Ranking], index: int
    ) -> dict[str, Any]:
        """The hits of the systems for a question, and the ranks of its gold."""
        answers: Sequence[str] = ()
        gold: dict[str, list[str]] = {}
        if self.data is not None:
            answers = self.data.questions[index].answers
            gold = _gold(self.data, self.data.questions[index])
        gold_passages = []
        for gold_id, passage_ids in gold.items():
            gold_passages.append([gold_id, list(map(self._passage, passage_ids))])
        systems = [self._ranking(ranking, gold) for ranking in rankings]
        return {"answers": answers, "gold": gold_passages, "systems": systems}

    def _ranking(
        self, ranking: Ranking, gold: Mapping[str, Sequence[str]]
    ) -> dict[str, Any]:
        """The first hits of a ranking, with one list per property, the gold ranks, and the notes."""
        top = ranking.top(MAX_HITS)
        notes = [
            (name, text[:MAX_NOTE_CHARACTERS])
            for name, text in notes_of(ranking).items()
        ]
        return {
            "passages": [self._passage(passage_id) for passage_id in top.passage_ids],
            "scores": [_short_number(score) for score in top.scores],
            **self._stages(top),
            **self._score_parts(top),
            "paths": [self._path(ranking, int(row)) for row in top.rows],
            "gold": _gold_ranks(ranking, gold),
            "length": len(ranking),
            "notes": notes,
        }

    def _stages(self, top: Ranking) -> dict[str, Any]:
        """Lists "stages" and "formulas" with the numbers of the label and the formula of each hit."""
        codes = np.zeros(len(top), int) if top.stage_codes is None else top.stage_codes
        labels = [
            self.shared.number_of("labels", stage_label(top, stage))
            for stage in top.stages
        ]
        formulas = [self._formula(top, stage) for stage in top.stages]
        return {
            "stages": [labels[code] for code in codes],
            "formulas": [formulas[code] for code in codes],
        }

    def _score_parts(self, top: Ranking) -> dict[str, Any]:
        """Number "parts" of the names of the parts of scores, and list "values" of those of each hit."""
        names = [
            name
            for name, column in top.score_parts.items()
            if not np.isnan(column).all()
        ]
        values = []
        for i in range(len(top)):
            values.append([_short_number(top.score_parts[name][i]) for name in names])
        return {"parts": self.shared.number_of("parts", names), "values": values}

    def _formula(self, ranking: Ranking, stage: str) -> int:
        """The number of the formula of a stage; `NO_FORMULA` for none."""
        terms = terms_of(ranking, stage)
        if terms is None:
            return NO_FORMULA
        return self.shared.number_of("formulas", terms)

    def _path(self, ranking: Ranking, row: int) -> list[int]:
        """The numbers of the triples that led to a passage."""
        numbers = []
        for triple in ranking.paths.get(row, ()):
            strength = _short_number(triple.strength)
            value = (
                triple.head,
                triple.relation,
                triple.tail,
                strength,
                triple.description,
            )
            numbers.append(self.shared.number_of("triples", value))
        return numbers

    def _passage(self, passage_id: str) -> int:
        """The number of a passage."""
        return self.shared.number(
            "passages", passage_id, lambda: self._passage_texts(passage_id)
        )

    def _passage_texts(self, passage_id: str) -> list[str]:
        """Id, title ("" if equal to the id) and first part of the text; without data, the id."""
        if self.data is None:
            return [passage_id]
        passage = self.data.corpus[self.data.corpus.row(passage_id)]
        text = passage.text
        if len(text) > MAX_PASSAGE_CHARACTERS:
            text = f"{text[: MAX_PASSAGE_CHARACTERS - 1]}…"
        title = (
            ""
            if passage.title == passage_id
            else passage.title[:MAX_PASSAGE_CHARACTERS]
        )
        return [passage_id, title, text]


def questions_json(
    rankings: Mapping[str, Sequence[Ranking]],
    per_query: pd.DataFrame,
    sheet: ScoreSheet,
    data: QADataset | None = None,
    megabytes: float = MEGABYTES,
) -> str:
    """The questions of a page as JSON.

    Parameters
    ----------
    rankings : system -> its rankings, in the order of the questions.
    per_query : one row per system and question: query_id, system, type, hops, question and one
        column per metric.
    data : the data set, with texts, gold and answers; None shows only ids. ValueError: it has other
        questions.
    megabytes : approximate size of the questions with their hits; further ones have only scores.
    """
    if data is not None:
        _require_questions(rankings, data)
        text_of = {question.id: question.text for question in data.questions}
        per_query = per_query.assign(question=per_query["query_id"].map(text_of))
    writer = QuestionWriter(data)
    hits: list[str] = []
    characters_left = megabytes * 2**20
    for i, of_question in enumerate(zip(*rankings.values(), strict=True)):
        hits.append(as_json(writer.hits_of_question(of_question, i)))
        characters_left -= len(hits[-1])
        if characters_left < writer.shared.size:
            break
    systems = list(rankings)
    questions = [as_json(row) for row in _question_rows(systems, per_query, sheet)]
    parts = {
        "systems": as_json(systems),
        "metrics": as_json(
            [[name, decimals(sheet.scales[name])] for name in sheet.metrics]
        ),
        "questions": f"[{','.join(questions)}]",
        "hits": f"[{','.join(hits)}]",
        "first": as_json(_first_pair(systems, sheet)),
        **writer.shared.lists(),
    }
    return "{" + ",".join(f'"{name}":{text}' for name, text in parts.items()) + "}"


def _require_questions(
    rankings: Mapping[str, Sequence[Ranking]], data: QADataset
) -> None:
    """Raise ValueError if the rankings are of other questions than those of `data`."""
    expected = [question.id for question in data.questions]
    for name, run in rankings.items():
        if [ranking.query_id for ranking in run] != expected:
            raise ValueError(
                f"{data.name} has other questions than the rankings of {name!r}. Pass the data that were compared."
            )


def _gold(data: QADataset, question: Question) -> dict[str, list[str]]:
    """Gold id -> the ids of its passages; for a gold document, of the first ten."""
    ids = data.corpus.ids
    return {
        gold_id: [ids[row] for row in rows[:MAX_HITS]]
        for gold_id, rows in data.gold_rows(question).items()
    }


def _question_rows(
    systems: Sequence[str], per_query: pd.DataFrame, sheet: ScoreSheet
) -> Iterator[tuple[Any, ...]]:
    """Id, text, type, hops and scores by system and metric of each question, as printed.

    In a comparison that was saved without texts, the texts are empty.
    """
    scale = np.array([sheet.scales[metric] for metric in sheet.metrics])
    frame_of = dict(iter(per_query.groupby("system", sort=False)))
    arrays = [
        frame_of[name][sheet.metrics].to_numpy(dtype=float) * scale for name in systems
    ]
    # (n_questions, n_systems, n_metrics), None for a missing score
    scores = np.stack(arrays, axis=1).round(4)
    shown = scores.astype(object)
    shown[np.isnan(scores)] = None
    about = frame_of[systems[0]][["query_id", "question", "type", "hops"]]
    about = about.astype("string").fillna("")
    for row, question_scores in zip(
        about.itertuples(index=False), shown.tolist(), strict=True
    ):
        yield *row, question_scores


def _first_pair(systems: Sequence[str], sheet: ScoreSheet) -> tuple[int, int]:
    """The indices of the two systems that the page shows first: the baseline, and the best other."""
    means = sheet.scores[sheet.scores["metric"] == sheet.metrics[0]].set_index(
        "system"
    )["mean"]
    others = means.drop(sheet.baseline).dropna()
    best = sheet.baseline
    if len(others):
        best = str(others.idxmax())
    return systems.index(sheet.baseline), systems.index(best)


def _gold_ranks(ranking: Ranking, gold: Mapping[str, Sequence[str]]) -> list[int]:
    """The rank of the best passage of each gold unit, from 1; 0 if the ranking has none."""
    if not gold:
        return []
    rank_of = {
        passage_id: rank for rank, passage_id in enumerate(ranking.passage_ids, start=1)
    }
    best_ranks = []
    for passage_ids in gold.values():
        ranks = [
            rank_of[passage_id] for passage_id in passage_ids if passage_id in rank_of
        ]
        best_ranks.append(min(ranks, default=0))
    return best_ranks


def _short_number(value: float) -> float | int | None:
    """A number to five digits; whole numbers without a point, None if it is not finite."""
    if not np.isfinite(value):
        return None
    short: float | int = json.loads(f"{value:.5g}")
    return short
