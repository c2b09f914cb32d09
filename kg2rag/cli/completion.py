"""What a shell offers for the values of options: `kg2rag --install-completion` makes it ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def known_sets(incomplete: str) -> list[str]:
    """The question sets that begin so."""
    from kg2rag.datasets import beir, names

    return _beginning(incomplete, (*names(), *(beir.names() if incomplete.startswith(beir.PREFIX) else ())))


def known_systems(incomplete: str) -> list[str]:
    """The systems that begin so, and the two names for several of them."""
    from kg2rag.retrievers.systems import names

    return _beginning(incomplete, ("all", "core", *names()))


def known_metrics(incomplete: str) -> list[str]:
    """The usual metrics that begin so."""
    from kg2rag.evaluation.metric_names import DEFAULT_METRICS

    return _beginning(incomplete, DEFAULT_METRICS)


def last_of(complete: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The same for the last of several names with commas between, without those that are there already."""

    def completed(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        return [before + comma + name for name in complete(last) if name not in given]

    return completed


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
