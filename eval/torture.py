"""Kills, flips, mutated files, faulty models, builders at once -> how often a result was right, clear, or neither.

    python eval/torture.py kill --cases 1000        SIGKILL at any file operation of builds, extractions, comparisons …
    python eval/torture.py flip --cases 1000        one bit of a store, comparison, graph or sweep
    python eval/torture.py mutate --cases 20000     the mutated files of tests/fuzz
    python eval/torture.py llm --cases 500          a language model that misbehaves
    python eval/torture.py builders --cases 20      eight processes build one store, so many times

Each prints a table and replaces its rows in eval/results/torture.csv (`--no-write` leaves it alone). Nothing depends on
the clock: a process is killed at the n-th time that it opens, renames or removes a file. Needs fork: Linux or macOS.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated, Any

import pandas as pd
import typer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
os.environ.setdefault("NUMBA_THREADING_LAYER", "workqueue")  # GNU OpenMP ends forked processes in ranx's loops

import torture_extraction  # noqa: E402 (these need what lies beside the tests)
import torture_llm  # noqa: E402
from fuzz import campaign, formats, seeds  # noqa: E402
from torture_llm import CLEAR, RIGHT, WRONG  # noqa: E402

import kg2rag  # noqa: E402
from kg2rag.compute import Store, remove_leftovers  # noqa: E402
from kg2rag.knowledge import KnowledgeBase  # noqa: E402
from kg2rag.knowledge.graph.folder import write_graph  # noqa: E402
from kg2rag.text.records import DataError  # noqa: E402

RESULTS = ROOT / "eval" / "results" / "torture.csv"
FILE_EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir")
FLIPPED = ("store", "saved graph", "graph as Parquet", "comparison", "sweep results", "sweep to resume")
BUILDERS = 8
TIMED = ("report.html", "config.json", "timings.csv", "sweep.json")
"""Files that hold times, or the versions of a moment."""
Job = Callable[[Path], object]
Tally = dict[str, Counter[str]]
app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)
Cases = Annotated[int, typer.Option(min=1, help="How many.")]
Seed = Annotated[int, typer.Option(min=0)]
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


def save(folder: Path) -> object:
    """A comparison over an older one of other systems in the same folder."""
    for run in ({"old": seeds.run(), "dense": seeds.run()}, {"dense": seeds.run(), "new": seeds.run() | {"q2": []}}):
        systems = {name: kg2rag.Recorded(seeds.CORPUS, own) for name, own in run.items()}
        result = kg2rag.compare(systems, seeds.DATA, metrics=["recall@1", "mrr@10"], progress=False)
        result.save(folder)
    return contents(folder)


def sweep(folder: Path) -> object:
    """A grid of four configurations, resumed where it is begun."""
    systems = {"bm25": {"k1": [0.9, 1.2], "b": [0.3, 0.75]}}
    store = Store(folder / "store")
    made = kg2rag.Sweep(seeds.DATA, systems, metrics=["recall@1"], k=3, store=store, split={"stratify": False})
    made.run(folder / "out", jobs=1, resume=True, progress=False)
    return contents(folder / "out")


JOBS: Mapping[str, Job] = {
    "build": build,
    "graph": graph,
    "extraction": torture_extraction.extraction,
    "compare and save": save,
    "sweep": sweep,
}


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

    def count(event: str, arguments: tuple[object, ...]) -> None:
        if event in FILE_EVENTS and watched is not None and str(arguments[0]).startswith(str(watched)):
            seen[0] += 1
            if seen[0] == stop:
                os.kill(os.getpid(), signal.SIGKILL)

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


def killed(name: str, cases: int, random: Random) -> Counter[str]:
    """Kill a job at random operations, run it again, and look whether everything is as if it had run once."""
    job, tally = JOBS[name], Counter[str]()
    with tempfile.TemporaryDirectory() as base:
        whole = Path(base, "whole")
        _, (operations, came, want) = in_child(partial(job, whole), watched=whole)
        assert came == "done", want
        for _ in range(cases):
            folder = Path(base, "case")
            in_child(partial(job, folder), random.randint(1, operations), folder)
            _, (_, came, found) = in_child(partial(job, folder), watched=folder)
            for place in (folder, *folder.rglob("*/")):
                remove_leftovers(place)
            left = list(folder.rglob(".partial-*"))
            tally[CLEAR if came == CLEAR else RIGHT if found == want and not left else WRONG] += 1
            shutil.rmtree(folder)
    return tally


@app.command()
def kill(cases: Cases = 200, seed: Seed = 0, write: Write = True) -> None:
    """SIGKILL at any file operation, then the same again: the same result, and nothing left behind."""
    random = Random(seed)
    with torture_extraction.endpoint():
        shown("kill", {name: killed(name, -(-cases // len(JOBS)), random) for name in JOBS}, write=write)


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


def shown(attack: str, tallies: Tally, *, write: bool) -> None:
    """Print the table, and put it in place of the attack's rows in the file; exit code 1 where anything was wrong."""
    rows = [
        {"attack": attack, "of": name, "cases": tally.total(), **{kind: tally[kind] for kind in (RIGHT, CLEAR, WRONG)}}
        for name, tally in tallies.items()
    ]
    table = pd.DataFrame(rows)
    typer.echo(table.to_string(index=False))
    if write:
        former = pd.read_csv(RESULTS) if RESULTS.is_file() else table.iloc[:0]
        pd.concat([former[former["attack"] != attack], table]).to_csv(RESULTS, index=False)
    raise typer.Exit(1 if table[WRONG].any() else 0)


if __name__ == "__main__":
    app()
