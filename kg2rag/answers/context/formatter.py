"""`ContextFormatter`: rankings and entities -> context blocks with citations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kg2rag.answers.context.budget import BudgetedText, Dropped, fit
from kg2rag.answers.context.graph_block import GraphLines, one_line, titled
from kg2rag.answers.context.sharing import Line, Section, shared
from kg2rag.compute import TokenCounter, counter_of
from kg2rag.knowledge import KnowledgeBase
from kg2rag.text.normalisation import normalise
from kg2rag.types import Hit, Ranking, Triple, at_least, check

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
