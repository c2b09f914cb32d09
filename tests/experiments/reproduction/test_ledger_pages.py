"""The committed result is that of the committed ledgers, and the pages' tables are made of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import ledger_pages
import pytest

from kg2rag.experiments.reproduction import Ledger, Reproduction


@pytest.fixture(scope="module")
def result() -> Reproduction:
    return Reproduction.load(ledger_pages.RESULT)


def test_every_number_of_the_ledgers_is_in_the_result_and_no_other(result: Reproduction) -> None:
    ledgers = [Ledger.read(file) for file in sorted(ledger_pages.LEDGERS.glob("*.toml"))]
    kept = {
        (ledger.name, row.system, ledger.sets[name].name, metric, round(value, 4))
        for ledger in ledgers
        for row in ledger.published
        for name, values in row.values.items()
        for metric, value in values.items()
    }
    columns = ["ledger", "published", "set", "metric", "theirs"]
    assert set(result.frame[columns].itertuples(index=False, name=None)) == kept


def test_only_bm25_is_judged_against_what_was_published(result: Reproduction) -> None:
    judged = result.of("ok", "close", "off")
    assert Counter(judged["published"]) == {
        "BM25": 3
    }  # recall@2 and recall@5 in the first paper, recall@5 in the second
    assert set(judged["system"]) == {"bm25"}


def test_no_setting_of_bm25_gives_both_numbers_of_the_first_paper(result: Reproduction) -> None:
    """As the README says."""
    allowed = result.of("ok", "close", "off")["tolerance"].max()
    rows = result.frame.query("ledger == 'hipporag1' and published == 'BM25' and set == '2WikiMultihopQA'")
    within = rows.assign(within=rows["difference"].abs() <= allowed).groupby("system")["within"].sum()
    assert len(within) == 6
    assert within.max() == 1  # of two: texts alone, by recall@5


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_the_tables_of_the_pages_are_made_of_the_result(page: str) -> None:
    text = (ledger_pages.ROOT / Path(page)).read_text(encoding="utf-8")
    parts = text.split("<!-- ledger ")[1:]
    assert parts
    for part in parts:
        name, table = part.split(" -->\n", 1)
        assert table.split("<!-- / -->")[0] == ledger_pages.table(name)
