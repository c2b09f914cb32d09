"""A small valid file set for each format, written by our own savers or by hand -> file name -> bytes."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kg2rag import BM25, Dense, MentionPPR
from kg2rag.compute import Store
from kg2rag.evaluation import compare, storage
from kg2rag.experiments.sweep import SweepResult
from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.importers.triples import TriplesFile
from kg2rag.knowledge import KnowledgeBase, KnowledgeGraph
from kg2rag.knowledge.graph.graph_io import write_graph
from kg2rag.retrievers.adapters import Recorded
from kg2rag.retrievers.designs.dynamic_hybrid.analysers import SIDES, LearnedAnalyser
from kg2rag.retrievers.designs.dynamic_hybrid.signals import FEATURES
from kg2rag.types import Corpus, Passage, QADataset, Question, Triple

Files = dict[str, bytes]

PAGES = {
    "Ed Wood": ("Ed Wood is a film of 1994.", " Tim Burton directed it."),
    "Tim Burton": ("Tim Burton is a director.", " He was born in Burbank."),
    "Zoë 100%": ("Zoë is a name – with an accent.",),
}
CORPUS = Corpus.from_passages(
    [
        Passage(f"p {row}", title, "".join(said), title, 0)
        for row, (title, said) in enumerate(PAGES.items())
    ],
    [list(said) for said in PAGES.values()],
)
TRIPLES = (
    Triple("Tim Burton", "directed", "Ed Wood", "p 0", 8.0, 0.9),
    Triple("Tim Burton", "born in", "Burbank", "p 1"),
)
EXTRACTION = Extraction(
    TRIPLES,
    (Mention("Zoë", "p 2", 0),),
    (Entity("Ed Wood", "film", "A film.", ("E. W.",)),),
)
QUESTIONS = (
    Question("q 1", "Who directed Ed Wood?", {"p 0": 1}, hops=1),
    Question("q2", "Where was Burton born?", {"p 1": 2}),
)
DATA = QADataset("tiny", CORPUS, QUESTIONS)


def written(write: Callable[[Path], object]) -> Files:
    """The files that a function writes into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        files = sorted(file for file in Path(folder).rglob("*") if file.is_file())
        return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def as_json(value: object) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode()


def as_lines(*records: object) -> bytes:
    return "".join(
        json.dumps(record, ensure_ascii=False) + "\n" for record in records
    ).encode()


HOTPOT = {
    "question": "Where was the director of Ed Wood born?",
    "answer": "Burbank",
    "type": "bridge",
    "level": "hard",
    "supporting_facts": [["Ed Wood", 1], ["Tim Burton", 1]],
    "context": [[title, list(said)] for title, said in PAGES.items()],
}


def hotpotqa() -> Files:
    return {
        "hotpotqa.json": as_json([{"_id": "h1", **HOTPOT}, {"_id": "h2", **HOTPOT}])
    }


def two_wiki() -> Files:
    evidences = [["Ed Wood", "director", "Tim Burton"]]
    return {
        "2wikimultihopqa.json": as_json(
            [{"_id": "w1", **HOTPOT, "evidences": evidences, "type": "inference"}]
        )
    }


def corpus_list() -> bytes:
    return as_json(
        [{"title": title, "text": "".join(said)} for title, said in PAGES.items()]
    )


def titled() -> Files:
    record = {
        "id": "t1",
        "question": "Where?",
        "answer": "B",
        "evidences": [["a", "b", "c"]],
        "type": "inference",
    }
    gold = {
        "gold_titles": ["Ed Wood", "Tim Burton"],
        "supporting_facts": [["Ed Wood", 0]],
        "gold_status": "exact",
    }
    return {
        "questions.jsonl": as_lines(record | gold),
        "2wikimultihopqa_corpus.json": corpus_list(),
    }


def musique_record() -> dict[str, object]:
    paragraphs = [
        {
            "idx": at,
            "title": title,
            "paragraph_text": "".join(said),
            "is_supporting": at < 2,
        }
        for at, (title, said) in enumerate(PAGES.items())
    ]
    steps = [
        {
            "id": 1,
            "question": "Who?",
            "answer": "Tim Burton",
            "paragraph_support_idx": 0,
        }
    ]
    about = {
        "id": "2hop__1_2",
        "question": "Where?",
        "answer": "Burbank",
        "answer_aliases": ["B"],
        "answerable": True,
    }
    return {**about, "paragraphs": paragraphs, "question_decomposition": steps}


