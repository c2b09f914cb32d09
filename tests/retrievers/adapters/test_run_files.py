"""Files of rankings as other tools write them, and what is no run."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from kg2rag import Query, Recorded, compare, from_frames
from kg2rag.types import QADataset

HITS = {"q1": {"b": 9.5, "a": 2.0}, "q2": {"a": -1.0, "b": -2.5}}
"""The second query's scores are negative; the order of both is that of the scores."""
ROWS = [
    {"qid": query, "docno": passage, "score": score}
    for query, hits in HITS.items()
    for passage, score in hits.items()
]


@pytest.fixture
def data() -> QADataset:
    passages = [
        {"id": "a", "text": "Ada wrote notes."},
        {"id": "b", "text": "An engine."},
    ]
    questions = [{"id": "q1", "question": "What?", "gold": "b"}]
    questions += [{"id": "q2", "question": "Who?", "gold": "b"}]
    return from_frames(passages, questions)


def lines(template: str, separator: str = "\n") -> bytes:
    ranks = {"b": {"q1": 1, "q2": 2}, "a": {"q1": 2, "q2": 1}}
    filled = [
        template.format(**row, rank=ranks[row["docno"]][row["qid"]]) for row in ROWS
    ]
    return separator.join([*filled, ""]).encode()


def query_records() -> list[dict[str, object]]:
    return [
        {
            "query_id": query,
            "query": "text",
            "hits": [{"docid": p, "score": s} for p, s in hits.items()],
        }
        for query, hits in HITS.items()
    ]


FILES = {
    "msmarco.tsv": lines("{qid}\t{docno}\t{rank}"),
    "tabs.txt": lines("{qid}\tQ0\t{docno}\t{rank}\t{score}\tAnserini"),
    "colbert.tsv": lines("{qid}\t{docno}\t{rank}\t{score}"),
    "retrieved.jsonl": "\n".join(
        json.dumps({"query_id": query, "answer": "text", "retrieved": list(hits)})
        for query, hits in HITS.items()
    ).encode(),
    "table.csv": b"query_id,doc_id,score\n" + lines("{qid},{docno},{score}"),
    "capitals.csv": b"QID,DocNo,Score\n" + lines("{qid},{docno},{score}"),
    "blanks.csv": b"qid, docno, score\n" + lines("{qid}, {docno}, {score}"),
    "table.tsv": b"qid\tdocno\trank\n" + lines("{qid}\t{docno}\t{rank}"),
    "beir.json": json.dumps(HITS, indent=1).encode(),
    "ids.json": json.dumps(
        {query: list(hits) for query, hits in HITS.items()}
    ).encode(),
    "hits.json": json.dumps(ROWS).encode(),
    "hits.jsonl": "\n".join(map(json.dumps, ROWS)).encode(),
    "queries.jsonl": "\n".join(map(json.dumps, query_records())).encode(),
    "rankllm.jsonl": "\n".join(
        json.dumps(
            {
                "query": {"text": "text", "qid": r["query_id"]},
                "candidates": [{**hit, "doc": {"contents": "x"}} for hit in r["hits"]],
            }
        )
        for r in query_records()
    ).encode(),
    "topics.json": json.dumps(
        [
            {"topic": {"id": r["query_id"], "title": "text"}, "results": r["hits"]}
            for r in query_records()
        ]
    ).encode(),
    "objects.json": json.dumps(
        {r["query_id"]: r["hits"] for r in query_records()}
    ).encode(),
    "dpr.json": json.dumps(
        {
            r["query_id"]: {"question": "text", "contexts": r["hits"]}
            for r in query_records()
        }
    ).encode(),
    "elasticsearch.json": json.dumps(
        {
            query: {
                "took": 3,
                "hits": {"hits": [{"_id": p, "_score": s} for p, s in hits.items()]},
            }
            for query, hits in HITS.items()
        }
    ).encode(),
    "qdrant.jsonl": "\n".join(
        json.dumps(
            {
                "query_id": query,
                "response": {
                    "result": {"points": [{"id": p, "score": s} for p, s in of.items()]}
                },
            }
        )
        for query, of in HITS.items()
    ).encode(),
    "vespa.json": json.dumps(
        {
            query: {
                "root": {
                    "children": [{"id": p, "relevance": s} for p, s in of.items()],
                    "coverage": {"full": True, "nodes": 1},
                }
            }
            for query, of in HITS.items()
        }
    ).encode(),
    "mteb.json": json.dumps(
        {"mteb_model_meta": {"revision": "1"}, "default": {"test": HITS}}
    ).encode(),
    "beir.json.gz": gzip.compress(json.dumps(HITS).encode()),
    "beir.run": json.dumps(HITS).encode(),
}


