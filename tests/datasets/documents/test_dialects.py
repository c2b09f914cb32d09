"""Dialects of Markdown and wikis, and small formats: their marks are no text, and all words that they show are."""

from __future__ import annotations

import json

import pytest

from kg2rag import BM25, KnowledgeBase


def text_of(documents):
    return "\n".join(passage.text for passage in documents.corpus)


MDX = """import Tabs from '@theme/Tabs';
import {
  TabItem,
} from '@theme/TabItem';

export const Lamp = ({children}) => (
  <span>{children}</span>
);

{/* a remark */}

Start the pump, `<Tabs>` and all.

<Tabs groupId="os" style={{color: "red"}}>
<TabItem value="lin" label="Linux hosts">

Run the setup.

</TabItem>
</Tabs>

The <Lamp color="green">lamp</Lamp> blinks.

```js
import Tabs from '@theme/Tabs';
```
"""
SHOWN = [
    "Start the pump, <Tabs> and all.",
    "Linux hosts",
    "Run the setup.",
    "The lamp blinks.",
    "import Tabs from '@theme/Tabs';",
]


@pytest.mark.parametrize("name", ["a.mdx", "a.md"])
def test_imports_and_components_of_mdx_are_left_out_and_their_titles_are_text(
    read, name
):
    documents = read({name: MDX})
    assert text_of(documents) == "\n\n".join(SHOWN)
    assert documents.report.loc[0, "lost"] == 0
    assert documents.report.loc[0, "left_out"] > 0


def test_an_import_in_a_listing_makes_no_mdx(read):
    documents = read({"a.md": "Type <Name>.\n\n```js\nimport a from 'a';\n```\n"})
    assert text_of(documents) == "Type <Name>.\n\nimport a from 'a';"


MYST = """(target)=
# Sails

% a remark

See {doc}`the needle <needle>`, {ref}`Masts <masts>` and {term}`luff`.

```{note} Mind
Wax it.
```

+++ {"slide": true}

The end.
"""


def test_targets_comments_and_roles_of_myst_are_read_as_its_pages_show_them(read):
    documents = read(
        {"a.md": MYST, "needle.md": "# Needle\n\nThree sides, a % of none.\n"}
    )
    passages = {passage.id: passage for passage in documents.corpus}
    assert passages["a.md"].title == "Sails"
    assert (
        passages["a.md"].text
        == "See the needle, Masts and luff.\n\nMind\n\nWax it.\n\nThe end."
    )
    assert "needle.md" in str(passages["a.md"].metadata["links"])
    assert documents.report["lost"].sum() == 0


def test_a_line_that_begins_with_a_sign_of_percent_is_text_of_markdown(read):
    assert text_of(read({"a.md": "Nine\n\n% of all.\n"})) == "Nine\n\n% of all."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "====== Cellar ======\n\nThe **air** is //damp//.\n\n===== Racks =====\n\n  * Oak\n"),
        ("a.dokuwiki", "====== Cellar ======\n\nThe **air** is //damp//.\n\n===== Racks =====\n\n  * Oak\n"),
        ("a.wiki", "h1. Cellar\n\nThe *air* is {color:red}damp{color}.\n\nh2. Racks\n\n* Oak\n"),
        ("a.mediawiki", "= Cellar =\n\nThe '''air''' is ''damp''.\n\n== Racks ==\n\n* Oak\n"),
    ],
)  # fmt: skip
def test_pages_of_wikis_are_known_by_their_marks(read, name, text):
    documents = read({name: text})
    assert {passage.title for passage in documents.corpus} == {"Cellar"}
    assert text_of(documents) == "The air is damp.\nRacks\nOak"
    assert documents.report.loc[0, "words"] > 0
    assert documents.report.loc[0, "lost"] == 0


def test_subtitles_are_read_by_sentences(read):
    srt = "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>The keeper</i>\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n"
    vtt = "WEBVTT\n\nNOTE a remark\n\nintro\n00:01.000 --> 00:02.000 align:start\n<v Mara>Fog came.</v>\n"
    documents = read({"a.srt": f"{srt}{{\\an8}}never slept.\r\n", "b.vtt": vtt})
    assert text_of(documents) == "The keeper never slept.\nMara: Fog came."
    assert documents.report["lost"].sum() == 0


