"""What a language model is given: the designs' formats to the line, and budgets that hold for any text."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from by_hand import knowledge_base, passages
from hypothesis import given, settings
from hypothesis import strategies as st

import kg2rag
from kg2rag import Recorded, systems
from kg2rag.answers.context import Citation, ContextFormatter, FormattedContext
from kg2rag.answers.graph_block import Dropped
from kg2rag.answers.graph_context import Relationship, inverse, path_end
from kg2rag.compute import EncoderTokens, Store, TokenCounter
from kg2rag.extraction import Entity, Extraction
from kg2rag.knowledge import KnowledgeBase
from kg2rag.testing.worlds import HashedWords
from kg2rag.types import Passage, Ranking, Triple

# Nothing here is encoded or built, so nothing is stored.
NOWHERE = Store("/nonexistent")

# The graph-augmented design's example; its page breaks lines that are one line here.
AUTH_BLOCK = """\
## Knowledge Graph Context
Query entities: [Auth Service, OAuth Provider]

### Auth Service (concept)
Related: OAuth Provider (depends_on, weight: 8), User Model (implements), Login Flow (part_of), Session Store (uses)
Description: Core authentication service handling JWT issuance and validation...

### OAuth Provider (tool)
Related: Auth Service (depended_on_by), Google OAuth (implements), GitHub OAuth (implements)
Description: External OAuth2 provider integration layer...

### Relevant Relationships
- Auth Service -> OAuth Provider: "depends_on" -- Auth service delegates to OAuth provider for third-party login flows \
(strength: 8)
- Auth Service -> User Model: "implements" -- Auth service creates and validates user model instances during login \
(strength: 5)"""


CORE = "authentication service handling JWT issuance and validation..."


@pytest.fixture
def auth() -> KnowledgeBase:
    texts = (
        "Auth service delegates to OAuth provider for third-party login flows. It is old.",
        "It began small. Auth service creates and validates user model instances during login.",
    )
    extraction = Extraction(
        triples=(
            Triple("Auth Service", "implements", "User Model", "p1"),
            Triple("Auth Service", "part_of", "Login Flow", ""),
            Triple("Auth Service", "depends_on", "OAuth Provider", "p0", strength=8),
            Triple("Auth Service", "uses", "Session Store", ""),
            Triple("OAuth Provider", "implements", "Google OAuth", ""),
            Triple("OAuth Provider", "implements", "GitHub OAuth", ""),
        ),
        entities=(
            Entity("Auth Service", "concept", f"Core {CORE}", ("login system",)),
            Entity(
                "OAuth Provider",
                "tool",
                "External OAuth2 provider integration layer...",
            ),
        ),
    )
    return knowledge_base(passages(*texts), extraction, {}, NOWHERE)


class Characters:
    """A tokenizer whose pieces cross every seam: three characters are a token."""

    def count(self, texts: Sequence[str]) -> list[int]:
        return [math.ceil(len(text) / 3) for text in texts]


class Squares:
    """A tokenizer for which two pieces cost more together than apart."""

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(text) ** 2 // 400 for text in texts]


def test_the_graph_block_is_the_designs_example_line_by_line(
    auth: KnowledgeBase,
) -> None:
    block = ContextFormatter(auth).graph(["Auth Service", "OAuth Provider"])
    assert block.text.splitlines() == AUTH_BLOCK.splitlines()
    assert block.dropped == ()
    assert block.tokens == EncoderTokens().count([AUTH_BLOCK])[0]


def test_a_fact_that_the_graph_describes_is_shown_by_its_description(kb_of) -> None:
    said = Triple(
        "Ed Wood",
        "related to",
        "Tim Burton",
        "p0",
        strength=8,
        description="Burton made\nEd Wood in 1994.",
    )
    described = kb_of(
        ("Ed Wood", "A film of 1994."),
        facts=(said, Triple("Ed Wood", "of", "1994", "p0")),
    )
    block = ContextFormatter(described, graph_tokens=200).graph(["Ed Wood"]).text
    section = block.partition("### Relevant Relationships\n")[2]
    assert (
        section
        == '- Ed Wood -> Tim Burton: "related to" -- Burton made Ed Wood in 1994 (strength: 8)'
    )


def test_entities_may_be_named_by_alias_or_code_and_count_once(
    auth: KnowledgeBase,
) -> None:
    block = ContextFormatter(auth).graph(
        ["login system", auth.graph.entity("OAuth Provider"), "auth service"]
    )
    assert block.text == AUTH_BLOCK
    # An inverse relation keeps its weight where no other section gives it.
    assert (
        "Related: Auth Service (depended_on_by, weight: 8)"
        in ContextFormatter(auth).graph(["OAuth Provider"]).text
    )
    assert ContextFormatter(auth).graph([]) == FormattedContext("", 0)


def test_the_weaker_relations_beyond_the_limit_are_counted_as_dropped(
    auth: KnowledgeBase,
) -> None:
    block = ContextFormatter(auth, max_related=1).graph(["Auth Service"])
    assert "Related: OAuth Provider (depends_on, weight: 8)\n" in block.text
    assert block.dropped == (Dropped("3 weaker relations of Auth Service", "limit"),)


def test_a_smaller_budget_drops_the_weakest_items_and_names_them(
    auth: KnowledgeBase,
) -> None:
    formatter = ContextFormatter(
        auth, graph_tokens=EncoderTokens().count([AUTH_BLOCK])[0] - 1
    )
    block = formatter.graph(["Auth Service", "OAuth Provider"])
    assert block.text == AUTH_BLOCK.replace(", Session Store (uses)", "")
    assert block.dropped == (Dropped("Related: Session Store (uses)", "budget"),)
    none = ContextFormatter(auth, graph_tokens=5).graph(["OAuth Provider"])
    assert (none.text, none.tokens) == ("", 0)
    assert none.dropped == (
        Dropped(
            "## Knowledge Graph Context\nQuery entities: [OAuth Provider]", "budget"
        ),
    )


BLAST = """\
### Related Entities
- Auth Service (concept): Core authentication service handling JWT issuance and validation...

