from __future__ import annotations

import re
from io import StringIO

import pandas as pd
import pytest

from kg2rag import report
from kg2rag.report.notes import notes
from kg2rag.report.score_sheet import placebo_rows

NASTY = 'a&b<script>alert("x")</script>'


def table(
    *records: tuple[str, float, float | None], best: float | None = None
) -> pd.DataFrame:
    """Scores of one metric: (system, mean, p); the interval is the mean +- 0.1, wins/ties/losses 3/2/1.

    `best` is the p-value of the best system against all others.
    """
    top = max(mean for _, mean, _ in records)
    counts = {True: (3, 2, 1), False: (pd.NA,) * 3}
    rows = [
        (
            s,
            "recall@5",
            m,
            m - 0.1,
            m + 0.1,
            p,
            *counts[p is not None],
            best if m == top else None,
        )
        for s, m, p in records
    ]
    columns = [
        "system",
        "metric",
        "mean",
        "ci_low",
        "ci_high",
        "p_holm",
        "wins",
        "ties",
        "losses",
        "p_best",
    ]
    frame = pd.DataFrame(rows, columns=columns).assign(
        detectable=0.0789, seed_sd=float("nan")
    )
    return frame.astype(
        {
            "p_holm": float,
            "p_best": float,
            "wins": "Int64",
            "ties": "Int64",
            "losses": "Int64",
        }
    )


@pytest.fixture
def scores() -> pd.DataFrame:
    return table(
        ("dense", 0.5, None), ("graph_x", 0.6, 0.0004), ("bm25", 0.4, 0.02), best=0.01
    )


MS = {"dense": 0.1234, "graph_x": 12.34, "bm25": 345.6}
CONFIG = {
    "data": {
        "name": NASTY,
        "setting": "pooled",
        "unit": "passage",
        "questions": 1234,
        "passages": 56789,
    },
    "systems": {"dense": NASTY},
    "command": f"kg2rag compare {NASTY}",
}


def sheet(scores: pd.DataFrame, **given: object) -> report.ScoreSheet:
    return report.ScoreSheet(
        scores, **{"ms_per_query": MS, "baseline": "dense", "config": CONFIG, **given}
    )


def printed(sheet: report.ScoreSheet, width: int) -> str:
    from rich.console import Console

    console = Console(width=width, record=True, file=StringIO())
    console.print(report.TerminalTable(sheet))
    return console.export_text()


def table_html(sheet: report.ScoreSheet) -> str:
    return type("Shown", (report.Tabular,), {"sheet": sheet})()._repr_html_()


def page(scores: pd.DataFrame) -> str:
    curve = pd.DataFrame(
        {name: [0.1, 0.5] for name in MS}, index=pd.Index([1, 100], name="k")
    )
    index = pd.MultiIndex.from_product([["bridge", NASTY], MS])
    groups = {
        "type": pd.DataFrame(
            {"n": 7, "recall@5": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}, index=index
        )
    }
    larger, columns = (
        {"bm25": f"1.50 times the tokens {NASTY}"},
        "a b difference p_holm effect_size wins ties losses",
    )
    pairs = pd.DataFrame(
        [("dense", NASTY, -0.1, 0.004, -0.42, 3, 2, 9)], columns=columns.split()
    )
    given = {
        "curves": {"k": curve, "tokens": curve},
        "groups": groups,
        "tests": {"pairs": pairs},
    }
    return report.page(sheet(scores, larger=larger), **given)


@pytest.mark.parametrize(
    ("p", "expected"),
    [(0.0009, "***"), (0.001, "**"), (0.01, "*"), (0.05, ""), (float("nan"), "")],
)
def test_stars_follow_the_three_levels(p, expected):
    assert report.stars(p) == expected


def test_the_best_mean_is_bold_where_it_is_significantly_above_all_others(scores):
    untested = scores.assign(p_best=float("nan"))
    # to bm25
    near = table(
        ("dense", 0.5, None), ("graph_x", 0.6, 0.001), ("bm25", 0.59, 0.002), best=0.3
    )
    # by the baseline
    beaten = table(
        ("dense", 0.5, None), ("graph_x", 0.4, 0.001), ("bm25", 0.3, 0.001), best=0.001
    )
    bold = [
        [row.cells[0].bold for row in report.rows(sheet(one))]
        for one in (scores, untested, near, beaten)
    ]
    assert bold == [[0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]]
    assert "No winner is marked" in report.notes(sheet(untested))[0]


