"""Your own documents -> a test set: multi-hop questions that a model writes from paths of the graph, or known items.

A path is a chain of passages; neighbours name the same entity, the bridge. The model writes a question that
needs them all; the question is kept if the model, asked anew, answers it from all of them and from no single one, as
MuSiQue keeps connected questions. The model judges itself, so a person should, too: `label()` is the page for it.
Filters: Trivedi et al., "MuSiQue", TACL 2022, Sec. 5. The prompts, and everything else, are ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, Field

from kg2rag.compute import EncoderTokens
from kg2rag.datasets.known_items import WrittenQuestions, known_items
from kg2rag.knowledge import KnowledgeBase
from kg2rag.llm import ChatModel, Completion, Failure
from kg2rag.llm.replies import quoted
from kg2rag.text.normalisation import normalise
from kg2rag.types import Corpus

NAMED = 30
"""Passages that name a bridge, at most: what is named everywhere connects nothing."""
APART = 5
"""Passages of one document that are so far apart may stand in one chain; nearer ones are read together anyway."""
MAX_QUESTION_CHARACTERS, MAX_ANSWER_CHARACTERS = 400, 120
ANSWER_TOKENS = 30
"""Of an answer, about, for a plan."""
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


class Written(BaseModel):
    """A question as a model writes it; both empty where there is none."""

    question: str = Field(json_schema_extra={"maxLength": MAX_QUESTION_CHARACTERS})
    answer: str = Field(json_schema_extra={"maxLength": MAX_ANSWER_CHARACTERS})


class Answered(BaseModel):
    """What a model answers from passages; empty where they do not say it."""

    answer: str = Field(json_schema_extra={"maxLength": MAX_ANSWER_CHARACTERS})


class Chain(NamedTuple):
    """Corpus rows whose neighbours name the same entity, and the names of these entities."""

    rows: tuple[int, ...]
    bridges: tuple[str, ...]


def chains(kb: KnowledgeBase, limit: int = 50, hops: int = 2, seed: int = 0) -> list[Chain]:
    """At most `limit` random chains of `hops` passages of different documents, or far apart in one; bridges differ."""
    if limit < 1 or hops < 2:
        raise ValueError(f"limit must be at least 1 and hops at least 2, not {limit} and {hops}.")
    graph, rng = kb.graph, np.random.default_rng(seed)
    _, document = np.unique(kb.corpus.doc_ids, return_inverse=True)
    position = np.asarray(kb.corpus.table["position"])
    spread = np.diff(graph.mentions.indptr)
    usable = (spread >= 2) & (spread <= NAMED)
    found = dict[tuple[int, ...], Chain]()
    for first in rng.permutation(np.flatnonzero(usable)).tolist():
        rows, walked = [int(rng.choice(graph.mentions.of(first)[0]))], [first]
        while True:
            others = graph.mentions.of(walked[-1])[0]
            near = (document[others, None] == document[rows]) & (abs(position[others, None] - position[rows]) < APART)
            free = others[~near.any(axis=1)]
            if not len(free):
                break
            rows.append(int(rng.choice(free)))
            onwards = [one for one in graph.mentioned.of(rows[-1])[0].tolist() if usable[one] and one not in walked]
            if len(rows) == hops or not onwards:
                break
            walked.append(int(rng.choice(onwards)))
        if len(rows) == hops:
            found.setdefault(tuple(sorted(rows)), Chain(tuple(rows), tuple(graph.names[one] for one in walked)))
        if len(found) == limit:
            break
    return list(found.values())


def plan_questions(kb: KnowledgeBase, model: ChatModel, *, limit: int = 50, hops: int = 2, seed: int = 0) -> str:
    """What `questions_from` with these arguments would send, in words: calls, tokens and cost, estimated."""
    paths = chains(kb, limit, hops, seed)
    prompts, stored = list[str](), 0
    for chain in paths:
        prompt = _write(kb.corpus, chain)
        known = model.stored(prompt, Written)
        if known is None:
            prompts += [prompt, *_checks(kb.corpus, chain, "?" * 100)]
            continue
        stored += 1
        if isinstance(known, Completion) and not _reason(known.parsed):
            asked = _checks(kb.corpus, chain, known.parsed.question)
            unknown = [one for one in asked if model.stored(one, Answered) is None]
            stored, prompts = stored + len(asked) - len(unknown), prompts + unknown
    counted, answers = sum(EncoderTokens().count(prompts)), ANSWER_TOKENS * len(prompts)
    cost = "cost unknown (no prices given)"
    if model.prompt_price is not None and model.completion_price is not None:
        cost = f"cost about {(counted * model.prompt_price + answers * model.completion_price) / 1e6:.2f}"
    calls = f"at most {len(prompts)} calls, about {counted:,} + {answers:,} tokens, {cost}"
    return f"{len(paths)} chains: {calls}; {stored} answers are stored."


def questions_from(
    kb: KnowledgeBase, model: ChatModel | None = None, *, limit: int = 50, hops: int = 2, seed: int = 0
) -> WrittenQuestions:
    """A test set from the passages of a knowledge base; every answer of a model is stored and paid once.

    Parameters
    ----------
    model : writes and checks; without one the questions are known items, see above.
    limit : chains, or known items; of chains some are dropped.
    hops : passages of a chain.
    seed : of the draw.

    Raises ValueError: no two passages share a bridge.
    """
    if model is None:
        return known_items(kb.corpus, limit, seed)
    paths = chains(kb, limit, hops, seed)
    if not paths:
        raise ValueError(f"No {hops} passages share a name that {NAMED} or fewer have. Take another graph.")
    outcomes = model.complete_many([_write(kb.corpus, one) for one in paths], Written, progress="writing questions")
    dropped, failures = Counter[str](), [one for one in outcomes if isinstance(one, Failure)]
    written = [(chain, one.parsed) for chain, one in zip(paths, outcomes, strict=True) if isinstance(one, Completion)]
    dropped.update(reason for _, one in written if (reason := _reason(one)))
    written = [(chain, one) for chain, one in written if not _reason(one)]
    prompts = [prompt for chain, one in written for prompt in _checks(kb.corpus, chain, one.question)]
    checked = model.complete_many(prompts, Answered, progress="checking questions")
    failures += [one for one in checked if isinstance(one, Failure)]
    rows = list[dict[str, Any]]()
    for at, (chain, one) in enumerate(written):
        own = checked[at * (hops + 1) : (at + 1) * (hops + 1)]
        answers = [each.parsed.answer for each in own if isinstance(each, Completion)]
        if len(answers) < len(own):
            dropped["a check failed"] += 1
        elif not _agree(answers[0], one.answer):
            dropped["not answered from all its passages"] += 1
        elif any(_agree(answer, one.answer) for answer in answers[1:]):
            dropped["answered from a single passage"] += 1
        else:
            about = {"answers": [one.answer], "gold": [kb.corpus.ids[row] for row in chain.rows], "type": "written"}
            origin = f"written and checked by {model.model}"
            rows.append(
                {"id": f"w{len(rows) + 1}", "question": one.question, **about}
                | {"hops": hops, "bridges": list(chain.bridges), "origin": origin}
            )
    return WrittenQuestions(kb.corpus, rows, dict(dropped), failures, model.usage([*outcomes, *checked]))


def _passages(corpus: Corpus, rows: Sequence[int]) -> str:
    shown = ((corpus[row].title, corpus[row].text) for row in rows)
    return "\n".join(f"[{at}] {quoted(f'{title}: {text}')}" for at, (title, text) in enumerate(shown, start=1))


def _write(corpus: Corpus, chain: Chain) -> str:
    return WRITE.format(bridges=", ".join(map(quoted, chain.bridges)), passages=_passages(corpus, chain.rows))


def _checks(corpus: Corpus, chain: Chain, question: str) -> list[str]:
    """With all passages, then with each single one."""
    parts = [chain.rows, *((row,) for row in chain.rows)]
    return [ANSWER.format(question=quoted(question), passages=_passages(corpus, rows)) for rows in parts]


def _reason(written: Written) -> str:
    """Why a question cannot be used, before it is checked; "" where it can."""
    question, answer = normalise(written.question), normalise(written.answer)
    if not question or not answer:
        return "no question that needs them all"
    return "the question names its answer" if f" {answer} " in f" {question} " else ""


def _agree(given: str, wanted: str) -> bool:
    """Whether one answer contains the other, word by word."""
    a, b = (f" {normalise(text)} " for text in (given, wanted))
    return bool(a.strip()) and (a in b or b in a)
