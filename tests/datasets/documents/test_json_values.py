"""Values in JSON and tables: lines in a file `.json`, Markdown, HTML, vectors and files in base64."""

from __future__ import annotations

import json

import pandas as pd

LONG = "QUJD" * 60


def passages_of(documents):
    return {passage.id: (passage.title, passage.text) for passage in documents.corpus}


def test_lines_of_objects_in_a_file_of_json_are_records(read):
    lines = [
        {"_id": {"$oid": "65a1"}, "title": "Kiln", "content": "It cracked."},
        {"_id": {"$oid": "65a2"}, "title": "Glaze", "content": "Ash runs."},
    ]
    documents = read({"posts.json": "\n".join(map(json.dumps, lines))})
    assert passages_of(documents) == {
        "posts.json#65a1": ("Kiln", "It cracked."),
        "posts.json#65a2": ("Glaze", "Ash runs."),
    }


def test_markdown_in_a_record_is_read_as_such_and_its_unshown_words_are_left_out(read):
    text = "# Tides\n\nAt [Ribe](https://x.example/a) at noon.\n\n<!-- ad slot -->\n"
    pages = [
        {"markdown": text, "metadata": {"title": "Tides | Coast"}},
        {"markdown": "# not a heading\nBoots: # 7", "metadata": {"title": "Boots"}},
    ]
    documents = read({"crawl.jsonl": "\n".join(map(json.dumps, pages))})
    assert passages_of(documents) == {
        "crawl.jsonl#0": ("Tides | Coast", "Tides\nAt Ribe at noon."),
        "crawl.jsonl#1": ("Boots", "# not a heading\nBoots: # 7"),
    }
    assert documents.report.loc[0, "lost"] == 0


def test_html_vectors_and_files_in_base64_among_values_are_no_words(read):
    entry = {
        "text_of_note": "<div><p>Sprained <b>ankle</b> on the left side.</p></div>",
        "scan": LONG,
        "scores": [1, 2],
    }
    documents = read({"bundle.json": json.dumps({"entry": entry})})
    [passage] = documents.corpus
    assert "entry text_of_note: Sprained ankle on the left side." in passage.text
    assert "QUJD" not in passage.text
    assert "scores: 2" in passage.text
    assert documents.report.loc[0, "lost"] == 0


def test_a_column_of_vectors_is_named_in_the_remark(read, tmp_path):
    frame = pd.DataFrame({"advice": ["Oil the hinge."], "emb": [[0.5] * 64]})
    frame.to_parquet(tmp_path / "a.parquet")
    documents = read({"a.parquet": (tmp_path / "a.parquet").read_bytes()})
    [passage] = documents.corpus
    assert passage.text == "advice: Oil the hinge."
    assert "emb" in documents.report.loc[0, "remark"]


def test_the_places_of_a_word_are_all_read(read):
    abstract = {"the": [0, 3], "sea": [1], "feeds": [2], "marsh": [4]}
    work = {"title": "Tidal flats", "abstract_inverted_index": abstract}
    documents = read({"works.json": json.dumps([work, {"title": "Dunes"}])})
    assert "the sea feeds the marsh" in documents.corpus[0].text
