"""Documents of every kind, small ones written here."""

from __future__ import annotations

import json
import zipfile

import pandas as pd
import pytest

import kg2rag
from kg2rag.compute import Store
from kg2rag.datasets import Documents, from_folder, from_frame, from_texts
from kg2rag.datasets.documents.collection import WIDE
from kg2rag.datasets.documents.pdf.reader import pdf_blocks
from kg2rag.datasets.documents.readers import READERS
from kg2rag.extraction.mentions.finding import find_mentions

GUIDE = """---
title: "Travel guide"
---
# Travel guide

Anna Schmidt signs travel requests. See [the form](https://example.org/README.md) ![a picture](Output.png).

## Per diem

| city | euros |
|---|---|
| Bern | 90 |

```python
print("Output of a cell")
```

More at https://example.org/rates or www.example.org.

### Abroad

Ask Anna Schmidt <b>first</b>.
"""
PAGE = """<html><head><title>Rates - Handbook</title><style>p {}</style></head><body><nav>Home</nav>
<main><h1>Rates<a class="headerlink" href="#x">¶</a></h1><p>Bern costs <code>90</code> euros.<p>Unclosed, second.
<ul><li>one<li>two</ul><pre>code here</pre></main><footer>Imprint</footer></body></html>"""
DOCX = """<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>
<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Leave</w:t></w:r></w:p>
<w:p><w:r><w:t>Thirty days a year.</w:t></w:r></w:p></w:body></w:document>"""


def pdf_of(
    lines: list[str | tuple[str, int, int]], bookmarks: tuple[str, ...] = ()
) -> bytes:
    """A one-page PDF in Helvetica of 12 points; or of as many as a line says, and 2 for bold."""
    n = len(bookmarks)
    entries = [
        f"<</Title({title})/Parent 7 0 R/Dest[3 0 R/Fit]"
        + (f"/Next {8 + place} 0 R>>" if place < n else ">>")
        for place, title in enumerate(bookmarks, start=1)
    ]
    styled = [(line, 12, 1) if isinstance(line, str) else line for line in lines]
    text = " T* ".join(f"/F{font} {size} Tf ({line}) Tj" for line, size, font in styled)
    stream = f"BT 24 TL 72 720 Td {text} ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R/Outlines 7 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R/F2 6 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        *(
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica%s>>" % style
            for style in (b"", b"-Bold")
        ),
        b"<</Count %d/First 8 0 R/Last %d 0 R>>" % (n, 7 + n) if n else b"<<>>",
        *map(str.encode, entries),
    ]
    body = b"%PDF-1.4\n" + b"".join(
        b"%d 0 obj%s\nendobj\n" % (at, one) for at, one in enumerate(objects, start=1)
    )
    return body + b"trailer<</Root 1 0 R>>\n%%EOF"


@pytest.fixture
def wiki(tmp_path):
    """A folder with a file of every kind."""
    root = tmp_path / "wiki"
    (root / "policies" / ".git").mkdir(parents=True)
    (root / "policies" / "travel.md").write_text(GUIDE)
    (root / "policies" / "README.md").write_text(
        "Who signs what, and when it is due.\n"
    )
    (root / "policies" / ".git" / "hidden.md").write_text("Nobody reads this.")
    (root / "rates.html").write_text(PAGE)
    (root / "office_hours.txt").write_bytes(
        "Nine to five.\n\nClosed on Sunday, says Zoë.".encode("cp1252")
    )
    (root / "same.txt").write_bytes((root / "office_hours.txt").read_bytes())
    (root / "lunch.jsonl").write_text(
        '{"id": 3, "title": "Lunch", "text": "At noon.", "lang": "en"}\n'
    )
    (root / "dinner.csv").write_text("text,lang\nAt seven.,de\n")
    with zipfile.ZipFile(root / "leave.docx", "w") as file:
        types = "http://schemas.openxmlformats.org/package/2006/content-types"
        file.writestr("[Content_Types].xml", f"<Types xmlns='{types}'/>")
        file.writestr("word/document.xml", DOCX)
    (root / "scan.pdf").write_bytes(
        pdf_of(["Anna Schmidt reads the full-", "page scans that people send.", "Bye."])
    )
    (root / "empty.pdf").write_bytes(pdf_of([]))
    (root / "broken.docx").write_bytes(b"no zip")
    (root / "logo.png").write_bytes(b"\x89PNG")
    return root


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_every_kind_of_file_is_read_and_what_is_not_says_why(wiki, store):
    data = from_folder(wiki, store=store)
    assert isinstance(data, Documents)
    texts = {p.doc_id: p for p in data.corpus}
    assert texts["policies/README.md"].title == "policies"
    assert texts["office_hours.txt"].title == "office hours"
    assert "Zoë" in texts["office_hours.txt"].text
    assert (texts["leave.docx"].title, texts["leave.docx"].text) == (
        "Leave",
        "Thirty days a year.",
    )
    assert texts["rates.html"].title == "Rates"
    assert (
        texts["rates.html"].text
        == "Bern costs 90 euros.\n\nUnclosed, second.\n\none\n\ntwo\n\ncode here"
    )
    assert texts["lunch.jsonl#3"].metadata == {"file": "lunch.jsonl", "lang": "en"}
    assert texts["dinner.csv#0"].text == "At seven."
    assert "Anna Schmidt reads the full" in texts["scan.pdf"].text
    skipped = data.report[data.report["status"] == "skipped"].set_index("document")[
        "reason"
    ]
    assert set(skipped.index) == {"same.txt", "empty.pdf", "broken.docx", "logo.png"}
    assert "scan" in skipped["empty.pdf"]
    assert ".png" in skipped["logo.png"]


