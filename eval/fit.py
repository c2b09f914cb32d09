"""Training questions of many kinds -> the coefficients of `mention_chains`, as a TOML file that the system reads.

    python eval/fit.py DATA --out COEFFICIENTS.toml
    python eval/fit.py DATA --out COEFFICIENTS.toml --encoder MODEL --sets musique,hotpotqa,2wiki,docs --questions 60
    python eval/fit.py DATA --leave-one-out eval/results/domains/leave_one_out.parquet
    kg2rag compare ... --set mention_chains.coefficients=COEFFICIENTS.toml

`eval/domains.toml` names the sets. Two models are fitted on sets with chains. start: logistic
regression over all candidates, gold or not. step: pairwise logistic regression; after each one or
two gold candidates of a question, the remaining gold against every other candidate, as differences
of signals. The models single, chain and gate are fitted on all sets together, as a mixture: maximum
likelihood of each gold candidate against the candidates that are not gold, by softmax, with a
penalty of `PENALTY` · |coefficients|². Sets have equal weights, as have the questions of a set.
Signals are standardised for the fit only.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from public_sets import load_set, table, training_set

from kg2rag.compute import SentenceEncoder, write
from kg2rag.compute.parallel import progress_bar
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.mention_chains.chain_search import ChainSearch
from kg2rag.retrievers.mention_chains.chains import LEAST, Beam, chains_of
from kg2rag.retrievers.mention_chains.coefficients import (
    FORMAT,
    WITH,
    WITHOUT,
    Linear,
    Ranker,
    digest,
)
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.mention_chains.signals import (
    MODELS,
    Evidence,
    Signals,
    names_of,
    step_signals,
)
from kg2rag.text.registry import unknown
from kg2rag.types import FloatArray, QADataset, Question

if TYPE_CHECKING:
    import torch

BLOCK_QUESTIONS = 32  # between two updates of the progress bar
REGULARISATION = 0.1  # C of scikit-learn, for start and step
PENALTY = 1e-3
ITERATIONS = 60  # of L-BFGS
MAX_MEMBERS = 2  # gold passages that a step continues
EXPERTS = ("single", "chain")
SEARCHES = ("bm25", "dense", "walk")
SEARCH_DEPTH = 100
# a reported set whose questions are among the training questions of MuSiQue
LEFT_OUT = "musique-100"


@dataclass(frozen=True)
class Example:
    """One question with its m candidates.

    Attributes
    ----------
    evidence : the signals of the candidates.
    gold : (m,) whether each candidate is a gold passage.
    gold_rows : for each gold passage, its rows of the corpus; several if the corpus has equal passages.
    rankings : search -> its first rows.
    """

    evidence: Evidence
    gold: NDArray[np.bool_]
    text: str
    gold_rows: list[list[int]]
    rankings: Mapping[str, list[int]]

    def recall(self, rows: Sequence[int], k: int = 5) -> float:
        """The share of gold passages among the first `k` rows; one of several equal passages is enough."""
        first = set(rows[:k])
        return float(np.mean([not first.isdisjoint(rows) for rows in self.gold_rows]))


Sets = Mapping[str, Sequence[Example]]
Questions = Sequence[tuple[Signals, NDArray[np.bool_]]]
"""The signals of each question's candidates, (m,) each, and whether each candidate is gold, (m,)."""


def examples_of(
    data: QADataset, excluded: Collection[str], encoder: SentenceEncoder
) -> list[Example]:
    """The questions of a set with at least `LEAST` candidates; `excluded`: ids of questions to leave out."""
    system = MentionChains(KnowledgeBase.build(data.corpus, embedder=encoder))
    questions = zip(data.questions, data.queries, strict=True)
    included = [
        (question, query)
        for question, query in questions
        if question.id not in excluded
    ]
    examples = []
    with progress_bar(len(included), data.name, "question") as bar:
        for start in range(0, len(included), BLOCK_QUESTIONS):
            block = included[start : start + BLOCK_QUESTIONS]
            results = system.chain_searches([query for _, query in block])
            for (question, _), search in zip(block, results, strict=True):
                if search is not None and len(search.evidence.rows) >= LEAST:
                    examples.append(example_of(question, search, data))
            bar.update(len(block))
    return examples


def example_of(question: Question, search: ChainSearch, data: QADataset) -> Example:
    """A question with the results of its searches."""
    gold_rows = [sorted(rows) for rows in data.gold_rows(question).values()]
    is_gold = np.isin(search.evidence.rows, [row for rows in gold_rows for row in rows])
    rankings = {}
    for name in SEARCHES:
        rankings[name] = getattr(search.searches, name).rows[:SEARCH_DEPTH].tolist()
    return Example(search.evidence, is_gold, question.text, gold_rows, rankings)


# Start and step -----------------------------------------------------------------------------------
# -------------------


