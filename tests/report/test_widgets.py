"""The browser of a comparison, clicked without a browser: a widget's value set is a click."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kg2rag
from kg2rag.evaluation.comparison import Comparison
from kg2rag.report.listing import PAGE
from kg2rag.report.widgets import browse
from kg2rag.retrievers.contract import Retriever
from kg2rag.types import Corpus, Passage, QADataset, Query, Question, Ranking, Triple, rank

NASTY = 'a&b<script>alert("x")</script>'
IDS = [f"p{i}" for i in range(10)]


@dataclass(frozen=True)
class Told(Retriever):
    """Returns for each question the rows it is told, and counts how often it is asked."""

    rows: dict[str, tuple[int, ...]]
    asked: list[str] = field(default_factory=list, repr=False)

    def retrieve_batch(self, queries: Sequence[Query], k: int) -> list[Ranking]:
        self.asked.extend(query.id for query in queries)
        path = {7: (Triple("Ada", "wrote", NASTY, "p7"),)}
        return [self._rank(query.id, np.array(self.rows.get(query.id, (9, 8))), k, path) for query in queries]

    def _rank(self, id_: str, rows: np.ndarray, k: int, path: dict[int, tuple[Triple, ...]]) -> Ranking:
        scores = 1.0 / np.arange(2, len(rows) + 2)
        return rank(id_, rows, scores, IDS, k, stages=("told",), score_parts={"share": scores}, paths=path)


def data(n: int = 4) -> QADataset:
    """Ten passages; the gold of each question is p0; the first four are of two types, the rest of none."""
    corpus = Corpus.from_passages([Passage(id_, "", f"Text {i} {NASTY}", id_, 0) for i, id_ in enumerate(IDS)])
    words = ["Who wrote it?", f"Which {NASTY}?", "Who painted it?", "Where is it?"]
    kinds = ["bridge", "bridge", "comparison", "comparison"]
    words += [f"Question {i}?" for i in range(5, n + 1)]
    kinds += [""] * (n - 4)
    asked = [Question(f"q{i}", words[i - 1], {"p0": 1}, ("Ada",), type=kinds[i - 1]) for i in range(1, n + 1)]
    return QADataset("tiny", corpus, tuple(asked))


# mrr@5 of "b" less that of "a": q1 0.5 - 1, q2 0 - 0, q3 1 - 0, q4 1/3 - 0; "c" finds nothing.
A = {"q1": (0, 1)}
B = {"q1": (1, 0), "q2": (7, 1, 2, 3, 4, 5, 0), "q3": (0, 7), "q4": (1, 2, 0)}


def compared(over: QADataset) -> Comparison:
    systems = {"a": Told(A), "b": Told(B), "c": Told({})}
    metrics = ["mrr@5", "recall@2"]
    return kg2rag.compare(systems, over, metrics=metrics, baseline="a", progress=False)


@pytest.fixture(scope="module")
def few() -> QADataset:
    return data()


@pytest.fixture(scope="module")
def result(few: QADataset) -> Comparison:
    return compared(few)


def listed(panel) -> list[str]:
    return [id_ for _, id_ in panel.list.options]


def text(html: str) -> str:
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)).split())


def test_the_baseline_stands_beside_the_best_other_system_at_first(result):
    assert browse(result).first.left == "a"
    assert browse(result).first.right == "b"


def test_the_data_may_be_left_out_where_the_comparison_remembers_them(result, few):
    assert browse(result).board.data is few


def test_questions_stand_by_difference_either_way_and_equal_ones_as_asked(result):
    panel = browse(result).panel
    assert listed(panel) == ["q3", "q1", "q4", "q2"]
    panel.metric.value = "recall@2"  # 1 - 1, 0 - 0, 1 - 0, 0 - 0
    assert listed(panel) == ["q3", "q1", "q2", "q4"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [("right ahead", "q3 q4 q2 q1"), ("left ahead", "q1 q2 q4 q3"), ("as asked", "q1 q2 q3 q4")],
)
def test_questions_stand_in_the_order_chosen(result, order, expected):
    panel = browse(result).panel
    panel.order.value = order
    assert listed(panel) == expected.split()


def test_a_line_tells_difference_scores_type_and_question(result):
    lines = {id_: line for line, id_ in browse(result).panel.list.options}
    assert lines["q1"].split(maxsplit=5) == ["−50.0", "100.0", "→", "50.0", "bridge", "Who wrote it?"]
    assert lines["q2"].split()[:4] == ["=", "0.0", "→", "0.0"]


@pytest.mark.parametrize(("words", "expected"), [("who IT", "q3 q1"), ("Q4", "q4"), ("wrote painted", "")])
def test_a_search_lists_questions_that_hold_every_word_in_any_case(result, words, expected):
    panel = browse(result).panel
    panel.words.value = words
    assert listed(panel) == expected.split()


def test_one_type_is_listed_and_the_types_say_how_many_they_hold(result):
    panel = browse(result).panel
    assert panel.kind.options == (("all types (4)", ""), ("bridge (2)", "bridge"), ("comparison (2)", "comparison"))
    panel.kind.value = "bridge"
    assert listed(panel) == ["q1", "q2"]


def test_questions_without_a_type_are_of_an_unknown_one():
    panel = browse(compared(data(6))).panel
    assert panel.kind.options[-1] == ("unknown (2)", "unknown")
    panel.kind.value = "unknown"
    assert listed(panel) == ["q5", "q6"]


@pytest.mark.parametrize(
    ("ahead", "expected"),
    [("right", "q3 q4"), ("left", "q1"), ("neither", "q2"), ("either", "q3 q1 q4"), ("", "q3 q1 q4 q2")],
)
def test_questions_on_which_one_system_beats_the_other_are_listed(result, ahead, expected):
    panel = browse(result).panel
    panel.ahead.value = ahead
    assert listed(panel) == expected.split()


def test_questions_of_a_number_of_hops_are_listed(few):
    hops = (2, 10, 2, None)
    questions = tuple(replace(one, hops=n) for one, n in zip(few.questions, hops, strict=True))
    panel = browse(compared(replace(few, questions=questions))).panel
    assert [value for _, value in panel.hops.options] == ["", "2", "10", "unknown"]
    panel.hops.value = "2"
    assert listed(panel) == ["q3", "q1"]


def test_the_question_clicked_is_explained(result):
    panel = browse(result).panel
    assert "Who painted it?" in text(panel.shown.value)
    panel.list.value = "q4"
    assert "Where is it?" in text(panel.shown.value)
    assert "Who painted it?" not in text(panel.shown.value)


def test_both_systems_stand_with_their_scores_on_the_question(result):
    shown = text(browse(result).panel.shown.value)
    assert "a mrr@5 0.0, recall@2 0.0" in shown
    assert "b mrr@5 100.0, recall@2 100.0" in shown


def test_gold_is_marked_and_gold_beyond_the_hits_shown_is_named_with_its_rank(result):
    panel = browse(result).panel
    assert "p0 told ◆ gold" in text(panel.shown.value)
    panel.list.value = "q2"
    assert "◆ gold p0 : at rank 7" in text(panel.shown.value)
    assert "◆ gold p0 : not among the 2 passages of the ranking" in text(panel.shown.value)


def test_hits_carry_their_path_and_the_parts_of_their_score(result):
    shown = text(browse(result).panel.shown.value)
    assert "share 0.3333" in shown
    assert "Ada wrote (5)" in shown


def test_more_hits_are_shown_where_asked(result):
    panel = browse(result, hits=1).panel
    assert panel.hits.options[0] == 1
    panel.list.value = "q2"
    assert panel.shown.value.count('class="rank"') == 2
    panel.hits.value = 10
    assert panel.shown.value.count('class="rank"') == 7 + 2


def test_another_system_keeps_the_question_and_changes_what_is_shown(result):
    panel = browse(result).panel
    panel.list.value = "q1"
    panel.left.value = "c"
    assert panel.question == "q1"
    assert "c mrr@5 0.0" in text(panel.shown.value)
    assert "a mrr@5" not in text(panel.shown.value)


def test_a_system_chosen_on_both_sides_changes_places(result):
    panel = browse(result).panel
    panel.left.value = "b"
    assert (panel.left.value, panel.right.value) == ("b", "a")
    assert (panel.choice.left, panel.choice.right) == ("b", "a")
    assert listed(panel) == ["q3", "q1", "q4", "q2"]


def test_no_system_runs_again():
    comparison = compared(data())
    before = {name: len(system.asked) for name, system in comparison.inputs.systems.items()}
    panel = browse(comparison).panel
    panel.left.value = "c"
    panel.list.value = "q4"
    panel.hits.value = 50
    assert {name: len(system.asked) for name, system in comparison.inputs.systems.items()} == before


def test_a_search_that_nothing_matches_says_so_and_is_taken_back(result):
    panel = browse(result).panel
    panel.words.value = "zyzzyva"
    assert "No question matches" in panel.shown.value
    assert panel.place.value == "none of 4 questions matches"
    panel.words.value = ""
    assert "Who painted it?" in text(panel.shown.value)


def test_long_lists_are_turned_page_by_page():
    panel = browse(compared(data(2 * PAGE + 1))).panel
    assert (len(listed(panel)), panel.place.value) == (PAGE, "1–50 of 101 questions")
    assert (panel.back.disabled, panel.forth.disabled) == (True, False)
    panel.forth.click()
    panel.forth.click()
    assert (listed(panel), panel.place.value) == (["q101"], "101–101 of 101 questions")
    assert (panel.back.disabled, panel.forth.disabled) == (False, True)
    assert "Question 101?" in text(panel.shown.value)


def test_another_order_is_shown_from_its_beginning(result):
    panel = browse(result).panel
    panel.list.value = "q4"
    panel.order.value = "left ahead"
    assert panel.question == "q1"
    assert "Who wrote it?" in text(panel.shown.value)


def test_another_metric_keeps_the_question_and_turns_to_its_page():
    panel = browse(compared(data(2 * PAGE))).panel
    panel.order.value = "as asked"
    panel.forth.click()
    panel.list.value = "q77"
    panel.metric.value = "recall@2"
    assert (panel.question, panel.place.value) == ("q77", "51–100 of 100 questions")


def test_every_text_is_escaped(few):
    nasty = replace(few, questions=tuple(replace(question, type=NASTY) for question in few.questions))
    browser = browse(compared(nasty))
    browser.panel.list.value = "q2"
    for html in (browser.panel.shown.value, browser.to_html()):
        assert "&lt;script&gt;" in html
        assert "<script" not in html


def test_where_no_widget_can_be_shown_the_first_state_stands_as_html(result):
    bundle = browse(result)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    shown = text(bundle["text/html"])
    assert "the 4 of 4 questions on which they lie furthest apart" in shown
    assert "+100.0 0.0 100.0 comparison Who painted it?" in shown
    assert "p0 told ◆ gold" in shown


def test_dollars_are_no_formulas(result):
    assert 'class="mathjax_ignore"' in browse(result).to_html()


def test_a_loaded_comparison_asks_for_its_data(result, tmp_path: Path):
    loaded = Comparison.load(result.save(tmp_path).parent)
    with pytest.raises(ValueError, match=r"loaded from files, without its data: browse\(result, kg2rag.load"):
        browse(loaded)


def test_a_loaded_comparison_shows_its_own_passages_and_says_what_it_lacks(result, few, tmp_path: Path):
    browser = browse(Comparison.load(result.save(tmp_path).parent), few)
    browser.panel.list.value = "q2"
    assert "p7 Text 7" in text(browser.panel.shown.value)
    for told in (browser.to_html(), browser.panel.box.children[3].value):
        assert "Loaded from files: rankings have ids and scores alone" in told


def test_scores_of_several_seeds_are_told_from_the_ranking_of_the_first(result):
    seeds = pd.DataFrame({"system": ["b", "b"], "run": [0, 1], "mrr@5": [0.4, 0.5]})
    shown = text(browse(replace(result, per_seed=seeds)).panel.shown.value)
    assert shown.count("(means over seeds; the ranking is the first seed's)") == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"systems": ("a", "z")}, r"Unknown system 'z'. This comparison has: a, b, c"),
        ({"systems": ("a", "a")}, r"'a' cannot be compared with itself"),
        ({"metric": "ndcg@5"}, r"Unknown metric 'ndcg@5'. This comparison has: mrr@5, recall@2"),
        ({"hits": 0}, r"hits must be at least 1, not 0"),
        ({"data": data(5)}, r"tiny has other questions than the rankings of 'a'"),
    ],
)
def test_mistakes_are_named(result, given, message):
    with pytest.raises(ValueError, match=message):
        browse(result, **given)


def test_one_system_alone_is_refused(few):
    alone = kg2rag.compare({"a": Told(A)}, few, metrics=["mrr@5"], baseline="a", progress=False)
    with pytest.raises(ValueError, match="this comparison has 1"):
        browse(alone)


def test_a_missing_ipywidgets_is_named_with_its_remedy(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match=r"pip install 'kg2rag\[notebooks\]'"):
        browse(result)


def test_importing_the_module_loads_no_ipywidgets():
    code = "import sys, kg2rag.report.widgets; sys.exit('ipywidgets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
