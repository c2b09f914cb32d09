"""Queries of the pages' markers: tables of one file, parts of `mention_chains`, costs, fits, the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import scaling
from page_data import Results, UnknownError, known
from page_values import HOLM, Number, between, counted, listed, percent, points, query, sets, written

from kg2rag.experiments.reproduction import Reproduction
from kg2rag.experiments.reproduction.effects import effect_ratio


@query
def count(results: Results, file: str, column: str, *name: str) -> Number:
    """A count of `eval/results/FILE.csv`, in the row that has these values: hops=4 system=dense."""
    return counted(results.row(file, column, _given(name)))


@query
def share(results: Results, file: str, column: str, *name: str) -> Number:
    """A share of `eval/results/FILE.csv` in per cent."""
    return percent(float(results.row(file, column, _given(name))))


@query
def ranking(results: Results, file: str, column: str, *name: str) -> str:
    """A share of each system of `eval/results/FILE.csv`, in the rows that have these values, the highest first."""
    rows = results.rows(file, _given(name))
    rows = rows.dropna(subset=known(f"column of {file}.csv", column, rows.columns))
    rows = rows.sort_values(column, ascending=False, kind="stable")
    return ", ".join(f"`{row['system']}` {percent(row[column]).text}" for _, row in rows.iterrows())


@query
def moved(results: Results, floor: str) -> Number:
    """The questions of all sets whose recall@5 a floor under `mention_ppr`'s walk changes."""
    return counted(results.rows("floors", {"floor": floor})[["wins", "losses"]].to_numpy().sum())


@query
def missed(results: Results, name: str, causes: str) -> Number:
    """How much gold of some causes `mention_chains` does not find or ranks too low (`eval/reach.py`)."""
    places = ("not_found", "below")
    rows = [(place, cause) for place in places for cause in causes.split(",")]
    return counted(sum(results.row(f"reach-{name}", place, {"cause": cause}) for place, cause in rows))


def _given(words: Sequence[str]) -> dict[str, str]:
    """Words such as hops=2 as a mapping."""
    pairs = [word.partition("=") for word in words]
    if any(not sign for _, sign, _ in pairs):
        raise UnknownError(f"A row is named by column=value. Given: {' '.join(words)}.")
    return {name: value for name, _, value in pairs}


@query
def change(results: Results, names: str, *changed: str) -> Number:
    """The difference of recall@5, in points, that a change of `mention_chains` makes; over sets, from least to most."""
    found = [results.ablation(name, " ".join(changed))["difference"] for name in sets(names)]
    return between([points(value) for value in found])


@query
def significant(results: Results, names: str, *changed: str) -> Number:
    """On how many of the sets a change makes a significant difference."""
    values = [results.ablation(name, " ".join(changed))["p_holm"] for name in sets(names)]
    return counted(sum(value < HOLM for value in values))


@query
def losses(results: Results, name: str) -> str:
    """All changes that cost a set significantly, the largest first."""
    frame = results.changes()
    known("set of ablation.csv", name, frame["set"].unique())
    frame = frame[(frame["set"] == name) & (frame["p_holm"] < HOLM) & (frame["difference"] < 0)]
    rows = frame.sort_values("difference", kind="stable")
    return listed([f"`{row['changed']}` {-100 * row['difference']:.1f}" for _, row in rows.iterrows()] or ["nothing"])


@query
def scale(results: Results, column: str, passages: str, *name: str) -> Number:
    """A cost of a part or system at a number of passages (`eval/results/scale/measurements.jsonl`)."""
    value = results.measured(" ".join(name), int(float(passages)), column)
    return Number(value, scaling.shown(value))


@query
def loads(results: Results, kind: str) -> Number:
    """The load under which parts or systems were measured, from least to most."""
    frame = results.measurements()
    values = frame.loc[frame["kind"] == known("kind", kind, frame["kind"].unique()), "load"]
    return between([Number(value, f"{value:.1f}") for value in (values.min(), values.max())])


@query
def timing(results: Results, group: str, *name: str) -> Number:
    """A measurement of `eval/results/timings.toml`."""
    return written(results.value("results/timings", group, "values", " ".join(name)))


@query
def timings(results: Results, group: str) -> str:
    """All measurements of a group, the shortest first."""
    values = results.value("results/timings", group, "values")
    return ", ".join(f"`{name}` {written(value).text}" for name, value in sorted(values.items(), key=lambda it: it[1]))


@query
def measured(results: Results, group: str, *name: str) -> Number:
    """A figure of `eval/results/measured.toml`, which no table holds."""
    return written(results.value("results/measured", group, "values", " ".join(name)))


