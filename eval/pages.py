"""`eval/results` and `eval/kept.toml` -> docs/results and docs/differences.md, and the table and figure of the README.

    python eval/pages.py

Every file of docs/results and docs/differences.md is written here and nowhere else. The results are
an index, a page per set, the blind sets, the ledger, tuned parameters, and costs. A test writes all
of it again and compares.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from importlib import import_module

import pandas as pd
from markdown import number, page, percent, shell, starred, table
from matplotlib import rc_context
from studies import MARK, RESULTS, ROOT, TEXTS, Study, read, register

from kg2rag import Ledger, SweepResult, plots
from kg2rag.evaluation.significance import score_table
from kg2rag.experiments.reproduction import NOTE, NUMBERS, Reproduction
from kg2rag.report.markup import pipe_table

OUT = ROOT / "docs" / "results"
DIFFERENCES = ROOT / "docs" / "differences.md"
DESIGNS = {
    "graph_augmented": "designs.graph_augmented",
    "confidence_gated": "designs.confidence_gated",
    "vector_first": "designs.vector_first",
    "expansion_queries": "expansion_queries",
    "dynamic_hybrid": "designs.dynamic_hybrid.retriever",
}
"""Strategy -> its module in `kg2rag.retrievers`, which has the names of its design's parameters."""
BEGIN, END = "<!-- results: written by eval/pages.py -->", "<!-- end of results -->"
BASELINE = "hybrid"
WIKIPEDIA = {
    "musique-100": "MuSiQue",
    "hotpotqa-300": "HotpotQA",
    "2wiki-1000": "2Wiki",
}
HEADLINE = WIKIPEDIA | TEXTS["elsewhere"]
LABELS = {name.partition("-")[0]: label for name, label in HEADLINE.items()}
"""First word of the name of a set -> its column in the tables."""
LINKS = ["title", "name", "term", "neighbour", "any"]
"""Kinds of links between gold passages, in the order of the columns."""
COSTS = {
    "Seconds to build a part": ("part", "build", "seconds_cpu"),
    "Milliseconds per query, in a batch of a hundred": (
        "system",
        "query",
        "batch_ms_cpu",
    ),
    "Milliseconds per query, one at a time": ("system", "query", "alone_ms_cpu"),
    "Peak memory, GB": ("system", "query", "peak_gb"),
}
"""Title of a table -> kind and step of its measurements, and their column."""


