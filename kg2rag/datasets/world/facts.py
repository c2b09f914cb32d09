"""A seed and a few controls -> what is true in an invented world: its things, their names and their facts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kg2rag.datasets.world.names import KINDS, Names
from kg2rag.datasets.world.schema import RELATIONS

SHARES = {"person": 0.45, "work": 0.25, "town": 0.15, "organisation": 0.1, "region": 0.05}
FEWEST = 60
"""Entities below which a world is too small for questions."""
LARGEST = 2_000_000
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class WorldFacts:
    """The controls of a world and all that follows from them but its texts and questions.

    Parameters
    ----------
    passages : in all; one for each entity, and the distractors.
    questions : in all, spread evenly over `hops`.
    hops : how many facts a question joins, each from another passage: 1 to 4.
    distractors : passages a question that name one of its entities and state none of its facts.
    aliases : share of facts and questions that call their entity by its other name.
    typos : share of questions in whose name one letter is left out, doubled, replaced or swapped.
    dropped, wrong : shares of the triples that the extraction lacks, and that end in another thing of the same kind.

    Raises
    ------
    ValueError : a control out of range, or too few passages for the questions.
    """

    passages: int = 1000
    questions: int = 100
    hops: tuple[int, ...] = (1, 2, 3, 4)
    distractors: int = 0
    aliases: float = 0.0
    typos: float = 0.0
    dropped: float = 0.0
    wrong: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("aliases", "typos", "dropped", "wrong"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a share from 0 to 1, not {getattr(self, name)}.")
        if self.dropped + self.wrong > 1:
            raise ValueError(f"dropped ({self.dropped}) and wrong ({self.wrong}) are more than all triples.")
        if not self.hops or not set(self.hops) <= {1, 2, 3, 4} or len(set(self.hops)) < len(self.hops):
            raise ValueError(f"hops are different numbers from 1 to 4, not {self.hops}.")
        if self.questions < len(self.hops) or self.distractors < 0 or self.seed < 0:
            raise ValueError("A world needs a question for each number of hops, and no negative number.")
        if not FEWEST <= self.entities <= LARGEST:
            raise ValueError(
                f"{self.passages} passages leave {self.entities} for entities beside {self.questions} x "
                f"{self.distractors} distractors; a world needs {FEWEST} to {LARGEST}."
            )

    @property
    def entities(self) -> int:
        """How many things there are, a passage each."""
        return self.passages - self.questions * self.distractors

    @property
    def controls(self) -> dict[str, object]:
        """All parameters, as JSON values."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**values, "hops": list(self.hops)}

    @cached_property
    def counts(self) -> dict[str, int]:
        """Kind -> how many; the rounding falls to the persons."""
        counts = {kind: max(int(share * self.entities), 2) for kind, share in SHARES.items()}
        counts["person"] += self.entities - sum(counts.values())
        return counts

    @cached_property
    def names(self) -> Names:
        """What everything is called."""
        return Names(self.seed, self.counts)

    @cached_property
    def facts(self) -> dict[tuple[str, str], Codes]:
        """(kind, relation) -> the number of the thing that each of that kind is led to; never itself."""
        rng = np.random.default_rng([self.seed, 2])
        made = {}
        for kind in KINDS:
            for relation in RELATIONS[kind]:
                heads, tails = self.counts[kind], self.counts[relation.tail]
                if kind == relation.tail:
                    made[kind, relation.name] = (np.arange(heads) + rng.integers(1, tails, heads)) % tails
                else:
                    made[kind, relation.name] = rng.integers(0, tails, heads)
        return made

    def passage_id(self, kind: str, number: int) -> str:
        """The passage about a thing."""
        return f"{kind}-{number}"

    def called(self, kind: str, number: int, chance: float) -> str:
        """A thing's name, or its alias where `chance` (0 to 1) falls below the share of aliases."""
        return self.names.alias(kind, number) if chance < self.aliases else self.names.name(kind, number)
