"""Encodings, Markdown, HTML and light markup: words of a file are in its passages once, headings are headings."""

from __future__ import annotations

import pytest


def text_of(documents):
    return "\n".join(passage.text for passage in documents.corpus)


def prose_of(documents):
    corpus = documents.corpus
    return " ".join(
        sentence for row in range(len(corpus)) for sentence in corpus.sentences(row)
    )


RUSSIAN = "Паром Галина отправляется в полдень из Остхольма. Марек Лунд собирает плату."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Die Fähre Halina fährt um zwölf nach Ostholm.", "utf-16"),
        ("Die Fähre Halina fährt um zwölf nach Ostholm.", "utf-16-le"),
        ("Die Fähre Halina fährt um zwölf nach Ostholm.", "utf-32"),
        ("Die Fähre Halina fährt um zwölf nach Ostholm.", "cp1252"),
        ("El niño irá mañana a España.", "cp1252"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        ("フェリーは正午に港を出発します。東京の船会社が運航しています。", "shift_jis"),
        ("フェリーは正午に港を出発します。", "iso2022_jp"),
        ("渡轮中午离开港口。票价九元。船长是马立克。", "gb18030"),
    ],
)
@pytest.mark.parametrize("ending", [".txt", ".md", ".html", ".csv"])
def test_a_text_is_read_in_its_encoding_whatever_the_kind_of_file(
    read, text, encoding, ending
):
    content = {".html": f"<p>{text}</p>", ".csv": f"id,text\n1,{text}\n"}.get(
        ending, text
    )
    assert text_of(read({f"a{ending}": content.encode(encoding)})) == text


def test_a_guessed_encoding_is_said(read):
    files = {
        "a.txt": RUSSIAN.encode("cp1251"),
        "b.txt": RUSSIAN,
        "c.csv": f"id,text\n1,{RUSSIAN}\n".encode("cp1251"),
    }
    report = read(files).report.set_index("document")
    assert "1251" in report.loc["a.txt", "remark"]
    assert "1251" in report.loc["c.csv", "remark"]
    assert report.loc["b.txt", "status"] == "read"
    assert report.loc["b.txt", "remark"] == ""


@pytest.mark.parametrize(
    "text", ["Größe über alles, café", "naïve “quoted” – dash €5", "Größe"]
)
def test_a_text_with_few_letters_of_its_encoding_is_one_of_the_web(read, text):
    assert text_of(read({"a.txt": text.encode("cp1252")})) == text


@pytest.mark.parametrize(
    ("text", "encoding", "declared"),
    [
        ("Er sagte “ja” – und ging.", "cp1252", "iso-8859-1"),
        (
            "渡輪中午離開港口。票價九元。船長是馬立克，他在這裡工作了二十年。",
            "big5",
            "gb2312",
        ),
        ("渡轮中午离开港口。", "hz", "hz-gb-2312"),
    ],
)
def test_a_page_is_read_whose_encoding_is_another_than_the_declared_one_or_has_seven_bits(
    read, text, encoding, declared
):
    page = f'<meta charset="{declared}"><p>{text}</p>'
    assert text_of(read({"a.html": page.encode(encoding)})) == text


def test_a_short_text_of_dos_is_read(read):
    text = "Die Fähre fährt um zwölf Uhr über die Förde. Der Kapitän heißt Müller."
    assert text_of(read({"a.txt": text.encode("cp850")})) == text


def test_mail_of_seven_bits_is_read_by_its_declared_encoding(read):
    header = (
        "Subject: Ferry\r\nContent-Type: text/plain; charset=ISO-2022-JP\r\n"
        "Content-Transfer-Encoding: 7bit\r\n\r\n"
    )
    text = "フェリーは正午に港を出発します。"
    assert text_of(read({"a.eml": header.encode() + text.encode("iso2022_jp")})) == text


