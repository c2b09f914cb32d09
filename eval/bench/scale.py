"""What a knowledge base and its systems cost as a corpus grows: seconds, memory, bytes on disk, milliseconds a query.

    python eval/bench/scale.py --passages 10000,100000 --out eval/results/scale
    python eval/bench/scale.py --passages 1000000 --parts mentions,mention_graph,bm25 --systems mention_ppr --out FOLDER

The corpora are invented (`scale_inputs.py`), with their triples. Every measurement is a separate process and a line
of `FOLDER/measurements.jsonl`; those that are there already are not repeated, so that a run which was stopped goes on;
delete a line to have it measured again. A part is built once with what it needs opened before ("build") and opened once
from the store ("open"). A system's first answer counts from the start of its process; it is then prepared, asked all
questions in one batch (the best of three), and some of them one by one. `walk` is what `mention_ppr` does between its
start and its ranking: it finds the part of the graph within reach, and PageRank over that. Where the machine has other
work, processor time (`_cpu`) says more than the clock's. Memory is the resident set, libraries and mapped pages
included, and summed over the processes that the measured one starts; `input_gb` is its size before the work began,
`anonymous_gb` what of it no file backs at the end. Linux only: all of this is read from /proc.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kg2rag import KnowledgeBase

# In the order in which they need each other.
NEEDS: Mapping[str, tuple[str, ...]] = {
    "fingerprint": (),
    "vectors": ("fingerprint",),
    "bm25": ("fingerprint",),
    "trigram": ("fingerprint",),
    "mentions": ("fingerprint",),
    "mention_graph": ("mentions",),
    "tri_graph": ("mentions",),
    "graph": ("fingerprint",),
    "entities": ("graph",),
    "entity_names": ("graph",),
    "triple_vectors": ("graph",),
    "phrases": ("graph",),
    "phrase_vectors": ("phrases",),
    "fact_vectors": ("phrases",),
    "phrase_graph": ("phrase_vectors",),
}
SYSTEMS = "bm25,dense,hybrid,expansion_queries,graph_augmented,mention_ppr,walk,mention_chains,linearrag,hippo2"
DEPTH = 100  # hits a query
REPEATS = 3
ENOUGH = 60.0  # seconds after which a batch is not repeated


@dataclass(frozen=True)
class Job:
    """One measurement; together with the encoder, what a line is known by."""

    label: str
    passages: int
    triples: int
    encoder: str
    kind: str
    name: str
    step: str


def main(
    passages: Annotated[str, typer.Option(help="Sizes, separated by commas.")] = "10000",
    parts: Annotated[str, typer.Option(help="Parts of the knowledge base, all, or none.")] = "all",
    systems: Annotated[str, typer.Option(help="Systems, also as 'NAME PARAMETER=VALUE', or none.")] = SYSTEMS,
    out: Annotated[Path, typer.Option(help="Where measurements.jsonl goes.")] = Path("reports/scale"),
    work: Annotated[Path, typer.Option(help="Where corpora and stores are kept.")] = Path("data/cache/scale"),
    encoder: Annotated[str, typer.Option(help="hashing, or what --embedder takes.")] = "hashing",
    triples: Annotated[int, typer.Option(help="Triples a passage.", min=1, max=5)] = 3,
    label: Annotated[str, typer.Option(help="What the rows are called, such as before.")] = "now",
    limit: Annotated[float, typer.Option(help="Seconds that a measurement may take.")] = 7200,
    memory: Annotated[float, typer.Option(help="Gigabytes that a measurement may hold.")] = 16,
    worker: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Measure what is not measured yet."""
    if worker:
        print(json.dumps(measured(json.loads(worker))))
        return
    chosen = list(NEEDS) if parts == "all" else _names(parts)
    if unknown := [name for name in chosen if name not in NEEDS]:
        raise SystemExit(f"Unknown part {unknown[0]!r}. Known: {', '.join(NEEDS)}.")
    out.mkdir(parents=True, exist_ok=True)
    lines = out / "measurements.jsonl"
    known = {_key(json.loads(line)) for line in lines.read_text().splitlines()} if lines.exists() else set()
    for size in map(int, _names(passages)):
        jobs = [Job(label, size, triples, encoder, "part", name, step) for name in chosen for step in ("build", "open")]
        jobs += [Job(label, size, triples, encoder, "system", name, "query") for name in _names(systems)]
        for job in jobs:
            if _key(vars(job)) in known:
                continue
            row = vars(job) | run(job, work, limit, memory)
            with lines.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(json.dumps({name: value for name, value in row.items() if name != "machine"}), flush=True)


