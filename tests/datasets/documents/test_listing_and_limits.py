"""One file never ends a folder: links, packages, outputs, names, sizes; left out files are reported."""

from __future__ import annotations

import json
import os
import time

import pandas as pd
import pytest
from file_makers import docx_of, zip_of

import kg2rag
from kg2rag.compute import Store
from kg2rag.compute.outputs import write_output
from kg2rag.datasets import from_folder, from_texts
from kg2rag.datasets.documents import folder as folder_module
from kg2rag.datasets.documents import readers
from kg2rag.datasets.documents.blocks import lost_words
from kg2rag.datasets.documents.listing import ListedFile
from kg2rag.datasets.documents.markup import pandoc
from kg2rag.datasets.documents.markup.dialects import plain_markdown
from kg2rag.datasets.documents.reading import read_bytes
from kg2rag.datasets.documents.texts import plain

GOOD = {"good.txt": "The ferry Halina leaves."}


def reasons(documents):
    skipped = documents.report[documents.report["status"] == "skipped"]
    return dict(zip(skipped["document"], skipped["reason"], strict=True))


@pytest.mark.parametrize(
    ("source", "lost"),
    [
        (["ferry", "sails", "ferry"], ["ferry", "ferry"]),
        # Markup within a word divides it in the source.
        (
            ["har", "bo", "ur", "side"],
            [],
        ),
        # Five parts.
        (
            ["ha", "r", "bo", "ur", "side"],
            ["ha", "r", "bo", "ur", "side"],
        ),
        (["x" * 60, "y" * 61], ["x" * 60]),  # data in a text, and no word
    ],
)
def test_a_word_is_lost_if_no_passage_has_it_as_one_word_of_up_to_four_parts(
    source, lost
):
    assert lost_words(source, ["The harbourside", "sails"]) == lost


@pytest.mark.parametrize("ending", ["txt", "html"])
def test_links_that_lead_out_of_the_folder_and_pipes_are_skipped_with_a_reason(
    tmp_path, read, ending
):
    (tmp_path / "secret.txt").write_text("Password of Ida Berg.")
    (tmp_path / "elsewhere").mkdir()
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / f"out.{ending}").symlink_to(tmp_path / "secret.txt")
    (docs / f"nowhere.{ending}").symlink_to(tmp_path / "lacking.txt")
    (docs / f"loop.{ending}").symlink_to(docs / f"loop.{ending}")
    (docs / "folder").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(docs / f"pipe.{ending}")
    documents = read(GOOD)
    assert set(reasons(documents)) == {
        *(f"{name}.{ending}" for name in ("out", "nowhere", "loop", "pipe")),
        "folder",
    }
    assert len(documents.corpus) == 1


def test_packages_are_left_out_and_hidden_files_counted(read):
    files = {
        "node_modules/a/b.md": "B.",
        ".venv/c.md": "C.",
        "mine/pyvenv.cfg": "",
        "mine/lib/d.md": "D.",
        ".e.md": "E.",
    }
    documents = read(GOOD | files)
    assert set(reasons(documents)) == {"node_modules", "mine"}
    assert documents.source["notes"]["hidden files and folders"] == 2


def test_reports_are_equal_before_and_after_python_compiled_a_module(read):
    before, after = read(GOOD), read(GOOD | {"__pycache__/conf.cpython-311.pyc": "B"})
    pd.testing.assert_frame_equal(before.report, after.report)
    assert before.source["notes"] == after.source["notes"]


def test_what_kg2rag_wrote_is_no_document(tmp_path, read):
    (tmp_path / "docs").mkdir()
    write_output(
        tmp_path / "docs" / "questions.jsonl",
        "questions",
        b'{"question": "Who sails?"}\n',
    )
    assert "kg2rag" in reasons(read(GOOD))["questions.jsonl"]


def test_a_name_that_is_no_text_and_a_file_that_is_gone_end_nothing(
    tmp_path, read, monkeypatch
):
    (tmp_path / "docs").mkdir()
    name = os.fsencode(tmp_path / "docs") + b"/caf\xe9.txt"
    with open(name, "w") as file:  # noqa: PTH123
        file.write("Coffee is served.")
    listed = folder_module.list_folder
    gone = ListedFile(tmp_path / "docs" / "gone.html", "gone.html")
    long = ListedFile(tmp_path / "docs" / f"{'x' * 300}.txt", "long.txt")
    monkeypatch.setattr(
        folder_module,
        "list_folder",
        lambda *args: listed(*args)._replace(files=[*listed(*args).files, gone, long]),
    )
    documents = read(GOOD)
    assert set(reasons(documents)) == {"gone.html", "long.txt"}
    assert "café.txt" in documents.corpus.doc_ids


