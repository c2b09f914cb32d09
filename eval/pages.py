"""`eval/results` and `eval/kept.toml` -> docs/results/ as a whole, the figure of the README, and its one table.

    python eval/pages.py

Every file of docs/results, and docs/differences.md, is written here and nowhere else. The results are an index, a page
a kept comparison, sweep and ledger, what was chosen by looking at questions, and how costs grow with a corpus. The
README's table stands between two comments.
A test writes all of it again and compares.
"""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
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
from kg2rag.evaluation.statistics import holm, p_values
from kg2rag.experiments.reproduction import Reproduction
from kg2rag.report import stars
from kg2rag.report.markup import pipe_table
from kg2rag.retrievers.contract import Tuned

ROOT = Path(__file__).resolve().parent.parent
RESULTS, KEPT = ROOT / "eval" / "results", ROOT / "eval" / "kept.toml"
OUT = ROOT / "docs" / "results"
DIFFERENCES = ROOT / "docs" / "differences.md"
DESIGNS = ("graph_augmented", "confidence_gated", "vector_first", "expansion_queries", "dynamic_hybrid.retriever")
BEGIN, END = "<!-- results: written by eval/pages.py -->", "<!-- end of results -->"
BASELINE = "hybrid"
WIKIPEDIA = {"musique-100": "MuSiQue", "hotpotqa-300": "HotpotQA", "2wiki-1000": "2Wiki"}
HEADLINE = WIKIPEDIA | {
    "news": "news",
    "medical": "guidelines",
    "obliqa": "regulation",
    "scifact": "claims",
    "docs": "documentation",
    "cosqa-500": "code",
}
METRICS = ("recall@2", "recall@5", "recall@10", "recall@500tokens", "all_recall@5", "mrr@10")
MARK = "†"
SUFFIX = "-shuffled"
READING = f"""Per cent. *recall@5*: the share of a question's gold passages among the first five; *all_recall@5*: the
share of questions with all of them there; *recall@500tokens*: the share within the first 500 tokens, so that long
passages are no advantage. Stars: the system differs from the baseline (paired randomisation test, Holm-corrected;
\\* p < .05, \\*\\* p < .01, \\*\\*\\* p < .001); bold: best, and significantly above every other system; {MARK}:
a number of the system was chosen with questions, or scores, of that set in view ([which](choices.md))."""


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
    recall = {label: studies[name].scores.query("metric == 'recall@5'") for name, label in WIKIPEDIA.items()}
    drawn = plots.bar_chart(pd.concat(part.assign(metric=label) for label, part in recall.items()), BASELINE)
    with rc_context({"svg.hashsalt": "kg2rag"}):  # ids are drawn at random otherwise
        drawn.savefig(OUT / "recall.svg", metadata={"Date": None})


def with_block(text: str, block: str) -> str:
    """A page with the text between its two comments replaced. ValueError: it does not have both, once each."""
    if (text.count(BEGIN), text.count(END)) != (1, 1):
        raise ValueError(f"README.md must have {BEGIN!r} and {END!r} once each.")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{block}{END}{rest.split(END)[1]}"


