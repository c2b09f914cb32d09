"""A score table -> the sentences under it: what its signs mean, what it could not detect, how systems fared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kg2rag.report.table import LARGER, LEVEL, MACRO, TUNED, Sheet

_OF_SETS = (
    "Its interval is made of those on the sets, its test swaps the systems on each question of each set: both say "
    "nothing of other sets."
)
_OF_SEEDS = (
    "each question's score is its mean over them, and ± the standard deviation of the mean between them. Intervals and "
    "tests are over questions."
)


def notes(sheet: Sheet) -> list[str]:
    """How to read the table, which differences it could not detect, and which systems return more than the others."""
    config, unread = sheet.config, dict[str, list[str]]()
    for name, graphs in config.get("graph_unread", {}).items():
        unread.setdefault(" and ".join(graphs), []).append(name)
    encoders = [one["encoder"] for one in config.get("knowledge", []) if "dtype" in one["encoder"]]
    vectors = dict.fromkeys(f"{one['model'].split('/')[-1]}, {one['dtype']} on {one['device']}" for one in encoders)
    seeds = ", ".join(f"{name} ({len(runs)})" for name, runs in config.get("seeds", {}).items())
    sets, lost = ", ".join(config.get("sets", {})), config.get("data", {}).get("gold_out_of_reach", 0)
    told: list[tuple[Any, str]] = [
        (sets, f"{MACRO}: the mean of the means on {sets}, each set counting alike. {_OF_SETS}"),
        (vectors, f"Vectors: {'; '.join(vectors)}."),
        (lost, f"Of {lost:,} questions gold is not among their candidates: no system can find it."),
        (True, _detectable(sheet)),
        (seeds, f"Run under several seeds: {seeds}; {_OF_SEEDS}"),
    ]
    return [
        " ".join(["Means in per cent with 95 % intervals.", *_signs(sheet)]),
        *(text for there, text in told if there and text),
        *(f"{TUNED} {name}: chosen with this set in view: {'; '.join(what)}." for name, what in sheet.tuned.items()),
        *(f"{LARGER} {name} returns {text}." for name, text in sheet.larger.items()),
        *(f"{name}: {text}." for name, text in config.get("remarks", {}).items()),
        *(
            f"{', '.join(names)}: without the graph, {graph}, of which nothing was read."
            for graph, names in unread.items()
        ),
        *(_graph_use(name, use) for name, use in config.get("graph_use", {}).items()),
    ]


def _graph_use(name: str, use: Mapping[str, Any]) -> str:
    """How often a system that adds a graph to a text search gained by it, and why not otherwise."""
    brought = f"the graph brought a new passage into the first 10 for {100 * use['brought']:.1f} % of the questions"
    skipped = (f"; not used for {100 * share:.1f} %: {reason}" for reason, share in use["skipped"].items())
    return f"{name}: {brought}{''.join(skipped)}."


def _signs(sheet: Sheet) -> Iterator[str]:
    """What the signs mean that the table has, and why others are missing that a reader may look for."""
    if len(sheet.systems) < 2:
        return
    unit = "column" if sheet.metric else "metric"
    test = f"differs from {sheet.baseline} (paired randomisation test, Holm-corrected within a {unit}"
    if sheet.scores["p_holm"].lt(LEVEL).any():
        yield f"Stars: {test}; * p < .05, ** p < .01, *** p < .001)."
    else:
        yield f"No star: no system {test}, p < .05)."
    yield "Wins / ties / losses count questions."
    if sheet.scores["p_best"].isna().all():
        yield "No winner is marked in bold, for not every pair was tested."
    elif sheet.scores["p_best"].lt(LEVEL).any():
        yield f"Bold: best, and significantly above every other system (Holm-corrected over all pairs of a {unit})."
    else:
        yield f"No bold: no system is significantly above every other (Holm-corrected over all pairs of a {unit})."


def _detectable(sheet: Sheet) -> str:
    """The differences that so few questions would miss: per metric, the median over the systems."""
    tested = sheet.scores.dropna(subset=["p_holm"])
    least = tested.groupby("metric", sort=False)["detectable"].median()
    if least.empty or sheet.config.get("sets"):  # of several sets it is known for each of them alone
        return ""
    n, tests = int(tested[["wins", "ties", "losses"]].iloc[0].sum()), tested["system"].nunique()
    seen = least.dropna()
    shown = ", ".join(f"{seen[m] * sheet.scale(m):.{sheet.digits(m)}f} in {m}" for m in seen.index)
    if blind := [name for name in least.index if name not in seen]:
        shown += f"{', and ' if shown else ''}any difference at all in {', '.join(blind)}"
    among = f", divided by the {tests} tests of a metric" if tests > 1 else ""
    return (
        f"With {n:,} questions, differences from {sheet.baseline} under about these points would be missed more often "
        f"than one time in five: {shown} (simulated with the randomisation test, 80 % power, level .05{among}; median "
        "over systems)."
    )