def test_shares_are_printed_in_per_cent_and_counts_as_they_are(scores):
    named = {
        name: scores.assign(metric=name)
        for name in ("recall@5", "hits@5", "ndcg@5", "dcg", "own_share")
    }
    counted = scores.assign(
        metric="own_count", mean=scores["mean"] * 20, ci_high=scores["ci_high"] * 20
    )
    both = sheet(pd.concat([*named.values(), counted]))
    in_per_cent = [name for name in both.metrics if both.scales[name] == 100]
    assert (in_per_cent, len(both.metrics)) == (["recall@5", "ndcg@5", "own_share"], 6)


def test_markdown_by_hand(scores):
    assert report.markdown(sheet(scores)).splitlines()[:5] == [
        "| system | recall@5 | ms/query |",
        "|---|---:|---:|",
        "| dense (baseline) | 50.0 (40.0 to 60.0) | 0.12 |",
        "| graph\\_x | **60.0**\\*\\*\\* (50.0 to 70.0) | 12.3 |",
        "| bm25 | 40.0\\* (30.0 to 50.0) | 346 |",
    ]


def test_the_terminal_table_shows_interval_and_counts_and_reads_no_markup(scores):
    text = printed(
        sheet(scores, config={"data": {**CONFIG["data"], "name": "[red]set"}}), 100
    )
    assert re.search(r"graph_x +60\.0\*\*\* +12\.3", text)
    assert all(part in text for part in ("50.0–70.0", "3/2/1", "[red]set"))


def test_the_page_is_the_same_every_time_escapes_everything_and_its_ids_stand_once(
    scores,
):
    html = page(scores)
    assert "<script" not in html
    # title, heading, group, pair, larger set, command, configuration
    assert html.count("&lt;script&gt;") >= 6
    ids = re.findall(r'\bid="([^"]*)"', html)
    assert len(ids) == len(set(ids)) > 0
    assert page(scores) == html


def wide(metrics: int) -> report.ScoreSheet:
    """Two systems with long names and some metrics."""
    one = table(
        ("dense", 0.5, None), ("confidence_gat/expanded", 0.6, 0.0001), best=0.2
    )
    scores = pd.concat(
        [one.assign(metric=f"all_recall@{k}") for k in range(1, metrics + 1)],
        ignore_index=True,
    )
    return sheet(scores, ms_per_query={"dense": 1.2, "confidence_gat/expanded": 9})


@pytest.mark.parametrize("width", [45, 60, 80, 200])
def test_names_are_whole_and_no_metric_is_lost_at_any_width(width):
    text = printed(wide(6), width)
    assert "confidence_gat/expanded" in text
    assert text.count("60.0***") == 6
    assert all(f"@{k}" in text for k in range(1, 7))
    assert all(len(line) <= width for line in text.splitlines())
    assert "…" not in text


def test_a_larger_set_is_flagged_in_every_format(scores):
    flagged = sheet(scores, larger={"bm25": "1.50 times the tokens of the others"})
    assert "‡ bm25 returns 1.50 times the tokens of the others." in report.notes(
        flagged
    )
    assert [row.name for row in report.rows(flagged)] == ["dense", "graph_x", "bm25 ‡"]
    assert "| bm25 ‡ | 40.0" in report.markdown(flagged)
    assert "bm25 ‡" in table_html(flagged)
    assert "bm25 ‡" in printed(flagged, 100)


def test_what_so_few_questions_would_miss_stands_below_the_table(scores):
    # Wins, ties and losses make six questions; 0.0789 is shown in points.
    note = report.notes(sheet(scores))[1]
    told = ("from dense with 6 questions", "7.9 in recall@5", "divided by the 2 tests")
    assert all(part in note for part in told)