def fit_start(sets: Sets, names: Sequence[str]) -> Linear:
    """The model of a candidate where chains start."""
    signals, gold, weights = [], [], []
    for example, set_size in with_set_size(sets):
        signals.append(
            np.stack([example.evidence.single[name] for name in names], axis=1)
        )
        gold.append(example.gold)
        weights.append(np.full(len(example.gold), 1 / (len(example.gold) * set_size)))
    all_signals, all_weights = np.concatenate(signals), np.concatenate(weights)
    mean, deviation = _mean_and_deviation(all_signals, all_weights)
    intercept, standardised = _logistic(
        (all_signals - mean) / deviation,
        np.concatenate(gold),
        all_weights,
        intercept=True,
    )
    coefficients = standardised / deviation
    return _linear(names, coefficients, intercept - float(coefficients @ mean))


def with_set_size(sets: Sets) -> Iterator[tuple[Example, int]]:
    """Each example with the number of examples in its set, the divisor of its weight."""
    for examples in sets.values():
        for example in examples:
            yield example, len(examples)


@dataclass(frozen=True)
class Continuation:
    """The candidates that may continue a set of gold passages: signals (n, n_signals), gold (n,), and its weight."""

    signals: FloatArray
    gold: np.ndarray
    weight: float


def _continuations(
    example: Example, start: FloatArray, names: Sequence[str]
) -> Iterator[Continuation]:
    """All sets of one or two gold passages that leave a gold passage over; their weights sum to 1."""
    gold = np.flatnonzero(example.gold).tolist()
    members: list[tuple[int, ...]] = []
    for size in range(1, min(MAX_MEMBERS, len(gold) - 1) + 1):
        members += combinations(gold, size)
    for chain in members:
        signals = step_signals(
            example.evidence, start, np.array([chain]), MentionChains.gain_temperature
        )
        remaining = np.delete(np.arange(len(start)), chain)
        columns = np.stack([signals[name][0] for name in names], axis=1)
        yield Continuation(
            columns[remaining], example.gold[remaining], 1 / len(members)
        )


def fit_step(sets: Sets, start: Linear, names: Sequence[str]) -> Linear:
    """The model that ranks the remaining gold passages of a chain above other candidates."""
    continuations = []
    for example, set_size in with_set_size(sets):
        for continuation in _continuations(
            example, start(example.evidence.single), names
        ):
            continuations.append((continuation, set_size))
    signals = np.concatenate(
        [continuation.signals for continuation, _ in continuations]
    )
    weights = [
        np.full(len(c.gold), c.weight / (len(c.gold) * set_size))
        for c, set_size in continuations
    ]
    mean, deviation = _mean_and_deviation(signals, np.concatenate(weights))
    differences, pair_weights = [], []
    for continuation, set_size in continuations:
        scaled = (continuation.signals - mean) / deviation
        gold, other = scaled[continuation.gold], scaled[~continuation.gold]
        pairs = (gold[:, None] - other[None]).reshape(-1, len(names))
        differences.append(pairs)
        pair_weights.append(
            np.full(len(pairs), continuation.weight / (max(len(pairs), 1) * set_size))
        )
    all_differences = np.concatenate(differences)
    # scikit-learn needs two classes
    sign = np.where(np.arange(len(all_differences)) % 2 == 0, 1, -1)
    _, standardised = _logistic(
        all_differences * sign[:, None],
        sign,
        np.concatenate(pair_weights),
        intercept=False,
    )
    coefficients = standardised / deviation
    return _linear(names, coefficients, -float(coefficients @ mean))


def _logistic(
    signals: FloatArray, classes: np.ndarray, weights: FloatArray, *, intercept: bool
) -> tuple[float, FloatArray]:
    """Intercept and coefficients; the weights are scaled to mean 1."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=REGULARISATION, max_iter=3000, fit_intercept=intercept)
    model.fit(signals, classes, sample_weight=weights * len(weights) / weights.sum())
    return float(np.ravel(model.intercept_)[0]), np.asarray(
        model.coef_[0], dtype=np.float64
    )


def _mean_and_deviation(
    signals: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and standard deviation of each signal."""
    mean = np.average(signals, axis=0, weights=weights)
    return mean, np.sqrt(
        np.average((signals - mean) ** 2, axis=0, weights=weights)
    ) + 1e-9


def _linear(
    names: Sequence[str], coefficients: FloatArray, intercept: float = 0.0
) -> Linear:
    rounded = dict(zip(names, np.round(coefficients, 6).tolist(), strict=True))
    return Linear(rounded, round(intercept, 6))


# The mixture --------------------------------------------------------------------------------------
# -------------------


