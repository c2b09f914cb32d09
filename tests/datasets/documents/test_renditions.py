"""Files of one name in one folder: nearly equal words are read once, similar ones are said."""

from __future__ import annotations

import json

WORDS = "Halina leaves at noon. Lund collects the fares on board every day."
CUES = (
    "1\n00:00:00,000 --> 00:00:04,000\nHalina leaves at noon.\n\n"
    "2\n00:00:04,000 --> 00:00:09,000\nLund collects the fares on board every day.\n"
)


def status_of(documents):
    return dict(
        zip(documents.report["document"], documents.report["status"], strict=True)
    )


def test_a_transcript_in_five_formats_is_read_once(read):
    documents = read(
        {
            "talk.txt": WORDS,
            "talk.srt": CUES,
            "talk.vtt": "WEBVTT\n\n" + CUES.replace(",000", ".000"),
            "talk.tsv": "start\tend\ttext\n0\t4000\tHalina leaves at noon.\n"
            "4000\t9000\tLund collects the fares on board every day.\n",
            "talk.json": json.dumps({"text": WORDS, "segments": [], "language": "en"}),
            "other.txt": WORDS + " A second harbour.",
        }
    )
    read_files = [
        name for name, status in status_of(documents).items() if status == "read"
    ]
    assert read_files == ["other.txt", "talk.srt"]
    remarks = documents.report.set_index("document")["remark"]
    assert "talk.srt" in remarks["talk.json"]
    assert list(documents.source["notes"].values()) == [4]


def test_a_page_beside_its_source_is_read_once(read):
    files = {
        "docs/a.md": f"# Ferries\n\n{WORDS}",
        "docs/a.html": f"<h1>Ferries</h1><p>{WORDS}</p>",
        "b.html": f"<h1>Pier</h1><p>{WORDS}</p>",
    }
    assert status_of(read(files)) == {
        "b.html": "read",
        "docs/a.html": "skipped",
        "docs/a.md": "read",
    }


def test_similar_files_of_one_name_are_read_and_said(read):
    files = {"a.md": WORDS, "a.txt": f"{WORDS} Tickets cost nine euros."}
    documents = read(files)
    assert status_of(documents) == {"a.md": "read", "a.txt": "read"}
    # 12 of 16 words.
    assert documents.report.set_index("document")["remark"]["a.txt"] == (
        "75% of the words are those of a.md"
    )


def test_different_files_of_one_name_are_read_without_a_remark(read):
    documents = read({"a.md": WORDS, "a.txt": "Tickets cost nine euros."})
    assert status_of(documents) == {"a.md": "read", "a.txt": "read"}
    assert set(documents.report["remark"]) == {""}