def test_a_file_is_read_once_and_kept_under_the_bytes_that_were_read(
    tmp_path, read, monkeypatch
):
    documents = read(GOOD)
    file = tmp_path / "docs" / "good.txt"
    reader = readers.READERS[".txt"]

    def change_while_read(data, name):
        file.write_text("The second text.")
        return reader(data, name)

    file.write_text("The first text.")
    monkeypatch.setitem(readers.READERS, ".txt", change_while_read)
    assert documents.corpus[0].text == "The ferry Halina leaves."
    assert read({}).corpus[0].text == "The first text."
    monkeypatch.setitem(readers.READERS, ".txt", reader)
    assert read({}).corpus[0].text == "The second text."


def test_a_file_that_is_too_large_is_skipped_unread(tmp_path, monkeypatch):
    file = tmp_path / "large.txt"
    with file.open("wb") as stream:
        stream.truncate(3_000_000_000)
    assert "32 MB" in read_bytes(ListedFile(file, "large.txt")).reason
    film = tmp_path / "film.mp4"
    film.write_bytes(b"")
    # A file without a reader is not opened.
    monkeypatch.setattr(type(film), "open", None)
    assert ".mp4" in read_bytes(ListedFile(film, "film.mp4")).reason


ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
HOSTILE = {
    "word.txt": "x" * 1_000_000,
    "front.md": "---\n" + " " * 200_000,
    "lines.md": "---\n" + "\n" * 200_000 + "x",
    "addresses.txt": "a@" * 50_000,
    "brackets.md": "[" * 20_000,
    "wiki.md": "[[a|" * 10_000,
    "nested.html": "<div>" * 5_000 + "deep words" + "</div>" * 5_000,
    "nested.json": "[" * 100_000,
    "bomb.docx": docx_of(f"<w:p><w:r><w:t>{'a' * 60_000_000}</w:t></w:r></w:p>"),
    "entities.odt": zip_of({"content.xml": f"{ENTITIES}<text>&b;</text>"}),
}


def test_hostile_files_take_seconds_and_end_nothing(read):
    start = time.process_time()
    documents = read(GOOD | HOSTILE)
    assert time.process_time() - start < 30
    assert "The ferry Halina leaves." in [passage.text for passage in documents.corpus]
    assert "bytes" in reasons(documents)["bomb.docx"]
    assert any("deep words" in passage.text for passage in documents.corpus)
    longest = max(len(passage.text) for passage in documents.corpus)
    assert longest <= 4_100


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rst", ".. " + "::" * 50_000),
        ("a.rst", ":a" * 50_000),
        ("a.tex", "\\begin[" * 20_000),
        ("a.typ", "a" * 100_000),
        ("a.adoc", "include::" + "[" * 100_000),
        ("a.wiki", "[http:" * 20_000),
        ("a.org", "[[" * 50_000),
    ],
)
def test_light_markup_is_searched_in_a_time_that_grows_with_its_length(
    monkeypatch, name, text
):
    monkeypatch.setattr(pandoc, "converted", lambda *_: ("<p>Halina sails.</p>", ""))
    start = time.process_time()
    [document] = plain.read_markup(text.encode(), name)
    assert document.blocks[0].text == "Halina sails."
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "text",
    [
        "{/* ",
        "{% comment %} ",
        "{% highlight a ",
        "{{< ",
        "%%a ",
        "<A '",
        "<A {{",
        "```\n~~~\n",
        "import {a,\n",
    ],
)
def test_instructions_of_site_generators_are_searched_in_a_time_that_grows_with_their_number(
    text,
):
    start = time.process_time()
    plain_markdown(text * 40_000, "a.mdx")
    assert time.process_time() - start < 10


def test_many_small_files_make_few_files_of_the_store(tmp_path, read):
    read({f"{number}.txt": f"Text number {number}." for number in range(300)})
    assert sum(1 for path in (tmp_path / "store").rglob("*") if path.is_file()) < 10


ROWS = [
    {"id": "a", "text": "One.", "doc_id": "d", "position": 3},
    {"id": "b", "text": "Two.", "doc_id": "d", "position": 1},
]


