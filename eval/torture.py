"""Kills, flips, mutated files, faulty models, builders at once -> how often a result was right, clear, or neither.

    python eval/torture.py kill --cases 1000        SIGKILL at any file operation of builds, extractions, comparisons …
    python eval/torture.py flip --cases 1000        one bit of a store, comparison or graph
    python eval/torture.py mutate --cases 20000     the mutated files of tests/fuzz
    python eval/torture.py llm --cases 500          a language model that misbehaves
    python eval/torture.py builders --cases 20      eight processes build one store, so many times
    python eval/torture.py trials                   the misuse of eval/trials: numbers, files, keys, sizes

Each but the last prints a table and replaces its rows in eval/results/torture.csv (`--no-write` leaves it alone).
Nothing depends on the clock: a process is killed at the n-th time that it opens, renames or removes a file, or hands
sqlite a statement.
Needs fork: Linux or macOS.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from math import ceil
from pathlib import Path
from random import Random
from sqlite3 import dbapi2
from typing import Annotated, Any
from unittest.mock import patch

import pandas as pd
import typer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
os.environ.setdefault("NUMBA_THREADING_LAYER", "workqueue")  # GNU OpenMP ends forked processes in ranx's loops
os.environ["TOKENIZERS_PARALLELISM"] = "false"  # a forked process would wait for threads that it lacks

import torture_extraction  # noqa: E402 (these need what lies beside the tests)
import torture_llm  # noqa: E402
from fuzz import campaign, formats, seeds  # noqa: E402
from torture_llm import CLEAR, RIGHT, WRONG  # noqa: E402
from word_embedder import WordEmbedder  # noqa: E402

import kg2rag  # noqa: E402
from kg2rag.compute import Store, remove_leftovers  # noqa: E402
from kg2rag.evaluation import Comparison  # noqa: E402
from kg2rag.knowledge import KnowledgeBase  # noqa: E402
from kg2rag.knowledge.graph.graph_io import write_graph  # noqa: E402
from kg2rag.text.records import DataError  # noqa: E402

RESULTS = ROOT / "eval" / "results" / "torture.csv"
FILE_EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")
FLIPPED = ("store", "saved graph", "graph as Parquet", "comparison")
BUILDERS = 8
TIMED = ("report.html", "config.json", "sweep.json", ".kg2rag.json")
"""Files that hold times, the versions of a moment, or checksums of such files."""
Job = Callable[[Path], object]
Tally = dict[str, Counter[str]]
app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
Cases = Annotated[int, typer.Option(min=1, help="How many.")]
Seed = Annotated[int, typer.Option(min=0)]
Of = Annotated[list[str] | None, typer.Option(help="Of these kinds alone; all where none is given.")]
Write = Annotated[bool, typer.Option(help="Replace the rows of this attack in eval/results/torture.csv.")]


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a folder that are the same in every run."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file() and file.name not in TIMED)
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def build(folder: Path) -> object:
    """A knowledge base in a store, and what BM25 finds in it; the store afterwards, without its manifests' times."""
    store = Store(folder / "store")
    kb = KnowledgeBase.build(seeds.CORPUS, store=store)
    found = kg2rag.BM25(kb).retrieve_batch(seeds.DATA.queries, 3)
    kb.mentions  # noqa: B018 (built by looking at it)
    damaged = store.verify()
    return damaged, [ranking.passage_ids for ranking in found], sorted(entry.path.name for entry in store.entries())


def graph(folder: Path) -> object:
    """A graph folder, as `kg2rag build` writes it."""
    write_graph(folder / "graph", seeds.EXTRACTION, seeds.CORPUS, seeds.extractor(), corpus_name="tiny")
    return contents(folder)


def compare(folder: Path) -> object:
    """A comparison over an older one of other systems in the same folder."""
    for name in ("old", "new"):
        _compared(name).save(folder)
    return contents(folder)


def save(folder: Path) -> object:
    """The same of comparisons that were made before, with their pages: what remains is the writing of files."""
    made = Path(os.environ[MADE])
    for name in ("old", "new"):
        found = Comparison.load(made / name)
        with patch.object(Comparison, "to_html", return_value=(made / name / "report.html").read_text()):
            found.save(folder)
    return contents(folder)


def _compared(name: str) -> Comparison:
    run = {"old": seeds.run(), "new": seeds.run() | {"q2": []}}[name]
    systems = {each: kg2rag.Recorded(seeds.CORPUS, own) for each, own in ((name, run), ("dense", seeds.run()))}
    return kg2rag.compare(systems, seeds.DATA, metrics=["recall@1", "mrr@10"])