def test_a_canvas_has_the_texts_of_its_cards_and_links_to_its_files(read):
    nodes = [
        {"type": "text", "text": "# Plan\n\nBuild the **dock**."},
        {"type": "file", "file": "Dock.md"},
        {"type": "group", "label": "Phase two"},
    ]
    canvas = json.dumps({"nodes": nodes, "edges": [{"label": "needs"}]})
    documents = read({"map.canvas": canvas, "Dock.md": "# Dock\n\nOak.\n"})
    plan = documents.corpus[-1]
    assert plan.text.split("\n\n") == [
        "Build the dock.",
        "Dock.md",
        "Phase two",
        "needs",
    ]
    assert plan.metadata["links"] == [["Dock.md", "Dock.md"]]


def test_a_list_of_references_has_a_document_for_each_entry(read):
    bibtex = (
        "@article{moor,\n title = {The {Bergen} moss},\n author = {Moor, Ida and Berg, Jan},\n"
        " journal = {Roofs},\n abstract = {We counted moss.},\n year = 2001\n}\n"
    )
    ris = "TY  - JOUR\nTI  - Heather bogs\nAB  - Bogs store carbon.\nER  - \n"
    corpus = read({"a.bib": bibtex, "b.ris": ris}).corpus
    assert [(passage.title, passage.text) for passage in corpus] == [
        ("The Bergen moss", "Ida Moor, Jan Berg\n\n2001\n\nRoofs\n\nWe counted moss."),
        ("Heather bogs", "Bogs store carbon."),
    ]


def test_a_table_without_a_column_of_text_is_read_with_all_its_columns_and_says_so(
    read,
):
    csv = "Ticket,Betreff,Beschreibung\nT-1,Drucker,Er zieht leider kein Papier ein.\nT-2,Netz,Es fällt aus.\n"
    documents = read({"a.csv": csv})
    assert (
        documents.corpus[1].text
        == "Ticket: T-2\nBetreff: Netz\nBeschreibung: Es fällt aus."
    )
    assert "no column of text" in documents.report.loc[0, "remark"]


@pytest.mark.parametrize(
    "csv",
    ["port,speed\n1,2\n", "question,gold\nWho is it that signs all requests?,a.md\n"],
)
def test_a_table_of_numbers_or_of_questions_is_no_document(read, csv):
    report = read({"a.md": "Halina sails.", "b.csv": csv}).report.set_index("document")
    assert report.loc["b.csv", "status"] == "skipped"


def test_quotation_marks_that_enclose_no_cells_are_text_and_said(read):
    lone = 'title\ttext\nA\t"The start\nB\tThe end\n'
    quoted = 'title\ttext\nA\t"One\ncell"\n'
    documents = read({"lone.tsv": lone, "quoted.tsv": quoted})
    report = documents.report.set_index("document")["remark"]
    assert [passage.text for passage in documents.corpus] == [
        '"The start',
        "The end",
        "One\ncell",
    ]
    assert "quotation marks" in report["lone.tsv"]
    assert report["quoted.tsv"] == ""


def test_a_line_of_a_mailbox_that_would_begin_a_message_is_read_without_its_mark(read):
    mailbox = "From a@b Mon Mar  1 10:00:00 2021\nSubject: Leak\n\nIt drips.\n>From the tank.\n"
    assert text_of(read({"a.mbox": mailbox})).endswith("It drips.\nFrom the tank.")


def test_conditions_of_asciidoc_are_no_text(read):
    text = "= Ferries\n\n== Pier\n\nifdef::pro[]\nHalina lands.\nendif::[]\n\nifdef::x[Lund waits.]\n"
    documents = read({"a.adoc": text})
    assert text_of(documents) == "Pier\nHalina lands.\n\nLund waits."
    assert documents.report.loc[0, "remark"] == ""


def test_a_page_that_a_program_saved_has_its_headings_below_its_title(read):
    page = '<body class="doc-content"><p class="title">Rules</p><h1>Scope</h1><p>Lund rules.</p></body>'
    [passage] = read({"a.html": page}).corpus
    assert (passage.title, passage.text) == ("Rules", "Scope\nLund rules.")


def test_soft_hyphens_of_a_page_divide_no_word(read):
    assert (
        text_of(read({"a.html": "<p>They co&shy;op\xaderate.</p>"}))
        == "They cooperate."
    )


