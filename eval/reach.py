"""The gold that `mention_chains` misses -> whether a mention leads to it, and where none does, for want of what.

    python eval/reach.py musique --path DATA/musique-100 --out eval/results/reach-musique-100.csv
    python eval/reach.py hotpotqa --path FILE --setting pooled --out eval/results/reach-hotpotqa-train.csv

A gold passage is joined where the question names its title, or where a link or a shared name of the mention graph joins
it to another gold passage of the question. For the others the table says what their text shares with the question and
with the other gold, the first that holds: `Cause`. A row's columns are all gold, the gold that no search found, and the
gold that is a candidate but not among the first `--k`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer
from public_sets import ENCODER

import kg2rag
from kg2rag.retrievers.mention_chains.naming import naming_words
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.mention_ppr.graph import MentionGraph, mention_graph
from kg2rag.text.lexicon import FUNCTION_WORDS, is_date_or_number
from kg2rag.text.normalisation import normalise, without_brackets


class Cause(StrEnum):
    """How a gold passage is joined to what the question gives; the last six are not joined."""

    NAMED = "the question names its title"
    JOINED = "joined to other gold by a mention"
    CUT = "its title is named, but by too many passages"
    SPELLING = "the words of its title, in another order or spelling"
    INITIALS = "the initials of its title"
    PART = "a word of its title"
    NUMBER = "a number"
    WORD = "another naming word"
    NOTHING = "nothing"


PLACES = ("gold", "not_found", "below")


def cause_of(title: str, contents: str, given: str) -> Cause:
    """What an unjoined passage shares with the text that is given: the question and the other gold passages."""
    words, there = normalise(without_brackets(title)).split(), set(joined_initials(given))
    telling = [word for word in words if word not in FUNCTION_WORDS]
    if f" {' '.join(words)} " in f" {normalise(given)} ":
        return Cause.CUT
    if telling and (
        set(telling) <= there or {word for word in joined_initials(title) if len(word) > 1} - FUNCTION_WORDS <= there
    ):
        return Cause.SPELLING
    initials = "".join(word[0] for word in telling)
    if len(initials) > 1 and initials in there:
        return Cause.INITIALS
    if any(len(word) > 2 and word in there for word in telling):
        return Cause.PART
    shared = set(naming_words(contents)) & set(naming_words(given))
    if any(is_date_or_number(word) for word in shared):
        return Cause.NUMBER
    return Cause.WORD if shared else Cause.NOTHING


def joined_initials(text: str) -> list[str]:
    """The normalised words of a text without brackets, each run of single letters as one word too: J. R. R. and jrr."""
    words = normalise(without_brackets(text))
    return [*words.split(), *(run.replace(" ", "") for run in re.findall(r"\b[a-z](?: [a-z]\b)+", words))]


def neighbours(graph: MentionGraph, row: int) -> set[int]:
    """The passages that a title link or a shared name joins to a passage."""
    near = graph.targets[graph.indptr[row] : graph.indptr[row + 1]]
    found = set(near[near < graph.n_passages].tolist())
    for name in near[near >= graph.n_passages].tolist():
        found.update(graph.targets[graph.indptr[name] : graph.indptr[name + 1]].tolist())
    return found - {row}


def causes(kb: kg2rag.KnowledgeBase, graph: MentionGraph, text: str, gold: Sequence[int]) -> dict[int, Cause]:
    """Of each gold passage of a question."""
    table = kb.mentions
    named = {row for key in table.named_in(text) for row in table.pages_of(key).tolist()}
    found = {}
    for row in gold:
        others = [other for other in gold if other != row]
        if row in named:
            found[row] = Cause.NAMED
        elif neighbours(graph, row) & set(others):
            found[row] = Cause.JOINED
        else:
            given = " | ".join([text, *(kb.corpus.contents[other] for other in others)])
            found[row] = cause_of(kb.corpus.titles[row], kb.corpus.contents[row], given)
    return found


def main(
    dataset: Annotated[str, typer.Argument()] = "bundled",
    path: Annotated[Path | None, typer.Option()] = None,
    setting: Annotated[str | None, typer.Option()] = None,
    k: Annotated[int, typer.Option(min=1)] = 5,
    coefficients: Annotated[str, typer.Option()] = "default",
    out: Annotated[Path | None, typer.Option(help="Where the counts go as CSV.")] = None,
) -> None:
    """Count over one data set, show it and write it."""
    data = kg2rag.load(dataset, path=path, setting=setting)
    kb = kg2rag.KnowledgeBase.build(data.corpus, embedder=ENCODER)
    system = MentionChains(kb, coefficients=coefficients)
    graph = mention_graph(kb, system.backward, system.name_weight, system.max_mentions)
    counts: Counter[tuple[Cause, str]] = Counter()
    for question, searched in zip(data.questions, system.searched(data.queries), strict=True):
        if searched is None:
            raise ValueError(f"{question.id}: its candidates are none.")
        gold = sorted({row for rows in data.gold_rows(question).values() for row in rows})
        rows, scores = searched.evidence.rows, searched.scores
        first = set(rows[np.lexsort((rows, -scores))[:k]].tolist())
        for row, cause in causes(kb, graph, question.text, gold).items():
            counts[cause, "gold"] += 1
            if row not in rows:
                counts[cause, "not_found"] += 1
            elif row not in first:
                counts[cause, "below"] += 1
    rows = [{"cause": cause.name.lower()} | {place: counts[cause, place] for place in PLACES} for cause in Cause]
    rows.append({"cause": "all"} | {place: sum(row[place] for row in rows) for place in PLACES})
    table = pd.DataFrame(rows)
    if out is not None:
        table.to_csv(out, index=False)
    typer.echo(table.to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
