"""A world -> questions that follow chains of its facts, with gold passages, gold triples and the answer."""

from __future__ import annotations

import numpy as np

from kg2rag.datasets.world.facts import WorldFacts
from kg2rag.datasets.world.names import KINDS
from kg2rag.datasets.world.schema import RELATIONS, Relation
from kg2rag.text.identifiers import key
from kg2rag.types.questions import Question

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ATTEMPTS = 200
"""Draws for each question after which a world is held to be too small for so many."""
Thing = tuple[str, int]


def ask(world: WorldFacts) -> list[Question]:
    """The questions of a world, hops by hops; no two follow the same chain."""
    rng = np.random.default_rng([world.seed, 6])
    asked: list[Question] = []
    for at, hops in enumerate(world.hops):
        wanted = world.questions * (at + 1) // len(world.hops) - len(asked)
        asked += _of_length(world, hops, wanted, rng)
    return asked


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
