"""Strategies × linkers -> recall, which linker served how many questions, and how many of the links lead to gold.

    python eval/linkers.py compare musique --path DATA/musique-100 --out eval/results/linkers-musique-100.csv
    python eval/linkers.py calibrate musique --path DATA/train/musique/musique_train.jsonl --setting pooled --out FILE

`calibrate` is for training questions: where no name is spelt out, the entity whose name is nearest to the question by
cosine, and whether a gold passage names it. `EmbeddingLinker.min_cosine` may be chosen by it, and by nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

import kg2rag
from kg2rag import systems
from kg2rag.compute import DEFAULT_MODEL, embedder_named
from kg2rag.retrievers import linking
from kg2rag.retrievers.linking.linkers import EmbeddingLinker, Link

STRATEGIES = "graph_augmented,expansion_queries,confidence_gated,vector_first,practical"
LINKERS = "ngram ngram:50 phrase fuzzy ngram+fuzzy ngram+embedding:0.75 ngram+embedding:0.65 ngram+fuzzy+embedding:0.65"
METRICS = ["recall@5", "recall@10"]
FLOORS = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75)

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
Dataset = Annotated[str, typer.Argument()]
Folder = Annotated[Path | None, typer.Option()]
Text = Annotated[str | None, typer.Option()]
Out = Annotated[Path | None, typer.Option(help="Where the table goes as CSV.")]


@app.command()
def compare(
    dataset: Dataset = "bundled",
    path: Folder = None,
    setting: Text = None,
    split: Text = None,
    graph: Annotated[str, typer.Option()] = "mentions",
    strategies: Annotated[str, typer.Option(help="Separated by commas.")] = STRATEGIES,
    linkers: Annotated[str, typer.Option(help="Separated by spaces.")] = LINKERS,
    dtype: Annotated[str, typer.Option()] = "float32",
    out: Out = None,
) -> None:
    """One row a strategy and linker, after one of dense retrieval."""
    data = kg2rag.load(dataset, path=path, setting=setting, split=split)
    kb = kg2rag.KnowledgeBase.build(data.corpus, graph, embedder=embedder_named(DEFAULT_MODEL, dtype=dtype))
    about = {name: _about(kb, data, linking.named(name, kb).link_batch(data.queries)) for name in linkers.split()}
    rows = [("dense", "", systems.build("dense", kb))]
    rows += [
        (name, linker, systems.build(name, kb, linker=linker)) for name in strategies.split(",") for linker in about
    ]
    named = {f"s{number}": system for number, (*_, system) in enumerate(rows)}
    means = kg2rag.compare(named, data, metrics=METRICS).to_frame()[METRICS]
    found = pd.DataFrame(
        {"strategy": name, "linker": linker, **means.loc[f"s{number}"], **about.get(linker, {})}
        for number, (name, linker, _) in enumerate(rows)
    )
    _show(found, out)


@app.command()
def calibrate(
    dataset: Dataset,
    path: Folder = None,
    setting: Text = None,
    limit: Annotated[int | None, typer.Option()] = None,
    seed: Annotated[int, typer.Option()] = 0,
    graph: Annotated[str, typer.Option()] = "mentions",
    dtype: Annotated[str, typer.Option()] = "float32",
    out: Out = None,
) -> None:
    """One row a threshold: of the questions in which no name is spelt out, those linked, and those linked to gold."""
    data = kg2rag.load(dataset, path=path, setting=setting, limit=limit, seed=seed)
    kb = kg2rag.KnowledgeBase.build(data.corpus, graph, embedder=embedder_named(DEFAULT_MODEL, dtype=dtype))
    spelt = linking.named("ngram", kb).link_batch(data.queries)
    nearest = EmbeddingLinker(kb, limit=1, min_cosine=-1).link_batch(data.queries)
    gold = [_gold(kb, data, number, found) for number, found in enumerate(nearest)]
    cosine = np.array([found[0].confidence if found else -1.0 for found in nearest])
    hit, open_ = np.array([any(each) for each in gold]), np.array([not found for found in spelt])
    rows = []
    for who, asked in (("no name spelt out", open_), ("all", np.ones(len(data), dtype=bool))):
        for floor in FLOORS:
            linked = asked & (cosine >= floor)
            counts = {"questions": asked.sum(), "linked": linked.sum(), "to_gold": (linked & hit).sum()}
            rows.append({"set": data.name, "of": who, "min_cosine": floor, **counts})
    _show(pd.DataFrame(rows), out)


def _about(kb: kg2rag.KnowledgeBase, data: kg2rag.QADataset, links: list[list[Link]]) -> dict[str, float | str]:
    """Links a question, the share of them that a gold passage names, and the share of questions of each rung."""
    gold = [each for number, found in enumerate(links) for each in _gold(kb, data, number, found)]
    served = linking.served_by(links)
    return {
        "links": len(gold) / len(links),
        "links_to_gold": float(np.mean(gold)) if gold else float("nan"),
        "served": "; ".join(f"{name} {share:.3f}" for name, share in served.items()),
    }


def _gold(kb: kg2rag.KnowledgeBase, data: kg2rag.QADataset, number: int, links: list[Link]) -> list[bool]:
    """Of each link of a question, whether a gold passage names the entity."""
    rows = [row for own in data.gold_rows(data.questions[number]).values() for row in own]
    return [bool(np.isin(kb.graph.passages_of(link.entity)[0], rows).any()) for link in links]


def _show(found: pd.DataFrame, out: Path | None) -> None:
    if out is not None:
        found.to_csv(out, index=False, float_format="%.6f")
    typer.echo(found.round(3).to_string(index=False))


if __name__ == "__main__":
    app()
