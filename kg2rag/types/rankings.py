"""The result of every strategy: one ranking per query, its hits as arrays in canonical order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from kg2rag.text.cells import excerpt
from kg2rag.types.explanation import Explanation
from kg2rag.types.notes import Notes
from kg2rag.types.parameters import Count, require
from kg2rag.types.passages import FloatArray, Hit, IntArray, Paths, Triple, first_of

if TYPE_CHECKING:
    import pandas as pd

NOTHING: Mapping[Any, Any] = {}  # no score parts, or no paths
NO_NOTES = Notes()


@dataclass(frozen=True, eq=False)
class Ranking:
    """One query's hits, best first, each passage once, in canonical order.

    The order is by (-score rounded to a millionth, corpus position).

    The hits are columns of arrays; `Hit` objects are made when they are accessed. Build one with
    `Ranking.from_scores`.

    Attributes
    ----------
    rows, scores : (n_hits,) corpus rows, and scores that do not increase; see `canonical_order`.
    ids : the passage ids of the corpus, by row; shared, never copied.
    stages : names of components; `stage_codes`, (n_hits,), indexes them.
    score_parts : named columns, (n_hits,) each; NaN if a hit has no such part.
    paths : corpus row -> path of triples, a dict or `LazyPaths`; no path for text matches.
    notes : the strategy's notes on the query as a whole.
    """

    query_id: str
    rows: IntArray
    scores: FloatArray
    ids: Sequence[str] = field(repr=False)
    stages: tuple[str, ...] = ("",)
    stage_codes: NDArray[np.int8] | None = None
    score_parts: Mapping[str, FloatArray] = field(default_factory=dict, repr=False)
    paths: Paths = field(default_factory=dict[int, tuple[Triple, ...]], repr=False)
    notes: Notes = field(default_factory=Notes)

    @staticmethod
    def from_scores(
        query_id: str,
        rows: NDArray[np.integer] | Sequence[int],
        scores: NDArray[np.floating] | Sequence[float],
        ids: Sequence[str],
        *,
        stages: tuple[str, ...] = ("",),
        stage_codes: NDArray[np.integer] | None = None,
        score_parts: Mapping[str, NDArray[np.floating]] = NOTHING,
        paths: Paths = NOTHING,
        notes: Notes = NO_NOTES,
    ) -> Ranking:
        """The ranking of scored rows in canonical order; `top(k)` keeps the first `k`.

        `rows`, each once, `scores`, `stage_codes` and each of `score_parts` are (n,). ValueError if
        rows and scores differ in number, a score is not finite, or a row is given twice or is
        outside the corpus.
        """
        ranking = Ranking(
            query_id,
            np.asarray(rows, dtype=np.int64),
            np.asarray(scores, dtype=np.float64),
            ids,
            stages,
            None if stage_codes is None else np.asarray(stage_codes, dtype=np.int8),
            {
                name: np.asarray(column, dtype=np.float64)
                for name, column in score_parts.items()
            },
            paths,
            notes,
        )
        ranking._require_valid()
        return ranking.select(canonical_order(ranking.rows, ranking.scores))

    def _require_valid(self) -> None:
        """Raise the ValueError that `from_scores` describes if rows or scores are invalid."""
        rows = self.rows
        if len(rows) != len(self.scores):
            raise self._fault(
                f"{len(rows)} rows but {len(self.scores)} scores. Give one score per row."
            )
        outside = rows[(rows < 0) | (rows >= len(self.ids))]
        if len(outside):
            raise self._fault(
                f"row {outside[0]} is not in the corpus, which has {len(self.ids)} passages."
            )
        distinct, counts = np.unique(rows, return_counts=True)
        if len(distinct) != len(rows):
            raise self._fault(
                f"passage {self.ids[int(distinct[counts > 1][0])]!r} is ranked twice."
            )
        not_finite = rows[~np.isfinite(self.scores)]
        if len(not_finite):
            raise self._fault(
                f"the score of {self.ids[int(not_finite[0])]!r} is not finite."
            )

    def _fault(self, message: str) -> ValueError:
        """A ValueError whose message begins with the query id."""
        return ValueError(f"query {self.query_id!r}: {message}")

    @staticmethod
    def from_groups(
        query_id: str,
        groups: Mapping[str, tuple[IntArray, FloatArray, Mapping[str, FloatArray]]],
        ids: Sequence[str],
        paths: Paths,
        notes: Notes,
    ) -> Ranking:
        """The ranking of the hits of several stages that have no row in common.

        `groups` maps a stage to the rows, scores and score parts of its hits. A part that a stage
        lacks is NaN for its hits.
        """
        rows, scores, parts_by_stage = zip(*groups.values(), strict=True)
        sizes = list(map(len, rows))
        columns = dict[str, FloatArray]()
        for name in dict.fromkeys(chain.from_iterable(parts_by_stage)):
            pieces = [
                parts.get(name, np.full(size, np.nan))
                for parts, size in zip(parts_by_stage, sizes, strict=True)
            ]
            columns[name] = np.concatenate(pieces)
        return Ranking.from_scores(
            query_id,
            np.concatenate(rows),
            np.concatenate(scores),
            ids,
            stages=tuple(groups),
            stage_codes=np.repeat(np.arange(len(groups)), sizes),
            score_parts=columns,
            paths=paths,
            notes=notes,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Hit]:
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Ranking: ...
    def __getitem__(self, index: int | slice) -> Hit | Ranking:
        """The hit at an index from 0, or the ranking of a slice; `hit` counts ranks from 1."""
        if isinstance(index, slice):
            if (index.step or 1) < 0:
                raise self._fault(f"a ranking is best first; {index} would reverse it.")
            return self.select(index)
        index = range(len(self))[
            index
        ]  # IndexError; negative indices count from the end
        row = int(self.rows[index])
        code = 0 if self.stage_codes is None else self.stage_codes[index]
        values = {
            name: float(column[index]) for name, column in self.score_parts.items()
        }
        return Hit(
            self.ids[row],
            float(self.scores[index]),
            self.stages[code],
            self.paths.get(row, ()),
            {name: value for name, value in values.items() if not np.isnan(value)},
            getattr(self.ids, "corpus", None),
        )

    def hit(self, rank: int) -> Hit:
        """The hit at `rank`, counted from 1."""
        if not 1 <= rank <= len(self):
            raise IndexError(
                f"query {self.query_id!r}: rank {rank} of a ranking with {len(self)} hits."
            )
        return self[rank - 1]

    @property
    def passage_ids(self) -> list[str]:
        """The ids of the hits, best first."""
        return [self.ids[row] for row in self.rows.tolist()]

    def to_frame(self) -> pd.DataFrame:
        """A frame with one row per hit: rank, passage, score, stage, path, and the score parts.

        A score part whose name is taken by another column is renamed, as in "score part".
        """
        import pandas as pd

        hits = [
            (rank, hit.passage_id, hit.score, hit.stage, hit.path_text)
            for rank, hit in enumerate(self, start=1)
        ]
        frame = pd.DataFrame(
            hits, columns=["rank", "passage", "score", "stage", "path"]
        )
        parts = {
            f"{name} part" if name in frame else name: column
            for name, column in self.score_parts.items()
        }
        return frame.assign(**parts)

    def _repr_html_(self) -> str:
        import pandas as pd

        hits = list(self)
        frame = self.to_frame()[["rank", "passage", "score", "path"]]
        if hits and hits[0].corpus is not None:
            frame.insert(2, "title", [hit.title for hit in hits])
            frame.insert(3, "text", [excerpt(hit.text) for hit in hits])
        with pd.option_context("display.max_colwidth", None):
            return f'<div class="mathjax_ignore">{_aligned_html(frame)}</div>'

    def explain(
        self,
        limit: int = 10,
        texts: Mapping[str, str] | None = None,
        title: str = "",
        gold: Iterable[str] = (),
    ) -> Explanation:
        """An explanation of the first `limit` hits, for display in Jupyter or a terminal.

        `texts` : passage id -> its displayed text. Passages of `gold` are marked; those below `limit`
        are listed with their ranks.
        """
        return Explanation(
            self, limit, texts or {}, title, {id_: (id_,) for id_ in gold}
        )

    def top(self, k: int) -> Ranking:
        """The first `k` hits; ValueError if `k` is below 1."""
        require_k(k)
        return self if k >= len(self) else self.select(slice(k))

    def select(self, index: slice | NDArray[np.integer] | NDArray[np.bool_]) -> Ranking:
        """The hits that a slice, an array of indices from 0, or a mask selects, in that order."""
        codes = None if self.stage_codes is None else self.stage_codes[index]
        parts = {name: column[index] for name, column in self.score_parts.items()}
        return replace(
            self,
            rows=self.rows[index],
            scores=self.scores[index],
            stage_codes=codes,
            score_parts=parts,
        )


def _aligned_html(frame: pd.DataFrame) -> str:
    """A frame as HTML with numbers aligned right and texts left; Jupyter aligns all right."""
    table_class = f"kg2rag-ranking-{len(frame.columns)}"
    rules = [f".{table_class} :is(th, td) {{ text-align: left !important; }}"]
    for position, column in enumerate(frame.columns, start=1):
        if frame[column].dtype.kind in "if":
            cells = f".{table_class} :is(th, td):nth-child({position})"
            rules.append(f"{cells} {{ text-align: right !important; }}")
    table = frame.to_html(
        index=False, float_format="{:.4g}".format, classes=table_class
    )
    return f"<style>{' '.join(rules)}</style>{table}"


# Scores are compared by so many bits, to about a millionth: lower bits vary by batch.
SIGNIFICANT_BITS = 20
TIE = 2.0 ** (1 - SIGNIFICANT_BITS)  # the maximum relative difference of tied scores


def number(value: float) -> str:
    """A number as text for a formula, with eight digits: scores can be recomputed to a millionth."""
    return f"{value:.8g}"


def require_k(k: object) -> None:
    """Raise ParameterError unless `k` is a whole number from 1.

    Every ranking calls this: a valid `k` needs no further call.
    """
    if type(k) is not int or k < 1:
        require("k", k, Count)


def canonical_order(
    rows: NDArray[np.integer], scores: NDArray[np.floating]
) -> IntArray:
    """The indices that sort scored rows by descending rounded score, ties by ascending row.

    Scores are rounded to `SIGNIFICANT_BITS`.
    """
    mantissas, exponents = np.frexp(np.asarray(scores, dtype=np.float64))
    rounded = np.ldexp(np.rint(np.ldexp(mantissas, SIGNIFICANT_BITS)), exponents)
    return np.lexsort((rows, -rounded))


def top_with_ties(
    scores: NDArray[np.floating], k: int, candidate_rows: IntArray | None = None
) -> IntArray:
    """The rows of the `k` best scores and of ties with the k-th, unordered, in linear time.

    The candidate rows of a query are few: if given, all of them are returned. ValueError: k < 1.
    """
    require_k(k)
    if candidate_rows is not None:
        return candidate_rows
    if k >= len(scores):
        return np.arange(len(scores), dtype=np.int64)
    # `np.partition` from the other end is ten times slower on many equal scores.
    threshold = -np.partition(-scores, k - 1)[k - 1]
    # The minimum lowers a negative threshold, too.
    return np.flatnonzero(scores >= min(threshold * (1 - TIE), threshold * (1 + TIE)))


def rescored(
    ranking: Ranking,
    rows: IntArray,
    scores: FloatArray,
    k: int,
    *,
    formula: str,
    score_parts: Mapping[str, FloatArray],
    paths: Paths = NOTHING,
    notes: Notes = NO_NOTES,
) -> Ranking:
    """The best `k` of some hits of a ranking by new scores, with their stages and paths.

    `rows` are distinct rows of the ranking; `scores` and each of `score_parts` are (n,). New parts
    replace those of the same name, new paths those of the same rows. `notes` are those of the
    stage; the ranking's notes become their input.
    """
    order = np.argsort(ranking.rows)
    selected = ranking.select(order[np.searchsorted(ranking.rows, rows, sorter=order)])
    stage_notes = replace(
        notes, formula=formula, source=ranking.notes.source, inputs=(ranking.notes,)
    )
    rescored_ranking = Ranking.from_scores(
        ranking.query_id,
        rows,
        scores,
        ranking.ids,
        stages=selected.stages,
        stage_codes=selected.stage_codes,
        score_parts={**selected.score_parts, **score_parts},
        paths=first_of(paths, ranking.paths),
        notes=stage_notes,
    )
    return rescored_ranking.top(k)
