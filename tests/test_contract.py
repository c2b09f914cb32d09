"""What every system of the catalogue promises, on a random corpus. A new system is covered by its line in `SYSTEMS`."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import systems_world as world
from formulas import worked_out

from kg2rag import systems
from kg2rag.compute.store import Store
from kg2rag.knowledge.base import KnowledgeBase
from kg2rag.retrievers.contract import Retriever
from kg2rag.types.rankings import Ranking

# system -> what it needs that a test machine lacks. Nothing else may leave a system out.
SKIPPED: dict[str, str] = {}
# system -> why a question in plain words of the corpus may find nothing there.
MAY_FIND_NOTHING = {"pattern": "looks up names, typos and rare words only; frequent words are left to other systems"}

ASKED = world.queries()
GRAPHS = {"empty": world.EMPTY, "one entity": world.LONELY, "entities that no query names": world.UNNAMED}


@pytest.fixture(params=sorted(systems.SYSTEMS))
def name(request: pytest.FixtureRequest) -> str:
    if request.param in SKIPPED:
        pytest.skip(SKIPPED[request.param])
    return str(request.param)


@pytest.fixture
def system(name: str, kb: KnowledgeBase) -> Retriever:
    return systems.build(name, kb)


@pytest.fixture(scope="module")
def known() -> dict[str, list[Ranking]]:
    return {}


@pytest.fixture
def rankings(name: str, system: Retriever, known: dict[str, list[Ranking]]) -> list[Ranking]:
    """The deep rankings of all queries in one batch, computed once; every promise is checked against them."""
    if name not in known:
        known[name] = system.retrieve_batch(ASKED, world.DEEP)
    return known[name]


@pytest.fixture(scope="session", params=sorted(GRAPHS))
def odd_kb(request: pytest.FixtureRequest, session_store: Store) -> KnowledgeBase:
    return world.build(session_store, GRAPHS[request.param])


def said(rankings: Sequence[Ranking]) -> list[dict[str, object]]:
    return [world.facts(ranking) for ranking in rankings]


def hits(rankings: Sequence[Ranking]) -> list[object]:
    """Without the metadata, which may speak of the hits returned."""
    return [facts["hits"] for facts in said(rankings)]


def components(part: object) -> Iterator[object]:
    """A system and the retrievers and stages that it is made of."""
    if isinstance(part, tuple):
        for member in part:
            yield from components(member)
    elif dataclasses.is_dataclass(part) and not isinstance(part, KnowledgeBase):
        yield part
        for field in dataclasses.fields(part):
            yield from components(getattr(part, field.name))


def test_only_known_systems_are_excused_and_each_says_why() -> None:
    for listed in (SKIPPED, MAY_FIND_NOTHING):
        assert set(listed) <= set(systems.SYSTEMS)
        assert all(len(reason.split()) >= 4 for reason in listed.values())


def test_every_query_is_answered_in_the_order_asked(rankings: list[Ranking]) -> None:
    assert [ranking.query_id for ranking in rankings] == [query.id for query in ASKED]


def test_a_batch_equals_its_queries_one_by_one(system: Retriever, rankings: list[Ranking]) -> None:
    assert said([system.retrieve(query, world.DEEP) for query in ASKED]) == said(rankings)


def test_the_order_of_a_batch_changes_no_ranking(system: Retriever, rankings: list[Ranking]) -> None:
    assert said(system.retrieve_batch(ASKED[::-1], world.DEEP)[::-1]) == said(rankings)


def test_a_batch_of_no_queries_is_no_rankings(system: Retriever) -> None:
    assert system.retrieve_batch([], 5) == []


@pytest.mark.parametrize("k", [1, world.SHALLOW])
def test_hits_at_a_smaller_k_are_a_prefix(system: Retriever, rankings: list[Ranking], k: int) -> None:
    assert hits(system.retrieve_batch(ASKED, k)) == hits([ranking.top(k) for ranking in rankings])


def test_hits_at_a_k_beyond_the_corpus_begin_with_those_at_a_smaller(
    system: Retriever, rankings: list[Ranking]
) -> None:
    deepest = system.retrieve_batch(ASKED, 10 * world.N_PASSAGES)
    assert hits([ranking.top(world.DEEP) for ranking in deepest]) == hits(rankings)


def test_no_ranking_has_more_than_k_hits(rankings: list[Ranking]) -> None:
    assert max(map(len, rankings)) <= world.DEEP


@pytest.mark.parametrize("k", [0, -1])
def test_a_k_below_one_is_refused(system: Retriever, k: int) -> None:
    with pytest.raises(ValueError, match="k must be at least 1"):
        system.retrieve("river", k)


def test_questions_in_words_of_the_corpus_have_hits(name: str, rankings: list[Ranking]) -> None:
    if name in MAY_FIND_NOTHING:
        pytest.skip(MAY_FIND_NOTHING[name])
    ordinary = [(query, ranking) for query, ranking in zip(ASKED, rankings, strict=True) if query.id[1:].isdigit()]
    assert [query.id for query, ranking in ordinary if query.candidates is None and not len(ranking)] == []


def test_every_hit_is_a_passage_of_the_corpus_and_stands_once(rankings: list[Ranking], kb: KnowledgeBase) -> None:
    for ranking in rankings:
        assert all(id_ in kb.corpus for id_ in ranking.passage_ids)
        assert len(set(ranking.passage_ids)) == len(ranking)


def test_hits_are_ordered_by_score_and_equal_scores_by_corpus_position(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        assert np.isfinite(ranking.scores).all()
        assert np.lexsort((ranking.rows, -ranking.scores)).tolist() == list(range(len(ranking)))


def test_only_candidates_are_returned_where_a_query_has_them(name: str, rankings: list[Ranking]) -> None:
    masked = [(query, ranking) for query, ranking in zip(ASKED, rankings, strict=True) if query.candidates is not None]
    assert len(masked) >= 9
    for query, ranking in masked:
        assert set(ranking.passage_ids) <= set(query.candidates or ())
    assert any(len(ranking) for _, ranking in masked) or name in MAY_FIND_NOTHING


def test_every_hit_says_which_stage_found_it_and_by_which_path(rankings: list[Ranking], kb: KnowledgeBase) -> None:
    for ranking in rankings:
        for hit in ranking:
            assert hit.stage
            assert all(not triple.passage_id or triple.passage_id in kb.corpus for triple in hit.path)


def test_every_hit_says_where_it_was_looked_for(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        told = ranking.metadata["source"]
        assert all(told[hit.stage] if isinstance(told, Mapping) else told for hit in ranking)


def test_the_formula_of_a_score_and_the_parts_of_the_hit_give_the_score(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        for hit in ranking:
            assert worked_out(ranking, hit) == pytest.approx(hit.score, rel=1e-6), (hit, ranking.metadata["score"])


def test_preparing_changes_no_ranking(system: Retriever, rankings: list[Ranking]) -> None:
    system.prepare([])
    system.prepare(ASKED)
    assert said(system.retrieve_batch(ASKED, world.DEEP)) == said(rankings)


def test_a_pickled_system_gives_the_same_rankings(system: Retriever, rankings: list[Ranking]) -> None:
    again = pickle.loads(pickle.dumps(system))
    assert repr(again) == repr(system)
    assert said(again.retrieve_batch(ASKED, world.DEEP)) == said(rankings)


def test_the_repr_shows_every_parameter_and_no_data(system: Retriever) -> None:
    for part in components(system):
        assert dataclasses.is_dataclass(part)
        for field in dataclasses.fields(part):
            value = getattr(part, field.name)
            if not any(True for _ in components(value)) and not isinstance(value, KnowledgeBase):
                assert f"{field.name}={value!r}" in repr(system)
    assert "KnowledgeBase" not in repr(system)


def test_each_parameter_of_the_catalogue_is_refused_or_changes_the_repr(name: str, kb: KnowledgeBase) -> None:
    plain = repr(systems.build(name, kb))
    for parameter, default in systems.parameters(name).items():
        accepted = 0
        for other in _others(default):
            try:
                changed = systems.build(name, kb, **{parameter: other})
            except ValueError:
                continue
            accepted += 1
            assert repr(changed) != plain, f"{parameter} = {other!r} does not show"
        assert accepted or default is None or isinstance(default, str), f"{parameter}: no other value is allowed"


def _others(default: object) -> list[object]:
    if isinstance(default, bool):
        return [not default]
    if isinstance(default, int):
        return [default + 1, default - 1]
    if isinstance(default, float):
        return [default / 2 + 0.001, default * 2 + 0.001]
    return ["no such value"] if isinstance(default, str) else []


def test_a_system_built_again_or_replaced_is_equal(name: str, system: Retriever, kb: KnowledgeBase) -> None:
    assert systems.build(name, kb) == system
    assert dataclasses.replace(system) == system  # type: ignore[type-var]
    assert hash(systems.build(name, kb)) == hash(system)


def test_a_graph_that_helps_no_query_still_answers_them_all_and_explains_the_scores(
    name: str, odd_kb: KnowledgeBase
) -> None:
    system = systems.build(name, odd_kb)
    found = system.retrieve_batch(ASKED, world.SHALLOW)
    assert [ranking.query_id for ranking in found] == [query.id for query in ASKED]
    assert said([system.retrieve(query, world.SHALLOW) for query in ASKED[-15:]]) == said(found[-15:])
    unmasked = [ranking for query, ranking in zip(ASKED[:40], found[:40], strict=True) if query.candidates is None]
    assert all(map(len, unmasked)) or name in MAY_FIND_NOTHING
    for ranking in found:
        assert [worked_out(ranking, hit) for hit in ranking] == pytest.approx(ranking.scores.tolist(), rel=1e-6)


def test_two_processes_with_other_hash_seeds_write_the_same_bytes(
    kb: KnowledgeBase, known: dict[str, list[Ranking]], tmp_path: Path
) -> None:
    wanted = [name for name in sorted(systems.SYSTEMS) if name not in SKIPPED]
    runs = []
    for seed in ("1", "2"):
        command = [sys.executable, world.__file__, str(kb.store.root), str(tmp_path / seed), ",".join(wanted)]
        runs.append(subprocess.Popen(command, env={**os.environ, "PYTHONHASHSEED": seed}))
    assert [run.wait() for run in runs] == [0, 0]
    written = (tmp_path / "1").read_bytes()
    assert written == (tmp_path / "2").read_bytes()
    here = {name: said(known[name]) for name in wanted if name in known}
    elsewhere = json.loads(written)
    assert json.loads(json.dumps(here)) == {name: elsewhere[name] for name in here}
