"""Training questions of many kinds -> the coefficients of `mention_chains`, as a TOML file that the system reads.

    python eval/fit.py DATA --out COEFFICIENTS.toml
    python eval/fit.py DATA --out COEFFICIENTS.toml --encoder MODEL --sets musique,hotpotqa,2wiki,docs --questions 60
    python eval/fit.py DATA --leave-one-out eval/results/domains/leave_one_out.parquet
    kg2rag compare ... --set mention_chains.coefficients=COEFFICIENTS.toml

The sets are those of `eval/domains.toml`. start: logistic regression over all candidates, gold or not. step: pairwise
logistic regression; for every one or two of a question's gold candidates, the remaining gold against every other
candidate, as differences of signals. Both are fitted where gold is chained. single, chain and gate, on all sets: the
mixture under which each gold candidate is likeliest among itself and those that are not gold, by softmax, with a
penalty of `PENALTY` · |coefficients|². Questions weigh alike within a set, and sets alike; signals are standardised for
the fit only.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from public_sets import load_set, sampled, table

from kg2rag.compute import SentenceEncoder, write
from kg2rag.compute.parallel import progress_bar
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.mention_chains.candidates import MODELS, Evidence, names_of, step_signals
from kg2rag.retrievers.mention_chains.chains import (
    FORMAT,
    LEAST,
    WITH,
    WITHOUT,
    Beam,
    Linear,
    Ranker,
    chains_of,
)
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.retrievers.mention_chains.words import digest
from kg2rag.text.registry import unknown
from kg2rag.types import FloatArray, QADataset

if TYPE_CHECKING:
    import torch

BLOCK = 32  # questions between two updates of the progress bar
REGULARISATION = 0.1  # scikit-learn's C, of start and step
PENALTY = 1e-3
STEPS = 60  # of L-BFGS
MOST_TAKEN = 2
EXPERTS = ("single", "chain")
FIRST = 100  # of each search
LEFT_OUT = "musique-100"  # a reported set whose questions are among the training questions of MuSiQue


@dataclass(frozen=True)
class Example:
    """One question: the evidence of m candidates, (m,) whether each is gold, what the searches found first."""

    evidence: Evidence
    gold: NDArray[np.bool_]
    text: str
    needed: list[list[int]]
    searches: Mapping[str, list[int]]

    def recall(self, rows: Sequence[int], k: int = 5) -> float:
        """Share of the gold passages among the first `k`; of equal ones, one is enough."""
        first = set(rows[:k])
        return float(np.mean([not first.isdisjoint(each) for each in self.needed]))


Sets = Mapping[str, Sequence[Example]]


def examples_of(data: QADataset, leave_out: Collection[str], encoder: SentenceEncoder) -> list[Example]:
    """The questions of a set but some, by id."""
    system = MentionChains(KnowledgeBase.build(data.corpus, embedder=encoder))
    kept = [pair for pair in zip(data.questions, data.queries, strict=True) if pair[0].id not in leave_out]
    found: list[Example] = []
    with progress_bar(len(kept), data.name, "question") as bar:
        for at in range(0, len(kept), BLOCK):
            block = kept[at : at + BLOCK]
            for (question, _), searched in zip(block, system.searched([query for _, query in block]), strict=True):
                if searched is None or len(searched.evidence.rows) < LEAST:
                    continue
                needed = [sorted(rows) for rows in data.gold_rows(question).values()]
                gold = np.isin(searched.evidence.rows, [row for rows in needed for row in rows])
                searches = {name: getattr(searched.searches, name) for name in ("bm25", "dense", "walk")}
                found.append(
                    Example(
                        searched.evidence,
                        gold,
                        question.text,
                        needed,
                        {name: hits.rows[:FIRST].tolist() for name, hits in searches.items()},
                    )
                )
            bar.update(len(block))
    return found


# Start and step ------------------------------------------------------------------------------------------------------


def fit_start(sets: Sets, names: Sequence[str]) -> Linear:
    """The model of a candidate where chains start."""
    every = [(one, len(each)) for each in sets.values() for one in each]
    signals = np.concatenate([np.stack([one.evidence.single[name] for name in names], axis=1) for one, _ in every])
    gold = np.concatenate([one.gold for one, _ in every])
    weights = np.concatenate([np.full(len(one.gold), 1 / (len(one.gold) * n)) for one, n in every])
    mean, deviation = _spread(signals, weights)
    intercept, fitted = _logistic((signals - mean) / deviation, gold, weights, intercept=True)
    raw = fitted / deviation
    return _linear(names, raw, intercept - float(raw @ mean))


@dataclass(frozen=True)
class Block:
    """The candidates outside a set of gold ones: signals (n, n_signals), gold (n,), the weight within its question."""

    signals: FloatArray
    gold: np.ndarray
    weight: float


def _blocks(example: Example, start: FloatArray, names: Sequence[str]) -> Iterator[Block]:
    held = np.flatnonzero(example.gold).tolist()
    taken = [some for size in range(1, MOST_TAKEN + 1) if size < len(held) for some in combinations(held, size)]
    for some in taken:
        signals = step_signals(example.evidence, start, np.array([some]), MentionChains.gain_temperature)
        kept = np.delete(np.arange(len(start)), some)
        yield Block(np.stack([signals[name][0] for name in names], axis=1)[kept], example.gold[kept], 1 / len(taken))


def fit_step(sets: Sets, start: Linear, names: Sequence[str]) -> Linear:
    """The model that orders the remaining gold first, given a part of it."""
    every = [
        (block, len(each))
        for each in sets.values()
        for one in each
        for block in _blocks(one, start(one.evidence.single), names)
    ]
    weights = np.concatenate([np.full(len(each.gold), each.weight / (len(each.gold) * n)) for each, n in every])
    mean, deviation = _spread(np.concatenate([each.signals for each, _ in every]), weights)
    pairs, counts = [], []
    for each, n in every:
        scaled = (each.signals - mean) / deviation
        pairs.append((scaled[each.gold][:, None] - scaled[~each.gold][None]).reshape(-1, len(names)))
        counts.append(np.full(len(pairs[-1]), each.weight / (max(len(pairs[-1]), 1) * n)))
    differences, weights = np.concatenate(pairs), np.concatenate(counts)
    sign = np.where(np.arange(len(differences)) % 2 == 0, 1, -1)  # scikit-learn needs two classes
    _, fitted = _logistic(differences * sign[:, None], sign, weights, intercept=False)
    raw = fitted / deviation
    return _linear(names, raw, -float(raw @ mean))


def _logistic(
    signals: FloatArray, classes: np.ndarray, weights: FloatArray, *, intercept: bool
) -> tuple[float, FloatArray]:
    """Intercept and coefficients, under weights scaled to mean 1."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=REGULARISATION, max_iter=3000, fit_intercept=intercept)
    model.fit(signals, classes, sample_weight=weights * len(weights) / weights.sum())
    return float(np.ravel(model.intercept_)[0]), np.asarray(model.coef_[0], dtype=np.float64)


