"""Chains of triples: how they grow, how they are scored, and what they bring to passages."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.dense import Dense
from kg2rag.retrievers.published.proprag import PathSearch
from kg2rag.types import Query, Triple

Build = Callable[..., KnowledgeBase]
PAGES = (
    ("", "Ada wrote these."),
    ("", "What they describe."),
    ("", "Apes in a zoo."),
    ("", "Engine without a fact."),
)
FACTS = (
    Triple("Ada", "wrote", "Notes", "p0"),
    Triple("Notes", "describe", "Engine", "p1"),
    Triple("Zoo", "keeps", "Apes", "p2"),
)
ASKED = "Ada wrote Engine"
# Cosines with the triples: 2/3, 1/3, 0. The first two together: the mean of their vectors has
# length √(8/3) / 2 and
# product ½ with the query.
MEAN = (3 / 8) ** 0.5


def chain_scores(system: PathSearch, query: str | Query = ASKED) -> dict[str, float]:
    return {
        hit.passage_id: hit.score_parts["chain"]
        for hit in system.retrieve(query)
        if "chain" in hit.score_parts
    }


# one hop: its own triple alone
@pytest.mark.parametrize(("hops", "second"), [(3, MEAN), (1, 1 / 3)])
def test_a_chain_brings_the_passage_of_its_second_triple(
    kb_of: Build, hops: int, second: float
) -> None:
    found = chain_scores(PathSearch(kb_of(*PAGES, facts=FACTS), hops=hops))
    assert found == pytest.approx({"p0": 2 / 3, "p1": second, "p2": 0.0}, abs=1e-6)


def test_hits_carry_their_chain_in_the_order_walked(kb_of: Build) -> None:
    ranking = PathSearch(kb_of(*PAGES, facts=FACTS)).retrieve(ASKED)
    paths = {hit.passage_id: [str(triple) for triple in hit.path] for hit in ranking}
    assert paths["p1"] == ["Ada -[wrote]-> Notes", "Notes -[describe]-> Engine"]
    assert paths["p2"] == ["Zoo -[keeps]-> Apes"]
    assert ranking.notes.chains[0][0] == "Ada wrote Notes. Notes describe Engine"


def test_scores_interpolate_cosine_and_chain_and_a_passage_without_triples_has_its_cosine(
    kb_of: Build,
) -> None:
    kb = kb_of(*PAGES, facts=FACTS)
    cosines = {hit.passage_id: hit.score for hit in Dense(kb).retrieve(ASKED)}
    scores = {
        hit.passage_id: hit.score
        for hit in PathSearch(kb, dense_weight=0.25).retrieve(ASKED)
    }
    assert scores["p1"] == pytest.approx(0.25 * cosines["p1"] + 0.75 * MEAN)
    assert scores["p3"] == pytest.approx(cosines["p3"])
    stages = {hit.passage_id: hit.stage for hit in PathSearch(kb).retrieve(ASKED)}
    assert stages == {"p0": "path", "p1": "path", "p2": "path", "p3": "dense"}


def test_a_chain_goes_on_to_new_entities_alone(kb_of: Build) -> None:
    facts = (*FACTS, Triple("Notes", "by", "Ada", "p2"))
    system = PathSearch(kb_of(*PAGES, facts=facts), hops=4, seeds=1)
    chains = [text for text, _ in system.retrieve(ASKED).notes.chains]  # type: ignore[attr-defined]
    assert chains == ["Ada wrote Notes. Notes describe Engine"]


def test_width_bounds_the_chains_of_each_length_and_branch_their_continuations(
    kb_of: Build,
) -> None:
    fan = tuple(
        Triple("Hub", "joins", name, "p0") for name in ("Ash", "Oak", "Elm", "Fir")
    )
    kb = kb_of(*PAGES, facts=(Triple("Ada", "wrote", "Hub", "p1"), *fan))

    def longer(**settings: int) -> int:
        said = (
            PathSearch(kb, seeds=1, hops=2, **settings)
            .retrieve("Ada wrote")
            .notes.chains
        )
        return len(said)  # type: ignore[arg-type]

    assert (
        longer(width=9, branch=9),
        longer(width=2, branch=9),
        longer(width=9, branch=3),
    ) == (
        4,
        2,
        3,
    )


def test_triples_of_candidates_alone_are_walked_and_those_without_a_passage(
    kb_of: Build,
) -> None:
    system = PathSearch(kb_of(*PAGES, facts=FACTS))
    assert chain_scores(system, Query("q", ASKED, ("p1", "p3"))) == pytest.approx(
        {"p1": 1 / 3}, abs=1e-6
    )
    facts = (Triple("Ada", "wrote", "Notes", ""), FACTS[1])
    assert chain_scores(PathSearch(kb_of(*PAGES, facts=facts))) == pytest.approx(
        {"p1": MEAN}, abs=1e-6
    )
