"""The cost of a knowledge base and its systems as a corpus grows: seconds, memory, bytes on disk, milliseconds a query.

    python eval/bench/scale.py --passages 10000,100000 --out eval/results/scale
    python eval/bench/scale.py --passages 1000000 --parts mentions,mention_graph,bm25 --systems mention_ppr --out FOLDER

The corpora are invented (`scale_inputs.py`), with their triples. Every measurement is a separate
process and a line of `FOLDER/measurements.jsonl`; those that are there already are not repeated, so
that a run which was stopped goes on; delete a line to have it measured again. A part is built once
with what it needs opened before ("build") and opened once from the store ("open"). A system's first
answer counts from the start of its process; it is then prepared, asked all questions in one batch
(the best of three), and some of them one by one. Where the machine has other work, processor time
(`_cpu`) says more than the clock's. Memory is the resident set, libraries and mapped pages
included, and summed over the processes that the measured one starts; `input_gb` is its size before
the work began, `anonymous_gb` what of it no file backs at the end. Linux only: all of this is read
from /proc.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
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
SYSTEMS = "bm25,dense,hybrid,expansion_queries,graph_augmented,mention_ppr,mention_chains,linearrag,hippo2"
DEPTH = 100  # hits a query
REPEATS = 3
ENOUGH_SECONDS = 60.0  # after which a batch is not repeated
ASKED_ONE_BY_ONE = 20
POLL_SECONDS = 0.2


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

    @classmethod
    def of_line(cls, line: str) -> Job:
        """The job that a line of measurements belongs to."""
        record = json.loads(line)
        return cls(**{name: record[name] for name in cls.__dataclass_fields__})

    def store(self, work: Path) -> Path:
        """The folder of the store that the jobs of one label and encoder share."""
        return work / f"store-{self.label}-{self.encoder.replace('/', '_')}"


def main(
    passages: Annotated[
        str, typer.Option(help="Sizes, separated by commas.")
    ] = "10000",
    parts: Annotated[
        str, typer.Option(help="Parts of the knowledge base, all, or none.")
    ] = "all",
    systems: Annotated[
        str, typer.Option(help="Systems, also as 'NAME PARAMETER=VALUE', or none.")
    ] = SYSTEMS,
    out: Annotated[Path, typer.Option(help="Where measurements.jsonl goes.")] = Path(
        "reports/scale"
    ),
    work: Annotated[
        Path, typer.Option(help="Where corpora and stores are kept.")
    ] = Path("data/cache/scale"),
    encoder: Annotated[
        str, typer.Option(help="hashing, or what --embedder takes.")
    ] = "hashing",
    triples: Annotated[int, typer.Option(help="Triples a passage.", min=1, max=5)] = 3,
    label: Annotated[
        str, typer.Option(help="What the rows are called, such as before.")
    ] = "now",
    limit: Annotated[
        float, typer.Option(help="Seconds that a measurement may take.")
    ] = 7200,
    memory: Annotated[
        float, typer.Option(help="Gigabytes that a measurement may hold.")
    ] = 16,
    worker: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Measure what is not measured yet."""
    if worker:
        print(json.dumps(measure(**json.loads(worker))))
        return
    part_names = list(NEEDS) if parts == "all" else _names(parts)
    for name in part_names:
        if name not in NEEDS:
            raise SystemExit(f"Unknown part {name!r}. Known: {', '.join(NEEDS)}.")
    out.mkdir(parents=True, exist_ok=True)
    lines = out / "measurements.jsonl"
    measured = (
        {Job.of_line(line) for line in lines.read_text().splitlines()}
        if lines.exists()
        else set()
    )
    for size in map(int, _names(passages)):
        steps = [
            ("part", name, step) for name in part_names for step in ("build", "open")
        ]
        steps += [("system", name, "query") for name in _names(systems)]
        for step in steps:
            job = Job(label, size, triples, encoder, *step)
            if job in measured:
                continue
            row = asdict(job) | run(job, work, limit, memory)
            with lines.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(
                json.dumps(
                    {name: value for name, value in row.items() if name != "machine"}
                ),
                flush=True,
            )


def _names(text: str) -> list[str]:
    return [] if text == "none" else [name.strip() for name in text.split(",")]