def signals_of(example: Example, start: Linear, step: Linear) -> dict[str, FloatArray]:
    """All signals of the mixture, (m,) each; those of the gate are equal for all candidates."""
    system, unused = MentionChains, Linear({})
    beam = Beam(
        system.sources,
        system.beam,
        system.beam_temperature,
        system.member_bonus,
        system.gain_temperature,
    )
    evidence = example.evidence
    starts = start(evidence.single)
    levels = chains_of(
        evidence, starts, Ranker(start, step, unused, unused, unused), beam
    ).levels
    gate = {
        name: np.full(len(starts), value)
        for name, value in evidence.gate(starts).items()
    }
    return {**evidence.single, "start": starts, **levels, **gate}


@dataclass(frozen=True)
class Batch:
    """The n questions of a set as tensors, padded to m, the largest number of candidates.

    Attributes
    ----------
    signals : model -> (n, m, n_signals).
    is_candidate, is_gold : (n, m).
    """

    signals: Mapping[str, torch.Tensor]
    is_candidate: torch.Tensor
    is_gold: torch.Tensor


def _batch(questions: Questions, names: Mapping[str, Sequence[str]]) -> Batch:
    import torch

    shape = (len(questions), max(len(gold) for _, gold in questions))
    signals = {
        model: torch.zeros((*shape, len(names[model])), dtype=torch.float64)
        for model in names
    }
    is_candidate = torch.zeros(shape, dtype=torch.bool)
    is_gold = torch.zeros(shape, dtype=torch.bool)
    for i, (values, gold) in enumerate(questions):
        for model in names:
            columns = np.stack([values[name] for name in names[model]], axis=1)
            signals[model][i, : len(gold)] = torch.from_numpy(columns)
        is_candidate[i, : len(gold)] = True
        is_gold[i, : len(gold)] = torch.from_numpy(gold)
    return Batch(signals, is_candidate, is_gold)


def fit_mixture(sets: Sequence[Questions], *, tokens: bool) -> dict[str, Linear]:
    """The models single, chain and gate."""
    import torch

    torch.set_num_threads(1)  # a sum in another order would be other coefficients
    names = {model: names_of(model, tokens=tokens) for model in (*EXPERTS, "gate")}
    batches = [_batch(questions, names) for questions in sets]
    deviation = {}
    for model in EXPERTS:
        deviation[model] = (
            torch.cat(
                [batch.signals[model][batch.is_candidate] for batch in batches]
            ).std(0)
            + 1e-9
        )
    # One weight for each expert and three for the gate: on so few sets, equal weights of signals
    # lose nothing.
    scale = torch.full((2,), 0.5, dtype=torch.float64, requires_grad=True)
    gate = torch.zeros(len(names["gate"]) + 1, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [scale, gate],
        max_iter=ITERATIONS,
        history_size=20,
        line_search_fn="strong_wolfe",
    )

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        total = PENALTY * ((scale**2).sum() + (gate**2).sum())
        for batch in batches:
            single, chain = (
                weight * (batch.signals[model] / deviation[model]).sum(-1)
                for model, weight in zip(EXPERTS, scale, strict=True)
            )
            chain_weight = torch.sigmoid(
                gate[0] + batch.signals["gate"][:, 0] @ gate[1:]
            )[:, None]
            total = total + mean_surprise(
                (1 - chain_weight) * single + chain_weight * chain, batch
            ) / len(batches)
        total.backward()
        return total

    optimiser.step(loss)
    models = {}
    for model, weight in zip(EXPERTS, scale.detach(), strict=True):
        models[model] = _linear(names[model], (weight / deviation[model]).numpy())
    intercept, *coefficients = gate.detach().tolist()
    return {**models, "gate": _linear(names["gate"], np.array(coefficients), intercept)}


def mean_surprise(scores: torch.Tensor, batch: Batch) -> torch.Tensor:
    """The mean of -ln softmax over questions and their gold candidates, each among itself and those that are not gold.

    scores : (n, m), of the candidates.
    """
    import torch

    scores = scores.masked_fill(~batch.is_candidate, -1e9)
    not_gold = torch.logsumexp(scores.masked_fill(batch.is_gold, -1e9), 1, keepdim=True)
    surprise = (torch.logaddexp(scores, not_gold) - scores) * batch.is_gold
    n_gold = batch.is_gold.sum(1)
    return (surprise.sum(1) / n_gold.clamp(min=1))[n_gold > 0].mean()


def fit(sets: Sets, chained: Collection[str], *, tokens: bool) -> Ranker:
    """All models; `chained`: the sets whose gold passages lead to each other by names."""
    chained_sets = {
        name: examples for name, examples in sets.items() if name in chained
    }
    start = fit_start(chained_sets, names_of("start", tokens=tokens))
    step = fit_step(chained_sets, start, names_of("step", tokens=tokens))
    questions = []
    for examples in sets.values():
        questions.append(
            [(signals_of(example, start, step), example.gold) for example in examples]
        )
    return Ranker(start, step, **fit_mixture(questions, tokens=tokens))


