r"""LaTeX with commands that pandoc does not know -> LaTeX that shows their arguments.

pandoc drops such a command with its arguments, and tells it. Ours: the arguments are text if one of
them, at any use of the command, has two words, or if the source defines the command by
`\NewDocumentCommand`. So terms, entries of a curriculum vitae and questions of an exam are read, and
lengths, colours and settings are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_READINGS = 4
"""Most readings of a text: one more than the deepest nesting of commands whose arguments are shown."""
_SKIPPED = re.compile(r"Skipped '\\([a-zA-Z]+)\*?((?:[^']|'(?! at ))*)' at ")
_GROUP = r"\{(?:[^{}]|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\})*+\}"
_GROUPS = re.compile(_GROUP)
_DEFINED = re.compile(
    r"\\(?:New|Renew|Provide|Declare)DocumentCommand\s*\{?\s*\\([a-zA-Z]+)"
)
_COMMAND = re.compile(r"\\[a-zA-Z]+")
_PHRASE = re.compile(r"[^\W\d_]{2,}[,;:.]?\s+[^\W\d_]{2,}")
_NO_TEXT = frozenset(
    """begin end index glossary phantom hphantom vphantom addcontentsline markboth markright pdfbookmark hypersetup
    nocite tikz tikzset lstset definecolor""".split()
)
"""Commands whose arguments a page does not show."""
_START = r"\begin{document}"


def with_shown_arguments(text: str, messages: str) -> str:
    """A text of LaTeX in which commands of text that pandoc skips are replaced by their arguments.

    messages : what pandoc told when it read the text, with `--verbose`.
    """
    names = sorted(set(_commands_of_text(text, messages)))
    if not names:
        return text
    use = re.compile(
        rf"\\(?:{'|'.join(names)})(?![a-zA-Z])\*?((?:[ \t]*(?:\[[^\[\]\n]*\]|{_GROUP}))+)"
    )
    preamble, start, body = text.rpartition(_START)
    return f"{preamble}{start}{use.sub(_arguments, body)}"


def _commands_of_text(text: str, messages: str) -> Iterator[str]:
    """The names of the commands that pandoc skips with arguments that are text."""
    defined = set(_DEFINED.findall(text))
    for name, arguments in _SKIPPED.findall(messages):
        if name in _NO_TEXT:
            continue
        groups = [_COMMAND.sub("", group[1:-1]) for group in _GROUPS.findall(arguments)]
        has_phrase = any(_PHRASE.search(group) for group in groups if "=" not in group)
        if has_phrase or name in defined:
            yield name


def _arguments(match: re.Match[str]) -> str:
    """The arguments of a command, those in square brackets aside, divided by blanks."""
    return " ".join(group[1:-1].strip() for group in _GROUPS.findall(match[1]))