def test_one_damaged_byte_leaves_the_rest_of_a_text_in_utf_8(read):
    documents = read({"a.txt": "Die Fähre fährt zwölf Mal ".encode() + b"\xff heute."})
    assert text_of(documents) == "Die Fähre fährt zwölf Mal \ufffd heute."
    assert "1 damaged" in documents.report.loc[0, "remark"]


@pytest.mark.parametrize(
    "front",
    [
        "---\r\ntitle: Ferry timetable\r\nauthor: Editorial desk\r\n---\r\n",
        "---\ntitle: >-\n  Ferry\n  timetable\nauthor: Editorial desk\n---\n",
        "+++\ntitle = 'Ferry timetable'\nauthor = 'Editorial desk'\n+++\n",
        "<!-- licence -->\n---\ntitle: Ferry timetable\nauthor: Editorial desk\n---\n",
        "\n---   \nauthor: Editorial desk: daily\ntitle: Ferry timetable\n...\n",
        "\ufeff---\ntitle: 'Ferry timetable'\nauthor: Editorial desk\n---\n",
        "---\ntitle: [Ferry timetable]\nauthor: Editorial desk\n---\n",
        '{\n\t"title": "Ferry timetable",\n\t"author": {\n\t\t"name": "Editorial desk"\n\t}\n}\n',
    ],
)
def test_front_matter_of_every_spelling_gives_the_title_and_no_text(read, front):
    [passage] = read({"a.md": f"{front}\n# Sailings\n\nThe ferry leaves.\n"}).corpus
    assert (passage.title, passage.text) == (
        "Ferry timetable",
        "Sailings\nThe ferry leaves.",
    )


def test_a_number_may_be_the_title_of_front_matter(read):
    assert (
        read({"a.md": "---\ntitle: 1984\n---\n\nThe ferry leaves.\n"}).corpus[0].title
        == "1984"
    )


def test_front_matter_without_a_line_behind_it_and_a_thematic_break(read):
    documents = read(
        {
            "a.md": "---\ntitle: Fares\n---",
            "b.md": "---\n\nMarek Lund.\n\n---\n\nIda Berg.\n",
        }
    )
    assert [
        passage.text for passage in documents.corpus if passage.doc_id == "b.md"
    ] == ["Marek Lund.\n\nIda Berg."]


@pytest.mark.parametrize(
    "markdown",
    [
        "!!! note\n\n    Marek Lund is here.\n",
        '??? tip "Title"\n    Marek Lund is here.\n',
        "!!! note\n\n\n    First.\n\n\n    Marek Lund is here.\n",
        '=== "Winter"\n\n    Marek Lund is here.\n',
        "- item\n\n    !!! warning\n\n        Marek Lund is here.\n",
        ":::note A title\nMarek Lund is here.\n:::\n",
        "```{note}\nMarek Lund is here.\n```\n",
        "Term\n:   Marek Lund is here.\n",
        "Word[^1].\n\n[^1]: Marek Lund is here.\n",
        "> [!NOTE]\n> Marek Lund is here.\n",
        "<details><summary>More</summary>\n\nMarek Lund is here.\n\n</details>\n",
    ],
)
def test_indented_and_fenced_prose_of_markdown_s_dialects_is_prose(read, markdown):
    assert "Marek Lund is here." in prose_of(
        read({"a.md": f"# T\n\nText.\n\n{markdown}"})
    )


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ('=== "Winter"\n\n    Lund waits.\n', "Winter\n\nLund waits."),
        ('??? tip "Fares"\n    Lund waits.\n', "Fares\n\nLund waits."),
        ("!!! note\n    Lund waits.\n", "Lund waits."),
        (":::tip[Fares]\nLund waits.\n:::\n", "Fares\n\nLund waits."),
        (
            '::: {.callout-note title="Fares"}\nLund waits.\n:::\n',
            "Fares\n\nLund waits.",
        ),
        ('```python title="fares.py"\nLund = 1\n```\n', "fares.py\nLund = 1"),
        (":::{dropdown} Fares\n:open:\nLund waits.\n:::\n", "Fares\n\nLund waits."),
    ],
)
def test_a_block_begins_with_its_title_where_that_says_more_than_its_kind(
    read, markdown, text
):
    documents = read({"a.md": markdown})
    assert text_of(documents) == text
    assert documents.report["lost"].sum() == 0


