"""A score table -> the sentences under it: what its signs mean, what it could not detect, how systems fared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kg2rag.report.table import LARGER, LEVEL, MACRO, TUNED, Sheet


def notes(sheet: Sheet) -> list[str]:
    """How to read the table, which differences it could not detect, and which systems return more than the others."""
    config = sheet.config
    return [
        " ".join(["Means in per cent with 95 % intervals.", *_signs(sheet)]),
        *(["Questions that share gold are resampled together."] if config.get("clustered") else []),
        *_macro(config.get("sets", {})),
        *_vectors(config.get("knowledge", [])),
        *_capped(config.get("data", {})),
        *_detectable(sheet),
        *_repeated(config.get("seeds", {})),
        *(f"{TUNED} {name}: chosen with this set in view: {'; '.join(what)}." for name, what in sheet.tuned.items()),
        *(f"{LARGER} {name} returns {text}." for name, text in sheet.larger.items()),
        *(f"{name}: {text}." for name, text in config.get("remarks", {}).items()),
        *_unread(config.get("graph_unread", {})),
        *_graph_use(config.get("graph_use", {})),
        *map(_added, config.get("added", [])),
    ]


def _repeated(seeds: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    if seeds:
        yield (
            f"Run under several seeds: {', '.join(f'{name} ({len(runs)})' for name, runs in seeds.items())}; each "
            "question's score is its mean over them, and ± the standard deviation of the mean between them. Intervals "
            "and tests are over questions."
        )


def _added(added: Mapping[str, Any]) -> str:
    """Which systems were run after the others, and by which code: their times were measured apart."""
    version = (added.get("versions") or {}).get("kg2rag")
    commit = added.get("commit") or {}
    changed = ", with changes" if commit.get("changed") else ""
    told = [f"kg2rag {version}"] * bool(version) + [f"commit {commit.get('id', '')[:12]}{changed}"] * bool(commit)
    when = " by ".join(filter(None, [added["started"][:10], ", ".join(told)]))
    return f"{', '.join(added['systems'])}: added {when}; times were measured then."


def _macro(sets: Mapping[str, str]) -> Iterator[str]:
    """What a mean over several sets is, and is not."""
    if sets:
        yield (
            f"{MACRO}: the mean of the means on {', '.join(sets)}, each set counting alike. Its interval is made of "
            "those on the sets, its test swaps the systems on each question of each set: both say nothing of other "
            "sets."
        )


def _unread(systems: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Which systems ranked without the graph that was given."""
    together: dict[str, list[str]] = {}
    for name, graphs in systems.items():
        together.setdefault(" and ".join(graphs), []).append(name)
    for graph, names in together.items():
        yield f"{', '.join(names)}: without the graph, {graph}, of which nothing was read."


def _graph_use(used: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """How often systems that add a graph to a text search gained by it, and why not otherwise."""
    for name, use in used.items():
        brought = f"the graph brought a new passage into the first 10 for {100 * use['brought']:.1f} % of the questions"
        skipped = (f"; not used for {100 * share:.1f} %: {reason}" for reason, share in use["skipped"].items())
        yield f"{name}: {brought}{''.join(skipped)}."


def _signs(sheet: Sheet) -> Iterator[str]:
    """What the signs mean that the table has, and why others are missing that a reader may look for."""
    if len(sheet.systems) < 2:
        return
    unit = "column" if sheet.metric else "metric"
    over = "over all metrics together" if sheet.config.get("family") == "all" else f"within a {unit}"
    test = f"differs from {sheet.baseline} (paired randomisation test, Holm-corrected {over}"
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


def _vectors(knowledge: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Which encoder's vectors were used, in which format: another format can move single questions."""
    encoders = [one["encoder"] for one in knowledge if "dtype" in one["encoder"]]
    used = dict.fromkeys(f"{one['model'].split('/')[-1]}, {one['dtype']} on {one['device']}" for one in encoders)
    if used:
        yield f"Vectors: {'; '.join(used)}."


def _capped(data: Mapping[str, Any]) -> Iterator[str]:
    if lost := data.get("gold_out_of_reach", 0):
        yield f"Of {lost:,} questions gold is not among their candidates: no system can find it."


def _detectable(sheet: Sheet) -> Iterator[str]:
    """The differences that so few questions would miss: per metric, the median over the systems."""
    tested = sheet.scores.dropna(subset=["p_holm"])
    least = tested.groupby("metric", sort=False)["detectable"].median()
    if least.empty or sheet.config.get("sets"):  # of several sets it is known for each of them alone
        return
    n = int(tested[["wins", "ties", "losses"]].iloc[0].sum())
    one_family = sheet.config.get("family") == "all"
    tests = tested["system"].nunique() * (len(sheet.metrics) if one_family else 1)
    seen = least.dropna()
    shown = ", ".join(f"{seen[m] * sheet.scale(m):.{sheet.digits(m)}f} in {m}" for m in seen.index)
    if blind := [name for name in least.index if name not in seen]:
        shown += f"{', and ' if shown else ''}any difference at all in {', '.join(blind)}"
    among = f", divided by the {tests} tests of {'all metrics' if one_family else 'a metric'}" if tests > 1 else ""
    yield (
        f"With {n:,} questions, differences from {sheet.baseline} under about these points would be missed more often "
        f"than one time in five: {shown} (simulated with the randomisation test, 80 % power, level .05{among}; median "
        "over systems)."
    )