### Chains
- OAuth Provider -> Auth Service (depended_on_by) -> Login Flow (part_of) -> User Model (implements)
- OAuth Provider -> Auth Service (depended_on_by) -> Session Store (uses)

### Relevant Relationships
- Auth Service -> OAuth Provider: "depends_on" -- Auth service delegates to OAuth provider for third-party login flows \
(strength: 8)
- Login Flow -> User Model: "implements" -- The flow fills it (strength: 5)"""


def test_what_a_change_reaches_can_be_traced_along_the_chains_of_the_block(
    auth: KnowledgeBase,
) -> None:
    """The design's question: what happens if we change the OAuth provider?"""
    two = ContextFormatter(auth, hops=2).graph(["OAuth Provider"]).text
    for end in (
        "Login Flow (part_of)",
        "User Model (implements)",
        "Session Store (uses)",
    ):
        assert f"\n- OAuth Provider -> Auth Service (depended_on_by) -> {end}" in two
    triples = (
        Triple("Auth Service", "depends_on", "OAuth Provider", "p0", strength=8),
        Triple("Auth Service", "part_of", "Login Flow", ""),
        Triple("Auth Service", "uses", "Session Store", ""),
        Triple(
            "Login Flow",
            "implements",
            "User Model",
            "",
            description="The flow fills it.",
        ),
    )
    entities = (
        Entity(
            "Auth Service",
            "concept",
            auth.graph.descriptions[auth.graph.entity("Auth Service")],
        ),
    )
    kb = knowledge_base(
        passages(*(one.text for one in auth.corpus)),
        Extraction(triples, (), entities),
        {},
        NOWHERE,
    )
    block = ContextFormatter(kb, hops=3).graph(["OAuth Provider"])
    assert block.text.endswith(BLAST)
    chain, _ = block.graph_context.chains
    assert chain.entities == (
        "OAuth Provider",
        "Auth Service",
        "Login Flow",
        "User Model",
    )
    assert (chain.relations, chain.strength) == (
        ("depended_on_by", "part_of", "implements"),
        5,
    )


def test_a_graph_block_is_there_as_data_with_types_descriptions_strengths_and_directions(
    auth: KnowledgeBase,
) -> None:
    data = ContextFormatter(auth, hops=2).graph(["OAuth Provider"]).graph_context
    assert {one.name: (one.type, one.hops) for one in data.entities} == {
        "OAuth Provider": ("tool", 0),
        "Auth Service": ("concept", 1),
        "Google OAuth": ("", 1),
        "GitHub OAuth": ("", 1),
        "User Model": ("", 2),
        "Login Flow": ("", 2),
        "Session Store": ("", 2),
    }
    assert data.relationships[0] == Relationship(
        *("Auth Service", "OAuth Provider", "depends_on"),
        "Auth service delegates to OAuth provider for third-party login flows.",
        *(8.0, "in"),
    )
    assert {
        one.target: one.direction for one in data.relationships[1:]
    } == dict.fromkeys(
        ("Google OAuth", "GitHub OAuth", "User Model", "Login Flow", "Session Store"),
        "out",
    )


