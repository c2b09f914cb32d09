"""Rankings and entities -> what a reader is given: the graph block, then the passages, together within one budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat

from kg2rag.answers.graph_block import Dropped, graph_block, one_line, titled
from kg2rag.compute import TokenCounter, counter_of
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import linking
from kg2rag.text.normalisation import normalise
from kg2rag.types import Count, Natural, Query, Ranking, Triple, at_least, component, require

BETWEEN = "\n\n---\n\n"
AFTER_BLOCK = "\n\n"
TOKENS = 4500
"""The designs' budgets of both parts, 500 and 4000."""
SHARE = 9
"""The graph block may take one part in so many."""


@dataclass(frozen=True, slots=True)
class Citation:
    """The passage of a key such as [1]; `source` is the stage that found it, `path` the triples that led to it."""

    key: str
    passage_id: str
    title: str
    score: float
    source: str
    path: tuple[Triple, ...] = ()


@dataclass(frozen=True, slots=True)
class FormattedContext:
    """Text for a language model.

    Attributes
    ----------
    tokens : of the whole text, at most the budget.
    citations : the passages in it, in order.
    dropped : what was left out, and why; everything, where the budget is too small for anything.
    """

    text: str
    tokens: int
    citations: tuple[Citation, ...] = ()
    dropped: tuple[Dropped, ...] = ()


@component
class ContextFormatter:
    """Writes the graph block and the passages of a context, each within its own budget.

    Parameters
    ----------
    graph_tokens : budget of the graph block; about 500 in the design.
    passage_tokens : budget of passages and their sources; 4000 in the design.
    max_related : related entities of each entity, and facts in all, at most.
    counter : counts tokens, best with the tokenizer of the model that reads; the embedder's own where not given.
    """

    kb: KnowledgeBase = field(repr=False)
    graph_tokens: Natural = 500
    passage_tokens: Natural = 4000
    max_related: Count = 10
    counter: TokenCounter | None = None

    def graph(self, entities: Sequence[str | int]) -> FormattedContext:
        """The structured block: the entities, what they are and are related to, and the facts that sentences state.

        Where the budget is too small for all, every entity and the facts have equal shares of it; what one does not
        need goes to the others. Relations and facts are written one by one, strongest first: none where a stronger
        one of its section was left out, and no fact where a stronger relation was.

        `entities` : names (or aliases) or codes, the most important first; no entity gives an empty context.
        Raises KeyError: a name that the graph lacks.
        """
        codes = self._codes(entities)
        if not codes:
            return FormattedContext("", 0)
        text, tokens, dropped = graph_block(self.kb, codes, self.max_related, self.graph_tokens, self._counter)
        return FormattedContext(text, tokens, dropped=dropped)

    def passages(self, ranking: Ranking, entities: Sequence[str | int] = ()) -> FormattedContext:
        """The passages of a ranking, best first, each with its key, score, source and, from the graph, its path.

        A passage that does not fit is dropped and the next one tried; one whose contents repeat an earlier one's (case
        and punctuation aside) is dropped as well. Keys number the passages in the text.

        `entities` : described above the passages.
        """
        return self._below("", ranking, self._codes(entities))

    def _below(self, above: str, ranking: Ranking, codes: Sequence[int] = ()) -> FormattedContext:
        """The passages below a text that is within the budget already."""
        pieces = _Pieces(self.passage_tokens, self._counter, above)
        heading = "## Related Entities\n\n"
        for code in codes:
            about = (titled(self.kb.graph, code, "**{}**"), one_line(self.kb.graph.descriptions[code]))
            described = "\n\n".join(filter(None, about))
            if pieces.add(f"{heading}{described}", described, "\n\n"):
                heading = ""
        keys: dict[str, str] = {}
        for hit in ranking:
            passage = self.kb.corpus[self.kb.corpus.row(hit.passage_id)]
            key = f"[{len(keys) + 1}]"
            sameness = normalise(passage.contents) or passage.contents
            if sameness in keys:
                pieces.dropped.append(Dropped(hit.passage_id, f"repeats {keys[sameness]}"))
                continue
            citation = Citation(key, hit.passage_id, passage.title, hit.score, hit.stage, hit.path)
            source = f" [Source: {hit.stage}]" if hit.stage else ""
            path = "; ".join(one_line(str(triple)) for triple in hit.path)
            head = f"{key} [Score: {hit.score:.2f}]{source}" + (f"\nPath: {path}" if path else "")
            before = AFTER_BLOCK if above and not keys else BETWEEN
            if pieces.add(f"{head}\n{passage.contents.strip()}", hit.passage_id, before, citation):
                keys[sameness] = key
        return pieces.written()

    @cached_property
    def _counter(self) -> TokenCounter:
        return self.counter or counter_of(self.kb.embedder)

    def _codes(self, entities: Sequence[str | int]) -> list[int]:
        graph = self.kb.graph
        return list(dict.fromkeys(graph.entity(name) if isinstance(name, str) else int(name) for name in entities))


