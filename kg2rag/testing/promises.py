"""The promises of a retriever, by the names that `check_retriever` reports and excuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kg2rag.testing import behaviour, rankings
from kg2rag.testing.trial import Trial

Promise = Callable[[Trial], Iterator[str]]

PROMISES: Mapping[str, Promise] = {
    "answers every query": rankings.answers,
    "at most k hits": rankings.at_most_k,
    "known passages": rankings.known_passages,
    "finite scores": rankings.finite_scores,
    "canonical order": rankings.canonical_order,
    "candidates": rankings.candidates,
    "a batch equals its queries": behaviour.batches,
    "a smaller k is a prefix": behaviour.prefixes,
    "k is checked": behaviour.bounds_of_k,
    "preparing changes nothing": behaviour.preparing,
    "a trace is a retrieval": behaviour.tracing,
    "pickling": behaviour.pickling,
    "configuration": behaviour.configuration,
    "stages and paths": rankings.stages,
    "formula": rankings.formulas,
    "finds something": rankings.finds_something,
    "no silent fall-back": behaviour.no_silent_fallback,
}
NEEDED = ("answers every query", "known passages")
"""Where one of these is broken, the others of that world are not tried."""
