"""Rankings and entities -> the context of a reader: a graph block and passages in a token budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from kg2rag.answers.graph_block import Dropped, graph_block
from kg2rag.answers.graph_context import GraphContext, graph_context, one_line, path_end
from kg2rag.compute import TokenCounter, counter_of
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.announcement import announce
from kg2rag.knowledge.graph.neighbourhood import Hops
from kg2rag.retrievers import linking
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.system_parts import knowledge_bases, workloads
from kg2rag.text.normalisation import normalise
from kg2rag.types import (
    Count,
    Hit,
    Natural,
    Query,
    Ranking,
    Triple,
    at_least,
    component,
    require,
)
from kg2rag.types.notes import json_value

PASSAGE_SEPARATOR = "\n\n---\n\n"
BLOCK_SEPARATOR = "\n\n"
MAX_TOKENS = 4500
"""The sum of the budgets of both parts in the designs, 500 and 4000."""
GRAPH_BLOCK_DIVISOR = 9
"""The default budget of the graph block is a ninth of all tokens."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage of a context.

    Attributes
    ----------
    key : its number in the text, such as [1].
    source : the stage of its hit.
    path : the triples that led to it; empty for a text match.
    entity : the entity at the end of the path; "" for a text match.
    hops : the number of triples in the path.
    """

    key: str
    passage_id: str
    title: str
    score: float
    source: str
    path: tuple[Triple, ...] = ()
    entity: str = ""
    hops: int = 0


@dataclass(frozen=True, slots=True)
class FormattedContext:
    """A text for a language model, and its contents as data.

    Attributes
    ----------
    tokens : the number of tokens of the text, at most the budget.
    citations : the passages in the text, in their order.
    dropped : all omitted pieces, with the reasons.
    graph_context : the contents of the graph block before the budget was applied.
    """

    text: str
    tokens: int
    citations: tuple[Citation, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    graph_context: GraphContext = field(default_factory=GraphContext)

    def to_json(self) -> Any:
        """All attributes as JSON values."""
        return json_value(self)


@dataclass
class _Pieces:
    """A context to which pieces are added while they fit into the budget.

    The cost of a piece is the number of tokens of its separator and text, counted without the text
    before it. This is exact for WordPiece, which never joins tokens across white space. For other
    tokenizers the last pieces are dropped if the whole text exceeds the budget.

    former : for each added piece its name, and the context before it.
    """

    context: FormattedContext
    budget: int
    counter: TokenCounter
    former: list[tuple[str, FormattedContext]] = field(default_factory=list)

    def add(
        self, piece: str, name: str, separator: str, citation: Citation | None = None
    ) -> bool:
        """Add a piece after a separator, or record its name as dropped; whether it was added.

        The first piece has no separator.
        """
        text = separator.join(filter(None, (self.context.text, piece)))
        tokens = (
            self.context.tokens
            + self.counter.count([text[len(self.context.text) :]])[0]
        )
        if tokens > self.budget:
            self.drop(name, "budget")
            return False
        self.former.append((name, self.context))
        citations = tuple(filter(None, (*self.context.citations, citation)))
        self.context = replace(
            self.context, text=text, tokens=tokens, citations=citations
        )
        return True

    def drop(self, name: str, why: str) -> None:
        """Record the name of an omitted piece, and the reason."""
        self.context = replace(
            self.context, dropped=(*self.context.dropped, Dropped(name, why))
        )

    def within_budget(self) -> FormattedContext:
        """The context, without last pieces by which the whole text exceeds the budget."""
        while self.counter.count([self.context.text])[0] > self.budget:
            name, former = self.former.pop()
            self.context = replace(
                former, dropped=(*self.context.dropped, Dropped(name, "budget"))
            )
        return replace(self.context, tokens=self.counter.count([self.context.text])[0])


def _passage_head(key: str, hit: Hit) -> str:
    """The lines above a passage: its key, score and stage, and on a second line its path."""
    head = f"{key} [Score: {hit.score:.2f}]"
    if hit.stage:
        head += f" [Source: {hit.stage}]"
    if hit.path:
        head += f"\nPath: {'; '.join(one_line(str(triple)) for triple in hit.path)}"
    return head


@component
class ContextFormatter:
    """Writes the graph block and the passages of a context, each within its own budget.

    Parameters
    ----------
    graph_tokens : token budget of the graph block; about 500 in the design.
    passage_tokens : token budget of the passages and their heads; 4000 in the design.
    max_related : largest number of relations of each entity, and of all related entities, chains
        and facts.
    hops : the longest chains in the graph block, up to 3 triples, such as "OAuth Provider -> Auth
        Service (depended_on_by) -> Login Flow (part_of)"; 1 has none.
    counter : counts tokens, best with the tokenizer of the reader; the default is the tokenizer of
        the embedder.
    """

    kb: KnowledgeBase = field(repr=False)
    graph_tokens: Natural = 500
    passage_tokens: Natural = 4000
    max_related: Count = 10
    hops: Hops = 1
    counter: TokenCounter | None = None

    def graph(self, entities: Sequence[str | int]) -> FormattedContext:
        """The graph block of entities: their types and relations, chains, and facts with sentences.

        If the budget is too small, the entities, the chains and the facts share it by turns, see
        `graph_block.shared`; the strongest relations and facts come first.

        entities : names (or aliases) or codes, the most important first; without entities the
        context is empty.

        Raises KeyError: the graph has no entity of a name.
        """
        codes = self._codes(entities)
        if not codes:
            return FormattedContext("", 0)
        data = graph_context(self.kb, codes, self.hops, self.max_related)
        budget = self.graph_tokens
        text, tokens, dropped = graph_block(
            data, self.max_related, budget, self._counter
        )
        if text:
            for code in codes:
                excess = self.kb.graph.degrees[code] - self.max_related
                if excess > 0:
                    relations = (
                        f"{excess} weaker relations of {self.kb.graph.names[code]}"
                    )
                    dropped.append(Dropped(relations, "limit"))
        return FormattedContext(
            text, tokens, dropped=tuple(dropped), graph_context=data
        )

    def passages(self, ranking: Ranking) -> FormattedContext:
        """The passages of a ranking, best first, with key, score, source and path.

        A passage that does not fit is dropped, and the next one is tried. A passage with the
        contents of an earlier one, apart from case and punctuation, is dropped, too. Keys number
        the passages in the text.
        """
        pieces = _Pieces(FormattedContext("", 0), self.passage_tokens, self._counter)
        return self._add_passages(pieces, ranking, PASSAGE_SEPARATOR)

    def below(self, block: FormattedContext, ranking: Ranking) -> FormattedContext:
        """The passages of a ranking, as `passages` writes them, below a graph block."""
        pieces = _Pieces(block, self.passage_tokens, self._counter)
        return self._add_passages(pieces, ranking, BLOCK_SEPARATOR)

    def _add_passages(
        self, pieces: _Pieces, ranking: Ranking, separator: str
    ) -> FormattedContext:
        """The context of pieces to which the passages of a ranking are added.

        separator : the text before the first passage.
        """
        query_entities = _linked_names(ranking)
        key_of: dict[str, str] = {}
        for hit in ranking:
            passage = self.kb.corpus[self.kb.corpus.row(hit.passage_id)]
            words = normalise(passage.contents) or passage.contents
            if words in key_of:
                pieces.drop(hit.passage_id, f"repeats {key_of[words]}")
                continue
            key = f"[{len(key_of) + 1}]"
            text = f"{_passage_head(key, hit)}\n{passage.contents.strip()}"
            about = (key, hit.passage_id, passage.title, hit.score, hit.stage, hit.path)
            citation = Citation(
                *about, path_end(hit.path, query_entities), len(hit.path)
            )
            if pieces.add(text, hit.passage_id, separator, citation):
                key_of[words] = key
                separator = PASSAGE_SEPARATOR
        return pieces.within_budget()

    @cached_property
    def _counter(self) -> TokenCounter:
        """The counter of tokens, by default that of the embedder."""
        return self.counter or counter_of(self.kb.embedder)

    def _codes(self, entities: Sequence[str | int]) -> list[int]:
        """The distinct codes of entities given by names or codes."""
        find = self.kb.graph.entity
        codes = [
            find(name) if isinstance(name, str) else int(name) for name in entities
        ]
        return list(dict.fromkeys(codes))


def assemble(
    kb: KnowledgeBase,
    queries: Sequence[Query],
    rankings: Sequence[Ranking],
    *,
    tokens: int = MAX_TOKENS,
    graph_tokens: int | None = None,
    hops: int = 1,
    counter: TokenCounter | None = None,
) -> list[FormattedContext]:
    """One context per query, with its citations and the omitted pieces.

    The entities of a query are those in the notes of its ranking, or else those of the designs'
    chain of linkers.

    tokens : largest number of tokens of the whole text.
    graph_tokens : largest number of tokens of the graph block, by default a ninth of `tokens`; 0
    for no block.
    hops : the longest chains in the graph block, see `ContextFormatter`.
    counter : counts tokens, best with the tokenizer of the reader; the default is the tokenizer of
    the embedder.

    Raises ValueError: the numbers of rankings and queries differ, or `graph_tokens` exceeds
    `tokens`.
    """
    require("tokens", tokens, int, at_least(1))
    if graph_tokens is None:
        graph_tokens = tokens // GRAPH_BLOCK_DIVISOR
    require("graph_tokens", graph_tokens, int, at_least(0))
    if graph_tokens > tokens:
        raise ValueError(
            f"graph_tokens is {graph_tokens}, which is more than the {tokens} tokens of the context."
        )
    if len(queries) != len(rankings):
        raise ValueError(
            f"{len(queries)} queries, but {len(rankings)} rankings. Give one ranking per query."
        )
    writer = ContextFormatter(
        kb, graph_tokens=graph_tokens, passage_tokens=tokens, hops=hops, counter=counter
    )
    if not graph_tokens:
        return [writer.passages(ranking) for ranking in rankings]
    entities = _named_entities(kb, queries, rankings)
    return [
        writer.below(writer.graph(query_entities), ranking)
        for query_entities, ranking in zip(entities, rankings, strict=True)
    ]


def _named_entities(
    kb: KnowledgeBase, queries: Sequence[Query], rankings: Sequence[Ranking]
) -> list[Sequence[str | int]]:
    """The names or codes of each query's entities, from its ranking or by the designs' linkers."""
    entities: list[Sequence[str | int]] = list(map(_linked_names, rankings))
    unlinked = [i for i, ranking in enumerate(rankings) if ranking.notes.linked is None]
    if unlinked and kb.graph.n_entities:
        linker = linking.of(linking.DESIGN, kb)
        unlinked_queries = [queries[position] for position in unlinked]
        announce("Before the graph block", workloads(linker, unlinked_queries))
        for position, links in zip(
            unlinked, linker.link_batch(unlinked_queries), strict=True
        ):
            entities[position] = [link.entity for link in links]
    return entities


def _linked_names(ranking: Ranking) -> list[str]:
    """The names of the query entities in the notes of a ranking; [] without a record."""
    return [entity.name for entity in ranking.notes.linked or ()]


def context(
    system: Retriever,
    query: str | Query,
    *,
    k: int = 20,
    tokens: int = MAX_TOKENS,
    graph_tokens: int | None = None,
    hops: int = 1,
    kb: KnowledgeBase | None = None,
) -> FormattedContext:
    """The context of one question from the first `k` hits of a system; see `assemble`.

    kb : the knowledge base with the graph and the passages; needed for a system with no knowledge
    base or several.
    """
    if isinstance(query, str):
        query = Query("q", query)
    if kb is None:
        bases = knowledge_bases(system)
        if len(bases) != 1:
            raise ValueError(
                f"{system!r} has {len(bases)} knowledge bases. Give the one to write from: kb=…."
            )
        kb = bases[0]
    announce("Before the context", workloads(system, [query]))
    rankings = system.retrieve_batch([query], k)
    return assemble(
        kb, [query], rankings, tokens=tokens, graph_tokens=graph_tokens, hops=hops
    )[0]