def test_several_seeds_show_the_spread_between_them(scores):
    repeated = sheet(
        scores.assign(seed_sd=[float("nan"), 0.0123, float("nan")]),
        config={"seeds": {"graph_x": ["a", "b"]}},
    )
    assert [row.cells[0].spread for row in report.rows(repeated)] == ["", "± 1.2", ""]
    assert "graph_x (2)" in report.notes(repeated)[2]
    assert "**60.0**\\*\\*\\* ± 1.2 (50.0 to 70.0)" in report.markdown(repeated)
    assert "± 1.2" in table_html(repeated)
    assert "± 1.2" in printed(repeated, 100)


def test_the_report_says_how_many_pairs_were_corrected_for_and_marks_winners_that_were_tested_alone(
    scores,
):
    html = page(scores)
    assert "Holm-corrected over all 1 pair;" in html
    assert all(
        part in html
        for part in (
            "−10.0<sup>**</sup>",
            "<td>.004</td>",
            "<td>−0.42</td>",
            "<td>3/2/9</td>",
        )
    )
    assert html.count("<b>") == 1  # in the breakdown, which has no test, none


def test_the_notes_say_in_which_format_the_vectors_are_and_what_no_system_can_find(
    scores,
):
    encoder = {
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "dtype": "float32",
        "device": "cpu",
    }
    config = {
        "knowledge": [
            {"encoder": encoder},
            {"encoder": encoder},
            {"encoder": {"encoder": "unused"}},
        ]
    }
    notes = report.notes(
        sheet(scores, config={**config, "data": {"gold_out_of_reach": 3}})
    )
    assert "Vectors: all-MiniLM-L6-v2, float32 on cpu." in notes
    assert any(
        note.startswith("3 questions have gold that is not among their candidates")
        for note in notes
    )
    assert not any(
        note.startswith(("Vectors", "3 "))
        for note in report.notes(sheet(scores, config={}))
    )


def test_a_graph_and_its_placebo_by_hand(scores):
    row = {
        "strategy": "walk",
        "graph": "mine",
        "mean": 0.7,
        "placebo": 0.3,
        "gain": 0.4,
    }
    tested = pd.DataFrame(
        [{**row, "ci_low": -0.05, "ci_high": 0.85, "p": 0.04, "p_holm": 0.04}]
    )
    assert list(placebo_rows(sheet(scores), tested, "recall@5")) == [
        ("walk", "mine", "70.0", "30.0", "+40.0*  ", "−5.0 to +85.0", ".040")
    ]


def test_an_end_that_nobody_knows_is_a_question_mark(scores):
    unknown = scores.assign(ci_low=float("nan"), ci_high=float("nan"))
    assert {
        (cell.low, cell.high)
        for row in report.rows(sheet(unknown))
        for cell in row.cells
    } == {("?", "?")}


def test_notes_explain_the_signs_that_are_there_and_no_others() -> None:
    signs = notes(
        sheet(table(("dense", 0.5, None), ("graph_x", 0.6, 0.0004), best=0.01))
    )[0]
    assert "Stars: differs from dense" in signs
    assert "Bold: best, and significantly above every other" in signs
    none = notes(sheet(table(("dense", 0.5, None), ("graph_x", 0.6, 0.4), best=0.4)))[0]
    assert "No star: no system differs from dense" in none
    assert "No bold: no system is significantly above every other" in none
    assert "***" not in none
    assert notes(sheet(table(("dense", 0.5, None)))) == [
        "Means in per cent with 95 % intervals."
    ]


def test_a_system_of_which_a_number_was_chosen_with_the_set_in_view_is_marked(
    scores,
) -> None:
    chosen = {
        "what": "damping",
        "kind": "chosen",
        "sets": ["musique-100"],
        "training": [],
    }
    elsewhere = {
        "what": "beam",
        "kind": "chosen",
        "sets": ["cosqa-500"],
        "training": [],
    }
    data = {**CONFIG["data"], "name": "musique"}
    seen = sheet(
        scores,
        config={
            "data": data,
            "tuning": {"bm25": [elsewhere, chosen], "graph_x": [elsewhere]},
        },
    )
    assert [row.name for row in report.rows(seen)] == ["dense", "graph_x", "bm25 †"]
    assert [
        note
        for note in report.notes(seen)
        if "†" in note and "damping" in note and "beam" not in note
    ]


