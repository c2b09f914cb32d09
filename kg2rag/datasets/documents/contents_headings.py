"""Tables of contents: their headings in many languages, and their entries among the blocks of a page."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from functools import cache
from itertools import takewhile

from kg2rag.datasets.documents.blocks import Block

_CONTENTS = (
    "Contents, Table of Contents, Inhalt, Inhaltsverzeichnis, Inhaltsübersicht, Inhoud, "
    "Inhoudsopgave, Indhold, Indholdsfortegnelse, Innhold, Innholdsfortegnelse, Innehåll, "
    "Innehållsförteckning, Sisällys, Sisällysluettelo, Sisukord, Saturs, Turinys, Sommaire, "
    "Table des matières, Índice, Índice general, Contenido, Tabla de contenido, "
    "Tabla de contenidos, Indice, Sommario, Sumário, Conteúdo, Cuprins, Spis treści, Obsah, "
    "Tartalom, Tartalomjegyzék, Sadržaj, Kazalo, Садржај, Содержание, Оглавление, Зміст, "
    "Съдържание, Περιεχόμενα, İçindekiler, المحتويات, فهرس المحتويات, جدول المحتويات, الفهرس, "
    "فهرست, فهرست مطالب, תוכן העניינים, תוכן, विषय सूची, अनुक्रमणिका, সূচিপত্র, Mục lục, สารบัญ, "
    "Daftar Isi, Isi Kandungan, 目次, 目录, 目錄, 차례, 목차"
)


@cache
def contents_headings() -> frozenset[str]:
    """The `line_key` of the headings that tables of contents have, in many languages."""
    return frozenset(map(line_key, _CONTENTS.split(", ")))


def line_key(line: str) -> str:
    """The letters of a line in lower case.

    Numbers differ from page to page, and blanks between the outline and the text.
    """
    return "".join(filter(str.isalpha, line.casefold()))


def without_contents(blocks: Sequence[Block]) -> tuple[list[Block], list[str]]:
    """The blocks of a page without its table of contents, and the texts of that.

    It is at least two blocks of links to headings of the page, numbers aside, and its heading.
    """
    headings = {line_key(block.text) for block in blocks if block.level}
    entries = [i for i, block in enumerate(blocks) if _is_entry(block, headings)]
    if len(entries) < 2:
        return list(blocks), []
    left_out = {*entries, *_headings_above(entries, blocks)}
    return (
        [block for index, block in enumerate(blocks) if index not in left_out],
        [blocks[index].text for index in sorted(left_out)],
    )


def without_typed_contents(
    blocks: Sequence[Block],
) -> tuple[list[Block], list[str]]:
    """The blocks of a text without its table of contents that has no links, and the texts of that.

    It is the heading "Contents" and the blocks behind it, at least two, that have the words of later
    headings, numbers aside.
    """
    for index, block in enumerate(blocks):
        if line_key(block.text) not in contents_headings():
            continue
        entries = _entries_behind(blocks[index + 1 :])
        if len(entries) > 1:
            stop = index + 1 + len(entries)
            texts = [block.text, *(entry.text for entry in entries)]
            return [*blocks[:index], *blocks[stop:]], texts
    return list(blocks), []


def _entries_behind(blocks: Sequence[Block]) -> list[Block]:
    """The first blocks that have the words of later headings."""
    last = {line_key(block.text): i for i, block in enumerate(blocks) if block.level}
    return [
        block
        for _, block in takewhile(
            lambda item: last.get(line_key(item[1].text), -1) > item[0],
            enumerate(blocks),
        )
    ]


def _is_entry(block: Block, headings: Container[str]) -> bool:
    """Whether a block consists of links within its page, each with the words of a heading."""
    if block.level or not all(link.target.startswith("#") for link in block.links):
        return False
    keys = [line_key(link.text) for link in block.links]
    are_headings = all(key in headings for key in keys if key)
    return are_headings and "".join(keys) == line_key(block.text) != ""


def _headings_above(entries: Sequence[int], blocks: Sequence[Block]) -> Iterator[int]:
    """The indexes of the headings "Contents" just above entries."""
    for index in entries:
        if index and line_key(blocks[index - 1].text) in contents_headings():
            yield index - 1
