"""The name of a linker, as the command line takes it -> the linker: "fuzzy", "embedding:0.6", "ngram+embedding:0.6".

A name may be followed by `:` and its parameters, separated by commas: the first may be its main one's value alone
(`MAIN`), the others are `parameter=value`, as in `ngram:max_passages=50`. Names joined by `+` are a chain: the first of
them that links anything decides, query by query.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from kg2rag.knowledge import KnowledgeBase
from kg2rag.retrievers.linking.fuzzy import FuzzyLinker
from kg2rag.retrievers.linking.gold import GoldLinker
from kg2rag.retrievers.linking.linkers import ChainLinker, EmbeddingLinker, Linker, NGramLinker, PhraseLinker
from kg2rag.text import plugins
from kg2rag.types import ParameterError, check_types, read_value

GROUP = "kg2rag.linkers"
DESIGN = "ngram+embedding"
"""Names of the graph in the query's words, else names like the query's vector: the graph-augmented design's."""


def _llm(kb: KnowledgeBase, model: str = "", **settings: object) -> Linker:
    from kg2rag.compute.llm import chat_model
    from kg2rag.retrievers.linking.llm import LLMLinker

    return LLMLinker(kb, chat_model(model, kb.store, "llm"), **settings)  # type: ignore[arg-type]


def _gold(kb: KnowledgeBase, file: str = "") -> Linker:
    if not file:
        raise ParameterError("The linker 'gold' needs a file: gold:FILE, a JSON object query id -> list of names.")
    return GoldLinker.read(kb, file)


LINKERS: Mapping[str, Callable[..., Linker]] = {
    "embedding": EmbeddingLinker,
    "fuzzy": FuzzyLinker,
    "gold": _gold,
    "llm": _llm,
    "ngram": NGramLinker,
    "phrase": PhraseLinker,
}
MAIN = {
    "embedding": "min_cosine",
    "fuzzy": "min_similarity",
    "gold": "file",
    "llm": "model",
    "ngram": "max_passages",
    "phrase": "limit",
}


def of(linker: str | Linker, kb: KnowledgeBase) -> Linker:
    """A linker given as such or by name."""
    return named(linker, kb) if isinstance(linker, str) else linker


def named(name: str, kb: KnowledgeBase) -> Linker:
    """The linker, or chain of linkers, of a name: ours or an installed package's.

    ValueError: a name that nobody registered, or a parameter that the linker lacks or refuses; the known are listed.
    """
    linkers = tuple(_one(part.strip(), kb) for part in name.split("+"))
    return linkers[0] if len(linkers) == 1 else ChainLinker(linkers)


def _one(written: str, kb: KnowledgeBase) -> Linker:
    name, _, given = written.partition(":")
    builder = plugins.look_up("linker", name, LINKERS, GROUP)
    settings = _settings(name, given, builder)
    try:
        check_types(builder, settings)
        return builder(kb, **settings)
    except ParameterError as error:
        raise ParameterError(f"Linker {written!r}: {error}") from None


def _settings(name: str, given: str, builder: Callable[..., Linker]) -> dict[str, object]:
    """The parameters written after a name; those whose default is a text stay texts."""
    parameters = {key: one for key, one in inspect.signature(builder).parameters.items() if key != "kb"}
    free = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    settings: dict[str, object] = {}
    for place, part in enumerate(given.split(",") if given else ()):
        parameter, equals, value = part.partition("=")
        if not (equals and parameter.isidentifier()):
            if place or name not in MAIN:
                raise ParameterError(f"Linker {name!r}: write parameter=value, not {part!r}.")
            parameter, value = MAIN[name], part
        if parameter not in parameters and not free:
            raise ParameterError(f"Linker {name!r} has no parameter {parameter!r}. Known: {', '.join(parameters)}.")
        text = parameter in parameters and isinstance(parameters[parameter].default, str)
        settings[parameter] = value if text else read_value(value)
    return settings
