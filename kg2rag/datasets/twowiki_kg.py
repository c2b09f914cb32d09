"""2WikiMultihopQA with an extracted knowledge graph (corpus, questions and triples as JSONL) -> QADataset.

The graph covers only the chunks of `graph_corpus_ids.txt`, so split "test", the questions of `test_ids.txt` over those
chunks, is the one for graph methods and the default. Split "all" has every question and chunk; the triples file is not
offered with it, since 79 % of the other questions' gold has no triple.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import StrictInt

from kg2rag.datasets.bundled import read_questions
from kg2rag.datasets.reading import Files, Record, Text, find_graph_files, locate
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.datasets.twowiki import CITATION
from kg2rag.text.records import DataError
from kg2rag.types import Corpus, Passage, QADataset


class Chunk(Record):
    """One passage: a paragraph of a Wikipedia introduction."""

    chunk_id: Text
    source_title: str
    source_para_idx: StrictInt
    text: Text


def load(options: LoadOptions) -> QADataset:
    """Read the folder."""
    files = Files()
    folder = locate(options.path or Path(), ["corpus.jsonl"], "2wiki-kg corpus").parent
    chunks, graphs, ids = files.records(folder / "corpus.jsonl", Chunk), find_graph_files(folder), None
    split = options.split or "test"
    questions = locate(folder, ["questions.jsonl"], "2wiki-kg file")
    if split == "test":
        wanted = dict.fromkeys(files.lines(locate(folder, ["graph_corpus_ids.txt"], "2wiki-kg file")))
        chunks = [chunk for chunk in chunks if chunk.chunk_id in wanted]
        ids = dict.fromkeys(files.lines(locate(folder, ["test_ids.txt"], "2wiki-kg file")))
    else:
        graphs = {kind: path for kind, path in graphs.items() if not kind.startswith(("triples", "entities"))}
    corpus = Corpus.from_passages(
        Passage(c.chunk_id, c.source_title, c.text, c.source_title or c.chunk_id, c.source_para_idx) for c in chunks
    )
    chosen = tuple(read_questions(files, questions, corpus, ids))
    if ids is not None:
        _require("graph_corpus_ids.txt", wanted, "corpus.jsonl", corpus.ids)
        _require("test_ids.txt", ids, "questions.jsonl", [question.id for question in chosen])
    source = {"files": files.checksums, "split": split, "notes": {}}
    return QADataset("2wiki-kg", corpus, chosen, source=source, graph_files=graphs)


def _require(listing: str, wanted: Iterable[str], origin: str, found: Iterable[str]) -> None:
    known = set(found)
    if missing := [id_ for id_ in wanted if id_ not in known]:
        raise DataError(f"{listing} names {missing[0]!r}, which {origin} lacks ({len(missing)} such ids).")


DATASET = DatasetSpec(
    name="2wiki-kg",
    summary="2WikiMultihopQA over short chunks, with a graph extracted by a language model",
    load=load,
    licence="Apache-2.0 (2WikiMultihopQA), MIT (graph)",
    citation=CITATION,
    homepage="https://github.com/Alab-NII/2wikimultihop",
    splits=("test", "all"),
)
