"""Hits by the name of a document or by the text of a passage -> ids of passages."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence, Set
from functools import cached_property

from kg2rag.text.scripts import words
from kg2rag.types import Corpus
from kg2rag.types.document_names import first_passages

Run = Mapping[str, Sequence[tuple[str, float]]]


class HitNames(Container[str]):
    """What may stand for a passage in a run: its id, its document, or its whole text.

    The text may begin with the title, as HippoRAG returns it.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus

    def __contains__(self, name: object) -> bool:
        if name in self._ids or name in self._documents:
            return True
        return isinstance(name, str) and self._passage_with(name) is not None

    def with_ids(self, run: Run) -> tuple[Run, int]:
        """The run with ids of passages only, and the number of hits that name a document.

        A document is its first passage. Names that are unknown stay as they are.
        """
        names = [name for hits in run.values() for name, _ in hits]
        others = set(names) - self._ids
        if not others:
            return run, 0
        id_of = {name: self._id_of(name) for name in others}
        replaced = {
            query: [(id_of.get(name, name), score) for name, score in hits]
            for query, hits in run.items()
        }
        documents = others & self._documents.keys()
        return replaced, sum(name in documents for name in names)

    def _id_of(self, name: str) -> str:
        """The id of the passage that a name stands for; an unknown name itself."""
        if name in self._documents:
            return self._documents[name]
        return self._passage_with(name) or name

    def _passage_with(self, text: str) -> str | None:
        """The first passage with a text; None for a name of one word and for other texts."""
        if " " not in text.strip() and text.isascii():
            return None
        return self._passages_by_text.get(_words_key(text))

    @cached_property
    def _ids(self) -> Set[str]:
        return set(self.corpus.ids)

    @cached_property
    def _documents(self) -> Mapping[str, str]:
        return first_passages(self.corpus)

    @cached_property
    def _passages_by_text(self) -> Mapping[str, str]:
        passages: dict[str, str] = {}
        for passage in self.corpus:
            for text in (passage.text, f"{passage.title} {passage.text}"):
                passages.setdefault(_words_key(text), passage.id)
        return passages


def _words_key(text: str) -> str:
    """The words of a text, normalised and joined by blanks."""
    return " ".join(words(text))
