"""Query -> the passages that share its words, by BM25."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kg2rag.knowledge import KnowledgeBase, LexicalSettings
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Notes, Query, Ranking, top_with_ties

COLOUR = "#56B4E9"  # of the plots
NO_WORD = "no word of the query is in any passage: bm25 finds nothing"


@dataclass(frozen=True)
class WordNotes(Notes):
    """Notes of BM25.

    Attributes
    ----------
    languages : languages of the stop words and stemmers, one per script; empty if only English is used.
    respelled : "term → terms" for each query term that the passages have only in other spellings.
    missing : the query terms that no passage has in any spelling.
    """

    languages: tuple[str, ...] = ()
    respelled: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class BM25(Retriever):
    """BM25 over title and text.

    A passage without a term of the query is no hit, so that a ranking may be short.

    `k1`, `b`, `variant`, `stemmer`, `stop_words`, `language`: see
    `kg2rag.knowledge.indexes.lexical_terms.LexicalSettings`.
    """

    kb: KnowledgeBase = field(repr=False)
    k1: float = 0.9
    b: float = 0.4
    variant: str = "lucene"
    stemmer: str = "snowball"
    stop_words: bool = True
    language: str = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._settings()

    def _settings(self) -> LexicalSettings:
        """The parameters as settings of the index, which checks them."""
        return LexicalSettings(
            self.k1, self.b, self.variant, self.stemmer, self.stop_words, self.language
        )

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        """Score every passage for each query; hits have a score above 0."""
        index = self.kb.lexical(self._settings())
        languages = tuple(index.languages.values())
        if languages == ("english",):
            languages = ()
        rankings = []
        for query, candidate_rows in zip(
            queries, self.kb.candidates(queries), strict=True
        ):
            scores = index.scores(query.text)
            rows = top_with_ties(scores, k, candidate_rows)
            rows = rows[scores[rows] > 0]
            notes = _notes(
                languages,
                index.replacements(query.text),
                index.missing_words(query.text),
            )
            if not len(rows) and not index.has_word_of(query.text):
                notes = replace(notes, warning=NO_WORD)
            ranking = Ranking.from_scores(
                query.id,
                rows,
                scores[rows],
                self.kb.corpus.ids,
                stages=("bm25",),
                score_parts={"bm25": scores[rows]},
                notes=notes,
            )
            rankings.append(ranking.top(k))
        return rankings


def _notes(
    languages: tuple[str, ...],
    respelled: Mapping[str, Sequence[str]],
    missing: Sequence[str],
) -> Notes:
    if not languages and not respelled and not missing:
        return Notes("bm25", "bm25")
    return WordNotes(
        "bm25",
        "bm25",
        languages=languages,
        respelled=tuple(
            f"{term} → {', '.join(others)}" for term, others in respelled.items()
        ),
        missing=tuple(missing),
    )
