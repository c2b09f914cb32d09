"""A corpus and a change of its passages -> the corpus that results; the one given stays as it is.

Rows are appended, never inserted: old passages keep their order, new ones follow in theirs, and a replaced one keeps
its place. So the corpus, and with it everything that is built on it, is the same whichever way it came about.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kg2rag.types import Passage

if TYPE_CHECKING:
    from kg2rag.corpus import Corpus


def with_passages(corpus: Corpus, passages: Iterable[Passage]) -> Corpus:
    """These passages, then those. Of another `Corpus`, its own sentence splits come with them.

    Raises
    ------
    ValueError : an id that is in the corpus already, or stands twice.
    """
    added = _own_corpus(corpus, passages)
    if added is None:
        return corpus
    before = frozenset(corpus.ids)
    if known := [id_ for id_ in added.ids if id_ in before]:
        raise ValueError(
            f"Passage {known[0]!r} cannot be added: the corpus has one of that id ({_share(known, added.ids)}). "
            "Give it another id, or replace the passage that has this one."
        )
    return type(corpus)(pa.concat_tables([corpus.table, added.table]))


def without(corpus: Corpus, ids: Iterable[str]) -> Corpus:
    """The passages that are not named, in their order.

    Raises
    ------
    KeyError : an id that the corpus lacks. ValueError : no passage would be left.
    """
    gone = _known(corpus, ids, "removed")
    if not gone:
        return corpus
    kept = np.setdiff1d(np.arange(len(corpus)), corpus.rows(gone))
    if not len(kept):
        raise ValueError(f"Removing all {len(corpus)} passages would leave an empty corpus. Keep at least one.")
    return type(corpus)(corpus.table.take(kept))


def replacing(corpus: Corpus, passages: Iterable[Passage]) -> Corpus:
    """The corpus in which each of these stands where the passage of its id stood; sentence splits as `with_passages`.

    Raises
    ------
    KeyError : an id that the corpus lacks. ValueError : an id that stands twice.
    """
    changed = _own_corpus(corpus, passages)
    if changed is None:
        return corpus
    order = np.arange(len(corpus))
    order[[corpus.row(id_) for id_ in _known(corpus, changed.ids, "replaced")]] = len(corpus) + np.arange(len(changed))
    return type(corpus)(pa.concat_tables([corpus.table, changed.table]).take(order))


def _own_corpus(corpus: Corpus, passages: Iterable[Passage]) -> Corpus | None:
    """The passages as a corpus of their own; None where there is none."""
    if isinstance(passages, type(corpus)):
        return passages
    given = list(passages)
    return type(corpus).from_passages(given) if given else None


def _known(corpus: Corpus, ids: Iterable[str], what: str) -> list[str]:
    """The ids, each once, all of them the corpus's."""
    if isinstance(ids, str):
        raise TypeError(f"Ids are given as a list, such as [{ids!r}], not as the string {ids!r}.")
    wanted, known = list(dict.fromkeys(ids)), frozenset(corpus.ids)
    if unknown := [id_ for id_ in wanted if id_ not in known]:
        raise KeyError(
            f"Passage {unknown[0]!r} cannot be {what}: the corpus lacks it ({_share(unknown, wanted)}). "
            f"It has {len(corpus)} passages, such as {corpus.ids[0]!r}."
        )
    return wanted


def _share(some: list[str], given: list[str]) -> str:
    return f"{len(some)} of {len(given)} given"
