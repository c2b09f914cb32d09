"""Mutated files of every format: an equal result, another valid one, or a DataError that names the file.

`KG2RAG_FUZZ=20000` attacks with so many files instead of the few of every run; the mutations of a
number are always the same, so a finding is run again by its format and number
(`fuzz.campaign.one`).
"""

from __future__ import annotations

import os
from collections import defaultdict

import pytest
from fuzz.campaign import PERMITTED, Case, attack, counts
from fuzz.formats import FORMATS

EACH = -(-int(os.environ.get("KG2RAG_FUZZ", 0)) // len(FORMATS)) or 40
NUMBERS = {name: range(EACH // 4 if name == "store" else EACH) for name in FORMATS}
"""Format -> the numbers of its cases; a damaged store is built again, which takes as long as twenty other cases."""
CHECKSUMS = ("comparison", "saved graph", "graph as Parquet")
"""Formats with checksums of every file."""


@pytest.fixture(scope="module")
def came() -> dict[str, list[Case]]:
    """Format -> what came of its cases."""
    found: dict[str, list[Case]] = defaultdict(list)
    for case in attack((name, number) for name in FORMATS for number in NUMBERS[name]):
        found[case["format"]].append(case)
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_read_rightly_or_refused_by_name(
    name: str, came: dict[str, list[Case]]
) -> None:
    assert len(came[name]) == len(NUMBERS[name])
    findings = [case for case in came[name] if case["came"] not in PERMITTED]
    assert findings == []


def test_the_mutations_reach_behind_the_parsers_of_every_format(
    came: dict[str, list[Case]],
) -> None:
    # A campaign in which nothing is ever refused, or nothing ever read, attacks nothing.
    for name, tally in counts(
        case for cases in came.values() for case in cases
    ).items():
        assert tally["equal"] + tally["other"] > 0 or name in CHECKSUMS, name
        assert tally["clear error"] > 0 or name == "store", name  # which is built again