def test_a_caption_of_a_chunk_is_text(read):
    text = "Eels.\n\n```{r, fig.cap='By month'}\nplot(eels)\n```\n"
    assert text_of(read({"a.Rmd": text})) == "Eels.\n\nBy month\nplot(eels)"


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (
            '{{< tab "Ferries" >}}\nHalina sails.\n{{< /tab >}}\n',
            "Ferries\n\nHalina sails.",
        ),
        (
            '{{% notice warning "Mind" %}}\nLund waits.\n{{% /notice %}}\n',
            "Mind\n\nLund waits.",
        ),
        (
            '{{< figure src="a.png" caption="The crane" >}}\n\nNine.\n',
            "The crane\n\nNine.",
        ),
        ("{{< highlight go >}}\nmoor()\n{{< /highlight >}}\n", "moor()"),
        ("{% highlight ruby %}\nmoor()\n{% endhighlight %}\n", "moor()"),
        ("{% comment %}\nA draft.\n{% endcomment %}\nNine.\n{: .note }\n", "Nine."),
        ("{% raw %}Write {{ title }}.{% endraw %}\n", "Write {{ title }}."),
        ("See [the guide]({% post_url 2020-01-01-guide %}).\n", "See the guide."),
        ("The pier. ^block1\n\n%% a remark %%\n\nNine.\n", "The pier.\n\nNine."),
        (
            "Use %%time and %%timeit, x ^2, 5 % each.\n",
            "Use %%time and %%timeit, x ^2, 5 % each.",
        ),
        (
            "Write `{% if %}`.\n\n```\n{{< tab >}}\n```\n",
            "Write {% if %}.\n\n{{< tab >}}",
        ),
        ("> [!info]- Weather\n> It rains.\n", "Weather\n\nIt rains."),
        ("![[photo.png|300]]\n\nNine.\n", "Nine."),
    ],
)
def test_instructions_of_site_generators_and_note_programs_are_no_text(
    read, markdown, text
):
    documents = read({"a.md": markdown})
    assert text_of(documents) == text
    assert documents.report["lost"].sum() == 0


def test_a_page_saved_by_a_browser_in_one_file_is_read_without_its_styles(read):
    archive = (
        "From: <Saved by Blink>\r\nSubject: Tides\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/related; boundary="B"\r\n\r\n--B\r\nContent-Type: text/html\r\n'
        "Content-Transfer-Encoding: quoted-printable\r\n\r\n<title>Tides</title><p>Noon =E2=80=93 high.</p>\r\n"
        "--B\r\nContent-Type: text/css\r\n\r\n.x { color: red }\r\n--B--\r\n"
    )
    [passage] = read({"a.mht": archive}).corpus
    assert (passage.title, passage.text) == ("Tides", "Noon – high.")


def test_yaml_is_read_as_json_is_and_what_has_aliases_as_plain_text(read):
    interface = "openapi: 3.0.1\ninfo:\n  title: Booking\npaths:\n  /a:\n    get:\n      summary: Fetch a cabin\n"
    files = {"a.yaml": interface, "b.yml": "script: run tests\n"}
    files["c.yaml"] = "openapi: 3\na: &a [x, x]\nb: [*a, *a]\n"
    files["faq.yml"] = "- name: Tides\n  text: The tide turns at noon.\n"
    documents = read(files)
    assert documents.corpus[0].title == "Booking"
    assert "paths /a get summary: Fetch a cabin" in text_of(documents)
    assert "a: &a [x, x]" in text_of(documents)
    assert documents.corpus[-1].title == "Tides"
    assert documents.corpus[-1].text == "The tide turns at noon."
    status = documents.report["status"].tolist()
    assert status == ["read", "skipped", "read", "read"]


def test_letters_of_the_code_page_of_a_rich_text_are_read(read):
    text = rb"{\rtf1\ansi\ansicpg1251 \'c0\'ea\'f2 \u1055\'cf \'e2 May.\par}"
    assert text_of(read({"a.rtf": text})) == "Акт П в May."


def test_bytes_of_rtf_are_in_the_code_page_of_their_font(read):
    fonts = rb"{\fonttbl{\f0\fcharset0 Arial;}{\f1\froman\fcharset204{\*\panose 02}Times;}{\f2\fcharset134 SimSun;}}"
    text = (
        rb"{\rtf1\ansi\ansicpg1252\deff0"
        + fonts
        + rb" Caf\'e9 {\f1 \'c0\'ea\'f2} \f2 \'b8\'db\'bf\'da\plain  na\'efve \uc2\u28207\'b8\'db\uc1 "
        + rb"\u-10179?\u-8704? \'7b\par}"
    )
    assert text_of(read({"a.rtf": text})) == "Café Акт 港口 naïve 港😀 {"