def musique() -> Files:
    return {
        "musique.jsonl": as_lines(
            musique_record(), musique_record() | {"id": "3hop1__3", "answerable": False}
        )
    }


def hipporag() -> Files:
    return {"set.json": as_json([musique_record()]), "set_corpus.json": corpus_list()}


def hipporag_titles() -> Files:
    titles = as_json({title: list(said) for title, said in PAGES.items()})
    return {"set.json": as_json([{"_id": "h1", **HOTPOT}]), "set_corpus.json": titles}


def beir() -> Files:
    texts = [
        {"_id": f"d{at}", "title": title, "text": "".join(said)}
        for at, (title, said) in enumerate(PAGES.items())
    ]
    return {
        "corpus.jsonl": as_lines(*texts),
        "queries.jsonl": as_lines(
            {"_id": "q1", "text": "Who?"}, {"_id": "q2", "text": "Where?"}
        ),
        "qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq1\td0\t1\nq1\td1\t0\nq2\td1\t2\n",
    }


def cosqa() -> Files:
    codes = {"def a():\n    return 1": 0, "def b():\n    return 2": 1}
    record = {
        "idx": "cosqa-dev-0",
        "doc": "python return one",
        "code": "def a():\n    return 1",
        "retrieval_idx": 0,
    }
    return {
        "code_idx_map.txt": as_json(codes),
        "cosqa-retrieval-dev-2.json": as_json([record]),
    }


def two_wiki_kg() -> Files:
    chunks = [
        {
            "chunk_id": f"c{at}",
            "source_title": title,
            "source_para_idx": 0,
            "text": "".join(said),
        }
        for at, (title, said) in enumerate(PAGES.items())
    ]
    question = {
        "id": "q1",
        "question": "Where?",
        "answer": "B",
        "hop_type": "inference",
        "hop_count": 2,
    }
    gold = {"gold_support_chunk_ids": ["c0", "c1"], "gold_triples": [["a", "b", "c"]]}
    return {
        "corpus.jsonl": as_lines(*chunks),
        "questions.jsonl": as_lines(question | gold),
        "graph_corpus_ids.txt": b"c0\nc1\nc2\n",
        "test_ids.txt": b"q1\n",
    }


def bundled() -> Files:
    passages = [
        {"id": f"p{at}", "doc_id": title, "title": title, "text": "".join(said)}
        for at, (title, said) in enumerate(PAGES.items())
    ]
    question = {
        "id": "q1",
        "question": "Where?",
        "answers": ["B"],
        "type": "bridge",
        "hops": 2,
        "gold": ["p0", "p1"],
    }
    facts = {
        "supporting": [["p0", 1]],
        "triples": [["Tim Burton", "directed", "Ed Wood", "p0"]],
    }
    return {
        "corpus.jsonl": as_lines(*passages),
        "questions.jsonl": as_lines(question | facts),
    }


def frames() -> Files:
    corpus = [
        {"id": "p1", "text": "Ada wrote.", "title": "Ada", "position": 0},
        {"id": "p2", "text": "He built."},
    ]
    question = {
        "id": "q1",
        "text": "Who?",
        "gold": ["p1"],
        "answers": "Ada",
        "hops": 1,
        "triples": [["a", "b", "c"]],
    }
    return {"corpus.json": as_json(corpus), "questions.json": as_json([question])}


def openie() -> Files:
    found = {
        "extracted_entities": ["Burbank"],
        "extracted_triples": [["Tim Burton", "directed", "Ed Wood"], ["a", "b"]],
    }
    documents = [
        {"idx": str(row), "passage": passage.contents, **found}
        for row, passage in enumerate(CORPUS)
    ]
    return {"openie_results.json": as_json({"docs": documents, "avg_ent_chars": 5.5})}


def subkgs() -> Files:
    lines = [
        {
            "title": title,
            "sentences": {"0": [["Tim Burton", "directed", title]], "1": []},
        }
        for title in PAGES
    ]
    return {"subkgs.jsonl": as_lines(*lines)}


