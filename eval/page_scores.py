"""Queries of the pages' markers: scores of comparisons, and the sizes of sets."""

from __future__ import annotations

from typing import Any

from page_data import Results, UnknownError, known
from page_values import HOLM, Number, between, counted, listed, percent, query, sets

LABELS = {"musique-100": "MuSiQue", "hotpotqa-300": "HotpotQA", "2wiki-1000": "2WikiMultihopQA", "cosqa-500": "CoSQA"}
LEVEL = "recall@5"


@query
def mean(results: Results, folders: str, system: str, metric: str) -> Number:
    """A system's mean in per cent; over several folders, the smallest and the largest."""
    return between([percent(results.score(one, system, metric)["mean"]) for one in sets(folders)])


@query
def gap(results: Results, folders: str, above: str, below: str, metric: str) -> Number:
    """By how many points one system is above another; a page that has the direction wrong is refused."""
    found = []
    for folder in sets(folders):
        one, other = (results.score(folder, system, metric)["mean"] for system in (above, below))
        if one < other:
            raise UnknownError(f"{above} is not above {below} by {metric} in {folder}: say the sentence the other way.")
        found.append(percent(one - other))
    return between(found)


@query
def against(results: Results, folder: str, system: str, other: str, metric: str) -> str:
    """Where a system stands beside another one: so many points above or below it, or level with it."""
    one, two = (results.score(folder, name, metric)["mean"] for name in (system, other))
    shown = percent(abs(one - two)).text
    return "level with" if float(shown) == 0 else f"{shown} points {'above' if one > two else 'below'}"


@query
def p(results: Results, folder: str, system: str, metric: str) -> Number:
    """The p-value against the table's baseline, Holm-corrected."""
    value = float(results.score(folder, system, metric)["p_holm"])
    if value != value:
        raise UnknownError(f"{system} has no p-value by {metric} in {folder}: it is the baseline.")
    return Number(value, "< .001" if value < 0.001 else f"{value:.3f}".lstrip("0"))


@query
def verdict(results: Results, folder: str, system: str, metric: str) -> str:
    """Whether a system differs significantly from the table's baseline."""
    return "significantly" if p(results, folder, system, metric).value < HOLM else "not significantly"


@query
def bold(results: Results, folder: str, metric: str) -> Number:
    """How many systems are significantly above every other one of their table: 0 or 1."""
    below = results.scores(folder).xs(metric, level="metric")["p_best"] < HOLM
    return Number(int(below.sum()), str(int(below.sum())))


@query
def worth(results: Results, folder: str, strategy: str, graph: str) -> Number:
    """A graph's recall@5 less the mean of its shufflings, with the deviation between these."""
    real = results.score(folder, f"{strategy}.{graph}", LEVEL)
    placebo = results.score(folder, f"{strategy}.{graph}-shuffled", LEVEL)
    gain = 100 * (real["mean"] - placebo["mean"])
    return Number(gain, f"{gain:.1f} ± {100 * placebo['seed_sd']:.1f}")


@query
def placebos(results: Results, folder: str, strategies: str) -> Number:
    """The means of some strategies over all shuffled graphs of a comparison, from least to most."""
    systems = results.scores(folder).index.unique("system")
    names = strategies.split(",")
    for name in names:
        known(f"strategy of {folder}", name, {one.split(".")[0] for one in systems})
    shuffled = [one for one in systems if one.endswith("-shuffled") and one.split(".")[0] in names]
    return between([percent(results.score(folder, one, LEVEL)["mean"]) for one in shuffled])


@query
def worths(results: Results, folder: str, *name: str) -> str:
    """What each of some graphs is worth under every strategy of a comparison, as a list; one graph is not named."""
    systems = [one.split(".", 1) for one in results.scores(folder).index.unique("system") if "." in one]
    strategies = dict.fromkeys(strategy for strategy, _ in systems)
    lines = []
    for strategy in strategies:
        values = [worth(results, folder, strategy, graph).text for graph in name]
        named = [f"{value} over `{graph}`" for value, graph in zip(values, name, strict=True)]
        lines.append(f"`{strategy}` {', '.join(named if len(name) > 1 else values)}")
    return "; ".join(lines)


@query
def vectors(results: Results, *name: str) -> str:
    """The kind of number that vectors were, by the committed configurations; nothing where none is committed.

    `all` stands for every comparison.
    """
    folders = results.folders if name == ("all",) else name
    configs = {folder: config for folder in folders if (config := results.config(folder)) is not None}
    kinds = {folder: found for folder, config in configs.items() if (found := dtypes(config))}
    if not kinds:
        return ""
    left = len(folders) - len(configs)
    missing = f" (without {left}, whose configurations are not committed)" if left else ""
    found = sorted(set().union(*kinds.values()))
    if len(found) == 1:
        return f"The vectors of these tables are {found[0]}{missing}."
    by_kind = (f"{one} in {listed([f for f, own in kinds.items() if one in own])}" for one in found)
    return f"The vectors are {'; '.join(by_kind)}{missing}."


def dtypes(config: Any) -> set[str]:
    """The kinds of number of a configuration's encoders, as they were resolved; none where none was opened."""
    encoders = [kb.get("encoder") or {} for kb in config["knowledge"]]
    return {encoder["dtype"] for encoder in encoders if "dtype" in encoder}


@query
def size(results: Results, name: str, column: str) -> Number:
    """How many questions or passages a set has (`eval/sets.py`)."""
    return counted(results.row("sets", column, {"set": name}))


@query
def fewer(results: Results, name: str, ledger: str, theirs: str) -> Number:
    """How many of a paper's questions our set lacks."""
    all_of_them = results.value(f"ledger/{ledger}", "sets", theirs, "questions")
    return counted(all_of_them - size(results, name, "questions").value)


@query
def sizes(results: Results, *name: str) -> str:
    """A sentence for each set."""
    counts = [(LABELS[one], *(size(results, one, column) for column in ("questions", "passages"))) for one in name]
    return " ".join(f"{label}: {asked.text} questions, {held.text} passages." for label, asked, held in counts)
