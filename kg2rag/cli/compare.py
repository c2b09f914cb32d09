"""`kg2rag compare`: systems side by side on question sets; `compare-graphs`: systems over several graphs."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from kg2rag.cli.declared import announce, arg, completing, opt, parse_settings, show, split_names, spread, tell
from kg2rag.cli.options import NAMES, DrawOptions, EncoderOptions, SystemOptions, WorkerOptions, known_sets

if TYPE_CHECKING:
    from kg2rag.compute import TokenCounter
    from kg2rag.types import QADataset

MACRO = "Further sets, for a macro-average; --path then holds a folder by the name of each."
METRICS = "Any of ranx's, all_recall@k, support_f1@k, recall@500tokens; six usual ones otherwise."


def _metrics(_: str) -> Iterable[str]:
    from kg2rag.evaluation.metrics import DEFAULT_METRICS

    return DEFAULT_METRICS


@dataclass(frozen=True)
class Asked:
    """The options of a comparison that do not depend on its sets."""

    metrics: str | None = opt(None, METRICS, autocompletion=completing(_metrics, several=True))
    k: int = opt(100, "Hits a query.", "--k", min=1)
    baseline: str | None = opt(None, "Tested against; dense otherwise, or the first.")
    runs: list[Path] | None = opt(None, "A TREC run file of another system; may be repeated.")
    pairs: str | None = opt(None, "A metric in which every pair of systems is tested.")
    family: Literal["metric", "all"] = opt("metric", "Tests corrected together.")
    clustered: bool = opt(False, "Draw questions that share gold together.", "--clustered")
    out: Path | None = opt(None, "Where the results go; reports/DATASET otherwise.")
    fresh: bool = opt(False, "Run all systems anew, in place of what is stored.", "--fresh")
    open: bool = opt(False, "Open the report in a browser.", "--open")

    def names(self) -> list[str]:
        """The metrics; ValueError where --pairs is none of them."""
        from kg2rag.evaluation.metrics import DEFAULT_METRICS

        names = list(DEFAULT_METRICS) if self.metrics is None else split_names(self.metrics)
        if self.pairs is not None and self.pairs not in names:
            raise ValueError(f"--pairs {self.pairs!r} is none of the metrics: {', '.join(names)}.")
        return names

    def run(self, folder: Path, systems: Any, data: Any, seed: int, counter: TokenCounter) -> Any:
        """The comparison, saved in the folder."""
        from kg2rag.evaluation import compare

        own = {name: getattr(self, name) for name in ("k", "baseline", "family", "clustered", "fresh")}
        own |= {"metrics": self.names(), "seed": seed, "command": _command()}
        return compare(systems, data, folder=folder, counter=counter, **own)


@spread(dataset="bundled")
def compare(
    data: DrawOptions,
    on: SystemOptions,
    by: WorkerOptions,
    asked: Asked,
    further: list[str] | None = arg(None, MACRO, autocompletion=known_sets),
) -> None:
    """Compare retrieval systems on a question set: a table here, everything else in --out.

    What was run before is read from the store: a killed comparison goes on, and one more system runs alone.
    On several sets, the first metric on each and its macro-average; each set's own comparison is in --out/SET.
    """
    asked.names()  # refused before any work
    sets = data.several(further or [])
    folder = asked.out or Path("reports") / "+".join(sets)
    if further and (asked.runs or asked.pairs is not None):
        raise ValueError("--runs and --pairs are of one set. Leave them out, or name one set.")
    if further:
        _on_several(sets, on, by, asked, folder)
    else:
        _on_one(data, on, by, asked, folder)
    tell(f"Report: {folder / 'report.html'}")
    if asked.open and not webbrowser.open((folder / "report.html").resolve().as_uri()):
        typer.echo("No browser can be opened here.", err=True)


def _on_one(data: DrawOptions, on: SystemOptions, by: WorkerOptions, asked: Asked, folder: Path) -> None:
    """Compare on one set, save and show."""
    from kg2rag.compute import counter_of
    from kg2rag.evaluation.storage import other_comparison, require_place
    from kg2rag.extraction.sources import takes_file
    from kg2rag.report import pairs_table
    from kg2rag.retrievers.adapters import Recorded
    from kg2rag.retrievers.adapters.trec import name_of

    require_place(folder)
    questions = data.load()
    kb, systems = on.build(questions.corpus)
    for file in asked.runs or ():
        name = name_of(file)
        if name in systems:
            raise ValueError(f"--runs {file}: {name!r} is the name of another system. Rename the file.")
        systems[name] = Recorded.of(file, questions.corpus, queries=[one.id for one in questions.questions])
    announce(folder, replaced=other_comparison(folder, questions.name, list(systems)))
    if not questions.questions and questions.unjudged:
        _page_to_judge(folder, systems, questions)
        return
    with by.open():
        result = asked.run(folder, systems, questions, data.seed, counter_of(kb.embedder))
    show(result)
    if asked.pairs is not None:
        show(pairs_table(result.sheet, result.pairs(asked.pairs), asked.pairs))
    graphs = [(name.partition(":")[0], file) for name, file in questions.graph_files.items()]
    offers = [f"  --graph {shlex.quote(f'{kind}({file})')}" for kind, file in graphs if takes_file(kind)]
    if on.graph == "mentions" and offers:
        typer.echo("\n".join(["Beside the questions lies a graph, which was not used:", *offers]))


def _page_to_judge(folder: Path, systems: dict[str, Any], questions: QADataset) -> None:
    """Of questions without any gold: how much the systems agree, and a page in which their hits are judged."""
    from kg2rag.evaluation.overlap import POOLED, agreement

    result = agreement(systems, questions.unjudged, POOLED)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.html").write_text(result.to_html(), encoding="utf-8")
    typer.echo(result)
    tell("No question has gold. Judge hits in the report, then compare with the file that it saves as --questions.")


def _on_several(sets: dict[str, DrawOptions], on: SystemOptions, by: WorkerOptions, asked: Asked, folder: Path) -> None:
    """Compare on several sets, save and show."""
    from kg2rag.compute import counter_of
    from kg2rag.evaluation.storage import other_comparison, require_place
    from kg2rag.report import TerminalTable

    require_place(folder, several=True)
    for name in sets:
        require_place(folder / name)
    loaded = {name: one.load() for name, one in sets.items()}
    for name, questions in loaded.items():
        announce(folder / name, replaced=other_comparison(folder / name, questions.name))
    seed = next(iter(sets.values())).seed
    with by.open():
        result = asked.run(folder, lambda one: on.build(one.corpus)[1], loaded, seed, counter_of(on.encoder()))
    show(result)
    if len(result.metrics) > 1:
        show(TerminalTable(result.macro_sheet))
    for name, one in result.sets.items():
        tell(f"{name}: {folder / name / 'report.html'}, of {one.config['started']}")


@dataclass(frozen=True)
class GraphsAsked:
    """The options of a comparison of graphs."""

    graph: list[str] | None = opt(None, "NAME=SOURCE; may be repeated.", "--graph")
    systems: str = opt("graph_augmented,expansion_queries", NAMES.capitalize())
    settings: list[str] | None = opt(None, "system.parameter=value; may be repeated.", "--set")
    placebo: int = opt(3, "Seeds under which each graph is shuffled, too.", min=0)
    metrics: str = opt("recall@2,recall@5,recall@10,all_recall@5", "As in compare.")
    out: Path | None = opt(None, "Where the results go; reports/DATASET-graphs otherwise.")

    def sources(self) -> dict[str, str]:
        """Name -> graph source."""
        sources = {}
        for given in self.graph or ["mentions=mentions", "cooccurrence=cooccurrence"]:
            name, equals, source = given.partition("=")
            if not (equals and name and source):
                raise ValueError(f"--graph {given!r}: write NAME=SOURCE, such as llm=openie(FILE).")
            sources[name] = source
        return sources


@spread(dataset="bundled")
def compare_graphs(data: DrawOptions, encoding: EncoderOptions, by: WorkerOptions, asked: GraphsAsked) -> None:
    """Compare graphs under the same strategies, and with shuffled ones, which add as many candidates."""
    from kg2rag.compute import counter_of
    from kg2rag.evaluation import compare
    from kg2rag.evaluation.storage import other_comparison, require_place
    from kg2rag.knowledge import KnowledgeBase
    from kg2rag.report import placebo_table
    from kg2rag.retrievers.systems import build, build_all, labelled

    folder = asked.out or Path("reports") / f"{data.file_name}-graphs"
    require_place(folder)
    questions = data.load()
    encoder = encoding.encoder()
    kbs = {
        name: KnowledgeBase.build(questions.corpus, source, embedder=encoder)
        for name, source in asked.sources().items()
    }
    shuffled = {f"{name}-shuffled": [kb.placebo(seed) for seed in range(asked.placebo)] for name, kb in kbs.items()}
    first = next(iter(kbs.values()))
    changes = parse_settings(asked.settings or [])
    wanted = labelled(split_names(asked.systems))
    build_all(first, wanted, changes)  # refuses what it does not know before any work
    announce(folder, replaced=other_comparison(folder, questions.name))
    strategies = {name: partial(build, system, **changes.get(name, {})) for name, system in wanted.items()}
    with by.open():
        result = compare(
            {"dense": build("dense", first), **strategies},
            questions,
            graphs={**kbs, **(shuffled if asked.placebo else {})},
            metrics=split_names(asked.metrics),
            baseline="dense",
            seed=data.seed,
            command=_command(),
            counter=counter_of(first.embedder),
        )
    result.save(folder)
    show(result)
    if asked.placebo > 1:
        show(placebo_table(result.sheet, result.against_placebo(), result.metrics[0]))
    tell(f"Report: {folder / 'report.html'}")


def _command() -> str:
    return shlex.join(["kg2rag", *sys.argv[1:]])
