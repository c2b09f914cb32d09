"""Text -> its sentences, by sentencex, with the abbreviations of a language of its script."""

from __future__ import annotations

import re
from itertools import chain

from kg2rag.text.languages import script_of

LANGUAGES = {"arabic": "ar", "armenian": "hy", "bengali": "bn", "cyrillic": "ru", "devanagari": "hi", "greek": "el",
             "gujarati": "gu", "tamil": "ta"}  # fmt: skip
"""Script -> the code of the language whose abbreviations are read; "en" for all others."""
_LETTER = re.compile(r"[^\W\d_]")
# sentencex needs quadratic time where no blank follows the end of a sentence.
_BLOCK = re.compile(r".{1000,}?[。！？｡।॥۔]+[」』”’）]*|.+", re.DOTALL)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, without the blanks around them.

    Abbreviations and initials end no sentence; a blank line ends one. No sentence begins with a
    small letter or within a word.

    >>> split_sentences("Mr. T. Smith of the U.S. Army left. He was 40! Why?")
    ['Mr. T. Smith of the U.S. Army left.', 'He was 40!', 'Why?']
    """
    import sentencex

    letter = _LETTER.search(text)
    language = LANGUAGES.get(script_of(letter[0]), "en") if letter else "en"
    sentences: list[str] = []
    blocks = [text] if text.isascii() else _BLOCK.findall(text)
    pieces = chain.from_iterable(sentencex.segment(language, block) for block in blocks)
    for piece in pieces:
        if sentences and _continues(sentences[-1], piece):
            sentences[-1] += piece
        else:
            sentences.append(piece)
    return list(filter(None, map(str.strip, sentences)))


def _continues(sentence: str, piece: str) -> bool:
    """Whether a piece is no new sentence: after an abbreviation, or within a word as "ferry.Boat"."""
    return piece.lstrip()[:1].islower() or sentence.endswith((".", "!", "?"))
