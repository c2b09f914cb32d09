"""`kg2rag compare`: systems side by side on question sets; `compare-graphs`: systems over several graphs."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kg2rag.cli.declared import announce, arg, opt, parse_settings, split_names, spread
from kg2rag.cli.options import NAMES, DrawOptions, EncoderOptions, SystemOptions, WorkerOptions
from kg2rag.cli.printing import print_line, print_rich

if TYPE_CHECKING:
    from kg2rag.types import QADataset

MACRO = "Further sets, for a macro-average; --path then holds a folder by the name of each."
METRICS = "Any of ranx's, all_recall@k, support_f1@k, recall@500tokens; six usual ones otherwise."


@dataclass(frozen=True)
class Asked:
    """The options of a comparison that do not depend on its sets."""

    metrics: str | None = opt(None, METRICS)
    k: int = opt(100, "Hits a query.", "--k", min=1)
    baseline: str | None = opt(None, "Tested against; hybrid by default, otherwise dense or the first.")
    out: Path | None = opt(None, "Where the results go; reports/DATASET otherwise.")
    fresh: bool = opt(False, "Run all systems anew, in place of what is stored.", "--fresh")
    open: bool = opt(False, "Open the report in a browser.", "--open")

    def options(self) -> dict[str, Any]:
        """Those that `kg2rag.compare` takes."""
        from kg2rag.evaluation.metrics import DEFAULT_METRICS

        metrics = DEFAULT_METRICS if self.metrics is None else split_names(self.metrics)
        return {"k": self.k, "baseline": self.baseline, "fresh": self.fresh, "metrics": metrics}


@spread(dataset="bundled")
def compare(
    data: DrawOptions, on: SystemOptions, by: WorkerOptions, asked: Asked, further: list[str] | None = arg(None, MACRO)
) -> None:
    """Compare retrieval systems on a question set: a table here, everything else in --out.

    What was run before is read from the store: a killed comparison goes on, and one more system runs alone. On several
    sets, the first metric on each and its macro-average; each set's own comparison is in --out/SET. Without gold, how
    much the systems agree, and a page in which their hits are judged.
    """
    from kg2rag.compute import counter_of
    from kg2rag.evaluation import CompareOptions, compare
    from kg2rag.evaluation.storage import require_place
    from kg2rag.extraction.sources import takes_file
    from kg2rag.report import TerminalTable

    sets = data.several(further or [])
    folder = asked.out or Path("reports") / "+".join(sets)
    places = {name: folder / name if further else folder for name in sets}
    require_place(folder, several=bool(further))
    for place in places.values():
        require_place(place)
    loaded = {name: one.load() for name, one in sets.items()}
    first = next(iter(loaded.values()))
    systems: Any = (lambda one: on.build(one.corpus)[1]) if further else on.build(first.corpus)[1]
    for name, one in loaded.items():
        announce(places[name], one.name, None if further else list(systems))
    if further or first.questions:
        with by.open():
            options = CompareOptions(counter=counter_of(on.encoder()), seed=data.seed, command=_command())
            compared: Any = loaded if further else first
            result: Any = compare(systems, compared, folder=folder, options=options, **asked.options())
        print_rich(result)
        if further and len(result.metrics) > 1:
            print_rich(TerminalTable(result.macro_sheet))
        for name, one in result.sets.items() if further else ():
            print_line(f"{name}: {places[name] / 'report.html'}, of {one.config['started']}")
        graphs = [(name.partition(":")[0], file) for name, file in ({} if further else first.graph_files).items()]
        offers = [f"  --graph {shlex.quote(f'{kind}({file})')}" for kind, file in graphs if takes_file(kind)]
        if on.graph == "mentions" and offers:
            print_line("\n".join(["Beside the questions lies a graph, which was not used:", *offers]))
    else:
        _page_to_judge(folder, systems, first, data)
    print_line(f"Report: {folder / 'report.html'}")
    if asked.open and not webbrowser.open((folder / "report.html").resolve().as_uri()):
        print_line("No browser can be opened here.", err=True)


def _page_to_judge(folder: Path, systems: dict[str, Any], data: QADataset, draw: DrawOptions) -> None:
    """Without any gold: how much the systems agree, and a page in which their hits are judged."""
    from kg2rag.compute import write_outputs
    from kg2rag.datasets import known_items
    from kg2rag.evaluation.overlap import POOL_DEPTH, agreement
    from kg2rag.types import Query

    queries, said = data.unjudged[: draw.limit], "No question has gold."
    if not queries:
        rows = known_items(data.corpus, draw.limit or 50, draw.seed).rows
        queries = tuple(Query(row["id"], row["question"]) for row in rows)
        said = f"There are no questions: {len(queries)} headings and sentences of the documents are asked instead."
    if not queries:
        raise ValueError(f"{data.name} has no heading and no sentence to ask. Give --questions FILE.")
    result = agreement(systems, replace(data, unjudged=queries), POOL_DEPTH)
    write_outputs(folder, "comparison", {"report.html": result.to_html().encode()})
    print_line(result)
    print_line(f"{said} Judge hits in the report, then compare with the file that it saves: --questions FILE.")


@spread(dataset="bundled")
def compare_graphs(
    data: DrawOptions,
    encoding: EncoderOptions,
    by: WorkerOptions,
    graphs: list[str] | None = opt(None, "NAME=SOURCE; may be repeated.", "--graph"),
    systems: str = opt("graph_augmented,expansion_queries", NAMES.capitalize()),
    settings: list[str] | None = opt(None, "system.parameter=value; may be repeated.", "--set"),
    placebo: int = opt(3, "Seeds under which each graph is shuffled, too.", min=0),
    metrics: str = opt("recall@2,recall@5,recall@10,all_recall@5", "As in compare."),
    out: Path | None = opt(None, "Where the results go; reports/DATASET-graphs otherwise."),
) -> None:
    """Compare graphs under the same strategies, and with shuffled ones, which add as many candidates."""
    from kg2rag.compute import counter_of
    from kg2rag.evaluation import CompareOptions, compare
    from kg2rag.evaluation.storage import require_place
    from kg2rag.knowledge import KnowledgeBase
    from kg2rag.report import placebo_table
    from kg2rag.retrievers.systems import build, build_all, labelled

    folder = out or Path("reports") / f"{data.file_name}-graphs"
    require_place(folder)
    changes, wanted, sources = parse_settings(settings or []), labelled(split_names(systems)), dict[str, str]()
    for given in graphs or ["mentions=mentions", "cooccurrence=cooccurrence"]:
        name, equals, source = given.partition("=")
        if not (equals and name and source):
            raise ValueError(f"--graph {given!r}: write NAME=SOURCE, such as llm=openie(FILE).")
        sources[name] = source
    questions, encoder = data.load(), encoding.encoder()
    kbs = {name: KnowledgeBase.build(questions.corpus, one, embedder=encoder) for name, one in sources.items()}
    first, shuffled = next(iter(kbs.values())), dict[str, list[KnowledgeBase]]()
    if placebo:
        shuffled = {f"{name}-shuffled": [kb.placebo(seed) for seed in range(placebo)] for name, kb in kbs.items()}
    build_all(first, wanted, changes)  # refuses what it does not know before any work
    announce(folder, questions.name)
    strategies = {name: partial(build, system, **changes.get(name, {})) for name, system in wanted.items()}
    with by.open():
        result = compare(
            {"dense": build("dense", first), **strategies},
            questions,
            graphs={**kbs, **shuffled},
            metrics=split_names(metrics),
            baseline="dense",
            options=CompareOptions(seed=data.seed, command=_command(), counter=counter_of(first.embedder)),
        )
    result.save(folder)
    print_rich(result)
    if placebo > 1:
        print_rich(placebo_table(result.sheet, result.against_placebo(), result.metrics[0]))
    print_line(f"Report: {folder / 'report.html'}")


def _command() -> str:
    return shlex.join(["kg2rag", *sys.argv[1:]])