def test_lines_above_the_columns_of_a_report_are_left_out_and_said(read):
    report = "Incidents 2024;;\nExported by Lund;;\n\nid;title;text\n1;Leak;It drips.\n"
    plain = "name,state\nRope,content\nTar,dry for three days\n"
    documents = read({"a.csv": report, "b.csv": plain})
    assert documents.corpus[0].text == "It drips."
    assert "left out: 3" in documents.report.loc[0, "remark"]
    assert text_of(documents).endswith(
        "name: Rope\nstate: content\nname: Tar\nstate: dry for three days"
    )


def test_slides_of_latex_show_what_any_step_shows(read):
    slides = (
        "\\documentclass{beamer}\\begin{document}\\begin{frame}{Tides}\\begin{itemize}\\item<1-> High\\end{itemize}"
        "\\only<3>{Neap tides}\\begin{columns}\\begin{column}{.5\\textwidth}Left\\end{column}\\end{columns}"
        "\\end{frame}\\end{document}"
    )
    assert text_of(read({"a.tex": slides})).split("\n\n")[-3:] == [
        "High",
        "Neap tides",
        "Left",
    ]


def test_other_names_of_a_note_are_found_by_words_and_as_entities(read):
    note = "---\naliases: [ATP factory, Powerhouse]\n---\n# Mitochondrion\n\n## Role\n\nIt works for the cell.\n"
    moved = "---\ntitle: Tides\naliases: [/old/tides/, https://x.org/a]\n---\nNoon.\n"
    documents = read({"a.md": note, "b.md": moved, "c.md": "# Cell\n\nIt lives.\n"})
    knowledge = KnowledgeBase.build(documents.corpus)
    assert BM25(knowledge).retrieve("powerhouse", k=1).passage_ids == ["a.md"]
    aliases = dict(zip(knowledge.graph.names, knowledge.graph.aliases, strict=True))
    assert aliases["Mitochondrion"] == ("Powerhouse",)
    texts = {passage.id: passage.text for passage in documents.corpus}
    assert texts["a.md"] == "Role\nATP factory, Powerhouse\n\nIt works for the cell."
    assert texts["b.md"] == "Noon."
    assert documents.corpus[0].metadata["aliases"] == ["ATP factory", "Powerhouse"]


DRAWING = """---
excalidraw-plugin: parsed
---
==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu of this document. ⚠== You can decompress it.

A remark on the back.

# Excalidraw Data

## Text Elements
Boil the flask gently ^aB3dE5fG

Keep the lid ^c4

%%
## Drawing
```compressed-json
{data}
```
%%
"""


def test_a_drawing_of_excalidraw_shows_its_texts_only(read):
    documents = read({"Flask.excalidraw.md": DRAWING.format(data="N4KAk/+ " * 900)})
    [passage] = documents.corpus
    assert passage.title == "Flask"
    assert passage.text == (
        "A remark on the back.\n\nBoil the flask gently\n\nKeep the lid ^c4"
    )
    assert documents.report.loc[0, "lost"] == 0
    assert documents.report.loc[0, "left_out"] > 900


def test_queries_and_names_of_blocks_of_a_note_are_no_text_and_listings_are(read):
    note = (
        "Halina sails. ^harbour1\n\n| a |\n| - |\n| b |\n\n^table-1\n\n![[Pier#^harbour2]]\n\n"
        '```dataview\nTABLE fee FROM "Piers"\n```\n\n```sql\nTABLE fee\n```\n\n%%\na remark\n\nof two parts\n%%\n'
    )
    documents = read({"a.md": note})
    assert text_of(documents) == "Halina sails.\n\na\n\nb\n\nPier\n\nTABLE fee"
    assert documents.report.loc[0, "lost"] == 0


