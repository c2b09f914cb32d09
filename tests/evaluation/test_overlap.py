"""Questions without gold: agreement by hand, and a page in which hits are judged, in a real Chromium."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attacks import browser, dom

import kg2rag
from kg2rag.evaluation.overlap import Agreement, agreement, rank_biased_overlap
from kg2rag.report import html
from kg2rag.report.html import source
from kg2rag.types import Query

HOSTILE = "</script><script>document.title = 'run'</script>"


def test_rank_biased_overlap_by_its_sum() -> None:
    # An endless ranking that goes on to agree as it does at the last depth, Webber et al., Eq. 30
    # and 32.
    a, b, p = list("abcd"), list("badx"), 0.8
    agree = [0.0, 1.0, 2 / 3, 3 / 4]  # a, b, d are shared at depth 4
    endless = (1 - p) * sum(p ** (d - 1) * agree[min(d, 4) - 1] for d in range(1, 400))
    assert rank_biased_overlap(a, b, p) == pytest.approx(endless)
    assert rank_biased_overlap([], []) == 1.0
    assert rank_biased_overlap([], a) == 0.0


def test_questions_on_which_systems_differ_most_come_first_and_the_pool_shows_no_system(
    data: Any, fixed: Any
) -> None:
    first, second = (
        fixed(q1="p0 p1", q2="p2 p3", q3="p4 p6"),
        fixed(q1="p0 p1", q2="p9 p8", q3="p6 p4"),
    )
    result = agreement({"first": first, "second": second}, data.queries, k=2)
    assert result.per_query["overlap"].tolist() == [1.0, 0.0, 1.0]
    assert result.pairs["overlap"].tolist() == pytest.approx([2 / 3])
    assert result.differences()["query_id"].tolist() == ["q2", "q3", "q1"]
    assert all("Second?" in shown for shown in (repr(result), result._repr_html_()))
    pool = {query: sorted(hits) for query, hits in result.pool().items()}
    assert [*pool.items()] == [
        ("q2", ["p2", "p3", "p8", "p9"]),
        ("q3", ["p4", "p6"]),
        ("q1", ["p0", "p1"]),
    ]
    turned = dict(reversed(result.rankings.items()))
    assert (
        Agreement(result.queries, turned, 2, result.per_query).pool() == result.pool()
    )
    held = json.loads(
        re.search(
            r'id="kg2rag-label">(.*?)</script>', result.to_html(), re.DOTALL
        ).group(1)
    )
    assert "first" not in str(held)


def shown(
    result: Any, script: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """What a script that runs after the page's own has left on the page in Chromium."""
    monkeypatch.setattr(
        html,
        "source",
        lambda name: source(name) + (script if name == "label.js" else ""),
    )
    file = folder / "page.html"
    file.write_text(result.to_html(), encoding="utf-8")
    found = re.findall(r'data-(\w+)="([^"]*)"', dom(file.as_uri(), folder))
    return {name: unescape(value) for name, value in found}


def test_names_need_a_knowledge_base_and_questions_need_ids(
    kb_of: Any, fixed: Any
) -> None:
    kb = kb_of(("Ada", "Ada wrote notes."), ("Bells", "Bells ring."))
    found = agreement(
        ["bm25", "dense"], ["Who wrote notes?", "What rings?"], kb=kb, k=1
    )
    assert found.pairs[["a", "b"]].to_numpy().tolist() == [["bm25", "dense"]]
    assert sorted(found.differences()["query_id"]) == ["q1", "q2"]
    one: Any = {"a": fixed()}
    for systems, questions in [
        (["bm25"], ["x"]),
        ({}, ["x"]),
        (one, []),
        (one, [Query("q", "x")] * 2),
    ]:
        with pytest.raises(ValueError, match=r"kb|No system|No question"):
            agreement(systems, questions)


