"""Evidence -> chains of passages that complement each other, and their levels per passage.

A beam over sets of two and three passages, as beam retrieval and PropRAG search chains, with two
linear models in place of a trained encoder. Their coefficients are in a TOML file that
`eval/fit.py` writes, only from training questions. Ours; see [1] Zhang et al., "End-to-End Beam
Retrieval", NAACL 2024, [2] Wang & Han, "PropRAG", EMNLP 2025.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kg2rag.retrievers.mention_chains.candidates import (
    MODELS,
    SINGLE,
    Evidence,
    Searches,
    Signals,
    names_of,
    step_signals,
)
from kg2rag.retrievers.mention_ppr.graph import WalkedPaths
from kg2rag.types import (
    Corpus,
    FloatArray,
    IntArray,
    Notes,
    ParameterError,
    Step,
    number,
    step,
)

WITHOUT_TOKENS = "the embedder gives no token vectors: ranked without them"
SHOWN = 3  # pairs in a ranking's notes
DEFAULT = "default"
FORMAT = 4
WITH = "with_tokens"
WITHOUT = "without_tokens"
LEAST = 4  # the minimum of candidates: the longest chain and one more
NO_SOURCE = -30.0  # the level `second` of a source that continues no other


@dataclass(frozen=True)
class Linear:
    """A linear model: intercept + sum of coefficient · signal."""

    coefficients: Mapping[str, float]
    intercept: float = 0.0

    def __call__(self, signals: Signals) -> FloatArray:
        """The sum, in the order of the coefficients, for every entry of the signals' arrays."""
        total: FloatArray = np.full(next(iter(signals.values())).shape, self.intercept)
        for name, coefficient in self.coefficients.items():
            if coefficient:  # a signal with coefficient 0 may be missing
                total += coefficient * signals[name]
        return total

    @property
    def formula(self) -> str:
        """The formula of the sum; a negative coefficient is written as (0 - …), 0 is left out."""
        terms = [
            _term(coefficient, name)
            for name, coefficient in self.coefficients.items()
            if coefficient
        ]
        if self.intercept:
            terms.append(number(self.intercept))
        return " + ".join(terms)


def _term(coefficient: float, name: str) -> str:
    """A product of a `Linear.formula`."""
    if coefficient < 0:
        return f"(0 - {number(-coefficient)}) · {name}"
    if number(coefficient) == "1":
        return name
    return f"{number(coefficient)} · {name}"