MATERIAL = """# Lumen {{ #lumen }}

[TOC]

[Start](b.md){{ .md-button }}

<div class="grid cards" markdown>

-   :material-clock-fast:{{ .lg .middle }} __Fast__

    ---

    A million lines. :octicons-arrow-right-24:

    [:octicons-arrow-right-24: Reference](b.md)

-   :simple-markdown: __Plain__

    The quota of the SLO.
    {{ .annotate }}

</div>

Press ++ctrl+page-up++ or ++"My Key"++ in C++ and C++, ==marked== if a == b. {{>>why?<<}}{{++New++}}{{--old--}}

`++ctrl++ ==a== :material-x:`

*[SLO]: service level
    objective

{snippet}
"""


def test_marks_of_mkdocs_are_no_text_and_the_words_between_them_are(read):
    page = MATERIAL.format(snippet='--8<-- "nowhere.md"')
    documents = read({"a.md": page})
    assert {passage.title for passage in documents.corpus} == {"Lumen"}
    assert text_of(documents).split("\n\n") == [
        "Start",
        "Fast",
        "A million lines.",
        "Reference",
        "Plain",
        "The quota of the SLO.",
        "Press Ctrl+Page Up or My Key in C++ and C++, marked if a == b. New",
        "++ctrl++ ==a== :material-x:",
    ]
    assert documents.report.loc[0, "lost"] == 0
    assert documents.report.loc[0, "left_out"] > 10
    assert documents.report.loc[0, "remark"].endswith(": 1")


def test_components_and_places_of_contents_are_no_text_of_a_page(read):
    page = (
        '# Ferries <Badge type="tip" text="New boats here" />\n{: .no_toc }\n\n* TOC\n{:toc}\n\nA <Name> sails.\n\n'
        "<<< @/nowhere.js#part\n"
    )
    documents = read({"a.md": page})
    assert documents.corpus[0].title == "Ferries New boats here"
    assert text_of(documents) == "A <Name> sails."
    assert documents.report.loc[0, "remark"]
    assert documents.report.loc[0, "lost"] == 0


def test_a_wiki_of_github_has_the_titles_of_its_files_and_no_navigation(read):
    files = {
        "_Sidebar.md": "* [[Home]]",
        "Home.md": "See [[the notes|Release-Notes]] first.",
        "Release-Notes.md": "# 2.4.0\n\nIt honours daylight.\n\n# 2.3.1\n\nA leak is closed.\n",
        "Deploying-It.md": "## Checklist\n\n- [x] Rotate the keys\n- [ ] Tell [x] us\n",
    }
    documents = read(files)
    passages = [(one.title, one.text) for one in documents.corpus]
    assert passages == [
        ("Deploying It", "Checklist\nRotate the keys\n\nTell [x] us"),
        ("Home", "See the notes first."),
        ("Release Notes", "2.4.0\nIt honours daylight."),
        ("Release Notes", "2.3.1\nA leak is closed."),
    ]
    home = documents.corpus[1]
    assert home.metadata["links"] == [["the notes", "Release-Notes.md#0"]]
    report = documents.report.set_index("document")
    assert report.loc["_Sidebar.md", "reason"]
    assert report["lost"].sum() == 0


@pytest.mark.parametrize(
    ("first", "second", "title"),
    [
        ("## Jahresbericht 2024", "## 1 Umsatz", "Jahresbericht 2024"),
        ("## 1 Umsatz", "## 2 Ausblick", "page"),
        ("## Before", "## 1. Install", "page"),
        ("# Umsatz", "# 1 Lage", "Umsatz"),
        ("# v2.4.0", "# v2.3.1", "page"),
    ],
)
def test_the_first_of_several_headings_of_a_level_is_a_title_above_numbered_sections(
    read, first, second, title
):
    text = f"{first}\n\nIt grew.\n\n{second}\n\nIt shrank.\n"
    assert {one.title for one in read({"page.md": text}).corpus} == {title}


def test_page_marks_of_marker_and_tags_of_images_with_code_are_no_text(read):
    marker = f"Probes drift.\n\n{{1}}{'-' * 48}\n\nWe recalibrate {{1}}-- twice.\n"
    mdx = "import x from '@y';\n\n<img src={useBaseUrl('/a.png')} alt=\"Broker layout\" />\n\nIt ends.\n"
    documents = read({"a.md": marker, "b.mdx": mdx})
    texts = [passage.text for passage in documents.corpus]
    assert texts == [
        "Probes drift.\n\nWe recalibrate {1}-- twice.",
        "Broker layout\n\nIt ends.",
    ]
    assert documents.report["lost"].sum() == 0


