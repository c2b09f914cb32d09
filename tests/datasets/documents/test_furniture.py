"""What the pages of a folder repeat is left out, if it is furniture; labels and statements stay."""

from __future__ import annotations

import pytest


def text_of(documents):
    return "\n".join(passage.text for passage in documents.corpus)


def page(title, body, following):
    return f"""<html><body><div><a href="/">Observatory</a><p>Since 1962</p></div>
<div><h1>{title}</h1><p>Status: open</p><p>{body}</p><dl><dt>Parameters</dt><dd>{body[::-1]}</dd></dl>
<a href="/edit">Edit this page</a><p>The end of {title}.</p>
<div><p>Share</p></div><h2>Related</h2><p><a href="{following}.html">{following}</a></p>
<h3>Hours</h3><p>Fridays from eight</p></div></body></html>"""


TITLES = ["Dome", "Mirror", "Jupiter", "Comets", "Library", "Workshop"]
PAGES = {
    f"site/{title}.html": page(title, f"About the {title.lower()}.", following)
    for title, following in zip(TITLES, [*TITLES[1:], TITLES[0]], strict=True)
}


def test_edges_and_links_that_most_pages_repeat_are_left_out_and_counted(read):
    documents = read({**PAGES, "notes.md": "# Notes\n\nObservatory"})
    first = next(p for p in documents.corpus if p.doc_id == "site/Dome.html")
    assert first.id == "site/Dome.html"
    assert first.text == (
        "Status: open\n\nAbout the dome.\n\nParameters\n\n.emod eht tuobA\n\nThe end of Dome."
    )
    assert "Observatory" in text_of(documents)  # of the notes, a page of another folder
    report = documents.report.set_index("document")
    # Observatory, Since 1962, Edit this page, Share, Related, Mirror, Related > Hours, Fridays from eight
    assert report.loc["site/Dome.html", "left_out"] == 14
    notes = documents.source["notes"]
    assert notes["words that most pages of a folder repeat"] == 6 * 14


def test_four_pages_and_pages_with_nothing_else_stay_as_they_are(read):
    few = read(dict(list(PAGES.items())[:4]))
    assert text_of(few).count("Fridays from eight") == 4
    same = read({f"{name}.md": f"# {name}\n\nTo be written." for name in TITLES})
    assert text_of(same).count("To be written.") == 6


def test_a_section_of_its_own_name_and_links_between_notes_stay(read):
    documents = read(
        {
            f"{name}.md": f"# {name}\n\n[[Ada]]\n\nA note.{name}\n\n## {name}()\n\nDeprecated."
            for name in TITLES
        }
    )
    assert text_of(documents).count("Deprecated.") == 6
    assert text_of(documents).count("Ada") == 6


@pytest.mark.parametrize("n_words", [50, 51])
def test_a_long_text_is_no_furniture(read, n_words):
    notice = "word " * n_words
    documents = read(
        {f"{name}.html": f"<p>On {name}.</p><p>{notice}</p>" for name in TITLES}
    )
    assert ("word" in text_of(documents)) == (n_words > 50)


def test_lists_of_the_beginnings_of_pages_are_left_out(read):
    beginning = "The dome of the observatory turns on nine new rollers."
    post = f"<h1>New rollers</h1><p>{beginning}</p><p>A firm gave them.</p>"
    entry = f"<h2>New rollers</h2><p>{beginning}</p><p>1 March, 3 minutes</p>"
    other = "<h2>Old rollers</h2><p>The dome of the observatory turned on nine old rollers.</p>"
    documents = read(
        {
            "posts/rollers.html": post,
            "index.html": f"<h1>Observatory</h1><p>Since 1962.</p>{entry}{other}",
            "tags.html": f"<h1>Posts</h1>{entry}",
        }
    )
    assert text_of(documents).count(beginning) == 1
    assert "turned on nine old rollers" in text_of(documents)
    report = documents.report.set_index("document")
    assert report.loc["index.html", "left_out"] == 16  # heading 2, beginning 10, date 4
    assert report.loc["tags.html", "status"] == "skipped"
    assert documents.source["notes"]["words of excerpts of other pages"] == 32


def test_a_summary_that_several_lists_show_is_read_once(read):
    post = "<h1>New rollers</h1><p>The dome turns on nine new rollers.</p>"
    summary = "A firm in Lund gave us rollers for nothing."
    entry = f'<h2>New rollers</h2><p>{summary}</p><p><a href="/posts/rollers.html">More</a></p>'
    documents = read(
        {
            "posts/rollers.html": post,
            "index.html": f"<h1>Observatory</h1><p>Since 1962.</p>{entry}",
            "tags/dome.html": f"<h1>Dome</h1>{entry}",
        }
    )
    assert text_of(documents).count(summary) == 1
    report = documents.report.set_index("document")
    assert report.loc["tags/dome.html", "status"] == "skipped"


