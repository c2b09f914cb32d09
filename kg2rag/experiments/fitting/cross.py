"""Training sets -> the weights and coefficients of `mention_chains+cross`; what `kg2rag fit mention_chains+cross` runs.

The network is trained on seven of eight questions and kept in the store. The coefficients are fitted on the eighth,
which it has not seen: for each kind of question, pairwise logistic regression of the gold against every other passage
that it reads, over the score of `mention_chains` and the logit.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kg2rag.compute import Embedder, SentenceEncoder, Store
from kg2rag.compute.store import entry_name
from kg2rag.experiments.fitting import cross_pairs, cross_training
from kg2rag.experiments.fitting.examples import format_of
from kg2rag.experiments.fitting.mention_chains import Block, files_of, fit_pairs
from kg2rag.experiments.fitting.toml import toml_text
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.mention_chains.cross import (
    CONTEXT_WORDS,
    FORMAT,
    MAX_TOKENS,
    PARTS,
    STAGE,
    CrossOrder,
    network_of,
    pairs_of,
)
from kg2rag.retrievers.mention_chains.ranker import DEFAULT, KINDS
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.rerankers.scoring import score_batches
from kg2rag.types import FloatArray, QADataset, Question

RECORD = "training.json"  # beside the weights
HELD = 8  # every so many questions, one is kept for the coefficients
LEAST = 10  # held-out questions of a kind; fewer would fit themselves
Split = Mapping[str, tuple[Sequence[Question], Sequence[Question]]]


def split(sets: Mapping[str, QADataset], leave_out: Collection[str], seed: int) -> Split:
    """Of each set the questions to train on and those kept for the coefficients, by `seed`.

    ValueError: a set has fewer than `HELD` questions left.
    """
    found = {}
    for name, data in sets.items():
        questions = [each for each in data.questions if each.id not in leave_out]
        if len(questions) < HELD:
            raise ValueError(f"{name}: {len(questions)} questions are left; at least {HELD} are needed.")
        held = np.random.default_rng(seed).permutation(len(questions)) % HELD == 0
        parts = ([q for q, kept in zip(questions, held, strict=True) if kept == part] for part in (False, True))
        found[name] = (next(parts), next(parts))
    return found


def recipe_of(
    sets: Mapping[str, QADataset], parts: Split, seed: int, base: SentenceEncoder, store: Store
) -> dict[str, object]:
    """All that the weights depend on but the processor and the libraries: their key in the store."""
    ids = sorted(f"{name}/{each.id}" for name, (train, _) in parts.items() for each in train)
    return {
        "format": FORMAT,
        "base": base.describe(store)["weights_sha256"],
        "seed": seed,
        "questions": len(ids),
        "ids": hashlib.sha256("\n".join(ids).encode()).hexdigest(),
        "files": {
            f"{name}/{file}": str(digest) for name, data in sets.items() for file, digest in files_of(data).items()
        },
        "settings": {
            **cross_training.SETTINGS,
            "max_tokens": MAX_TOKENS,
            "context_words": CONTEXT_WORDS,
            "right": cross_pairs.RIGHT,
            "wrong": cross_pairs.WRONG,
            "lexical": cross_pairs.LEXICAL,
            "with_context": cross_pairs.WITH_CONTEXT,
            "right_context": cross_pairs.RIGHT_CONTEXT,
        },
    }


def weights_in_store(
    sets: Mapping[str, QADataset], parts: Split, seed: int, base: SentenceEncoder, store: Store
) -> tuple[dict[str, object], Path]:
    """Train the network, if the store lacks it: the recipe that is its key, and its folder.

    Checkpoints lie in the store's folder `training` until the weights are whole; a training that was killed goes on.
    """
    recipe = recipe_of(sets, parts, seed, base, store)
    checkpoints = store.root / "training" / entry_name(recipe)

    def build(folder: Path) -> None:
        groups = [one for name, data in sets.items() for one in cross_pairs.groups_of(data, parts[name][0], seed)]
        network, record = cross_training.trained(base.source, groups, checkpoints, seed)
        network.save_pretrained(str(folder), create_model_card=False)
        (folder / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")

    folder = store.entry(STAGE, recipe, build)
    shutil.rmtree(checkpoints, ignore_errors=True)
    return recipe, folder


@dataclass(frozen=True)
class Held:
    """What the held-out questions of one kind show: recall@5 before and after, and by the logit alone."""

    coefficients: Mapping[str, float]
    questions: int
    recalls: Mapping[str, float]


def fit_orders(
    sets: Mapping[str, QADataset], parts: Split, folder: Path, coefficients: str, embedder: Embedder
) -> dict[str, Held]:
    """For each kind of question the coefficients of `PARTS`.

    A kind of fewer than `LEAST` held-out questions that have both gold and other passages among those that are read
    keeps the order of `mention_chains`.
    """
    blocks: dict[str, list[list[list[Block]]]] = {kind: [] for kind in KINDS}
    for name, data in sets.items():
        kb, questions = KnowledgeBase.build(data.corpus, embedder=embedder), parts[name][1]
        asked = dict(zip((each.id for each in data.questions), data.queries, strict=True))
        queries = [asked[each.id] for each in questions]
        rankings = MentionChains(kb, coefficients=coefficients).retrieve_batch(queries, CrossOrder.scored)
        pairs = [
            pairs_of(query.text, data.corpus, ranking, CrossOrder.scored)
            for query, ranking in zip(queries, rankings, strict=True)
        ]
        found: dict[str, list[list[Block]]] = {kind: [] for kind in KINDS}
        scored = zip(questions, rankings, score_batches(network_of(folder), pairs), strict=True)
        for question, ranking, logits in scored:
            gold = np.isin(ranking.rows, [row for rows in data.gold_rows(question).values() for row in rows])
            kind = str(ranking.metadata.get("question"))
            if kind in found and 0 < gold.sum() < len(gold):
                found[kind].append([Block(np.stack([ranking.scores, logits], axis=1), gold, 1.0)])
        for kind, each in found.items():
            blocks[kind] += [each] if each else []
    return {kind: _held(each) for kind, each in blocks.items()}


def _held(sets: Sequence[Sequence[Sequence[Block]]]) -> Held:
    every = [block for questions in sets for blocks in questions for block in blocks]
    model = fit_pairs(sets, PARTS).model if len(every) >= LEAST else None
    coefficients = dict(model.coefficients) if model else dict(zip(PARTS, (1.0, 0.0), strict=True))
    orders = {"before": (1.0, 0.0), "after": tuple(coefficients[name] for name in PARTS), "logit_alone": (0.0, 1.0)}
    recalls = {
        name: round(float(np.mean([_recall(each, np.array(weights)) for each in every])), 4)
        for name, weights in orders.items()
        if every
    }
    return Held(coefficients, len(every), recalls)


def _recall(block: Block, weights: FloatArray) -> float:
    """The share of the gold that is read which is among the first five; equal scores by place."""
    order = np.argsort(-(block.signals @ weights), kind="stable")[:5]
    return float(block.gold[order].sum() / block.gold.sum())


def fit_cross(
    sets: Mapping[str, QADataset],
    *,
    leave_out: Collection[str] = (),
    seed: int = 0,
    coefficients: str = DEFAULT,
    base: SentenceEncoder | None = None,
    embedder: Embedder | None = None,
    store: Store | None = None,
) -> str:
    """Train, if the store lacks the weights, and fit: the text of a file for `weights` of `mention_chains+cross`.

    Parameters
    ----------
    sets : name -> training questions over a corpus of their own.
    leave_out : ids of questions that are neither trained nor fitted on, such as those of a report.
    seed : of what is held out, of the pairs, the first weights and the order of training.
    coefficients : of `mention_chains`, as it takes them; those that the system will be used with.
    base : the model whose weights are the initial ones; the default encoder where it is None.
    embedder : of `mention_chains`; the default encoder in float32, which every processor has, where it is None.
    store : where the weights go; the default store where it is None.

    Raises
    ------
    ValueError : a set has fewer than `HELD` questions left. ImportError : the extra `train` is not installed.
    """
    parts = split(sets, leave_out, seed)
    recipe, folder = weights_in_store(sets, parts, seed, base or SentenceEncoder(), store or Store())
    embedder = embedder or SentenceEncoder(dtype="float32")
    held = fit_orders(sets, parts, folder, coefficients, embedder)
    head = [
        "# Written by `kg2rag fit mention_chains+cross`: score = chains · score of mention_chains + cross · logit.",
        f"format = {FORMAT}",
    ]
    tables: dict[str, Mapping[str, object]] = {
        "fitted": json.loads((folder / RECORD).read_text(encoding="utf-8")) | {"vectors": format_of(embedder)},
        "recipe": recipe,
    }
    for kind, each in held.items():
        values = (each.coefficients[name] for name in PARTS)
        tables[f"order.{kind}"] = dict(zip(("chains", "cross"), values, strict=True))
        tables[f"held.{kind}"] = {"questions": each.questions, **{f"recall_{k}": v for k, v in each.recalls.items()}}
    return toml_text(head, tables)
