"""The tables of `eval/kinds.py`, `newcomer.py`, `query_kinds.py`, `reach.py` and `weights.py` -> tables of Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from page_data import Results

from kg2rag.evaluation.placebo import against_placebo
from kg2rag.report import stars
from kg2rag.retrievers.dynamic_hybrid.analysis import TYPES

HOPS = {"several": "several hops", "single": "a single hop"}
CAUSES = {
    "named": "the question names its title",
    "joined": "joined to other gold by a mention",
    "cut": "its title is named, but by too many passages",
    "spelling": "the words of its title, in another order or spelling",
    "initials": "the initials of its title",
    "part": "a word of its title",
    "number": "a number",
    "word": "another naming word",
    "nothing": "nothing",
    "all": "all",
}
PROMISES = (  # promise, what it was tried with, rows of torture.csv
    (
        "A file that is damaged, or hostile, is read rightly or refused by name",
        "mutated files of {} formats",
        "mutate",
        (),
    ),
    (
        "A killed program loses nothing and leaves nothing behind",
        "SIGKILL at any file operation, then the same again",
        "kill",
        (),
    ),
    ("A store is whole or built again", "one bit of a store flipped", "flip", ("store",)),
    (
        "Graphs, sweeps: a flipped bit is noticed",
        "one bit of a file flipped",
        "flip",
        ("saved graph", "graph as Parquet", "sweep results", "sweep to resume"),
    ),
    ("A saved comparison is as it was saved, or refused", "one bit of a file flipped", "flip", ("comparison",)),
    (
        "Of a language model nothing is lost, paid twice or spent beyond a limit, and its key shows nowhere",
        "{} kinds of faults",
        "llm",
        (),
    ),
    ("Processes share a store", "eight build it at once, again and again", "builders", ()),
)
HALVES = {
    ("dev", "before"): "seen, before",
    ("dev", "after"): "seen, now",
    ("test", "before"): "held out, before",
    ("test", "after"): "held out, now",
}
REACHED = {"musique-100": "MuSiQue", "hotpotqa-train": "HotpotQA train"}
WEIGHTS = {
    "graph": "graph alone (`{}`)",
    "fixed": "best fixed weights, by the gold",
    "rules_alone": "rules, of the question alone",
    "rules": "rules",
    "learned": "learned, nested cross-validation",
    "best": "best per question, by the gold",
}
WEIGHED = {"musique-100": "MuSiQue", "hotpotqa-300": "HotpotQA"}


def kinds(results: Results) -> str:
    """One row a kind of question and a band of sub-phrases: recall@5 of three orders."""
    orders = ("dense", "alone", "chains")
    rows = [
        [HOPS[row["hops"]], f"{row['low']}–{row['high']}", str(row["number"])]
        + [f"{100 * row[order]:.1f}" for order in orders]
        for _, row in results.table("kinds").iterrows()
        if row["number"]
    ]
    return markdown(["questions of", "sub-phrases", "number", *orders], rows, words=2)


def query_kinds(results: Results) -> str:
    """One row a kind of query: how many of each half the rules before and now recognise."""
    found = results.table("query_kinds").set_index(["split", "kind", "rules"])
    rows = [
        [
            kind,
            *(
                f"{found.loc[(split, kind, rules), 'right']} of {found.loc[(split, kind, rules), 'n']}"
                for split, rules in HALVES
            ),
        ]
        for kind in (*TYPES, "all")
    ]
    return markdown(["kind", *HALVES.values()], rows, words=1)


def reach(results: Results) -> str:
    """One row a cause, three counts a set."""
    tables = [results.table(f"reach-{name}").set_index("cause") for name in REACHED]
    places = {"gold": "gold", "not_found": "not found", "below": "below 5"}
    rows = [
        [shown, *(str(int(table.loc[cause, place])) for table in tables for place in places)]
        for cause, shown in CAUSES.items()
    ]
    head = [f"{label} {place}" if place == "gold" else place for label in REACHED.values() for place in places.values()]
    return markdown(["", *head], rows, words=1)


def torture(results: Results) -> str:
    """One row a promise: what it was tried with, how often, and how that ended; commands of `eval/torture.py`."""
    frame = results.table("torture")
    rows = []
    for promise, tried, attack, of in PROMISES:
        part = frame[frame["attack"] == attack]
        part = part[part["of"].isin(of)] if of else part
        if part.empty:
            raise ValueError(f"torture.csv: no row of {attack} {', '.join(of)} for {promise!r}.")
        counts = part[["cases", "right", "clear error", "wrong"]].sum()
        rows.append([promise, tried.format(len(part)), f"`{attack}`", *(f"{count:,}" for count in counts)])
    return markdown(["promise", "attack", "command", "cases", "right", "clear", "neither"], rows, words=3)


def torture_before(results: Results) -> str:
    """One row an attack: how often it ended wrongly when it was first tried, and now."""
    frame = results.table("torture")
    rows = []
    for before in results.table("torture_before").fillna("").to_dict("records"):
        now = frame[
            (frame["attack"] == before["attack"]) & frame["of"].isin([before["of"]] if before["of"] else frame["of"])
        ]
        name = " ".join(filter(None, (f"`{before['attack']}`", before["of"])))
        then = f"{before['wrong']:,} of {before['cases']:,}"
        rows.append([name, str(before["what"]), then, f"{now['wrong'].sum():,} of {now['cases'].sum():,}"])
    return markdown(["attack", "what went wrong", "first", "now"], rows, words=2)


def long_queries(results: Results) -> str:
    """One row a system: CPU milliseconds of its slowest query, by set and length."""
    frame = results.table("long_queries")
    sets, lengths = list(dict.fromkeys(frame["set"])), [name for name in frame.columns if name.endswith(" characters")]
    shown = [(length, name) for name in sets for length in lengths]
    wide = frame.pivot_table(index="system", columns="set", values=lengths)[shown]
    rows = [[f"`{system}`", *(f"{value:,.0f}" for value in row)] for system, row in wide.iterrows()]
    return markdown(["system", *(f"{name}, {int(length.split()[0]):,}" for length, name in shown)], rows, words=1)


def endurance(results: Results) -> str:
    """Milliseconds of single queries, a row a system; below it the memory of the process as it went on."""
    frame = results.table("endurance")
    times, sizes = frame[frame["what"] != "memory"], frame[frame["what"] == "memory"]
    shown = ["p50", "p95", "p99", "slowest"]
    named = [name if " " in name else f"`{name}`" for name in times["what"]]
    rows = [
        [name, *(f"{row[each]:,.1f}" for each in shown)] for name, (_, row) in zip(named, times.iterrows(), strict=True)
    ]
    held = [["MB held", *(f"{size:,.0f}" for size in sizes["MB"])]]
    asked = ["queries asked", *(f"{count:,}" for count in sizes["queries"])]
    return markdown(["ms", *shown], rows, words=1) + "\n" + markdown(asked, held, words=1)


def newcomer(results: Results) -> str:
    """One row a step of `eval/newcomer.py`: the command, its seconds, and the load of the minute before."""
    walk = results.table("newcomer")
    rows = [[row.step, f"`{row.command}`", f"{row.seconds:,.0f}", f"{row.load:.1f}"] for row in walk.itertuples()]
    return markdown(["step", "command", "seconds", f"load of {walk['cores'].max()} cores"], rows, words=2)


def gains(folder: Path) -> str:
    """One row a strategy and graph: what the graph brings beyond its shufflings; nothing where they are not kept."""
    if not (folder / "per_seed.csv").is_file():
        return ""
    tested = against_placebo(pd.read_csv(folder / "per_query.csv.xz"), pd.read_csv(folder / "per_seed.csv"), "recall@5")
    rows = [
        [
            f"`{row['strategy']}`",
            str(row["graph"]),
            f"{100 * row['gain']:+.1f}" + stars(row["p_holm"]).replace("*", r"\*"),
            f"{100 * row['ci_low']:+.1f} to {100 * row['ci_high']:+.1f}",
        ]
        for _, row in tested.iterrows()
    ]
    return "\n" + markdown(["strategy", "graph", "gain over its shufflings", "95 %"], rows, words=2)


def weights(results: Results, side: str) -> str:
    """One row a way to weigh, recall@5 and regret of each set; a dash where it was not measured."""
    tables = [results.table(f"weights-{side}-{name}").set_index("weights") for name in WEIGHED]
    rows = [
        [label.format(side)]
        + [
            f"{100 * table.loc[name, column]:.1f}" if name in table.index else "–"
            for table in tables
            for column in ("recall@5", "regret")
        ]
        for name, label in WEIGHTS.items()
        if any(name in table.index for table in tables)
    ]
    return markdown(["weights", *(column for label in WEIGHED.values() for column in (label, "regret"))], rows, words=1)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> str:
    """A pipe table of which the first columns are words, the others numbers."""
    ruler = "|" + "---|" * words + "--:|" * (len(head) - words)
    return "\n".join([f"| {' | '.join(head)} |", ruler, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"
