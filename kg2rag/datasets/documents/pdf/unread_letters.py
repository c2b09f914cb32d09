"""The pages of a PDF -> what is told of letters that pdfium cannot read, or not for certain.

pdfium takes the number of a letter in its font for a character if the font does not tell which one
it is. It leaves out single letters of a font that is neither in the file nor on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ctypes import c_float, create_string_buffer
from typing import Any

from kg2rag.datasets.documents.blocks import join_remarks
from kg2rag.datasets.documents.pdf.letters import PageText

SAMPLE_LETTERS = 100
"""Number of letters of a page that are looked at."""
_SUBSTITUTES = (b"Chrome Sans MM", b"Chrome Serif MM")
"""The fonts, without Chinese letters, that pdfium has for an unknown one."""
MIN_SHARE = 0.02
"""Least share of letters without a character that is told; formulas of TeX have less."""


def remark_on_letters(pages: Sequence[PageText]) -> str:
    """The remark on letters that are read wrong or not at all; "" for none."""
    remarks = list[str]()
    share = _share_without_character(pages)
    if share >= MIN_SHARE:
        remarks.append(
            f"letters whose characters its fonts do not tell, about {100 * share:.0f} % of all, "
            "may be wrong: recognise the text first (OCR)"
        )
    n_unread = sum(map(_n_without_font, pages))
    if n_unread:
        remarks.append(
            f"pieces of text that are not read, since their fonts are neither in it nor installed: {n_unread}"
        )
    return join_remarks(*remarks)


def _share_without_character(pages: Sequence[PageText]) -> float:
    """The share of letters without a character in their font; 0 if most are small letters and digits.

    In that case, pdfium has guessed right, as in figures of matplotlib: the numbers of letters in a
    font rarely are those of small letters.
    """
    samples = [sample for page in pages for sample in _samples(page)]
    guessed = [character for character, is_guessed in samples if is_guessed]
    n_plausible = sum(
        character.islower() or character.isdigit() for character in guessed
    )
    if 2 * n_plausible >= len(guessed):
        return 0.0
    return len(guessed) / len(samples)


def _samples(page: PageText) -> Iterator[tuple[str, bool]]:
    """Some characters of a page, at equal distances, and whether pdfium has guessed each."""
    from pypdfium2 import raw

    step = 1 + len(page.letters) // SAMPLE_LETTERS
    for character, row in zip(page.text[::step], page.letters[::step], strict=False):
        if not character.isspace():
            error = raw.FPDFText_HasUnicodeMapError(page.text_page.raw, row)
            yield character, error == 1


def _n_without_font(page: PageText) -> int:
    """The number of texts of a page that have no width, since no font shows them."""
    from pypdfium2 import raw

    parent = page.text_page.page.raw
    sides = [c_float() for _ in range(4)]
    left, _, right, _ = sides
    family = create_string_buffer(128)
    count = 0
    for number in range(raw.FPDFPage_CountObjects(parent)):
        element: Any = raw.FPDFPage_GetObject(parent, number)
        if raw.FPDFPageObj_GetType(element) == raw.FPDF_PAGEOBJ_TEXT:
            raw.FPDFPageObj_GetBounds(element, *sides)
            if left.value == right.value:
                font = raw.FPDFTextObj_GetFont(element)
                raw.FPDFFont_GetFamilyName(font, family, len(family))
                count += family.value in _SUBSTITUTES
    return count
