"""A seed and a few controls -> a world: who was taught by whom, what is set where, and every page about it.

Nothing but the arrays is held: passages and triples are made one after another, so a million of them need no memory.
All of it is synthetic. It measures how a strategy decays with hops, distractors, aliases, typos and a noisy graph; it
does not measure how well one does on text that people wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.json
from pydantic import Field, StrictInt, ValidationError

from kg2rag.compute import Store, new_folder, remove_leftovers
from kg2rag.compute.progress import bar as progress_bar
from kg2rag.datasets.reading import Files, Identifier, Record, Text, find_graph_files
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.datasets.world.facts import KINDS, RELATIONS, Relation, WorldFacts, notice, page
from kg2rag.text.normalisation import key
from kg2rag.text.records import DataError, check_depth, decode, sha256
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


MANIFEST = "world.json"
PARSED = "corpus.arrow"
LARGE = 64 << 20
"""Bytes of passages from which parsing takes a second and more."""
VERSION = 1
"""Part of the parsed corpus's key in the store: raise it where lines are read in another way."""
README = """# A synthetic world

Everything in this folder is invented: the people, the towns, the books and every sentence about them. It was generated
by kg2rag from the controls in world.json, and the same controls give the same bytes. It shows how a retrieval strategy
fares as questions grow longer, distractors more and graphs noisier. It is no benchmark of natural text.
"""


class Manifest(Record):
    """What `world.json` holds."""

    controls: dict[str, object]
    sha256: dict[Literal["corpus.jsonl", "questions.jsonl", "triples.jsonl"], str] = Field(min_length=3)


class WorldQuestion(Record):
    """One question; gold passages are in the order of the chain."""

    id: Identifier
    question: Text
    answers: list[Text] = Field(min_length=1)
    hops: StrictInt
    gold: list[Text] = Field(min_length=1)
    triples: list[tuple[Text, Text, Text]]


def write(world: World, folder: Path | str, *, progress: bool = True) -> Path:
    """Write a world, a line at a time: memory does not grow with the passages' texts.

    Raises
    ------
    FileExistsError : the folder is there already.
    """
    folder = Path(folder)
    if folder.exists():
        raise FileExistsError(f"{folder} exists. Give the world a new folder, or delete this one.")
    remove_leftovers(folder.parent)
    with new_folder(folder) as partial:
        (partial / "README.md").write_text(README, encoding="utf-8")
        lines: dict[str, Iterable[Mapping[str, object]]] = {
            "questions.jsonl": (
                {"id": q.id, "question": q.text, "answers": q.answers, "hops": q.hops}
                | {"gold": list(q.gold), "triples": q.triples}
                for q in world.asked
            ),
            "corpus.jsonl": ({"id": p.id, "title": p.title, "text": p.text} for p in world.pages()),
            "triples.jsonl": (
                {"head": t.head, "relation": t.relation, "tail": t.tail, "passage_id": t.passage_id}
                for t in world.triples()
            ),
        }
        checksums = {name: _write(partial / name, rows, progress=progress) for name, rows in lines.items()}
        manifest = {"synthetic": True, "controls": world.controls, "sha256": checksums}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return folder


def load(options: LoadOptions) -> QADataset:
    """Read a folder that `write` wrote; every file must have the checksum that `world.json` names."""
    folder = options.path or Path()
    if not (folder / MANIFEST).is_file():
        raise FileNotFoundError(f"{folder} holds no world: {MANIFEST} is missing. Make one: kg2rag world --out.")
    try:
        manifest = Manifest.model_validate_json(decode((folder / MANIFEST).read_bytes(), folder / MANIFEST))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]["msg"]
        raise DataError(f"{folder / MANIFEST}: no manifest of a world ({fault}). Generate the world again.") from None
    for name, expected in manifest.sha256.items():
        if (found := sha256(folder / name)) != expected:
            raise DataError(f"{folder / name}: sha256 {found}, but {MANIFEST} says {expected}. Generate it again.")
    questions = tuple(_as_question(record) for record in Files().records(folder / "questions.jsonl", WorldQuestion))
    source = {"synthetic": True, "controls": manifest.controls, "files": manifest.sha256}
    corpus, graphs = _corpus(folder / "corpus.jsonl"), find_graph_files(folder)
    return QADataset("synthetic world", corpus, questions, source=source, graph_files=graphs)


def _corpus(path: Path) -> Corpus:
    """The passages; of a large file, parsed once, kept in the store and mapped."""
    if path.stat().st_size < LARGE:
        return _parsed(path)
    key = {"corpus.jsonl": sha256(path), "rules": VERSION}
    return Corpus.open(Store().entry("world", key, lambda folder: _parsed(path).save(folder / PARSED)) / PARSED)


def _parsed(path: Path) -> Corpus:
    check_depth(path)  # Arrow's reader overflows the stack on 30,000 brackets
    parsing = pa.json.ParseOptions(
        explicit_schema=pa.schema([(name, pa.string()) for name in ("id", "title", "text")]),
        unexpected_field_behavior="ignore",
    )
    try:
        rows = pa.json.read_json(path, pa.json.ReadOptions(block_size=1 << 24), parsing)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: no JSON Lines of passages ({error}). Generate the world again.") from None
    size = len(rows)
    rows = rows.append_column("doc_id", rows["id"]).append_column("position", pa.array([0] * size, pa.int32()))
    return Corpus(rows.append_column("sentences", pa.nulls(size, pa.list_(pa.string()))))


def _write(path: Path, rows: Iterable[Mapping[str, object]], *, progress: bool) -> str:
    """The sha256 of the lines written."""
    digest = hashlib.sha256()
    with path.open("wb") as file, progress_bar(None, path.stem, "line", shown=progress) as bar:
        for row in rows:
            line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
            digest.update(line)
            file.write(line)
            bar.update()
    return digest.hexdigest()


def _as_question(record: WorldQuestion) -> Question:
    return Question(
        id=record.id,
        text=record.question,
        gold=dict.fromkeys(record.gold, 1),
        answers=tuple(record.answers),
        type=f"{record.hops} hop{'s' if record.hops > 1 else ''}",
        hops=record.hops,
        triples=tuple(record.triples),
    )


DATASET = DatasetSpec(
    name="world",
    summary="a generated, wholly invented world with exact gold chains: for scale and controlled questions",
    load=load,
    licence="Apache-2.0",
    citation="The kg2rag developers; synthetic",
)
