"""Frames of pandas, polars and pyarrow, and documents of LangChain and LlamaIndex, give the same corpus."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from datasets import Dataset, DatasetDict
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import TextNode

from kg2rag.types import corpus_of

COLUMNS = {
    "id": ["a", "b"],
    "text": ["Ada wrote notes.", "Bob bakes."],
    "year": [1843, None],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_a_frame_of_any_library_is_read(make):
    corpus = corpus_of(make(COLUMNS))
    assert [
        (passage.id, passage.text, dict(passage.metadata)) for passage in corpus
    ] == [
        ("a", "Ada wrote notes.", {"year": 1843}),
        ("b", "Bob bakes.", {}),
    ]


def test_an_index_that_repeats_is_an_error_that_names_the_index():
    frame = pd.DataFrame({"text": [["one of A", "two of A"], ["one of B"]]}).explode(
        "text"
    )
    with pytest.raises(ValueError, match="index"):
        corpus_of(frame)
    assert corpus_of(frame.reset_index(drop=True)).ids == ["0", "1", "2"]


def test_documents_of_langchain_and_llamaindex_keep_their_metadata():
    chain = [
        LangChainDocument(
            page_content="Ada wrote.", metadata={"source": "a.md"}, id="x"
        )
    ]
    index = [TextNode(text="Ada wrote.", metadata={"source": "a.md"}, id_="x")]
    for documents in (chain, index):
        [passage] = corpus_of(documents)
        assert (passage.id, passage.text, dict(passage.metadata)) == (
            "x",
            "Ada wrote.",
            {"source": "a.md"},
        )
    assert corpus_of(chain).doc_ids == ["a.md"]
    assert corpus_of([LangChainDocument(page_content="Ada wrote.")]).ids == ["0"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.Table.from_pylist])
def test_a_frame_of_questions_and_answers_is_a_faq(make):
    rows = [
        {"Frage": "Wann?", "Antwort": "Um zwölf.", "topic": "ships"},
        {"Frage": "Wer?", "Antwort": None, "topic": None},
    ]
    passages = list(corpus_of(make(rows)))
    assert [(passage.title, passage.text) for passage in passages] == [
        ("Wann?", "Um zwölf."),
        ("", "Wer?"),
    ]
    assert dict(passages[0].metadata) == {"topic": "ships"}


@pytest.mark.parametrize("column", ["gold", "contexts"])
def test_a_frame_of_test_questions_is_no_faq(column):
    rows = [{"question": "When?", "answer": "At noon.", column: ["p1"]}]
    with pytest.raises(ValueError, match=column):
        corpus_of(rows)


@pytest.mark.parametrize(
    "make",
    [
        Dataset.from_dict,
        lambda columns: Dataset.from_dict(columns).with_format("pandas"),
        lambda columns: DatasetDict({"train": Dataset.from_dict(columns)}),
        pa.RecordBatch.from_pydict,
        lambda columns: pd.DataFrame(columns).astype({"id": "category"}),
        lambda columns: pd.DataFrame(columns).convert_dtypes(),
        lambda columns: pd.DataFrame(columns).rename(
            columns={"id": "ID", "text": "Text"}
        ),
        lambda columns: pl.DataFrame(columns).with_columns(
            pl.col("id").cast(pl.Categorical)
        ),
        lambda columns: (row for row in pd.DataFrame(columns).to_dict("records")),
    ],
)
def test_tables_of_datasets_record_batches_and_columns_of_any_type_are_read(make):
    corpus = corpus_of(make(COLUMNS))
    assert [
        (passage.id, passage.text, dict(passage.metadata)) for passage in corpus
    ] == [
        ("a", "Ada wrote notes.", {"year": 1843}),
        ("b", "Bob bakes.", {}),
    ]


def test_several_splits_are_refused_by_their_names():
    split = Dataset.from_dict({"text": ["Ada wrote."]})
    with pytest.raises(ValueError, match="train, test"):
        corpus_of(DatasetDict({"train": split, "test": split}))


def test_the_index_of_a_selection_and_of_a_series_is_the_id():
    frame = pd.DataFrame({"text": ["Ada wrote.", "Bob bakes.", "Cy sails."]})
    assert corpus_of(frame.iloc[1:]).ids == ["1", "2"]
    assert corpus_of(frame[frame["text"] != "Bob bakes."]).ids == ["0", "2"]
    assert corpus_of(pd.Series(["Ada wrote.", "Bob bakes."], index=["a", "b"])).ids == [
        "a",
        "b",
    ]
    levels = pd.MultiIndex.from_tuples([("a", 1), ("b", 2), ("c", 3)])
    assert corpus_of(frame.set_index(levels)).ids == ["a/1", "b/2", "c/3"]


def test_named_levels_of_an_index_are_fields_and_the_id():
    frame = pd.DataFrame({"text": ["One.", "Two."]})
    frame.index = pd.MultiIndex.from_tuples(
        [("a", 0), ("a", 1)], names=["doc_id", "chunk"]
    )
    first = corpus_of(frame)[0]
    assert (first.id, first.doc_id, first.metadata) == ("a/0", "a", {"chunk": 0})
    by_title = corpus_of(frame.assign(title=["A", "B"]).groupby("title")["text"].sum())
    assert by_title.titles == ["A", "B"]


def test_levels_of_column_names_are_joined():
    columns = pd.MultiIndex.from_tuples([("id", ""), ("text", ""), ("meta", "lang")])
    corpus = corpus_of(pd.DataFrame([["a", "Ada wrote.", "en"]], columns=columns))
    assert (corpus[0].id, corpus[0].text) == ("a", "Ada wrote.")
    assert corpus[0].metadata == {"meta lang": "en"}


def test_columns_may_have_the_names_of_other_languages():
    corpus = corpus_of([{"titre": "Ferry", "texte": "Il part à midi.", "langue": "fr"}])
    assert (corpus[0].title, corpus[0].text) == ("Ferry", "Il part à midi.")
    corpus = corpus_of([{"标题": "渡轮", "内容": "渡轮中午开航。"}])
    assert (corpus[0].title, corpus[0].text) == ("渡轮", "渡轮中午开航。")


def test_nullable_ids_are_whole_numbers_and_a_missing_one_is_named():
    assert corpus_of(
        pd.DataFrame({"id": pd.array([1, 2], dtype="Int64"), "text": ["x", "y"]})
    ).ids == ["1", "2"]
    with pytest.raises(ValueError, match="record 2"):
        corpus_of(
            pd.DataFrame({"id": pd.array([1, None], dtype="Int64"), "text": ["x", "y"]})
        )


def test_an_array_of_texts_is_a_list_of_them():
    for texts in (
        pa.array(["x", "y"]),
        pa.chunked_array([["x"], ["y"]]),
        pd.Series(["x", "y"]),
    ):
        assert [passage.text for passage in corpus_of(texts)] == ["x", "y"]


def test_an_abstract_is_the_text_where_there_is_no_other():
    zotero = pd.DataFrame(
        {
            "Key": ["K1"],
            "Title": ["Ferries"],
            "Abstract Note": ["A ferry."],
            "File": ["a.pdf"],
        }
    )
    assert [(passage.title, passage.text) for passage in corpus_of(zotero)] == [
        ("Ferries", "A ferry.")
    ]
    [passage] = corpus_of(
        [{"id": "W1", "display_name": "Ferries", "abstract": "A ferry."}]
    )
    assert (passage.title, passage.text) == ("Ferries", "A ferry.")
    [passage] = corpus_of(
        [{"id": 1, "text": "The whole text.", "abstract": "A summary."}]
    )
    assert (passage.text, dict(passage.metadata)) == (
        "The whole text.",
        {"abstract": "A summary."},
    )


@pytest.mark.parametrize("id_", [("a", 1), np.array([1, 2]), np.bool_(True)])
def test_an_id_that_is_a_collection_or_a_truth_value_is_named(id_):
    with pytest.raises(ValueError, match="record 1: its id is"):
        corpus_of([{"id": id_, "text": "Ada wrote."}])


@pytest.mark.parametrize(
    "column", ["pid", "docno", "corpus-id", "passageId", "Chunk ID", "_id"]
)
def test_the_column_of_ids_has_the_names_of_runs_in_any_spelling(column):
    corpus = corpus_of(pd.DataFrame({column: [7, 0], "text": ["Ada.", "Bob."]}))
    assert corpus.ids == ["7", "0"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_distinct_documents_are_the_ids_of_passages_without_ids(make):
    texts = ["Ada.", "Bob.", "Cy."]
    corpus = corpus_of(make({"doc_id": [5, 3, 0], "text": texts}))
    assert corpus.ids == corpus.doc_ids == ["5", "3", "0"]
    corpus = corpus_of(make({"doc_id": [5, 5, 0], "text": texts}))
    assert (corpus.ids, corpus.doc_ids) == (["0", "1", "2"], ["5", "5", "0"])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_warning_names_a_column_that_may_be_the_id(make):
    frame = make({"text": ["Ada.", "Bob."], "sku_id": [1, 0]})
    with pytest.warns(UserWarning, match="sku_id"):
        assert corpus_of(frame).ids == ["0", "1"]


@pytest.mark.parametrize("values", [["a", "a"], [True, False], [0.5, 1.5], [1, None]])
def test_a_column_without_distinct_ids_is_metadata(values):
    frame = pd.DataFrame({"text": ["Ada.", "Bob."], "sku_id": values})
    assert corpus_of(frame).ids == ["0", "1"]
    named = pd.DataFrame(
        {"text": ["Ada."], "tag": [1]}, index=pd.Index([4], name="sku_id")
    )
    assert corpus_of(named).ids == ["4"]
