"""Rankings -> what a reader is given of each: the graph block, then the passages, together within one budget.

The entities of the block are those that the system linked, where its notes name them; else those that a linker finds
in the query. What the block leaves of its share goes to the passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kg2rag.answers.context import ContextFormatter, FormattedContext
from kg2rag.compute import TokenCounter, counter_of
from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers import linking
from kg2rag.types import Query, Ranking, at_least, require

TOKENS = 4500
"""The designs' budgets of both parts, 500 and 4000."""
SHARE = 9
"""The graph block may take one part in so many."""
BETWEEN = "\n\n"


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
    taken = counter.count([f"{block.text}{BETWEEN}"])[0] if block.text else 0
    left = max(0, tokens - taken)
    while True:
        passages = ContextFormatter(kb, passage_tokens=left, counter=counter).passages(ranking)
        text = BETWEEN.join(part for part in (block.text, passages.text) if part)
        spent = counter.count([text])[0]
        if spent <= tokens or not left:
            break
        left = max(0, left - (spent - tokens))  # parts may cost more together than alone
    return replace(passages, text=text, tokens=spent, dropped=(*block.dropped, *passages.dropped))
