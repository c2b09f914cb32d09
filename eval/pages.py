"""`eval/results` and `eval/kept.toml` -> docs/results/ as a whole, the figure of the README, and its one table.

    python eval/pages.py

Every file of docs/results, and docs/differences.md, is written here and nowhere else. The results are an index, a page
a kept comparison, sweep and ledger, what was chosen by looking at questions, and how costs grow with a corpus. The
README's table stands between two comments. A test writes all of it again and compares.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import rc_context

import kg2rag.retrievers
from kg2rag import Ledger, SweepResult, plots
from kg2rag.evaluation.score_table import SUFFIX, score_table
from kg2rag.experiments.reproduction import Reproduction
from kg2rag.report import stars
from kg2rag.report.markup import pipe_table
from kg2rag.report.markup import plain as escaped
from kg2rag.retrievers.contract import Tuned

ROOT = Path(__file__).resolve().parent.parent
RESULTS, KEPT = ROOT / "eval" / "results", ROOT / "eval" / "kept.toml"
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
WIKIPEDIA = {"musique-100": "MuSiQue", "hotpotqa-300": "HotpotQA", "2wiki-1000": "2Wiki"}
METRICS = ("recall@2", "recall@5", "recall@10", "recall@500tokens", "all_recall@5", "mrr@10")
MARK = "†"
TEXTS = tomllib.loads((ROOT / "eval" / "pages.toml").read_text(encoding="utf-8"))
HEADLINE = WIKIPEDIA | TEXTS["elsewhere"]
OTHERS = ("ledger", "choices", "corpora", "scale", "peers")


def main() -> None:
    """Write everything."""
    studies = read()
    made = pages(studies)
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    for name, text in made.items():
        (OUT / name).write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    DIFFERENCES.write_text(differences(), encoding="utf-8")
    readme = ROOT / "README.md"
    readme.write_text(with_block(readme.read_text(encoding="utf-8"), headline(studies)), encoding="utf-8")
    parts = [studies[name].recall.assign(metric=label) for name, label in WIKIPEDIA.items()]
    drawn = plots.bar_chart(pd.concat(parts), BASELINE)
    with rc_context({"svg.hashsalt": "kg2rag"}):  # ids are drawn at random otherwise
        drawn.savefig(OUT / "recall.svg", metadata={"Date": None})


def with_block(text: str, block: str) -> str:
    """A page with the text between its two comments replaced. ValueError: it does not have both, once each."""
    if (text.count(BEGIN), text.count(END)) != (1, 1):
        raise ValueError(f"README.md must have {BEGIN!r} and {END!r} once each.")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{block}\n{END}{rest.split(END)[1]}"


@dataclass(frozen=True)
class Study:
    """One kept comparison: what kept.toml says of it, its configuration and its scores."""

    folder: Path
    about: Mapping[str, str]

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """What its numbers depend on."""
        return json.loads((self.folder / "config.json").read_text(encoding="utf-8"))

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row a system and metric."""
        return pd.read_csv(self.folder / "scores.csv")

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """One row a system and question, as the comparison has it."""
        return pd.read_parquet(self.folder / "per_query.parquet")

    @property
    def recall(self) -> pd.DataFrame:
        """The rows of recall@5, by system."""
        return self.scores.query("metric == 'recall@5'").set_index("system", drop=False)

    @property
    def marked(self) -> set[str]:
        """The systems of which a number was chosen with questions of the set in view, by the register, then and now."""
        seen = [(name, row["sets"]) for name, rows in self.config.get("tuning", {}).items() for row in rows]
        systems = self.config.get("systems", ())
        seen += [(name, row.sets) for name in systems for row in register() if row.system == plain(name)]
        return {name for name, sets in seen if any(self.folder.name.endswith(one) for one in sets)}

    @property
    def size(self) -> str:
        """How many questions over how many passages."""
        data = self.config["data"]
        return f"{data['questions']:,} questions over {data['passages']:,} passages"

    def cell(self, system: str, metric: str) -> str:
        """A mean with its stars, bold where it is significantly the best."""
        found = self.scores[(self.scores["system"] == system) & (self.scores["metric"] == metric)]
        if found.empty:
            return ""
        row = found.iloc[0]
        text = starred(row["mean"], row["p_holm"])
        return f"**{text}**" if row["p_best"] < 0.05 else text

    def name(self, system: str) -> str:
        """A system's name as code, with its mark."""
        return f"`{system}` {MARK}" if plain(system) in set(map(plain, self.marked)) else f"`{system}`"

    def text(self) -> str:
        """The page."""
        data, encoders = self.config["data"], [one.get("encoder", {}) for one in self.config["knowledge"]]
        models = dict.fromkeys(f"{one.get('model', one.get('encoder', '?'))} ({one.get('dtype')})" for one in encoders)
        about = f"{self.size}, {data['setting']}; {', '.join(map(str, models))}; baseline `{self.config['baseline']}`."
        has_placebos = any(name.endswith(SUFFIX) for name in self.scores["system"])
        made, commit = str(self.config["started"])[:10], self.config.get("commit", {})
        state = ", with changes" if commit.get("changed") else ""
        where = f"files in `eval/results/{self.folder.name}`"
        return page(
            f"# {self.about['title']}",
            list(filter(None, (self.about.get("about"), about))),
            shell(self.about["command"]),
            *([self.graphs(), TEXTS["shuffled"]["about"]] if has_placebos else [self.table(), *self.by_hops()]),
            f"Made {made} at commit `{str(commit.get('id'))[:10]}`{state}; {where}.",
        )

    def table(self) -> list[str]:
        """One row a system, best recall@5 first."""
        systems, times = (
            self.recall["mean"].sort_values(ascending=False, kind="stable").index,
            self.config["ms_per_query"],
        )
        cells = {metric: [self.cell(one, metric) for one in systems] for metric in METRICS}
        cells["ms a query"] = [number(times.get(one)) for one in systems]
        return table("system", pd.DataFrame(cells, systems), self.name)

    def by_hops(self) -> Iterator[str | list[str]]:
        """Where the questions have several numbers of hops: complete evidence and the last hop, by their number."""
        found = self.per_query.dropna(subset="hops")
        sizes = found.groupby("hops")["query_id"].nunique()
        if len(sizes) < 2:
            return
        metrics = [name for name in ("all_recall@5", "last_hop@5") if name in found]
        means = found.pivot_table(metrics, "system", "hops").reindex(found["system"].unique())
        means.columns = [f"{metric}, {hops} hops" for metric, hops in means]
        yield "## By number of hops"
        yield "; ".join(f"{n} questions of {hops} hops" for hops, n in sizes.items()) + "."
        yield table("system", means.map(percent), self.name)

    def graphs(self) -> list[str]:
        """One row a strategy and graph: recall@5, that of its shufflings, and what the graph itself brings."""
        means, rows = self.recall, []
        for name in means.index:
            strategy, _, graph = name.partition(".")
            gain = ["", ""]
            if f"{name}{SUFFIX}" in means.index:
                real, placebo = means.loc[name], means.loc[f"{name}{SUFFIX}"]
                spread = f"{percent(placebo['mean'])} ± {percent(placebo['seed_sd'])}"
                gain = [spread, f"{100 * (real['mean'] - placebo['mean']):+.1f}"]
            elif graph:
                continue
            rows.append([self.name(strategy), graph and f"`{graph}`", self.cell(name, "recall@5"), *gain])
        head = ["strategy", "graph", "recall@5", "over its shufflings", "the graph brings"]
        return pipe_table(head, rows, head[2:])