def test_an_article_that_lists_show_first_keeps_its_title(read):
    top = "<header><h1><a href='/'>Observatory</a></h1></header>"
    article = "<article><h1>New rollers</h1><p>The dome turns on nine new rollers.</p></article>"
    pages = {
        f"{name}.html": f"{top}{article}<article><h2>{name}</h2><p>About {name}.</p></article>"
        for name in TITLES[:3]
    }
    documents = read({**pages, "rollers.html": f"{top}{article}"})
    titles = {passage.doc_id: passage.title for passage in documents.corpus}
    assert titles["rollers.html"] == "New rollers"


def test_a_section_of_markdown_is_not_emptied(read):
    page = "[Home](https://a.org/)\n\n# {0}\n\nAbout {0}.\n\n[Edit](https://a.org/{0})\n\n## License\n\nMIT"
    documents = read({f"{name}.md": page.format(name) for name in TITLES})
    assert text_of(documents).count("License\nMIT") == 6
    assert "Home" not in text_of(documents)


def test_sections_of_furniture_of_crawled_pages_are_left_out(read):
    page = (
        "[Docs](https://a.org/)\n\n* [Home](https://a.org/)\n* [Ask](https://a.org/ask)\n\n×\n\n* Setup\n"
        "  * [Docker](https://a.org/docker)\n* {0}\n* [Tour](https://a.org/tour)\n\n# {0}\n\n"
        "About {0}.\n\n## Limits\n\nNone of {0}.\n\n"
        "#### On this page\n\n* [Limits](https://a.org/{0}#limits)\n\n##### Search\n\nType to search"
    )
    documents = read({f"{name}.md": page.format(name) for name in TITLES})
    assert [p.text for p in documents.corpus if p.doc_id == "Dome.md"] == [
        "About Dome.",
        "Limits\nNone of Dome.",
    ]


def test_the_author_of_all_pages_stays(read):
    documents = read(
        {
            f"{name}.html": f"<h1>{name}</h1><p>By Ebba Lind</p><p>On {name}.</p>"
            for name in TITLES
        }
    )
    assert text_of(documents).count("By Ebba Lind") == 6


INDEX = """<html><head><title>OPS (Observatory)</title></head><body><div id="page">
<h1>Space details:</h1><table><tr><th>Key</th><td>OPS</td></tr></table>{sentence}
<h2>Available pages:</h2><ul><li><a href="1.html">Dome</a><ul><li><a href="2.html">Mirror</a></li>
<li><a href="3.html#lens">Comets</a></li></ul></li></ul>
<div id="footer" role="contentinfo"><p>Made by a program on 3 November</p></div></div></body></html>"""
LISTED = {
    f"{number}.html": f"<h1>{title}</h1><p>About the {title.lower()}, in words.</p>"
    for number, title in enumerate(("Dome", "Mirror", "Comets"), start=1)
}


@pytest.mark.parametrize(
    ("index", "is_read"),
    [
        (INDEX.format(sentence=""), False),
        (INDEX.format(sentence="<p>Visit us on Fridays.</p>"), True),
        (INDEX.format(sentence="").replace(">Mirror<", ">A glass of Jena<"), True),
        (INDEX.format(sentence="").replace("2.html", "https://jena.example"), True),
    ],
    ids=["list", "sentence", "words of its own", "link to another site"],
)
def test_a_page_of_links_to_other_pages_is_a_list(read, index, is_read):
    documents = read({**LISTED, "index.html": index})
    report = documents.report.set_index("document")
    assert (report.loc["index.html", "status"] == "read") == is_read
    assert "program" not in text_of(documents)
    assert len(documents.corpus) >= 3


FIELDS = (
    "<table><tr><td>By</td><td>Ebba</td></tr><tr><td>Of</td><td>1999</td></tr></table>"
)
MENU = '<p><a href="{}.html">{}</a></p>'


@pytest.mark.parametrize(
    ("fields", "menu", "is_read"),
    [
        (f"{FIELDS}<p>Fridays</p>", "", False),
        (f"{FIELDS}<p>A dome with a mirror by the old road to Jena</p>", "", True),
        (f"{FIELDS}<p>Fridays</p>", "all pages", True),
    ],
    ids=["short", "long", "menu"],
)
def test_the_only_page_that_leads_to_all_others_is_a_list(read, fields, menu, is_read):
    names = {"1": "Dome", "2": "Mirror", "3": "Comets", "index": "Space details"}
    links = "".join(MENU.format(*pair) for pair in names.items()) if menu else ""
    pages = {name: f"{page}{links}" for name, page in LISTED.items()}
    documents = read({**pages, "index.html": INDEX.format(sentence=fields)})
    status = documents.report.set_index("document")["status"]
    assert (status["index.html"] == "read") == is_read
    assert list(status[sorted(LISTED)]) == ["read"] * 3


def test_an_index_that_people_write_is_read(read):
    links = "\n".join(f"- [{number}]({number}.html)" for number in (1, 2, 3))
    assert text_of(read({**LISTED, "index.md": links})).endswith("1\n\n2\n\n3")


def test_pages_of_links_to_each_other_are_read(read):
    links = [f'<p><a href="{number}.html">Page {number}</a></p>' for number in range(4)]
    pages = {
        f"{number}.html": f"<h1>Page {number}</h1>{''.join(links)}"
        for number in range(4)
    }
    assert read(pages).report["status"].tolist() == ["read"] * 4