def main() -> None:
    """Write everything."""
    studies = read()
    texts = pages(studies)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    for name, text in texts.items():
        (OUT / name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    DIFFERENCES.write_text(differences(), encoding="utf-8")
    readme = ROOT / "README.md"
    readme.write_text(
        with_block(readme.read_text(encoding="utf-8"), headline(studies)),
        encoding="utf-8",
    )
    parts = [
        studies[name].recall.assign(metric=label) for name, label in WIKIPEDIA.items()
    ]
    figure = plots.bar_chart(pd.concat(parts), BASELINE)
    with rc_context({"svg.hashsalt": "kg2rag"}):  # ids are drawn at random otherwise
        figure.savefig(OUT / "recall.svg", metadata={"Date": None})


def with_block(text: str, block: str) -> str:
    """A page with the text between its two comments replaced. ValueError: it does not have both, once each."""
    if (text.count(BEGIN), text.count(END)) != (1, 1):
        raise ValueError(f"README.md must have {BEGIN!r} and {END!r} once each.")
    before, _, end = text.partition(BEGIN)
    after = end.partition(END)[2]
    return f"{before}{BEGIN}\n{block}\n{END}{after}"


def pages(studies: Mapping[str, Study]) -> dict[str, str]:
    """File name -> text, of docs/results."""
    sets = TEXTS["pages"]
    texts = {
        f"{name}.md": set_page(name, title, studies) for name, title in sets.items()
    }
    texts["blind.md"] = page(
        *opening("blind"),
        headline(studies, TEXTS["blind"]["sets"]),
        *sections("blind", studies),
    )
    texts["ledger.md"] = ledger()
    texts["tuning.md"] = tuning()
    texts["scale.md"] = page(
        *opening("scale"), *real_costs(), *invented_costs(), *peers()
    )
    return {"index.md": index(studies), **texts}


def set_page(name: str, title: str, studies: Mapping[str, Study]) -> str:
    """All comparisons on one set."""
    parts = [f"# {title}", TEXTS["reading"]["about"], *sections(name, studies)]
    if TEXTS["sweep"]["page"] == name:
        parts += [*opening("sweep", "##"), sweep()]
    return page(*parts)


def sweep() -> str:
    """The chosen configurations of the kept sweep, without its title and the table of all configurations."""
    report = SweepResult.load(RESULTS / TEXTS["sweep"]["folder"]).to_markdown()
    return report.split("\n## ")[0].partition("\n")[2].strip()


def sections(name: str, studies: Mapping[str, Study]) -> list[str]:
    """The sections of a page, one per comparison."""
    return [
        study.section() for study in studies.values() if study.about["page"] == name
    ]


def index(studies: Mapping[str, Study]) -> str:
    """The first page: how to read, the headline, blind and left-out sets, and a row per comparison."""
    return page(
        *opening("index"),
        headline(studies),
        "![Recall@5 with 95 % intervals](recall.svg)",
        "## Blind sets",
        TEXTS["blind"]["about"],
        headline(studies, TEXTS["blind"]["sets"]),
        *left_out(),
        *links(),
        *faq_links(),
        *languages(),
        "## All comparisons",
        comparisons(studies),
        "## Other pages",
        [
            f"- [{TEXTS[name]['title']}]({name}.md)"
            for name in ("ledger", "tuning", "scale")
        ],
    )


def comparisons(studies: Mapping[str, Study]) -> list[str]:
    """One row per comparison: page and best system."""
    titles = {**TEXTS["pages"], "blind": TEXTS["blind"]["title"]}
    rows = []
    for study in studies.values():
        best = study.by_recall()[0]
        set_name, title = study.about["page"], study.about["title"]
        link = f"[{titles[set_name]}]({set_name}.md#{anchor(title)})"
        rows.append(
            [link, title, study.name(best), percent(study.recall["mean"][best])]
        )
    head = ["set", "comparison", "best by recall@5", "recall@5"]
    return pipe_table(head, rows, head[3:])


def anchor(title: str) -> str:
    """The anchor of a heading, by the rule of Git hosts."""
    letters = "".join(
        letter for letter in title.lower() if letter.isalnum() or letter in " -_"
    )
    return letters.replace(" ", "-")


def headline(studies: Mapping[str, Study], sets: Mapping[str, str] = HEADLINE) -> str:
    """One row per system: recall@5 of every set and the means over sets; the sizes below."""
    parts = {label: studies[name] for name, label in sets.items() if name in studies}
    frames = {label: study.per_query for label, study in parts.items()}
    five, tokens = macro(frames, "recall@5", "recall@500tokens")
    systems = five["mean"].sort_values(ascending=False, kind="stable").index
    cells = {
        "mean": list(map(starred, five["mean"][systems], five["p_holm"][systems])),
        "mean, 500 tokens": list(map(percent, tokens["mean"][systems])),
    }
    cells |= {
        label: [marked_cell(study, system) for system in systems]
        for label, study in parts.items()
    }
    sizes = "; ".join(f"{label}: {study.size}" for label, study in parts.items())
    return page(table("recall@5", pd.DataFrame(cells, systems)), f"{sizes}.")


def marked_cell(study: Study, system: str) -> str:
    """Recall@5 of a system with its stars and its mark."""
    cell = study.cell(system, "recall@5")
    return f"{cell}\N{NO-BREAK SPACE}{MARK}" if system in study.marked else cell


def macro(sets: Mapping[str, pd.DataFrame], *metrics: str) -> list[pd.DataFrame]:
    """For each metric the means over sets and their tests, by system; `sets` have scores by system and question."""
    tests = score_table(sets, metrics, BASELINE)
    return [tests[tests["metric"] == metric].set_index("system") for metric in metrics]


def left_out() -> list[str | list[str]]:
    """The training sets, each ranked with coefficients that never saw it."""
    frame = pd.read_parquet(RESULTS / "domains" / "leave_one_out.parquet")
    frame = frame.rename(columns={"question": "query_id"})
    sizes = frame.groupby("set", sort=False)["query_id"].nunique()
    (tests,) = macro(dict(iter(frame.groupby("set", sort=False))), "recall@5")
    means = frame.pivot_table("recall@5", "system", "set", sort=False)[sizes.index]
    means = means.map(percent).rename(columns=LABELS)
    means["mean"] = list(
        map(starred, tests["mean"][means.index], tests["p_holm"][means.index])
    )
    title, about, command = opening("left_out", "##")
    counts = ", ".join(f"{LABELS[name]} {size}" for name, size in sizes.items())
    return [
        title,
        f"{about} Questions: {counts}.",
        command,
        table("ranking", means, str),
    ]


def links() -> list[str | list[str]]:
    """The share of gold pairs that the default graph links, by set and kind of link."""
    frame = pd.read_parquet(RESULTS / "domains" / "links.parquet").query(
        "kind != 'entity'"
    )
    gold = frame.pivot_table("gold", "set", "kind", sort=False)[LINKS]
    random = frame.pivot_table("random", "set", "kind", sort=False)[LINKS]
    cells = (gold.map(percent) + " (" + random.map(percent) + ")").where(
        gold.notna(), ""
    )
    labels = [LABELS[name.partition("-")[0]] for name in cells.index]
    return [*opening("links", "##"), table("set", cells.set_axis(labels), str)]


def faq_links() -> list[str | list[str]]:
    """Recall of the manual pages that an answer of a FAQ refers to, over the links between the pages."""
    frame = pd.read_parquet(RESULTS / "domains/faq_links.parquet")
    interval = frame["ci_low"].mul(100).map("{:+.1f}".format) + " to "
    interval += frame["ci_high"].mul(100).map("{:+.1f}".format)
    over_links = frame["graph"].notna()
    cells = pd.DataFrame(
        {
            "system": "`" + frame["system"] + "`",
            "recall@5": frame["mean"].map(percent),
            "shuffled links": frame["placebo"].map(percent).where(over_links, ""),
            "gain": frame["gain"].mul(100).map("{:+.1f}".format).where(over_links, ""),
            "95 %": interval.where(over_links, ""),
        }
    ).set_axis(frame["set"].str.capitalize())
    counts = "; ".join(
        f"{row.set.capitalize()}: {row.questions} questions, {row.pages} pages, {row.passages:,} passages, "
        f"{row.links:,} links, which join {percent(row.gold_pairs)} % of the pairs of gold pages and "
        f"{percent(row.all_pairs)} % of all pairs"
        for row in frame.drop_duplicates("set").itertuples()
    )
    return [*opening("faq_links", "##"), f"{counts}.", table("set", cells, str)]


def languages() -> list[str | list[str]]:
    """Recall@5 in languages other than English, by encoder."""
    frame = pd.read_parquet(RESULTS / "domains/languages.parquet")
    cells = frame.pivot_table(
        "recall@5", ["language", "encoder"], "system", sort=False
    ).map(percent)
    cells = cells.reset_index("encoder").rename(str.capitalize)
    sizes = frame.groupby("language", sort=False).agg(
        {"question": "nunique", "sections": "first"}
    )
    counts = "; ".join(
        f"{row.Index.capitalize()}: {row.question} questions, {row.sections} sections"
        for row in sizes.itertuples()
    )
    return [*opening("languages", "##"), f"{counts}.", table("language", cells, str)]


def ledger() -> str:
    """Published numbers beside numbers of this package, and the rows that the ledgers lack."""
    ledgers = [
        Ledger.read(path) for path in sorted((ROOT / "eval" / "ledger").glob("*.toml"))
    ]
    missing = []
    for book in ledgers:
        missing += [(book.name, row.table, row.rows, row.why) for row in book.missing]
    parts: list[str | list[str]] = [*opening("ledger"), NOTE]
    for title, rows in Reproduction.load(RESULTS / "ledger.csv").sections():
        joined = by_metric(rows) if "metric" in rows else rows
        parts += [
            f"## {title}",
            pipe_table(list(joined), joined.to_numpy().tolist(), NUMBERS),
        ]
    parts += [
        "## Not in the ledger",
        pipe_table(["ledger", "where", "rows", "why"], missing),
    ]
    return page(*parts)


def by_metric(rows: pd.DataFrame) -> pd.DataFrame:
    """A table with the metrics of a published system and run in one row, and their numbers in the same order."""
    joined = [name for name in rows if name in ("metric", *NUMBERS)]
    keys = [name for name in rows if name not in joined]
    return (
        rows.groupby(keys, sort=False)[joined].agg(one_cell).reset_index()[list(rows)]
    )


def one_cell(texts: pd.Series) -> str:
    """The texts of several metrics on one line, which no browser breaks; the first if none has a number."""
    if set(texts) <= {"", "–"}:
        return str(texts.iloc[0])
    return "\u00a0/\u00a0".join(texts)


def tuning() -> str:
    """One row per parameter that was chosen with access to questions, as each strategy declares it."""
    rows = []
    for row in register():
        training = ", ".join(row.training) or "–"
        reported = ", ".join(row.sets) or "–"
        variants = "not counted" if row.variants is None else f"{row.variants:,}"
        rows.append(
            (f"`{row.system}`", row.what, row.kind, variants, training, reported)
        )
    head = [
        "system",
        "parameter",
        "how",
        "variants compared",
        "training questions",
        "reported sets accessible",
    ]
    return page(*opening("tuning"), pipe_table(head, sorted(rows), head[3:4]))


def real_costs() -> Iterator[str | list[str]]:
    """Costs of systems on a real corpus, from its passages to the first answer."""
    columns = ["build_s", "peak_mb", "ms_batch", "ms_alone"]
    head = [
        "build, s",
        "peak memory, MB",
        "ms per query in a batch",
        "ms per query, one at a time",
    ]
    for path in sorted((RESULTS / "costs").glob("*.parquet")):
        frame = pd.read_parquet(path).set_index("system")
        first = frame.iloc[0]
        yield f"## {path.stem}: {first['passages']:,} passages"
        yield f"From the passages to the first answer; {first['threads']} threads, {first['processor']}."
        yield shell(
            "python eval/bench/strategies.py DATASET --path FOLDER --systems … --out FILE"
        )
        yield table("system", frame[columns].map(number).set_axis(head, axis=1))


def invented_costs() -> Iterator[str | list[str]]:
    """Processor seconds to build each part and milliseconds per query of each system, by size of the corpus."""
    lines = (
        (RESULTS / "scale" / "measurements.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    frame = pd.DataFrame(map(json.loads, lines)).query(
        "label == 'now' and triples == 3"
    )
    frame = frame.drop_duplicates(["passages", "kind", "name", "step"], keep="last")
    yield from opening("invented", "##")
    for title, (kind, step, cost) in COSTS.items():
        rows = frame[(frame["kind"] == kind) & (frame["step"] == step)]
        wide = rows.pivot_table(
            index="name", columns="passages", values=cost, sort=False
        )
        wide = wide[sorted(wide)].map(number).rename(columns="{:,} passages".format)
        yield f"### {title}"
        yield table(kind, wide)


def peers() -> Iterator[str | list[str]]:
    """Systems of other packages beside those of this package: recall, milliseconds per question, memory."""
    yield from opening("peers", "##")
    for path in sorted((RESULTS / "peers").glob("*.parquet")):
        frame = pd.read_parquet(path).set_index("system")
        first = frame.iloc[0]
        yield f"### {path.stem}: {first['questions']:,} questions over {first['passages']:,} passages"
        yield f"Threads: {first['threads']}; load of the machine at the end: {first['load']}."
        cells = frame.filter(like="recall").dropna(axis=1).map("{:.1f}".format)
        cells["ms per query"] = frame["ms"].map(number)
        cells["memory, MB"] = frame["memory_mb"].map(number)
        yield table("system", cells)


def differences() -> str:
    """The parameter names of the designs, as the strategies declare them; departures from the designs, with reasons."""
    texts = tomllib.loads(
        (ROOT / "eval" / "differences.toml").read_text(encoding="utf-8")
    )
    about = texts.pop("about")
    names = [
        row
        for strategy, module in DESIGNS.items()
        for row in design_names(strategy, module)
    ]
    departures = []
    for strategy, rows in texts.items():
        labels = [f"`{strategy}`", *[""] * (len(rows) - 1)]
        # the fourth names a test
        departures += [
            [label, *row[:3]] for label, row in zip(labels, rows, strict=True)
        ]
    name_table = pipe_table(["design", "its name", "here", "note"], names)
    departure_table = pipe_table(
        ["strategy", "the design", "here", "reason"], departures
    )
    title = "# Differences from the designs"
    return (
        page(
            title,
            about.strip(),
            "## Names",
            name_table,
            "## Departures",
            departure_table,
        )
        + "\n"
    )


def design_names(strategy: str, module: str) -> Iterator[list[str]]:
    """One row per parameter of a design: its names there and here."""
    words = import_module(f"kg2rag.retrievers.{module}").ALIASES
    label = f"{words.design}: `{strategy}`"
    for theirs, ours, note in words.rows:
        yield [
            label,
            ", ".join(f"`{word}`" for word in theirs.split(", ")),
            f"`{ours}`",
            note,
        ]
        label = ""


def opening(name: str, mark: str = "#") -> list[str]:
    """The beginning of a page or section by pages.toml: its title, its text and its command."""
    texts = TEXTS[name]
    command = [shell(texts["command"])] if "command" in texts else []
    about = [texts["about"].strip()] if "about" in texts else []
    return [f"{mark} {texts['title']}", *about, *command]


if __name__ == "__main__":
    main()
