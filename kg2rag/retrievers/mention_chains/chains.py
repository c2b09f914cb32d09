"""Evidence -> chains of passages, each continuing what those before it leave open, and what they say of each passage.

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
from kg2rag.types import Corpus, FloatArray, IntArray, Notes, ParameterError, Step, number, step

WITHOUT_TOKENS = "the embedder gives no token vectors: ranked without them"
SHOWN = 3  # pairs in a ranking's notes
DEFAULT = "default"
FORMAT = 4
WITH = "with_tokens"
WITHOUT = "without_tokens"
LEAST = 4  # candidates: as many as the longest chain and one to continue it
NO_SOURCE = -30.0  # second of the only source, which continues none


@dataclass(frozen=True)
class Linear:
    """intercept + sum of coefficient · signal."""

    coefficients: Mapping[str, float]
    intercept: float = 0.0

    def __call__(self, signals: Signals) -> FloatArray:
        """The sum, in the order of the coefficients, for every entry of the signals' arrays."""
        total: FloatArray = np.full(next(iter(signals.values())).shape, self.intercept)
        for name, coefficient in self.coefficients.items():
            if coefficient:  # a signal that does not count may be missing
                total += coefficient * signals[name]
        return total

    @property
    def formula(self) -> str:
        """The sum as `types.formulas` writes it; a coefficient below 0 as (0 - …), none that is 0."""
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
    """The models of one question's candidates: where chains start, how they go on, and how candidates are ordered.

    score = (1 - trust) · single + trust · chain, trust = sigmoid(gate): a mixture of two experts.
    """

    start: Linear
    step: Linear
    single: Linear
    chain: Linear
    gate: Linear

    def trust(self, signals: Mapping[str, float]) -> float:
        """How far the chains of a question are trusted, in (0, 1)."""
        return float(
            1
            / (1 + np.exp(-self.gate({name: np.asarray(value) for name, value in signals.items()})))
        )

    def order(self, trust: float) -> Linear:
        """The score of a candidate, as one sum, of coefficients as its formula writes them."""
        parts = {name: (1 - trust) * c for name, c in self.single.coefficients.items()}
        parts |= {name: trust * c for name, c in self.chain.coefficients.items() if trust}
        return Linear({name: float(number(c)) for name, c in parts.items()})


@dataclass(frozen=True)
class Coefficients:
    """A file of coefficients; `fitted` says when and on what, `seen` has the `digest` of each question."""

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
def _read(name: str, modified: int) -> Coefficients:  # noqa: ARG001 (a file that is written again is another)
    source = files(__package__) / "coefficients.toml" if name == DEFAULT else Path(name)
    try:
        record = tomllib.loads(source.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"coefficients {name!r}: not TOML: {error}") from None
    if record.get("format") != FORMAT:
        raise ParameterError(
            f"coefficients {name!r}: format is {record.get('format')!r}, not {FORMAT}. Fit them anew."
        )
    rankers = {
        section: Ranker(
            *(
                _linear(
                    record.get(section),
                    f"{section}.{model}",
                    names_of(model, tokens=section == WITH),
                    name,
                )
                for model in MODELS
            )
        )
        for section in (WITH, WITHOUT)
    }
    return Coefficients(
        rankers, dict(record.get("fitted", {})), frozenset(str(record.get("seen", "")).split())
    )


def _linear(section: object, table: str, names: tuple[str, ...], file: str) -> Linear:
    """The model in a table that has a finite number for each of its signals and for the intercept, and no more."""
    model = section.get(table.rpartition(".")[2]) if isinstance(section, Mapping) else None
    if not isinstance(model, Mapping):
        raise ParameterError(f"coefficients {file!r}: there is no table [{table}]. Fit them anew.")
    allowed = ("intercept", *names)
    for key in (*model, *allowed):
        if key not in allowed:
            raise ParameterError(
                f"coefficients {file!r}: [{table}] has {key!r}. Known: {', '.join(allowed)}."
            )
        value = model.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise ParameterError(
                f"coefficients {file!r}: {key} in [{table}] must be a finite number, not {value!r}."
            )
    return Linear({name: float(model[name]) for name in names}, float(model["intercept"]))


@dataclass(frozen=True)
class Beam:
    """How wide chains are searched: see `MentionChains`."""

    sources: int
    width: int
    temperature: float
    bonus: float
    gain_temperature: float


@dataclass(frozen=True)
class Sets:
    """The best sets of a size: (n_sets, size) positions of candidates, ascending; (n_sets,) log-values, best first."""

    members: IntArray
    values: FloatArray

    def shares(self, temperature: float) -> FloatArray:
        """Softmax of value / temperature."""
        share = np.exp((self.values - self.values[0]) / temperature)
        return np.asarray(share / share.sum())