A_B, B_C, C_D = (Triple(head, "r", tail, "") for head, tail in ("AB", "BC", "CD"))


@pytest.mark.parametrize(
    ("path", "named", "entity"),
    [
        ((), "A", ""),
        ((A_B,), "A", "B"),
        ((A_B,), "B", "A"),
        ((A_B, B_C), "A", "C"),
        ((C_D, B_C, A_B), "D", "A"),
    ],
)
def test_a_path_reaches_the_end_that_is_farthest_from_the_query(
    path: tuple[Triple, ...], named: str, entity: str
):
    assert path_end(path, named) == entity


def test_one_call_gives_the_context_of_a_question_as_text_and_as_json(
    bundled: KnowledgeBase,
) -> None:
    system = systems.build("graph_augmented", bundled)
    made = kg2rag.context(
        system, "What does FastAPI take from Starlette?", tokens=300, hops=2
    )
    assert made.tokens <= 300
    written = json.loads(json.dumps(made.to_json()))
    assert written["text"] == made.text
    assert written["graph_context"]["entities"][0].keys() == {
        "name",
        "type",
        "description",
        "hops",
    }
    assert {
        "source",
        "target",
        "type",
        "description",
        "strength",
        "direction",
    } == written["graph_context"]["relationships"][0].keys()
    by_graph = [one for one in written["citations"] if one["path"]]
    assert by_graph
    assert all(
        one["entity"] in bundled.graph.names and one["hops"] == len(one["path"])
        for one in by_graph
    )
    alone = Recorded(bundled.corpus, {"q": [(bundled.corpus.ids[0], 1.0)]})
    with pytest.raises(ValueError, match="0 "):
        kg2rag.context(alone, "Who?")
    assert kg2rag.context(alone, "Who?", kb=bundled).citations


@pytest.fixture(scope="module")
def bundled() -> KnowledgeBase:
    data = kg2rag.load("bundled")
    return KnowledgeBase.build(
        data.corpus, f"triples({data.graph_files['triples']})", embedder=HashedWords()
    )


def test_five_hubs_and_their_facts_all_have_a_share(bundled: KnowledgeBase) -> None:
    hubs = np.argsort(-bundled.graph.degrees, kind="stable")[:5].tolist()
    block = ContextFormatter(bundled, graph_tokens=500, counter=EncoderTokens()).graph(
        hubs
    )
    _, *sections = block.text.split("\n\n")
    assert [section.splitlines()[0].split(" (")[0] for section in sections] == [
        *(f"### {bundled.graph.names[hub]}" for hub in hubs),
        "### Related Entities",
        "### Relevant Relationships",
    ]
    assert all("Related: " in section for section in sections[:5])
    assert sections[-1].splitlines()[1].endswith("(strength: 10)")


SERVER = (
    Passage("a", "Racks", "Server one stands in rack two.", "d1", 0),
    Passage("b", "", "The service answers.", "d2", 0),
    Passage("c", "", "the SERVICE answers!", "d3", 0),
    Passage("d", "", "Lights blink.", "d4", 0),
)
HOSTS = Triple("Server", "HOSTS", "Service", "b", strength=8)
CHUNKS = """\
[1] [Score: 0.87] [Source: vector]
Racks
Server one stands in rack two.

---

[2] [Score: 0.60] [Source: graph]
Path: Server -[HOSTS]-> Service
The service answers.

---

[3] [Score: 0.10] [Source: vector]
Lights blink."""


@pytest.fixture
def servers() -> KnowledgeBase:
    entities = (Entity("Server", "Machine", "It hosts."), Entity("Service"))
    return knowledge_base(SERVER, Extraction((HOSTS,), entities=entities), {}, NOWHERE)


@pytest.fixture
def ranking() -> Ranking:
    return Ranking.from_scores(
        "q",
        np.arange(4),
        np.array([0.8651, 0.6, 0.5, 0.1]),
        ["a", "b", "c", "d"],
        stages=("vector", "graph"),
        stage_codes=np.array([0, 1, 0, 0]),
        paths={1: (HOSTS,)},
    )


def test_passages_have_keys_scores_sources_and_paths(
    servers: KnowledgeBase, ranking: Ranking
) -> None:
    context = ContextFormatter(servers).passages(ranking)
    assert context.text == CHUNKS
    assert context.tokens == EncoderTokens().count([CHUNKS])[0]
    assert context.dropped == (Dropped("c", "repeats [2]"),)
    assert context.citations == (
        Citation("[1]", "a", "Racks", 0.8651, "vector"),
        Citation("[2]", "b", "", 0.6, "graph", (HOSTS,), "Service", 1),
        Citation("[3]", "d", "", 0.1, "vector"),
    )


