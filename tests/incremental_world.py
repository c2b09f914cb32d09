"""Small corpora, what is said of them, and changes to them: for tests of adding, removing and replacing passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st
from word_embedder import WordEmbedder

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.knowledge import KnowledgeBase
from kg2rag.types import Passage, Triple

WORDS = WordEmbedder()  # its axes are given out as words come: both sides of a comparison must share them
NAMES = ("Ann Abbott", "Bridge", "Bridge (film)", "Clara", "Dahl", "Ed Wood")
SENTENCES = (
    "Ann Abbott built the Bridge.",
    "The film Bridge stars Clara and Dahl.",
    "Dahl met Ed Wood in Ely.",
    "Clara was born in Ely, the daughter of Ann Abbott (AA).",
    "the river is near by.",
)


def passage(id_: str, title: str = "", text: str = "Clara was born in Ely.") -> Passage:
    return Passage(id_, title, text, id_, 0)


THREE = [
    passage("p0", "Ed Wood", "Ed Wood is a film by Tim Burton."),
    passage("p1", "Tim Burton", "Tim Burton was born in Burbank."),
    passage("p2", "Burbank", "Burbank is a city."),
]


PASSAGES = st.builds(
    lambda number, title, text: passage(f"p{number}", title, " ".join(text)),
    st.integers(0, 9),
    st.sampled_from(("", *NAMES)),
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=2),
)
STARTS = st.lists(PASSAGES, min_size=1, max_size=5, unique_by=lambda one: one.id)
CHANGES = st.lists(
    st.tuples(st.sampled_from(("add", "remove", "replace")), st.lists(PASSAGES, max_size=3, unique_by=lambda p: p.id)),
    max_size=4,
)


def changed(
    kb: KnowledgeBase, kind: str, given: Sequence[Passage], tell: Callable[[Sequence[Passage]], Extraction | None]
) -> tuple[KnowledgeBase, list[str], Extraction | None]:
    """The change as far as it is one, the ids whose texts are gone, and what was told of the new ones.

    Known ids are not added, unknown ones neither removed nor replaced, and one passage stays.
    """
    fits = [one for one in given if (one.id in kb.corpus.ids) != (kind == "add")]
    ids = [one.id for one in fits]
    if kind == "remove":
        return kb.remove(ids[: len(kb.corpus) - 1]), ids[: len(kb.corpus) - 1], None
    more = tell(fits)
    after = kb.add(fits, extraction=more) if kind == "add" else kb.replace(fits, extraction=more)
    return after, ids if kind == "replace" else [], more


def nothing(passages: Sequence[Passage]) -> None:
    """No extraction comes with the passages."""


BY_HAND = Extraction(
    (
        Triple("Ed Wood", "by", "Tim Burton", "p0", 8),
        Triple("Tim Burton", "born in", "Burbank", "p1"),
        Triple("Tim Burton", "is", "director", ""),
    ),
    (Mention("Burbank", "p2"), Mention("Tim Burton", "p0")),
    (Entity("Oscar", "prize"),),
)
