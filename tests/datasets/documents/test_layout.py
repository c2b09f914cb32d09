"""The elements of pages, as programs write them that find the layout of a PDF."""

from __future__ import annotations

import json

import pytest

UNSTRUCTURED = [
    {"type": "Header", "text": "Northwind", "metadata": {"page_number": 1}},
    {"type": "Title", "text": "Pumps", "metadata": {"page_number": 1}},
    {"type": "NarrativeText", "text": "Drain it.", "metadata": {"page_number": 1}},
    {"type": "PageBreak", "text": "", "metadata": {"page_number": 1}},
    {"type": "Title", "text": "Grease", "metadata": {"page_number": 2}},
    {
        "type": "Table",
        "text": "Rear Lithium",
        "metadata": {
            "page_number": 2,
            "text_as_html": "<table><tr><td>Rear</td><td>Lithium</td></tr></table>",
        },
    },
]
AZURE = {
    "analyzeResult": {
        "content": "Northwind Pumps Drain it. Grease Rear | Lithium",
        "pages": [{"pageNumber": 1, "words": [{"content": "Northwind"}]}],
        "paragraphs": [
            {
                "content": text,
                "boundingRegions": [{"pageNumber": page}],
                **({"role": role} if role else {}),
            }
            for text, role, page in [
                ("Northwind", "pageHeader", 1),
                ("Pumps", "title", 1),
                ("Drain it.", "", 1),
                ("Grease", "sectionHeading", 2),
                ("Rear | Lithium", "", 2),
            ]
        ],
    }
}
DOCLING = {
    "schema_name": "DoclingDocument",
    "body": {"children": [{"$ref": "#/texts/0"}]},
    "texts": [
        {"label": label, "text": text, "prov": [{"page_no": page}], **level}
        for label, text, page, level in [
            ("page_header", "Northwind", 1, {}),
            ("title", "Pumps", 1, {}),
            ("text", "Drain it.", 1, {}),
            ("section_header", "Grease", 2, {"level": 1}),
        ]
    ],
    "tables": [
        {
            "label": "table",
            "prov": [{"page_no": 2}],
            "data": {"grid": [[{"text": "Rear"}, {"text": "Lithium"}]]},
        }
    ],
}
MINERU = [
    {"type": "header", "text": "Northwind", "page_idx": 0},
    {"type": "text", "text": "Pumps", "text_level": 1, "page_idx": 0},
    {"type": "text", "text": "Drain it.", "page_idx": 0},
    {"type": "text", "text": "Grease", "text_level": 2, "page_idx": 1},
    {
        "type": "table",
        "table_caption": [],
        "table_body": "<table><tr><td>Rear</td><td>Lithium</td></tr></table>",
        "page_idx": 1,
    },
]
LLAMA_PARSE = {
    "pages": [
        {
            "page": 1,
            "text": "Pumps Drain it.",
            "items": [
                {"type": "header", "value": "Northwind"},
                {"type": "heading", "lvl": 1, "value": "Pumps", "md": "# Pumps"},
                {"type": "text", "value": "Drain it.", "md": "Drain it."},
            ],
        },
        {
            "page": 2,
            "text": "Grease",
            "items": [
                {"type": "heading", "lvl": 2, "value": "Grease", "md": "## Grease"},
                {"type": "text", "value": "Rear | Lithium"},
            ],
        },
    ]
}
TEXTRACT = {
    "Blocks": [
        block
        for kind, text, page in [
            ("LAYOUT_HEADER", "Northwind", 1),
            ("LAYOUT_TITLE", "Pumps", 1),
            ("LAYOUT_TEXT", "Drain it.", 1),
            ("LAYOUT_SECTION_HEADER", "Grease", 2),
            ("LAYOUT_TABLE", "Rear | Lithium", 2),
        ]
        for block in (
            {"BlockType": "LINE", "Id": text, "Text": text, "Page": page},
            {
                "BlockType": kind,
                "Page": page,
                "Relationships": [{"Type": "CHILD", "Ids": [text]}],
            },
        )
    ]
}
MARKER = {
    "block_type": "Document",
    "children": [
        {
            "block_type": "Page",
            "page": page,
            "children": [{"block_type": kind, "html": html} for kind, html in items],
        }
        for page, items in [
            (
                1,
                [
                    ("PageHeader", "<p>Northwind</p>"),
                    ("SectionHeader", "<h1>Pumps</h1>"),
                    ("Text", "<p>Drain it.</p>"),
                ],
            ),
            (
                2,
                [
                    ("SectionHeader", "<h2>Grease</h2>"),
                    ("Table", "<table><tr><td>Rear</td><td>Lithium</td></tr></table>"),
                ],
            ),
        ]
    ],
}


@pytest.mark.parametrize(
    "value",
    [UNSTRUCTURED, AZURE, DOCLING, MINERU, LLAMA_PARSE, TEXTRACT, MARKER],
    ids="unstructured azure docling mineru llamaparse textract marker".split(),
)
def test_the_elements_of_a_file_are_one_document_without_its_running_heads(read, value):
    documents = read({"a.json": json.dumps(value)})
    assert [(one.doc_id, one.title, one.text) for one in documents.corpus] == [
        ("a.json", "Pumps", "Drain it."),
        ("a.json", "Pumps", "Grease\nRear | Lithium"),
    ]
    assert [one.metadata["page"] for one in documents.corpus] == [1, 2]
    assert documents.report.loc[0, ["words", "left_out", "lost"]].tolist() == [7, 1, 0]


def test_the_elements_of_several_files_are_a_document_each(read):
    elements = [
        {"type": kind, "text": text, "metadata": {"filename": file}}
        for file, kind, text in [
            ("pump.pdf", "Title", "Pumps"),
            ("pump.pdf", "NarrativeText", "Drain it."),
            ("lamp.pdf", "NarrativeText", "Light it."),
        ]
    ]
    corpus = read({"a.json": json.dumps(elements)}).corpus
    assert [(one.doc_id, one.title, one.text) for one in corpus] == [
        ("a.json#pump.pdf", "Pumps", "Drain it."),
        ("a.json#lamp.pdf", "lamp", "Light it."),
    ]


def test_a_header_without_pages_is_a_heading(read):
    elements = [
        {"type": "header", "text": "Pumps"},
        {"type": "text", "text": "Drain it."},
    ]
    [passage] = read({"a.json": json.dumps(elements)}).corpus
    assert (passage.title, passage.text) == ("Pumps", "Drain it.")


@pytest.mark.parametrize(
    "kinds", [("text", "text"), ("title", "title"), ("title", "user")]
)
def test_records_with_other_types_are_a_document_each(read, kinds):
    records = [{"type": kind, "text": "Drain it."} for kind in kinds]
    corpus = read({"a.json": json.dumps(records)}).corpus
    assert len({passage.doc_id for passage in corpus}) == 2


@pytest.mark.parametrize(
    ("lines", "n_documents"),
    [(UNSTRUCTURED, 1), ([AZURE, AZURE], 2), (LLAMA_PARSE["pages"], 1), (MINERU, 1)],
)
def test_lines_of_json_that_are_a_layout_are_read_like_json(read, lines, n_documents):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    corpus = read({"a.jsonl": text}).corpus
    assert len(set(corpus.doc_ids)) == n_documents
    texts = [passage.text for passage in corpus]
    assert texts == ["Drain it.", "Grease\nRear | Lithium"] * n_documents


def test_lines_of_json_with_texts_are_records(read):
    lines = [{"type": "text", "text": "Drain it."}, {"type": "text", "text": "Go."}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    assert len(read({"a.jsonl": text}).corpus) == 2
