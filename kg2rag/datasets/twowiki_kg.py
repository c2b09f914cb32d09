"""2WikiMultihopQA with an extracted knowledge graph (corpus, questions and triples as JSONL) -> QADataset.

The graph covers only the chunks of `graph_corpus_ids.txt`, so split "test", the questions of `test_ids.txt` over those
chunks, is the one for graph methods and the default. Split "all" has every question and chunk; the triples file is not
offered with it, since 79 % of the other questions' gold has no triple.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, StrictInt

from kg2rag.datasets.reading import Fact, Files, Identifier, R, Record, Text, find_graph_files, locate
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.datasets.twowiki import CITATION
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Passage, QADataset, Question


class Chunk(Record):
    """One passage: a paragraph of a Wikipedia introduction."""

    chunk_id: Text
    source_title: str
    source_para_idx: StrictInt
    text: Text


class ChunkQuestion(Record):
    """One question; its gold names chunks."""

    id: Identifier
    question: Text
    answer: Text
    hop_type: str = ""
    hop_count: StrictInt | None = None
    gold_support_chunk_ids: list[Text] = Field(min_length=1)
    gold_triples: list[Fact] = Field(default_factory=list)


def load(options: LoadOptions) -> QADataset:
    """Read the folder."""
    files = Files()
    folder = locate(options.path or Path(), ["corpus.jsonl"], "2wiki-kg corpus").parent
    chunks = files.records(folder / "corpus.jsonl", Chunk)
    records = files.records(_needed(folder, "questions.jsonl"), ChunkQuestion)
    graphs = find_graph_files(folder)
    split = options.split or "test"
    if split == "test":
        chunks = _chosen(chunks, "chunk_id", files, _needed(folder, "graph_corpus_ids.txt"), "corpus.jsonl")
        records = _chosen(records, "id", files, _needed(folder, "test_ids.txt"), "questions.jsonl")
    else:
        graphs = {kind: path for kind, path in graphs.items() if not kind.startswith(("triples", "entities"))}
    corpus = Corpus.from_passages(
        Passage(c.chunk_id, c.source_title, c.text, c.source_title or c.chunk_id, c.source_para_idx) for c in chunks
    )
    known = set(corpus.ids)
    questions = tuple(_question(record, known) for record in records)
    source = {"files": files.checksums, "split": split, "notes": {}}
    return QADataset("2wiki-kg", corpus, questions, source=source, graph_files=graphs)


def _question(record: ChunkQuestion, known: set[str]) -> Question:
    for id_ in record.gold_support_chunk_ids:
        if id_ not in known:
            raise DataError(
                f"questions.jsonl ({record.id!r}): gold_support_chunk_ids names {id_!r}, which is not among the "
                f"{len(known)} passages of this split."
            )
    return Question(
        id=record.id,
        text=record.question,
        gold=dict.fromkeys(record.gold_support_chunk_ids, 1),
        answers=(record.answer,),
        type=record.hop_type,
        hops=record.hop_count,
        triples=tuple(record.gold_triples),
    )


def _needed(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise FileNotFoundError(
            f"{folder} lacks {name}. The set is corpus.jsonl, questions.jsonl, test_ids.txt, graph_corpus_ids.txt."
        )
    return folder / name


def _chosen(rows: list[R], field: str, files: Files, listing: Path, origin: str) -> list[R]:
    """The rows that a list of ids names, in their own order."""
    wanted = dict.fromkeys(files.lines(listing))
    kept = [row for row in rows if getattr(row, field) in wanted]
    if len(kept) < len(wanted):
        known = {getattr(row, field) for row in kept}
        first = next(id_ for id_ in wanted if id_ not in known)
        raise DataError(f"{listing.name} names {first!r}, which {origin} lacks ({len(wanted) - len(kept)} such ids).")
    return kept


DATASET = DatasetSpec(
    name="2wiki-kg",
    summary="2WikiMultihopQA over short chunks, with a graph extracted by a language model",
    load=load,
    licence="Apache-2.0 (2WikiMultihopQA), MIT (graph)",
    citation=CITATION,
    homepage="https://github.com/Alab-NII/2wikimultihop",
    splits=("test", "all"),
)
