"""Tables of `code_graph.py`, `linkers.py`, `parameters.py`, `designs.py` and `before.py` -> Markdown, and values."""

from __future__ import annotations

import json

import pandas as pd
from page_data import Results, UnknownError, known
from page_tables import markdown
from page_values import Number, between, counted, listed, percent, points, query, sets

RECALL = "recall@5"
DEEPER = "recall@10"  # what vector_first can change: its first hits are those of dense
GRAPHS = ("code", "shuffled", "mentions")


def code(results: Results, name: str) -> str:
    """One row a system: recall@5 and recall@10 over the code graph, its shuffling, and mentions."""
    frame = results.table("code_graph")
    frame = frame[frame["set"] == known("set of code_graph.csv", name, frame["set"].unique())]
    whole = frame[frame["kind"] == "all"]
    rows = []
    for system in whole["system"].unique():
        found = whole[whole["system"] == system].fillna({"graph": ""}).set_index("graph")
        if "" in found.index:
            alone = found.loc[""]
            rows.append([f"`{system}`", percent(alone[RECALL]).text, percent(alone[DEEPER]).text, *[""] * 4])
        else:
            cells = [percent(found.loc[graph, metric]).text for graph in GRAPHS for metric in (RECALL, DEEPER)]
            rows.append([f"`{system}`", *cells])
    head = ["system", *(f"{graph}: {metric}" for graph in GRAPHS for metric in (RECALL, DEEPER))]
    return markdown(head, rows, words=1)


def code_kinds(results: Results, name: str) -> str:
    """One row a system: recall@10 over the code graph, of each kind of question."""
    frame = results.table("code_graph").fillna({"graph": ""})
    frame = frame[(frame["set"] == name) & (frame["kind"] != "all") & frame["graph"].isin(("", "code"))]
    if frame.empty:
        raise UnknownError(f"code_graph.csv has no kinds of questions of {name!r}.")
    counts = frame.drop_duplicates("kind").set_index("kind")["questions"]
    wide = frame.pivot_table(index="system", columns="kind", values=DEEPER, sort=False)[list(counts.index)]
    rows = [[f"`{system}`", *(percent(value).text for value in row)] for system, row in wide.iterrows()]
    return markdown(["system", *(f"{kind} ({number})" for kind, number in counts.items())], rows, words=1)


def linkers(results: Results, name: str) -> str:
    """One row a linker: recall@10 under each strategy, links a question, those to gold, and what each rung serves."""
    frame = results.table(f"linkers-{name}")
    frame = frame[frame["linker"].notna()]
    strategies, rows = list(frame["strategy"].unique()), []
    for linker, part in frame.groupby("linker", sort=False):
        means, about = part.set_index("strategy")[DEEPER], part.iloc[0]
        served = ", ".join(f"{rung} {percent(float(share)).text}" for rung, share in _rungs(about["served"]))
        links = [served, f"{about['links']:.2f}", percent(about["links_to_gold"]).text]
        rows.append([f"`{linker}`", *links, *(percent(means[one]).text for one in strategies)])
    head = ["linker", "serves", "links", "to gold", *(f"`{one}`" for one in strategies)]
    return markdown(head, rows, words=2)


def _rungs(served: str) -> list[tuple[str, str]]:
    """The rungs of a chain and their shares: "n-gram 0.940; none 0.060"."""
    return [(rung, share) for part in served.split("; ") for rung, _, share in [part.rpartition(" ")]]


def parameters(results: Results, _: str) -> str:
    """One row a parameter and two values: recall of both, and the share of the rankings that changed."""
    rows = [
        [
            f"`{row['system']}.{row['parameter']}`",
            f"{row['one']} → {row['other']}",
            percent(row["recall@5 one"]).text,
            percent(row["recall@5 other"]).text,
            percent(row["recall@20 one"]).text,
            percent(row["recall@20 other"]).text,
            f"{100 * row['changed']:.0f}",
        ]
        for _, row in results.table("parameters").iterrows()
    ]
    head = ["parameter", "value", "recall@5", "then", "recall@20", "then", "changed"]
    return markdown(head, rows, words=2)


@query
def unchanged(results: Results) -> str:
    """What changes no ranking, each with the reason."""
    frame = results.table("parameters")
    rows = frame[frame["changed"] == 0]
    said = (f"`{r['system']}.{r['parameter']}` {r['one']} → {r['other']}: {r['why']}" for _, r in rows.iterrows())
    return "; ".join(said)


