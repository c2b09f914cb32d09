"""Questions without gold: agreement by hand, and a page in which hits are judged, in a real Chromium."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from attacks import browser, dom

import kg2rag
from kg2rag.evaluation.overlap import Agreement, agreement, rank_biased_overlap
from kg2rag.report import html
from kg2rag.report.html import source
from kg2rag.types import Query

HOSTILE = "</script><script>document.title = 'run'</script>"


def test_rank_biased_overlap_by_its_sum() -> None:
    # An endless ranking that goes on to agree as it does at the last depth, Webber et al., Eq. 30 and 32.
    a, b, p = list("abcd"), list("badx"), 0.8
    agree = [0.0, 1.0, 2 / 3, 3 / 4]  # a, b, d are shared at depth 4
    endless = (1 - p) * sum(p ** (d - 1) * agree[min(d, 4) - 1] for d in range(1, 400))
    assert rank_biased_overlap(a, b, p) == pytest.approx(endless)
    assert rank_biased_overlap([], []) == 1.0
    assert rank_biased_overlap([], a) == 0.0


@pytest.fixture
def result(data: Any, fixed: Any) -> Agreement:
    first = fixed(q1="p0 p1", q2="p2 p3", q3="p4 p6")
    second = fixed(q1="p0 p1", q2="p9 p8", q3="p6 p4")
    return agreement({"first": first, "second": second}, data.queries, k=2)


def test_the_questions_on_which_systems_differ_most_come_first(result: Agreement) -> None:
    assert result.per_query["overlap"].tolist() == [1.0, 0.0, 1.0]
    assert result.pairs["overlap"].tolist() == pytest.approx([2 / 3])
    assert result.differences()["query_id"].tolist() == ["q2", "q3", "q1"]
    assert "Second?" in repr(result)
    assert "Second?" in result._repr_html_()


def test_the_pool_has_each_hit_once_in_an_order_that_no_system_gives(result: Agreement, fixed: Any) -> None:
    pool = result.pool()
    assert list(pool) == ["q2", "q3", "q1"]
    assert {query: sorted(hits) for query, hits in pool.items()} == {
        "q1": ["p0", "p1"],
        "q2": ["p2", "p3", "p8", "p9"],
        "q3": ["p4", "p6"],
    }
    turned = dict(reversed(result.rankings.items()))
    assert Agreement(result.queries, turned, 2, result.per_query).pool() == pool
    held = json.loads(re.search(r'id="kg2rag-data">(.*?)</script>', result.to_html(), re.DOTALL).group(1))
    assert "first" not in str(held)
    assert "second" not in str(held)


def test_names_need_a_knowledge_base_and_questions_need_ids(kb_of: Any, fixed: Any) -> None:
    kb = kb_of(("Ada", "Ada wrote notes."), ("Bells", "Bells ring."))
    found = agreement(["bm25", "dense"], ["Who wrote notes?", "What rings?"], kb=kb, k=1)
    assert found.pairs[["a", "b"]].to_numpy().tolist() == [["bm25", "dense"]]
    assert sorted(found.differences()["query_id"]) == ["q1", "q2"]
    wrong: list[tuple[Any, Any]] = [
        (["bm25"], ["x"]),
        ({}, ["x"]),
        ({"a": fixed()}, []),
        ({"a": fixed()}, [Query("q", "x")] * 2),
    ]
    for systems, questions in wrong:
        with pytest.raises(ValueError, match=r"kb|No system|No question"):
            agreement(systems, questions)


@browser
def test_in_a_browser_hits_are_judged_by_keys_and_saved_as_a_file_that_compare_reads(
    kb_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = kb_of((HOSTILE, "Ada wrote notes."), ("Bells", f"Bells ring. {HOSTILE}"))
    result = agreement(["bm25", "dense"], [f"Who wrote notes? {HOSTILE}"], kb=kb, k=2)
    script = """
    const root = document.documentElement.dataset;
    const press = key => document.dispatchEvent(new KeyboardEvent("keydown", { key }));
    window.Blob = class { constructor(parts) { root.saved = parts.join(""); } };
    URL.createObjectURL = () => "#";
    for (const key of ["1", "0", "1", "ArrowLeft", "1", "ArrowLeft", "ArrowLeft", "0"]) press(key);
    [...document.querySelectorAll("#label button")].at(-1).click();
    root.count = document.querySelector("[role=status]").textContent;
    root.title = document.title;
    """
    monkeypatch.setattr(html, "source", lambda name: source(name) + (script if name == "label.js" else ""))
    file = tmp_path / "page.html"
    file.write_text(result.to_html(), encoding="utf-8")
    shown = dom(file.as_uri(), tmp_path)
    value = {
        name: unescape(re.search(rf'data-{name}="([^"]*)"', shown).group(1)) for name in ("count", "saved", "title")
    }
    assert value["count"].startswith("2 of 2 judged")
    assert value["title"].startswith("Questions without gold: 1")
    row = json.loads(value["saved"])
    first, second = result.pool()["q1"]
    assert row["judged"] == {first: 0, second: 1}
    read = kg2rag.from_frames(kb.corpus, [row])
    assert read.questions[0].gold == {second: 1}
