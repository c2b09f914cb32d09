"""Documents -> a test set: multi-hop questions from paths of the graph, or known items.

A path is a chain of passages; neighbours name the same entity, the bridge. The model writes a
question that needs them all; the question is kept if the model, asked anew, answers it from all of
them and from no single one, as MuSiQue keeps connected questions. The model judges itself, so a
person should, too: `label()` is the page for it. Filters: Trivedi et al., "MuSiQue", TACL 2022,
Sec. 5. The prompts, and everything else, are ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, Field

from kg2rag.datasets.known_items import WrittenQuestions, known_items
from kg2rag.knowledge import KnowledgeBase
from kg2rag.llm import ChatModel, Completion, Failure
from kg2rag.llm.json_text import quoted
from kg2rag.llm.replies import Outcome
from kg2rag.text.normalisation import normalise
from kg2rag.types import Corpus, IntArray

MAX_BRIDGE_PASSAGES = 30
"""The maximum of passages that name a bridge: frequent entities connect unrelated passages."""
MIN_DISTANCE = 5
"""The minimum distance of two passages of one document in a chain: nearer ones are read together anyway."""
MAX_QUESTION_CHARACTERS, MAX_ANSWER_CHARACTERS = 400, 120
ANSWER_TOKENS = 30
"""The usual length of an answer, for a plan."""
UNWRITTEN_QUESTION = "?" * 100
"""The placeholder of a question in a plan."""
WRITE = """Write one question about the passages below, for somebody who has never seen them.
- It can be answered only by somebody who reads all of them; the answer is stated in the last one.
- They are connected by {bridges}. Describe what connects them by what the passages say of it; do not name it.
- It makes sense on its own, says nothing of passages or documents, and does not contain the answer.
- The answer is a name, a number or a few words of the last passage.
If the passages allow no such question, leave question and answer empty.

{passages}"""
ANSWER = """Answer the question only from the passages, in a few of their words.
Leave the answer empty if they do not say it.

Question: {question}