@dataclass(frozen=True)
class Study:
    """One kept comparison: what kept.toml says of it, its configuration and its scores."""

    folder: Path
    about: Mapping[str, str]

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """What its numbers depend on."""
        config: Mapping[str, Any] = json.loads((self.folder / "config.json").read_text(encoding="utf-8"))
        return config

    @cached_property
    def scores(self) -> pd.DataFrame:
        """One row a system and metric."""
        return pd.read_csv(self.folder / "scores.csv")

    def per_query(self, metric: str) -> pd.DataFrame:
        """One row a question, one column a system."""
        found = pd.read_parquet(self.folder / "per_query.parquet")
        return found.pivot_table(metric, "query_id", "system", sort=False)

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
        text = percent(row["mean"]) + marks(row["p_holm"])
        return f"**{text}**" if row["p_best"] < 0.05 else text

    def name(self, system: str) -> str:
        """A system's name as code, with its mark."""
        return f"`{system}` {MARK}" if plain(system) in set(map(plain, self.marked)) else f"`{system}`"

    def text(self) -> Iterator[str]:
        """The page."""
        data, encoders = self.config["data"], [one.get("encoder", {}) for one in self.config["knowledge"]]
        models = dict.fromkeys(f"{one.get('model', one.get('encoder', '?'))} ({one.get('dtype')})" for one in encoders)
        yield f"# {self.about['title']}\n"
        yield from filter(None, (self.about.get("about", ""), ""))
        yield f"{self.size}, {data['setting']}; {', '.join(map(str, models))}; baseline `{self.config['baseline']}`.\n"
        yield f"```sh\n{self.about['command']}\n```\n"
        has_placebos = any(name.endswith(SUFFIX) for name in self.scores["system"])
        yield from self.graphs() if has_placebos else [*self.table(), *self.by_hops()]
        made, commit = str(self.config["started"])[:10], self.config.get("commit", {})
        state = ", with changes" if commit.get("changed") else ""
        where = f"files in `eval/results/{self.folder.name}`"
        yield f"\nMade {made} at commit `{str(commit.get('id'))[:10]}`{state}; {where}."

    def table(self) -> Iterator[str]:
        """One row a system, best recall@5 first."""
        order = self.scores.query("metric == 'recall@5'").sort_values("mean", ascending=False, kind="stable")["system"]
        times = self.config["ms_per_query"]
        rows = [
            [self.name(one), *(self.cell(one, metric) for metric in METRICS), number(times.get(one))] for one in order
        ]
        yield from pipe_table(["system", *METRICS, "ms a query"], rows, [*METRICS, "ms a query"])

    def by_hops(self) -> Iterator[str]:
        """Where the questions have several numbers of hops: complete evidence and the last hop, by their number."""
        found = pd.read_parquet(self.folder / "per_query.parquet").dropna(subset="hops")
        if found["hops"].nunique() < 2:
            return
        metrics = [name for name in ("all_recall@5", "last_hop@5") if name in found]
        means, sizes = found.groupby(["system", "hops"], sort=False)[metrics].mean(), found.groupby("hops")["query_id"]
        head = [f"{metric}, {hops} hops" for metric in metrics for hops in sorted(sizes.groups)]
        cells = {one: means.loc[one].sort_index().T.to_numpy().flatten() for one in found["system"].unique()}
        counted = "; ".join(f"{n} questions of {hops} hops" for hops, n in sizes.nunique().items())
        yield f"\n## By number of hops\n\n{counted}.\n"
        yield from pipe_table(
            ["system", *head], [[self.name(one), *map(percent, row)] for one, row in cells.items()], head
        )

    def graphs(self) -> Iterator[str]:
        """One row a strategy and graph: recall@5, that of its shufflings, and what the graph itself brings."""
        means = self.scores.query("metric == 'recall@5'").set_index("system")
        rows = []
        for name in means.index:
            if f"{name}{SUFFIX}" in means.index:
                real, placebo = means.loc[name], means.loc[f"{name}{SUFFIX}"]
                strategy, graph = name.split(".", 1)
                spread = f"{percent(placebo['mean'])} ± {percent(placebo['seed_sd'])}"
                gain = f"{100 * (real['mean'] - placebo['mean']):+.1f}"
                rows.append([self.name(strategy), f"`{graph}`", self.cell(name, "recall@5"), spread, gain])
            elif "." not in name:
                rows.append([self.name(name), "", self.cell(name, "recall@5"), "", ""])
        head = ["strategy", "graph", "recall@5", "over its shufflings", "the graph brings"]
        yield from pipe_table(head, rows, head[2:])
        yield (
            "\nA shuffled graph has as many entities, triples and neighbours, and knows nothing; ± is the deviation "
            "between shufflings."
        )


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
    made = {f"{name}.md": "\n".join(study.text()) for name, study in studies.items()}
    sweeps = [file.parent for file in sorted(RESULTS.glob("*/sweep.json"))]
    made |= {f"{folder.name}.md": SweepResult.load(folder).to_markdown() for folder in sweeps}
    made |= {"ledger.md": ledger(), "choices.md": choices(), "scale.md": scale(), "peers.md": peers()}
    made |= {"corpora.md": corpora(studies)}
    return {"index.md": index(studies, list(made)), **made}