def _names(text: str) -> list[str]:
    return [] if text == "none" else [name.strip() for name in text.split(",")]


def _key(row: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in Job.__dataclass_fields__)


def run(job: Job, work: Path, limit: float, memory: float) -> dict[str, object]:
    """The measurements of a separate process; if it fails, the reason."""
    from scale_inputs import world

    folder, store = world(work, job.passages, job.triples), work / f"store-{job.label}-{job.encoder.replace('/', '_')}"
    about = {**vars(job), "folder": str(folder), "store": str(store)}
    before, peak, ended = size_of(store), 0.0, ""
    begin = time.time()
    command = [sys.executable, __file__, "--worker", json.dumps({**about, "begin": begin})]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            try:
                process.wait(0.2)
            except subprocess.TimeoutExpired:
                # Shared pages once: a process that has just forked would count double.
                peak = max(peak, sum(status(one, "Pss", "smaps_rollup") for one in family(process.pid)))
                ended = ended or _excess(time.time() - begin, limit, peak, memory)
                if ended:
                    for one in reversed(list(family(process.pid))):
                        os.kill(one, 9)
        output, errors = process.communicate()
    if ended or process.returncode:
        return {"failed": ended or (errors.strip().splitlines() or [f"ended with {process.returncode}"])[-1]}
    found = json.loads(output.splitlines()[-1])
    return {**found, "peak_gb": round(max(peak, found["peak_gb"]), 3), "disk_bytes": size_of(store) - before}


def _excess(seconds: float, limit: float, peak: float, memory: float) -> str:
    if seconds > limit:
        return f"more than {limit:.0f} s"
    return f"more than {memory:g} GB after {seconds:.0f} s" if peak > memory else ""


def family(process: int) -> Iterator[int]:
    """A process and all that it started, the oldest first."""
    yield process
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from family(int(child))


def status(process: int | str, name: str, file: str = "status") -> float:
    """A line of a file in /proc/PROCESS in GB; 0 where the process has ended."""
    try:
        lines = Path(f"/proc/{process}/{file}").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1e6 for line in lines if line.startswith(f"{name}:")), 0.0)


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def measured(about: Mapping[str, object]) -> dict[str, object]:
    """The work of a process."""
    from scale_inputs import hashing

    import kg2rag
    from kg2rag.compute import processor, threads
    from kg2rag.evaluation.machine import commit, load_average

    folder = Path(str(about["folder"]))
    kb = kg2rag.KnowledgeBase.build(
        kg2rag.Corpus.open(folder / "corpus.arrow"),
        f"triples({folder / 'triples-{}.jsonl'.format(about['triples'])})",
        embedder=hashing() if about["encoder"] == "hashing" else str(about["encoder"]),
        store=kg2rag.Store(str(about["store"])),
    )
    found = part(kb, str(about["name"])) if about["kind"] == "part" else system(kb, about, folder)
    machine = {"processor": processor(), "commit": commit(), "threads": threads()}
    memory = {"peak_gb": round(status("self", "VmHWM"), 3), "anonymous_gb": round(status("self", "RssAnon"), 3)}
    return {**found, **memory, "load": load_average(), "machine": machine}


