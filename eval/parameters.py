"""Every threshold, limit, weight and filter of the designs -> what changes when it alone is set to another value.

    python eval/parameters.py --data DATA

Writes `eval/results/parameters.csv`, and beside it `parameters.json` with what it depended on. The test questions of
2wiki-kg-500 over the graph that a language model extracted for them, which has entity types and confidences; variants
of a system are built and compared as by `kg2rag compare --systems a=X,b=X --set b.PARAMETER=VALUE`. `changed` is the
share of questions whose first `DEPTH` hits are others, or in another order. A pair that changes nothing needs a reason
in `REASONS`, and one that changes something must have none: both are refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

import kg2rag
from kg2rag.compute import DEFAULT_MODEL, embedder_named
from kg2rag.evaluation import evaluate
from kg2rag.retrievers import systems
from kg2rag.retrievers.mention_chains.ranker import DEFAULT

RESULTS = Path(__file__).resolve().parent / "results"
DEPTH = 20
METRICS = ["recall@5", f"recall@{DEPTH}"]
WITHOUT = "eval/coefficients/mention_chains_without_musique100.toml"
PAIRS: dict[str, list[tuple[str, object, object]]] = {
    "graph_augmented": [
        ("hops", 1, 2),
        ("max_chunks", 4, 1),
        ("alpha", 0.7, 0.5),
        ("beta", 0.3, 0.6),
        ("relation_types", None, ["director", "performer"]),
        ("mentions", "passage", "corpus"),
        ("use_graph", True, False),
        ("dense_weight", 0.7, 0.3),
        ("bm25_weight", 0.3, 0.0),
        ("depth", 10, 100),
        ("linker", "ngram+embedding", "fuzzy"),
        ("linker", "ngram+embedding", "ngram:max_passages=2"),
        ("linker", "ngram+embedding", "ngram+embedding:0.65"),
        ("linker", "ngram+embedding", "ngram+embedding:0.4"),
    ],
    "expansion_queries": [
        ("hops", 1, 2),
        ("min_weight", 0.0, 5.0),
        ("min_weight", 0.0, 6.0),
        ("hits", 3, 1),
        ("max_queries", 20, 5),
        ("template", "{seed} {neighbour}", "{seed} {relation} {neighbour}"),
        ("dense_weight", 1.0, 0.5),
        ("graph_weight", 1.0, 0.5),
        ("constant", 60.0, 1.0),
        ("depth", 100, 10),
        ("linker", "ngram+embedding", "phrase"),
    ],
    "confidence_gated": [
        ("depth", 5, 10),
        ("min_score", 0.35, 0.6),
        ("min_confidence", 0.5, 0.0),
        ("min_confidence", 0.5, 0.75),
        ("min_graph_score", 0.3, 0.5),
        ("min_graph_score", 0.3, 0.6),
        ("max_chunks", 4, 1),
        ("hops", 1, 2),
        ("passage_score", "cosine", "constant"),
        ("vector", True, False),
        ("use_graph", True, False),
        ("linker", "phrase", "ngram"),
    ],
    "vector_first": [
        ("depth", 10, 5),
        ("types", None, ["PERSON"]),
        ("entities", 5, 1),
        ("hops", 1, 2),
        ("limit", 20, 2),
        ("max_augmented", 5, 1),
        ("max_total", 15, 12),
        ("boost", 0.1, 1.0),
        ("scoring", "boost", "plain"),
        ("scoring", "boost", "product"),
        ("max_tokens", 4000, 500),
        ("use_graph", True, False),
        ("linker", "ngram:limit=1000", "fuzzy"),
        ("fallback", None, "fuzzy"),
        ("fallback", None, "embedding:0.4"),
    ],
    "practical": [
        ("names", 5, 1),
        ("similar_entities", 3, 0),
        ("min_cosine", 0.6, 0.9),
        ("max_names", 10, 0),
        ("max_triples", 100, 5),
        ("passage_weight", 1.0, 0.5),
        ("entity_weight", 0.5, 0.0),
        ("relation_weight", 0.5, 0.0),
        ("constant", 60.0, 1.0),
        ("depth", 100, 10),
        ("linker", "ngram:limit=1000", "phrase"),
    ],
    "dynamic_hybrid": [
        ("analyser", "rules", "fixed"),
        ("graph", "mention_ppr", "expansion_queries"),
        ("depth", 100, 10),
        ("constant", 60.0, 1.0),
        ("coefficients", DEFAULT, WITHOUT),
        ("weights", None, [0.25, 0.25, 0.25, 0.25]),
        ("sides", "", "dense,bm25,pattern,graph_augmented"),
        ("sides", "", "dense,bm25,pattern:min_similarity=0.9,mention_ppr"),
    ],
    "pattern": [
        ("min_similarity", 0.6, 0.9),
        ("limit", 50, 1),
        ("max_share", 0.05, 0.005),
        ("max_terms", 24, 4),
        ("seconds", 2.0, 5.0),
    ],
}
NAMED = "asked for the few questions alone in which no name is spelt out, and finds no entity there"
STRENGTHS = "the source states no strengths and all are 5: a threshold up to that keeps every triple, one above it none"
REASONS = {
    ("graph_augmented", "linker", "ngram+embedding:0.65"): NAMED,
    ("vector_first", "fallback", "fuzzy"): NAMED,
    ("expansion_queries", "min_weight", "5.0"): STRENGTHS,
    ("confidence_gated", "min_graph_score", "0.5"): STRENGTHS,
    ("confidence_gated", "min_confidence", "0.0"): "no question that names an entity has less than the default's 0.5",
    ("dynamic_hybrid", "coefficients", WITHOUT): "mention_chains alone reads them, and it is not the fourth side",
    ("pattern", "seconds", "5.0"): "a limit of regular expressions, of which no question is one",
}


def main(
    data: Annotated[Path, typer.Option(help="Folder of the public sets.")],
    dtype: Annotated[str, typer.Option()] = "float32",
) -> None:
    """Compare, write and show."""
    folder = data / "2wiki-kg-500"
    questions = kg2rag.load("2wiki-kg", path=folder, split="test")
    source = f"triples:{folder / 'triples_resolved.jsonl'}"
    kb = kg2rag.KnowledgeBase.build(questions.corpus, source, embedder=embedder_named(DEFAULT_MODEL, dtype=dtype))
    rows = [row for system, pairs in PAIRS.items() for row in _rows(system, pairs, questions, kb)]
    table = pd.DataFrame(rows)
    table.to_csv(RESULTS / "parameters.csv", index=False, float_format="%.4f")
    strengths = sorted(set(kb.graph.triples.strengths.tolist()))
    about = {"encoder": DEFAULT_MODEL, "dtype": dtype, "corpus": questions.corpus.fingerprint, "strengths": strengths}
    about |= {"graph": kb.graph.fingerprint, "questions": len(questions), "kg2rag": kg2rag.__version__}
    (RESULTS / "parameters.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    typer.echo(table.to_string(index=False))
    unexplained = table[(table["changed"] == 0) != (table["why"] != "")]
    if len(unexplained):
        raise SystemExit(f"Explain in REASONS what changes nothing, and nothing else:\n{unexplained.to_string()}")


def _rows(
    system: str, pairs: list[tuple[str, object, object]], data: kg2rag.QADataset, kb: kg2rag.KnowledgeBase
) -> list[dict[str, object]]:
    """One row a pair: the system with one value, and with the other, all else its defaults."""
    settings = {f"p{at}.{side}": {name: pair[side]} for at, (name, *pair) in enumerate(pairs) for side in (0, 1)}
    built = {label: systems.build(system, kb, **given) for label, given in settings.items()}
    different = {repr(one): one for one in built.values()}  # the defaults are run once
    found = {name: one.retrieve_batch(data.queries, DEPTH) for name, one in different.items()}
    means = {name: evaluate(rankings, data, METRICS).mean() for name, rankings in found.items()}
    rows = []
    for at, (name, one, other) in enumerate(pairs):
        first, second = (repr(built[f"p{at}.{side}"]) for side in (0, 1))
        both = zip(found[first], found[second], strict=True)
        changed = [left.passage_ids != right.passage_ids for left, right in both]
        scores = {
            f"{metric} {which}": means[label][metric]
            for metric in METRICS
            for which, label in (("one", first), ("other", second))
        }
        values = {"system": system, "parameter": name, "one": _shown(one), "other": _shown(other)}
        why = REASONS.get((system, name, _shown(other)), "")
        rows.append({**values, **scores, "changed": sum(changed) / len(changed), "why": why})
    return rows


def _shown(value: object) -> str:
    """A value as the command line takes it."""
    if value is None or value == "":
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


if __name__ == "__main__":
    typer.run(main)
