"""What the adapters of other libraries share: their documents -> our passages, our hits -> what theirs hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kg2rag.retrievers.adapters.recorded import Answering
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Corpus, Count, Hit, Passage, check


def answering(corpus: Corpus, documents: Callable[[str], Iterable[tuple[str | None, str]]], name: str) -> Answering:
    """Another library's retriever as a system; `documents`: of a question, (id, text) of each, best first.

    A document is the passage of its id, else the one with that very text; one that comes again keeps its first place.
    A document that is no passage of the corpus is an error, never left out.
    """
    texts: list[str] = corpus.table["text"].to_pylist()
    known, by_text = set(corpus.ids), dict(zip(reversed(texts), reversed(corpus.ids), strict=True))

    def passage_id(id_: str | None, text: str) -> str:
        found = id_ if id_ in known else by_text.get(text)
        if found is None:
            raise ValueError(
                f"{name}: the document {id_!r}, which begins {text[:60]!r}, is no passage of the corpus, neither by "
                "its id nor by its text. Index the corpus's passages with their ids."
            )
        return found

    def found(question: str, k: int) -> list[str]:
        return list(dict.fromkeys(passage_id(*document) for document in documents(question)))[:k]

    return Answering(corpus, found, name)


@dataclass(frozen=True)
class Ours:
    """One of our systems, as another library calls it: a question at a time, `k` passages each."""

    retriever: Retriever
    corpus: Corpus
    k: Count

    def __post_init__(self) -> None:
        check(self)

    def hits(self, text: str) -> Iterator[tuple[Passage, Hit, dict[str, str]]]:
        """Of each hit its passage, the hit, and the metadata of another library's document."""
        for hit in self.retriever.retrieve(text, self.k):
            passage = self.corpus[self.corpus.row(hit.passage_id)]
            about = {"title": passage.title, "doc_id": passage.doc_id, "stage": hit.stage, "path": hit.path_text}
            yield passage, hit, about
