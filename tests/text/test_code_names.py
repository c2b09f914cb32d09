"""Which words introduce an example of a code, and what its form matches."""

from __future__ import annotations

import re

import pytest
import re2

from kg2rag.text.code_names import format_by_example


@pytest.mark.parametrize(
    ("text", "example", "fits", "misses"),
    [
        (
            "Find API keys in format 'sk-proj-xxxx'",
            "sk-proj-xxxx",
            "key sk-proj-9fA2bc",
            "sk-proj-9f and sk_proj_9fA2",
        ),
        ("keys like sk-proj-xxxx", "sk-proj-xxxx", "sk-proj-abcd", "task-proj"),
        (
            "ticket numbers such as JIRA-0000",
            "JIRA-0000",
            "see JIRA-821.",
            "MAJIRA-821 jira-821",
        ),
        ("dates written as YYYY-MM-DD", "YYYY-MM-DD", "on 2024-02-29", "on 24-2-29"),
        ("times in the format HH:MM", "HH:MM", "at 09:30", "at 9:3"),
        (
            "phone numbers of the form +43 xxx xxxxxxx",
            "+43 xxx xxxxxxx",
            "+43 664 1234567",
            "+44 664 1234567",
        ),
        ("tokens starting with ghp_", "ghp_", "ghp_a1B2", "xghp_a1 ghp_"),
        ("strings that end in _id", "_id", "user_id", "identity _ids"),
        ("colour codes like #ff00aa", "#ff00aa", "#09C3f1", "#09C3f1a0 #12"),
        (
            "AWS access keys such as AKIAXXXXXXXX",
            "AKIAXXXXXXXX",
            "AKIA12345678",
            "AKIA1234",
        ),
        (
            "addresses of the form name@example.org",
            "name@example.org",
            "ann@work.com",
            "ann at work",
        ),
        ("order numbers matching ORD-####", "ORD-####", "ORD-17", "ORD-A"),
        ("error codes of the form E####", "E####", "E0499", "E-1"),
        ("version strings such as v0.0.0", "v0.0.0", "v1.12.3", "v1.12"),
    ],
)
def test_an_example_becomes_its_form(
    text: str, example: str, fits: str, misses: str
) -> None:
    found = format_by_example(text)
    assert found is not None
    assert found.example == example
    for engine in (re, re2):  # what searches is RE2
        assert engine.search(found.regex, fits)
        assert not engine.search(found.regex, misses)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "like",
        "frameworks like React",
        "diseases such as COVID-19",
        "something like get_user_by_id",
        "names matching *_by_id",
        "words starting with a",
        "films that look like a dream",
        "how do I format a date",
        "in the form of a poem",
    ],
)
def test_prose_wildcards_and_names_are_no_format(text: str) -> None:
    assert format_by_example(text) is None


def test_a_long_text_full_of_introductions_is_read_in_linear_time() -> None:
    assert format_by_example("like " * 20_000) is None