def kept() -> dict[str, dict[str, str]]:
    """Name of each kept comparison -> its title, what it is about, and its command."""
    return tomllib.loads(KEPT.read_text(encoding="utf-8"))


def read() -> dict[str, Study]:
    """The kept comparisons in the order of kept.toml. ValueError: a folder that it does not name."""
    about = kept()
    made = {file.parent.name for file in RESULTS.glob("*/scores.csv")}
    if strangers := made - set(about):
        raise ValueError(f"eval/kept.toml does not name {', '.join(sorted(strangers))}, which eval/results has.")
    return {name: Study(RESULTS / name, one) for name, one in about.items() if name in made}


def pages(studies: Mapping[str, Study]) -> dict[str, str]:
    """File -> text, of docs/results."""
    made = {f"{name}.md": study.text() for name, study in studies.items()}
    sweeps = [file.parent for file in sorted(RESULTS.glob("*/sweep.json"))]
    made |= {f"{folder.name}.md": SweepResult.load(folder).to_markdown() for folder in sweeps}
    made |= {"ledger.md": ledger(), "choices.md": choices(), "scale.md": scale(), "peers.md": peers()}
    made |= {"corpora.md": corpora(studies)}
    return {"index.md": index(studies, list(made)), **made}


def headline(studies: Mapping[str, Study], sets: Mapping[str, str] = HEADLINE) -> str:
    """The README's block: one row a system, recall@5 of every set and the means over sets."""
    parts = {label: studies[name] for name, label in sets.items() if name in studies}
    five, tokens = macro({label: study.per_query for label, study in parts.items()}, "recall@5", "recall@500tokens")
    systems = five["mean"].sort_values(kind="stable").index
    cells = {
        label: [study.cell(one, "recall@5") + f" {MARK}" * (one in study.marked) for one in systems]
        for label, study in parts.items()
    }
    cells["mean"] = list(map(starred, five["mean"][systems], five["p_holm"][systems]))
    cells["mean, 500 tokens"] = list(map(percent, tokens["mean"][systems]))
    sizes = "; ".join(f"{label}: {study.size}" for label, study in parts.items())
    return page(table("recall@5", pd.DataFrame(cells, systems)), f"{sizes}.")