def ordered(example: Example, ranker: Ranker) -> list[int]:
    """The candidates, best first."""
    signals = signals_of(example, ranker.start, ranker.step)
    gate = {name: float(signals[name][0]) for name in MODELS["gate"]}
    return best_first(example, ranker.order(ranker.chain_weight(gate))(signals))


def best_first(example: Example, scores: FloatArray) -> list[int]:
    """The rows of the candidates by their scores, (m,)."""
    rows: list[int] = example.evidence.rows[np.argsort(-scores, kind="stable")].tolist()
    return rows


# The file -----------------------------------------------------------------------------------------
# -------------------


def coefficients_file(
    sets: Sets,
    chained: Collection[str],
    sources: Mapping[str, QADataset],
    encoder: SentenceEncoder,
) -> str:
    """The text of a file that `MentionChains(kb, coefficients=FILE)` reads."""
    from sklearn import __version__

    about = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "encoder": encoder.model,
        "vectors": encoder.dtype,
        "scikit_learn": __version__,
        "C": REGULARISATION,
        "penalty": PENALTY,
        "without": f"the questions of {LEFT_OUT}",
    }
    questions = {name: len(examples) for name, examples in sets.items()}
    checksums = {}
    for name, data in sources.items():
        for file, checksum in dict(data.source.get("files") or {}).items():  # type: ignore[call-overload]
            checksums[f"{name}/{file}"] = checksum
    texts = sorted({digest(example.text) for example, _ in with_set_size(sets)})
    lines = [
        "# Written by eval/fit.py: each model is intercept + sum of coefficient · signal."
    ]
    lines += [f"format = {FORMAT}", f'seen = "{" ".join(texts)}"']
    lines += toml_table("fitted", about)
    lines += toml_table("fitted.questions", questions)
    lines += toml_table("fitted.files", checksums)
    for section in (WITH, WITHOUT):
        ranker = fit(sets, chained, tokens=section == WITH)
        for model in MODELS:
            linear: Linear = getattr(ranker, model)
            lines += toml_table(
                f"{section}.{model}",
                {"intercept": linear.intercept, **linear.coefficients},
            )
    return "\n".join([*lines, ""])


def toml_table(name: str, values: Mapping[str, object]) -> list[str]:
    """The lines of a table of texts and numbers, after a blank line."""
    lines = ["", f"[{name}]"]
    for key, value in values.items():
        is_bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
        lines.append(
            f"{key if is_bare else json.dumps(key)} = {json.dumps(value, ensure_ascii=False)}"
        )
    return lines


def main(
    data: Annotated[
        Path, typer.Argument(help="The folder of the sets, see eval/domains.toml.")
    ],
    out: Annotated[Path | None, typer.Option(help="The TOML file to write.")] = None,
    leave_one_out: Annotated[
        Path | None,
        typer.Option(
            help="A Parquet file: recall@5 on each set, fitted on the other sets."
        ),
    ] = None,
    encoder: Annotated[
        str, typer.Option(help="The encoder of passages and questions.")
    ] = SentenceEncoder.model,
    dtype: Annotated[
        str, typer.Option(help="The number format of the encoder.")
    ] = "float32",
    names: Annotated[
        str,
        typer.Option(
            "--sets", help="Training sets, separated by commas; by default all."
        ),
    ] = "",
    questions: Annotated[
        int, typer.Option(help="Questions of each set, for a slow encoder; 0: all.")
    ] = 0,
) -> None:
    """Fit on questions with gold."""
    entries = training_entries(names)
    model = SentenceEncoder(encoder, dtype=dtype)
    excluded = {question.id for question in load_set(data, LEFT_OUT).questions}
    sources = {name: training_set(data, name, questions) for name in entries}
    sets = {
        name: examples_of(source, excluded, model) for name, source in sources.items()
    }
    chained = {name for name, entry in entries.items() if entry.get("chains")}
    if out:
        write(out, coefficients_file(sets, chained, sources, model).encode())
    if leave_one_out:
        from alternatives import scored

        scores = scored(sets, chained)
        scores.to_parquet(leave_one_out, index=False)
        means = 100 * scores.pivot_table("recall@5", "system", "set", sort=False)
        typer.echo(means.round(1).to_string())


def training_entries(names: str) -> dict[str, dict[str, Any]]:
    """The entries of `domains.toml` for some training sets, separated by commas; by default all."""
    entries = table("train")
    chosen = names.split(",") if names else list(entries)
    for name in chosen:
        if name not in entries:
            raise typer.BadParameter(unknown("training set", name, entries))
    return {name: entry for name, entry in entries.items() if name in chosen}


if __name__ == "__main__":
    typer.run(main)
