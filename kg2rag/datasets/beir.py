"""A set of BEIR, by its name from the hub ("beir/scifact") or as a folder (corpus, queries, judgements) -> QADataset.

[1] Thakur et al., "BEIR", NeurIPS 2021 (datasets and benchmarks). Grades are kept; a grade below 1 says that a document
is not relevant and is left out, as are queries of other splits; both are counted. A folder of one's own is refused
where it is wrong; the hub's copies are not ours to repair: what nothing could find in them is left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kg2rag.datasets.hub import fetch
from kg2rag.datasets.judgements import Judgement, collect
from kg2rag.datasets.reading import Files, Identifier, Record, Text, find_graph_files
from kg2rag.datasets.spec import DatasetSpec, HubCopy, LoadOptions, file_name
from kg2rag.text.records import DataError
from kg2rag.text.registry import unknown
from kg2rag.types import QADataset

PREFIX = "beir/"
HEADER = ("query-id", "corpus-id", "score")
ON_HUB = (
    "arguana climate-fever dbpedia-entity fever fiqa hotpotqa msmarco nfcorpus nq quora scidocs scifact trec-covid "
    "webis-touche2020"
).split()
"""The public sets of [1] that have a repository of their own under `BeIR` on the hub."""
PINNED = {
    "fiqa": "979c07a7cb5ccc6ca009792241fa1250b98055dd+252958f2d646e22cab6d0c72dd3f0d5de6d0655a",
    "hotpotqa": "a7e8bab212f5a89f9be1bc9b654aa6dfa317f32b+b15429e9244c8ec966985d7778427c3b1543b314",
    "nfcorpus": "b5026a0e96e8a7ac4f95f482a596389289d46269+a451b3b26d3ae1358f259c1a3a4dd61fcea35a65",
    "nq": "b7253e6c379163d024ddb1d6948152a91a2e3b46+519acd4e48bb3e5da22b2b888ce36c614f4f2bc9",
    "scifact": "b3b5335604bf5ee3c4447671af975ea25143d4f5+2938d17dc3b09882fdb8c12bbbe2e2dc0e75a029",
    "trec-covid": "7e16fde3016c639c7f856e803f4bab92645562c4+532ac68ee6756ac22c9346eebf65bd3c6a042e10",
}
"""Set -> the commits read by default, of documents and queries and of judgements; of the others the newest."""


class Document(Record):
    """One document; BEIR has some with a title alone."""

    id: Identifier
    title: str | None = ""
    text: str


class BeirQuery(Record):
    """One query."""

    id: Identifier
    text: Text


def names() -> tuple[str, ...]:
    """The names of the sets that are on the hub."""
    return tuple(PREFIX + name for name in ON_HUB)


def spec_of(name: str) -> DatasetSpec:
    """The spec of "beir/NAME"; ValueError for a set that BEIR has not on the hub."""
    short = name.removeprefix(PREFIX)
    if short not in ON_HUB:
        raise ValueError(
            f"{unknown('dataset', name, names())} Other folders of BEIR: load 'beir' with `path` (--path)."
        )
    about = f"{short} of the BEIR benchmark, with its judgements"
    return replace(DATASET, name=name, summary=about, hub=HubCopy(f"BeIR/{short}", revision=PINNED.get(short, "main")))


def load(options: LoadOptions) -> QADataset:
    """Read the folder, or the hub's two repositories of a set: documents and queries, and judgements."""
    name, read, ours = options.spec.name, Files(), options.path is not None
    if options.path is None:
        files, judged, origin = _from_hub(options)
        title, graphs = file_name(name), {}
    else:
        folder, origin = options.path, {}
        if not folder.is_dir():
            raise FileNotFoundError(f"{folder} is no folder. Give one that holds corpus.jsonl, queries.jsonl, qrels.")
        name = title = folder.resolve().name
        files, judged, graphs = (
            sorted(folder.glob("**/*")),
            sorted(folder.glob("qrels/*.tsv")),
            find_graph_files(folder),
        )
    split, qrels = _of_split(judged, options.split, name)
    documents = ((row.id, row.title or "", row.text) for row in read.records(_named(files, "corpus", name), Document))
    queries = {row.id: row.text for row in read.records(_named(files, "queries", name), BeirQuery)}
    corpus, questions, notes = collect(name, documents, queries, _judgements(read, qrels), ours=ours)
    source = {**origin, "files": read.checksums, "split": split, "notes": notes}
    return QADataset(title, corpus, questions, source=source, graph_files=graphs)


def _from_hub(options: LoadOptions) -> tuple[list[Path], list[Path], Mapping[str, object]]:
    """The files of documents and queries, those of judgements, and where they are from.

    The revision of what was read are the commits of both repositories, joined by a plus: one can ask for it again.
    """
    copy = options.spec.hub
    assert copy is not None
    judgements = f"{copy.repo}-qrels"
    asked, _, second = (options.revision or copy.revision).partition("+")
    files, commit = fetch(options.spec, copy.repo, asked, ("corpus*", "queries*"))
    judged, other = fetch(options.spec, judgements, second or asked, ("*.tsv",))
    return files, judged, {"hub": copy.repo, "judgements": judgements, "revision": f"{commit}+{other}"}


def _named(files: Sequence[Path], what: str, name: str) -> list[Path]:
    """The file of lines, packed or not, or the parts of a Parquet table."""
    lines = [path for path in files if path.name in (f"{what}.jsonl", f"{what}.jsonl.gz")]
    parts = lines[:1] or [path for path in files if path.parent.name == what and path.suffix == ".parquet"]
    if not parts:
        raise FileNotFoundError(
            f"{name} holds no BEIR {what}. Looked for: {what}.jsonl, {what}.jsonl.gz, {what}/*.parquet."
        )
    return parts


def _of_split(judged: Sequence[Path], split: str | None, name: str) -> tuple[str, Path]:
    """The requested judgements; where none are, "test" or the only split. The hub says "validation" of BEIR's "dev"."""
    there = {path.stem: path for path in judged}
    if not there:
        raise FileNotFoundError(f"{name} holds no qrels/<split>.tsv.")
    chosen = split or ("test" if "test" in there or len(there) > 1 else next(iter(there)))
    other = {"validation": "dev", "dev": "validation"}.get(chosen, chosen)
    if chosen not in there and other not in there:
        raise ValueError(f"{name} has no split {chosen!r}. It offers: {', '.join(there)}.")
    return chosen, there[chosen if chosen in there else other]


def _judgements(files: Files, path: Path) -> Iterator[Judgement]:
    for where, (query, document, score) in files.table(path, HEADER):
        try:
            yield where, query, document, int(score)
        except ValueError:
            raise DataError(f"{where}: the score must be a whole number, not {score!r}.") from None


DATASET = DatasetSpec(
    name="beir",
    summary="any set of the BEIR benchmark, with graded judgements",
    load=load,
    licence="each set its own",
    citation="Thakur et al., BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of IR Models, NeurIPS 2021",
    homepage="https://github.com/beir-cellar/beir",
    splits=None,
)