@pytest.mark.parametrize("name", FILES)
def test_a_run_in_the_format_of_another_tool_has_its_order(
    tmp_path: Path, data: QADataset, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    run = Recorded.of(path, data.corpus)
    rankings = run.retrieve_batch([Query("q1", ""), Query("q2", "")], 5)
    assert [list(ranking.passage_ids) for ranking in rankings] == [
        ["b", "a"],
        ["a", "b"],
    ]


def test_a_mapping_may_have_records_of_hits(data: QADataset) -> None:
    hits = {
        query: [{"corpus_id": passage, "score": score} for passage, score in of.items()]
        for query, of in HITS.items()
    }
    rankings = Recorded.of(hits, data.corpus).retrieve_batch([Query("q1", "")], 5)
    assert rankings[0].passage_ids == ["b", "a"]


def test_the_path_of_a_run_stands_beside_other_systems(
    tmp_path: Path, data: QADataset
) -> None:
    path = tmp_path / "table.csv"
    pd.DataFrame(ROWS).to_csv(path, index=False)
    scores = compare({"theirs": path}, data, metrics=["mrr@10"]).to_frame()["mrr@10"]
    # the gold b is first for q1 and second for q2
    assert scores["theirs"] == pytest.approx((1 + 1 / 2) / 2)


def test_a_query_id_with_brackets_is_no_json(tmp_path: Path, data: QADataset) -> None:
    path = tmp_path / "run.trec"
    path.write_text("[1] Q0 b 1 0.5 s\n")
    ranking = Recorded.of(path, data.corpus).retrieve(Query("[1]", ""), 5)
    assert list(ranking.passage_ids) == ["b"]


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("run.tsv", "q1\tb\t1\nq1\ta\n", "line 2"),
        ("run.tsv", "q1\tb\tfirst\n", "line 1"),
        # whole numbers that fall are scores
        ("run.tsv", "q1\tb\t12\nq1\ta\t7\n", "line 1"),
        ("run.json", "{}", "run.json"),
        ("run.json", '{"q1": 3}', "run.json"),
        ("run.json", '[["q1", "b", 1]]', "record 1"),
        ("run.csv", "qid,score\nq1,1\n", "passage_id"),
        ("run.csv", "qid,docno\nq1,b\n", "score"),
        ("run.lz4", "no run", "run.lz4"),
    ],
)
def test_what_is_no_run_is_refused_with_its_place(
    tmp_path: Path, data: QADataset, name: str, content: str, fault: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ValueError, match=fault):
        Recorded.of(path, data.corpus)


def test_a_folder_of_parts_is_one_run(tmp_path: Path, data: QADataset) -> None:
    folder = tmp_path / "run.parquet"
    folder.mkdir()
    for number, row in enumerate(reversed(ROWS)):
        pd.DataFrame([row]).to_parquet(folder / f"part-0000{number}.snappy.parquet")
    (folder / "_SUCCESS").touch()
    (folder / ".part-00000.crc").write_bytes(b"crc")
    rankings = Recorded.of(folder, data.corpus).retrieve_batch(
        [Query("q1", ""), Query("q2", "")], 5
    )
    assert [list(ranking.passage_ids) for ranking in rankings] == [
        ["b", "a"],
        ["a", "b"],
    ]


