"""Systems, a data set and a reader -> the answers that each system's contexts lead to, scored side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kg2rag.answers.context import TOKENS, FormattedContext, assemble
from kg2rag.answers.scores import Rules, check_answers, mean_scores, score_answers
from kg2rag.compute import new_outputs
from kg2rag.evaluation.named_systems import name_systems
from kg2rag.knowledge import KnowledgeBase
from kg2rag.llm.reader import Answers, Reader
from kg2rag.retrievers.contract import Retriever
from kg2rag.text.cells import csv_of
from kg2rag.types import QADataset, at_least, require

FILES = ("answers.csv", "answers.parquet", "contexts.parquet")
"""What `AnswerComparison.save` writes."""


@dataclass(frozen=True, eq=False, repr=False)
class AnswerComparison:
    """What `compare_answers` found: by system, the context of each question, what the reader made of them, the scores.

    `scores` : as `score_answers` gives them; `seed` : of the bootstrap.
    """

    contexts: Mapping[str, Sequence[FormattedContext]]
    answers: Mapping[str, Answers]
    scores: Mapping[str, pd.DataFrame]
    seed: int = 0

    @property
    def common(self) -> list[str]:
        """The questions that every system answered, in order; the table is over these only."""
        first, *others = self.answers.values()
        return [id_ for id_ in first.texts if all(id_ in answers.texts for answers in others)]

    @property
    def table(self) -> pd.DataFrame:
        """One row a system: em, f1, each with the ends of its 95 % interval, questions, failed, tokens of a context."""
        common, rows = self.common, {}
        for name, scores in self.scores.items():
            means = mean_scores(scores, common, seed=self.seed).set_index("metric")
            of = {"": "mean", "_low": "ci_low", "_high": "ci_high"}
            row = {f"{metric}{end}": means.loc[metric, column] for metric in ("em", "f1") for end, column in of.items()}
            tokens = float(np.mean([context.tokens for context in self.contexts[name]]))
            rows[name] = {**row, "questions": len(common), "failed": len(self.answers[name].failed), "tokens": tokens}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("system")

    def to_frame(self) -> pd.DataFrame:
        """One row a system and question: the answer or why there is none, its scores, the tokens of the context."""
        tokens = {name: [context.tokens for context in contexts] for name, contexts in self.contexts.items()}
        frames = [scores.assign(system=name, tokens=tokens[name]) for name, scores in self.scores.items()]
        return pd.concat(frames, ignore_index=True)[["system", *frames[0].columns.drop("system")]]

    def save(self, folder: Path) -> None:
        """Write `answers.csv` (the table), `answers.parquet` (every answer) and `contexts.parquet` (what was read).

        The last has a context's text and, as JSON, all of it as data: its citations and its `graph_context`.
        FileExistsError : a file would be overwritten that kg2rag did not write, or that was edited since.
        """
        rows = [
            (name, id_, context.tokens, context.text, json.dumps(context.to_json(), ensure_ascii=False))
            for name, contexts in self.contexts.items()
            for id_, context in zip(self.answers[name].outcomes, contexts, strict=True)
        ]
        contexts = pd.DataFrame(rows, columns=["system", "query_id", "tokens", "context", "json"])
        with new_outputs(folder, "answers") as partial:
            (partial / "answers.csv").write_text(csv_of(self.table, index=True), encoding="utf-8")
            self.to_frame().to_parquet(partial / "answers.parquet", index=False)
            contexts.to_parquet(partial / "contexts.parquet", index=False)

    def __repr__(self) -> str:
        return self.table.round(3).to_string()

    def _repr_html_(self) -> str:
        return str(self.table.round(3).to_html())


def compare_answers(
    systems: Mapping[str, Retriever],
    data: QADataset,
    kb: KnowledgeBase,
    reader: Reader,
    *,
    k: int = 20,
    tokens: int = TOKENS,
    graph_tokens: int | None = None,
    rules: Rules = "squad",
    seed: int = 0,
) -> AnswerComparison:
    """Retrieve, write the contexts, let the reader answer, score.

    kb : what the systems search; the contexts are written from its corpus and graph.
    k : hits of each query; those that fit are read.
    tokens, graph_tokens : as in `assemble`.
    rules : whose normalisation and F1: see `score_answer`. seed : of the bootstrap.

    Raises ValueError: no system, one whose name cannot name a file, a question without gold answers. CompletionError:
    the endpoint refuses key or model.
    """
    require("rules", rules, Rules)
    require("k", k, int, at_least(1))
    given = name_systems(systems, None, data)
    check_answers(data)
    contexts, answers, scores = {}, {}, {}
    for name, (system, *_) in given.items():
        rankings = system.retrieve_batch(data.queries, k)
        contexts[name] = assemble(kb, data.queries, rankings, tokens=tokens, graph_tokens=graph_tokens)
        answers[name] = reader.read(data.queries, [context.text for context in contexts[name]])
        scores[name] = score_answers(answers[name], data, rules=rules)
    return AnswerComparison(contexts, answers, scores, seed)