@query
def value_pairs(results: Results, which: str) -> Number:
    """How many pairs of values of a parameter change a ranking, or not: `changed`, `unchanged`, `all`."""
    moved = results.table("parameters")["changed"] > 0
    counts = {"all": len(moved), "changed": int(moved.sum()), "unchanged": int((~moved).sum())}
    return counted(counts[known("kind of pair", which, counts)])


def designs(results: Results, _: str) -> str:
    """One row a design and set: the defaults, and the setting that training questions choose."""
    rows = [
        [
            f"`{row['system']}`",
            _written(row["parameters"]),
            row["set"],
            *(percent(row[f"{metric} {when}"]).text for metric in (RECALL, DEEPER) for when in ("before", "after")),
            _tested(row),
        ]
        for _, row in results.table("designs").iterrows()
    ]
    head = ["design", "best on training questions", "set", RECALL, "then", DEEPER, "then", "p"]
    return markdown(head, rows, words=3)


def _tested(row: pd.Series) -> str:
    """The p-value of a setting on a judged set; nothing where it was chosen, or where it is the defaults."""
    if pd.isna(row["p"]) or row["parameters"] == "{}":
        return ""
    return "< .001" if row["p"] < 0.001 else f"{row['p']:.3f}".lstrip("0")


def _written(parameters: str) -> str:
    """A setting as the command line takes it."""
    given = json.loads(parameters)
    return ", ".join(f"{name} = {value}" for name, value in given.items()) or "the defaults"


def before(results: Results, _: str) -> str:
    """One row a design and comparison: recall as it was at a commit, and as it is."""
    rows = [
        [
            f"`{row['system']}`",
            row["folder"],
            *(percent(row[f"{metric} {when}"]).text for metric in (RECALL, DEEPER) for when in ("before", "now")),
        ]
        for _, row in results.table("before").iterrows()
    ]
    return markdown(["design", "comparison", RECALL, "now", DEEPER, "now"], rows, words=2)


@query
def lost(results: Results, metric: str) -> str:
    """Where a design has lost more than a point, and how much."""
    frame = results.table("before")
    falls = 100 * (frame[f"{metric} before"] - frame[f"{metric} now"])
    rows = frame.assign(fall=falls)[falls > 1]
    return listed([f"`{r['system']}` {r['fall']:.1f} on {r['folder']}" for _, r in rows.iterrows()] or ["none"])


@query
def rung(results: Results, names: str, linker: str, which: str) -> Number:
    """The share of a set's questions that one rung of a linker serves; over sets, from least to most."""
    found = []
    for name in sets(names):
        frame = results.rows(f"linkers-{name}", {"linker": linker})
        found.append(percent(float(dict(_rungs(frame.iloc[0]["served"])).get(which, 0.0))))
    return between(found)


@query
def by_linker(results: Results, names: str, strategy: str) -> Number:
    """By how many points of recall@10 a strategy's best linker is above its worst; over sets, from least to most."""
    frames = [results.rows(f"linkers-{name}", {"strategy": strategy}) for name in sets(names)]
    return between([percent(frame[DEEPER].max() - frame[DEEPER].min()) for frame in frames])


@query
def to_gold(results: Results, names: str, linker: str) -> Number:
    """The share of a linker's links that lead to an entity which a gold passage names; over sets, least to most."""
    rows = [results.rows(f"linkers-{name}", {"linker": linker}).iloc[0] for name in sets(names)]
    return between([percent(row["links_to_gold"]) for row in rows])


@query
def coded(results: Results, name: str, key: str) -> Number:
    """What a set's graph of code was made of: passages, questions, entities, triples."""
    about = json.loads((results.root / "results" / "code_graph.json").read_text(encoding="utf-8"))
    part = about[known("set of code_graph.json", name, about)]
    return counted(part[known("number of code_graph.json", key, ("passages", "questions", "entities", "triples"))])


@query
def gained(results: Results, system: str, metric: str) -> Number:
    """By how many points a design's best setting is above its defaults on the judged sets, from least to most."""
    rows = results.rows("designs", {"system": system})
    rows = rows[~rows["set"].str.startswith("train-")]
    return between([points(row[f"{metric} after"] - row[f"{metric} before"]) for _, row in rows.iterrows()])
