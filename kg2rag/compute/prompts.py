"""The name of an encoder -> its full name on the hub, and what it wants before each query and each passage.

Some models were trained with words before their texts. Where their files say which (`prompts` of
sentence-transformers), those are taken. The models here say it in their model cards alone: the table has what the cards
say, and applies where a model's files name no prompt and its hub name, or the folder it lies in, is as in the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

BGE = "Represent this sentence for searching relevant passages: "
OF_FILES = ("query", "document")
"""What sentence-transformers calls the prompts of a query and of a passage."""


@dataclass(frozen=True, slots=True)
class Card:
    """What the model card of an encoder says.

    Attributes
    ----------
    model : the full name on the hub.
    query, passage : what stands before each text, its blank at the end included; "" where nothing does.
    """

    model: str
    query: str = ""
    passage: str = ""


_SIZES = ("small", "base", "large")
_CARDS = (
    *(Card(f"BAAI/bge-{size}-en-v1.5", query=BGE) for size in _SIZES),
    *(Card(f"intfloat/e5-{size}-v2", "query: ", "passage: ") for size in _SIZES),
    *(Card(f"intfloat/multilingual-e5-{size}", "query: ", "passage: ") for size in _SIZES),
    *(Card(f"thenlper/gte-{size}") for size in _SIZES),
    *(Card(f"Alibaba-NLP/gte-{size}-en-v1.5") for size in _SIZES[1:]),
)
CARDS: Mapping[str, Card] = {card.model.partition("/")[2].lower(): card for card in _CARDS}
"""Name without its owner, in lower case -> card."""
SHORT_NAMES: Mapping[str, str] = {
    **{f"bge-{size}": f"bge-{size}-en-v1.5" for size in _SIZES},
    **{f"e5-{size}": f"e5-{size}-v2" for size in _SIZES},
}
"""Further short names -> the name in `CARDS`."""


def card_of(model: str) -> Card | None:
    """The card of a hub name or of a local folder, by the last part of either; None where the table has none.

    >>> card_of("models/e5-small-v2").query
    'query: '
    """
    return CARDS.get(Path(model).name.lower())


def full_name(model: str) -> str:
    """The name on the hub of a short one; a folder, and any name that the table has not, as it is.

    >>> full_name("bge-small")
    'BAAI/bge-small-en-v1.5'
    """
    if "/" in model or Path(model).is_dir():
        return model
    name = model.lower()
    card = CARDS.get(SHORT_NAMES.get(name, name))
    return model if card is None else card.model


def prompts_of(
    model: str, files: Mapping[str, str] | None, query: str | None, passage: str | None
) -> tuple[dict[str, str], str | None]:
    """What stands before each query and passage, and who says so: None where the model's files, or nobody, does.

    Parameters
    ----------
    files : the prompts of the model's files, under the names `OF_FILES`.
    query, passage : as given by the caller, before all others; None where not given, "" for none.
    """
    own = dict(zip(("query", "passage"), ((files or {}).get(name) or "" for name in OF_FILES), strict=True))
    card = None if any(own.values()) else card_of(model)
    found = own if card is None else {"query": card.query, "passage": card.passage}
    given = {role: text for role, text in (("query", query), ("passage", passage)) if text is not None}
    said = [f"{' and '.join(given)} given"] if given else []
    if card is not None and len(given) < len(found):
        said.append(f"model card of {card.model}")
    return found | given, "; ".join(said) or None


def decided_by(model: str, query: str | None, passage: str | None) -> dict[str, object]:
    """What decides on the prompts besides the model's files, for a key; empty where nothing does.

    Raises TypeError: a given prompt that is no string.
    """
    given = {"query_prompt": query, "passage_prompt": passage}
    for name, text in given.items():
        if not isinstance(text, str | None):
            raise TypeError(f'{name} must be a string ("" for none) or None, not {text!r}.')
    card = card_of(model)
    said = {} if card is None else {"card": [card.query, card.passage]}
    return {**said, **{name: text for name, text in given.items() if text is not None}}
