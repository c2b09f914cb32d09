"""The headings of tables of contents in many languages, and the key by which lines are compared."""

from __future__ import annotations

from functools import cache

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
