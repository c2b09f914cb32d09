"""A query's texts -> their order by a language model, which compares them.

The listwise permutation with sliding windows of [1] (RankGPT): the model puts a window of the list
in order, from the end of the list to its front, so that what is good climbs with the windows. Ours:
the prompt; the last window begins with the list (theirs may leave out its head); an answer of one
reading is read, any other is an error.

[1] Sun et al., "Is ChatGPT Good at Search?", EMNLP 2023, section 3.2 and 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, WithJsonSchema, create_model

from kg2rag.compute.endpoint import TIMEOUT_SECONDS
from kg2rag.knowledge import KnowledgeBase
from kg2rag.llm import ChatModel
from kg2rag.llm.dialect import Structured
from kg2rag.llm.json_text import quoted
from kg2rag.llm.query_prompts import ask_each, chat_model, unusable
from kg2rag.retrievers.rerankers import Pairs
from kg2rag.text.normalisation import normalise
from kg2rag.types import FloatArray, IntArray, at_least, component

MAX_WORDS = 300  # the maximum of a text in the prompt
_PROMPT = (
    (files(__package__) / "reranker_prompt.txt")
    .read_text(encoding="utf-8")
    .rstrip("\n")
)


class Order(BaseModel):
    """The form of the answer: the passages' numbers, from 1, best first."""

    order: list[int]


@cache
def order_of(count: int) -> type[Order]:
    """The form of an answer about `count` passages: their numbers from 1 to `count`."""
    numbers = {"type": "integer", "enum": list(range(1, count + 1))}
    wanted = {"type": "array", "items": numbers, "minItems": count, "maxItems": count}
    return create_model(
        "Order",
        __base__=Order,
        __doc__=Order.__doc__,
        order=(Annotated[list[int], WithJsonSchema(wanted)], ...),
    )


@component
class LLMReranker:
    """A language model that orders a query's texts; the score of a text is 1 / its new rank.

    The windows of one query are sent one after another, those of different queries together. A query
    without a word is not sent and keeps its order.

    Parameters
    ----------
    model : the model, whose store keeps its answers.
    window : the number of texts in one prompt; the next window begins half of that further to the front.
    """

    model: ChatModel
    window: Annotated[int, at_least(2)] = 20

    def score_lists(self, lists: Sequence[Pairs]) -> list[FloatArray]:
        """1 / new rank of each text of each list.

        CompletionError: an answer is missing, or no order of the passages sent; the query is named.
        """
        orders = [np.arange(len(pairs)) for pairs in lists]
        windows = [self._windows(pairs) for pairs in lists]
        for turn in range(max(map(len, windows), default=0)):
            window_of = {
                number: of_list[turn]
                for number, of_list in enumerate(windows)
                if turn < len(of_list)
            }
            self._reorder(lists, orders, window_of)
        return [1 / (1.0 + np.argsort(order)) for order in orders]

    def _windows(self, pairs: Pairs) -> list[slice]:
        """The windows of a list, from its end to its front."""
        if len(pairs) < 2 or not normalise(pairs[0][0]):
            return []
        starts = [*range(len(pairs) - self.window, 0, -(self.window // 2)), 0]
        return [slice(start, min(start + self.window, len(pairs))) for start in starts]

    def _reorder(
        self,
        lists: Sequence[Pairs],
        orders: Sequence[IntArray],
        window_of: Mapping[int, slice],
    ) -> None:
        """Put the texts in one window of each list in the order of the model's answer.

        `orders` : for each list, the rows of its texts in their new order; modified. `window_of` : number of
        a list -> its window.
        """
        names = [f"query {lists[number][0][0][:80]!r}" for number in window_of]
        compared = [
            [lists[number][row] for row in orders[number][window]]
            for number, window in window_of.items()
        ]
        prompts = [_prompt(pairs) for pairs in compared]
        forms = [order_of(len(pairs)) for pairs in compared]
        answers = ask_each(self.model, names, prompts, forms, "reranking")
        for (number, window), name, answer in zip(
            window_of.items(), names, answers, strict=True
        ):
            try:
                order = read_order(answer.parsed.order, window.stop - window.start)
            except ValueError as error:
                raise unusable(name, answer, str(error)) from None
            orders[number][window] = orders[number][window][order]


def _prompt(pairs: Pairs) -> str:
    texts = [" ".join(text.split()[:MAX_WORDS]) for _, text in pairs]
    lines = "\n".join(
        f"[{number}] {text}" for number, text in enumerate(texts, start=1)
    )
    return _PROMPT.format(query=quoted(pairs[0][0]), passages=lines, n=len(pairs))


def read_order(order: Sequence[int], n: int) -> list[int]:
    """The order of the numbers 1 to `n` in an answer, as indices from 0.

    A number repeated in a row counts once, and a single missing number comes last. ValueError: any other
    deviation.

    >>> read_order([3, 3, 1], 3)
    [2, 0, 1]
    """
    distinct = [number for number, _ in groupby(order)]
    missing = [number for number in range(1, n + 1) if number not in distinct]
    complete = [*distinct, *missing]
    if sorted(complete) != list(range(1, n + 1)) or len(missing) > 1:
        raise ValueError(
            f"of the passages 1 to {n}, each once, it gives {', '.join(map(str, order)) or 'none'}"
        )
    return [number - 1 for number in complete]


def named(
    kb: KnowledgeBase,
    model: str,
    *,
    max_tokens: int | None = 512,
    concurrency: int | None = None,
    timeout: float = TIMEOUT_SECONDS,
    structured: Structured = "json_schema",
    body: Mapping[str, Any] | None = None,
) -> LLMReranker:
    """The reranker of "MODEL@BASE_URL", whose answers the knowledge base's store keeps."""
    options = (max_tokens, concurrency, timeout, structured, body)
    return LLMReranker(chat_model(model, kb.store, *options))
