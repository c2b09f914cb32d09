"""Rankings and entities -> what a reader is given: the graph block, then the passages, together within one budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kg2rag.answers.graph_block import Dropped, graph_block
from kg2rag.answers.graph_context import GraphContext, graph_context, one_line, reached
from kg2rag.compute import TokenCounter, counter_of
from kg2rag.evaluation.system_parts import knowledge_bases
from kg2rag.knowledge import KnowledgeBase
from kg2rag.knowledge.graph.neighbourhood import Hops
from kg2rag.retrievers import linking
from kg2rag.retrievers.contract import Retriever
from kg2rag.text.normalisation import normalise
from kg2rag.types import Count, Natural, Query, Ranking, Triple, at_least, component, require
from kg2rag.types.notes import plain

BETWEEN = "\n\n---\n\n"
AFTER_BLOCK = "\n\n"
TOKENS = 4500
"""The designs' budgets of both parts, 500 and 4000."""
SHARE = 9
"""The graph block may take one part in so many."""


@dataclass(frozen=True, slots=True)
class Citation:
    """The passage of a key such as [1]; `source` is the stage that found it, `path` the triples that led to it.

    `entity` is the one that the path reached, so many `hops` from the query's; "" and 0 for a text match.
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
    """Text for a language model, and the same as data.

    Attributes
    ----------
    tokens : of the whole text, at most the budget.
    citations : the passages in it, in order.
    dropped : what was left out, and why; everything, where the budget is too small for anything.
    graph_context : what the graph block is written from, whole, whatever the budget is.
    """

    text: str
    tokens: int
    citations: tuple[Citation, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    graph_context: GraphContext = field(default_factory=GraphContext)

    def to_json(self) -> Any:
        """All of it as plain values: what `json.dumps` takes."""
        return plain(self)


@component
class ContextFormatter:
    """Writes the graph block and the passages of a context, each within its own budget.

    Parameters
    ----------
    graph_tokens : budget of the graph block; about 500 in the design.
    passage_tokens : budget of passages and their sources; 4000 in the design.
    max_related : relations of each entity, and related entities, chains and facts in all, at most.
    hops : from 2 on, the block has the chains that lead so far from the entities, such as
        "OAuth Provider -> Auth Service (depended_on_by) -> Login Flow (part_of)"; at most 3.
    counter : counts tokens, best with the tokenizer of the model that reads; default: that of the embedder.
    """

    kb: KnowledgeBase = field(repr=False)
    graph_tokens: Natural = 500
    passage_tokens: Natural = 4000
    max_related: Count = 10
    hops: Hops = 1
    counter: TokenCounter | None = None

    def graph(self, entities: Sequence[str | int]) -> FormattedContext:
        """The structured block: the entities with types and relations, chains, and facts of sentences.

        Where the budget is too small for all, every entity, the chains and the facts have equal shares of it; what one
        does not need goes to the others. Relations and facts are written one by one, strongest first: none where a
        stronger one of its section was left out.

        `entities` : names (or aliases) or codes, the most important first; no entity gives an empty context.
        Raises KeyError: a name that the graph lacks.
        """
        codes, graph = self._codes(entities), self.kb.graph
        if not codes:
            return FormattedContext("", 0)
        data = graph_context(self.kb, codes, self.hops, self.max_related)
        text, tokens, dropped = graph_block(data, self.max_related, self.graph_tokens, self._counter)
        more = {graph.names[code]: int(graph.degrees[code]) - self.max_related for code in codes if text}
        cut = [Dropped(f"{n} weaker relations of {name}", "limit") for name, n in more.items() if n > 0]
        return FormattedContext(text, tokens, dropped=(*dropped, *cut), graph_context=data)

    def passages(self, ranking: Ranking, entities: Sequence[str | int] = ()) -> FormattedContext:
        """The passages of a ranking, best first, each with its key, score, source and, from the graph, its path.

        A passage that does not fit is dropped and the next one tried; one whose contents repeat an earlier one's (case
        and punctuation aside) is dropped as well. Keys number the passages in the text.

        `entities` : described above the passages.
        """
        graph, described = self.kb.graph, []
        for code in self._codes(entities):
            name, kind, about = (one_line(of[code]) for of in (graph.names, graph.types, graph.descriptions))
            described.append("\n\n".join(filter(None, (f"**{name}**" + (f" ({kind})" if kind else ""), about))))
        return self._below(FormattedContext("", 0), ranking, described)

    def _below(self, above: FormattedContext, ranking: Ranking, described: Sequence[str] = ()) -> FormattedContext:
        """The passages below a block that is within the budget already.

        A piece costs the tokens of the separator before it and of its text, counted by themselves. For WordPiece, which
        never joins across white space, that is exact; if the whole costs more than its pieces, the last ones go.
        """
        pieces: list[tuple[str, str, Citation | None]] = [(above.text, "", None)]
        spent, dropped, keys = self._counter.count([above.text])[0], [*above.dropped], dict[str, str]()

        def add(piece: str, what: str, before: str, citation: Citation | None = None) -> bool:
            nonlocal spent
            text = f"{before}{piece}" if pieces[-1][0] else piece
            tokens = spent + self._counter.count([text])[0]
            if fits := tokens <= self.passage_tokens:
                spent = tokens
                pieces.append((text, what, citation))
            else:
                dropped.append(Dropped(what, "budget"))
            return fits

        heading = "## Related Entities\n\n"
        for text in described:
            if add(f"{heading}{text}", text, "\n\n"):
                heading = ""
        named = {entity.name for entity in ranking.notes.linked or ()}
        for hit in ranking:
            passage = self.kb.corpus[self.kb.corpus.row(hit.passage_id)]
            key = f"[{len(keys) + 1}]"
            sameness = normalise(passage.contents) or passage.contents
            if sameness in keys:
                dropped.append(Dropped(hit.passage_id, f"repeats {keys[sameness]}"))
                continue
            way = hit.path, reached(hit.path, named), len(hit.path)
            citation = Citation(key, hit.passage_id, passage.title, hit.score, hit.stage, *way)
            source = f" [Source: {hit.stage}]" if hit.stage else ""
            path = "; ".join(one_line(str(triple)) for triple in hit.path)
            head = f"{key} [Score: {hit.score:.2f}]{source}" + (f"\nPath: {path}" if path else "")
            before = AFTER_BLOCK if above.text and not keys else BETWEEN
            if add(f"{head}\n{passage.contents.strip()}", hit.passage_id, before, citation):
                keys[sameness] = key
        while (tokens := self._counter.count([text := "".join(one for one, _, _ in pieces)])[0]) > self.passage_tokens:
            dropped.append(Dropped(pieces.pop()[1], "budget"))
        citations = tuple(citation for _, _, citation in pieces if citation is not None)
        return FormattedContext(text, tokens, citations, tuple(dropped), above.graph_context)

    @cached_property
    def _counter(self) -> TokenCounter:
        return self.counter or counter_of(self.kb.embedder)

    def _codes(self, entities: Sequence[str | int]) -> list[int]:
        graph = self.kb.graph
        return list(dict.fromkeys(graph.entity(name) if isinstance(name, str) else int(name) for name in entities))


def assemble(
    kb: KnowledgeBase,
    queries: Sequence[Query],
    rankings: Sequence[Ranking],
    *,
    tokens: int = TOKENS,
    graph_tokens: int | None = None,
    hops: int = 1,
    counter: TokenCounter | None = None,
) -> list[FormattedContext]:
    """One context a query, with the citations of its passages and what was left out of both parts.

    Entities of queries whose rankings name none are found by the designs' chain of linkers.

    tokens : maximum of the whole text. `graph_tokens` : of the graph block, by default a ninth of them; 0: no block.
    hops : how far the chains of the graph block lead, see `ContextFormatter`.
    counter : counts tokens, best with the tokenizer of the model that reads; default: that of the embedder.

    Raises ValueError: as many rankings as queries are needed, and a block within the budget.
    """
    require("tokens", tokens, int, at_least(1))
    share = tokens // SHARE if graph_tokens is None else graph_tokens
    require("graph_tokens", share, int, at_least(0))
    if share > tokens:
        raise ValueError(f"graph_tokens is {share}, which is more than the {tokens} tokens of the whole context.")
    if len(queries) != len(rankings):
        raise ValueError(f"{len(queries)} queries, but {len(rankings)} rankings. Give one ranking a query.")
    writer = ContextFormatter(kb, graph_tokens=share, passage_tokens=tokens, hops=hops, counter=counter)
    entities: list[Sequence[str | int]] = [()] * len(queries)
    if share:
        entities = [[entity.name for entity in ranking.notes.linked or ()] for ranking in rankings]
        others = [at for at, ranking in enumerate(rankings) if ranking.notes.linked is None]
        if others and kb.graph.n_entities:
            links = linking.of(linking.DESIGN, kb).link_batch([queries[at] for at in others])
            for at, found in zip(others, links, strict=True):
                entities[at] = [link.entity for link in found]
    return [writer._below(writer.graph(named), ranking) for named, ranking in zip(entities, rankings, strict=True)]


def context(
    system: Retriever,
    query: str | Query,
    *,
    k: int = 20,
    tokens: int = TOKENS,
    graph_tokens: int | None = None,
    hops: int = 1,
    kb: KnowledgeBase | None = None,
) -> FormattedContext:
    """What a system gives a reader for one question: retrieve `k` passages, write those that fit, see `assemble`.

    `kb` : whose graph and passages are written; needed where a system has none, or more than one.
    """
    asked = Query("q", query) if isinstance(query, str) else query
    known = [kb] if kb is not None else knowledge_bases(system)
    if len(known) != 1:
        raise ValueError(f"{system!r} has {len(known)} knowledge bases. Give the one to write from: kb=….")
    rankings = system.retrieve_batch([asked], k)
    return assemble(known[0], [asked], rankings, tokens=tokens, graph_tokens=graph_tokens, hops=hops)[0]