def test_a_passage_too_long_for_the_budget_is_dropped_and_the_next_takes_its_key(
    servers: KnowledgeBase, ranking: Ranking
) -> None:
    last = "[1] [Score: 0.10] [Source: vector]\nLights blink."
    formatter = ContextFormatter(
        servers, passage_tokens=EncoderTokens().count([last])[0]
    )
    context = formatter.passages(ranking)
    assert context.text == last
    assert context.dropped == (
        Dropped("a", "budget"),
        Dropped("b", "budget"),
        Dropped("c", "budget"),
    )


TEXT = st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60
).filter(str.strip)
NAMES = st.sampled_from(
    ["Alpha", "Beta\nBeta", "Gamma (3)", "[1] ---", "δέλτα", "## X"]
)
COUNTERS = st.sampled_from([None, Characters(), Squares()])


@st.composite
def knowledge(draw: st.DrawFn) -> KnowledgeBase:
    """A few passages of random text, facts between awkward names, and descriptions of random text."""
    texts = draw(st.lists(TEXT, min_size=1, max_size=6))
    ids = st.sampled_from(["", *(f"p{i}" for i in range(len(texts)))])
    facts = st.builds(Triple, NAMES, TEXT, NAMES, ids, st.sampled_from([1.0, 5.0, 8.0]))
    entities = st.builds(
        Entity, NAMES, st.sampled_from(["", "tool"]), st.one_of(st.just(""), TEXT)
    )
    extraction = Extraction(
        tuple(draw(st.lists(facts, max_size=8))),
        (),
        tuple(draw(st.lists(entities, max_size=4))),
    )
    return knowledge_base(passages(*texts), extraction, {}, NOWHERE)


@settings(deadline=None, max_examples=60)
@given(knowledge(), st.integers(0, 120), COUNTERS)
def test_a_graph_block_keeps_its_budget_in_whole_lines(
    kb: KnowledgeBase, budget: int, counter: TokenCounter | None
) -> None:
    everyone = range(kb.graph.n_entities)
    whole = ContextFormatter(kb, graph_tokens=10**6, counter=counter).graph(everyone)
    block = ContextFormatter(kb, graph_tokens=budget, counter=counter).graph(everyone)
    assert block.tokens == (counter or EncoderTokens()).count([block.text])[0] <= budget
    lines = iter(whole.text.split("\n"))
    # a subsequence, in order; of "Related" the first items
    for line in block.text.split("\n") if block.text else ():
        assert any(
            line == each
            or (line.startswith("Related: ") and each.startswith(f"{line}, "))
            for each in lines
        )
    assert bool(block.dropped) == (block.text != whole.text)


@settings(deadline=None, max_examples=60)
@given(knowledge(), st.integers(0, 120), COUNTERS)
def test_passages_keep_their_budget_and_every_hit_is_cited_or_dropped(
    kb: KnowledgeBase, budget: int, counter: TokenCounter | None
) -> None:
    n = len(kb.corpus)
    ranking = Ranking.from_scores(
        "q", np.arange(n), np.linspace(1, 0, n), kb.corpus.ids
    )
    context = ContextFormatter(kb, passage_tokens=budget, counter=counter).passages(
        ranking
    )
    assert (
        context.tokens
        == (counter or EncoderTokens()).count([context.text])[0]
        <= budget
    )
    assert [citation.key for citation in context.citations] == [
        f"[{i + 1}]" for i in range(len(context.citations))
    ]
    cited = {citation.passage_id for citation in context.citations}
    dropped = {piece.what for piece in context.dropped}
    assert not cited & dropped
    assert cited | dropped >= set(kb.corpus.ids)
    for citation in context.citations:
        assert (
            kb.corpus[kb.corpus.row(citation.passage_id)].contents.strip()
            in context.text
        )


@pytest.mark.parametrize(
    ("relation", "from_the_other_end"),
    [
        ("depends_on", "depended_on_by"),
        ("part_of", "has_part"),
        ("HOSTS", "HOSTED_BY"),
        ("publishes", "published_by"),
        ("carries", "carried_by"),
        ("writes", "written_by"),
        ("depends on", "depended on by"),
        ("married to", "married to"),
        ("is", "inverse of is"),
        ("species", "inverse of species"),
        ("capital", "inverse of capital"),
        ("", "inverse of "),
    ],
)
def test_relations_are_named_from_the_other_end(
    relation: str, from_the_other_end: str
) -> None:
    assert inverse(relation) == from_the_other_end
