"""A set of BEIR, by its name from the hub ("beir/scifact") or as a folder (corpus, queries, judgements) -> QADataset.

[1] Thakur et al., "BEIR", NeurIPS 2021 (datasets and benchmarks). Grades are kept; a grade below 1 says that a document
is not relevant and is left out, as are queries of other splits; both are counted. A folder of one's own is refused
where it is wrong; the hub's copies are not ours to repair: what nothing could find in them is left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kg2rag.datasets import hub
from kg2rag.datasets.judgements import Collected, Judgement
from kg2rag.datasets.reading import Files, Identifier, R, Record, Text, find_graph_files, unique
from kg2rag.datasets.spec import DatasetSpec, HubCopy, LoadOptions, file_name
from kg2rag.text.records import DataError
from kg2rag.text.registry import unknown
from kg2rag.types import Corpus, QADataset, Question

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
    name, read, files = options.spec.name, Collected(options.spec.name), Files()
    if options.path is None:
        folder, judged, origin = _from_hub(options)
    else:
        folder, judged, origin = options.path, options.path / "qrels", {}
        if not folder.is_dir():
            raise FileNotFoundError(
                f"{folder} is no folder. Give the one that holds corpus.jsonl, queries.jsonl and qrels."
            )
    documents = _records(files, folder, "corpus", Document)
    queries = _records(files, folder, "queries", BeirQuery)
    if options.path is not None:
        _require_contents(documents)
    corpus = Corpus.from_passages(read.passages((row.id, row.title or "", row.text) for row in documents))
    split, qrels_path = _qrels_path(judged, options.split, name if options.path is None else folder.name)
    asked, found = {query.id for query in queries}, set(corpus.ids)
    rows = _judgements(files, qrels_path, None if options.path is None else (asked, found))
    gold = read.gold(rows, asked, found)
    questions = tuple(Question(query.id, query.text, gold[query.id]) for query in queries if query.id in gold)
    read.notes["queries without a relevant document in this split left out"] = len(queries) - len(questions)
    notes = {what: count for what, count in read.notes.items() if count}
    source = {**origin, "files": files.checksums, "split": split, "notes": notes}
    title = file_name(name) if name.startswith(PREFIX) else folder.resolve().name
    graphs = find_graph_files(folder) if options.path is not None else {}
    return QADataset(title, corpus, questions, source=source, graph_files=graphs)


def _from_hub(options: LoadOptions) -> tuple[Path, Path, Mapping[str, object]]:
    """The folders of documents and judgements, and where they are from.

    The revision of what was read are the commits of both repositories, joined by a plus: one can ask for it again.
    """
    copy = options.spec.hub
    assert copy is not None
    judgements = f"{copy.repo}-qrels"
    asked, _, second = (options.revision or copy.revision).partition("+")
    folder, commit = hub.files(options.spec, copy.repo, asked, ("corpus*", "queries*"))
    judged, other = hub.files(options.spec, judgements, second or asked, ("*.tsv",))
    revision = f"{commit}+{other}" if commit and other else None
    return folder, judged, {"hub": copy.repo, "judgements": judgements, "revision": revision}


def _records(files: Files, folder: Path, what: str, model: type[R]) -> list[R]:
    """The records of `what`: one file of lines, packed or not, or the parts of a Parquet table in its folder."""
    single = [path for path in (folder / f"{what}.jsonl", folder / f"{what}.jsonl.gz") if path.is_file()]
    parts = single[:1] or sorted((folder / what).glob("*.parquet"))
    if not parts:
        raise FileNotFoundError(
            f"{folder} holds no BEIR {what}. Looked for: {what}.jsonl, {what}.jsonl.gz, {what}/*.parquet."
        )
    return unique([row for part in parts for row in files.records(part, model)], parts[0].name)


def _require_contents(documents: Sequence[Document]) -> None:
    for row in documents:
        if not row.text.strip() and not (row.title or "").strip():
            raise DataError(
                f"corpus.jsonl ({row.id!r}): fields 'title' and 'text' are both empty. Leave the document out."
            )


def _qrels_path(folder: Path, split: str | None, name: str) -> tuple[str, Path]:
    """The requested judgements; where none are, "test" or the only split. The hub says "validation" of BEIR's "dev"."""
    there = {path.stem: path for path in sorted(folder.glob("*.tsv"))}
    if not there:
        raise FileNotFoundError(f"{name} holds no qrels/<split>.tsv.")
    chosen = split or ("test" if "test" in there else next(iter(there)) if len(there) == 1 else "test")
    other = {"validation": "dev", "dev": "validation"}.get(chosen, chosen)
    if chosen not in there and other not in there:
        raise ValueError(f"{name} has no split {chosen!r}. It offers: {', '.join(there)}.")
    return chosen, there[chosen if chosen in there else other]


def _judgements(files: Files, path: Path, known: tuple[set[str], set[str]] | None) -> Iterator[Judgement]:
    """The rows of a file of judgements.

    DataError: a grade that is no number, or a query or document that is not in `known`, where that is given.
    """
    for number, (query, document, score) in files.table(path, HEADER):
        where = f"{path.name}, line {number}"
        if known is not None and query not in known[0]:
            raise DataError(f"{where}: query-id {query!r} is not in queries.jsonl.")
        if known is not None and document not in known[1]:
            raise DataError(f"{where}: corpus-id {document!r} is not in corpus.jsonl.")
        try:
            grade = int(score)
        except ValueError:
            raise DataError(f"{where}: the score must be a whole number, not {score!r}.") from None
        yield where, query, document, grade


DATASET = DatasetSpec(
    name="beir",
    summary="any set of the BEIR benchmark, with graded judgements",
    load=load,
    licence="each set its own",
    citation="Thakur et al., BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of IR Models, NeurIPS 2021",
    homepage="https://github.com/beir-cellar/beir",
    splits=None,
)
