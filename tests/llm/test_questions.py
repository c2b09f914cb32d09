"""Questions written from the paths of a graph by a model behind a real endpoint, and known items without one."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import kg2rag
from kg2rag.cli import app
from kg2rag.compute import Store
from kg2rag.datasets import known_items
from kg2rag.llm import ChatModel
from kg2rag.llm.questions import chains, plan_questions, questions_from
from kg2rag.testing.endpoint import ChatEndpoint
from kg2rag.types import Corpus, Passage, Triple

PAGES = [
    ("Kiln", "The kiln of Clayton was built by Ada Moss."),
    ("Moss", "Ada Moss was born in Oldham."),
    ("Mill", "The mill at Weir belongs to Ben Hurst."),
    ("Hurst", "Ben Hurst plays the organ."),
]
FACTS = (
    Triple("Kiln", "built by", "Ada Moss", "p0"),
    Triple("Ada Moss", "born in", "Oldham", "p1"),
    Triple("Mill", "belongs to", "Ben Hurst", "p2"),
    Triple("Ben Hurst", "plays", "organ", "p3"),
)


class Scribe:
    """Writes a good question on Ada Moss, and a given one on Ben Hurst. Counts its calls."""

    def __init__(self, hurst: dict[str, str], alone: str = "") -> None:
        self.hurst, self.alone, self.calls = hurst, alone, Counter[str]()

    def __call__(self, prompt: str) -> str:
        self.calls["all"] += 1
        moss = {
            "question": "Where was the builder of the kiln born?",
            "answer": "Oldham",
        }
        written = self.hurst if "Hurst" in prompt else moss
        if not prompt.startswith("Answer"):
            return json.dumps(written)
        alone = len(re.findall(r"^\[\d\] ", prompt, re.MULTILINE)) == 1
        return json.dumps({"answer": self.alone if alone else written["answer"]})


@pytest.fixture
def kb(kb_of: Any) -> Any:
    return kb_of(*PAGES, facts=FACTS)


def model_at(url: str, folder: Path) -> ChatModel:
    prices = {"prompt_price": 1.0, "completion_price": 2.0}
    return ChatModel(url, "scribe", api_key_env=None, store=Store(folder), **prices)


def test_neighbours_of_a_chain_name_its_bridge_in_different_documents(kb: Any) -> None:
    found = chains(kb, limit=10)
    assert {frozenset(one.rows) for one in found} == {
        frozenset((0, 1)),
        frozenset((2, 3)),
    }
    for one in found:
        (bridge,) = one.bridges
        rows = kb.graph.mentions.of(kb.graph.names.index(bridge))[0]
        assert set(one.rows) <= set(np.asarray(rows).tolist())
    assert chains(kb, limit=10, hops=3) == []
    with pytest.raises(ValueError, match="hops"):
        chains(kb, hops=1)


@pytest.mark.parametrize(
    ("hurst", "alone", "reason"),
    [
        ({"question": "", "answer": ""}, "", "no question"),
        (
            {"question": "Does Ben Hurst play the organ?", "answer": "The organ"},
            "",
            "names its answer",
        ),
        ({"question": "What does the mill's owner play?", "answer": "organ"}, "", None),
        (
            {"question": "What does the owner play?", "answer": "organ"},
            "the organ",
            "a single passage",
        ),
    ],
)
def test_a_question_stays_where_all_its_passages_answer_it_and_none_alone(
    kb: Any, tmp_path: Path, hurst: dict[str, str], alone: str, reason: str | None
) -> None:
    scribe = Scribe(hurst, alone)
    with ChatEndpoint(scribe) as endpoint:
        model = model_at(endpoint.url, tmp_path / "store")
        plan = plan_questions(kb, model, limit=10)
        assert scribe.calls["all"] == 0
        assert plan.startswith("2 chains: at most 8 calls, about ")
        assert plan.endswith("cost about 0.00; 0 answers are stored.")
        made = questions_from(kb, model, limit=10)
        paid = scribe.calls["all"]
        assert questions_from(kb, model, limit=10).rows == made.rows
        after = plan_questions(kb, model, limit=10)
        assert scribe.calls["all"] == paid
        assert after.startswith("2 chains: at most 0 calls")
        assert after.endswith(f"; {paid} answers are stored.")
    kept = {row["question"]: row for row in made.rows}
    moss = kept["Where was the builder of the kiln born?"]
    assert sorted(moss["gold"]) == ["p0", "p1"]
    assert (moss["hops"], moss["bridges"], moss["type"]) == (2, ["Ada Moss"], "written")
    assert (hurst["question"] in kept) == (reason is None)
    assert (reason is None) == (not made.dropped)
    assert reason is None or reason in str(made)
    read = kg2rag.from_frames(kb.corpus, made.rows)
    assert read.questions[0].hops == 2
    assert read.source["notes"] == {}


def test_a_question_that_its_passages_do_not_answer_is_dropped_and_a_failed_call_is_told(
    kb: Any, tmp_path: Path
) -> None:
    def answer(prompt: str) -> str:
        if prompt.startswith("Answer"):
            return json.dumps({"answer": "Paris"})
        return (
            "no JSON"
            if "Hurst" in prompt
            else json.dumps({"question": "Where?", "answer": "Oldham"})
        )

    with ChatEndpoint(answer) as endpoint:
        made = questions_from(kb, model_at(endpoint.url, tmp_path), limit=10)
    assert made.rows == []
    assert dict(made.dropped) == {"not answered from all its passages": 1}
    assert len(made.failures) == 1


def test_known_items_say_that_they_are_such_and_leave_the_title_out() -> None:
    long = "The kiln of Clayton was built by Ada Moss in the spring of 1801."
    passages = [
        Passage("a", "Clayton", long, "a", 0),
        Passage("b", "Leave", "x", "b", 0, {"headings": ["How leave is taken", "One"]}),
        Passage("c", "Short", "Too short.", "c", 0),
    ]
    corpus = Corpus.from_passages(passages, [[long], ["x"], ["Too short."]])
    made = known_items(corpus)
    asked = {row["gold"][0]: row["question"] for row in made.rows}
    assert asked == {
        "a": "The kiln of was built by Ada Moss in the spring of 1801.",
        "b": "How leave is taken",
    }
    assert {row["type"] for row in made.rows} == {"known item"}
    assert all("known item" in row["origin"] for row in made.rows)
    assert len(known_items(corpus, 1).rows) == 1


def test_the_command_plans_writes_and_offers_a_page_and_compare_reads_its_file(
    tmp_path: Path,
) -> None:
    wiki, out = tmp_path / "wiki", tmp_path / "questions.jsonl"
    wiki.mkdir()
    for name, (title, text) in enumerate(PAGES):
        (wiki / f"{name}.md").write_text(
            f"# {title}\n\n{text[:-1]}, and nobody in the valley has ever denied it.\n"
        )
    env = {"KG2RAG_STORE": str(tmp_path / "store"), "OPENAI_API_KEY": ""}

    def told(*given: str) -> str:
        command = ["questions", str(wiki), "--out", str(out), *given]
        done = CliRunner().invoke(app, command, env=env, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    with ChatEndpoint(
        Scribe({"question": "What does the owner play?", "answer": "organ"})
    ) as endpoint:
        chat = (
            "--base-url",
            endpoint.url,
            "--model",
            "scribe",
            "--api-key-env",
            "none",
        )
        assert "calls" in told("--plan", *chat)
        assert not out.exists()
        assert "questions" in told(*chat)
        assert out.with_suffix(".html").exists()
    with pytest.raises(ValueError, match="--known-item"):
        told()
    assert "known item" in told("--known-item", "--limit", "3")
    asked = kg2rag.load(str(wiki), questions=str(out))
    assert len(asked) == 3
    assert {question.type for question in asked.questions} == {"known item"}