{passages}"""


def _without_description(schema: dict[str, Any]) -> None:
    del schema["description"]  # small models copy it into their answers


class Written(BaseModel, json_schema_extra=_without_description):
    """The question and answer that a model writes; both empty if it finds none."""

    question: str = Field(json_schema_extra={"maxLength": MAX_QUESTION_CHARACTERS})
    answer: str = Field(json_schema_extra={"maxLength": MAX_ANSWER_CHARACTERS})


class Answered(BaseModel, json_schema_extra=_without_description):
    """The answer of a model from passages; empty if they do not have it."""

    answer: str = Field(json_schema_extra={"maxLength": MAX_ANSWER_CHARACTERS})


class Chain(NamedTuple):
    """Corpus rows whose neighbours name the same entity, and the names of these entities."""

    rows: tuple[int, ...]
    bridges: tuple[str, ...]


def chains(
    kb: KnowledgeBase, limit: int = 50, hops: int = 2, seed: int = 0
) -> list[Chain]:
    """At most `limit` random chains of `hops` passages with different bridges.

    The passages are of different documents, or far apart in one.
    """
    if limit < 1 or hops < 2:
        raise ValueError(
            f"limit must be at least 1 and hops at least 2, not {limit} and {hops}."
        )
    walk = _ChainWalk(kb, np.random.default_rng(seed))
    chain_of: dict[tuple[int, ...], Chain] = {}
    for entity in walk.rng.permutation(np.flatnonzero(walk.is_bridge)).tolist():
        chain = walk.from_entity(entity, hops)
        if chain is not None:
            chain_of.setdefault(tuple(sorted(chain.rows)), chain)
        if len(chain_of) == limit:
            break
    return list(chain_of.values())


class _ChainWalk:
    """Random walks from passage to passage over the entities that they share."""

    def __init__(self, kb: KnowledgeBase, rng: np.random.Generator) -> None:
        self.graph, self.rng = kb.graph, rng
        self.document: IntArray = np.unique(kb.corpus.doc_ids, return_inverse=True)[1]
        self.position: IntArray = np.asarray(kb.corpus.table["position"])
        passages = np.diff(kb.graph.mentions.indptr)
        self.is_bridge = (passages >= 2) & (passages <= MAX_BRIDGE_PASSAGES)

    def from_entity(self, entity: int, hops: int) -> Chain | None:
        """A chain with this entity as first bridge; None if the walk ends early."""
        bridges = [entity]
        rows = [self._draw(self._passages(entity))]
        while True:
            passages = self._distant(self._passages(bridges[-1]), rows)
            if not len(passages):
                return None
            rows.append(self._draw(passages))
            if len(rows) == hops:
                return Chain(
                    tuple(rows), tuple(self.graph.names[bridge] for bridge in bridges)
                )
            nodes = self.graph.mentioned.of(rows[-1])[0].tolist()
            next_bridges = [
                node for node in nodes if self.is_bridge[node] and node not in bridges
            ]
            if not next_bridges:
                return None
            bridges.append(self._draw(next_bridges))

    def _passages(self, entity: int) -> IntArray:
        """The rows of the passages that name an entity."""
        return np.asarray(self.graph.mentions.of(entity)[0])

    def _distant(self, passages: IntArray, rows: Sequence[int]) -> IntArray:
        """The passages that are near to none of `rows`: of another document, or far away in it."""
        is_same = self.document[passages, None] == self.document[rows]
        is_near = (
            abs(self.position[passages, None] - self.position[rows]) < MIN_DISTANCE
        )
        distant: IntArray = passages[~(is_same & is_near).any(axis=1)]
        return distant

    def _draw(self, values: Sequence[int] | IntArray) -> int:
        """A random value."""
        return int(self.rng.choice(values))


def plan_questions(
    kb: KnowledgeBase,
    model: ChatModel,
    *,
    limit: int = 50,
    hops: int = 2,
    seed: int = 0,
) -> str:
    """The estimated calls, tokens, time and cost of `questions_from`, as text."""
    paths = chains(kb, limit, hops, seed)
    prompts = [_writing_prompt(kb.corpus, chain) for chain in paths]
    checks: list[str] = []
    for number, (chain, prompt) in enumerate(zip(paths, prompts, strict=True)):
        written = model.stored(prompt, Written)
        if written is None:
            checks += _checking_prompts(
                kb.corpus, chain, f"{UNWRITTEN_QUESTION}{number}"
            )
        elif isinstance(written, Completion) and not _fault_of_question(written.parsed):
            checks += _checking_prompts(kb.corpus, chain, written.parsed.question)
    writing = model.plan(prompts, Written, answer_tokens=ANSWER_TOKENS)
    return f"{len(paths)} chains: at most {writing + model.plan(checks, Answered, answer_tokens=ANSWER_TOKENS)}."


def questions_from(
    kb: KnowledgeBase,
    model: ChatModel | None = None,
    *,
    limit: int = 50,
    hops: int = 2,
    seed: int = 0,
) -> WrittenQuestions:
    """A test set from the passages of a knowledge base; every answer is stored and paid once.

    Parameters
    ----------
    model : writes and checks; without one the questions are known items, see above.
    limit : chains, or known items; some chains are dropped.
    hops : passages of a chain.
    seed : the seed of the random choice.

    Raises ValueError: no two passages share a bridge.
    """
    if model is None:
        return known_items(kb.corpus, limit, seed)
    paths = chains(kb, limit, hops, seed)
    if not paths:
        raise ValueError(
            f"No {hops} passages share a name that {MAX_BRIDGE_PASSAGES} or fewer have. Take another graph."
        )
    dropped: Counter[str] = Counter()
    prompts = [_writing_prompt(kb.corpus, chain) for chain in paths]
    outcomes = model.complete_many(prompts, Written, progress="writing questions")
    drafts = _drafts(paths, outcomes, dropped)
    prompts = [
        prompt
        for chain, draft in drafts
        for prompt in _checking_prompts(kb.corpus, chain, draft.question)
    ]
    checks = model.complete_many(prompts, Answered, progress="checking questions")
    rows: list[dict[str, Any]] = []
    for number, (chain, draft) in enumerate(drafts):
        answers = checks[number * (hops + 1) : (number + 1) * (hops + 1)]
        fault = _fault_of_answers(draft, answers)
        if fault:
            dropped[fault] += 1
        else:
            rows.append(_row(f"w{len(rows) + 1}", kb.corpus, chain, draft, model.model))
    failures = [
        outcome for outcome in [*outcomes, *checks] if isinstance(outcome, Failure)
    ]
    return WrittenQuestions(
        kb.corpus, rows, dict(dropped), failures, model.usage([*outcomes, *checks])
    )


def _drafts(
    paths: Sequence[Chain], outcomes: Sequence[Outcome], dropped: Counter[str]
) -> list[tuple[Chain, Written]]:
    """The chains with questions that can be checked; the others are counted in `dropped`."""
    drafts = []
    for chain, outcome in zip(paths, outcomes, strict=True):
        if isinstance(outcome, Failure):
            continue
        fault = _fault_of_question(outcome.parsed)
        if fault:
            dropped[fault] += 1
        else:
            drafts.append((chain, outcome.parsed))
    return drafts


def _row(
    id_: str, corpus: Corpus, chain: Chain, draft: Written, model: str
) -> dict[str, Any]:
    """The record of a question in a test set."""
    return {
        "id": id_,
        "question": draft.question,
        "answers": [draft.answer],
        "gold": [corpus.ids[row] for row in chain.rows],
        "type": "written",
        "hops": len(chain.rows),
        "bridges": list(chain.bridges),
        "origin": f"written and checked by {model}",
    }


def _passage_list(corpus: Corpus, rows: Sequence[int]) -> str:
    """The passages in a prompt: numbered lines of title and text as JSON strings."""
    texts = [quoted(f"{corpus[row].title}: {corpus[row].text}") for row in rows]
    return "\n".join(f"[{number}] {text}" for number, text in enumerate(texts, start=1))


def _writing_prompt(corpus: Corpus, chain: Chain) -> str:
    """The prompt that asks for a question about a chain."""
    return WRITE.format(
        bridges=", ".join(map(quoted, chain.bridges)),
        passages=_passage_list(corpus, chain.rows),
    )


def _checking_prompts(corpus: Corpus, chain: Chain, question: str) -> list[str]:
    """The prompts that ask a question with all passages of a chain, then with each single one."""
    contexts = [chain.rows, *((row,) for row in chain.rows)]
    return [
        ANSWER.format(question=quoted(question), passages=_passage_list(corpus, rows))
        for rows in contexts
    ]


def _fault_of_question(written: Written) -> str:
    """The fault of a question before its check; "" for none."""
    question, answer = normalise(written.question), normalise(written.answer)
    if not question or not answer:
        return "no question that needs them all"
    if f" {answer} " in f" {question} ":
        return "the question names its answer"
    return ""


def _fault_of_answers(draft: Written, outcomes: Sequence[Outcome]) -> str:
    """The fault of a question by the answers from all passages and from single ones, or ""."""
    answers = [
        outcome.parsed.answer for outcome in outcomes if isinstance(outcome, Completion)
    ]
    if len(answers) < len(outcomes):
        return "a check failed"
    if not _agree(answers[0], draft.answer):
        return "not answered from all its passages"
    if any(_agree(answer, draft.answer) for answer in answers[1:]):
        return "answered from a single passage"
    return ""


def _agree(first: str, second: str) -> bool:
    """Whether one answer contains the words of the other in order; a blank first answer agrees with none."""
    first, second = f" {normalise(first)} ", f" {normalise(second)} "
    return bool(first.strip()) and (first in second or second in first)