def headline(studies: Mapping[str, Study]) -> str:
    """The README's block: one row a system, recall@5 of every set and the means over sets."""
    parts = {label: studies[name] for name, label in HEADLINE.items() if name in studies}
    five, tokens = (
        pd.concat({label: study.per_query(metric) for label, study in parts.items()}, names=["set", "question"])
        for metric in ("recall@5", "recall@500tokens")
    )
    p = macro_p(five)
    means, budget = five.groupby("set").mean().mean(), tokens.groupby("set").mean().mean()
    rows = []
    for one in means.sort_values(kind="stable").index:
        cells = [study.cell(one, "recall@5") + (f" {MARK}" if one in study.marked else "") for study in parts.values()]
        rows.append([f"`{one}`", *cells, percent(means[one]) + marks(p[one]), percent(budget[one])])
    head = [*parts, "mean", "mean, 500 tokens"]
    sizes = "; ".join(f"{label}: {study.size}" for label, study in parts.items())
    return "\n".join([*pipe_table(["recall@5", *head], rows, head), "", f"{sizes}.", ""])


def index(studies: Mapping[str, Study], names: Sequence[str]) -> str:
    """The first page: how to read, the headline, a line a study."""
    rows = []
    for name, study in studies.items():
        best = study.scores.query("metric == 'recall@5'").sort_values("mean", ascending=False, kind="stable").iloc[0]
        title = f"[{study.about['title']}]({name}.md)"
        rows.append([title, study.size, study.name(best["system"]), percent(best["mean"])])
    head = ["comparison", "size", "best by recall@5", "recall@5"]
    others = [f"- [{text}]({name})" for name, text in OTHERS.items() if name in names]
    others += [f"- [A sweep: {name[6:-3]}]({name})" for name in names if name.startswith("sweep-")]
    lines = ["# Results", "", READING, "", headline(studies), "![Recall@5 with 95 % intervals](recall.svg)", ""]
    lines += ["## Every comparison that is kept", "", *pipe_table(head, rows, head[3:]), "", "## Beside them", ""]
    return "\n".join([*lines, *others])


OTHERS = {
    "ledger.md": "The ledger: published numbers beside ours",
    "choices.md": "What was chosen on which questions",
    "corpora.md": "Wikipedia and elsewhere",
    "scale.md": "How costs grow with a corpus",
    "peers.md": "Systems of other packages",
}
PEERS = (
    "`hubmesh` 0.4.2, with its defaults and spaCy's small English model, and HippoRAG 2 with igraph's PageRank as its "
    "released code calls it, one question after another; every system ranks by the same vectors, and "
    "`hippo2` has the same triples in both rows. Milliseconds are the median, without the question's own encoding.\n\n"
    "```sh\npython eval/bench/peers.py DATASET --path FOLDER --graph GRAPH --out eval/results/peers/NAME.parquet\n```"
)


def ledger() -> str:
    """Published numbers beside ours, and what the ledgers do not hold."""
    ledgers = [Ledger.read(file) for file in sorted((ROOT / "eval" / "ledger").glob("*.toml"))]
    missing = [(one.name, each.table, each.rows, each.why) for one in ledgers for each in one.missing]
    text = [f"# {OTHERS['ledger.md']}\n", Reproduction.load(RESULTS / "ledger.csv").to_markdown()]
    text[1:1] = ["```sh\nkg2rag reproduce eval/ledger --data DATA --out eval/results/ledger.csv\n```\n"]
    return "\n".join([*text, "## Not in the ledger\n", *pipe_table(["ledger", "where", "rows", "why"], missing, ())])


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
    about = (
        "*fitted*: by a program, on gold; *chosen*: by hand, with gold or scores of these questions known; *known*: "
        "chosen or fitted on other questions, while scores on these were known from a version before."
    )
    return "\n".join([f"# {OTHERS['choices.md']}\n", about, "", *pipe_table(head, sorted(rows), head[3:4])])