@dataclass(frozen=True)
class Ranker:
    """The models of the candidates: start of chains, steps, and the order of candidates.

    score = (1 - trust) · single + trust · chain, trust = sigmoid(gate): a mixture of two experts.
    """

    start: Linear
    step: Linear
    single: Linear
    chain: Linear
    gate: Linear

    def trust(self, signals: Mapping[str, float]) -> float:
        """The weight of the chains of a question, in (0, 1)."""
        arrays = {name: np.asarray(value) for name, value in signals.items()}
        return float(1 / (1 + np.exp(-self.gate(arrays))))

    def order(self, trust: float) -> Linear:
        """The score of a candidate as one sum, with the coefficients of its formula."""
        parts = {name: (1 - trust) * c for name, c in self.single.coefficients.items()}
        parts |= {
            name: trust * c for name, c in self.chain.coefficients.items() if trust
        }
        return Linear({name: float(number(c)) for name, c in parts.items()})


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of a file.

    `fitted` : date and data of the fit. `seen` : the `digest` of each training question.
    """

    rankers: Mapping[str, Ranker]
    fitted: Mapping[str, object]
    seen: frozenset[str]

    def ranker(self, *, tokens: bool) -> Ranker:
        """The models for an encoder with token vectors, or without."""
        return self.rankers[WITH if tokens else WITHOUT]


def read_coefficients(name: str) -> Coefficients:
    """The coefficients of the package ("default") or of a file.

    Raises
    ------
    ParameterError : there is no such file, or it is not as `eval/fit.py` writes it; the message names what is wrong.
    """
    if name == DEFAULT:
        return _read(name, 0)
    path = Path(name).expanduser()
    if not path.is_file():
        raise ParameterError(
            f'coefficients must be "{DEFAULT}" or a file written by `eval/fit.py`, not {name!r}.'
        )
    return _read(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _read(name: str, modified: int) -> Coefficients:  # noqa: ARG001 (a rewritten file is read again)
    source = files(__package__) / "coefficients.toml" if name == DEFAULT else Path(name)
    try:
        record = tomllib.loads(source.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"coefficients {name!r}: not TOML: {error}") from None
    if record.get("format") != FORMAT:
        raise ParameterError(
            f"coefficients {name!r}: format is {record.get('format')!r}, not {FORMAT}. Fit them anew."
        )
    rankers = {section: _ranker(record, section, name) for section in (WITH, WITHOUT)}
    seen = frozenset(str(record.get("seen", "")).split())
    return Coefficients(rankers, dict(record.get("fitted", {})), seen)


def _ranker(record: Mapping[str, object], section: str, file: str) -> Ranker:
    """The models of a section, one table each."""
    models = []
    for model in MODELS:
        names = names_of(model, tokens=section == WITH)
        models.append(_linear(record.get(section), f"{section}.{model}", names, file))
    return Ranker(*models)


def _linear(section: object, table: str, names: tuple[str, ...], file: str) -> Linear:
    """The model of a table with exactly one finite number per signal and for the intercept."""
    model = (
        section.get(table.rpartition(".")[2]) if isinstance(section, Mapping) else None
    )
    if not isinstance(model, Mapping):
        raise ParameterError(
            f"coefficients {file!r}: there is no table [{table}]. Fit them anew."
        )
    allowed = ("intercept", *names)
    for key in (*model, *allowed):
        if key not in allowed:
            raise ParameterError(
                f"coefficients {file!r}: [{table}] has {key!r}. Known: {', '.join(allowed)}."
            )
        value = model.get(key)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not isfinite(value)
        ):
            raise ParameterError(
                f"coefficients {file!r}: {key} in [{table}] must be a finite number, not {value!r}."
            )
    return Linear(
        {name: float(model[name]) for name in names}, float(model["intercept"])
    )


@dataclass(frozen=True)
class Beam:
    """The parameters of the beam search: see `MentionChains`."""

    sources: int
    width: int
    temperature: float
    bonus: float
    gain_temperature: float


@dataclass(frozen=True)
class Sets:
    """The best sets of one size and their log-values, best first.

    `members` : (n_sets, size) positions of candidates, ascending. `values` : (n_sets,).
    """

    members: IntArray
    values: FloatArray

    def shares(self, temperature: float) -> FloatArray:
        """Softmax of value / temperature."""
        share = np.exp((self.values - self.values[0]) / temperature)
        return np.asarray(share / share.sum())


@dataclass(frozen=True)
class Chains:
    """The levels of m candidates in the chains.

    Attributes
    ----------
    levels : (m,) each: second and third, how well a candidate continues one and two others; walk_named, its share of
        the walk where the question names titles, `walk_gap` · `titles`.
    source : (m,) the position of the passage that it continues best as a second one; -1 for none.
    step : the step signals of that continuation, (m,) each.
    pairs : the best pairs.
    """

    levels: dict[str, FloatArray]
    source: IntArray
    step: dict[str, FloatArray]
    pairs: Sets


def chains_of(
    evidence: Evidence, start: FloatArray, ranker: Ranker, beam: Beam
) -> Chains:
    """The chains among the candidates of one question, at least `LEAST`.

    `start` : (m,) the log-odds of each candidate by itself.

    - pair(i, j) = ln sigmoid(start(i)) + step({i} -> j), i one of the likeliest; second(j) = its maximum over i.
    - The best unordered pairs, at most `width`, share 1 by softmax of pair / temperature.
    - third(k) = sum over pairs of share · step(pair -> k); a member has the pair's best other step + `bonus`.
    """
    first = np.argsort(-start, kind="stable")[: beam.sources]
    signals = step_signals(evidence, start, first[:, None], beam.gain_temperature)
    pair = -np.logaddexp(0, -start)[first][:, None] + ranker.step(signals)
    pair[np.arange(len(first)), first] = -np.inf
    best = pair.argmax(axis=0)
    places = np.arange(len(start))
    second = pair[best, places]
    pairs = _best_sets(pair, first[:, None], 3 * beam.width, beam.width)
    continues = np.isfinite(second)
    levels = {
        "second": np.where(continues, second, NO_SOURCE),
        "third": _continued(evidence, start, ranker, beam, pairs),
        "walk_named": evidence.single["walk_gap"] * evidence.titles,
    }
    return Chains(
        levels,
        np.where(continues, first[best], -1),
        {
            name: column[best, places]
            for name, column in signals.items()
            if name != "start"
        },
        pairs,
    )


def _best_sets(values: FloatArray, sets: IntArray, cells: int, width: int) -> Sets:
    """The best distinct sets that add a candidate to one of `sets`, each with its best value.

    Only the `cells` best entries of `values`, (n_sets, m), are read.
    """
    best: dict[tuple[int, ...], float] = {}
    order: Iterable[int] = np.argsort(-values, axis=None, kind="stable")[
        :cells
    ].tolist()
    for flat in order:
        row, column = divmod(flat, values.shape[1])
        if np.isfinite(values[row, column]):
            members = tuple(sorted((*sets[row].tolist(), column)))
            best.setdefault(members, float(values[row, column]))
    return Sets(np.array(list(best)[:width]), np.array(list(best.values())[:width]))


def _continued(
    evidence: Evidence, start: FloatArray, ranker: Ranker, beam: Beam, sets: Sets
) -> FloatArray:
    """(m,) the mean step of each candidate after the sets, weighted by their shares."""
    step = ranker.step(
        step_signals(evidence, start, sets.members, beam.gain_temperature)
    )
    inside = np.arange(len(sets.members))[:, None]
    step[inside, sets.members] = -np.inf
    step[inside, sets.members] = step.max(axis=1, keepdims=True) + beam.bonus
    return np.asarray(np.einsum("s,sm->m", sets.shares(beam.temperature), step))


@dataclass(frozen=True)
class ChainsNotes(Notes):
    """Notes of a ranking by chains.

    Attributes
    ----------
    trust : the weight of the chains, in [0, 1]; 1 - trust is that of the single passage.
    chains : the best pairs by title, with their shares.
    """

    trust: float | None = None
    chains: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Searched:
    """The candidates of a query: evidence, order, and the paths of the walk to them.

    Attributes
    ----------
    trust : see `Ranker`. order : the sum that it is a part of.
    start : (m,) log-odds that a candidate is needed, by itself.
    chains : None for less than `LEAST` candidates.
    only_walked : (m,) whether only the walk found a candidate.
    """

    searches: Searches
    evidence: Evidence
    trust: float
    order: Linear
    start: FloatArray
    chains: Chains | None
    walked: WalkedPaths
    only_walked: NDArray[np.bool_]

    @property
    def levels(self) -> dict[str, FloatArray]:
        """The signals that the order may use, (m,) each."""
        signals = self.evidence.single
        single = {name: signals[name] for name in SINGLE if name in signals}
        chained = {} if self.chains is None else self.chains.levels
        return {**single, "start": self.start, **chained}

    @property
    def scores(self) -> FloatArray:
        """(m,) the scores of the candidates."""
        return self.order(self.levels)

    @property
    def continued(self) -> dict[int, int]:
        """Corpus row of a candidate -> row of the passage that it continues."""
        if self.chains is None:
            return {}
        rows = self.evidence.rows
        source = self.chains.source
        continuing = np.flatnonzero(source >= 0)
        return dict(
            zip(
                rows[continuing].tolist(),
                rows[source[continuing]].tolist(),
                strict=True,
            )
        )

    def notes(self, corpus: Corpus, temperature: float) -> ChainsNotes:
        """The notes: formulas, trust, and the best pairs with their shares at a `temperature`."""
        best: tuple[str, ...] | None = None
        if self.chains is not None:
            rows = self.evidence.rows
            pairs = self.chains.pairs
            shares = pairs.shares(temperature)[:SHOWN].tolist()
            labels = []
            for pair, share in zip(pairs.members, shares, strict=False):
                first, second = [
                    corpus.titles[row] or corpus.ids[row] for row in rows[pair]
                ]
                labels.append(f"{first} + {second} ({share:.2f})")
            best = tuple(labels)
        return ChainsNotes(
            {
                "chains": self.order.formula,
                "walk": self.order.formula,
                "dense": "least score - place",
            },
            {"chains": "dense and bm25", "walk": "graph", "dense": "dense"},
            warning=WITHOUT_TOKENS if self.evidence.max_sim is None else "",
            trust=round(self.trust, 4),
            chains=best,
        )

    def steps(self, k: int, depths: str, sources: int) -> tuple[Step, ...]:
        """The steps of the system; `depths` describes the choice of candidates."""
        evidence = self.evidence
        rows = evidence.rows
        steps = [
            step("candidate", "not retrieved", f"not among the first {depths}", rows)
        ]
        if self.chains is not None:
            first = np.argsort(-self.start, kind="stable")[:sources]
            shared = np.maximum(evidence.shared_word, evidence.title_words)[first].max(
                axis=0
            )
            linked = np.union1d(np.flatnonzero(shared > 0), first)
            why = f"no naming word in common with the {sources} likeliest"
            steps.append(step("named", "entity not linked", why, rows[linked]))
            orders = [
                np.argsort(-level, kind="stable")[:k] for level in self.levels.values()
            ]
            why = f"below {k} as a single passage, and as second and third passage"
            steps.append(step("in a chain", "pruned", why, rows[np.unique(orders)]))
        ordered = rows[np.argsort(-self.scores, kind="stable")[:k]]
        return (
            *steps,
            step("ordered", "ranked below k", f"below {k} in the sum", ordered),
        )
