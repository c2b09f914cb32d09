"""Rankings and entities -> what a reader is given: the graph block, then the passages, together within one budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from kg2rag.answers.graph_block import Dropped, GraphLines, Line, Section, one_line, shared, titled
from kg2rag.compute import TokenCounter, counter_of
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import linking
from kg2rag.text.normalisation import normalise
from kg2rag.types import Hit, Query, Ranking, Triple, at_least, check, require

Written = TypeVar("Written")


class BudgetedText:
    """A text that grows by whole pieces; made by `fit`, which keeps the budget.

    The cost of a piece is that of it and its separator alone. For WordPiece, which never joins across white space,
    that is exact; other tokenizers may differ at the seams, so `recount` counts the whole text with every piece.
    """

    def __init__(self, budget: int, counter: TokenCounter, *, recount: bool) -> None:
        self.budget = budget
        self.counter = counter
        self.recount = recount
        self.text = ""
        self.tokens = 0
        self.dropped: list[Dropped] = []

    def add(self, piece: str, separator: str = "\n") -> bool:
        """Append a piece if it fits; the separator goes before it unless it is the first."""
        addition = f"{separator}{piece}" if self.text else piece
        text = self.text + addition
        tokens = self.counter.count([text])[0] if self.recount else self.tokens + self.counter.count([addition])[0]
        if tokens > self.budget:
            return False
        self.text, self.tokens = text, tokens
        return True

    def add_section(self, heading: str, pieces: Sequence[str], separator: str, before: str) -> None:
        """Append a heading with the pieces below it that fit; the others are noted as dropped.

        Parameters
        ----------
        separator : between the heading and its pieces; `before` : above the heading, unless it is the first.

        A heading is never written without a piece, unless it was given none.
        """
        if not pieces and not self.add(heading, before):
            self.drop(heading)
        started = False
        for piece in pieces:
            added = self.add(piece, separator) if started else self.add(f"{heading}{separator}{piece}", before)
            started = started or added
            if not added:
                self.drop(piece)

    def drop(self, what: str, why: str = "budget") -> None:
        """Note what is left out."""
        self.dropped.append(Dropped(what, why))


def fit(budget: int, counter: TokenCounter, write: Callable[[BudgetedText], Written]) -> tuple[BudgetedText, Written]:
    """The text that `write` fills, with what `write` returns; its `tokens` are counted over the whole text at the end.

    Where the pieces cost more together than alone, `write` runs again and the whole text is counted with every piece.
    """
    text = BudgetedText(budget, counter, recount=False)
    written = write(text)
    text.tokens = counter.count([text.text])[0]
    if text.tokens > budget:
        text = BudgetedText(budget, counter, recount=True)
        written = write(text)
    return text, written


HEADER = "## Knowledge Graph Context"
BETWEEN = "\n\n---\n\n"


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


@dataclass(frozen=True)
class ContextFormatter:
    """Writes the graph block and the passages of a context, each within its own budget.

    Parameters
    ----------
    graph_tokens : budget of the graph block; about 500 in the design.
    passage_tokens : budget of passages and their sources; 4000 in the design.
    max_related : related entities of each entity, and facts in all, at most.
    include_relationships : whether passages of the graph show their path, and query entities are described above them.
    include_sources : whether passages show the stage that found them.
    counter : counts tokens, best with the tokenizer of the model that reads; the embedder's own where not given.
    """

    kb: KnowledgeBase = field(repr=False)
    graph_tokens: int = 500
    passage_tokens: int = 4000
    max_related: int = 10
    include_relationships: bool = True
    include_sources: bool = True
    counter: TokenCounter | None = None

    def __post_init__(self) -> None:
        check(self, graph_tokens=at_least(0), passage_tokens=at_least(0), max_related=at_least(1))

    def graph(self, entities: Sequence[str | int]) -> FormattedContext:
        """The structured block: the entities, what they are and are related to, and the facts that sentences state.

        Where the budget is too small for all, every entity and the facts have equal shares of it; what one does not
        need goes to the others. Relations and facts are written one by one, strongest first: none where a stronger
        one of its section was left out, and no fact where a stronger relation was.

        `entities` : names (or aliases) or codes, the most important first; no entity gives an empty context.
        Raises KeyError: a name that the graph lacks.
        """
        codes, graph = self._codes(entities), self.kb.graph
        if not codes:
            return FormattedContext("", 0)
        lines = GraphLines(graph, self.kb.corpus, tuple(codes), self.max_related)
        about = [lines.about(code) for code in codes]
        facts, fewer = lines.relationships()
        cut = [f"{n} weaker relations of {graph.names[code]}" for code, (_, n) in zip(codes, about, strict=True) if n]
        cut += [f"{fewer} weaker relationships"] if fewer else []
        sections = [section for section, _ in about]
        if facts:
            sections.append(Section("### Relevant Relationships", [Line("", facts, "\n")], yields=True))
        top = f"{HEADER}\nQuery entities: [{', '.join(one_line(graph.names[code]) for code in codes)}]"
        text, tokens, dropped = shared(top, sections, self.graph_tokens, self._counter)
        limited = tuple(Dropped(what, "limit") for what in cut) if text else ()
        return FormattedContext(text, tokens, dropped=dropped + limited)

    def passages(self, ranking: Ranking, entities: Sequence[str | int] = ()) -> FormattedContext:
        """The passages of a ranking, best first, each with its key, score, source and, from the graph, its path.

        A passage that does not fit is dropped and the next one tried; one whose contents repeat an earlier one's (case
        and punctuation aside) is dropped as well. Keys number the passages in the text.

        `entities` : described above the passages, where relationships are included.
        """
        codes = self._codes(entities) if self.include_relationships else []
        filled, citations = fit(
            self.passage_tokens, self._counter, lambda text: self._write_passages(text, ranking, codes)
        )
        return FormattedContext(filled.text, filled.tokens, citations, tuple(filled.dropped))

    @property
    def _counter(self) -> TokenCounter:
        return self.counter or counter_of(self.kb.embedder)

    def _write_passages(self, text: BudgetedText, ranking: Ranking, codes: Sequence[int]) -> tuple[Citation, ...]:
        if codes:
            text.add_section("## Related Entities", [self._described(code) for code in codes], "\n\n", "")
        citations: list[Citation] = []
        keys: dict[str, str] = {}
        for hit in ranking:
            passage = self.kb.corpus[self.kb.corpus.row(hit.passage_id)]
            key = f"[{len(citations) + 1}]"
            sameness = normalise(passage.contents) or passage.contents
            if sameness in keys:
                text.drop(hit.passage_id, f"repeats {keys[sameness]}")
            elif text.add(f"{self._head(key, hit)}\n{passage.contents.strip()}", BETWEEN):
                citations.append(Citation(key, hit.passage_id, passage.title, hit.score, hit.stage, hit.path))
                keys[sameness] = key
            else:
                text.drop(hit.passage_id)
        return tuple(citations)

    def _codes(self, entities: Sequence[str | int]) -> list[int]:
        graph = self.kb.graph
        return list(dict.fromkeys(graph.entity(name) if isinstance(name, str) else int(name) for name in entities))

    def _described(self, entity: int) -> str:
        """**name** (type), and the description below."""
        bold, description = titled(self.kb.graph, entity, "**{}**"), one_line(self.kb.graph.descriptions[entity])
        return f"{bold}\n\n{description}" if description else bold

    def _head(self, key: str, hit: Hit) -> str:
        """[1] [Score: 0.87] [Source: vector], and the relationship path on a line of its own."""
        source = f" [Source: {hit.stage}]" if self.include_sources and hit.stage else ""
        path = "; ".join(one_line(str(triple)) for triple in hit.path) if self.include_relationships else ""
        return f"{key} [Score: {hit.score:.2f}]{source}" + (f"\nPath: {path}" if path else "")


TOKENS = 4500
"""The designs' budgets of both parts, 500 and 4000."""
SHARE = 9
"""The graph block may take one part in so many."""
AFTER_BLOCK = "\n\n"


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
    count = counter or counter_of(kb.embedder)
    entities = _entities(kb, queries, rankings, linker) if share else [()] * len(queries)
    return [
        _assembled(kb, ranking, named, tokens, share, count) for ranking, named in zip(rankings, entities, strict=True)
    ]