def sweep(folder: Path) -> object:
    """A grid of four configurations, which goes on where it was begun."""
    made = kg2rag.Sweep(
        seeds.DATA,
        {"bm25": {"k1": [0.9, 1.2], "b": [0.3, 0.75]}},
        store=Store(folder / "store"),
        metrics=["recall@1"],
        k=3,
        encoder=WordEmbedder(),
    )
    result = made.run(folder / "out", progress=False)
    return result.per_question.drop(columns="ms_per_query").to_csv()


JOBS: Mapping[str, Job] = {
    "build": build,
    "graph": graph,
    "extraction": torture_extraction.extraction,
    "compare and save": compare,
    "save": save,
    "sweep": sweep,
}


SHARES = {"compare and save": 0.25, "extraction": 0.7}
"""Of cases, relative to the other jobs: what costs a second is killed less often."""
MADE = "KG2RAG_TORTURE_MADE"


def in_child(job: Callable[[], object], stop: int = 0, watched: Path | None = None) -> tuple[int, Any]:
    """A job in a forked process, killed at its `stop`-th operation on the files below `watched`; its status and result.

    The result is the number of operations and what the job returned or raised, as text; None where it was killed.
    """
    read, write = os.pipe()
    if child := os.fork():
        os.close(write)
        with os.fdopen(read) as stream:
            said = stream.read()
        return os.waitpid(child, 0)[1], json.loads(said) if said else None
    os.close(read)
    seen = [0]

    def one_more(*_: object) -> None:
        seen[0] += 1
        if seen[0] == stop:
            os.kill(os.getpid(), signal.SIGKILL)

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        if event in FILE_EVENTS and watched is not None and str(arguments[0]).startswith(str(watched)):
            one_more()

    connect = dbapi2.connect

    def traced(*given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*given, **named)
        connection.set_trace_callback(one_more)  # before each statement
        return connection

    dbapi2.connect = traced
    sys.addaudithook(count)
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)
    try:
        came: tuple[str, str] = ("done", repr(job()))
    except DataError as error:
        came = (CLEAR, str(error))
    except BaseException as error:  # noqa: BLE001 (reported to the parent)
        came = ("raised", repr(error))
    with os.fdopen(write, "w") as stream:
        json.dump([seen[0], *came], stream)
    os._exit(0)


def preload(job: Callable[[], object]) -> None:
    """Import here what a job imports, so that not each of its processes does; it runs in none but a child."""
    import numba  # after its threading layer was chosen

    def loads() -> str:
        before = set(sys.modules)
        job()
        return "\n".join(name for name in sys.modules if name not in before)

    _, (_, came, loaded) = in_child(loads)
    assert came == "done", loaded
    with warnings.catch_warnings(action="ignore"):
        for name in ast.literal_eval(loaded).split():
            with suppress(Exception):  # a module that another one makes, under a name of its own
                importlib.import_module(name)
    numba.njit(lambda number: number + 1)(1)  # reads what it knows of types, once; a loop without threads


def killed(name: str, cases: int, random: Random) -> Counter[str]:
    """Kill a job at random operations, run it again, and look whether everything is as if it had run once."""
    job, tally, wrong = JOBS[name], Counter[str](), 0
    with tempfile.TemporaryDirectory() as base:
        whole = Path(base, "whole")
        preload(partial(job, Path(base, "first")))
        _, (operations, came, want) = in_child(partial(job, whole), watched=whole)
        assert came == "done", want
        for _ in range(cases):
            folder = Path(base, "case")
            stop = random.randint(1, operations)
            in_child(partial(job, folder), stop, folder)
            _, (_, came, found) = in_child(partial(job, folder), watched=folder)
            for place in (folder, *folder.rglob("*/")):
                remove_leftovers(place)
            left = list(folder.rglob(".partial-*"))
            tally[CLEAR if came == CLEAR else RIGHT if found == want and not left else WRONG] += 1
            if tally[WRONG] > wrong:
                wrong = tally[WRONG]
                typer.echo(f"{name}, killed at {stop} of {operations}: {came}, {left}; {found!r:.2000}")
            shutil.rmtree(folder)
    return tally


@app.command()
def kill(cases: Cases = 200, seed: Seed = 0, write: Write = True, of: Of = None) -> None:
    """SIGKILL at any file operation, then the same again: the same result, and nothing left behind."""
    if strangers := set(of or ()) - set(JOBS):
        raise typer.BadParameter(f"{', '.join(sorted(strangers))}: give some of {', '.join(JOBS)}.")
    tallies, wanted = Tally(), of or list(JOBS)
    each = cases / sum(SHARES.get(name, 1.0) for name in wanted)
    with torture_extraction.endpoint(), tempfile.TemporaryDirectory() as made:
        os.environ[MADE] = made
        for name in ("old", "new") if "save" in wanted else ():
            in_child(lambda name=name: _compared(name).save(Path(made, name)))
        for name in wanted:
            tallies[name] = killed(name, ceil(each * SHARES.get(name, 1.0)), Random(f"{seed} {name}"))
            if write:
                record(table_of("kill", {name: tallies[name]}), {name})
    shown("kill", tallies, write=write and not of)