@pytest.mark.parametrize(
    "attributes", ["{#crew}", "{: #crew .wide }", '{.wide key="value"}']
)
def test_attributes_of_a_heading_are_no_part_of_it(read, attributes):
    documents = read(
        {
            "a.md": f"# Ferry\n\nText.\n\n## Who `sails` {attributes}\n\nHalina Card sails.\n"
        }
    )
    assert documents.corpus[-1].metadata["headings"] == ["Who sails"]
    assert documents.report.loc[0, "lost"] == 0


def test_attributes_of_words_and_captions_are_no_text(read):
    page = "[Halina]{.smallcaps} sails.\n\nTable of fares {#tbl-x}\n"
    documents = read({"a.qmd": page})
    assert documents.corpus[0].text == "Halina sails.\n\nTable of fares"
    assert documents.report.loc[0, "lost"] == 0


def test_code_of_markdown_names_nothing_and_a_wiki_link_shows_its_words(read):
    documents = read(
        {"a.md": "See [[Ferry|the Halina]].\n\n```bash\nif [[ -f Lund ]]; then\n```\n"}
    )
    assert text_of(documents) == "See the Halina.\n\nif [[ -f Lund ]]; then"
    assert "Lund" not in prose_of(documents)


@pytest.mark.parametrize(
    "tag",
    "form select button template nav textarea title script style aside h2 pre table svg".split(),
)
def test_a_tag_in_prose_of_markdown_hides_nothing_behind_it(read, tag):
    documents = read(
        {
            "a.md": f"Start.\n\n<{tag}> elements are wide.\n\nUse <{tag}> with care.\n\nThe end is Zanzibar.\n"
        }
    )
    assert {"wide", "care", "Zanzibar"} <= set(
        text_of(documents).replace(".", " ").split()
    )
    assert "Zanzibar" in prose_of(documents)
    assert documents.report["lost"].sum() == 0


def test_words_in_angle_brackets_are_text(read):
    assert (
        text_of(read({"a.md": "Type Vec<String> and <your-name>."}))
        == "Type Vec<String> and <your-name>."
    )


@pytest.mark.parametrize(
    "page",
    [
        "<form><div><h1>Fares</h1><p>Nine crowns.</p></div></form>",
        "<template><h1>Fares</h1><p>Nine crowns.</p></template>",
        "<header><h1>Fares</h1><p>Nine crowns.</p></header>",
        "<aside><h1>Fares</h1><p>Nine crowns.</p></aside>",
        "<footer><h1>Fares</h1><p>Nine crowns.</p></footer>",
        "<nav><p>Home</p></nav><main><form><h1>Fares</h1><p>Nine crowns.</p></form></main>",
        "<main></main><div><h1>Fares</h1><p>Nine crowns.</p></div>",
        "<article><p>Ad</p></article><div><h1>Fares</h1><p>Nine crowns.</p></div>".replace(
            "<p>Ad</p>", ""
        ),
        "<div>" * 400 + "<h1>Fares</h1><p>Nine crowns.</p>" + "</div>" * 400,
    ],
)
def test_a_page_is_read_whatever_stands_around_it(read, page):
    [passage] = read({"a.html": f"<html><body>{page}</body></html>"}).corpus
    assert (passage.title, passage.text) == ("Fares", "Nine crowns.")


