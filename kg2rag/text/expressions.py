"""Query text -> its regular expression or wildcards, in RE2, which takes linear time."""

from __future__ import annotations

import re

from kg2rag.text.code_names import format_by_example

MAX_WILDCARDS = 4  # wildcards of a query that are read
MAX_REGEX_CHARACTERS = 1000  # RE2's time grows with pattern × text
_REGEX = re.compile(r"/(.+)/(i?)", re.DOTALL)
_EDGES = "\"'`()[]{},;:?!."
# RE2's messages about text that is an expression in no engine.
_UNREADABLE = ("missing", "unexpected", "no argument", "trailing")


def slash_expression(text: str) -> tuple[str, str] | None:
    """The expression and flag of `/…/` or `/…/i`; None for other texts, such as paths.

    >>> slash_expression("/use[A-Z]/i"), slash_expression("/usr/lib(x/")
    (('use[A-Z]', 'i'), None)
    """
    match = _REGEX.fullmatch(text)
    if match is None:
        return None
    try:
        compile_expression(match[1], match[2])
    except ValueError as error:
        if str(error).startswith(_UNREADABLE):
            return None
    # Another fault, such as a look-ahead, is reported when the expression is used.
    return match[1], match[2]


def compile_expression(pattern: str, flag: str) -> re.Pattern[str]:
    """The RE2 matcher of a pattern, without case if `flag` is "i"; ValueError: RE2 refuses it."""
    import re2

    if len(pattern) > MAX_REGEX_CHARACTERS:
        raise ValueError(
            f"it has {len(pattern)} characters, of at most {MAX_REGEX_CHARACTERS}"
        )
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not flag
    options.max_mem = 1 << 20
    options.never_capture = True
    try:
        matcher: re.Pattern[str] = re2.compile(pattern, options)
        return matcher
    except re2.error as error:
        reason = error.args[0]
        if isinstance(reason, bytes):
            reason = reason.decode()
        raise ValueError(reason) from None


def expression_of(text: str, *, is_cut: bool) -> tuple[str, str] | None:
    """The regular expression and flag of a query, given directly or by an example; else None.

    A query that was cut is no expression, even if it ends with a slash.
    """
    expression = None if is_cut else slash_expression(text.strip())
    if expression is not None:
        return expression
    example = format_by_example(text.strip())
    return None if example is None else (example.regex, "")


def wildcards_and_words(text: str) -> tuple[list[str], str]:
    """The first `MAX_WILDCARDS` words with a `*` and letters, and the text without words with a `*`."""
    words = text.split()
    wildcards = [
        word.strip(_EDGES) for word in words if "*" in word and word.strip(_EDGES + "*")
    ]
    text_without = " ".join(word for word in words if "*" not in word)
    return list(dict.fromkeys(wildcards))[:MAX_WILDCARDS], text_without
