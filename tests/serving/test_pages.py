"""Every page of the server, asked as a browser asks."""

from __future__ import annotations

import csv
import re
from html import unescape
from io import StringIO
from pathlib import Path
from shutil import copytree

import pytest
from starlette.testclient import TestClient

PAIR = "at=first&left=left&right=right"


def text(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def asked(pages: TestClient, address: str) -> str:
    answer = pages.get(address)
    assert answer.status_code == 200, text(answer.text)
    return answer.text


def listed(page: str) -> list[str]:
    """The ids of the questions on a page of the list, in order."""
    return re.findall(r'href="question\?[^"]*id=(\w+)"', page)


def test_the_first_page_lists_comparisons_and_sweeps_with_what_they_hold(pages: TestClient) -> None:
    shown = text(asked(pages, "/"))
    assert "3 saved folders" in shown
    # recall@2 of "right": 1, 1, 0, 0; of "left": 1, 0, 0, 0
    assert "first tiny pooled 4 2 left, right right recall@2 50.0" in shown
    assert "group/second tiny pooled 4" in shown
    assert "sweeps/tiny tiny sweep 3 bm25" in shown


def test_the_list_is_filtered_by_words_of_folder_data_and_systems(pages: TestClient) -> None:
    page = asked(pages, "/?words=OTHER+tiny")
    assert re.findall(r'href="(?:comparison|sweep)\?at=([\w%/]+)"', page) == ["group/second"]
    assert "No folder has all of these words" in asked(pages, "/?words=zyzzyva")


def test_a_comparison_shows_its_table_and_leads_to_its_questions(pages: TestClient) -> None:
    page = asked(pages, "/comparison?at=first")
    assert "tiny, pooled: 4 questions, 12 passages" in text(page)
    assert '<th scope="row">left<small>baseline</small></th>' in page
    assert 'action="questions"' in page
    assert "report?at=first" in page


def test_questions_stand_by_difference_with_scores_in_per_cent(pages: TestClient) -> None:
    # mrr@5, left then right: q1 1, 1/2; q2 1/3, 1; q3 0, 0; q4 0, 1/4
    page = asked(pages, f"/questions?{PAIR}&metric=mrr%405")
    assert listed(page) == ["q2", "q1", "q4", "q3"]
    assert "+66.7 33.3 100.0 Which engine was it? q2 bridge 1" in text(page)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("ahead=right", "q2 q4"),
        ("ahead=left", "q1"),
        ("ahead=neither", "q3"),
        ("kind=comparison", "q4 q3"),
        ("hops=2", "q1 q3"),
        ("words=WHO+it", "q1 q3"),
        ("words=q4", "q4"),
        ("order=as+asked", "q1 q2 q3 q4"),
        ("order=left+ahead&ahead=either", "q1 q4 q2"),
    ],
)
def test_questions_are_filtered_and_ordered(pages: TestClient, chosen: str, expected: str) -> None:
    assert listed(asked(pages, f"/questions?{PAIR}&metric=mrr%405&{chosen}")) == expected.split()


def test_a_filter_that_nothing_matches_says_so(pages: TestClient) -> None:
    assert "None of 4 questions matches" in text(asked(pages, f"/questions?{PAIR}&words=zyzzyva"))


def test_a_question_shows_both_systems_hits_with_gold_text_and_parts(pages: TestClient) -> None:
    page = asked(pages, f"/question?{PAIR}&id=q2")
    shown = text(page)
    assert "Which engine was it? id: q2 answer: Ada gold: p0" in shown
    assert "left recall@2 0.0, mrr@5 33.3" in shown
    assert "3 p0 told, from graph ◆ gold Title p0: Text of p0. = 0.25 (share)" in shown
    assert page.count('<tr class="is-gold">') == 2
    assert "trees: 3" in shown


def test_a_path_is_drawn_and_told_in_words(pages: TestClient) -> None:
    page = asked(pages, f"/question?{PAIR}&id=q2")
    assert page.count('<figure class="kg2rag-paths">') == 1  # the left system has none
    assert "<title>Ada -[wrote]-&gt; Engine Notes (strength 8)</title>" in page
    assert ">2 p7</text>" in page
    assert "Ada wrote (8)" in text(page)


def test_gold_beyond_the_hits_shown_is_named_with_its_rank(pages: TestClient) -> None:
    shown = text(asked(pages, f"/question?{PAIR}&id=q4&hits=3"))
    assert "◆ gold p0 : at rank 4" in shown
    assert "◆ gold p0 : not among the 2 passages of the ranking" in shown


def test_neighbours_are_those_of_the_selection(pages: TestClient) -> None:
    page = asked(pages, f"/question?{PAIR}&metric=mrr%405&ahead=right&id=q4")
    assert "2 of 2 in this selection" in text(page)
    assert re.findall(r'href="question\?[^"]*id=(\w+)" rel="(\w+)"', page) == [("q2", "prev")]
    assert "not in this selection" in text(asked(pages, f"/question?{PAIR}&metric=mrr%405&ahead=right&id=q1"))


def test_the_selection_is_saved_as_csv_with_the_scores_as_computed(pages: TestClient) -> None:
    answer = pages.get(f"/export?{PAIR}&metric=mrr%405&ahead=left")
    assert answer.headers["content-disposition"] == 'attachment; filename="first-left-right.csv"'
    assert list(csv.reader(StringIO(answer.text))) == [
        ["query_id", "type", "hops", "question", "system", "recall@2", "mrr@5"],
        ["q1", "bridge", "2", "Who wrote it?", "left", "1.0", "1.0"],
        ["q1", "bridge", "2", "Who wrote it?", "right", "1.0", "0.5"],
    ]