@dataclass(frozen=True)
class Chains:
    """What the chains say of m candidates.

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


def chains_of(evidence: Evidence, start: FloatArray, ranker: Ranker, beam: Beam) -> Chains:
    """The chains among the candidates of one question, `LEAST` or more, whose own log-odds are `start`, (m,).

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
        {name: column[best, places] for name, column in signals.items() if name != "start"},
        pairs,
    )


def _best_sets(values: FloatArray, sets: IntArray, cells: int, width: int) -> Sets:
    """The best distinct sets one larger, of the `cells` best cells of `values`, (n_sets, m); each by its best cell."""
    best: dict[tuple[int, ...], float] = {}
    order: Iterable[int] = np.argsort(-values, axis=None, kind="stable")[:cells].tolist()
    for row, column in (divmod(flat, values.shape[1]) for flat in order):
        if np.isfinite(values[row, column]):
            best.setdefault(
                tuple(sorted((*sets[row].tolist(), column))), float(values[row, column])
            )
    return Sets(np.array(list(best)[:width]), np.array(list(best.values())[:width]))


def _continued(
    evidence: Evidence, start: FloatArray, ranker: Ranker, beam: Beam, sets: Sets
) -> FloatArray:
    """(m,) how well each candidate continues the sets, by their shares."""
    step = ranker.step(step_signals(evidence, start, sets.members, beam.gain_temperature))
    inside = np.arange(len(sets.members))[:, None]
    step[inside, sets.members] = -np.inf
    step[inside, sets.members] = step.max(axis=1, keepdims=True) + beam.bonus
    return np.asarray(np.einsum("s,sm->m", sets.shares(beam.temperature), step))


@dataclass(frozen=True)
class ChainsNotes(Notes):
    """Notes of a ranking by chains.

    Attributes
    ----------
    trust : how far chains are trusted, in [0, 1]; the rest of the score is that of a single passage.
    chains : the best pairs by title, with their shares.
    """

    trust: float | None = None
    chains: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Searched:
    """A query's candidates: what is known of them, their order, and the paths that the walk took to them.

    Attributes
    ----------
    trust : see `Ranker`. order : the sum that it is a part of.
    start : (m,) log-odds that a candidate is needed, by itself.
    chains : None where there are less than `LEAST` candidates.
    only_walked : (m,) which candidates neither words nor vectors found.
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
        """What the order may add up, (m,) each."""
        single = {
            name: self.evidence.single[name] for name in SINGLE if name in self.evidence.single
        }
        return {**single, "start": self.start, **(self.chains.levels if self.chains else {})}

    @property
    def scores(self) -> FloatArray:
        """(m,) what candidates are ordered by."""
        return self.order(self.levels)

    @property
    def continued(self) -> dict[int, int]:
        """Corpus row of a candidate -> that of the passage that it continues."""
        if self.chains is None:
            return {}
        rows = self.evidence.rows
        source = self.chains.source
        continuing = np.flatnonzero(source >= 0)
        return dict(zip(rows[continuing].tolist(), rows[source[continuing]].tolist(), strict=True))

    def notes(self, corpus: Corpus, temperature: float) -> ChainsNotes:
        """The arithmetic, how far chains are trusted, and the best pairs; `temperature` is their shares'."""
        best: tuple[str, ...] | None = None
        if self.chains is not None:
            rows = self.evidence.rows
            pairs = self.chains.pairs
            shares = pairs.shares(temperature)[:SHOWN].tolist()
            titles = [
                [corpus.titles[row] or corpus.ids[row] for row in rows[pair].tolist()]
                for pair in pairs.members
            ]
            best = tuple(
                f"{a} + {b} ({share:.2f})" for (a, b), share in zip(titles, shares, strict=False)
            )
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
        """What each step of the system let pass; `depths` says how candidates are chosen."""
        evidence = self.evidence
        rows = evidence.rows
        steps = [step("candidate", "not retrieved", f"not among the first {depths}", rows)]
        if self.chains is not None:
            first = np.argsort(-self.start, kind="stable")[:sources]
            shared = np.maximum(evidence.shared_word, evidence.title_words)[first].max(axis=0)
            linked = np.union1d(np.flatnonzero(shared > 0), first)
            why = f"no naming word in common with the {sources} likeliest"
            steps.append(step("named", "entity not linked", why, rows[linked]))
            orders = [np.argsort(-level, kind="stable")[:k] for level in self.levels.values()]
            why = f"below {k} as a single passage, and as second and third passage"
            steps.append(step("in a chain", "pruned", why, rows[np.unique(orders)]))
        ordered = rows[np.argsort(-self.scores, kind="stable")[:k]]
        return (*steps, step("ordered", "ranked below k", f"below {k} in the sum", ordered))
