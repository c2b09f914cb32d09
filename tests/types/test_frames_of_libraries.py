"""Frames of pandas, polars and pyarrow, and documents of LangChain and LlamaIndex, give the same corpus."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from langchain_core.documents import Document as LangChainDocument
from llama_index.core.schema import TextNode

from kg2rag.types import corpus_of

COLUMNS = {"id": ["a", "b"], "text": ["Ada wrote notes.", "Bob bakes."], "year": [1843, None]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_a_frame_of_any_library_is_read(make):
    corpus = corpus_of(make(COLUMNS))
    assert [(passage.id, passage.text, dict(passage.metadata)) for passage in corpus] == [
        ("a", "Ada wrote notes.", {"year": 1843}),
        ("b", "Bob bakes.", {}),
    ]


def test_an_index_that_repeats_is_an_error_that_names_the_index():
    frame = pd.DataFrame({"text": [["one of A", "two of A"], ["one of B"]]}).explode("text")
    with pytest.raises(ValueError, match="index"):
        corpus_of(frame)
    assert corpus_of(frame.reset_index(drop=True)).ids == ["0", "1", "2"]


def test_documents_of_langchain_and_llamaindex_keep_their_metadata():
    chain = [LangChainDocument(page_content="Ada wrote.", metadata={"source": "a.md"}, id="x")]
    index = [TextNode(text="Ada wrote.", metadata={"source": "a.md"}, id_="x")]
    for documents in (chain, index):
        [passage] = corpus_of(documents)
        assert (passage.id, passage.text, dict(passage.metadata)) == ("x", "Ada wrote.", {"source": "a.md"})
    assert corpus_of([LangChainDocument(page_content="Ada wrote.")]).ids == ["0"]