FRAME = pd.DataFrame(ROWS)
SHAPES = {
    "series of lists": FRAME.groupby("qid")["docno"].apply(list),
    "series of scores": FRAME.set_index(["qid", "docno"])["score"],
    "lists": FRAME.groupby("qid", as_index=False)["docno"].agg(list),
    "lists of scores": FRAME.groupby("qid").agg(list),
    "polars": pl.from_pandas(FRAME).group_by("qid", maintain_order=True).agg("docno"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_frame_has_a_query_a_row_or_in_its_index(data: QADataset, shape: str) -> None:
    scores = compare({"theirs": SHAPES[shape]}, data, metrics=["mrr@10"]).to_frame()
    # the gold b is first for q1 and second for q2
    assert scores["mrr@10"]["theirs"] == pytest.approx((1 + 1 / 2) / 2)


@pytest.mark.parametrize(
    "record",
    [
        {"query_id": "q1", "passage_id": "b", "score": 2.0},
        {"query_id": "q1", "hits": [{"docid": "b", "score": 2.0}]},
        {"query": {"qid": "q1"}, "candidates": [{"docid": "b", "score": 2.0}]},
        {"question": "What?", "retrieved": ["b"]},
    ],
)
def test_a_file_of_one_record_is_a_run_of_one_query(
    tmp_path: Path, data: QADataset, record: dict[str, object]
) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text(json.dumps(record) + "\n")
    texts = {question.id: question.text for question in data.questions}
    run = Recorded.of(file, data.corpus, queries=texts)
    assert [passage for passage, _ in run.run["q1"]] == ["b"]
    assert run.empty == {"q2"}


def test_a_query_may_be_called_query(data: QADataset) -> None:
    run = Recorded.of({"query": {"b": 2, "a": 1}, "topic": {"a": 1}}, data.corpus)
    assert run.run == {"query": [("b", 2.0), ("a", 1.0)], "topic": [("a", 1.0)]}


def test_a_frame_whose_columns_have_no_names_is_refused(data: QADataset) -> None:
    with pytest.raises(ValueError, match="query_id"):
        Recorded.of(pd.DataFrame([["q1", "b", 2.0]]), data.corpus)


def test_several_runs_of_one_file_are_refused_by_name(
    tmp_path: Path, data: QADataset
) -> None:
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps({"default": {"dev": HITS, "test": HITS}}))
    with pytest.raises(ValueError, match="default/dev, default/test"):
        Recorded.of(path, data.corpus)


@pytest.mark.parametrize(
    "content",
    [
        [
            {
                "question": text,
                "answers": ["?"],
                "ctxs": [{"id": passage, "text": "…", "score": "7.5"}],
            }
            for text, passage in (("What?", "b"), ("Who?", "a"))
        ],
        {"What?": ["b"], "Who?": ["a"], "When?": ["a"]},
    ],
    ids=["answers of DPR", "ids by text"],
)
def test_a_run_may_name_questions_by_their_texts(
    content: object, data: QADataset, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(content))
    table = compare({"run": path}, data, metrics=["recall@1"]).per_query
    assert table["recall@1"].tolist() == [1.0, 0.0]


def test_ids_of_the_corpus_are_found_beside_those_of_a_search_engine(
    data: QADataset, tmp_path: Path
) -> None:
    hits = [
        {"_id": "Xk3pT4oB", "_score": 2.0, "_source": {"id": "b", "text": "…"}},
        {"_id": "R0zzPwLm", "_score": 1.0, "_source": {"id": "a", "text": "…"}},
    ]
    path = tmp_path / "answers.jsonl"
    answers = [{"query_id": query, "hits": {"hits": hits}} for query in ("q1", "q2")]
    path.write_text("\n".join(map(json.dumps, answers)))
    expected = [("b", 2.0), ("a", 1.0)]
    assert Recorded.of(path, data.corpus).run == {"q1": expected, "q2": expected}


def test_a_question_without_gold_needs_no_line_in_a_run() -> None:
    questions = [
        {"id": "q1", "question": "What?", "gold": "b"},
        {"id": "q2", "question": "Which?"},
    ]
    corpus = [{"id": "a", "text": "notes"}, {"id": "b", "text": "engine"}]
    result = compare({"run": {"q1": ["b"]}}, from_frames(corpus, questions))
    assert result.to_frame()["recall@5"].tolist() == [1.0]


def test_lists_of_hits_may_have_any_name_but_that_of_gold(data: QADataset) -> None:
    frame = pd.DataFrame(
        {
            "query": ["What?", "Who?"],
            "expected_ids": [["b"], ["b"]],
            "retrieved_ids": [["a", "b"], ["b", "a"]],
        }
    )
    table = compare({"run": frame}, data, metrics=["mrr@10"]).per_query
    assert table["mrr@10"].tolist() == [0.5, 1.0]


def test_documents_of_langchain_without_scores_are_best_first(data: QADataset) -> None:
    documents = [
        {"id": None, "metadata": {"id": id_}, "page_content": "…"} for id_ in "ba"
    ]
    records = [{"query": "What?", "source_documents": documents}]
    texts = {"q1": "What?"}
    run = Recorded.of(records, data.corpus, queries=texts)
    assert run.retrieve(Query("q1", ""), 5).passage_ids == ["b", "a"]


def test_a_hit_may_be_the_address_of_its_document() -> None:
    pages = [
        {"source": f"https://example.org/{name}.html", "text": name}
        for name in ("ada", "engine")
    ]
    corpus = from_frames(pages, [{"question": "ada"}]).corpus
    run = Recorded.of({"q1": ["https://example.org/engine.html"]}, corpus)
    assert run.run == {"q1": [("1", 1.0)]}


def test_hits_may_be_the_texts_of_passages(tmp_path: Path) -> None:
    corpus = [
        {"id": "a", "title": "Ada", "text": "She wrote notes."},
        {"id": "b", "title": "Engines", "text": "They have wheels."},
    ]
    data = from_frames(corpus, [{"question": "Which wheels?", "gold": "b"}])
    hits = ["Ada\nShe wrote notes.", "They have wheels."]
    solution = {
        "question": "Which wheels?",
        "docs": hits,
        "doc_scores": [0.9, 0.4],
        "gold_docs": hits[1:],
    }
    path = tmp_path / "solutions.json"
    path.write_text(json.dumps([solution]))
    table = compare({"run": path}, data, metrics=["mrr@10"]).per_query
    assert table["mrr@10"].tolist() == [0.5]


def test_lists_printed_in_a_table_are_hits(data: QADataset, tmp_path: Path) -> None:
    texts = [["An engine.", "Ada wrote notes."], ["Ada wrote notes."]]
    frame = pd.DataFrame({"user_input": ["What?", "Who?"], "retrieved_contexts": texts})
    frame.to_csv(tmp_path / "result.csv", index=False)
    result = compare({"run": tmp_path / "result.csv"}, data, metrics=["recall@1"])
    assert result.per_query["recall@1"].tolist() == [1.0, 0.0]


def test_hits_of_a_table_may_be_files(tmp_path: Path) -> None:
    corpus = {"a.md": "Ada wrote notes.", "b.md": "An engine."}
    data = from_frames(corpus, [{"question": "What?", "gold": "b.md"}])
    path = tmp_path / "run.csv"
    path.write_text(",question,document,rank\n0,What?,a.md,0\n1,What?,b.md,1\n")
    table = compare({"run": path}, data, metrics=["mrr@10"]).per_query
    assert table["mrr@10"].tolist() == [0.5]


def test_lists_of_gold_in_the_record_of_a_query_are_no_hits(
    data: QADataset, tmp_path: Path
) -> None:
    record = {
        "query": "What?",
        "gold_list": [{"text": "An engine."}],
        "retrieval_ground_truth": [{"document_id": "b"}],
        "retrieval_list": [
            {"text": "Ada wrote notes.", "score": 0.9},
            {"text": "An engine.", "score": 0.7},
        ],
    }
    path = tmp_path / "run.json"
    path.write_text(json.dumps([record]))
    table = compare({"run": path}, data, metrics=["mrr@10"]).per_query
    assert table["mrr@10"].tolist() == [0.5, 0.0]


def test_hits_of_lightrag_are_its_chunks(data: QADataset) -> None:
    answer = {
        "entities": [{"entity_name": "Ada", "source_id": "a"}],
        "chunks": [{"chunk_id": id_, "content": "…"} for id_ in "ba"],
    }
    records = [{"query_id": "q1", "status": "success", "data": answer}]
    assert Recorded.of(records, data.corpus).run == {"q1": [("b", 1.0), ("a", 0.5)]}