def test_vectors_of_several_encoders_are_named_with_their_systems(scores) -> None:
    described = {
        "model": "org/mini",
        "dtype": "float32",
        "device": "cpu",
        "encoder": "SentenceEncoder()",
    }
    given = {"encoder": "UserEncoder('look-up')", "fingerprint": "1f2e"}
    config = {
        "knowledge": [
            {"encoder": described, "systems": ["dense"]},
            {"encoder": given, "systems": ["graph_x"]},
        ]
    }
    (note,) = (
        note
        for note in report.notes(sheet(scores, config=config))
        if note.startswith("Vectors")
    )
    assert "mini, float32 on cpu (dense)" in note
    assert "UserEncoder('look-up') (graph_x)" in note


def test_a_graph_given_as_a_list_of_triples_makes_no_long_footnote(scores) -> None:
    graph = f"Triples([{', '.join(['(head, relation, tail)'] * 1000)}])"
    config = {"graph_unread": {"bm25": [graph]}, "not_cached": {"dense": graph}}
    notes = report.notes(sheet(scores, config=config))
    (note,) = (note for note in notes if note.startswith("bm25: "))
    assert "Triples(" in note
    assert max(map(len, notes)) < 500


def test_runs_that_were_read_from_the_store_are_named_with_the_time_of_their_computation(
    scores,
) -> None:
    when = "2026-11-24T09:15:00+00:00"
    stored = sheet(
        scores,
        stored={"bm25": when, "graph_x": when, "dense": "2026-11-26T10:00:00+00:00"},
    )
    (note,) = (
        note for note in report.notes(stored) if note.startswith("Read from the store")
    )
    assert (
        "bm25, graph_x (computed 2026-11-24 09:15); dense (computed 2026-11-26 10:00)"
        in note
    )
    assert note in printed(stored, 1000)


def test_no_control_character_of_a_name_reaches_the_terminal(scores) -> None:
    escape = "\x1b]0;title\x07\x1b[31mred\u202e"
    hostile = scores.assign(system=[f"{name}{escape}" for name in scores["system"]])
    names = {f"{name}{escape}": ms for name, ms in MS.items()}
    config = {"data": {**CONFIG["data"], "name": escape}, "remarks": {escape: escape}}
    text = printed(
        sheet(hostile, ms_per_query=names, baseline=f"dense{escape}", config=config),
        200,
    )
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


@pytest.mark.parametrize(
    ("loader", "name", "is_marked"),
    [
        # A folder of the user, with the name of a public set.
        (
            "from_folder",
            "docs",
            False,
        ),
        ("beir", "anthropic-docs", True),
        ("musique", "musique", True),
        ("beir", "nfcorpus", False),
    ],
)
def test_a_set_is_in_view_of_a_choice_by_loader_and_name(
    loader: str, name: str, is_marked: bool, scores: pd.DataFrame
) -> None:
    tuning = {"dense": [{"what": "weights", "sets": ["musique-100", "docs"]}]}
    config = {"data": {"name": name, "source": {"loader": loader}}, "tuning": tuning}
    assert bool(sheet(scores, config=config).tuned) == is_marked


def test_too_few_questions_for_any_difference_are_named_once(
    scores: pd.DataFrame,
) -> None:
    text = " ".join(notes(sheet(scores.assign(detectable=float("nan")))))
    assert text.count("however large") == 1
    assert "6 questions detect no difference from dense" in text


def test_a_difference_that_rounds_to_zero_has_no_minus(scores: pd.DataFrame) -> None:
    of_scores = sheet(scores)
    assert of_scores.text("recall@5", -0.0004) == "0.0"
    assert of_scores.text("recall@5", -0.0004, "+") == "+0.0"
    assert of_scores.text("recall@5", -0.0006, "+") == "-0.1"


def test_no_line_breaks_between_a_number_and_its_per_cent_sign(
    scores: pd.DataFrame,
) -> None:
    use = {"graph_x": {"warnings": {"no entity": 0.25}}}
    page = report.page(sheet(scores, config={**CONFIG, "graph_use": use}))
    assert "graph_x: no entity (25.0\N{NO-BREAK SPACE}% of the questions)." in page
