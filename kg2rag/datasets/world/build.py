"""A seed and a few controls -> a world: who was taught by whom, what is set where, and every page about it.

Nothing but the arrays is held: passages and triples are made one after another, so a million of them need no memory.
All of it is synthetic. It measures how a strategy decays with hops, distractors, aliases, typos and a noisy graph; it
says nothing of how well one does on text that people wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kg2rag.datasets.world.names import KINDS, Names
from kg2rag.datasets.world.questions import ask
from kg2rag.datasets.world.schema import RELATIONS
from kg2rag.datasets.world.texts import Page, notice, page
from kg2rag.types.corpus import Corpus
from kg2rag.types.passages import Passage, Triple
from kg2rag.types.questions import QADataset, Question

SHARES = {"person": 0.45, "work": 0.25, "town": 0.15, "organisation": 0.1, "region": 0.05}
FEWEST = 60
"""Entities below which a world is too small to ask of."""
LARGEST = 2_000_000
BLOCK = 8192
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """The controls of a world; equal controls make equal worlds, to the byte.

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

    def pages(self) -> Iterator[Passage]:
        """Every passage: one a thing, kind by kind, then the distractors, question by question."""
        for kind in KINDS:
            for number, choices, other in self._draws(kind, stream=3):
                facts = [
                    (relation, self.called(relation.tail, int(self.facts[kind, relation.name][number]), other[i]))
                    for i, relation in enumerate(RELATIONS[kind])
                ]
                alias = self.names.alias(kind, number) if self.aliases else ""
                name, id_ = self.names.name(kind, number), self.passage_id(kind, number)
                yield Passage(id_, name, page(Page(kind, name, alias, facts), choices), id_, 0)
        yield from self._notices()

    def called(self, kind: str, number: int, chance: float) -> str:
        """A thing's name, or its alias where `chance` (0 to 1) falls below the share of aliases."""
        return self.names.alias(kind, number) if chance < self.aliases else self.names.name(kind, number)

    @cached_property
    def asked(self) -> list[Question]:
        """The questions, hops by hops, with gold passages in the order of the chain."""
        return ask(self)

    def triples(self) -> Iterator[Triple]:
        """What an extractor would have found: every stated fact, less the dropped, some ends exchanged.

        Ends carry full names, as after a perfect entity resolution.
        """
        for kind in KINDS:
            for number, _, other in self._draws(kind, stream=4):
                for i, relation in enumerate(RELATIONS[kind]):
                    if other[i] < self.dropped:
                        continue
                    tail = int(self.facts[kind, relation.name][number])
                    if other[i] < self.dropped + self.wrong:
                        size = self.counts[relation.tail]
                        tail = (tail + 1 + int(other[i + 3] * (size - 1))) % size
                    yield Triple(
                        head=self.names.name(kind, number),
                        relation=relation.name,
                        tail=self.names.name(relation.tail, tail),
                        passage_id=self.passage_id(kind, number),
                        strength=10.0,
                    )

    def dataset(self) -> QADataset:
        """The world in memory."""
        source = {"loader": "world", "synthetic": True, "controls": self.controls}
        return QADataset("synthetic world", Corpus.from_passages(self.pages()), tuple(self.asked), source=source)

    def _draws(self, kind: str, stream: int) -> Iterator[tuple[int, list[int], list[float]]]:
        """For each thing of a kind: its number, 12 choices from 0 to 255, and 6 chances from 0 to 1."""
        rng = np.random.default_rng([self.seed, stream, KINDS.index(kind)])
        for start in range(0, self.counts[kind], BLOCK):
            size = min(BLOCK, self.counts[kind] - start)
            choices = rng.integers(0, 256, (size, 12)).tolist()
            chances = rng.random((size, 6)).tolist()
            yield from zip(range(start, start + size), choices, chances, strict=True)

    def _notices(self) -> Iterator[Passage]:
        rng = np.random.default_rng([self.seed, 5])
        kinds = list(KINDS)
        for at, question in enumerate(self.asked if self.distractors else []):
            named = list(question.gold)
            for copy in range(self.distractors):
                kind, _, number = named[int(rng.integers(len(named)))].rpartition("-")
                others = [kinds[i] for i in rng.integers(0, len(kinds), 2).tolist()]
                things = [(kind, int(number)), *((other, int(rng.integers(self.counts[other]))) for other in others)]
                names = [self.called(kind, number, float(rng.random())) for kind, number in things]
                id_ = f"notice-{at}-{copy}"
                yield Passage(id_, f"Gazette {at * self.distractors + copy + 1}", notice(names, rng), id_, 0)
