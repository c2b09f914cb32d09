from __future__ import annotations

import re
from html.parser import HTMLParser
from io import StringIO

import pandas as pd
import pytest

from kg2rag import report

NASTY = 'a&b<script>alert("x")</script>'


def table(*records: tuple[str, float, float | None]) -> pd.DataFrame:
    """Scores of one metric: (system, mean, p); the interval is the mean +- 0.1, wins/ties/losses 3/2/1."""
    rows = [
        (s, "recall@5", m, m - 0.1, m + 0.1, p, *((3, 2, 1) if p is not None else (pd.NA,) * 3)) for s, m, p in records
    ]
    columns = ["system", "metric", "mean", "ci_low", "ci_high", "p_holm", "wins", "ties", "losses"]
    return pd.DataFrame(rows, columns=columns).astype(
        {"p_holm": float, "wins": "Int64", "ties": "Int64", "losses": "Int64"}
    )


@pytest.fixture
def scores() -> pd.DataFrame:
    return table(("dense", 0.5, None), ("graph_x", 0.6, 0.0004), ("bm25", 0.4, 0.02))


MS = {"dense": 0.1234, "graph_x": 12.34, "bm25": 345.6}
CONFIG = {
    "data": {"name": NASTY, "setting": "pooled", "unit": "passage", "questions": 1234, "passages": 56789},
    "systems": {"dense": NASTY},
    "command": f"kg2rag compare {NASTY}",
}


def page(scores: pd.DataFrame, question: str = NASTY) -> str:
    curve = pd.DataFrame({name: [0.1, 0.5] for name in MS}, index=pd.Index([1, 100], name="k"))
    index = pd.MultiIndex.from_product([["bridge", NASTY], MS])
    groups = {"type": pd.DataFrame({"n": 7, "recall@5": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, index=index)}
    differences = pd.DataFrame(
        [("q1", question, "bm25", 0.0, 1.0, -1.0)],
        columns=["query_id", "question", "system", "score", "baseline", "difference"],
    )
    return report.page(scores, MS, "dense", CONFIG, curve, groups, differences)


@pytest.mark.parametrize(
    ("p", "expected"), [(0.0009, "***"), (0.001, "**"), (0.01, "*"), (0.05, ""), (float("nan"), "")]
)
def test_stars_follow_the_three_levels(p, expected):
    assert report.stars(p) == expected


def test_the_best_mean_is_bold_where_it_is_significantly_above_the_baseline(scores):
    assert [row.cells[0].bold for row in report.rows(scores, MS, "dense")] == [False, True, False]


def test_a_winner_that_is_not_significant_is_not_bold():
    scores = table(("dense", 0.5, None), ("graph_x", 0.6, 0.2), ("bm25", 0.55, 0.01))
    assert not any(row.cells[0].bold for row in report.rows(scores, MS, "dense"))


def test_a_significantly_worse_system_is_never_bold():
    scores = table(("dense", 0.5, None), ("graph_x", 0.4, 0.001), ("bm25", 0.3, 0.001))
    assert not any(row.cells[0].bold for row in report.rows(scores, MS, "dense"))


def test_shares_are_printed_in_per_cent_and_counts_as_they_are():
    assert (report.scale("recall@5"), report.scale("hits@5"), report.scale("ndcg@5"), report.scale("dcg")) == (
        100,
        1,
        100,
        1,
    )


def test_milliseconds_keep_three_digits(scores):
    assert [row.ms for row in report.rows(scores, MS, "dense")] == ["0.12", "12.3", "346"]


def test_markdown_by_hand(scores):
    assert report.markdown(scores, MS, "dense").splitlines()[:5] == [
        "| system | recall@5 | ms/query |",
        "|---|---:|---:|",
        "| dense (baseline) | 50.0 (40.0 to 60.0) | 0.12 |",
        "| graph\\_x | **60.0**\\*\\*\\* (50.0 to 70.0) | 12.3 |",
        "| bm25 | 40.0\\* (30.0 to 50.0) | 346 |",
    ]


def test_latex_escapes_names_and_marks_the_best(scores):
    text = report.latex(scores, MS, "dense")
    assert r"graph\_x & \textbf{60.0}$^{***}$ {\scriptsize [50.0, 70.0]} & 12.3 \\" in text
    assert r"\toprule" in text


def test_the_terminal_table_shows_interval_and_counts(scores):
    from rich.console import Console

    console = Console(width=100, record=True, file=StringIO())
    console.print(report.rich_table(scores, MS, "dense", CONFIG))
    text = console.export_text()
    assert re.search(r"graph_x +60\.0\*\*\* +12\.3", text)
    assert "50.0–70.0" in text
    assert "3/2/1" in text


def test_names_in_brackets_are_no_markup_in_the_terminal():
    from rich.console import Console

    scores = table(("dense", 0.5, None))
    console = Console(width=100, record=True, file=StringIO())
    console.print(report.rich_table(scores, MS, "dense", {"data": {**CONFIG["data"], "name": "[red]set"}}))
    assert "[red]set" in console.export_text()


def test_everything_in_the_page_is_escaped(scores):
    html = page(scores)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 5  # title, heading, group, question, command, configuration


def test_the_page_loads_nothing_from_elsewhere(scores):
    class Links(HTMLParser):
        found: list[tuple[str, str | None]] = []  # noqa: RUF012

        def handle_starttag(self, tag, attrs):  # noqa: ARG002
            self.found += [(name, value) for name, value in attrs if name in ("src", "href", "xlink:href", "srcset")]

    html = page(scores)
    Links().feed(html)
    assert Links.found
    assert all(value and value.startswith("#") for _, value in Links.found)
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)


def test_ids_stand_once_in_the_page(scores):
    ids = re.findall(r'\bid="([^"]*)"', page(scores))
    assert len(ids) == len(set(ids)) > 0


def test_the_page_is_the_same_every_time(scores):
    assert page(scores) == page(scores)


def test_the_notebook_table_says_what_was_compared(scores):
    html = report.table_html(scores, MS, "dense", CONFIG)
    assert "1,234 questions" in html
    assert "<b>60.0</b>" in html
    assert "<script" not in html


def test_five_metrics_fit_a_terminal_of_eighty_columns():
    from rich.console import Console

    names = ["recall@2", "recall@5", "recall@10", "all_recall@5", "mrr@10"]
    one = table(("expansion_queries", 0.5, None), ("graph_augmented", 0.6, 0.0001))
    scores = pd.concat([one.assign(metric=name) for name in names], ignore_index=True)
    console = Console(width=80, record=True, file=StringIO())
    ms = {"expansion_queries": 1.2, "graph_augmented": 9.9}
    console.print(report.rich_table(scores, ms, "expansion_queries", CONFIG))
    text = console.export_text()
    assert text.count("50.0–70.0") == 5
    assert "expansion_queries" in text
    assert "…" not in text