def lightrag() -> Files:
    graph = nx.Graph()
    for name, kind in {"Tim Burton": "person", "Ed Wood": "film"}.items():
        about = {"description": "One.<SEP>Two.", "source_id": "chunk-a<SEP>chunk-b"}
        graph.add_node(name, entity_id=name, entity_type=kind, **about)
    graph.add_edge(
        "Tim Burton",
        "Ed Wood",
        weight=3.0,
        keywords="direction,film",
        source_id="chunk-a",
    )
    chunks = {
        f"chunk-{name}": {"tokens": 4, "content": CORPUS[row].contents}
        for row, name in enumerate("ab")
    }
    return {
        **written(
            lambda folder: nx.write_graphml(
                graph, folder / "graph_chunk_entity_relation.graphml"
            )
        ),
        "kv_store_text_chunks.json": as_json(chunks),
        "kv_store_entity_chunks.json": as_json(
            {"Ed Wood": {"chunk_ids": ["chunk-a"], "count": 1}}
        ),
        "kv_store_relation_chunks.json": as_json(
            {"Ed Wood<SEP>Tim Burton": {"chunk_ids": ["chunk-a"], "count": 1}}
        ),
    }


def msgraphrag() -> Files:
    units, director = ["u1", "u2"], ["TIM BURTON", "ED WOOD"]
    about = {
        "type": ["person", None],
        "description": ["A director.", ""],
        "text_unit_ids": [units, ["u1"]],
    }
    facts = {
        "source": director[:1],
        "target": director[1:],
        "description": ["directed"],
        "weight": [2.0],
    }
    tables = {
        "entities": {"title": director, **about},
        "relationships": {**facts, "text_unit_ids": [["u1"]]},
        "text_units": {"id": units, "text": [CORPUS[0].contents, CORPUS[1].contents]},
    }

    def write(folder: Path) -> None:
        for name, columns in tables.items():
            pq.write_table(pa.table(columns), folder / f"{name}.parquet")

    return written(write)


def graphml() -> Files:
    graph = KnowledgeGraph.build(EXTRACTION, CORPUS).to_networkx(passages=True)
    return written(lambda folder: nx.write_graphml(graph, folder / "graph.graphml"))


def triples(suffix: str) -> Files:
    columns = ("head", "relation", "tail", "passage_id", "strength", "confidence")
    rows = [
        {name: getattr(one, name) for name in columns}
        | {"head_type": "p", "tail_id": "e1"}
        for one in TRIPLES
    ]
    entity = {
        "id": "e1",
        "name": "Ed Wood",
        "type": "film",
        "description": "",
        "aliases": [{"surface": "EW"}],
    }

    def write(folder: Path) -> None:
        frame, file = pd.DataFrame(rows), folder / f"triples{suffix}"
        if suffix == ".parquet":
            frame.to_parquet(file, index=False)
        elif suffix == ".jsonl":
            file.write_bytes(as_lines(*rows))
        else:
            frame.to_csv(file, sep="\t" if suffix == ".tsv" else ",", index=False)

    return written(write) | {"entities.jsonl": as_lines(entity)}


@cache
def extractor() -> TriplesFile:
    return TriplesFile(
        rows=({"head": "a", "relation": "b", "tail": "c", "passage_id": "p 0"},)
    )


def saved_graph() -> Files:
    told = {"corpus_name": "tiny", "usage": {"calls": 1}}
    return written(
        lambda folder: write_graph(
            folder / "g", EXTRACTION, CORPUS, extractor(), **told
        )
    )


def parquet_graph() -> Files:
    return written(KnowledgeGraph.build(EXTRACTION, CORPUS).save)


SWEEP = b"""name = "tiny"
metrics = ["recall@5", "mrr@10"]
objective = "recall@5"
k = 20
graphs = ["mentions"]
encoder = "static:minilm"

[data]
name = "bundled"
limit = 5

[split]
dev = 0.25
seed = 1

[[systems.dense]]

[[systems.mention_ppr]]
damping = [0.2, 0.4, 0.6, 0.8]
max_mentions = [10, 20]
dense_seeds = 5
"""
LEDGER = b"""cite = "Somebody, Table 2"
metric = "recall, per cent"
scale = 100.0

[sets.musique]
name = "MuSiQue"
questions = 1000
passages = 11656

[[published]]
system = "BM25"
needs = "nothing"
values.musique = { "recall@2" = 32.3, "recall@5" = 41.2 }

[[published.ours]]
set = "musique"
data = "musique"
folder = "musique-100"
system = "bm25"
metrics = { "recall@2" = "recall@2" }
primary = true
sample = "other"
parameters = { k1 = 1.2, b = 0.75 }
as_published = "Sec. 4"
note = "fewer passages"
comparable = false
"""