def parts_of_a_base() -> Mapping[str, Callable[[KnowledgeBase], object]]:
    """What makes each part of `NEEDS`."""
    from kg2rag.knowledge import LexicalSettings
    from kg2rag.retrievers.mention_ppr.graph import mention_graph
    from kg2rag.retrievers.published.hipporag import memory
    from kg2rag.retrievers.published.linear_rag import tri_graph

    return {
        "fingerprint": lambda kb: kb.corpus.fingerprint,
        "vectors": lambda kb: kb.vectors,
        "bm25": lambda kb: kb.lexical(LexicalSettings()),
        "trigram": lambda kb: kb.trigram,
        "mentions": lambda kb: kb.mentions,
        "mention_graph": lambda kb: mention_graph(kb, 0.3, 0.03, 50),
        "tri_graph": tri_graph,
        "graph": lambda kb: kb.graph,
        "entities": lambda kb: kb.entities,
        "entity_names": lambda kb: kb.entity_names(LexicalSettings()),
        "triple_vectors": lambda kb: kb.triple_vectors,
        "phrases": memory.phrases,
        "phrase_vectors": memory.phrase_vectors,
        "fact_vectors": memory.fact_vectors,
        "phrase_graph": lambda kb: memory.phrase_graph(kb, 0.8),
    }


def part(kb: KnowledgeBase, name: str) -> dict[str, object]:
    """Seconds of one part of the knowledge base, after those that it needs."""
    makers = parts_of_a_base()

    def ready(name: str) -> None:
        for needed in NEEDS[name]:
            ready(needed)
        makers[name](kb)

    for needed in NEEDS[name]:
        ready(needed)
    before = status("self", "VmHWM")
    clock = Clock()
    makers[name](kb)
    seconds, processor = clock.spent()
    return {"seconds": round(seconds, 3), "seconds_cpu": round(processor, 3), "input_gb": round(before, 3)}


def system(kb: KnowledgeBase, about: Mapping[str, object], folder: Path) -> dict[str, object]:
    """The first answer of a system, and its milliseconds a query when it is prepared."""
    from scale_inputs import Walk

    from kg2rag import Query
    from kg2rag.retrievers.systems import build

    records = map(json.loads, (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines())
    queries = [Query(record["id"], record["question"]) for record in records]
    before, (name, *settings) = status("self", "VmHWM"), str(about["name"]).split()
    given = {key: _value(text) for key, text in (each.split("=") for each in settings)}
    retriever = Walk(kb, **given) if name == "walk" else build(name, kb, **given)
    retriever.retrieve(queries[-1], DEPTH)
    times = {"first_answer_s": time.time() - float(str(about["begin"])), "first_answer_s_cpu": Clock.busy()}
    clock = Clock()
    retriever.prepare(queries)
    times["prepare_s"], times["prepare_s_cpu"] = clock.spent()
    retriever.retrieve_batch(queries, DEPTH)
    batches: list[tuple[float, float]] = []
    while len(batches) < REPEATS and sum(wall for wall, _ in batches) < ENOUGH:
        clock = Clock()
        retriever.retrieve_batch(queries, DEPTH)
        batches.append(clock.spent())
    some = queries[:: max(len(queries) // 20, 1)]
    clock = Clock()
    for query in some:
        retriever.retrieve(query, DEPTH)
    for asked, of, spent in (
        ("batch", queries, map(min, zip(*batches, strict=True))),
        ("alone", some, clock.spent()),  # prose: ok
    ):
        times[f"{asked}_ms"], times[f"{asked}_ms_cpu"] = (1000 * value / len(of) for value in spent)
    rounded = {name: round(value, 3) for name, value in times.items()}
    return {**rounded, "queries": len(queries), "input_gb": round(before, 3)}


def _value(text: str) -> object:
    """A number, or a word as it stands."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


class Clock:
    """Seconds since it was made: by the clock, and of the processors for this process and those that it has ended."""

    def __init__(self) -> None:
        self.start = time.perf_counter(), self.busy()

    def spent(self) -> tuple[float, float]:
        """Both."""
        return time.perf_counter() - self.start[0], self.busy() - self.start[1]

    @staticmethod
    def busy() -> float:
        """Seconds of the processors so far."""
        used = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    typer.run(main)
