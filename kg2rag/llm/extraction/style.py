"""The prompts for a graph: the text of a call, and the steps.

A style is data: instructions, worked examples and the schema of each answer. kg2rag's styles are in
`prompts.toml`, with their sources; write one to try other prompts.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from kg2rag.llm.extraction.schema import (
    Entities,
    Facts,
    GraphSchema,
    bounded,
    max_items,
    stated,
)
from kg2rag.types import Corpus

Messages = list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The text of one call: a passage (sentence -1), or one of its sentences, from 0."""

    row: int
    title: str
    text: str
    sentence: int = -1


@dataclass(frozen=True)
class PromptStep:
    """A step of a style, with one call for each excerpt.

    Parameters
    ----------
    name : the name in plans and lists of failures.
    instruction : the system message.
    question : the last message, with the fields {title}, {text} and, after a step that names entities, {entities},
        which is their JSON list.
    examples : pairs of a question and its right answer, which precede the question as a conversation.
    schema : the form of the answer; a `GraphSchema` asks for entities and relations of its types, with descriptions,
        strengths and confidences.
    growth : the tokens of an answer per token of the excerpt's text, for plans.
    """

    name: str
    instruction: str
    question: str
    examples: tuple[tuple[str, str], ...]
    schema: type[BaseModel] | GraphSchema
    growth: float

    @property
    def form(self) -> type[BaseModel]:
        """The pydantic model of an answer."""
        if isinstance(self.schema, GraphSchema):
            return stated(self.schema)
        return self.schema

    def form_for(self, excerpt: Excerpt) -> type[BaseModel]:
        """The form of an answer about an excerpt; the length of the text limits its lists."""
        return bounded(self.form, max_items(excerpt.text))

    def messages(self, excerpt: Excerpt, entities: Sequence[str] = ()) -> Messages:
        """The messages about an excerpt; all but the last are the same for every excerpt."""
        listed = json.dumps(list(entities), ensure_ascii=False)
        question = self.question.format(
            title=excerpt.title, text=excerpt.text, entities=listed
        )
        shown = [{"role": "system", "content": self.instruction}]
        for prompt, answer in self.examples:
            shown += [
                {"role": "user", "content": prompt},
                {"role": "assistant", "content": answer},
            ]
        return [*shown, {"role": "user", "content": question}]


@dataclass(frozen=True, repr=False)
class PromptStyle:
    """A way of prompting.

    Parameters
    ----------
    name : the name on the command line and in the graph's notes.
    per : whether one call is about a passage or a sentence, see `Corpus.sentences`.
    steps : one step for `Facts`; or one for `Entities`, then one for `Facts` about them; or one with a `GraphSchema`,
        see `typed`.
    """

    name: str
    per: Literal["passage", "sentence"]
    steps: tuple[PromptStep, ...]

    def __repr__(self) -> str:
        # the texts would fill a page
        return f"PromptStyle({self.name!r}, by {self.per}, {self.fingerprint[:8]})"

    def __post_init__(self) -> None:
        forms = [
            GraphSchema if isinstance(step.schema, GraphSchema) else step.schema
            for step in self.steps
        ]
        if forms not in ([Facts], [Entities, Facts], [GraphSchema]):
            form_names = ", ".join(form.__name__ for form in forms) or "none"
            allowed = "Facts, Entities then Facts, or a GraphSchema"
            raise ValueError(
                f"Style {self.name!r}: its steps ask for {form_names}. Allowed: {allowed}."
            )

    @property
    def types(self) -> GraphSchema | None:
        """The schema of a style with types, descriptions, strengths and confidences; else None."""
        schema = self.steps[0].schema
        if isinstance(schema, GraphSchema):
            return schema
        return None

    def typed(self, types: GraphSchema) -> PromptStyle:
        """The style with the types of a schema.

        It has no worked examples, since these would teach other types. ValueError: the style asks for no
        types.
        """
        if self.types is None:
            raise ValueError(
                f"Style {self.name!r} asks for no types, so it takes no schema. Use 'typed'."
            )
        if not types:
            return self
        rules = (
            _rule("type of an entity", types.entity_types),
            _rule("relation", types.relation_types),
        )
        (step,) = self.steps
        instruction = f"{step.instruction}\n{' '.join(filter(None, rules))}"
        typed_step = replace(step, instruction=instruction, examples=(), schema=types)
        return replace(self, steps=(typed_step,))

    @property
    def fingerprint(self) -> str:
        """The sha256 of `per` and of the texts and schemas of all steps."""
        steps = [
            (
                step.instruction,
                step.question,
                step.examples,
                step.form.model_json_schema(),
            )
            for step in self.steps
        ]
        return hashlib.sha256(
            json.dumps([self.per, steps], sort_keys=True).encode()
        ).hexdigest()

    def excerpts(self, corpus: Corpus, limit: int | None = None) -> Iterator[Excerpt]:
        """The excerpts of the first `limit` passages, in corpus order, without blank sentences."""
        for row in range(len(corpus) if limit is None else min(limit, len(corpus))):
            passage = corpus[row]
            if self.per == "passage":
                yield Excerpt(row, passage.title, passage.text)
                continue
            for number, sentence in enumerate(corpus.sentences(row)):
                if sentence.strip():
                    yield Excerpt(row, passage.title, sentence.strip(), number)


def _rule(kind: str, types: Mapping[str, str]) -> str:
    """The sentence that lists the allowed types of a kind with their meanings; "" without types."""
    if not types:
        return ""
    items = [
        f"{name} ({meaning})" if meaning else name for name, meaning in types.items()
    ]
    return f"The {kind} is one of these, and what fits none is left out: {'; '.join(items)}."


def _step(examples: list[list[str]], schema: str, **fields: Any) -> PromptStep:
    """The step of a table in `prompts.toml`."""
    schemas: dict[str, type[BaseModel] | GraphSchema] = {
        "Entities": Entities,
        "Facts": Facts,
        "Stated": GraphSchema(),
    }
    return PromptStep(
        examples=tuple((prompt, answer) for prompt, answer in examples),
        schema=schemas[schema],
        **fields,
    )


_PROMPTS = Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8")
STYLES: Mapping[str, PromptStyle] = {
    name: PromptStyle(
        name, style["per"], tuple(_step(**step) for step in style["steps"])
    )
    for name, style in tomllib.loads(_PROMPTS).items()
}