def test_documents_and_positions_of_records_are_kept(tmp_path, read):
    expected = [("d", 3), ("d", 1)]
    rows = "".join(json.dumps(row) + "\n" for row in ROWS)
    assert [
        (passage.doc_id, passage.position) for passage in from_texts(ROWS).corpus
    ] == expected
    documents = read(
        {"t.jsonl": rows, "a.csv": "id,text,doc_id,position\na,Three.,d,3\n"}
    )
    assert documents.corpus[0].position == 3
    places = [(passage.doc_id, passage.position) for passage in documents.corpus]
    assert places[1:] == [("t.jsonl#d", 3), ("t.jsonl#d", 1)]
    data = kg2rag.load(str(tmp_path / "docs" / "t.jsonl"))
    assert [(passage.doc_id, passage.position) for passage in data.corpus] == expected


def test_parts_of_a_divided_record_are_placed_behind_each_other():
    long = " ".join(f"Sentence {number} says something." for number in range(60))
    given = [
        {"id": "b", "text": "Last.", "doc_id": "d", "position": 1},
        {"id": "a", "text": long, "doc_id": "d", "position": 0},
    ]
    corpus = from_texts(given, tokens=50).corpus
    assert {passage.doc_id for passage in corpus} == {"d"}
    in_order = sorted(corpus, key=lambda passage: passage.position)
    assert [passage.position for passage in in_order] == list(range(len(corpus)))
    assert in_order[-1].text == "Last."


def test_records_without_a_text_have_their_other_columns_or_are_left_out_and_counted(
    read,
):
    lines = '{"_id": "d1", "title": null, "text": "Ships pay."}\n{"_id": "d2", "title": "", "text": ""}\n'
    documents = read(
        GOOD
        | {
            "a.jsonl": lines,
            "b.csv": "text,other,title\nOne.,x,\n,y,Two\n,,\nThree.,,\n",
        }
    )
    assert [
        passage.text
        for passage in documents.corpus
        if passage.metadata["file"] == "a.jsonl"
    ] == ["Ships pay."]
    assert (
        "left out: 1" in documents.report.set_index("document").loc["a.jsonl", "remark"]
    )
    rows = [passage for passage in documents.corpus if "b.csv" in passage.id]
    assert [(row.id, row.title, row.text) for row in rows] == [
        ("b.csv#0", "", "One."),
        ("b.csv#1", "Two", "other: y\nTwo"),
        ("b.csv#3", "", "Three."),
    ]
    remark = documents.report.set_index("document").loc["b.csv", "remark"]
    assert "record 2: its column 'text' is empty" in remark
    assert "left out: 1" in remark


def test_a_table_of_short_cells_is_read_and_one_of_numbers_or_nothing_is_not(read):
    documents = read(
        GOOD
        | {
            "names.csv": "Station,River\nElvebakk,Alta\n",
            "numbers.csv": "a,b\n1,2\n",
            "empty.csv": "sep=,\n",
        }
    )
    texts = [passage.text for passage in documents.corpus]
    assert "Station: Elvebakk\nRiver: Alta" in texts
    assert "no text" in reasons(documents)["numbers.csv"]
    assert "no record" in reasons(documents)["empty.csv"]


def test_columns_of_the_reader_s_names_are_kept_beside_them(read):
    [passage] = read(
        {"a.jsonl": '{"id": 1, "text": "One.", "file": "theirs", "headings": "x"}\n'}
    ).corpus
    assert dict(passage.metadata) == {
        "file": "a.jsonl",
        "column_file": "theirs",
        "column_headings": "x",
    }


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_column_twice_is_an_error_that_names_it(tmp_path, read, name):
    content = (
        "id,text,text\n1,One.,Two.\n"
        if name == "a.csv"
        else '{"id": 1, "text": "One.", "text": "Two."}\n'
    )
    assert "'text'" in reasons(read(GOOD | {name: content}))[name]
    with pytest.raises(ValueError, match="text"):
        from_folder(tmp_path / "docs" / name, store=Store(tmp_path / "store"))