def test_the_description_of_an_image_is_no_text_in_one_line_or_in_several(read):
    text = (
        "# Map\n\n![The two\nferries of Lund](map.svg)\n\n![Port](port.png)\n\nNoon.\n"
    )
    documents = read({"map.md": text})
    assert [passage.text for passage in documents.corpus] == ["Noon."]
    assert documents.report.loc[0, ["words", "lost"]].tolist() == [2, 0]


def test_contents_signs_of_links_and_prompts_of_a_page_are_left_out(read):
    documents = read(
        {
            "a.html": """<html><head><title>Pump</title></head><body><h1>Pump<a href="#pump">&#8203;</a></h1>
<p>Contents</p><p><a href="#h.1">Goals</a> <a href="#h.1">1</a></p><p><a href="#h.2">Risks</a> <a href="#h.2">2</a></p>
<h2 id="h.1"><span class="header-section-number">1</span> Goals</h2><p>See <a href="#h.2">Risks</a>.</p>
<div class="jp-InputPrompt">In [1]:</div><pre>start()</pre>
<h2 id="h.2">Risks</h2><dl><dt><a href="#x">Fire</a></dt><dd id="x">It burns.</dd></dl>
<p><a href="#ref1" id="note1">[1]</a> As counted.</p></body></html>"""
        }
    )
    assert text_of(documents) == (
        "Goals\nSee Risks.\n\nstart()\nRisks\nFire\n\nIt burns.\n\nAs counted."
    )
    assert documents.report.loc[0, "lost"] == 0


def test_a_page_that_only_leads_to_another_is_skipped_and_the_title_may_be_outside_of_main(
    read,
):
    documents = read(
        {
            "old.html": '<meta http-equiv="refresh" content="0; url=new.html"><p>Redirecting to new.html</p>',
            "new.html": "<html><head><title>c - Locks on NFS - Forum</title></head><body><h1>Locks on NFS</h1>"
            '<div role="main"><p>Use a hard link for it.</p></div></body></html>',
        }
    )
    assert list(documents.report["status"]) == ["read", "skipped"]
    (passage,) = documents.corpus
    assert (passage.title, passage.text) == ("Locks on NFS", "Use a hard link for it.")


PAGES_OF_A_PDF = ["# Report\n\nThe dike holds.", "The gauge moved.", "A pump stands."]


@pytest.mark.parametrize(
    "mark",
    ["\f", "{7}" + 48 * "-", "--- end of page=7 ---", "<!-- PageBreak -->"],
)
def test_marks_and_running_heads_of_pages_in_markdown_are_left_out(read, mark):
    pages = [
        f"Annual report\n\n{page}\n\nPage {number} of 3\n"
        for number, page in enumerate(PAGES_OF_A_PDF, start=1)
    ]
    documents = read({"a.md": f"\n{mark}\n".join(pages)})
    [passage] = documents.corpus
    assert passage.text == "The dike holds.\n\nThe gauge moved.\n\nA pump stands."
    assert documents.report.loc[0, "left_out"] >= 18
    assert documents.report.loc[0, "lost"] == 0


@pytest.mark.parametrize(
    "header",
    [
        "Title: Pumps\n\nURL Source: https://a.org\n\nMarkdown Content:\nPumps\n=====\n",
        "Title: Pumps\nDate: 2024-03-01\nTags: water, dike\n",
    ],
)
def test_fields_above_a_page_give_its_title_and_are_no_text(read, header):
    documents = read({"a.md": f"{header}\nNote: close the valve first."})
    [passage] = documents.corpus
    assert (passage.title, passage.text) == ("Pumps", "Note: close the valve first.")
    assert documents.report.loc[0, "lost"] == 0


def test_names_of_emoji_are_no_words(read):
    page = "Start :rocket: now at 10:30:45, `:tada:`.\n\n:return: the way\n\n:white_check_mark: Done"
    documents = read({"a.md": page})
    assert text_of(documents) == (
        "Start now at 10:30:45, :tada:.\n\n:return: the way\n\nDone"
    )
    assert documents.report.loc[0, "lost"] == 0


@pytest.mark.parametrize("fence", [":::", "```"])
def test_options_of_directives_are_no_emoji(read, fence):
    documents = read({"a.md": f"{fence}{{note}}\n:class: tip\nRead it.\n{fence}"})
    assert text_of(documents) == "Read it."