def test_a_passage_keeps_headings_and_neighbours_and_names_are_found_in_prose_alone(
    wiki, store
):
    corpus = from_folder(wiki, store=store).corpus
    first, second, third = (
        corpus[row]
        for row, id_ in enumerate(corpus.doc_ids)
        if id_ == "policies/travel.md"
    )
    assert [first.title, first.id, first.position] == [
        "Travel guide",
        "policies/travel.md#0",
        0,
    ]
    assert first.text == "Anna Schmidt signs travel requests. See the form ."
    assert second.text.startswith("Per diem\ncity | euros\n\nBern | 90\n\nprint(")
    assert third.metadata == {
        "file": "policies/travel.md",
        "headings": ["Per diem", "Abroad"],
    }
    assert third.text == "Per diem > Abroad\nAsk Anna Schmidt first."
    said = " ".join(corpus.sentences(corpus.row("policies/travel.md#1")))
    assert "Bern | 90" in said
    assert not any(word in said for word in ("Output", "http", "www"))
    assert not {"https", "README", "Output"} & set(find_mentions(corpus).names)


def test_a_changed_file_changes_its_passages_alone_and_the_others_are_not_read_again(
    wiki, store, monkeypatch
):
    before = {p.id: p for p in from_folder(wiki, store=store).corpus}
    (wiki / "rates.html").write_text(PAGE.replace("90", "95"))
    read = []
    for ending, reader in list(READERS.items()):
        monkeypatch.setitem(
            READERS,
            ending,
            lambda data, name, reader=reader: read.append(name) or reader(data, name),
        )
    after = {p.id: p for p in from_folder(wiki, store=Store(store.root)).corpus}
    # What could not be read is tried again.
    assert read == [
        "broken.docx",
        "rates.html",
    ]
    assert [id_ for id_ in before if before[id_] != after[id_]] == ["rates.html"]


def test_a_long_text_is_divided_within_its_length_and_nothing_is_lost():
    words = " ".join(
        f"Sentence {n} says something about the number {n}." for n in range(200)
    )
    data = from_texts([words, "Short."], tokens=50)
    counted = kg2rag.compute.EncoderTokens().count([p.text for p in data.corpus])
    assert max(counted) <= 50
    assert " ".join(p.text for p in data.corpus if p.doc_id == "0") == words
    assert data.corpus.ids[-1] == "1"
    assert data.report["divided"].tolist() == [1, 0]


def test_near_duplicates_are_reported_once_each():
    text = "The committee meets on the first Monday of every month in the large room on the second floor of the house."
    data = from_texts(
        [
            text,
            "Something else entirely is said here, with other words in it.",
            text + " Always.",
        ]
    )
    assert data.near_duplicates()[["passage", "of"]].to_numpy().tolist() == [["2", "0"]]