@pytest.mark.parametrize(
    "content",
    [
        "id;text\n1;One, two.\n",
        "sep=;\nid;text\n1;One, two.\n",
        "id\ttext\n1\tOne, two.\n",
        '\n\nId,Text\n1,"One, two."\n',
    ],
)
def test_a_table_is_read_by_its_own_separator_and_names_in_any_case(read, content):
    assert [passage.text for passage in read({"a.csv": content}).corpus] == [
        "One, two."
    ]


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ('id\ttext\n1\t"One ""two"",\nthree."\n', ['One "two", three.']),
        ('id\ttext\n1\t"One" and two.\n', ['"One" and two.']),
        ('id\ttext\n1\t"Come in,\n2\tplease."\n', ['"Come in,', 'please."']),
    ],
)
def test_cells_between_tabs_may_be_quoted_and_lone_marks_join_no_rows(
    read, content, texts
):
    assert [
        " ".join(passage.text.split()) for passage in read({"a.tsv": content}).corpus
    ] == texts


def test_equal_passages_are_near_duplicates_however_many():
    text = "The committee meets on the first Monday of every month in the large room on the second floor."
    found = from_texts(
        [text] * 51 + [f"{text} Number {number}." for number in range(60)]
    ).near_duplicates()
    assert len(found) == 110
    assert set(found["of"]) == {"0"}


@pytest.mark.parametrize(
    "text", ["Closed on Mondays.", "知識グラフは検索を改善する。", "…"]
)
def test_equal_passages_of_any_length_and_script_are_near_duplicates(text):
    found = from_texts([text] * 51).near_duplicates()
    assert found[["passage", "of"]].to_numpy().tolist() == [
        [str(row), "0"] for row in range(1, 51)
    ]


def test_links_lead_to_passages_of_other_documents(read):
    documents = read(
        {
            "a.md": "See [fares](sub/fares.md#prices), [[Pier|the pier]], [[Old name]] and [far](https://example.org).",
            "sub/fares.md": "# Fares\n\nFirst.\n\n## Prices\n\nNine crowns. Back to [start](../a.md).\n",
            "pier.md": "---\naliases: [Old name]\n---\n# The pier\n\nHalina lands.\n",
            "b.html": "<p>A <a href='pier.html'>page</a>.</p>",
        }
    )
    links = {passage.id: passage.metadata.get("links") for passage in documents.corpus}
    assert links["a.md"] == [
        ["fares", "sub/fares.md#1"],
        ["the pier", "pier.md"],
        ["Old name", "pier.md"],
    ]
    assert links["sub/fares.md#1"] == [["start", "a.md"]]
    assert links["b.html"] == [["page", "pier.md"]]
    assert links["pier.md"] is None


def test_a_link_of_a_divided_block_is_of_the_part_that_has_its_words(read):
    links = " ".join(
        f'<a href="{number}.html">Pier{number}</a> {"lies behind the gate " * 9}'
        for number in range(40)
    )
    pages = {
        f"{number}.html": f"<h1>Pier number {number}</h1><p>Ships pay {number}.</p>"
        for number in range(40)
    }
    corpus = read({"index.html": f"<h1>All piers</h1><p>{links}</p>", **pages}).corpus
    parts = [passage for passage in corpus if passage.doc_id == "index.html"]
    assert len(parts) > 5
    linked = [
        (words, words in passage.text)
        for passage in parts
        for words, _ in passage.metadata.get("links", ())
    ]
    assert linked == [(f"Pier{number}", True) for number in range(40)]


def test_a_heading_that_several_files_share_is_no_title(read):
    pages = {
        name: f"# Fastify\n\n## About {name}\n\nText of {name}.\n"
        for name in ("hooks", "routes", "errors")
    }
    pages |= {
        "plain": "# Fastify\n\nText of plain.\n",
        "other": "# Other\n\nText of other.\n",
    }
    documents = read({f"{name}.md": text for name, text in pages.items()})
    assert {passage.doc_id: passage.title for passage in documents.corpus} == {
        "hooks.md": "About hooks",
        "routes.md": "About routes",
        "errors.md": "About errors",
        "plain.md": "plain",
        "other.md": "Other",
    }
    assert sum("Fastify" in passage.text for passage in documents.corpus) == 4
    assert documents.report["lost"].sum() == 0


def test_records_of_json_are_found_at_any_depth_and_settings_are_skipped(read):
    files = {
        "records.json": '{"version": 1, "data": [{"id": "x", "text": "Halina sails."}]}',
        "text.json": '{"title": "Ferries", "parts": [{"head": "Pier", "body": "Halina lands at the pier."}]}',
        "settings.json": '{"name": "ferry", "version": "1.0"}',
    }
    documents = read(files)
    assert {
        passage.id: (passage.title, passage.text) for passage in documents.corpus
    } == {
        "records.json#x": ("", "Halina sails."),
        "text.json#0": ("Ferries", "Pier\nHalina lands at the pier."),
    }
    assert set(reasons(documents)) == {"settings.json"}