def test_lines_to_neighbouring_pages_and_labels_for_reading_aloud_are_left_out(read):
    line = '<p>Next: <a href="b.html" rel="next">Leases</a>, Up: <a href="i.html" rel="up">Spool</a></p>'
    long = f'<p>{"word " * 30}<a href="b.html" rel="next">Leases</a></p>'
    documents = read(
        {
            "a.html": f"<div>{line}<h3>Slots</h3>{long}<p>·&nbsp; Dry.</p>"
            f'<div><span class="sr-only">Note</span>Mind the bus.</div>{line}</div>'
            "<svg><symbol><title>Menu</title><svg></svg></symbol><symbol><title>Light</title></symbol></svg>"
        }
    )
    assert text_of(documents) == f"{'word ' * 30}Leases\n\nDry.\n\nMind the bus."
    assert documents.report.loc[0, "lost"] == 0


def test_values_of_instructions_that_are_phrases_are_text(read):
    page = '{% include note.html content="Mind the gap" class="a b c" %}\n\nHalina sails.\n'
    documents = read({"a.md": page})
    assert documents.corpus[0].text == "Mind the gap\n\nHalina sails."


def test_a_listing_in_a_list_ends_where_it_ends(read):
    listing = "- ```python\n  cube(7) {{query x}}\n  ```\n"
    documents = read({"n.md": f"- Cubes\n{listing}- {{{{query (todo now)}}}}\n- End"})
    assert text_of(documents) == "Cubes\n\ncube(7) {{query x}}\n\nEnd"


def test_a_fence_of_one_format_is_no_listing(read):
    html = "```{=html}\n<p>Shown</p><script>alert(1)</script>\n```"
    latex = "```{=latex}\n\\newpage\n```"
    documents = read({"n.qmd": f"# Cars\n\n{html}\n\n{latex}\n\nEnd"})
    assert text_of(documents) == "Shown\n\nEnd"


def test_names_of_documented_objects_and_computed_addresses(read):
    page = (
        "See [docs]({{ site.baseurl }}/docs) and ![pic]({{ '/a.png' | relative_url }}).\n\n"
        "::: larder.shelf.Brass\n    options:\n      show_source: false\n\n::: larder\n    handler: python\n\nEnd\n"
    )
    assert text_of(read({"a.md": page})) == (
        "See docs and .\n\nlarder.shelf.Brass\n\nlarder\n\nEnd"
    )


def test_a_home_page_without_a_text_has_the_phrases_of_its_front_matter(read):
    home = (
        "---\nlayout: home\nhero:\n  name: Owl\n  tagline: It sees at night.\n  actions:\n    - text: Start\n"
        "      link: /guide\nfeatures:\n  - icon: x\n    title: Quiet\n    details: Wings without a sound.\n---\n"
    )
    documents = read(
        {"index.md": home, "a.md": "---\ndescription: Not shown here.\n---\nNoon.\n"}
    )
    assert text_of(documents) == (
        "Noon.\nOwl\n\nIt sees at night.\n\nStart\n\nQuiet\n\nWings without a sound."
    )


def test_marks_in_listings_and_included_files_of_vitepress(read):
    page = "# Owl\n\n```ts\nconst owl = 7 // [!code focus]\n```\n\n<!--@include: ./parts/a.md-->\n"
    documents = read({"index.md": page, "parts/a.md": "It sees at night.\n"})
    assert text_of(documents) == "const owl = 7\n\nIt sees at night."


def test_options_of_listings_and_lists_of_contents_of_myst_are_no_text(read):
    page = (
        "# Owl\n\n```{code-block} python\n:linenos:\n:caption: feed.py\nfeed(7)\n```\n\n"
        "```{toctree}\n:maxdepth: 2\nindex\n```\n\n```{figure} a.png\n:width: 80%\n\nAt night.\n```\n"
    )
    assert text_of(read({"a.md": page})) == "feed.py\nfeed(7)\n\nAt night."


def test_marks_of_a_forum_are_no_text(read):
    post = '[quote="ada, post:7"]\nWhy?\n[/quote]\n\nNight.\n\n[details="More"]\nDark.\n[/details]\n'
    assert text_of(read({"a.md": post})) == "Why?\n\nNight.\n\nMore\n\nDark."