def _entities(
    kb: KnowledgeBase, queries: Sequence[Query], rankings: Sequence[Ranking], linker: linking.Linker | None
) -> list[tuple[str | int, ...]]:
    """Of each query the entities' names, as its system linked them, or their codes."""
    named: dict[int, tuple[str | int, ...]] = {}
    for at, ranking in enumerate(rankings):
        if (linked := ranking.notes.linked) is not None:
            named[at] = tuple(entity.name for entity in linked)
    others = [at for at in range(len(queries)) if at not in named]
    if others and kb.graph.n_entities:
        finder = linker or linking.of(linking.DESIGN, kb)
        for at, links in zip(others, finder.link_batch([queries[at] for at in others]), strict=True):
            named[at] = tuple(link.entity for link in links)
    return [named.get(at, ()) for at in range(len(queries))]


def _assembled(
    kb: KnowledgeBase, ranking: Ranking, entities: Sequence[str | int], tokens: int, share: int, counter: TokenCounter
) -> FormattedContext:
    block = ContextFormatter(kb, graph_tokens=share, counter=counter).graph(entities)
    taken = counter.count([f"{block.text}{AFTER_BLOCK}"])[0] if block.text else 0
    left = max(0, tokens - taken)
    while True:
        passages = ContextFormatter(kb, passage_tokens=left, counter=counter).passages(ranking)
        text = AFTER_BLOCK.join(part for part in (block.text, passages.text) if part)
        spent = counter.count([text])[0]
        if spent <= tokens or not left:
            break
        left = max(0, left - (spent - tokens))  # parts may cost more together than alone
    return replace(passages, text=text, tokens=spent, dropped=(*block.dropped, *passages.dropped))