@query
def sweep(results: Results, group: str) -> str:
    """What a sweep chose, and what its defaults have: a group of `eval/results/measured.toml`."""
    found = results.value("results/measured", group, "values")
    text = (
        f"best of {found['tried']}: {found['dev']} on dev, {found['test']} on test; "
        f"defaults {found['default dev']} and {found['default test']}"
    )
    return f"{text} (p = {found['p']:g})".replace("= 0.", "= .") if "p" in found else text


@query
def fitted(results: Results, file: str, key: str) -> Number:
    """A whole number of a file of `eval/coefficients`, under keys parted by dots."""
    return counted(results.value(f"coefficients/{file}", *key.split(".")))


@query
def fitted_share(results: Results, file: str, key: str) -> Number:
    """A share of a file of `eval/coefficients`, in whole per cent."""
    value = 100 * float(results.value(f"coefficients/{file}", *key.split(".")))
    return Number(value, f"{value:.0f}")


@query
def published(results: Results, ledger: str, name: str, metric: str, *system: str) -> Number:
    """What a paper prints, in per cent."""
    rows = {row["system"]: row["values"] for row in results.value(f"ledger/{ledger}", "published")}
    values = rows[known(f"system of ledger {ledger}", " ".join(system), rows)]
    found = values[known(f"set of {' '.join(system)}", name, values)]
    value = float(found[known(f"metric of {' '.join(system)}", metric, found)])
    return Number(value, f"{value:.1f}")


@query
def published_size(results: Results, ledger: str, name: str, column: str) -> Number:
    """How many questions or passages a paper has."""
    return counted(results.value(f"ledger/{ledger}", "sets", name, column))


@query
def judged(results: Results, *verdict: str) -> Number:
    """How many rows of the ledger have a verdict: off, not run."""
    counts = {
        name: number
        for part in Reproduction(results.table("ledger")).summary().values()
        for name, number in part.items()
    }
    return counted(counts[known("verdict", " ".join(verdict), counts)])


@query
def over_all(results: Results, score: str, ledger: str, name: str, metric: str, *label: str) -> Number:
    """Our mean over all of a paper's questions, in per cent, if each that we lack had this score: 0 or 100."""
    run = {"system": " ".join(label)}
    ours, asked = (_cell(results, column, ledger, name, metric, run) for column in ("ours", "questions"))
    whole = published_size(results, ledger, name, "questions").value
    return percent((asked * ours + (whole - asked) * float(score)) / whole / 100)


@query
def away(results: Results, ledger: str, name: str, metric: str, label: str, *system: str) -> Number:
    """How many points a run of ours, named by one word, is away from what a paper prints for any system."""
    theirs = published(results, ledger, name, metric, *system).value
    return percent(abs(_cell(results, "ours", ledger, name, metric, {"system": label}) - theirs) / 100)


@query
def tolerances(results: Results, ledger: str, name: str, metric: str, label: str, *system: str) -> Number:
    """The same as a multiple of the tolerance of our run's own row: ok up to 1, close up to 2."""
    allowed = _cell(results, "tolerance", ledger, name, metric, {"system": label})
    value = away(results, ledger, name, metric, label, *system).value / allowed
    return Number(value, f"{value:.1f}")


@query
def gain(results: Results, ledger: str, name: str, metric: str, *label: str) -> Number:
    """By how many points a run of ours is above ours of the paper's baseline; below has a minus."""
    return points(_gain(results, "ours", ledger, name, metric, label) / 100)


@query
def effect(results: Results, ledger: str, name: str, metric: str, *label: str) -> Number:
    """Our gain as a multiple of the published one."""
    theirs, ours = (_gain(results, column, ledger, name, metric, label) for column in ("theirs", "ours"))
    if not theirs:
        raise UnknownError(f"{ledger} prints no gain for {' '.join(label)} by {metric}: there is no effect to repeat.")
    value = effect_ratio(theirs, ours)
    return Number(value, f"{value:.2f}")


def _gain(results: Results, column: str, ledger: str, name: str, metric: str, label: Sequence[str]) -> float:
    """A run's number, or that printed beside it, less that of the run that is judged of the ledger's baseline."""
    baseline = {"published": results.value(f"ledger/{ledger}", "baseline"), "primary": "True"}
    rows = ({"system": " ".join(label)}, baseline)
    run, base = (_cell(results, column, ledger, name, metric, row) for row in rows)
    return run - base


def _cell(results: Results, column: str, ledger: str, name: str, metric: str, row: Mapping[str, str]) -> float:
    """A number of `eval/results/ledger.csv`, whose sets have their names of the ledger's `sets`."""
    place = {"ledger": ledger, "set": results.value(f"ledger/{ledger}", "sets", name, "name"), "metric": metric}
    value = float(results.row("ledger", column, {**place, **row}))
    if value != value:
        raise UnknownError(f"ledger.csv has no {column} in the row of {place | dict(row)}.")
    return value