@browser
def test_in_a_browser_hits_are_judged_by_keys_and_saved_as_a_file_that_compare_reads(
    kb_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = kb_of((HOSTILE, "Ada wrote notes."), ("Bells", f"Bells ring. {HOSTILE}"))
    asked = [f"Who wrote notes? {HOSTILE}", "Which bells ring?"]
    result = agreement(["bm25", "dense"], asked, kb=kb, k=2)
    first, second = result.pool()
    script = """
    const root = document.documentElement.dataset;
    const press = key => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    window.Blob = class { constructor(parts) { root.saved = parts.join(""); } };
    URL.createObjectURL = () => "#";
    for (const key of ["1", "ArrowLeft", "0", "1", "0", "0", "1"]) press(key);
    const buttons = [...document.querySelectorAll("#label button")];
    window.showSaveFilePicker = async () => ({ name: "mine.jsonl", createWritable: async () => (
      { write: async text => { root.written = text; }, close: async () => {} }) });
    buttons.find(one => one.textContent === "save").click();
    root.count = document.querySelector("[role=status]").textContent;
    root.title = document.title;
    root.next = document.querySelector("#label .next").textContent;
    buttons.find(one => one.textContent.startsWith("‹")).click();
    root.space = getComputedStyle(document.querySelector("#label .passage")).whiteSpace;
    buttons.find(one => one.textContent.startsWith("keep")).click();
    """
    value = shown(result, script, tmp_path, monkeypatch)
    assert value["count"].startswith("4 of 4 judged")
    assert value["title"].startswith("Questions without gold: 2")
    file = f"questions-{result.label().key}.jsonl"
    assert f"kg2rag compare FOLDER --questions {file}" in value["next"]
    assert value["space"] in ("pre-wrap", "preserve")  # the indentation of code
    assert value["written"] == value["saved"]
    rows = {row["id"]: row for row in map(json.loads, value["saved"].splitlines())}
    (a, b), (c, d) = result.pool().values()
    assert [rows[first]["judged"], rows[second]["judged"]] == [
        {a: 0, b: 1},
        {c: 0, d: 0},
    ]
    read = kg2rag.from_frames(kb.corpus, list(rows.values()))
    assert read.questions[0].gold == {b: 1}
    assert [query.id for query in read.unjudged] == [second]
    place = tmp_path / f"questions-{result.label().key} (1).jsonl"
    place.touch()
    assert result.label().saved(tmp_path) == place


@browser
def test_the_page_and_python_count_the_missing_questions_alike(
    kb_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = kb_of(
        ("Ada", "Ada wrote notes."), ("Bells", "Bells ring."), ("Coal", "Coal burns.")
    )
    gold = ["p0", "p1", "p2", "p0"] * 3
    texts = [kb.corpus[kb.corpus.row(one)].text for one in gold]
    rows = [
        {"id": f"q{at}", "question": texts[at], "gold": [one]}
        for at, one in enumerate(gold)
    ]
    data = kg2rag.from_frames(
        kb.corpus, [*rows, {"id": "new", "question": "Who wrote?"}]
    )
    # Finds half of the gold.
    systems = {
        "bm25": kg2rag.BM25(kb),
        "first": lambda *_: ["p0"],
    }
    result = kg2rag.compare(systems, data, metrics=["recall@5"], k=5, baseline="bm25")
    (row,) = result.more_questions(0.4).to_dict("records")
    assert row["spread"] == pytest.approx(np.std([0, 1, 1, 0] * 3, ddof=1))
    # 80 % interval of a standard deviation of 12 values: 11 / 17.2750 and 11 / 5.57778, of chi-
    # square's quantiles
    needed = ((1.959964 + 0.841621) * row["spread"] / 0.4) ** 2
    assert row["needed_low"] == math.ceil(needed * 11 / 17.2750)
    assert row["needed_high"] == math.ceil(needed * 11 / 5.57778)
    assert (row["more_low"], row["more_high"]) == (0, row["needed_high"] - 12)
    script = """
    const points = document.querySelector("#label input");
    points.value = "40"; points.dispatchEvent(new Event("input"));
    document.documentElement.dataset.missing = points.nextElementSibling.textContent;
    """
    missing = shown(result, script, tmp_path, monkeypatch)["missing"]
    assert missing.startswith(
        f"questions with gold: 12; {row['more_low']} to {row['more_high']} more"
    )


@browser
def test_judging_goes_on_where_it_ended_and_what_was_irrelevant_is_counted(
    kb_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = kb_of(("Ada", "Ada wrote notes."), ("Bells", "Bells ring."))
    known = {
        "id": "known",
        "question": "Who wrote?",
        "gold": {"p0": 1},
        "type": "short",
    }
    rows = [
        known,
        *(
            {"id": id_, "question": f"Which {id_}?", "type": "open"}
            for id_ in ("tea", "ink", "oak")
        ),
    ]
    systems = {
        "bm25": kg2rag.BM25(kb),
        "graph": kg2rag.systems.build("graph_augmented", kb),
    }

    def judged(data: Any, keys: str) -> tuple[Any, list[dict[str, Any]]]:
        result = kg2rag.compare(
            systems, data, metrics=["recall@2"], k=2, baseline="bm25"
        )
        script = f"""
        window.Blob = class {{ constructor(parts) {{ document.documentElement.dataset.saved = parts.join(""); }} }};
        URL.createObjectURL = () => "#";
        for (const key of {json.dumps(keys)})
          document.querySelector("#label").dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true }}));
        [...document.querySelectorAll("#label button")].find(one => one.textContent === "save").click();"""
        return result, [
            *map(
                json.loads,
                shown(result, script, tmp_path, monkeypatch)["saved"].splitlines(),
            )
        ]

    # both hits of a question, one of the next
    first, saved = judged(kg2rag.from_frames(kb.corpus, rows), "000")
    assert sorted(row["id"] for row in saved) == ["ink", "known", "oak", "tea"]
    assert saved[0] == known
    assert {row["type"] for row in saved[1:]} == {"open"}
    done, half, left = (row["id"] for row in first.label().questions)
    second, saved = judged(kg2rag.from_frames(kb.corpus, saved), "1")
    assert {id_: len(hits) for id_, hits in second.label().pool.items()} == {
        half: 1,
        left: 2,
    }
    said = "2 judged without a relevant hit, 1 not judged yet"
    assert all(said in repr(one) for one in (second, second.verdict()))
    found = {row["id"]: row for row in saved}
    assert len(found) == 4
    assert [*found[done]["judged"].values()] == [0, 0]
