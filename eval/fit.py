"""Training questions -> the coefficients of `mention_chains`, as a TOML file that the system reads.

    python eval/fit.py --data musique=FILE --data hotpotqa=FILE --leave-out musique=FOLDER --out COEFFICIENTS.toml
    kg2rag compare ... --set mention_chains.coefficients=COEFFICIENTS.toml

start: logistic regression over all candidates, gold or not. step: pairwise logistic regression; for every one or two of
a question's gold candidates, the remaining gold against every other candidate, as differences of signals, the start's
log-odds from models of the other folds. Questions weigh alike within a set, and sets alike. Signals are standardised
for the fit alone. The order's weights are not fitted but `ORDERS`, chosen from a few on the folds of the training sets.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from kg2rag.compute import Embedder, SentenceEncoder, write
from kg2rag.compute.parallel import progress_bar
from kg2rag.datasets import load
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.mention_chains.candidates import START, STEP, Evidence, step_signals
from kg2rag.retrievers.mention_chains.chains import FORMAT, ORDER, WITH, WITHOUT, Linear, names_of
from kg2rag.retrievers.mention_chains.retriever import MentionChains
from kg2rag.text.registry import unknown
from kg2rag.types import FloatArray, QADataset

BLOCK = 32  # questions between two updates of the progress bar
ORDERS: Mapping[str, Mapping[str, float]] = {
    "one_passage": {"start": 1.0},
    "one_chain": {"second": 0.25, "third": 0.5, "fourth": 0.25},
    "two_chains": {"fourth": 1.0},
}
REGULARISATION = 0.1  # scikit-learn's C
FOLDS = 5
MOST_TAKEN = 2
SIGNALS = tuple(dict.fromkeys((*START, *STEP)))


@dataclass(frozen=True)
class Example:
    """One question: the evidence of m candidates, and (m,) whether each is gold."""

    evidence: Evidence
    gold: NDArray[np.bool_]


def examples_of(data: QADataset, leave_out: Collection[str] = (), embedder: Embedder | None = None) -> list[Example]:
    """The questions of a set but some, by id; one whose gold is no candidate, or all of them, teaches nothing."""
    system = MentionChains(KnowledgeBase.build(data.corpus, embedder=embedder))
    kept = [(question, query) for question, query in zip(data.questions, data.queries, strict=True)]
    kept = [(question, query) for question, query in kept if question.id not in leave_out]
    found: list[Example] = []
    with progress_bar(len(kept), data.name, "question") as bar:
        for at in range(0, len(kept), BLOCK):
            block = kept[at : at + BLOCK]
            for (question, _), searched in zip(block, system.searched([query for _, query in block]), strict=True):
                if searched is not None:
                    gold = {row for rows in data.gold_rows(question).values() for row in rows}
                    found.append(Example(searched.evidence, np.isin(searched.evidence.rows, sorted(gold))))
            bar.update(len(block))
    return found


def folds_of(sets: Mapping[str, Sequence[Example]], folds: int, seed: int) -> dict[str, NDArray[np.int64]]:
    """The fold of every question, set by set; folds of a set are of equal size."""
    random = np.random.default_rng(seed)
    return {name: random.permutation(len(examples)) % folds for name, examples in sets.items()}


Sets = Mapping[str, Sequence[Example]]


@dataclass(frozen=True)
class Fitted:
    """A model, and its coefficients per standard deviation of each signal."""

    model: Linear
    standardised: Mapping[str, float]


def fit_mention_chains(
    sets: Mapping[str, QADataset],
    *,
    leave_out: Collection[str] = (),
    without: Sequence[str] = (),
    seed: int = 0,
    embedder: Embedder | None = None,
) -> dict[str, str]:
    """Texts of files that `MentionChains(kb, coefficients=FILE)` reads: "" -> the fit with all signals.

    Parameters
    ----------
    sets : name -> training questions over a corpus of their own.
    leave_out : ids of questions that are not fitted on, such as those of a report.
    without : signals, for each of which there is one more text, under its name: the fit without it, which has 0 for it.
    embedder : of the passages and questions; the default encoder in float32, which every processor has, where None.

    Raises
    ------
    ValueError : no question of a set is left that has gold among its candidates and another candidate beside it; a
        signal is unknown.
    """
    for signal in without:
        if signal not in SIGNALS:
            raise ValueError(unknown("signal", signal, SIGNALS))
    embedder = embedder or SentenceEncoder(dtype="float32")
    examples = {}
    for name, data in sets.items():
        examples[name] = examples_of(data, leave_out, embedder)
        if not any(0 < each.gold.sum() < len(each.gold) for each in examples[name]):
            raise ValueError(f"{name}: none of {len(examples[name])} questions has gold among its candidates.")
    provenance = _provenance(sets, examples, embedder, seed)
    return {left: _text(examples, left, provenance, seed) for left in ("", *without)}


def _text(examples: Sets, without: str, provenance: Mapping[str, object], seed: int) -> str:
    models = {
        section: dict(
            zip(("start", "step"), fit(examples, tokens=section == WITH, without=without, seed=seed), strict=True)
        )
        for section in (WITH, WITHOUT)
    }
    return _toml(models, {**provenance, **({"without": without} if without else {})})


def fit(sets: Sets, *, tokens: bool, without: str = "", seed: int) -> tuple[Fitted, Fitted]:
    """The models of start and step; the step's reads the start's from models of the other folds."""
    folds, names = folds_of(sets, FOLDS, seed), _kept("step", tokens, without)
    crossed: dict[str, list[FloatArray]] = {name: [np.empty(0)] * len(each) for name, each in sets.items()}
    for fold in range(FOLDS):
        others = {
            name: [one for one, at in zip(each, folds[name], strict=True) if at != fold] for name, each in sets.items()
        }
        model = fit_start(others, tokens=tokens, without=without).model
        for name, each in sets.items():
            for i in np.flatnonzero(folds[name] == fold).tolist():
                crossed[name][i] = model(each[i].evidence.alone)
    blocks = [
        [list(_blocks(one, start, names)) for one, start in zip(each, crossed[name], strict=True)]
        for name, each in sets.items()
    ]
    return fit_start(sets, tokens=tokens, without=without), fit_pairs(blocks, names)


def _kept(model: str, tokens: bool, without: str) -> tuple[str, ...]:
    return tuple(name for name in names_of(model, tokens=tokens) if name != without)


def fit_start(sets: Sets, *, tokens: bool, without: str = "") -> Fitted:
    """The model of a candidate alone."""
    names = _kept("start", tokens, without)
    every = [(one, len(each)) for each in sets.values() for one in each]
    signals = np.concatenate([np.stack([one.evidence.alone[name] for name in names], axis=1) for one, _ in every])
    gold = np.concatenate([one.gold for one, _ in every])
    weights = np.concatenate([np.full(len(one.gold), 1 / (len(one.gold) * n)) for one, n in every])
    mean, deviation = _spread(signals, weights)
    intercept, fitted = _logistic((signals - mean) / deviation, gold, weights, intercept=True)
    raw = fitted / deviation
    return Fitted(_linear(names, raw, intercept - float(raw @ mean)), _named(names, fitted))


@dataclass(frozen=True)
class Block:
    """The candidates outside a set of gold ones: signals (n, n_signals), gold (n,), the weight within its question."""

    signals: FloatArray
    gold: np.ndarray
    weight: float


def _blocks(example: Example, start: FloatArray, names: Sequence[str]) -> Iterator[Block]:
    held = np.flatnonzero(example.gold).tolist()
    taken = [some for size in range(1, MOST_TAKEN + 1) if size < len(held) for some in combinations(held, size)]
    temperature = MentionChains.gain_temperature
    for some in taken:
        signals = step_signals(example.evidence, start, np.array([some]), temperature)
        kept = np.delete(np.arange(len(start)), some)
        yield Block(np.stack([signals[name][0] for name in names], axis=1)[kept], example.gold[kept], 1 / len(taken))


def fit_pairs(sets: Sequence[Sequence[Sequence[Block]]], names: Sequence[str]) -> Fitted:
    """The model that orders the gold of each block first, from the blocks of each question of each set."""
    every = [(block, len(questions)) for questions in sets for blocks in questions for block in blocks]
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
    return Fitted(_linear(names, raw, -float(raw @ mean)), _named(names, fitted))


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


def _linear(names: Sequence[str], coefficients: FloatArray, intercept: float) -> Linear:
    return Linear(_named(names, coefficients), round(intercept, 6))


def _named(names: Sequence[str], values: FloatArray) -> dict[str, float]:
    return {name: round(value, 6) for name, value in zip(names, values.tolist(), strict=True)}


def _provenance(sets: Mapping[str, QADataset], examples: Sets, embedder: Embedder, seed: int) -> dict[str, object]:
    from sklearn import __version__

    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "encoder": str(getattr(embedder, "model", type(embedder).__name__)),
        "vectors": str(getattr(embedder, "dtype", "float32")),
        "scikit_learn": __version__,
        "C": REGULARISATION,
        "folds": FOLDS,
        "seed": seed,
        "questions": {name: len(each) for name, each in examples.items()},
        "files": {f"{name}/{file}": digest for name, data in sets.items() for file, digest in files_of(data).items()},
    }


def files_of(data: QADataset) -> Mapping[str, str]:
    """Name -> sha256 of the files that a set was read from."""
    files = data.source.get("files")
    return files if isinstance(files, Mapping) else {}


def _toml(models: Mapping[str, Mapping[str, Fitted]], provenance: Mapping[str, object]) -> str:
    what = "score = intercept + sum of coefficient · signal."
    head = [f"# Written by eval/fit.py: {what}", f"format = {FORMAT}"]
    tables: dict[str, Mapping[str, object]] = {"fitted": provenance}
    for section, fitted in models.items():
        for name, each in fitted.items():
            zeros = dict.fromkeys(names_of(name, tokens=section == WITH), 0.0)
            tables[f"{section}.{name}"] = {"intercept": each.model.intercept, **zeros, **each.model.coefficients}
            tables[f"standardised.{section}.{name}"] = each.standardised
    for kind, weights in ORDERS.items():
        tables[f"order.{kind}"] = {"intercept": 0.0, **dict.fromkeys(ORDER, 0.0), **weights}
    return toml_text(head, tables)


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
    return (
        key
        if key.isascii() and key.replace("_", "").replace("-", "").isalnum()
        else json.dumps(key, ensure_ascii=False)
    )


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)


def main(
    data: Annotated[list[str], typer.Option(help="NAME=PATH of a training set; may be repeated. Each is pooled.")],
    out: Annotated[Path, typer.Option(help="The TOML file to write.")],
    leave_out: Annotated[
        list[str], typer.Option(help="Questions not to fit on: NAME=PATH of a set, or a file of ids.")
    ] = [],  # noqa: B006
    ablation: Annotated[Path | None, typer.Option(help="A folder for the fits without each signal.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds.")] = 0,
) -> None:
    """Fit on questions with gold."""
    sets = {name: load(name, path=path, setting="pooled") for name, path in map(_named_path, data)}
    if len(sets) < len(data):
        raise ValueError(f"--data names a set twice: {', '.join(data)}.")
    left = {id_ for given in leave_out or [] for id_ in _ids(given)}
    known = {question.id for each in sets.values() for question in each.questions}
    if left and not left & known:
        raise ValueError(f"--leave-out: none of its {len(left):,} ids, such as {min(left)!r}, is a question of --data.")
    texts = fit_mention_chains(sets, leave_out=left, without=SIGNALS if ablation else (), seed=seed)
    for signal, text in texts.items():
        file = ablation / f"without_{signal}.toml" if ablation and signal else out
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, text.encode())
    counts = f"{len(known - left):,} questions of {', '.join(sets)}, {len(known & left):,} left out"
    typer.echo(f"Written to {out}: fitted on {counts}.")


def _named_path(given: str) -> tuple[str, Path]:
    name, equals, path = given.partition("=")
    if not (name and equals and path):
        raise ValueError(f"{given!r}: write NAME=PATH, such as musique=FOLDER.")
    return name, Path(path)


def _ids(given: str) -> list[str]:
    """The ids in a file of them, or of a set's questions."""
    if "=" not in given:
        return Path(given).read_text(encoding="utf-8").split()
    name, path = _named_path(given)
    return [question.id for question in load(name, path=path).questions]


if __name__ == "__main__":
    typer.run(main)
