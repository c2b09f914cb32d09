"""Query -> passages, ordered by chains of shared names that cover the question; no LLM.

The system we recommend.

1. The question's sub-phrases are encoded as further queries (`phrases`).
2. The walk of `mention_ppr` also starts at the passages nearest to the sub-phrases. The candidates are the first hits
   of the walk, of dense search and of BM25 (`candidates`).
3. One linear model gives the log-odds that a candidate is needed, by itself. A second gives the log-odds that it
   continues a set of candidates; it reads names that the question lacks, and the phrases and words of the question
   that the set does not cover (`signals`, `coefficients`).
4. A beam search finds the best pairs, and how well each candidate continues a passage and a pair (`chains`).
5. The score is a mixture of two sums, over chains and over BM25, cosine and MaxSim of the single passage. Chains weigh
   more if the question names titles and the likeliest candidates name the titles of each other, and less in a corpus
   without such links. If the question names titles, the share of the walk counts as well.

Ours. The coefficients are fitted only on training questions (`coefficients.toml`, `eval/fit.py`).
After [1] MDR, [2] Baleen, [3] Beam Retrieval and [4] PropRAG, which use trained encoders or an LLM in
place of the linear models. [1] Xiong et al., ICLR 2021. [2] Khattab et al., NeurIPS 2021. [3] Zhang et
al., NAACL 2024. [4] Wang & Han, EMNLP 2025.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from kg2rag.knowledge import KnowledgeBase, LexicalSettings, Workload
from kg2rag.knowledge.graph.pagerank import NodeWeights
from kg2rag.knowledge.indexes.dense import cosines as all_cosines
from kg2rag.retrievers.contract import TuningRecord
from kg2rag.retrievers.dense import VectorRetriever
from kg2rag.retrievers.linking.phrases import unnamed_phrases
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
from kg2rag.retrievers.mention_ppr.graph import WalkedPaths
from kg2rag.retrievers.mention_ppr.retriever import BLOCK, REACH, MentionPPR
from kg2rag.types import (
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
    TuningRecord(
        "mention_chains", "coefficients of all sums", "fitted", 1, training=TRAINING
    ),
    TuningRecord(
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
    TuningRecord(
        "mention_chains",
        "three thousand passages near a question for its sub-phrases",
        "chosen",
        6,
        training=TRAINING[2:8],
    ),
    TuningRecord(
        "mention_chains",
        "four windows of a long passage whose tokens are compared",
        "chosen",
        3,
        sets=("docs",),
    ),
    TuningRecord(
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
    """Retrieval by chains of passages among the candidates of three searches.

    Parameters
    ----------
    damping, iterations, backward, name_weight, max_mentions, reach : the parameters of the walk, see `MentionPPR`.
    dense_seeds, dense_temperature, title_weight, query_name_weight : those of its start, see `MentionPPR`.
    max_phrases : the maximum of sub-phrases of a question, the shortest first; 0 for none.
    phrase_pool : the number of passages nearest to a question that are compared with its sub-phrases.
    phrase_seeds, phrase_weight, phrase_temperature : the walk also starts at the `phrase_seeds` passages nearest to
        each sub-phrase. They share phrase_weight · exp((best cosine - 1) / phrase_temperature) by softmax of
        cosine / dense_temperature.
    walk_depth, dense_depth, bm25_depth : the number of first hits of each search that are candidates.
    gain_temperature : the temperature of the soft maximum in `phrase_gain`, in units of cosine.
    sources : the number of likeliest candidates with which a chain may begin.
    beam : the maximum of pairs that are continued.
    beam_temperature : the temperature of the shares of pairs, in log-odds.
    member_bonus : the step to a member of a pair is the best step to another candidate plus this, in log-odds.
    triple_weight : the weight of the knowledge graph's triples in the walk, see `MentionPPR`; 0 leaves them out.
    coefficients : "default", or a file that `eval/fit.py` wrote.
    depth : the maximum of ranked passages; below the candidates come the nearest other passages.
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
        """The remark that the coefficients were fitted with another encoder; "" if they were not."""
        fitted = read_coefficients(self.coefficients).fitted.get("encoder")
        if getattr(self.kb.embedder, "model", "") == fitted:
            return ""
        return f"its coefficients were fitted with {fitted}; eval/fit.py fits others"

    def seen(self, queries: Sequence[Query]) -> int:
        """The number of queries on which the coefficients were fitted."""
        digests = read_coefficients(self.coefficients).seen
        return sum(digest(query.text) in digests for query in queries)

    def workloads(self, queries: Sequence[Query]) -> list[Workload]:
        """The texts to encode: the passages with their tokens, and the triples if they have a weight."""
        return [*self._walker.workloads(queries), token_workload(self.kb)]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries, their phrases and their tokens, then build the shared parts."""
        if queries:
            self._encode(queries)
        super().prepare(queries)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """The rankings of a batch; its walks are joint, its chains are found query by query."""
        return [
            self._ranking(query, search, k)
            for query, search in zip(queries, self.chain_searches(queries), strict=True)
        ]

    def chain_searches(self, queries: Sequence[Query]) -> Iterator[ChainSearch | None]:
        """The candidates and chains of each query; None for a query without candidate passages."""
        for first in range(0, len(queries), BLOCK):
            yield from self._search_block(queries[first : first + BLOCK])

    @cached_property
    def _walker(self) -> MentionPPR:
        """The system with the graph and the restart weights of the walk."""
        shared = (
            MentionPPR.__dataclass_fields__.keys()
            & MentionChains.__dataclass_fields__.keys()
        )
        return MentionPPR(
            **{name: getattr(self, name) for name in shared if name != "depth"}
        )

    def _search_block(self, queries: Sequence[Query]) -> Iterator[ChainSearch | None]:
        """The candidates and chains of queries that are walked together."""
        kb = self.kb
        tokens, vectors = self._encode(queries)
        candidates = kb.candidates(queries)
        near = kb.dense.near(
            kb.encode_queries(queries), max(self._depth, self.phrase_pool), candidates
        )
        pools = [self._pool(*columns) for columns in zip(vectors, near, strict=True)]
        restarts = self._restarts(queries, pools)
        walks = self._walker.walks(restarts, candidates)
        for i, query in enumerate(queries):
            dense = pools[i].first(self._depth)
            if not len(dense.rows):
                yield None
                continue
            shares = walks[i].nonzero(len(kb.corpus))
            scores = kb.lexical(LEXICAL).scores(query.text)
            searches = Searches(
                best_hits(shares.nodes, shares.weights, self._depth),
                dense,
                self._bm25_hits(scores, candidates[i]),
            )
            rows, only_walked = searches.candidates(
                self.walk_depth, self.dense_depth, self.bm25_depth
            )
            scored = Candidates(
                rows,
                shares.weights_of(rows),
                scores[rows].astype(np.float64),
                all_cosines(vectors[i], kb.vectors[rows]),
            )
            evidence = find_evidence(kb, query.text, scored, searches, tokens[i])
            paths = self._walker.paths(rows, walks[i], restarts[i])
            yield self._chain_search(searches, evidence, paths, only_walked)

    def _pool(self, vectors: Matrix, rows: IntArray) -> Pool:
        """The passages of `rows` that are nearest to a question or to one of its sub-phrases.

        `vectors` : (1 + n_phrases, dim) those of the question and its sub-phrases. `rows` : (n,) the
        passages nearest to the question.
        """
        depths = [self._depth] + [self.phrase_seeds] * (len(vectors) - 1)
        return Pool.from_cosines(*self.kb.dense.among(vectors, rows, depths))

    def _bm25_hits(
        self, scores: NDArray[np.float32], candidate_rows: IntArray | None
    ) -> Hits:
        """The hits of BM25 among the candidate passages, with scores above 0.

        `scores` : (n_passages,) the score of each passage.
        """
        rows = top_with_ties(scores, self._depth, candidate_rows)
        rows = rows[scores[rows] > 0]
        return best_hits(rows, scores[rows].astype(np.float64), self._depth)

    @property
    def _depth(self) -> int:
        """The number of hits read from each search, the maximum of all depths."""
        return max(
            self.depth,
            self.dense_seeds,
            self.walk_depth,
            self.dense_depth,
            self.bm25_depth,
        )

    def _chain_search(
        self,
        searches: Searches,
        evidence: Evidence,
        paths: WalkedPaths,
        only_walked: NDArray[np.bool_],
    ) -> ChainSearch:
        """The candidates of a query with their chains, weighed by the fitted models."""
        ranker = read_coefficients(self.coefficients).ranker(
            tokens=evidence.max_sim is not None
        )
        start = ranker.start(evidence.single)
        chain_weight = 0.0
        chains: Chains | None = None
        if len(evidence.rows) >= LEAST:
            beam = Beam(
                self.sources,
                self.beam,
                self.beam_temperature,
                self.member_bonus,
                self.gain_temperature,
            )
            chain_weight = ranker.chain_weight(evidence.gate(start))
            chains = chains_of(evidence, start, ranker, beam)
        return ChainSearch(
            searches,
            evidence,
            chain_weight,
            ranker.order(chain_weight),
            start,
            chains,
            paths,
            only_walked,
        )

    def _restarts(
        self, queries: Sequence[Query], pools: Sequence[Pool]
    ) -> list[NodeWeights]:
        """The restart weights of `mention_ppr`, with the passages nearest to the sub-phrases."""
        ids = self.kb.corpus.ids
        seeds = [pool.first(self.dense_seeds) for pool in pools]
        dense = [
            Ranking.from_scores(query.id, *hits, ids)
            for query, hits in zip(queries, seeds, strict=True)
        ]
        starts, _ = self._walker.restarts(queries, dense)
        restarts = []
        for start, pool in zip(starts, pools, strict=True):
            phrase_weights = phrase_restart(
                pool.rows[: self.phrase_pool],
                pool.cosines[1:, : self.phrase_pool],
                seeds=self.phrase_seeds,
                weight=self.phrase_weight,
                temperature=self.dense_temperature,
                fit_temperature=self.phrase_temperature,
            )
            restarts.append(start.plus(phrase_weights))
        return restarts

    def _encode(
        self, queries: Sequence[Query]
    ) -> tuple[Sequence[QuestionTokens | None], list[Matrix]]:
        """The wordpieces of each query, None without token vectors, and the vectors of each query.

        The vectors, (1 + n_phrases, dim), are those of the query and of its sub-phrases.
        """
        texts = [query.text for query in queries]
        # Wordpieces come first, since their encoding gives the vectors of the queries, too.
        tokens = question_tokens(self.kb, texts)
        parts = [[text, *sub_phrases(text, self.max_phrases)] for text in texts]
        vectors = self.kb.encode_once(list(chain.from_iterable(parts)), "query")
        return tokens, np.split(vectors, np.cumsum(list(map(len, parts)))[:-1])

    def _ranking(self, query: Query, search: ChainSearch | None, k: int) -> Ranking:
        """The ranking of a query: the candidates by score, then the nearest other passages.

        A candidate that only the walk found has the stage "walk".
        """
        ids = self.kb.corpus.ids
        if search is None:
            return Ranking.from_scores(
                query.id, np.empty(0, np.int64), np.empty(0), ids
            ).top(k)
        rows = search.evidence.rows
        scores = search.scores
        nearest = search.searches.dense.rows
        others = nearest[~np.isin(nearest, rows)]
        place = np.arange(1.0, len(others) + 1)
        least = np.full(len(others), scores.min())
        parts = {**search.levels, **search.evidence.single}
        if search.chains is not None:
            parts |= search.chains.step
        groups = {}
        for stage, mask in (
            ("chains", ~search.only_walked),
            ("walk", search.only_walked),
        ):
            stage_parts = {name: column[mask] for name, column in parts.items()}
            groups[stage] = (rows[mask], scores[mask], stage_parts)
        groups["dense"] = (
            others,
            least - place,
            {"least score": least, "place": place},
        )
        paths = ChainPaths(search.walked, search.sources)
        notes = replace(
            search.notes(self.kb.corpus, self.beam_temperature),
            unlinked=unnamed_phrases(query.text, self.kb.mentions.lexicon),
        )
        return Ranking.from_groups(query.id, groups, ids, paths, notes).top(
            min(k, self.depth)
        )

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """The traces, with the steps of `ChainSearch.steps`; none for a query without candidates."""
        depths = f"{self.walk_depth} of the walk, {self.dense_depth} by cosine and {self.bm25_depth} by BM25"
        traces = []
        for query, search in zip(queries, self.chain_searches(queries), strict=True):
            steps = search.steps(k, depths, self.sources) if search else ()
            traces.append(Trace(self._ranking(query, search, k), steps))
        return traces
