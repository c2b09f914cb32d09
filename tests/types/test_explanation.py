from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from kg2rag.types import LinkedEntity, Notes, Ranking, Triple, sources
from kg2rag.types.explanation import notes_of, stage_label

STEP = Triple("FastAPI", "built on", "Starlette", "fastapi", strength=9)


def ranking(notes: Notes = Notes()) -> Ranking:  # noqa: B008
    """Two hits: a text match, and one that the graph brought."""
    return Ranking.from_scores(
        "q1",
        np.array([0, 2]),
        np.array([0.91, 0.15]),
        ["fastapi", "flask", "starlette"],
        stages=("hybrid", "graph"),
        stage_codes=np.array([0, 1]),
        score_parts={"hybrid": np.array([1.3, np.nan]), "graph": np.array([0.0, 0.5])},
        paths={2: (STEP,)},
        notes=notes,
    )


def test_a_hit_is_explained_by_stage_path_parts_and_text() -> None:
    text = str(ranking().explain(texts={"starlette": "An ASGI toolkit."}))
    assert "fastapi  0.91  hybrid" in text
    assert "besides: hybrid 1.3, graph 0" in text
    assert "FastAPI -[built on]-> Starlette  (strength 9)" in text
    assert "An ASGI toolkit." in text
    assert [hit.passage_id for hit in ranking().explain(limit=1).hits()] == ["fastapi"]


def test_the_description_of_a_triple_is_shown_with_its_path() -> None:
    told = replace(STEP, description="FastAPI subclasses\nStarlette & adds <types>.")
    explained = replace(ranking(), paths={2: (told,)}).explain()
    assert (
        "Starlette  (strength 9): FastAPI subclasses Starlette & adds <types>."
        in str(explained)
    )
    assert (
        "FastAPI subclasses\nStarlette &amp; adds &lt;types&gt;."
        in explained._repr_html_()
    )


@pytest.mark.parametrize(
    ("formula", "sums"),
    [
        (
            "0.7 · hybrid + 0.3 · graph",
            ["0.7 · 1.3 (hybrid) + 0.3 · 0 (graph)", "0.3 · 0.5 (graph)"],
        ),
        (
            "0.7 · hybrid + 0.3 · (graph + 1)",
            ["0.7 · 1.3 (hybrid) + 0.3 · (0 (graph) + 1)", "0.3 · (0.5 (graph) + 1)"],
        ),
        (
            {"hybrid": "0.7 · hybrid", "graph": "0.3 · graph"},
            ["0.7 · 1.3 (hybrid)", "0.3 · 0.5 (graph)"],
        ),
    ],
)
def test_a_formula_is_shown_with_the_numbers_of_the_hit_without_terms_that_it_lacks(
    formula, sums
) -> None:
    assert re.findall("= (.*)", str(ranking(Notes(formula)).explain())) == sums


def test_the_parts_that_no_term_names_are_shown_beside_the_sum() -> None:
    explained = ranking(Notes("0.7 · hybrid")).explain()
    assert "besides: graph 0" in str(explained)
    assert "besides: graph 0" in explained._repr_html_()


def test_of_two_names_that_begin_alike_the_longer_is_meant() -> None:
    parts = {"dense": np.array([0.25]), "dense rank": np.array([4.0])}
    one = Ranking.from_scores(
        "q",
        np.array([0]),
        np.array([0.25]),
        ["a"],
        score_parts=parts,
        notes=Notes("1 / dense rank"),
    )
    assert re.findall("= (.*)", str(one.explain())) == ["1 / 4 (dense rank)"]


def test_a_source_is_named_where_the_stage_does_not_name_it() -> None:
    found = ranking(Notes("graph", {"hybrid": "dense and bm25", "graph": "graph"}))
    assert [stage_label(found, hit.stage) for hit in found] == [
        "hybrid, from dense and bm25",
        "graph",
    ]
    assert sources(ranking()) == {"hybrid": "hybrid", "graph": "graph"}


def test_what_a_strategy_says_of_the_query_is_told() -> None:
    said = Notes(
        entities=(LinkedEntity("FastAPI", "fuzzy", 0.9),),
        warning="one entity",
        other={"confidence": 0.5},
    )
    assert notes_of(ranking(said)) == {
        "entities": "FastAPI",
        "linked_by": "fuzzy",
        "warning": "one entity",
        "confidence": "0.5",
    }


def test_html_escapes_everything_and_loads_nothing() -> None:
    evil = "<script>alert(1)</script>"
    nasty = Ranking.from_scores(
        "q",
        np.array([0]),
        np.array([1.0]),
        [evil],
        paths={0: (Triple(evil, evil, evil, ""),)},
        notes=Notes(warning=evil),
    )
    html = nasty.explain(texts={evil: evil}, title=evil)._repr_html_()
    assert "<script" not in html
    # Title, id, text, three of the triple, note.
    assert html.count("&lt;script&gt;") == 7
    assert "http" not in html


def test_a_ranking_as_a_table_has_ranks_paths_and_parts() -> None:
    frame = ranking().to_frame()
    assert frame["rank"].tolist() == [1, 2]
    assert frame["path"].tolist() == ["", "FastAPI -[built on]-> Starlette"]
    assert frame["graph"].tolist() == pytest.approx([0.0, 0.5])
    parts = {"passage": np.array([0.5])}  # as a column is called
    (row,) = (
        Ranking.from_scores(
            "q", np.array([0]), np.array([0.25]), ["a"], score_parts=parts
        )
        .to_frame()
        .to_dict("records")
    )
    assert (row["passage"], row["passage part"]) == ("a", 0.5)
    empty = Ranking.from_scores("q", np.array([], dtype=np.int64), np.array([]), ["a"])
    assert (len(empty.to_frame()), str(empty.explain()).strip()) == (0, "")