@app.command()
def flip(cases: Cases = 600, seed: Seed = 0, write: Write = True) -> None:
    """Flip one bit of a file, and read: the same result, or an error that names the file."""
    random, tallies = Random(seed), dict[str, Counter[str]]()
    for name in FLIPPED:
        files = formats.seed_of(name)
        tallies[name] = Counter()
        with tempfile.TemporaryDirectory() as base:
            folder = Path(base, "case")
            _, (_, _, want) = in_child(partial(campaign.came_of, name, files, folder))
            assert want == repr((campaign.EQUAL, "")), want
            for _ in range(-(-cases // len(FLIPPED))):
                at = random.choice(sorted(file for file, data in files.items() if data and file != "report.html"))
                data = bytearray(files[at])
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
                _, said = in_child(partial(campaign.came_of, name, files | {at: bytes(data)}, folder))
                came = "" if said is None else ast.literal_eval(said[2])[0]
                tallies[name][{campaign.EQUAL: RIGHT, campaign.CLEAR: CLEAR}.get(came, WRONG)] += 1
    shown("flip", tallies, write=write)


@app.command()
def mutate(cases: Cases = 20_000, write: Write = True) -> None:
    """Mutated files of every format: an equal or another valid result, or an error that names the file."""
    each = -(-cases // len(formats.FORMATS))
    tallies = {name: Counter[str]() for name in formats.FORMATS}
    kinds = {campaign.EQUAL: RIGHT, campaign.OTHER: RIGHT, campaign.CLEAR: CLEAR}
    for case in campaign.attack((name, number) for name in formats.FORMATS for number in range(each)):
        tallies[case["format"]][kinds.get(case["came"], WRONG)] += 1
        if case["came"] not in campaign.PERMITTED:
            typer.echo(json.dumps(case, ensure_ascii=False))
    shown("mutate", tallies, write=write)


@app.command()
def llm(cases: Cases = 500, seed: Seed = 0, write: Write = True) -> None:
    """A fault of a language model at each passage: nothing lost, nothing paid twice, every limit kept, no key shown."""
    random, each = Random(seed), -(-cases // len(torture_llm.KINDS))
    with torture_llm.logged():
        shown("llm", {kind: torture_llm.faults(kind, each, random) for kind in torture_llm.KINDS}, write=write)


@app.command()
def builders(cases: Cases = 20, write: Write = True) -> None:
    """Eight processes build one store at once: every one gets the same, and the store holds each entry once."""
    tally = Counter[str]()
    with tempfile.TemporaryDirectory() as base:
        _, (_, _, want) = in_child(partial(build, Path(base, "whole")))
        for _ in range(cases):
            folder, pipes = Path(base, "case"), []
            for _ in range(BUILDERS):
                read, end = os.pipe()
                if not os.fork():
                    os.close(read)
                    _, said = in_child(partial(build, folder))
                    os.write(end, repr(said[2] if said else None).encode())
                    os._exit(0)
                os.close(end)
                pipes.append(read)
            for read in pipes:
                with os.fdopen(read, "rb") as stream:
                    tally[RIGHT if stream.read() == repr(want).encode() else WRONG] += 1
                os.wait()
            shutil.rmtree(folder)
    shown("builders", {f"{BUILDERS} at once": tally}, write=write)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def trials(context: typer.Context) -> None:
    """The trials of eval/trials, with its options: --only, --code, --list, --csv."""
    command = [sys.executable, str(ROOT / "eval" / "trials"), *context.args]
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def table_of(attack: str, tallies: Tally) -> pd.DataFrame:
    """A row for each thing that was attacked."""
    rows = [
        {"attack": attack, "of": name, "cases": tally.total(), **{kind: tally[kind] for kind in (RIGHT, CLEAR, WRONG)}}
        for name, tally in tallies.items()
    ]
    return pd.DataFrame(rows)


def record(table: pd.DataFrame, of: Collection[str] = ()) -> None:
    """Put rows in place of those of their attack in the file, or of some of these alone."""
    former = pd.read_csv(RESULTS) if RESULTS.is_file() else table.iloc[:0]
    stale = former["attack"].isin(table["attack"]) & (former["of"].isin(of) if of else True)
    pd.concat([former[~stale], table]).to_csv(RESULTS, index=False)


def shown(attack: str, tallies: Tally, *, write: bool) -> None:
    """Print the table, and put it in place of the attack's rows in the file; exit code 1 where anything was wrong."""
    table = table_of(attack, tallies)
    typer.echo(table.to_string(index=False))
    if write:
        record(table)
    raise typer.Exit(1 if table[WRONG].any() else 0)


if __name__ == "__main__":
    app()
