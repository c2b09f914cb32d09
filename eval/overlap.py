"""What the training questions share with the questions that results are reported on.

    python eval/overlap.py DATA     writes eval/results/overlap.csv

For each reported set and each training set: questions with the same id; questions whose text nearly repeats (Jaccard
similarity of word 4-grams at least 0.8); questions of the reported set one of whose gold passages is gold in training,
too (by title and text, normalised); and, where ids name them (MuSiQue), questions that share a single hop with one in
training. Questions that are left out of fitting for a set are left out here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from public_sets import REPORTED, TRAINING, reported, training

from kg2rag.datasets.near_duplicates import near_duplicates
from kg2rag.text.normalisation import normalise
from kg2rag.types import QADataset, Question


def main(data: Annotated[Path, typer.Argument(help="The folder of the public sets.")]) -> None:
    """Write the table and show it."""
    fitted = {name: training(data, name) for name in TRAINING}
    rows = []
    for folder in REPORTED:
        judged = reported(data, folder)
        left_out = {question.id for question in judged.questions} if folder == "musique-100" else set()
        for name, train in fitted.items():
            rows.append({"reported": folder, "training": name} | shared(train, judged, left_out))
    table = pd.DataFrame(rows)
    table.to_csv(Path(__file__).resolve().parent / "results" / "overlap.csv", index=False)
    typer.echo(table.to_string(index=False))


def shared(train: QADataset, judged: QADataset, left_out: set[str]) -> dict[str, int]:
    """How many questions of the reported set share what with the training set."""
    fitted = [question for question in train.questions if question.id not in left_out]
    texts = [question.text for question in (*fitted, *judged.questions)]
    repeats = {later for later, earlier in near_duplicates(texts) if later >= len(fitted) > earlier}
    gold = {key for question in fitted for key in gold_texts(train, question)}
    hops = {hop for question in fitted for hop in single_hops(question)}
    return {
        "questions": len(judged),
        "fitted": len(fitted),
        "same_id": len({question.id for question in fitted} & {question.id for question in judged.questions}),
        "near_duplicates": len(repeats),
        "shared_gold": sum(bool(gold & gold_texts(judged, question)) for question in judged.questions),
        "shared_hop": sum(bool(hops & single_hops(question)) for question in judged.questions),
    }


def gold_texts(data: QADataset, question: Question) -> set[str]:
    """The gold passages of a question, as normalised text."""
    rows = [row for passage in data.gold_rows(question).values() for row in passage]
    return {normalise(data.corpus.contents[row]) for row in rows}


def single_hops(question: Question) -> set[str]:
    """The single-hop questions that a MuSiQue question is made of, which its id names: "2hop__42543_20093"."""
    kind, found, hops = question.id.partition("__")
    return set(hops.split("_")) if found and "hop" in kind else set()


if __name__ == "__main__":
    typer.run(main)
