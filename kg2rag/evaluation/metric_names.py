"""Names of metrics -> what they ask for: a formula, and how much of a ranking it reads.

`recall@5` reads five hits, `recall@500tokens` as many whole hits, best first, as fit in 500 tokens, `recall` all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

CUT = (
    "all_recall",
    "dcg",
    "dcg_burges",
    "f1",
    "hit_rate",
    "hits",
    "map",
    "mrr",
    "ndcg",
    "ndcg_burges",
    "precision",
    "recall",
)
"""Metrics that take a depth, `@k`, or a budget, `@Ntokens`; without one they read the whole ranking."""
WHOLE = ("r-precision",)
"""Metrics that choose their depth themselves: ranx ignores one given to them, so none may be given."""
SUPPORT = ("support_f1", "support_precision", "support_recall")
"""HotpotQA's supporting-sentence metrics, with or without `@k`, where k counts passages."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as it was named, its base name, and what it reads: `k` hits, `tokens` tokens, or (both None) all."""

    name: str
    base: str
    k: int | None
    tokens: int | None = None

    @property
    def formula(self) -> str:
        """What ranx calls it: without what is cut or lifted before ranx sees it."""
        return self.name.removeprefix("all_").removesuffix(f"@{self.tokens}tokens")

    @classmethod
    def parse(cls, name: str) -> Metric:
        """The metric of that name; ValueError lists the known ones."""
        if re.fullmatch(r"rbp\.\d{1,2}", name) and float(name[3:]) > 0:
            return cls(name, "rbp", None)
        match = re.fullmatch(r"([a-z0-9_-]+)(?:@([1-9]\d*)(tokens)?)?", name)
        base, depth, tokens = match.groups() if match else (name, None, None)
        if base in WHOLE and depth:
            raise ValueError(f"Metric {name!r}: {base} chooses its depth itself and takes no '@k'. Write {base!r}.")
        if base == "bpref":
            # ranx divides by the number of judged non-relevant passages: 0 / 0 for every query of ours.
            raise ValueError("Metric 'bpref' needs passages judged not relevant, and gold names the relevant alone.")
        if match is None or base not in (*CUT, *WHOLE, *SUPPORT):
            raise ValueError(f"Unknown metric {name!r}. Known: {known_metrics()}; k and N count from 1.")
        number = int(depth) if depth else None
        return cls(name, base, None, number) if tokens else cls(name, base, number)


def known_metrics() -> str:
    """The names of all metrics, for messages and help texts."""
    cut = ", ".join(f"{base}[@k]" for base in sorted(CUT + SUPPORT))
    return f"{cut}, each also @Ntokens (as recall@500tokens), {', '.join(WHOLE)}, rbp.NN (persistence 0.NN)"


def parse_metrics(names: Sequence[str], k: int | None = None) -> list[Metric]:
    """The metrics of those names, in their order.

    Raises
    ------
    ValueError : no name, a name that stands twice or is not known, a depth beyond the `k` hits that a ranking has.
    """
    if isinstance(names, str):
        raise ValueError(f"metrics must be a list of names, not the one string {names!r}. Write [{names!r}].")
    metrics = [Metric.parse(name) for name in names]
    if not metrics:
        raise ValueError(f"No metric given. Known: {known_metrics()}.")
    for i, metric in enumerate(metrics):
        if metric.name in names[:i]:
            raise ValueError(f"Metric {metric.name!r} stands twice in {list(names)}.")
        if k is not None and metric.k is not None and metric.k > k:
            raise ValueError(
                f"Metric {metric.name!r} reads {metric.k} hits, but k is {k}. Ask for k={metric.k} or more."
            )
    return metrics