@pytest.mark.parametrize(
    "page",
    [
        '<body class="c9 doc-content"><p class="c7 title"><span>Harbour</span><span>&nbsp;rules</span></p>',
        "<title>Document1</title><body><p class=MsoTitle>Harbour<o:p></o:p> rules</p>",
        '<body class="doc-content"><p>Draft of the office.</p><p class="title">Harbour rules</p>',
        '<head><meta name="generator" content="LibreOffice 7.4"/></head><body><p class="title">Harbour rules</p>',
    ],
)
def test_the_style_title_of_a_saved_page_is_its_title(read, page):
    corpus = read(
        {"a.html": f"{page}<h1>Scope</h1><p>Marek Lund rules.</p></body>"}
    ).corpus
    assert {passage.title for passage in corpus} == {"Harbour rules"}


def test_every_article_of_a_page_is_read_and_navigation_is_counted(read):
    page = "<nav>Home Imprint</nav><article><p>Halina sails.</p></article><article><p>Lund waits.</p></article>"
    documents = read({"a.html": page})
    assert text_of(documents) == "Halina sails.\n\nLund waits."
    assert documents.report.loc[0, ["words", "left_out", "lost"]].tolist() == [6, 2, 0]


def test_a_table_within_a_table_is_read_once_and_a_listing_beside_numbers_is_code(read):
    cell = "<td><h2>Part {0}</h2><p>Lund collects fee {0}.</p></td>"
    inner = f"<table><tr>{cell.format(1)}</tr><tr>{cell.format(2)}</tr></table>"
    listing = '<table><tr><td class="linenos"><pre>1\n2</pre></td><td><pre>Code = 1\nMore = 2</pre></td></tr></table>'
    documents = read(
        {
            "a.html": f"<table><tr><td>{inner}</td></tr></table>",
            "b.html": f"<p>Look.</p>{listing}",
        }
    )
    assert text_of(documents).count("Lund collects fee 1.") == 1
    assert [
        p.metadata["headings"] for p in documents.corpus if p.doc_id == "a.html"
    ] == [
        ["Part 1"],
        ["Part 2"],
    ]
    assert "Code" not in prose_of(documents)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>un<b>brok</b>en wo<wbr>rd, H<sub>2</sub>O</p>", "unbroken word, H2O"),
        ("<table><tr><td>H<sub>2</sub>O</td><td>x<br>y</td></tr><tr><td>a</td><td>b</td></tr></table>",
         "H2O | x y\n\na | b"),
        ("<pre>one<br>two</pre>", "one\ntwo"),
        ("<p>Text.</p><h2>Winter<br>fares</h2><p>Nine.</p>", "Text.\n\nWinter fares\nNine."),
        ("<p>Text.</p><h2><button>Winter fares</button></h2><p>Nine.</p>", "Text.\n\nWinter fares\nNine."),
        ("<form><button>Send it all now</button><label>Name</label></form>", "Send it all now Name"),
        ("<h1>Crate ferry <button>Copy item path</button></h1><details open><summary class='hideme'>"
         "<span>Expand description</span></summary><p>Fares.</p></details>", "Fares."),  # rustdoc
        ("<p>def fare</p><input id='a' type='checkbox' aria-hidden='true'><label for='a'>View Source</label>"
         "<p>In crowns.</p>", "def fare\n\nIn crowns."),  # pdoc
    ],
)  # fmt: skip
def test_words_of_a_page_are_divided_as_a_browser_shows_them(read, page, text):
    documents = read({"a.html": f"<html><body>{page}</body></html>"})
    assert "\n\n".join(passage.text for passage in documents.corpus) == text
    assert documents.report["lost"].sum() == 0


def test_formulas_of_a_page_stay_as_letters(read):
    math = "<math><mi>E</mi><mo>=</mo><mi>m</mi><annotation encoding='application/x-tex'>E = m</annotation></math>"
    assert text_of(read({"a.html": f"<p>So {math} holds.</p>"})) == "So E = m holds."


RST = """Ferries
=======

The :ref:`boat <halina>` of :class:`~ferry.Boat` leaves.

.. admonition:: Fares

   Marek Lund pays.

.. tab:: Winter

   Ida Berg waits.

Pier
----

Halina lands.
"""