def corpora(studies: Mapping[str, Study]) -> str:
    """Every set beside each other, and the training sets, each ordered by coefficients that never saw it."""
    found = pd.read_parquet(RESULTS / "domains" / "leave_one_out.parquet")
    columns = list(dict.fromkeys(found["set"]))
    wide = found.pivot_table("recall@5", ["set", "question"], "system", sort=False)
    sizes = found.groupby("set", sort=False)["question"].nunique()
    means, p = wide.groupby("set").mean(), macro_p(wide)
    rows = [
        [f"`{one}`", *(percent(means.loc[name, one]) for name in columns), percent(means[one].mean()) + marks(p[one])]
        for one in wide
    ]
    about = (
        "Each training set is ordered by coefficients that were fitted on the other sets alone, so that a corpus is "
        "judged as a new one would be. The candidates are the same for all; `mixture` is what `mention_chains` does. "
        f"Recall@5; stars: the mean over sets differs from `{BASELINE}`, as above. Questions: "
        + ", ".join(f"{name} {size}" for name, size in sizes.items())
    )
    command = "```sh\npython eval/fit.py DATA --leave-one-out eval/results/domains/leave_one_out.parquet\n```\n"
    table = pipe_table(["order", *columns, "mean"], rows, [*columns, "mean"])
    title, left = f"# {OTHERS['corpora.md']}\n", "## Training sets, one left out\n"
    return "\n".join([title, READING, "", headline(studies), left, about + ".", "", command, *table, "", linked()])


def linked() -> str:
    """Which pairs of gold passages the default graph links."""
    found = pd.read_parquet(RESULTS / "domains" / "links.parquet").query("kind != 'entity'")
    wide = found.pivot_table(["gold", "random"], "set", "kind", sort=False)
    kinds = ["title", "name", "term", "neighbour", "any"]
    rows = [
        [name, *(f"{percent(gold[kind])} ({percent(random[kind])})" if gold[kind] >= 0 else "" for kind in kinds)]
        for name in wide.index
        for gold, random in [(wide.loc[name, "gold"], wide.loc[name, "random"])]
    ]
    about = (
        "The share of pairs of gold passages of one question that the default graph links, by kind of link, in per "
        "cent, and in brackets that of random pairs. A pair may be of several kinds; sets of one gold passage a "
        "question have none.\n\n```sh\npython eval/links.py DATA eval/results/domains/links.parquet\n```\n"
    )
    return "\n".join(["## Gold that the default graph links\n", about, *pipe_table(["set", *kinds], rows, kinds)])


def macro_p(wide: pd.DataFrame) -> pd.Series:
    """Holm-corrected p of the mean over sets, each system against the baseline; `wide` is indexed by set and question.

    Signs are flipped question by question; a question weighs 1 / its set's size.
    """
    weights = 1 / wide.groupby("set")[BASELINE].transform("size").to_numpy()
    others = [name for name in wide if name != BASELINE]
    differences = wide[others].to_numpy() - wide[[BASELINE]].to_numpy()
    return pd.Series(holm(p_values(differences * weights[:, None])), others).reindex(wide.columns)


def marks(p: float) -> str:
    """Stars, such that Markdown shows them."""
    return stars(p).replace("*", r"\*")


