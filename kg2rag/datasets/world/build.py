"""A seed and a few controls -> a world: who was taught by whom, what is set where, and every page about it.

Nothing but the arrays is held: passages and triples are made one after another, so a million of them need no memory.
All of it is synthetic. It measures how a strategy decays with hops, distractors, aliases, typos and a noisy graph; it
does not measure how well one does on text that people wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kg2rag.datasets.world.facts import KINDS, WorldFacts
from kg2rag.datasets.world.schema import RELATIONS, Relation, notice, page
from kg2rag.text.identifiers import key
from kg2rag.types import Corpus, Passage, QADataset, Question, Triple

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ATTEMPTS = 200
"""Draws for each question after which a world is held to be too small for so many."""
Thing = tuple[str, int]
BLOCK = 8192


@dataclass(frozen=True)
class World(WorldFacts):
    """An invented world; equal controls make equal worlds, to the byte. `WorldFacts` lists the controls."""

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
                yield Passage(id_, name, page(kind, name, alias, facts, choices), id_, 0)
        yield from self._notices()

    @cached_property
    def asked(self) -> list[Question]:
        """The questions, hops by hops, with gold passages in the order of the chain; no two follow the same chain."""
        rng = np.random.default_rng([self.seed, 6])
        asked: list[Question] = []
        for at, hops in enumerate(self.hops):
            wanted = self.questions * (at + 1) // len(self.hops) - len(asked)
            asked += _of_length(self, hops, wanted, rng)
        return asked

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


def _of_length(world: WorldFacts, hops: int, wanted: int, rng: np.random.Generator) -> list[Question]:
    made: dict[tuple[Thing, tuple[str, ...]], Question] = {}
    for _ in range(ATTEMPTS * wanted):
        if len(made) == wanted:
            break
        things, relations = _chain(world, hops, rng)
        key = (things[0], tuple(relation.name for relation in relations))
        if len(set(things)) == len(things) and key not in made:
            made[key] = _question(world, f"{hops}hop-{len(made)}", things, relations, rng)
    if len(made) < wanted:
        raise ValueError(
            f"A world of {world.entities} entities has only {len(made)} of {wanted} questions with {hops} hops. "
            "Ask fewer, or make it larger."
        )
    return list(made.values())


def _chain(world: WorldFacts, hops: int, rng: np.random.Generator) -> tuple[list[Thing], list[Relation]]:
    """A walk along random relations; every kind of thing is equally likely to begin it."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    things, relations = [(kind, int(rng.integers(world.counts[kind])))], []
    for _ in range(hops):
        kind, number = things[-1]
        relation = RELATIONS[kind][int(rng.integers(len(RELATIONS[kind])))]
        relations.append(relation)
        things.append((relation.tail, int(world.facts[kind, relation.name][number])))
    return things, relations


def _question(
    world: WorldFacts, id_: str, things: list[Thing], relations: list[Relation], rng: np.random.Generator
) -> Question:
    asked_for = world.called(*things[0], float(rng.random()))
    if rng.random() < world.typos:
        asked_for = one_typo(asked_for, rng)
    for relation in relations[:-1]:
        asked_for = _any(relation.phrases, rng).format(x=asked_for)
    names = [world.names.name(*thing) for thing in things]
    aliases = (world.names.alias(*things[-1]),) if world.aliases else ()
    return Question(
        id=id_,
        text=_any(relations[-1].questions, rng).format(x=asked_for),
        gold={world.passage_id(*thing): 1 for thing in things[:-1]},
        answers=(names[-1], *aliases),
        type=f"{len(relations)} hop{'s' if len(relations) > 1 else ''}",
        hops=len(relations),
        triples=tuple((head, r.name, tail) for head, r, tail in zip(names, relations, names[1:], strict=False)),
    )


def _any(options: tuple[str, ...], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]


def one_typo(name: str, rng: np.random.Generator) -> str:
    """A letter left out, doubled, replaced, or swapped with the next; never leaving the name as it was."""
    while True:
        at, kind = int(rng.integers(len(name) - 1)), int(rng.integers(4))
        letter = LETTERS[int(rng.integers(len(LETTERS)))]
        middle = ("", name[at] * 2, letter, name[at + 1] + name[at])[kind]
        edited = name[:at] + middle + name[at + (2 if kind == 3 else 1) :]
        if key(edited) != key(name):
            return edited