def run(job: Job, work: Path, limit: float, memory: float) -> dict[str, object]:
    """The measurements of a separate process; if it fails, the reason."""
    from scale_inputs import world

    world(work, job.passages, job.triples)
    disk_bytes = size_of(job.store(work))
    peak = 0.0
    reason = ""
    begin = time.time()
    arguments = {"job": asdict(job), "work": str(work), "begin": begin}
    command = [sys.executable, __file__, "--worker", json.dumps(arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None:
            try:
                process.wait(POLL_SECONDS)
            except subprocess.TimeoutExpired:
                # Shared pages once: a process that has just forked would count double.
                peak = max(
                    peak,
                    sum(
                        status(member, "Pss", "smaps_rollup")
                        for member in family(process.pid)
                    ),
                )
                reason = reason or _excess(time.time() - begin, limit, peak, memory)
                if reason:
                    for member in reversed(list(family(process.pid))):
                        os.kill(member, 9)
        output, errors = process.communicate()
    if reason or process.returncode:
        return {
            "failed": reason
            or (errors.strip().splitlines() or [f"ended with {process.returncode}"])[-1]
        }
    costs = json.loads(output.splitlines()[-1])
    peak = round(max(peak, costs["peak_gb"]), 3)
    return {
        **costs,
        "peak_gb": peak,
        "disk_bytes": size_of(job.store(work)) - disk_bytes,
    }


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
    return next(
        (int(line.split()[1]) / 1e6 for line in lines if line.startswith(f"{name}:")),
        0.0,
    )


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def measure(job: Mapping[str, object], work: str, begin: float) -> dict[str, object]:
    """The work of a process, which began at a time in seconds since 1970."""
    from scale_inputs import HashingEncoder, world

    import kg2rag
    from kg2rag.compute import processor, threads
    from kg2rag.evaluation.machine import commit, load_average

    measured = Job(**job)  # type: ignore[arg-type]
    folder = world(Path(work), measured.passages, measured.triples)
    kb = kg2rag.KnowledgeBase.build(
        kg2rag.Corpus.open(folder / "corpus.arrow"),
        f"triples({folder / f'triples-{measured.triples}.jsonl'})",
        embedder=HashingEncoder()
        if measured.encoder == "hashing"
        else measured.encoder,
        store=kg2rag.Store(measured.store(Path(work))),
    )
    costs = (
        part(kb, measured.name)
        if measured.kind == "part"
        else system(kb, measured.name, folder, begin)
    )
    machine = {"processor": processor(), "commit": commit(), "threads": threads()}
    memory = {
        "peak_gb": round(status("self", "VmHWM"), 3),
        "anonymous_gb": round(status("self", "RssAnon"), 3),
    }
    return {**costs, **memory, "load": load_average(), "machine": machine}


def builders() -> Mapping[str, Callable[[KnowledgeBase], object]]:
    """The function that makes each part of `NEEDS`."""
    from kg2rag.knowledge import LexicalSettings
    from kg2rag.retrievers.mention_ppr.graph import mention_graph
    from kg2rag.retrievers.published.hipporag import memory
    from kg2rag.retrievers.published.tri_graph import tri_graph

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
    build_of = builders()

    def make_ready(name: str) -> None:
        for needed in NEEDS[name]:
            make_ready(needed)
            build_of[needed](kb)

    make_ready(name)
    input_gb = status("self", "VmHWM")
    clock = Clock()
    build_of[name](kb)
    seconds, processor = clock.spent()
    return {
        "seconds": round(seconds, 3),
        "seconds_cpu": round(processor, 3),
        "input_gb": round(input_gb, 3),
    }


def system(
    kb: KnowledgeBase, call: str, folder: Path, begin: float
) -> dict[str, object]:
    """The first answer of a system ("NAME PARAMETER=VALUE …"), and its milliseconds a query when it is prepared."""
    from scale_inputs import questions

    from kg2rag.retrievers.systems import build

    queries = questions(folder)
    input_gb = status("self", "VmHWM")
    name, *settings = call.split()
    parameters = {
        key: _value(text) for key, text in (setting.split("=") for setting in settings)
    }
    retriever = build(name, kb, **parameters)
    retriever.retrieve(queries[-1], DEPTH)
    times = {"first_answer_s": time.time() - begin, "first_answer_s_cpu": Clock.busy()}
    clock = Clock()
    retriever.prepare(queries)
    times["prepare_s"], times["prepare_s_cpu"] = clock.spent()
    retriever.retrieve_batch(queries, DEPTH)
    batches: list[tuple[float, float]] = []
    while (
        len(batches) < REPEATS
        and sum(seconds for seconds, _ in batches) < ENOUGH_SECONDS
    ):
        clock = Clock()
        retriever.retrieve_batch(queries, DEPTH)
        batches.append(clock.spent())
    single_queries = queries[:: max(len(queries) // ASKED_ONE_BY_ONE, 1)]
    clock = Clock()
    for query in single_queries:
        retriever.retrieve(query, DEPTH)
    seconds, processor = clock.spent()
    times["batch_ms"] = 1000 * min(seconds for seconds, _ in batches) / len(queries)
    times["batch_ms_cpu"] = (
        1000 * min(processor for _, processor in batches) / len(queries)
    )
    times["alone_ms"] = 1000 * seconds / len(single_queries)
    times["alone_ms_cpu"] = 1000 * processor / len(single_queries)
    rounded = {name: round(value, 3) for name, value in times.items()}
    return {**rounded, "queries": len(queries), "input_gb": round(input_gb, 3)}


def _value(text: str) -> object:
    """A number, or a word as it stands."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


class Clock:
    """Seconds since it was made: by the clock, and of the processors for this process and those that it has ended."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.busy_before = self.busy()

    def spent(self) -> tuple[float, float]:
        """Both."""
        return time.perf_counter() - self.start, self.busy() - self.busy_before

    @staticmethod
    def busy() -> float:
        """Seconds of the processors so far."""
        usages = [
            resource.getrusage(which)
            for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        ]
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    typer.run(main)