def run() -> dict[str, list[tuple[str, float]]]:
    return {"q 1": [("p 0", 2.0), ("p 1", 1.0)], "q2": [("p 2", 0.5), ("p 1", 0.25)]}


def comparison() -> Files:
    systems = {
        "dense": Recorded(CORPUS, run()),
        "other": Recorded(CORPUS, run() | {"q2": [("p 1", 1.0)]}),
    }
    result = compare(systems, DATA, metrics=["recall@1", "mrr@10"])
    return written(result.save)


def sweep_results() -> Files:
    """The two files of a sweep that are read again."""
    rows = []
    for number in (1, 2):
        same = {
            "number": number,
            "system": "dense",
            "setting": "pooled",
            "graph": "mentions",
            "encoder": "e",
        }
        same |= {
            "parameters": f'{{"k": {number}}}',
            "error": None,
            "ms_per_query": 1.5,
            "type": "",
            "hops": None,
        }
        rows += [{**same, "query_id": "q1", "split": "dev", "recall@5": 0.5}]
        rows += [{**same, "query_id": "q2", "split": "test", "recall@5": 1.0}]
    found = written(
        lambda folder: SweepResult(
            pd.DataFrame(rows), "recall@5", {"name": "tiny"}
        ).save(folder)
    )
    return {name: data for name, data in found.items() if not name.startswith("report")}


def letters(texts: list[str]) -> list[list[float]]:
    """An encoder that is a user's function."""
    return [
        [1.0 + text.lower().count(letter) for letter in "etaoinshr"] for text in texts
    ]


def work(folder: Path) -> object:
    """Rankings, scores and answers, as users get them with a store in the folder."""
    store = Store(folder)
    kb = KnowledgeBase.build(CORPUS, embedder=letters, store=store)
    systems = {"bm25": BM25(kb), "dense": Dense(kb), "mention_ppr": MentionPPR(kb)}
    result = compare(systems, DATA, metrics=["recall@1", "mrr@10"])
    hits = {
        name: [(one.passage_ids, one.scores.tolist()) for one in run]
        for name, run in result.rankings.items()
    }
    answers = store.keyed_file("answers")
    prompts = [f"prompt {number}" for number in range(20)]
    replies = {prompt: f"reply to {prompt}".encode() for prompt in prompts}
    answers.keep(
        [
            (prompt, replies[prompt])
            for prompt in prompts
            if prompt not in answers.find(prompts)
        ]
    )
    found = answers.find(prompts)
    return hits, result.scores.to_csv(), [found.get(prompt) for prompt in prompts]


def store() -> Files:
    """The store that users have: vectors, an index, mentions, a graph, runs, and answers of a model."""
    return {
        name: data for name, data in written(work).items() if not name.endswith(".lock")
    }


def analyser() -> Files:
    numbers = np.full((2, len(FEATURES)), 0.25)
    model = LearnedAnalyser(
        np.full((2, len(SIDES)), 0.25), numbers, np.zeros(2), 1.0, frozenset(["ab"])
    )
    return written(lambda folder: model.save(folder / "weights.json"))


def signed(files: Files) -> Files:
    """The files of a graph or comparison with checksums that fit, so that what is in them is read."""
    for name in files:
        if name == "config.json":
            about = json.loads(files[name])
            del about[storage.CHECKSUM]
            about[storage.FILES] = {
                one: hashlib.sha256(files[one]).hexdigest()
                for one in about[storage.FILES]
            }
            files = files | {
                name: as_json(about | {storage.CHECKSUM: storage.checksum_of(about)})
            }
        if Path(name).name == "build.json":
            about = json.loads(files[name])
            sums = {
                one: hashlib.sha256(files[str(Path(name).parent / one)]).hexdigest()
                for one in about["files"]
            }
            files = files | {name: as_json(about | {"files": sums})}
    return files