class _Pieces:
    """The pieces of a text that fit a budget.

    A piece costs what it and the separator before it cost alone. For WordPiece, which never joins across white space,
    that is exact; where the whole costs more than its pieces, the last ones go.
    """

    def __init__(self, budget: int, counter: TokenCounter, above: str) -> None:
        self.budget, self.counter = budget, counter
        self.tokens = counter.count([above])[0]
        self.kept: list[tuple[str, str, Citation | None]] = [(above, "", None)]
        self.dropped: list[Dropped] = []

    def add(self, piece: str, what: str, before: str, citation: Citation | None = None) -> bool:
        """Append a piece with its separator, which the first has not, if it fits."""
        text = f"{before}{piece}" if self.kept[-1][0] else piece
        tokens = self.tokens + self.counter.count([text])[0]
        if fits := tokens <= self.budget:
            self.tokens = tokens
            self.kept.append((text, what, citation))
        else:
            self.dropped.append(Dropped(what, "budget"))
        return fits

    def written(self) -> FormattedContext:
        """The text with its tokens, counted over the whole."""
        while (tokens := self.counter.count([text := "".join(piece for piece, _, _ in self.kept)])[0]) > self.budget:
            self.dropped.append(Dropped(self.kept.pop()[1], "budget"))
        citations = tuple(citation for _, _, citation in self.kept if citation is not None)
        return FormattedContext(text, tokens, citations, tuple(self.dropped))


def assemble(
    kb: KnowledgeBase,
    queries: Sequence[Query],
    rankings: Sequence[Ranking],
    *,
    tokens: int = TOKENS,
    graph_tokens: int | None = None,
    linker: linking.Linker | None = None,
    counter: TokenCounter | None = None,
) -> list[FormattedContext]:
    """One context a query, with the citations of its passages and what was left out of both parts.

    Parameters
    ----------
    tokens : of the whole text, at most; `graph_tokens` : of the graph block, a ninth of them where not given, 0 for no
        block.
    linker : finds the entities of queries whose rankings name none; the designs' chain of linkers where not given.
    counter : counts tokens, best with the tokenizer of the model that reads; the embedder's own where not given.

    Raises
    ------
    ValueError : as many rankings as queries are needed, and a block within the budget.
    """
    require("tokens", tokens, int, at_least(1))
    share = tokens // SHARE if graph_tokens is None else graph_tokens
    require("graph_tokens", share, int, at_least(0))
    if share > tokens:
        raise ValueError(f"graph_tokens is {share}, which is more than the {tokens} tokens of the whole context.")
    if len(queries) != len(rankings):
        raise ValueError(f"{len(queries)} queries, but {len(rankings)} rankings. Give one ranking a query.")
    entities = _entities(kb, queries, rankings, linker) if share else [()] * len(queries)
    writer = ContextFormatter(kb, graph_tokens=share, passage_tokens=tokens, counter=counter)
    contexts = []
    for ranking, named in zip(rankings, entities, strict=True):
        block = writer.graph(named)
        whole = writer._below(block.text, ranking)
        contexts.append(replace(whole, dropped=(*block.dropped, *whole.dropped)))
    return contexts


def _entities(
    kb: KnowledgeBase, queries: Sequence[Query], rankings: Sequence[Ranking], linker: linking.Linker | None
) -> list[tuple[str | int, ...]]:
    """Of each query the entities' names, as its system linked them, or their codes."""
    said = [ranking.notes.linked for ranking in rankings]
    others = [query for query, linked in zip(queries, said, strict=True) if linked is None]
    found: Iterator[Sequence[linking.Link]] = repeat(())
    if others and kb.graph.n_entities:
        found = iter((linker or linking.of(linking.DESIGN, kb)).link_batch(others))
    return [
        tuple(link.entity for link in next(found)) if linked is None else tuple(entity.name for entity in linked)
        for linked in said
    ]