def test_a_frame_keeps_its_other_columns():
    data = from_frame(pd.DataFrame({"key": [1], "body": ["Ada wrote."], "url": ["u"]}))
    assert dict(data.corpus[0].metadata) == {"key": 1, "url": "u"}


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
def test_questions_in_a_file_make_a_data_set_whose_gold_may_be_files(
    wiki, store, monkeypatch, ending
):
    monkeypatch.setenv("KG2RAG_STORE", str(store.root))
    rows = [
        {"question": "Who signs?", "gold": "policies/travel.md"},
        {"question": "When?", "gold": ["lunch.jsonl#3"]},
    ]
    file = wiki / f"questions{ending}"
    if ending == ".jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        pd.DataFrame(rows).assign(
            gold=["policies/travel.md", '["lunch.jsonl#3"]']
        ).to_csv(file, index=False)
    data = kg2rag.load(str(wiki), questions=file)
    assert (len(data), data.unit, data.name) == (2, "document", "wiki")
    assert not any(id_.startswith("questions") for id_ in data.corpus.ids)
    rows[0]["gold"] = "policies/trvl.md"
    with pytest.raises(ValueError, match=r"policies/trvl\.md"):
        from_folder(wiki, store=store, leave_out=file).with_questions(rows)


def test_a_table_alone_is_read_with_its_own_ids(wiki):
    assert kg2rag.load(str(wiki / "lunch.jsonl")).corpus.ids == ["3"]


def test_what_cannot_be_meant_is_refused(wiki, tmp_path, store):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        from_folder(tmp_path / "nowhere")
    (tmp_path / "bare").mkdir()
    with pytest.raises(ValueError, match="bare"):
        from_folder(tmp_path / "bare", store=store)
    with pytest.raises(ValueError, match="split"):
        kg2rag.load(str(wiki), split="train")
    with pytest.raises(ValueError, match=r"q\.jsonl"):
        kg2rag.load("bundled", questions="q.jsonl")
    with pytest.raises(ValueError, match="3"):
        from_texts(["a"], tokens=3)
    with pytest.raises(TypeError, match="with_questions"):
        kg2rag.compare(
            {"bm25": kg2rag.BM25(kg2rag.KnowledgeBase.build(["a b", "c d"]))},
            from_texts(["a b", "c d"]),
        )


def test_footers_long_sections_and_a_list_of_releases_make_no_hubs(tmp_path, store):
    for name in "abcd":
        page = f"<title>T{name}</title><p>Page {name} is about Anna.<p>Last updated {name * 2}9 UTC, Git Suite."
        (tmp_path / f"{name}.html").write_text(page.replace(name * 2, str(ord(name))))
    (tmp_path / "news.md").write_text(
        "## 2.0 (May)\n\nNew.\n\n## 1.0 (March)\n\nOld.\n"
    )
    (tmp_path / "long.md").write_text(
        "# Manual\n\n## Tensor Shop\n\n" + "It holds many words here. " * 500
    )
    corpus = from_folder(tmp_path, store=store).corpus
    assert not any(
        "Suite" in one for row in range(len(corpus)) for one in corpus.sentences(row)
    )
    assert {p.title for p in corpus if p.doc_id == "news.md"} == {"news"}
    rows = [row for row, id_ in enumerate(corpus.doc_ids) if id_ == "long.md"]
    assert len(rows) >= WIDE
    assert ["Tensor Shop" in corpus.sentences(row) for row in rows] == [True] + [
        False
    ] * (len(rows) - 1)


def test_running_heads_and_tables_of_contents_of_a_pdf_are_left_out():
    pages = [
        ["Contents", "Clay . . . . . . 1"],
        ["Chapter 1: Clay 1", "Clay", "Potters dig it."],
    ]
    pages += [[f"Chapter 1: Clay {n}", f"Page {n} says more."] for n in (2, 3, 4)]
    blocks = pdf_blocks(pages, {(1, "clay"): 1}).blocks
    assert [(one.text, one.level) for one in blocks if one.level] == [("Clay", 1)]
    assert not any("Chapter" in one.text or ". . ." in one.text for one in blocks)


def test_an_entry_of_contents_is_no_heading_though_its_heading_stands_on_the_same_page():
    document = pdf_blocks(
        [["Clay . . . . . . 1", "Clay", "Potters dig it."]], {(0, "clay"): 1}
    )
    assert [(block.text, block.level) for block in document.blocks] == [
        ("Clay", 1),
        ("Potters dig it.", 0),
    ]