def test_the_selection_is_saved_as_the_run_of_a_system(pages: TestClient, saved: Path) -> None:
    run = asked(pages, f"/export?{PAIR}&kind=bridge&as=trec&system=right&order=as+asked")
    lines = (saved / "first" / "runs" / "right.trec").read_text().splitlines()
    assert run.splitlines() == [line for line in lines if line.startswith(("q1", "q2"))]


def test_rank_changes_between_two_systems_are_counted_and_listed(pages: TestClient) -> None:
    # First 2 hits, left to right: q1 swapped; q2 p2 p3 to p0 p7; q3 the same; q4 p5 p6 to p8 p9.
    shown = text(asked(pages, "/changes?a=first&left=left&right=right&k=2&id=q2"))
    assert "2 of 4 questions have other passages" in shown
    assert "1 have the same in the same order" in shown
    assert "50.0 % of the passages are shared" in shown
    assert "+1 / −0 gold passages" in shown
    assert "p0 ◆ gold Title p0: Text of p0. – 1 + entered" in shown
    assert "p2 Title p2: Text of p2. 1 – − left" in shown


def test_runs_of_two_comparisons_are_set_against_each_other(pages: TestClient) -> None:
    shown = text(asked(pages, "/changes?a=first&left=right&b=group/second&right=left"))
    assert "0 of 4 questions have other passages" in shown
    assert "None: the two runs agree" in shown


def test_comparisons_stand_side_by_side(pages: TestClient) -> None:
    shown = text(asked(pages, "/beside?at=first&at=group/second"))
    assert "All are of the same questions." in shown
    assert re.search(r"left 25\.0 [\d.–]+ 50\.0\**\s?[\d.–]+ \+25\.0 rank changes", shown)


def test_sweeps_stand_side_by_side(pages: TestClient, copied: Path, opened) -> None:
    (copied / "sweeps" / "tiny").rename(copied / "again")
    (copied / "sweeps").rmdir()
    copytree(copied / "again", copied / "twin")
    shown = text(asked(opened(copied), "/beside?at=again&at=twin"))
    assert shown.count("bm25") == 2


def test_a_sweep_shows_what_it_chose_and_its_configurations(pages: TestClient) -> None:
    page = asked(pages, "/sweep?at=sweeps/tiny")
    assert "Chosen on dev, judged on test" in page
    assert page.count("<td>bm25</td>") == 1 + 3
    assert asked(pages, "/sweep?at=sweeps/tiny&words=k1%3D1.5").count("<td>bm25</td>") == 1 + 1
    assert "dev recall@2" in page
    assert "test recall@2" not in page  # test scores are for the chosen ones


def test_a_saved_report_is_shown_as_it_is(pages: TestClient, saved: Path) -> None:
    assert pages.get("/report?at=first").content == (saved / "first" / "report.html").read_bytes()


@pytest.mark.parametrize(
    ("address", "status", "told"),
    [
        ("/questions?at=first&metric=ndcg", 400, "metric 'ndcg' is none of: recall@2, mrr@5"),
        ("/questions?at=first&left=dense", 400, "system 'dense' is none of: left, right"),
        ("/questions?at=first&ahead=up", 400, "ahead 'up' is none of: (any), left, right"),
        ("/questions?at=first&hits=0", 400, "hits '0' is no whole number from 1 to 50"),
        ("/question?at=first&id=q9", 400, "first has no question 'q9'"),
        ("/beside?at=first", 400, "1 chosen. Set from two to 6 side by side"),
        ("/beside?at=first&at=sweeps/tiny", 400, "Tick comparisons alone, or sweeps alone"),
        ("/comparison?at=sweeps/tiny", 404, "'sweeps/tiny' is a sweep, not a comparison"),
        ("/comparison?at=nowhere", 404, "Nothing is saved at 'nowhere'"),
        ("/nowhere", 404, "No page has this address"),
    ],
)
def test_an_address_that_asks_for_what_there_is_not_is_told_what_there_is(
    pages: TestClient, address: str, status: int, told: str
) -> None:
    answer = pages.get(address)
    assert (answer.status_code, told in text(answer.text)) == (status, True), text(answer.text)


def test_every_link_of_every_page_leads_somewhere(pages: TestClient) -> None:
    seen, waiting = set(), ["/", f"/questions?{PAIR}"]
    while waiting:
        page = asked(pages, waiting.pop())
        links = {
            f"/{unescape(link).removeprefix('/').split('#')[0]}" for link in re.findall(r'<a [^>]*href="([^"]+)"', page)
        }
        new = {link for link in links if not link.startswith("/#")} - seen
        new = {link for link in new if not link.startswith("/report")}  # that page is not ours to follow
        seen |= new
        waiting += sorted(new)
    assert len(seen) > 20


def test_everything_is_reached_by_the_keyboard(pages: TestClient) -> None:
    for address in ("/", "/comparison?at=first", f"/questions?{PAIR}", f"/question?{PAIR}&id=q2", "/changes?a=first"):
        page = asked(pages, address)
        assert "<script" not in page
        assert "onclick" not in page
        assert page.index('class="skip" href="#main"') < page.index("<nav")
        for field in re.findall(r"<(?:select|input type=\"(?:search|checkbox)\")[^>]*>", page):
            at = page.index(field)
            named = "aria-label" in field or page.rfind("<label", 0, at) > page.rfind("</label>", 0, at)
            assert named, field
