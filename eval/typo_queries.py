"""A corpus of source code -> misspelt, partial and re-cased names of its functions, with the passages that define them.

Made by edits at random places, seeded: a test of spelling, not of how people misspell. The gold of a query is every
passage that defines the name it was made from, in any spelling that differs only in case and separators.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kg2rag.datasets.world.build import one_typo
from kg2rag.text.identifiers import definitions, key, split
from kg2rag.types import Corpus, QADataset, Question

SHORTEST = 6
"""Letters of the shortest name that is edited: two edits leave nothing of a shorter one to recognise."""


def typo_queries(corpus: Corpus, *, per_kind: int = 60, seed: int = 0) -> QADataset:
    """`per_kind` questions of each of `KINDS`, in their order; each kind draws its names anew, none twice.

    A question's type is its kind. A name whose edit ends in another name of the corpus is passed over.

    Raises
    ------
    ValueError : the corpus defines fewer than `per_kind` names of at least `SHORTEST` letters.
    """
    defining: dict[str, dict[str, None]] = {}
    spelling: dict[str, str] = {}
    for passage in corpus:
        # The first name is the passage's own; others are its inner functions and variables.
        for name in list(definitions(passage.text))[:1]:
            defining.setdefault(key(name), {})[passage.id] = None
            spelling.setdefault(key(name), name)
    names = [name for name in defining if len(name) >= SHORTEST]
    if len(names) < per_kind:
        raise ValueError(f"The corpus defines {len(names)} names of {SHORTEST} letters or more; {per_kind} are needed.")
    rng = np.random.default_rng(seed)
    questions: list[Question] = []
    for kind, change in KINDS.items():
        wanted = len(questions) + per_kind
        for at in rng.permutation(len(names)).tolist():
            if len(questions) == wanted:
                break
            name = names[at]
            text = change(spelling[name], rng)
            # An edit that ends in another name of the corpus would ask for that one.
            if key(text) == name or key(text) not in defining:
                gold = dict.fromkeys(defining[name], 1)
                questions.append(Question(f"{kind}-{len(questions)}", text, gold, type=kind, hops=1))
        if len(questions) < wanted:
            raise ValueError(f"Only {len(questions) + per_kind - wanted} names make a question of kind {kind!r}.")
    return QADataset("typos", corpus, tuple(questions), source={"per_kind": per_kind, "seed": seed})


def _two_typos(name: str, rng: np.random.Generator) -> str:
    while True:
        edited = one_typo(one_typo(name, rng), rng)
        if key(edited) != key(name):
            return edited


def _partial(name: str, rng: np.random.Generator) -> str:
    """The first or last two thirds of the name."""
    cut = max(4, 2 * len(name) // 3)
    return name[:cut] if rng.integers(2) else name[-cut:]


def _recased(name: str, rng: np.random.Generator) -> str:
    """The same words in another convention: snake_case becomes CamelCase or spaced words, the others snake_case."""
    parts = [part.lower() for part in split(name)]
    if "_" not in name.strip("_"):
        return "_".join(parts) if len(parts) > 1 else name.swapcase()
    return " ".join(parts) if rng.integers(2) else "".join(part.capitalize() for part in parts)


KINDS: dict[str, Callable[[str, np.random.Generator], str]] = {
    "one_typo": one_typo,
    "two_typos": _two_typos,
    "partial": _partial,
    "recased": _recased,
}