def index(studies: Mapping[str, Study], names: Sequence[str]) -> str:
    """The first page: how to read, the headline, a line a study."""
    rows = []
    for name, study in studies.items():
        best = study.recall["mean"].sort_values(ascending=False, kind="stable").index[0]
        title = f"[{study.about['title']}]({name}.md)"
        rows.append([title, study.size, study.name(best), percent(study.recall["mean"][best])])
    head = ["comparison", "size", "best by recall@5", "recall@5"]
    others = [f"- [{TEXTS[name]['title']}]({name}.md)" for name in OTHERS]
    others += [f"- [A sweep: {name[6:-3]}]({name})" for name in names if name.startswith("sweep-")]
    recall, every = "![Recall@5 with 95 % intervals](recall.svg)", "## Every comparison that is kept"
    table = pipe_table(head, rows, head[3:])
    blind = [f"## {TEXTS['blind']['title']}", TEXTS["blind"]["about"], headline(studies, TEXTS["blind"]["sets"])]
    return page(*opening("index"), headline(studies), recall, *blind, every, table, "## Beside them", others)


def ledger() -> str:
    """Published numbers beside ours, and what the ledgers do not hold."""
    ledgers = [Ledger.read(file) for file in sorted((ROOT / "eval" / "ledger").glob("*.toml"))]
    missing = [(one.name, each.table, each.rows, each.why) for one in ledgers for each in one.missing]
    found = Reproduction.load(RESULTS / "ledger.csv").to_markdown().rstrip("\n")
    rest = pipe_table(["ledger", "where", "rows", "why"], missing)
    return page(*opening("ledger"), found, "## Not in the ledger", rest)