def _spread(signals: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and standard deviation of each signal."""
    mean = np.average(signals, axis=0, weights=weights)
    return mean, np.sqrt(np.average((signals - mean) ** 2, axis=0, weights=weights)) + 1e-9


def _linear(names: Sequence[str], coefficients: FloatArray, intercept: float = 0.0) -> Linear:
    return Linear(
        {name: round(value, 6) for name, value in zip(names, coefficients.tolist(), strict=True)}, round(intercept, 6)
    )


# The mixture ---------------------------------------------------------------------------------------------------------


def signals_of(example: Example, start: Linear, step: Linear) -> dict[str, FloatArray]:
    """All signals of the mixture, (m,) each; those of the gate are the same for every candidate."""
    none, system = Linear({}), MentionChains
    beam = Beam(system.sources, system.beam, system.beam_temperature, system.member_bonus, system.gain_temperature)
    known = example.evidence
    single = start(known.single)
    levels = chains_of(known, single, Ranker(start, step, none, none, none), beam).levels
    gate = {name: np.full(len(single), value) for name, value in known.gate(single).items()}
    return {**known.single, "start": single, **levels, **gate}


def fit_mixture(
    sets: Sequence[Sequence[tuple[Mapping[str, FloatArray], NDArray[np.bool_]]]], *, tokens: bool
) -> dict[str, Linear]:
    """The models single, chain and gate, from the signals and gold of each question of each set."""
    import torch

    torch.set_num_threads(1)  # a sum in another order would be other coefficients
    names = {model: names_of(model, tokens=tokens) for model in (*EXPERTS, "gate")}
    packed = [{model: _packed([one for one, _ in each], names[model]) for model in names} for each in sets]
    masks = [_packed([{"": np.ones(len(gold))} for _, gold in each], ("",))[..., 0] > 0 for each in sets]
    golds = [_packed([{"": gold.astype(float)} for _, gold in each], ("",))[..., 0] > 0 for each in sets]
    deviation = {
        model: torch.cat([each[model][mask] for each, mask in zip(packed, masks, strict=True)]).std(0) + 1e-9
        for model in EXPERTS
    }
    # A weight an expert, and three of the gate: with so few sets, equal weights lose nothing against fitted ones.
    scale = torch.full((2,), 0.5, dtype=torch.float64, requires_grad=True)
    gate = torch.zeros(len(names["gate"]) + 1, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([scale, gate], max_iter=STEPS, history_size=20, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        total = PENALTY * ((scale**2).sum() + (gate**2).sum())
        for each, mask, gold in zip(packed, masks, golds, strict=True):
            trust = torch.sigmoid(gate[0] + each["gate"][:, 0] @ gate[1:])[:, None]
            single, chain = (
                w * (each[model] / deviation[model]).sum(-1) for model, w in zip(EXPERTS, scale, strict=True)
            )
            scores = ((1 - trust) * single + trust * chain).masked_fill(~mask, -1e9)
            others = torch.logsumexp(scores.masked_fill(gold, -1e9), 1, keepdim=True)
            surprise = (torch.logaddexp(scores, others) - scores) * gold
            found = gold.sum(1)
            total = total + (surprise.sum(1) / found.clamp(min=1))[found > 0].mean() / len(packed)
        total.backward()
        return total

    optimiser.step(loss)
    weights = {model: w / deviation[model] for model, w in zip(EXPERTS, scale.detach(), strict=True)}
    learned = gate.detach().numpy()
    models = {model: _linear(names[model], weights[model].numpy()) for model in EXPERTS}
    return {**models, "gate": _linear(names["gate"], learned[1:], float(learned[0]))}


def _packed(questions: Sequence[Mapping[str, FloatArray]], names: Sequence[str]) -> torch.Tensor:
    """(n_questions, most candidates, n_names), zeros where a question has fewer."""
    import torch

    most = max(len(each[names[0]]) for each in questions)
    found = torch.zeros((len(questions), most, len(names)), dtype=torch.float64)
    for i, each in enumerate(questions):
        found[i, : len(each[names[0]])] = torch.from_numpy(np.stack([each[name] for name in names], axis=1))
    return found


def fit(sets: Sets, chained: Collection[str], *, tokens: bool) -> Ranker:
    """All models."""
    those = {name: each for name, each in sets.items() if name in chained}
    start = fit_start(those, names_of("start", tokens=tokens))
    step = fit_step(those, start, names_of("step", tokens=tokens))
    known = [[(signals_of(one, start, step), one.gold) for one in each] for each in sets.values()]
    return Ranker(start, step, **fit_mixture(known, tokens=tokens))


def ordered(example: Example, ranker: Ranker) -> list[int]:
    """The candidates, best first."""
    signals = signals_of(example, ranker.start, ranker.step)
    scores = ranker.order(ranker.trust({name: float(signals[name][0]) for name in MODELS["gate"]}))(signals)
    rows: list[int] = example.evidence.rows[np.argsort(-scores, kind="stable")].tolist()
    return rows


# The file ------------------------------------------------------------------------------------------------------------


def coefficients_file(
    sets: Sets, chained: Collection[str], sources: Mapping[str, QADataset], encoder: SentenceEncoder
) -> str:
    """The text of a file that `MentionChains(kb, coefficients=FILE)` reads."""
    from sklearn import __version__

    tables: dict[str, Mapping[str, object]] = {
        "fitted": {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "encoder": encoder.model,
            "vectors": encoder.dtype,
            "scikit_learn": __version__,
            "C": REGULARISATION,
            "penalty": PENALTY,
            "without": f"the questions of {LEFT_OUT}",
            "questions": {name: len(each) for name, each in sets.items()},
            "files": {
                f"{name}/{file}": digest
                for name, data in sources.items()
                for file, digest in dict(data.source.get("files") or {}).items()  # type: ignore[call-overload]
            },
        }
    }
    for section in (WITH, WITHOUT):
        ranker = fit(sets, chained, tokens=section == WITH)
        for model in MODELS:
            linear: Linear = getattr(ranker, model)
            tables[f"{section}.{model}"] = {"intercept": linear.intercept, **linear.coefficients}
    seen = " ".join(sorted({digest(one.text) for each in sets.values() for one in each}))
    head = "# Written by eval/fit.py: each model is intercept + sum of coefficient · signal."
    return toml_text([head, f"format = {FORMAT}", f'seen = "{seen}"'], tables)


def toml_text(head: Sequence[str], tables: Mapping[str, Mapping[str, object]]) -> str:
    """The lines of `head`, then each table under its dotted name; a table in a table follows it under both names."""
    lines = list(head)
    for name, values in tables.items():
        lines += _table(name, values)
    return "\n".join([*lines, ""])


def _table(name: str, values: Mapping[str, object]) -> Iterator[str]:
    plain = {key: value for key, value in values.items() if not isinstance(value, Mapping)}
    yield from ("", f"[{name}]", *(f"{_key(key)} = {_value(value)}" for key, value in plain.items()))
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _table(f"{name}.{_key(key)}", value)


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else json.dumps(key, ensure_ascii=False)


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)


def main(
    data: Annotated[Path, typer.Argument(help="The folder of the sets, see eval/domains.toml.")],
    out: Annotated[Path | None, typer.Option(help="The TOML file to write.")] = None,
    leave_one_out: Annotated[
        Path | None, typer.Option(help="A Parquet file: each set by the fit of the others.")
    ] = None,
    encoder: Annotated[str, typer.Option(help="Of passages and questions.")] = SentenceEncoder.model,
    dtype: Annotated[str, typer.Option(help="Of its products.")] = "float32",
    of: Annotated[str, typer.Option("--sets", help="Some of the training sets, separated by commas.")] = "",
    questions: Annotated[int, typer.Option(help="So many of each set; 0: all. For an encoder that is slow.")] = 0,
) -> None:
    """Fit on questions with gold."""
    model = SentenceEncoder(encoder, dtype=dtype)
    about = table("train")
    if of:
        if strangers := [name for name in of.split(",") if name not in about]:
            raise typer.BadParameter(unknown("training set", strangers[0], about))
        about = {name: about[name] for name in about if name in of.split(",")}
    chained = {name for name, each in about.items() if each.get("chains")}
    sources = {n: sampled(data, n, questions) if questions else load_set(data, n, "train") for n in about}
    seen = {question.id for question in load_set(data, LEFT_OUT).questions}
    sets = {name: examples_of(each, seen, model) for name, each in sources.items()}
    if out:
        write(out, coefficients_file(sets, chained, sources, model).encode())
    if leave_one_out:
        from alternatives import scored

        found = scored(sets, chained)
        found.to_parquet(leave_one_out, index=False)
        typer.echo(found.pivot_table("recall@5", "system", "set", sort=False).mul(100).round(1).to_string())


if __name__ == "__main__":
    typer.run(main)
