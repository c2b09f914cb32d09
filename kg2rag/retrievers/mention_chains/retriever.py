"""Query -> passages, ordered by chains of shared names that cover the question; no LLM.

The system we recommend.

1. The question's sub-phrases are encoded as further queries (`phrases`).
2. `mention_ppr`'s walk starts also at the passages nearest to them; its first passages, the nearest ones and BM25's are
   the candidates (`candidates`).
3. A linear model says how likely each is needed by itself, a second how well it continues a set of others: by names
   that the question lacks, by the phrases and words that the set leaves open (`signals`, `coefficients`).
4. A beam finds the best sets of two and three; how well a passage continues them is one order (`chains`). BM25, cosine
   and MaxSim of the single passage are the other. The score is a mixture of both: the chains weigh more where the
   question names titles and the likeliest passages name each other's titles. A corpus without such links is searched
   by words and vectors. Where the question names titles, the walk's share counts as well.

Ours. The coefficients are fitted only on training questions (`coefficients.toml`, `eval/fit.py`).
After [1] MDR, [2] Baleen, [3] Beam Retrieval, [4] PropRAG, which do with trained encoders or an LLM
what sums do here. [1] Xiong et al., ICLR 2021. [2] Khattab et al., NeurIPS 2021. [3] Zhang et al.,
NAACL 2024. [4] Wang & Han, EMNLP 2025.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge import KnowledgeBase, LexicalSettings, Workload
from kg2rag.knowledge.graph.pagerank import NodeWeights
from kg2rag.knowledge.indexes.dense import cosines as all_cosines
from kg2rag.retrievers.contract import Tuned
from kg2rag.retrievers.dense import VectorRetriever
from kg2rag.retrievers.mention_chains.candidates import (
    Candidates,
    Hits,
    Pool,
    Searches,
    best_hits,
    phrase_restart,
)
from kg2rag.retrievers.mention_chains.chain_search import ChainPaths, ChainSearch
from kg2rag.retrievers.mention_chains.chains import LEAST, Beam, Chains, chains_of
from kg2rag.retrievers.mention_chains.coefficients import (
    DEFAULT,
    Linear,
    digest,
    read_coefficients,
)
from kg2rag.retrievers.mention_chains.phrases import sub_phrases
from kg2rag.retrievers.mention_chains.signals import Evidence, find_evidence
from kg2rag.retrievers.mention_chains.token_index import (
    QuestionTokens,
    question_tokens,
    token_workload,
)
from kg2rag.retrievers.mention_ppr.retriever import BLOCK, REACH, MentionPPR
from kg2rag.types import (
    FloatArray,
    IntArray,
    Matrix,
    Query,
    Ranking,
    Trace,
    above,
    top_with_ties,
)
from kg2rag.types.parameters import Count, Damping, Natural, Weight

COLOUR = "#D55E00"  # in plots
LEXICAL = LexicalSettings()
TRAINING = (
    "musique",
    "hotpotqa",
    "2wiki",
    "docs",
    "news",
    "medical",
    "scifact",
    "obliqa",
)
TUNING = (
    Tuned("mention_chains", "coefficients of all sums", "fitted", 1, training=TRAINING),
    Tuned(
        "mention_chains",
        "the mixture's form and signals, by leaving out a training set at a time",
        "known",
        75,
        sets=(
            "musique-100",
            "hotpotqa-300",
            "2wiki-1000",
            "cosqa-500",
            "scifact",
            "docs",
        ),
        training=TRAINING,
    ),
    Tuned(
        "mention_chains",
        "three thousand passages near a question for its sub-phrases",
        "chosen",
        6,
        training=TRAINING[2:8],
    ),
    Tuned(
        "mention_chains",
        "four windows of a long passage whose tokens are compared",
        "chosen",
        3,
        sets=("docs",),
    ),
    Tuned(
        "mention_chains",
        "sources, beam, temperatures, depths and weights of the walk and its start",
        "known",
        550,
        sets=("musique-100", "hotpotqa-300", "2wiki-1000", "2wiki-kg-500"),
        training=TRAINING[:3],
    ),
)


@dataclass(frozen=True)
class MentionChains(VectorRetriever):
    """Chains of passages over a walk's candidates.

    Parameters
    ----------
    damping, iterations, backward, name_weight, max_mentions, reach : of the walk, see `MentionPPR`.
    dense_seeds, dense_temperature, title_weight, query_name_weight : of the walk's start, see `MentionPPR`.
    max_phrases : sub-phrases of a question, the shortest first; 0 for none.
    phrase_pool : passages nearest to a question, with which its phrases are compared.
    phrase_seeds, phrase_weight, phrase_temperature : the walk starts also at each phrase's nearest passages, which
        share phrase_weight · exp((best cosine - 1) / phrase_temperature) by softmax of cosines / dense_temperature.
    walk_depth, dense_depth, bm25_depth : how many of each search's first passages are candidates.
    gain_temperature : of the soft maximum over phrases in `phrase_gain`, in units of cosine.
    sources : likeliest passages that a chain may begin with.
    beam, beam_temperature : sets that are continued, and the temperature of their shares, in log-odds.
    member_bonus : a set's members count as its best other continuation plus this, in log-odds.
    triple_weight : of the knowledge graph's triples in the walk, see `MentionPPR`; 0 leaves them out.
    coefficients : "default", or a file that `eval/fit.py` wrote.
    depth : passages ranked; below the candidates the nearest others.
    """

    kb: KnowledgeBase = field(repr=False)
    damping: Damping = 0.7
    iterations: Count = 15
    backward: Weight = 0.3
    name_weight: Weight = 0.03
    max_mentions: Natural = 50
    reach: Count = REACH
    dense_seeds: Count = 10
    dense_temperature: Annotated[float, above(0)] = 0.03
    title_weight: Weight = 2.0
    query_name_weight: Weight = 0.5
    max_phrases: Natural = 40
    phrase_pool: Count = 3_000
    phrase_seeds: Count = 3
    phrase_weight: Weight = 0.3
    phrase_temperature: Annotated[float, above(0)] = 0.25
    walk_depth: Count = 40
    dense_depth: Count = 20
    bm25_depth: Count = 20
    gain_temperature: Annotated[float, above(0)] = 0.05
    sources: Count = 8
    beam: Count = 8
    beam_temperature: Annotated[float, above(0)] = 2.0
    member_bonus: Weight = 1.0
    triple_weight: Weight = 0.0
    coefficients: str = DEFAULT
    depth: Count = 100
    encodes_tokens: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        read_coefficients(self.coefficients)

    @property
    def remark(self) -> str:
        """Which encoder the coefficients were fitted with, where another one is in use."""
        fitted = read_coefficients(self.coefficients).fitted.get("encoder")
        same = getattr(self.kb.embedder, "model", "") == fitted
        return (
            ""
            if same
            else f"its coefficients were fitted with {fitted}; eval/fit.py fits others"
        )

    def seen(self, queries: Sequence[Query]) -> int:
        """How many of some queries the coefficients were fitted on."""
        fitted = read_coefficients(self.coefficients).seen
        return sum(digest(query.text) in fitted for query in queries)

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The passages with their tokens, and the triples if they have a weight."""
        return [*self._walker.workloads(queries), token_workload(self.kb)]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries, their phrases and their tokens, then build the shared parts."""
        if queries:
            self._encoded(queries)
        super().prepare(queries)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """The rankings of a batch: joint walks, then candidates and chains query by query."""
        return [
            self._ranking(*pair, k)
            for pair in zip(queries, self.chain_searches(queries), strict=True)
        ]

    def chain_searches(self, queries: Sequence[Query]) -> Iterator[ChainSearch | None]:
        """The candidates and chains of each query; None where it may return no passage."""
        blocks = (
            queries[first : first + BLOCK] for first in range(0, len(queries), BLOCK)
        )
        return chain.from_iterable(map(self._block, blocks))

    @cached_property
    def _walker(self) -> MentionPPR:
        """The system whose graph is walked, and whose start the walks have."""
        shared = (
            MentionPPR.__dataclass_fields__.keys()
            & MentionChains.__dataclass_fields__.keys()
        )
        return MentionPPR(
            **{name: getattr(self, name) for name in shared if name != "depth"}
        )

    def _block(self, queries: Sequence[Query]) -> Iterator[ChainSearch | None]:
        kb, walker = self.kb, self._walker
        questions, vectors = self._encoded(queries)
        masks = kb.candidates(queries)
        near = kb.dense.near(
            kb.encode_queries(queries), max(self._first, self.phrase_pool), masks
        )
        pools = [self._pool(*columns) for columns in zip(vectors, near, strict=True)]
        restarts = self._restarts(queries, pools)
        walks = walker.walks(restarts, masks)
        for i, query in enumerate(queries):
            dense = pools[i].first(self._first)
            if not len(dense.rows):
                yield None
                continue
            shares = walks[i].reached(len(kb.corpus))
            scores = kb.lexical(LEXICAL).scores(query.text)
            searches = Searches(
                best_hits(shares.nodes, shares.weights, self._first),
                dense,
                self._worded(scores, masks[i]),
            )
            rows, only_walked = searches.candidates(
                self.walk_depth, self.dense_depth, self.bm25_depth
            )
            candidates = Candidates(
                rows,
                shares.at(rows),
                scores[rows].astype(np.float64),
                all_cosines(vectors[i], kb.vectors[rows]),
            )
            evidence = find_evidence(kb, query.text, candidates, searches, questions[i])
            paths = walker.paths(rows, walks[i], restarts[i])
            start, chain_weight, order, chains = self._chains(evidence)
            yield ChainSearch(
                searches,
                evidence,
                chain_weight,
                order,
                start,
                chains,
                paths,
                only_walked,
            )

    def _pool(self, vectors: Matrix, rows: IntArray) -> Pool:
        """Of the passages nearest to a question, those that come first or start its walk.

        `vectors` : (1 + n_phrases, dim).
        """
        depths = [self._first] + [self.phrase_seeds] * (len(vectors) - 1)
        return Pool.of(*self.kb.dense.among(vectors, rows, depths))

    def _worded(self, scores: NDArray[np.float32], mask: IntArray | None) -> Hits:
        """The first by BM25 of the rows of a mask, of all if that is None, that score above 0."""
        rows = top_with_ties(scores, self._first, mask)
        rows = rows[scores[rows] > 0]
        return best_hits(rows, scores[rows].astype(np.float64), self._first)

    @property
    def _first(self) -> int:
        """How many hits of each search are kept."""
        return max(
            self.depth,
            self.dense_seeds,
            self.walk_depth,
            self.dense_depth,
            self.bm25_depth,
        )

    def _chains(
        self, evidence: Evidence
    ) -> tuple[FloatArray, float, Linear, Chains | None]:
        """The log-odds of the candidates, the weight of the chains, the order, and the chains."""
        ranker = read_coefficients(self.coefficients).ranker(
            tokens=evidence.max_sim is not None
        )
        start = ranker.start(evidence.single)
        if len(evidence.rows) < LEAST:
            return start, 0.0, ranker.order(0.0), None
        beam = Beam(
            self.sources,
            self.beam,
            self.beam_temperature,
            self.member_bonus,
            self.gain_temperature,
        )
        chain_weight = ranker.chain_weight(evidence.gate(start))
        return (
            start,
            chain_weight,
            ranker.order(chain_weight),
            chains_of(evidence, start, ranker, beam),
        )

    def _restarts(
        self, queries: Sequence[Query], pools: Sequence[Pool]
    ) -> list[NodeWeights]:
        """The restart weights: those of `mention_ppr`, and passages nearest to the sub-phrases."""
        ids = self.kb.corpus.ids
        seeds = [pool.first(self.dense_seeds) for pool in pools]
        dense = [
            Ranking.from_scores(query.id, *hits, ids)
            for query, hits in zip(queries, seeds, strict=True)
        ]
        starts, _ = self._walker.restarts(queries, dense)
        restarts = []
        for start, pool in zip(starts, pools, strict=True):
            added = phrase_restart(
                pool.rows[: self.phrase_pool],
                pool.cosines[1:, : self.phrase_pool],
                seeds=self.phrase_seeds,
                weight=self.phrase_weight,
                temperature=self.dense_temperature,
                fit_temperature=self.phrase_temperature,
            )
            restarts.append(start.plus(added))
        return restarts

    def _encoded(
        self, queries: Sequence[Query]
    ) -> tuple[Sequence[QuestionTokens | None], list[Matrix]]:
        """The tokens of the queries, or None; and (1 + n_phrases, dim) of each with its phrases.

        Tokens come first: their passes give the vectors of queries, too.
        """
        texts = [query.text for query in queries]
        tokens = question_tokens(self.kb, texts)
        parts = [[text, *sub_phrases(text, self.max_phrases)] for text in texts]
        vectors = self.kb.encode_once(list(chain.from_iterable(parts)), "query")
        return tokens, np.split(vectors, np.cumsum(list(map(len, parts)))[:-1])

    def _ranking(self, query: Query, search: ChainSearch | None, k: int) -> Ranking:
        """The ranking: candidates in their order, then the nearest other passages.

        A candidate that only the walk found has the stage "walk".
        """
        ids = self.kb.corpus.ids
        if search is None:
            return Ranking.from_scores(
                query.id, np.empty(0, np.int64), np.empty(0), ids
            ).top(k)
        rows, scores, chains = search.evidence.rows, search.scores, search.chains
        nearest = search.searches.dense.rows
        others = nearest[~np.isin(nearest, rows)]
        place = np.arange(1.0, len(others) + 1)
        least = np.full(len(others), scores.min())
        parts = {
            **search.levels,
            **search.evidence.single,
            **(chains.step if chains else {}),
        }
        groups = {}
        for name, chosen in (
            ("chains", ~search.only_walked),
            ("walk", search.only_walked),
        ):
            groups[name] = (
                rows[chosen],
                scores[chosen],
                {part: column[chosen] for part, column in parts.items()},
            )
        groups["dense"] = (
            others,
            least - place,
            {"least score": least, "place": place},
        )
        paths = ChainPaths(search.walked, search.continued)
        notes = search.notes(self.kb.corpus, self.beam_temperature)
        return Ranking.from_groups(query.id, groups, ids, paths, notes).top(
            min(k, self.depth)
        )

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """The steps: a candidate, a continuation of a chain, the order."""
        depths = f"{self.walk_depth} of the walk, {self.dense_depth} by cosine and {self.bm25_depth} by BM25"
        return [
            Trace(
                self._ranking(query, search, k),
                search.steps(k, depths, self.sources) if search else (),
            )
            for query, search in zip(queries, self.chain_searches(queries), strict=True)
        ]