@pytest.mark.parametrize(
    ("generator", "indexes", "pages"),
    [
        (
            "searchindex.js",
            "genindex.html genindex-S.html py-modindex.html search.html _modules/ferry/pier.html",
            "index.html install.html research.html",
        ),
        (
            "objects.inv",
            "genindex/index.html search/index.html py-modindex/index.html",
            "index.html install/index.html",
        ),
        (
            "doxygen.css",
            "annotated.html functions_func.html classFerry-members.html ferry_8h_source.html "
            "dir_d44c64559bbebec7f509842c48db8b23.html",
            "index.html classFerry.html ferry_8h.html",
        ),
        (
            "element-list",
            "index-all.html allclasses-index.html overview-tree.html org/pier/package-tree.html "
            "org/pier/class-use/Ferry.html help-doc.html",
            "index.html org/pier/Ferry.html org/pier/package-summary.html",
        ),
        ("book-1a2b3c.js", "print.html toc.html 404.html", "index.html fees.html"),
        ("crates.js", "help.html ferry/all.html src/ferry/lib.rs.html", "ferry/index.html"),
        ("search/search_index.json", "404.html", "index.html search/index.html"),
        ("notes.txt", "", "search.html print.html help.html all.html toc.html"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("folder", ["", "build/html/"])
def test_indexes_of_a_built_site_are_no_documents(
    read, generator, indexes, pages, folder
):
    names = [*pages.split(), *indexes.split()]
    files = {f"{folder}{name}": f"<h1>{name}</h1><p>Of {name}</p>" for name in names}
    files[f"{folder}{generator}"] = "var x = 1"
    report = read(files).report
    status = dict(zip(report["document"], report["status"], strict=True))
    assert {n for n in status if n.endswith("html") and status[n] == "read"} == {
        f"{folder}{name}" for name in pages.split()
    }
    assert report.loc[report["status"] == "skipped", "reason"].all()


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("research.json", "read"),
        ("price_index.json", "read"),
        ("search_results.json", "read"),
        ("search.json", "skipped"),
        ("local-search.xml", "skipped"),
        ("search_plus_index.json", "skipped"),
        ("index.json", "skipped"),
        ("blog-feed.xml", "skipped"),
    ],
)
def test_data_beside_pages_are_no_index_of_theirs(read, name, status):
    content = '[{"title": "Fees", "text": "A berth costs forty."}]'
    if name.endswith("xml"):
        content = "<fees><fee>A berth costs forty.</fee></fees>"
    report = read({"a.html": "<p>Halina sails.</p>", name: content}).report
    assert report.set_index("document").loc[name, "status"] == status


@pytest.mark.parametrize("n_pages", [0, 1])
def test_feeds_beside_pages_are_skipped(read, n_pages):
    feed = (
        "<rss><channel><title>Baking</title><item><title>Rye</title>"
        "<description>Feed the starter twice a day.</description></item></channel></rss>"
    )
    pages = {"index.html": "<p>Feed the starter.</p>"} if n_pages else {}
    documents = read({**pages, "posts/index.xml": feed})
    assert len(documents.corpus) == 1
    assert ("a feed of HTML pages" in list(documents.report["reason"])) == n_pages


def test_the_settings_and_copies_of_logseq_are_skipped(read):
    documents = read(
        {
            "pages/Pump.md": "- #+BEGIN_QUOTE\n  Close the valve.\n  #+END_QUOTE",
            "logseq/config.edn": "{:version 1}",
            "logseq/bak/pages/Pump/1.md": "- Open the valve.",
        }
    )
    assert [p.text for p in documents.corpus] == ["Close the valve."]


def test_a_page_of_only_a_footer_and_licences_of_fonts_are_no_documents(read):
    footer = "<footer>Documentation generated by JSDoc 4.0.5 on Saturday</footer>"
    page = "<html><body><p>Nine crowns.</p></body></html>"
    documents = read(
        {
            "index.html": f"<html><body>{footer}</body></html>",
            "fare.html": page,
            "static/Fira.woff2": "",
            "static/Fira-LICENSE-05ab6dbd.txt": "SIL Open Font License",
            "LICENSE.txt": "The MIT License",
        }
    )
    assert sorted(documents.corpus.ids) == ["LICENSE.txt", "fare.html"]
