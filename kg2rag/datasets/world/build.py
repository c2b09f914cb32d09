"""A seed and a few controls -> a world: who was taught by whom, what is set where, and every page about it.

Nothing but the arrays is held: passages and triples are made one after another, so a million of them need no memory.
All of it is synthetic. It measures how a strategy decays with hops, distractors, aliases, typos and a noisy graph; it
does not measure how well one does on text that people wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from kg2rag.compute import new_folder, remove_leftovers
from kg2rag.compute.parallel import progress_bar
from kg2rag.datasets.reading import Fact, Files, Identifier, Record, Text, find_graph_files
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.datasets.world.facts import KINDS, RELATIONS, Names, Relation, notice, one_typo, page
from kg2rag.text.records import DataError, check_depth, decode, sha256
from kg2rag.types import Corpus, Passage, QADataset, Question, Triple
from kg2rag.types.parameters import Count, Natural, Share, between, check

ATTEMPTS = 200
"""Draws for each question after which a world is held to be too small for so many."""
SHARES = {"person": 0.45, "work": 0.25, "town": 0.15, "organisation": 0.1, "region": 0.05}
FEWEST, LARGEST = 60, 2_000_000
"""Entities: below, a world is too small for questions."""
BLOCK = 8192
Thing = tuple[str, int]


@dataclass(frozen=True)
class World:
    """An invented world; equal controls make equal worlds, to the byte.

    Parameters
    ----------
    passages : in all; one for each entity, and the distractors.
    questions : in all, spread evenly over `hops`.
    hops : how many facts a question joins, each from another passage: 1 to 4.
    distractors : passages a question that name one of its entities and state none of its facts.
    aliases : share of facts and questions that call their entity by its other name.
    typos : share of questions in whose name one letter is left out, doubled, replaced or swapped.
    dropped, wrong : shares of the triples that the extraction lacks, and that end in another thing of the same kind.
    """

    passages: Count = 1000
    questions: Count = 100
    hops: tuple[int, ...] = (1, 2, 3, 4)
    distractors: Natural = 0
    aliases: Share = 0.0
    typos: Share = 0.0
    dropped: Share = 0.0
    wrong: Share = 0.0
    seed: Natural = 0

    def __post_init__(self) -> None:
        check(self, wrong=between(0, 1 - self.dropped))
        if not self.hops or not set(self.hops) <= {1, 2, 3, 4} or len(set(self.hops)) < len(self.hops):
            raise ValueError(f"hops are different numbers from 1 to 4, not {self.hops}.")
        if self.questions < len(self.hops):
            raise ValueError(f"questions must be at least one for each of hops {self.hops}, not {self.questions}.")
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
        return {**asdict(self), "hops": list(self.hops)}

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
    def facts(self) -> dict[tuple[str, str], NDArray[np.int64]]:
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

    def called(self, kind: str, number: int, chance: float) -> str:
        """A thing's name, or its alias where `chance` (0 to 1) falls below the share of aliases."""
        return self.names.alias(kind, number) if chance < self.aliases else self.names.name(kind, number)

    def pages(self) -> Iterator[Passage]:
        """Every passage: one a thing, kind by kind, then the distractors, question by question."""
        for kind in KINDS:
            for number, choices, other in self._draws(kind, stream=3):
                facts = [
                    (relation, self.called(relation.tail, int(self.facts[kind, relation.name][number]), other[i]))
                    for i, relation in enumerate(RELATIONS[kind])
                ]
                alias = self.names.alias(kind, number) if self.aliases else ""
                name, id_ = self.names.name(kind, number), f"{kind}-{number}"
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
                    head, end = self.names.name(kind, number), self.names.name(relation.tail, tail)
                    yield Triple(head, relation.name, end, f"{kind}-{number}", strength=10.0)

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


def _of_length(world: World, hops: int, wanted: int, rng: np.random.Generator) -> list[Question]:
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


def _chain(world: World, hops: int, rng: np.random.Generator) -> tuple[list[Thing], list[Relation]]:
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
    world: World, id_: str, things: list[Thing], relations: list[Relation], rng: np.random.Generator
) -> Question:
    asked_for = world.called(*things[0], float(rng.random()))
    if rng.random() < world.typos:
        asked_for = one_typo(asked_for, rng)
    for relation in relations[:-1]:
        asked_for = _any(relation.phrases, rng).format(x=asked_for)
    names = [world.names.name(*thing) for thing in things]
    return _asked(
        id_,
        text=_any(relations[-1].questions, rng).format(x=asked_for),
        gold=[f"{kind}-{number}" for kind, number in things[:-1]],
        answers=[names[-1], *([world.names.alias(*things[-1])] if world.aliases else [])],
        triples=[(head, r.name, tail) for head, r, tail in zip(names, relations, names[1:], strict=False)],
    )


def _asked(id_: str, text: str, gold: list[str], answers: list[str], triples: list[Fact]) -> Question:
    """A question with a fact a hop."""
    hops = len(triples)
    kind = f"{hops} hop{'s' if hops > 1 else ''}"
    return Question(id_, text, dict.fromkeys(gold, 1), tuple(answers), kind, hops, triples=tuple(triples))


def _any(options: tuple[str, ...], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]


MANIFEST = "world.json"
README = """# A synthetic world

Everything in this folder is invented, by kg2rag, from the controls in world.json: equal controls give equal bytes.
It shows how a strategy fares as questions grow longer and graphs noisier. It is no benchmark of natural text.
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
    gold: list[Text] = Field(min_length=1)
    triples: list[tuple[Text, Text, Text]] = Field(min_length=1)


def write(world: World, folder: Path | str, *, progress: bool = True) -> Path:
    """Write a world into a new folder, a line at a time: memory does not grow with the passages' texts."""
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
    records = Files().records(folder / "questions.jsonl", WorldQuestion)
    questions = tuple(_asked(one.id, one.question, one.gold, one.answers, one.triples) for one in records)
    source = {"synthetic": True, "controls": manifest.controls, "files": manifest.sha256}
    corpus, graphs = _corpus(folder / "corpus.jsonl"), find_graph_files(folder)
    return QADataset("synthetic world", corpus, questions, source=source, graph_files=graphs)


def _corpus(path: Path) -> Corpus:
    """The passages, by Arrow: of a million, objects would need gigabytes."""
    check_depth(path)  # Arrow's reader overflows the stack on 30,000 brackets
    parsing = pa.json.ParseOptions(
        explicit_schema=pa.schema([(name, pa.string()) for name in ("id", "title", "text")]),
        unexpected_field_behavior="ignore",
    )
    try:
        rows = pa.json.read_json(path, pa.json.ReadOptions(block_size=1 << 24), parsing)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: no JSON Lines of passages ({error}). Generate the world again.") from None
    rows = rows.append_column("doc_id", rows["id"]).append_column("position", pa.array([0] * len(rows), pa.int32()))
    return Corpus(rows.append_column("sentences", pa.nulls(len(rows), pa.list_(pa.string()))))


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


DATASET = DatasetSpec(
    name="world",
    summary="a generated, wholly invented world with exact gold chains: for scale and controlled questions",
    load=load,
    licence="Apache-2.0",
    citation="The kg2rag developers; synthetic",
)
