"""Scored runs -> the printed table, the page, and the number of further questions needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from kg2rag import report
from kg2rag.evaluation.per_query import GROUPS, grouped_means
from kg2rag.evaluation.power import MIN_QUESTIONS, questions_needed
from kg2rag.evaluation.reader_answers import (
    BOUNDS,
    F1,
    bounds_table,
    passage_gains,
    questions_for,
    uses_passages,
)
from kg2rag.evaluation.returned_sizes import larger_sets
from kg2rag.evaluation.scored_runs import ScoredRuns
from kg2rag.evaluation.significance import against_placebo, pair_table
from kg2rag.evaluation.verdict import MIN_GAIN, Verdict
from kg2rag.report.score_sheet import count_range
from kg2rag.types import QADataset

MAX_SYSTEMS_FOR_PAIRS = 10
"""Largest number of systems for which the page tests every pair."""


def sheet_of(scored: ScoredRuns, *, with_stored: bool = True) -> report.ScoreSheet:
    """The content of the printed table.

    with_stored : whether to name runs from the store and the cost of a reader. A saved page does
    not, so that the same command writes the same bytes.
    """
    return report.ScoreSheet(
        scores=scored.scores,
        ms_per_query=scored.ms_per_query,
        baseline=scored.baseline,
        config=scored.config,
        larger=larger_sets(scored.sizes),
        build_seconds=scored.build_seconds,
        stored=scored.stored if with_stored else {},
        bounds=None
        if scored.answers is None
        else bounds_table(scored.answers, scored.seed),
        reader_notes=reader_notes(scored, with_usage=with_stored),
    )


def reader_notes(scored: ScoredRuns, *, with_usage: bool = True) -> list[str]:
    """Notes on the answers of a reader and its failures; [] without a reader.

    with_usage : whether to add a note on its requests.
    """
    if scored.answers is None:
        return []
    notes = [_reader_note(scored), _failures_note(scored.answers)]
    if with_usage and scored.usage:
        notes.append(f"Reader: {scored.usage}.")
    return [note for note in notes if note]


def _reader_note(scored: ScoredRuns) -> str:
    """The note on the numbers of questions that separate the systems, by answers and by recall."""
    assert scored.answers is not None
    metric = "recall@5" if "recall@5" in scored.metrics else scored.metrics[0]
    recall = _questions_text(
        questions_for(scored.scores_of(metric), scored.baseline, MIN_GAIN)
    )
    means = [
        scored.answers.loc[scored.answers["system"] == bound, F1].mean()
        for bound in BOUNDS
    ]
    closed_book, gold = (f"{100 * mean:.1f}" for mean in means)
    points = f"{100 * MIN_GAIN:.0f} points of {metric}"
    if not uses_passages(scored.answers, scored.seed):
        return (
            f"Gold passages do not raise {F1} of this reader significantly ({closed_book} without "
            f"passages, {gold} with them). Its answers cannot separate the systems and are not "
            f"tested. A difference of {points} needs {recall}."
        )
    gain = MIN_GAIN * float(passage_gains(scored.answers).mean())
    answers = _questions_text(
        questions_for(scored.scores_of(F1), scored.baseline, gain)
    )
    return (
        f"Gold passages raise {F1} of this reader from {closed_book} to {gold}, so {points} "
        f"correspond to about {100 * gain:.1f} points of {F1}. Such a difference needs {answers} "
        f"by {F1} and {recall} by {metric} (80 % power; median over systems)."
    )


def _questions_text(fewest_and_most: tuple[int, int] | None) -> str:
    """A range of questions in words; None is an unknown range."""
    if fewest_and_most is None:
        return f"an unknown number of questions (fewer than {MIN_QUESTIONS} were asked)"
    return f"{count_range(*fewest_and_most)} questions"


def _failures_note(answers: pd.DataFrame) -> str:
    """The note on failed answers; "" if none failed."""
    failed = answers[answers["failure"].notna()]
    if failed.empty:
        return ""
    first = failed.iloc[0]
    return (
        f"{len(failed)} of {len(answers)} answers failed; the scores of answers leave their "
        f"questions out. The first failure ({first['system']}, question {first['query_id']!r}): "
        f"{first['failure']}."
    )


def page_of(
    scored: ScoredRuns,
    *,
    data: QADataset | None,
    verdict: Verdict | None,
    further: Sequence[report.HtmlPage] = (),
    megabytes: float = report.MEGABYTES,
) -> str:
    """The page of a comparison; see `Comparison.to_html`."""
    sheet = sheet_of(scored, with_stored=False)
    questions = report.questions_json(
        scored.rankings, scored.per_query, sheet, data, megabytes
    )
    scripts = {"page.js": questions}
    if scored.unjudged is not None:
        scripts["label.js"] = labelling_of(scored).data()
    varied = [name for name in GROUPS if len(scored.per_query[name].unique()) > 1]
    return report.page(
        sheet,
        data=scripts,
        curves={"k": scored.curve, "tokens": scored.token_curve},
        groups={
            name: grouped_means(scored.per_query, name, scored.metrics)
            for name in varied
        },
        tests=_tests_of_page(scored),
        verdict=verdict,
        further=further,
    )


def _tests_of_page(scored: ScoredRuns) -> dict[str, pd.DataFrame]:
    """The tests of a page in the first metric: "pairs" of up to ten systems, and "placebos"."""
    metric = scored.metrics[0]
    tests = {}
    if 1 < len(scored.systems) <= MAX_SYSTEMS_FOR_PAIRS:
        tests["pairs"] = pair_table(scored.scores_of(metric), scored.seed)
    if scored.has_placebos:
        tests["placebos"] = against_placebo(scored.per_query, scored.per_seed, metric)
    return tests


def questions_needed_table(
    scored: ScoredRuns, metric: str, min_gain: float
) -> pd.DataFrame:
    """The numbers of questions that detect a difference `min_gain` from the baseline, per system.

    Columns system, difference, spread (standard deviation over the questions), needed_low and
    needed_high (the range of all questions), more_low and more_high (of further questions); see
    `power.questions_needed`. The last four are blank below `MIN_QUESTIONS` questions.
    """
    scores = scored.scores_of(metric)
    baseline = scores.pop(scored.baseline)
    rows = []
    for name, values in scores.items():
        differences = values - baseline
        spread = differences.std(ddof=1) if len(differences) > 1 else np.nan
        needed = questions_needed(differences, min_gain) or (None, None)
        rows.append((name, differences.mean(), spread, *needed))
    ends = ["needed_low", "needed_high"]
    table = pd.DataFrame(rows, columns=["system", "difference", "spread", *ends])
    table[ends] = table[ends].astype("Int64")
    table[["more_low", "more_high"]] = (table[ends] - len(baseline)).clip(lower=0)
    return table


def labelling_of(scored: ScoredRuns) -> report.Labelling:
    """The page on which the hits of the questions without gold are judged.

    It estimates the number of questions to judge; the questions with gold count by their recall at
    the depth of the pool.

    ValueError: all questions have gold, or the comparison was loaded.
    """
    if scored.unjudged is None:
        raise ValueError(
            "The comparison has no questions without gold. Add some by data.with_questions(FILE) and "
            "compare again."
        )
    metric = f"recall@{scored.unjudged.k}"
    scores: list[list[float]] = []
    if metric in scored.metrics:
        scores = np.stack([*scored.scores_of(metric).values()], axis=1).tolist()
    return scored.unjudged.label(scores, baseline=scored.baseline)
