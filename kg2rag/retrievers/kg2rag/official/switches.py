"""Where the released KG2RAG departs from its paper: one switch a departure.

The defaults are the released code, `Switches.paper()` is the paper; "paper versus code" is a sweep between them.
Departures that cannot affect a ranking (dead code, a reranker loaded anew for every question, errors turned into
empty answers) have no switch.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from kg2rag.types import check


@dataclass(frozen=True)
class Switches:
    """Code (the first value named, and the default) or paper (the second, where the paper defines one).

    Parameters
    ----------
    triples : "raw", letter for letter as the source's file has them; "clean", as the graph has them. They differ where
        a source cleans, as that of the published sub-graphs does; the paper's graph is that of every other strategy.
    expansion : "titles", follow triple ends that are exactly a passage's title and take all passages of that title;
        "graph", breadth-first over the triples; "none".
    expanded_score : an expanded passage weighs a "smoothed" mean of seed scores, or its own "cosine".
    all_seed_titles : titles of seeds bring their other passages too, not only the best and the repeated ones. Theirs
        is False; it matters for title expansion alone, so the paper has no value.
    titles_without_triples : a title of which no passage has a triple may be reached. Theirs is False; as above.
    entities : two ends are one vertex where their "spelling" is equal, or where they are one entity of the "graph".
    query_edges : all entities that the question seems to mention are joined by edges of weight 0; paper: False.
    short_spans_match : a name that loses all of its character n-grams counts as mentioned, as in the code. Only with
        `query_edges`, so the paper has no value.
    self_loops : an entity of its own with a self-loop is a tree; paper: False.
    edge_order : edges of a tree in the "iteration" order of its vertices, or "depth_first" from the heaviest.
    rerank_on : the reranker reads the passages' "text", or the "triplets".
    repeat_passages : that text has a passage as often as it owns edges of the tree. With "triplets" it has no effect.
    overflow : at a tree that does not fit, "stop"; "cut" it [ours: the paper is silent]; or "skip" it.
    refill : with fewer than half of the places taken, add passages at the positions that the reranker's order of the
        *other* passages names ("misaligned"), or those passages ("aligned"). "unlinked": whenever places are free, the
        passages that own no triple, by cosine [ours]. "none".
    order : passages by "similarity", seeds before expanded ones; or as the "trees" gave them.
    group_titles : the passages of one title are grouped, as in the prompt of the code; paper: False.
    separator : what is encoded and reranked has this between title and text. Theirs ": "; the paper is silent, so its
        preset has what every other system encodes.
    """

    triples: Literal["raw", "clean"] = "raw"
    expansion: Literal["titles", "graph", "none"] = "titles"
    expanded_score: Literal["smoothed", "cosine"] = "smoothed"
    all_seed_titles: bool = False
    titles_without_triples: bool = False
    entities: Literal["spelling", "graph"] = "spelling"
    query_edges: bool = True
    short_spans_match: bool = True
    self_loops: bool = True
    edge_order: Literal["iteration", "depth_first"] = "iteration"
    rerank_on: Literal["text", "triplets"] = "text"
    repeat_passages: bool = True
    overflow: Literal["stop", "cut", "skip"] = "stop"
    refill: Literal["misaligned", "aligned", "unlinked", "none"] = "misaligned"
    order: Literal["similarity", "trees"] = "similarity"
    group_titles: bool = True
    separator: str = ": "

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def paper(cls) -> Switches:
        """The paper where it is defined, our reading where it is silent; equals `Expand >> Organise`."""
        return cls(
            triples="clean",
            expansion="graph",
            expanded_score="cosine",
            all_seed_titles=True,
            titles_without_triples=True,
            entities="graph",
            query_edges=False,
            short_spans_match=False,
            self_loops=False,
            edge_order="depth_first",
            rerank_on="triplets",
            repeat_passages=False,
            overflow="cut",
            refill="unlinked",
            order="trees",
            group_titles=False,
            separator="\n",
        )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The switches, in order."""
        return tuple(field.name for field in fields(cls))