@pytest.mark.parametrize("name", ["a.rst", "a.txt"])
def test_restructured_text_is_read_by_its_markup_in_files_of_text_too(read, name):
    documents = read({name: RST})
    assert {passage.title for passage in documents.corpus} == {"Ferries"}
    assert ["Pier"] in [
        passage.metadata.get("headings") for passage in documents.corpus
    ]
    assert all(
        sentence in prose_of(documents)
        for sentence in (
            "The boat of ferry.Boat leaves.",
            "Marek Lund pays.",
            "Ida Berg",
        )
    )
    assert "::" not in text_of(documents)
    assert documents.report["lost"].sum() == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.org",
            "#+TITLE: Ferries\n* Pier\nHalina lands at [[file:b.org][the pier]].\n",
        ),
        (
            "a.tex",
            "\\documentclass{article}\\title{Ferries}\\begin{document}\\maketitle\\section{Pier}"
            "Halina lands at the pier.\\end{document}",
        ),
        ("a.adoc", "= Ferries\n\n== Pier\n\nHalina lands at the pier.\n"),
    ],
)
def test_light_markup_has_title_and_headings(read, name, text):
    [passage] = read({name: text}).corpus
    assert (passage.title, passage.metadata["headings"]) == ("Ferries", ["Pier"])
    assert passage.text == "Pier\nHalina lands at the pier."


def test_a_file_that_pandoc_cannot_read_is_read_as_plain_text_and_says_so(read):
    documents = read({"a.tex": "\\begin{itemize} Halina lands"})
    assert "Halina lands" in text_of(documents)
    assert "plain text" in documents.report.loc[0, "remark"]


def test_markup_reads_no_other_file(read, tmp_path):
    (tmp_path / "secret.txt").write_text("Password of Ida Berg")
    documents = read(
        {
            "a.rst": f"Ferry\n=====\n\n.. include:: {tmp_path}/secret.txt\n\nText :ref:`x`.\n"
        }
    )
    assert "Password" not in text_of(documents)


DOMAINS = """Ferries
=======

.. c:function:: int fare(int adults,
                         int children)
   :no-index:

   Marek Lund pays.

.. class:: Boat(name)

   .. py:method:: sail(*, to)
      :async:

      Halina sails.

.. A comment.
"""


def test_what_sphinx_describes_is_read_with_its_signature(read):
    documents = read({"a.rst": DOMAINS})
    blocks = [
        "int fare(int adults, int children)",
        "Marek Lund pays.",
        "Boat(name)",
        "sail(*, to)",
        "Halina sails.",
    ]
    assert text_of(documents) == "\n\n".join(blocks)
    # an option and the comment
    assert documents.report.loc[0, ["lost", "left_out"]].tolist() == [0, 3]


def test_a_label_of_a_section_is_a_name_of_its_document(read):
    pier = ".. _pier-label:\n\nPier\n====\n\nHalina lands. See :doc:`ferry`.\n"
    ferry = (
        "Ferry\n=====\n\nShe sails to :ref:`the pier <pier-label>`, by :class:`Boat`.\n"
    )
    myst = "(quay)=\n# Quay\n\nSee {ref}`the pier <pier-label>`.\n"
    corpus = read({"a.rst": pier, "ferry.rst": ferry, "quay.md": myst}).corpus
    links = {passage.title: passage.metadata.get("links") for passage in corpus}
    assert links["Ferry"] == [["the pier", "a.rst"]]
    assert links["Quay"] == [["the pier", "a.rst"]]


def test_options_of_several_lines_and_addresses_of_images_are_markup(read):
    text = (
        "Ferries\n=======\n\nHalina sails.\n\n.. |badge| image:: https://x.org/build.svg\n\n"
        ".. autoclass:: Boat()\n   :members:\n   :exclude-members:\n       part, element\n"
    )
    documents = read({"a.rst": text})
    assert "Halina sails." in text_of(documents)
    assert documents.report.loc[0, "lost"] == 0