@cache
def register() -> list[Tuned]:
    """What every strategy declares of the numbers that were chosen by looking at questions."""
    files = (file.name for file in walk_packages(kg2rag.retrievers.__path__, "kg2rag.retrievers."))
    return [row for name in files if ".adapters" not in name for row in getattr(import_module(name), "TUNING", ())]


def plain(system: str) -> str:
    """A system's name without the graph that it ran over."""
    return system.partition(".")[0]


def choices() -> str:
    """One row a number that was chosen by looking at questions, as each strategy declares it."""
    rows = []
    for one in register():
        training, seen = (", ".join(sets) or "–" for sets in (one.training, one.sets))
        compared = "not counted" if one.variants is None else f"{one.variants:,}"
        rows.append((f"`{one.system}`", one.what, one.kind, compared, training, seen))
    head = ["system", "what", "how", "variants compared", "training questions", "reported sets in view"]
    return page(*opening("choices"), pipe_table(head, sorted(rows), head[3:4]))


def corpora(studies: Mapping[str, Study]) -> str:
    """Every set beside each other, and the training sets, each ordered by coefficients that never saw it."""
    found = pd.read_parquet(RESULTS / "domains" / "leave_one_out.parquet")
    sizes = found.groupby("set", sort=False)["question"].nunique()
    (tests,) = macro(dict(iter(found.groupby("set", sort=False))), "recall@5")
    means = found.pivot_table("recall@5", "system", "set", sort=False)[sizes.index].map(percent)
    means["mean"] = list(map(starred, tests["mean"][means.index], tests["p_holm"][means.index]))
    links = pd.read_parquet(RESULTS / "domains" / "links.parquet").query("kind != 'entity'")
    kinds = ["title", "name", "term", "neighbour", "any"]
    gold, random = (links.pivot_table(of, "set", "kind", sort=False)[kinds] for of in ("gold", "random"))
    cells = (gold.map(percent) + " (" + random.map(percent) + ")").where(gold.notna(), "")
    title, about, command = opening("left_out", "##")
    about += f" Questions: {', '.join(f'{name} {size}' for name, size in sizes.items())}."
    first = *opening("corpora"), TEXTS["index"]["about"], headline(studies)
    return page(*first, title, about, command, table("order", means), *opening("links", "##"), table("set", cells, str))


def macro(sets: Mapping[str, pd.DataFrame], *metrics: str) -> list[pd.DataFrame]:
    """For each metric the means over sets and their tests, by system; `sets` have scores by system and question."""
    tests = score_table(sets, metrics, BASELINE)
    return [tests[tests["metric"] == metric].set_index("system") for metric in metrics]


def scale() -> str:
    """Processor seconds to build each part and milliseconds a query of each system, by size of the corpus."""
    lines = (RESULTS / "scale" / "measurements.jsonl").read_text(encoding="utf-8").splitlines()
    frame = pd.DataFrame(map(json.loads, lines)).query("label == 'now' and triples == 3")
    frame = frame.drop_duplicates(["passages", "kind", "name", "step"], keep="last")
    parts = [*opening("scale"), *costs(), *opening("invented", "##")]
    for title, kind, step, cost in (
        ("Seconds to build a part", "part", "build", "seconds_cpu"),
        ("Milliseconds a query, in a batch of a hundred", "system", "query", "batch_ms_cpu"),
        ("Milliseconds a query, alone", "system", "query", "alone_ms_cpu"),
        ("Peak memory, GB", "system", "query", "peak_gb"),
    ):
        chosen = frame[(frame["kind"] == kind) & (frame["step"] == step)]
        wide = chosen.pivot_table(index="name", columns="passages", values=cost, sort=False)
        wide = wide[sorted(wide)].map(number).rename(columns="{:,} passages".format)
        parts += [f"## {title}", table(kind, wide)]
    return page(*parts)


