"""Code and identifiers, as written and misspelt -> recall of `dynamic_hybrid`'s rules beside equal weights and others.

    python eval/identifiers.py --cosqa DATA/cosqa-500 > eval/identifiers.md

Every identifier that few passages of the bundled corpus hold is a query, and the passages that hold it are its gold:
as written, with two letters swapped, one left out, one doubled, and as separate words. The bundled questions, by their
type, are mixed traffic. With `--cosqa`, web queries for Python functions follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from public_sets import ENCODER
from scipy.stats import binomtest

import kg2rag
from kg2rag.knowledge import KnowledgeBase
from kg2rag.report.markup import pipe_table
from kg2rag.text.code_names import looks_like_name, split, surfaces
from kg2rag.types import QADataset, Query, Question, Ranking

SYSTEMS = {
    "dense": "dense",
    "bm25": "bm25",
    "hybrid": "hybrid",
    "pattern": "pattern",
    "dynamic_hybrid": "dynamic_hybrid",
    "dynamic_hybrid, equal weights": "dynamic_hybrid(analyser=fixed)",
}
K = 5
MOST_PASSAGES = 3  # that hold an identifier: one that many hold is no name to look up
LETTERS = 6  # that an identifier has at least, so that one typo leaves it recognisable


def swapped(name: str) -> str:
    """The two letters in the middle in the other order."""
    middle = len(name) // 2
    return name[: middle - 1] + name[middle] + name[middle - 1] + name[middle + 1 :]


def shortened(name: str) -> str:
    """The letter in the middle left out."""
    middle = len(name) // 2
    return name[:middle] + name[middle + 1 :]


def doubled(name: str) -> str:
    """The letter in the middle twice."""
    middle = len(name) // 2
    return name[:middle] + name[middle] + name[middle:]


def separate_words(name: str) -> str:
    """The words that the name is made of, in lower case."""
    return " ".join(split(name)).lower()


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as written": str,
    "two letters swapped": swapped,
    "a letter left out": shortened,
    "a letter doubled": doubled,
    "as separate words": separate_words,
}


def identifiers(data: QADataset) -> dict[str, dict[str, int]]:
    """Identifier -> the passages that hold it, for identifiers of `LETTERS` and more in at most `MOST_PASSAGES`."""
    holders: dict[str, dict[str, int]] = {}
    for passage in data.corpus:
        for name in {surface for surface, _ in surfaces(passage.contents)}:
            if looks_like_name(name) and len(name) >= LETTERS and name.isascii():
                holders.setdefault(name, {})[passage.id] = 1
    return {name: holders[name] for name in sorted(holders) if len(holders[name]) <= MOST_PASSAGES}


def question_sets(data: QADataset) -> Iterator[tuple[str, list[Question]]]:
    """The identifiers in each spelling, then the questions of each type and all of them."""
    for spelling, write in SPELLINGS.items():
        yield spelling, [Question(name, write(name), gold) for name, gold in identifiers(data).items()]
    types = sorted({question.type for question in data.questions})
    for kind in types:
        yield f"questions: {kind}", [question for question in data.questions if question.type == kind]
    yield "questions: all", list(data.questions)


def recall(ranking: Ranking, question: Question) -> float:
    """The share of a question's gold among its first hits."""
    return len(set(ranking.passage_ids[:K]) & set(question.gold)) / len(question.gold)


def row(kb: KnowledgeBase, title: str, questions: list[Question]) -> list[str]:
    """A line of the table: the recall of each system, and how often the rules win and lose against equal weights."""
    queries = [Query(question.id, question.text, question.candidates) for question in questions]
    scores = {}
    for name, system in SYSTEMS.items():
        rankings = kg2rag.systems.build(system, kb).retrieve_batch(queries, K)
        scores[name] = np.array([recall(*pair) for pair in zip(rankings, questions, strict=True)])
    rules, equal = scores["dynamic_hybrid"], scores["dynamic_hybrid, equal weights"]
    wins, losses = int((rules > equal).sum()), int((rules < equal).sum())
    p_value = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    means = [f"{100 * values.mean():.1f}" for values in scores.values()]
    return [title, str(len(questions)), *means, f"{wins} : {losses}", f"{p_value:.3f}"]


def main(
    cosqa: Annotated[Path | None, typer.Option(help="Folder of CoSQA, for web queries to functions.")] = None,
    questions: Annotated[int, typer.Option(help="Questions of CoSQA.")] = 200,
) -> None:
    """Print the page."""
    data = kg2rag.load("bundled")
    kb = KnowledgeBase.build(data.corpus, embedder=ENCODER)
    rows = [row(kb, title, asked) for title, asked in question_sets(data) if asked]
    if cosqa is not None:
        code = kg2rag.load("cosqa", path=cosqa)
        code = replace(code, questions=code.questions[:questions])
        functions = KnowledgeBase.build(code.corpus, embedder=ENCODER)
        rows.append(row(functions, "CoSQA", list(code.questions)))
    head = ["queries", "number", *SYSTEMS, "rules win : lose", "p"]
    print("# Identifiers, typos and mixed traffic\n")
    print(f"Recall@{K} in per cent; p of a sign test of the rules against equal weights.")
    print(
        "Written by `python eval/identifiers.py --cosqa DATA/cosqa-500`, whose docstring says how queries are made.\n"
    )
    print("\n".join(pipe_table(head, rows)))
    print("\nThe rules stay the default: on names and typos equal weights are never better, and clearly worse if two")
    print(
        "letters are swapped; on web queries to functions they are clearly worse, too. On the bundled questions equal"
    )
    print("weights are level or better: `dynamic_hybrid(analyser=fixed)`.")


if __name__ == "__main__":
    typer.run(main)
