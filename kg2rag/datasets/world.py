"""A seed and a few controls -> an invented world: who was taught by whom, what is set where, and every page about it.

Nothing but the arrays is held: passages and triples are made one after another, so a million of them need no memory.
All of it is synthetic, with exact gold passages, triples and chains. It measures how a strategy decays with hops, size
and a noisy graph; it does not measure how well one does on text that people wrote.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray
from pydantic import Field

from kg2rag.compute import new_folder, remove_leftovers
from kg2rag.compute.parallel import progress_bar
from kg2rag.datasets.bundled import read_questions
from kg2rag.datasets.reading import Files, Record, check, find_graph_files
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.datasets.world_texts import KINDS, RELATIONS, SCHEMA, Names, Relation, Thing, page
from kg2rag.text.records import DataError, parse_json, sha256
from kg2rag.types import Corpus, Passage, QADataset, Question, Triple
from kg2rag.types.parameters import Count, Natural, Share, between
from kg2rag.types.parameters import check as check_fields

FEWEST, LARGEST = 60, 2_000_000
"""Passages: below, a world is too small for questions."""
ATTEMPTS = 200
"""Draws for each question after which a world is held to be too small for so many."""
BLOCK = 8192
MANIFEST = "world.json"
README = """# A synthetic world

Everything in this folder is invented, by kg2rag, from the controls in world.json: equal controls give equal bytes.
It shows how a strategy fares as questions grow longer and graphs noisier. It is no benchmark of natural text.
"""


@dataclass(frozen=True)
class World:
    """An invented world; equal controls make equal worlds, to the byte.

    Parameters
    ----------
    passages : in all; one for each entity.
    questions : in all, spread evenly over `hops`.
    hops : how many facts a question joins, each from another passage: 1 to 4.
    dropped, wrong : shares of the triples that the extraction lacks, and that end in another thing of the same kind.
    """

    passages: Count = 1000
    questions: Count = 100
    hops: tuple[int, ...] = (1, 2, 3, 4)
    dropped: Share = 0.0
    wrong: Share = 0.0
    seed: Natural = 0

    def __post_init__(self) -> None:
        check_fields(self, wrong=between(0, 1 - self.dropped), passages=between(FEWEST, LARGEST))
        if not self.hops or not set(self.hops) <= {1, 2, 3, 4} or len(set(self.hops)) < len(self.hops):
            raise ValueError(f"hops are different numbers from 1 to 4, not {self.hops}.")
        if self.questions < len(self.hops):
            raise ValueError(f"questions must be at least one for each of hops {self.hops}, not {self.questions}.")

    @cached_property
    def counts(self) -> dict[str, int]:
        """Kind -> how many things; the rounding falls to the persons."""
        counts = {kind: max(int(share * self.passages), 2) for kind, share in SCHEMA["shares"].items()}
        counts["person"] += self.passages - sum(counts.values())
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

    def pages(self) -> Iterator[Passage]:
        """Every passage: one a thing, kind by kind."""
        for kind in KINDS:
            for number, choices, _ in self._draws(kind, stream=3):
                id_, name = f"{kind}-{number}", self.names[kind, number]
                ends = [self.names[each.tail, self._led(kind, each, number)] for each in RELATIONS[kind]]
                yield Passage(id_, name, page(kind, name, ends, choices), id_, 0)

    @cached_property
    def asked(self) -> list[Question]:
        """The questions, hops by hops, with gold passages in the order of the chain; no two follow the same chain."""
        rng = np.random.default_rng([self.seed, 6])
        asked: list[Question] = []
        for at, hops in enumerate(self.hops):
            wanted = self.questions * (at + 1) // len(self.hops) - len(asked)
            asked += self._of_length(hops, wanted, rng)
        return asked

    def triples(self) -> Iterator[Triple]:
        """What an extractor would have found: every stated fact, less the dropped, some ends exchanged."""
        for kind in KINDS:
            for number, _, other in self._draws(kind, stream=4):
                for i, relation in enumerate(RELATIONS[kind]):
                    if other[i] < self.dropped:
                        continue
                    tail = self._led(kind, relation, number)
                    if other[i] < self.dropped + self.wrong:
                        size = self.counts[relation.tail]
                        tail = (tail + 1 + int(other[i + 3] * (size - 1))) % size
                    head, end = self.names[kind, number], self.names[relation.tail, tail]
                    yield Triple(head, relation.name, end, f"{kind}-{number}", strength=10.0)

    def dataset(self) -> QADataset:
        """The world in memory."""
        source = {"loader": "world", "synthetic": True, "controls": {**asdict(self), "hops": list(self.hops)}}
        return QADataset("synthetic world", Corpus.from_passages(self.pages()), tuple(self.asked), source=source)

    def _led(self, kind: str, relation: Relation, number: int) -> int:
        return int(self.facts[kind, relation.name][number])

    def _draws(self, kind: str, stream: int) -> Iterator[tuple[int, list[int], list[float]]]:
        """For each thing of a kind: its number, 12 choices from 0 to 255, and 6 chances from 0 to 1."""
        rng = np.random.default_rng([self.seed, stream, KINDS.index(kind)])
        for start in range(0, self.counts[kind], BLOCK):
            size = min(BLOCK, self.counts[kind] - start)
            choices = rng.integers(0, 256, (size, 12)).tolist()
            chances = rng.random((size, 6)).tolist()
            yield from zip(range(start, start + size), choices, chances, strict=True)

    def _of_length(self, hops: int, wanted: int, rng: np.random.Generator) -> list[Question]:
        """Walks along random relations; every kind of thing is equally likely to begin one."""
        made: dict[tuple[Thing, tuple[str, ...]], Question] = {}
        for _ in range(ATTEMPTS * wanted + 1):
            if len(made) == wanted:
                return list(made.values())
            kind = KINDS[int(rng.integers(len(KINDS)))]
            things, relations = [(kind, int(rng.integers(self.counts[kind])))], list[Relation]()
            for _ in range(hops):
                kind, number = things[-1]
                relations.append(RELATIONS[kind][int(rng.integers(len(RELATIONS[kind])))])
                things.append((relations[-1].tail, self._led(kind, relations[-1], number)))
            chain = things[0], tuple(relation.name for relation in relations)
            if len(set(things)) == len(things) and chain not in made:
                made[chain] = self._question(f"{hops}hop-{len(made)}", things, relations, rng)
        raise ValueError(
            f"A world of {self.passages} passages has only {len(made)} of {wanted} questions with {hops} hops. "
            "Ask fewer, or make it larger."
        )

    def _question(self, id_: str, things: list[Thing], relations: list[Relation], rng: np.random.Generator) -> Question:
        names = [self.names[thing] for thing in things]
        asked_for = names[0]
        rng.random(2)  # keeps the questions that a seed has always had
        for relation in relations[:-1]:
            asked_for = _any(relation.phrases, rng).format(x=asked_for)
        text = _any(relations[-1].questions, rng).format(x=asked_for)
        gold = {f"{kind}-{number}": 1 for kind, number in things[:-1]}
        facts = tuple((head, one.name, tail) for head, one, tail in zip(names, relations, names[1:], strict=False))
        return _typed(Question(id_, text, gold, (names[-1],), hops=len(facts), triples=facts))


def _typed(question: Question) -> Question:
    return replace(question, type=f"{question.hops} hop{'s' if question.hops != 1 else ''}")


def _any(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]


class Manifest(Record):
    """What `world.json` holds."""

    controls: dict[str, object]
    sha256: dict[Literal["corpus.jsonl", "questions.jsonl", "triples.jsonl"], str] = Field(min_length=3)


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
            "corpus.jsonl": _fields(world.pages(), "id", "title", "text"),
            "triples.jsonl": _fields(world.triples(), "head", "relation", "tail", "passage_id"),
        }
        sums = {name: _write(partial / name, rows, progress=progress) for name, rows in lines.items()}
        manifest = {"synthetic": True, "controls": asdict(world), "sha256": sums}
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return folder


def _fields(things: Iterable[object], *names: str) -> Iterator[Mapping[str, object]]:
    return ({name: getattr(thing, name) for name in names} for thing in things)


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


def load(options: LoadOptions) -> QADataset:
    """Read a folder that `write` wrote; every file must have the checksum that `world.json` names."""
    folder, files = options.path or Path(), Files()
    if not (folder / MANIFEST).is_file():
        raise FileNotFoundError(f"{folder} holds no world: {MANIFEST} is missing. Make one: kg2rag world --out.")
    [manifest] = check([parse_json(files.text(folder / MANIFEST), MANIFEST)], Manifest, MANIFEST)
    for name, expected in manifest.sha256.items():
        if (found := sha256(folder / name)) != expected:
            raise DataError(f"{folder / name}: sha256 {found}, but {MANIFEST} says {expected}. Generate it again.")
    corpus = _corpus(folder / "corpus.jsonl")
    questions = tuple(map(_typed, read_questions(files, folder / "questions.jsonl", corpus)))
    source = {"synthetic": True, "controls": manifest.controls, "files": manifest.sha256}
    graphs = find_graph_files(folder)
    return QADataset("synthetic world", corpus, questions, source=source, graph_files=graphs)


def _corpus(path: Path) -> Corpus:
    """The passages, by Arrow: of a million, objects would need gigabytes."""
    schema = pa.schema([(name, pa.string()) for name in ("id", "title", "text")])
    parsing = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        rows = pa.json.read_json(path, pa.json.ReadOptions(block_size=1 << 24), parsing)
        rows.validate(full=True)  # which finds bytes that are not UTF-8
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: no JSON Lines of passages ({error}). Generate the world again.") from None
    rows = rows.append_column("doc_id", rows["id"]).append_column("position", pa.array([0] * len(rows), pa.int32()))
    return Corpus(rows.append_column("sentences", pa.nulls(len(rows), pa.list_(pa.string()))))


DATASET = DatasetSpec(
    name="world",
    summary="a generated, wholly invented world with exact gold chains: for scale and controlled questions",
    load=load,
    licence="Apache-2.0",
    citation="The kg2rag developers; synthetic",
)