def test_a_pdf_with_an_outline_has_the_title_of_its_letters_above_the_bookmarks(
    tmp_path, store
):
    lines = [
        ("Firing", 24, 2),
        ("by hand", 24, 2),
        "Inhalt",
        "Clay 2",
        "Grog 3",
        "Clay",
        "Potters dig it.",
        "Grog",
        "It is ground.",
    ]
    (tmp_path / "x.pdf").write_bytes(pdf_of(lines, ("Clay", "Grog")))
    documents = from_folder(tmp_path, store=store)
    assert [(one.title, one.text) for one in documents.corpus] == [
        ("Firing by hand", "Clay\nPotters dig it."),
        ("Firing by hand", "Grog\nIt is ground."),
    ]
    assert tuple(documents.report.loc[0, ["left_out", "lost"]]) == (5, 0)


@pytest.mark.parametrize(
    "heading", ["Spis treści", "Inhaltsverzeichnis", "Оглавление", "目次"]
)
def test_a_table_of_contents_without_an_outline_is_left_out_up_to_the_text(heading):
    pages = [[heading, "1. Clay 2", "2. Grog and", "other sherds 3"], ["Potters dig."]]
    pages += [["They fire it", "at heat, all year", "and did so until", "May 1990"]]
    document = pdf_blocks(pages, {})
    assert document.left_out == [heading, "1. Clay 2", "other sherds 3"]
    assert document.blocks[-1].text.endswith("until May 1990")


def test_a_line_such_as_contents_above_a_text_is_text():
    [block] = pdf_blocks([["Inhalt", "Der Band handelt", "von Ton."]], {}).blocks
    assert block.text == "Inhalt Der Band handelt von Ton."


def test_headings_of_an_outline_stay_apart_where_no_text_stands_between():
    found = [
        (one.text, one.level)
        for one in pdf_blocks(
            [["Clay", "Grog", "It is ground."]], {(0, "clay"): 1, (0, "grog"): 1}
        ).blocks
    ]
    assert found == [("Clay", 1), ("Grog", 1), ("It is ground.", 0)]


def test_a_pdf_without_an_outline_has_its_title_and_headings_by_their_letters(
    tmp_path, store
):
    lines = [
        ("Firing", 24, 1),
        ("by hand", 24, 1),
        ("Contents", 16, 2),
        "1 Clay 2",
        ("1 Clay", 16, 2),
        "Potters dig it.",
    ]
    lines += [
        ("A label in a figure", 16, 1),
        ("1.1 Grog", 12, 2),
        ("Bold words in a text", 12, 2),
        "are no heading.",
    ]
    (tmp_path / "x.pdf").write_bytes(pdf_of(lines))
    (tmp_path / "kiln.1.pdf").write_bytes(
        pdf_of([("NAME", 13, 2), "kiln - fires pots and", "other things of clay."])
    )
    clay, grog, kiln = sorted(
        from_folder(tmp_path, store=store).corpus,
        key=lambda one: ("kiln" in one.id, one.id),
    )
    assert [one.title for one in (clay, grog, kiln)] == [
        "Firing by hand",
        "Firing by hand",
        "kiln",
    ]
    assert clay.text == "1 Clay\nPotters dig it. A label in a figure"
    assert grog.metadata["headings"] == ["1 Clay", "1.1 Grog"]
    assert "Bold words in a text are no heading." in grog.text


def test_sources_beside_their_pages_and_lists_of_pages_are_left_out_and_joining_words_name_nothing(
    tmp_path, store
):
    (tmp_path / "_sources").mkdir()
    page = "<h1>A</h1><h2>Version 2.1</h2><p>Otherwise, as Figure 2 says, Anna fires it.<div class=toctree-wrapper>B"
    (tmp_path / "a.html").write_text(
        f"{page}</div><div class='footer-links'>Next</div>"
    )
    for name in ("a.rst.txt", "other.rst.txt"):
        (tmp_path / "_sources" / name).write_text(f"{name}: Anna fires it.")
    read = from_folder(tmp_path, store=store)
    assert read.report.loc[read.report["status"] == "skipped", "document"].tolist() == [
        "_sources/a.rst.txt"
    ]
    row = read.corpus.row("a.html")
    assert (
        read.corpus[row].text
        == "Version 2.1\nOtherwise, as Figure 2 says, Anna fires it."
    )
    assert not any(
        word in str(read.corpus.sentences(row))
        for word in ("Otherwise", "Figure", "Version")
    )