def costs() -> Iterator[str | list[str]]:
    """What systems cost on a real corpus, built from its passages."""
    columns = ["build_s", "peak_mb", "ms_batch", "ms_alone", "ms_faiss", "load"]
    head = ["build, s", "peak memory, MB", "ms a query, batch", "ms alone", "FAISS, ms", "load"]
    for file in sorted((RESULTS / "costs").glob("*.parquet")):
        frame = pd.read_parquet(file).set_index("system")
        first = frame.iloc[0]
        yield f"## {file.stem}: {first['passages']:,} passages"
        yield f"From the passages to the first answer; {first['threads']} threads, {first['processor']}."
        yield shell("python eval/bench/strategies.py DATASET --path FOLDER --systems … --out FILE")
        yield table("system", frame[columns].map(number).set_axis(head, axis=1))


def peers() -> str:
    """Systems of other packages beside ours: recall where there is gold, milliseconds of a question alone, memory."""
    parts = opening("peers")
    for file in sorted((RESULTS / "peers").glob("*.parquet")):
        frame = pd.read_parquet(file).set_index("system")
        first = frame.iloc[0]
        parts += [f"## {file.stem}: {first['questions']:,} questions over {first['passages']:,} passages"]
        parts += [f"Threads: {first['threads']}; load of the machine at the end: {first['load']}."]
        shown = frame.reindex(columns=["recall@2", "recall@5", "recall@10", "ms", "memory_mb"]).dropna(axis=1)
        named = {"ms": "ms a query", "memory_mb": "memory, MB"}
        parts += [table("system", shown.rename(columns=named).map("{:,.1f}".format))]
    return page(*parts)


def differences() -> str:
    """What the designs call our parameters, as the strategies declare it; where we depart from them, and why."""
    names = []
    for strategy, module in DESIGNS.items():
        words = import_module(f"kg2rag.retrievers.{module}").WORDS
        for at, (theirs, ours, note) in enumerate(words.rows):
            own = ", ".join(f"`{word}`" for word in theirs.split(", "))
            names.append(["" if at else f"{words.design}: `{strategy}`", own, f"`{ours}`", note])
    table = tomllib.loads((ROOT / "eval" / "differences.toml").read_text(encoding="utf-8"))
    about = table.pop("about")
    rows = [["" if at else f"`{one}`", *row] for one, found in table.items() for at, row in enumerate(found)]
    named = pipe_table(["design", "its name", "here", "note"], names)
    departures = pipe_table(["strategy", "the design", "here", "reason"], rows)
    title = "# Differences from the designs"
    return page(title, about.strip(), "## Names", named, "## Departures", departures) + "\n"


def page(*parts: str | list[str]) -> str:
    """Paragraphs, and tables and lists by their lines, with a blank line between two."""
    return "\n\n".join(part if isinstance(part, str) else "\n".join(part) for part in parts)


def opening(name: str, mark: str = "#") -> list[str]:
    """How a page or a section begins, by pages.toml: its title, what it is about, and its command."""
    told = TEXTS[name]
    command = [shell(told["command"])] if "command" in told else []
    return [f"{mark} {told['title']}", *filter(None, [told.get("about")]), *command]


def shell(command: str) -> str:
    """A command as a block."""
    return f"```sh\n{command}\n```"


def table(head: str, cells: pd.DataFrame, name: Callable[[str], str] = "`{}`".format) -> list[str]:
    """A pipe table of a frame of texts, aligned to the right; its index, under `head`, is written by `name`."""
    return pipe_table([head, *cells], ([name(one), *row] for one, *row in cells.itertuples(name=None)), list(cells))


def starred(mean: float, p: float) -> str:
    """A mean in per cent with its stars, such that Markdown shows them."""
    return percent(mean) + escaped(stars(p))


def percent(value: float) -> str:
    """A share, in per cent with one decimal."""
    return f"{100 * value:.1f}"


def number(value: float | None) -> str:
    """Three digits that matter; blank where nothing was measured."""
    if value is None or np.isnan(value):
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.{2 if value >= 1 else 3}f}"


if __name__ == "__main__":
    main()
