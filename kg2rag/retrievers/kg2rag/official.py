"""Query -> Ranking as the released KG2RAG would choose it, with every departure from the paper as a switch.

Follows the code of Zhu et al., "Knowledge Graph-Guided RAG", NAACL 2025, at commit 7d626c77, written anew. Theirs:
the steps and the defaults of `Switches`. Ours: insertion order where theirs is that of a hash; 1 / place as score, for
the code orders and does not score. A sentence without text is none of our passages, and theirs has it as "title: ".

Theirs are the published sub-graphs as the LLM wrote them, preambles and blank parts included, for their trees follow
from these letters. The source `subkgs` keeps them beside the triples of the graph, and a HotpotQA
corpus of sentences keeps the blanks around each, which are in the strings.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_type_hints

import numpy as np
import pyarrow.compute as pc

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.kg2rag.plan import Planned, QueryPlan, Switches, joined_texts
from kg2rag.retrievers.rerankers import DEFAULT_RERANKER, named
from kg2rag.retrievers.rerankers.scoring import BiEncoder, Reranker, score_batches
from kg2rag.types import Count, FloatArray, Notes, Query, Ranking, Trace, Triple, checked, step

COLOUR = "#E69F00"  # in plots
RELEASED = Switches()


@dataclass(frozen=True)
class OfficialNotes(Notes):
    """Passages appended, trees, hits that trees gave, and the entities taken as mentioned by the question."""

    expanded: int = 0
    trees: int = 0
    from_trees: int = 0
    mentioned: tuple[str, ...] = ()


@dataclass(frozen=True)
class KG2RAGOfficial(Planned):
    """KG2RAG as released: title expansion, spanning trees, rerank, and its own way of choosing passages.

    Over its authors' sub-graphs (`subkgs(FILE)`), with `mode="hotpotqa"` and a corpus of sentences, it is their code up
    to the order of Python's sets. Over any other graph it is their method on other triples, and `remark` says so.

    A hit has the stage "seed" or "expand"; its path are the facts of it that its tree kept; its parts are `node`, the
    score by which the code lists passages, `tree` (rank of the tree that chose it, from 1) and `reranker` (the tree's
    score), the last two only where a tree chose it.

    Parameters
    ----------
    switches : the departures from the paper.
    mode : "musique", passages are paragraphs, and tree strings hold triples beside the text; "hotpotqa", passages are
        sentences, grouped by title in sentence order, and strings are text alone.
    seeds, context : passages sought by similarity, and returned at most; 10 and 10 in the code.
    hops : of graph expansion; the code has no such parameter.
    reranker : None for `BiEncoder(kb)`; theirs is BAAI/bge-reranker-large.
    max_characters : longer tree strings are cut, for rerankers read their beginning; None for all of it.
    organisation : False returns all seeds and appended passages in the order listed, the paper's ablation.
    """

    kb: KnowledgeBase = field(repr=False)
    switches: Switches = RELEASED
    mode: Literal["hotpotqa", "musique"] = "musique"
    seeds: Count = 10
    context: Count = 10
    hops: Count = 1
    reranker: Reranker | None = None
    max_characters: Count | None = 8000
    organisation: bool = True

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """All trees of the batch are scored in one call; then the passages that some queries still lack."""
        if not queries:
            return []
        plans = self.plan(queries)
        if not self.organisation:
            listed = [Selection(list(plan.nodes), {}, "not organised") for plan in plans]
            return [self._ranking(*parts, k) for parts in zip(queries, plans, listed, strict=True)]
        pairs = [[(query.text, text) for text in plan.texts] for query, plan in zip(queries, plans, strict=True)]
        scores, texts = score_batches(self._scorer, pairs), joined_texts(self.kb, self.switches.separator)
        chosen = select(queries, plans, scores, self._scorer, texts, self.switches, self.context)
        return [self._ranking(*parts, k) for parts in zip(queries, plans, chosen, strict=True)]

    def prepare(self, queries: Sequence[Query]) -> None:
        """Encode the queries and, where a bi-encoder will read them, the tree strings."""
        if queries:
            self.kb.encode_queries(queries)
            self.retrieve_batch(queries if isinstance(self._scorer, BiEncoder) else queries[:1], 1)

    @property
    def remark(self) -> str:
        """What of its input is not what the released code reads, for tables; empty where nothing is, or by choice."""
        if self.switches.triples == "clean":
            return ""
        if self.kb.extraction.raw is None:
            # Not its repr, which may name folders.
            source = type(self.kb.source).__name__
            return f"triples are those of {source}, not the sub-graphs that the released KG2RAG reads"
        if not pc.any(pc.greater(self.kb.corpus.table["position"], 0)).as_py():
            return "raw sub-graphs, as released, but over paragraphs, where the released KG2RAG has sentences"
        if self.mode != "hotpotqa":
            return "raw sub-graphs, as released, but mode='musique', where the released KG2RAG has mode='hotpotqa'"
        return ""

    @property
    def _scorer(self) -> Reranker:
        return self.reranker if self.reranker is not None else BiEncoder(self.kb)

    def _ranking(self, query: Query, plan: QueryPlan, selection: Selection, k: int) -> Ranking:
        rows = self._grouped(selection.rows) if self.switches.group_titles else selection.rows
        seeds = set(list(plan.nodes)[: plan.n_seeds])
        paths: dict[int, tuple[Triple, ...]] = {}
        chosen = set(rows)
        for tree in plan.trees:
            for i in tree:
                if (row := plan.rows[i]) in chosen:
                    paths[row] = (*paths.get(row, ()), plan.facts[i])
        by = selection.chosen_by
        places = np.arange(1, len(rows) + 1, dtype=np.float64)
        return Ranking.of(
            query.id,
            np.array(rows, dtype=np.int64),
            1.0 / places,
            self.kb.corpus.ids,
            stages=("seed", "expand"),
            stage_codes=np.array([row not in seeds for row in rows], dtype=np.int8),
            score_parts={
                "place": places,
                "node": np.array([plan.nodes[row] for row in rows]),
                "tree": np.array([by[row][0] if row in by else np.nan for row in rows]),
                "reranker": np.array([by[row][1] if row in by else np.nan for row in rows]),
            },
            paths=paths,
            notes=OfficialNotes(
                "1 / place",
                {"seed": "dense", "expand": "graph"},
                warning=selection.note,
                expanded=len(plan.nodes) - plan.n_seeds,
                trees=len(plan.trees),
                from_trees=len(selection.chosen_by),
                mentioned=tuple(plan.mentioned),
            ),
        ).top(k)

    def _grouped(self, rows: Sequence[int]) -> list[int]:
        """By title in order of first appearance; sentences of one title by their number."""
        corpus = self.kb.corpus
        groups: dict[str, list[int]] = {}
        for row in rows:
            groups.setdefault(corpus.titles[row], []).append(row)
        if self.mode == "hotpotqa":
            groups = {title: sorted(group, key=lambda row: corpus[row].position) for title, group in groups.items()}
        return [row for group in groups.values() for row in group]

    def trace_batch(self, queries: Sequence[Query], k: int) -> list[Trace]:
        """Which passages were seeds or appended, which of them a tree holds, and which were chosen."""
        away = f"none of the {self.seeds} seeds, and no title that was followed brought it"
        if self.switches.expansion != "titles":
            away = f"none of the {self.seeds} seeds, and no triple within hops = {self.hops} brought it"
        treeless = "in no spanning tree, and no free place was filled with it"
        passed_over = f"its tree is none of those that filled the {self.context} places"
        traces = []
        for plan, ranking in zip(self.plan(queries), self.retrieve_batch(queries, self.context), strict=True):
            in_trees = [plan.rows[fact] for tree in plan.trees for fact in tree]
            steps = (
                step("seeded or appended", "not expanded", away, list(plan.nodes), ranking.rows),
                step("in a tree", "pruned", treeless, in_trees, ranking.rows),
                step("chosen", "pruned", passed_over, ranking.rows),
            )
            traces.append(Trace(ranking.top(k), steps))
        return traces


NO_TREES = "no triple among the passages: ordered by the reranker"
NO_TREES_FILLED = "no triple among the passages: ordered by similarity"


class Selection(NamedTuple):
    """The rows chosen, in order; by which tree (its rank from 1, its score) where by one; and what deviated."""

    rows: list[int]
    chosen_by: dict[int, tuple[int, float]]
    note: str


def select(
    queries: Sequence[Query],
    plans: Sequence[QueryPlan],
    scores: Sequence[FloatArray],
    reranker: Reranker,
    texts: Sequence[str],
    switches: Switches,
    context: int,
) -> list[Selection]:
    """The passages of each query, at most `context`.

    `scores`: of each plan's trees. `texts`: of every passage of the corpus, as the reranker reads it.
    """
    chosen = [from_trees(plan, found, switches, context) for plan, found in zip(plans, scores, strict=True)]
    remaining = [_to_rerank(plan, by, switches, context) for plan, by in zip(plans, chosen, strict=True)]
    pairs = [[(query.text, texts[row]) for row in rows] for query, rows in zip(queries, remaining, strict=True)]
    again = score_batches(reranker, pairs)
    return [
        _completed(plan, by, rows, found, switches, context)
        for plan, by, rows, found in zip(plans, chosen, remaining, again, strict=True)
    ]


def from_trees(plan: QueryPlan, scores: FloatArray, switches: Switches, context: int) -> dict[int, tuple[int, float]]:
    """Corpus row -> rank and score of the tree that chose it, in the order chosen."""
    chosen: dict[int, tuple[int, float]] = {}
    for place, tree in enumerate(np.argsort(-scores, kind="stable").tolist(), start=1):
        fresh = list(dict.fromkeys(row for i in plan.trees[tree] if (row := plan.rows[i]) not in chosen))
        free = context - len(chosen)
        if len(fresh) > free and switches.overflow == "stop":
            break
        if len(fresh) > free and switches.overflow == "skip":
            continue
        chosen.update((row, (place, float(scores[tree]))) for row in fresh[:free])
    return chosen


def _to_rerank(plan: QueryPlan, chosen: dict[int, tuple[int, float]], switches: Switches, context: int) -> list[int]:
    """The passages that are reranked one by one: all where there is no tree, the rest where trees gave too few."""
    if not plan.trees:
        return [] if switches.refill == "unlinked" else list(plan.nodes)
    if switches.refill in ("misaligned", "aligned") and len(chosen) < context // 2:
        return [row for row in plan.nodes if row not in chosen]
    return []


def _completed(
    plan: QueryPlan,
    chosen: dict[int, tuple[int, float]],
    remaining: list[int],
    scores: FloatArray,
    switches: Switches,
    context: int,
) -> Selection:
    best = np.argsort(-scores, kind="stable").tolist()[:context]
    if not plan.trees and switches.refill != "unlinked":
        return Selection([remaining[at] for at in best], {}, NO_TREES)
    nodes = list(plan.nodes)
    rows = list(chosen)
    # The released code looks the positions of the rest up in the list of all.
    source = nodes if switches.refill == "misaligned" else remaining
    for at in best:
        if len(rows) < context and source[at] not in rows:
            rows.append(source[at])
    if switches.refill == "unlinked":
        rows += _unlinked(plan, rows)[: context - len(rows)]
    if switches.order == "similarity":
        rows = [row for row in nodes if row in rows]
    note = "" if plan.trees else NO_TREES_FILLED
    if remaining:
        note = "the trees did not fill the context: the reranker added the others"
    return Selection(rows, chosen, note)


def _unlinked(plan: QueryPlan, rows: Sequence[int]) -> list[int]:
    """The passages that own no triple between two entities, by score, then corpus position."""
    linking = {row for row, fact in zip(plan.rows, plan.facts, strict=True) if fact.head != fact.tail}
    free = [row for row in plan.nodes if row not in linking and row not in rows]
    return sorted(free, key=lambda row: (-plan.nodes[row], row))


def with_switches(build: Any) -> Any:
    """List every field of `Switches` in a builder's signature, which the catalogue and sweeps read."""
    signature, hints = inspect.signature(build), get_type_hints(Switches)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
    switches = [
        each.replace(kind=each.KEYWORD_ONLY, annotation=hints[each.name])
        for each in inspect.signature(Switches).parameters.values()
    ]
    vars(build)["__signature__"] = signature.replace(parameters=[*own, *switches])
    build.__annotations__ = {**build.__annotations__, **hints}
    return build


@checked
@with_switches
def kg2rag_official(
    kb: KnowledgeBase,
    *,
    mode: Literal["hotpotqa", "musique"] = "musique",
    seeds: int = 10,
    context: int = 10,
    hops: int = 1,
    reranker: str = DEFAULT_RERANKER,
    organisation: bool = True,
    **switches: Any,
) -> KG2RAGOfficial:
    """KG2RAG as released; every switch of `Switches` is a parameter, so that "paper versus code" is one sweep."""
    chosen = Switches(**switches)
    return KG2RAGOfficial(kb, chosen, mode, seeds, context, hops, named(reranker, kb), organisation=organisation)