def test_asciidoc_that_includes_a_file_is_read_without_it_and_says_so(read):
    documents = read(
        {"a.adoc": "= Ferries\n\n== Pier\n\nHalina lands.\n\ninclude::b.adoc[]\n"}
    )
    assert text_of(documents) == "Pier\nHalina lands."
    assert "pandoc: 1" in documents.report.loc[0, "remark"]


def test_words_that_light_markup_hides_are_counted(read):
    page = "Halina lands.\n\n{{fare|nine}}\n"
    assert read({"a.wiki": page}).report.loc[0, "lost"] == 2


def test_headings_without_text_stay_in_the_text(read):
    documents = read({"a.md": "# T\n\n## One\n\n## Two\n\nText.\n\n## Three\n"})
    assert documents.report["lost"].sum() == 0
    assert "Three" in text_of(documents)


DATABRICKS = """# Databricks notebook source
# MAGIC %md
# MAGIC # Ferries
# MAGIC Halina sails at `noon`.

# COMMAND ----------

# DBTITLE 1,Fares by port
fares = table("silver.fares")

# COMMAND ----------

# MAGIC %sql
# MAGIC SELECT fare FROM fares
"""
PERCENT = """# ---
# jupyter:
#   kernelspec: python3
# ---

# %% [markdown]
# # Ferries
# Halina sails at `noon`.

# %% Fares by port
fares = table("silver.fares")

# %% tags=["sql"]
%sql
SELECT fare FROM fares
"""


@pytest.mark.parametrize("text", [DATABRICKS, PERCENT])
def test_a_notebook_that_is_kept_as_a_script_is_read_by_its_cells(read, text):
    documents = read({"a.py": text})
    [passage] = documents.corpus
    assert passage.title == "Ferries"
    assert passage.text == (
        'Halina sails at noon.\n\nFares by port\n\nfares = table("silver.fares")\n\n'
        "%sql\nSELECT fare FROM fares"
    )
    assert documents.report["lost"].sum() == 0


def test_a_notebook_of_sql_has_other_comments(read):
    text = DATABRICKS.replace("# D", "-- D").replace("# M", "-- M")
    [passage] = read({"a.sql": text.replace("# C", "-- C")}).corpus
    assert passage.title == "Ferries"


def test_words_of_a_rich_text_are_counted_by_a_second_reading(read):
    text = r"{\rtf1\ansi{\fonttbl{\f0 Times;}}Caf\'e9 \b opens\b0 .\par}"
    report = read({"a.rtf": text}).report
    assert report.loc[0, ["words", "lost"]].tolist() == [2, 0]


def test_a_text_with_form_feeds_has_pages_and_no_running_heads(read):
    pages = [f"Harbour rules\n\nHalina has {word} decks.\n" for word in "abc"]
    documents = read({"a.txt": "\f".join(pages)})
    assert documents.corpus[0].text.split("\n\n") == [
        "Halina has a decks.",
        "Halina has b decks.",
        "Halina has c decks.",
    ]
    assert documents.corpus[0].metadata["last_page"] == 3
    assert documents.report.loc[0, ["left_out", "lost"]].tolist() == [6, 0]


def test_lengths_and_escapes_of_a_manual_are_no_words(read):
    page = (
        '.TH FERRY 1 "May 2024" "v2" "User Commands"\n.SH NAME\nferry \\- sails\n.SH OPTIONS\n'
        ".TP 2m\n\\fB\\-n\\fR\nNine\\s-2crowns\\s+2 for all.\n.RS 4\nAt noon.\n.RE\n"
    )
    documents = read({"ferry.1": page})
    assert documents.report.loc[0, "lost"] == 0
    assert "At noon." in documents.corpus[-1].text