def scale() -> str:
    """Processor seconds to build each part and milliseconds a query of each system, by size of the corpus."""
    lines = (RESULTS / "scale" / "measurements.jsonl").read_text(encoding="utf-8").splitlines()
    frame = pd.DataFrame(map(json.loads, lines)).query("label == 'now' and triples == 3")
    frame = frame.drop_duplicates(["passages", "kind", "name", "step"], keep="last")
    about = (
        "Generated corpora with three triples a passage and a hashing encoder, on one core; processor time, which "
        "other work changes little. Figures of a GPU are missing: none was at hand; `eval/bench/gpu.py` takes them."
    )
    text = [
        f"# {OTHERS['scale.md']}\n",
        *costs(),
        "\n## Invented corpora\n",
        about,
        "",
        "```sh\npython eval/bench/scale.py\n```",
    ]
    for title, kind, step, cost in (
        ("Seconds to build a part", "part", "build", "seconds_cpu"),
        ("Milliseconds a query, in a batch of a hundred", "system", "query", "batch_ms_cpu"),
        ("Milliseconds a query, alone", "system", "query", "alone_ms_cpu"),
        ("Peak memory, GB", "system", "query", "peak_gb"),
    ):
        chosen = frame[(frame["kind"] == kind) & (frame["step"] == step)]
        wide = chosen.pivot_table(index="name", columns="passages", values=cost, sort=False)
        wide = wide[sorted(wide.columns)]
        head = [f"{size:,} passages" for size in wide]
        rows = [[f"`{name}`", *map(number, row)] for name, row in wide.iterrows()]
        text += ["", f"## {title}", "", *pipe_table([kind, *head], rows, head)]
    return "\n".join(text)


def costs() -> Iterator[str]:
    """What systems cost on a real corpus, built from its passages."""
    for file in sorted((RESULTS / "costs").glob("*.parquet")):
        frame = pd.read_parquet(file)
        size, spent = f"{frame['passages'][0]:,} passages", f"{frame['threads'][0]} threads, {frame['processor'][0]}"
        yield f"## {file.stem}: {size}\n\nFrom the passages to the first answer; {spent}.\n"
        yield "```sh\npython eval/bench/strategies.py DATASET --path FOLDER --systems … --out FILE\n```\n"
        head = ["build, s", "peak memory, MB", "ms a query, batch", "ms alone", "FAISS, ms", "load"]
        columns = ["build_s", "peak_mb", "ms_batch", "ms_alone", "ms_faiss", "load"]
        rows = [[f"`{name}`", *map(number, row)] for name, *row in frame[["system", *columns]].itertuples(index=False)]
        yield from pipe_table(["system", *head], rows, head)


def peers() -> str:
    """Systems of other packages beside ours: recall, and milliseconds of a question alone."""
    text = [f"# {OTHERS['peers.md']}\n", PEERS]
    for file in sorted((RESULTS / "peers").glob("*.parquet")):
        frame = pd.read_parquet(file)
        head = ["system", "recall@2", "recall@5", "recall@10", "ms"]
        shown = frame[head]
        rows = [[f"`{name}`", *(f"{value:.1f}" for value in row)] for name, *row in shown.itertuples(index=False)]
        size = f"{frame['questions'][0]:,} questions over {frame['passages'][0]:,} passages"
        spent = f"Threads: {frame['threads'][0]}; load of the machine at the end: {frame['load'][0]}.\n"
        text += ["", f"## {file.stem}: {size}", "", spent, *pipe_table(head, rows, head[1:])]
    return "\n".join(text)


def differences() -> str:
    """What the designs call our parameters, as the strategies declare it; where we depart from them, and why."""
    names = []
    for file in DESIGNS:
        words = import_module(f"kg2rag.retrievers.{file}").WORDS
        for at, (theirs, ours, note) in enumerate(words.rows):
            own = ", ".join(f"`{word}`" for word in theirs.split(", "))
            names.append(["" if at else f"{words.design}: `{file.partition('.')[0]}`", own, f"`{ours}`", note])
    table = tomllib.loads((ROOT / "eval" / "differences.toml").read_text(encoding="utf-8"))
    about = table.pop("about")
    rows = [["" if at else f"`{one}`", *row] for one, found in table.items() for at, row in enumerate(found)]
    parts = ["# Differences from the designs", about.strip(), "## Names"]
    parts += ["\n".join(pipe_table(["design", "its name", "here", "note"], names, ())), "## Departures"]
    parts += ["\n".join(pipe_table(["strategy", "the design", "here", "reason"], rows, ()))]
    return "\n\n".join(parts) + "\n"


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
