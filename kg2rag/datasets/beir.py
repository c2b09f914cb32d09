"""A set of BEIR, by its name from the hub ("beir/scifact") or as a folder (corpus, queries, judgements) -> QADataset.

[1] Thakur et al., "BEIR", NeurIPS 2021 (datasets and benchmarks). Grades are kept; a grade below 1 says that a document
is not relevant and is left out, as are queries of other splits; both are counted. A folder that
is wrong is refused; in the hub's copies, documents and judgements that nothing could find are left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from kg2rag.datasets.reading import Files, Identifier, Record, Text, checked, find_graph_files
from kg2rag.datasets.spec import DatasetSpec, HubCopy, LoadOptions, file_name
from kg2rag.text.records import DataError
from kg2rag.text.registry import unknown
from kg2rag.types import Corpus, Passage, QADataset, Question

PREFIX = "beir/"
ON_HUB = (
    "arguana climate-fever dbpedia-entity fever fiqa hotpotqa msmarco nfcorpus nq quora scidocs scifact trec-covid "
    "webis-touche2020"
).split()
"""The public sets of [1] that have a repository under `BeIR` on the hub."""
PINNED = {
    "fiqa": "979c07a7cb5ccc6ca009792241fa1250b98055dd+252958f2d646e22cab6d0c72dd3f0d5de6d0655a",
    "hotpotqa": "a7e8bab212f5a89f9be1bc9b654aa6dfa317f32b+b15429e9244c8ec966985d7778427c3b1543b314",
    "nfcorpus": "b5026a0e96e8a7ac4f95f482a596389289d46269+a451b3b26d3ae1358f259c1a3a4dd61fcea35a65",
    "nq": "b7253e6c379163d024ddb1d6948152a91a2e3b46+519acd4e48bb3e5da22b2b888ce36c614f4f2bc9",
    "scifact": "b3b5335604bf5ee3c4447671af975ea25143d4f5+2938d17dc3b09882fdb8c12bbbe2e2dc0e75a029",
    "trec-covid": "7e16fde3016c639c7f856e803f4bab92645562c4+532ac68ee6756ac22c9346eebf65bd3c6a042e10",
}
"""Set -> the commits read by default, of documents and queries and of judgements; of the others the newest."""


Judgement = tuple[str, str, str, int]
"""Where it stands, query, document, grade."""


class Document(Record):
    """One document; some of BEIR have only a title."""

    id: Identifier
    title: str | None = ""
    text: str


class BeirQuery(Record):
    """One query."""

    id: Identifier
    text: Text


class Score(Record):
    """One judgement: the grade of a document for a query."""

    query: Text = Field(validation_alias="query-id")
    document: Text = Field(validation_alias="corpus-id")
    score: int


def names() -> tuple[str, ...]:
    """The names of the sets that are on the hub."""
    return tuple(PREFIX + name for name in ON_HUB)


def spec_of(name: str) -> DatasetSpec:
    """The spec of "beir/NAME"; ValueError for a set that BEIR has not on the hub."""
    short = name.removeprefix(PREFIX)
    if short not in ON_HUB:
        raise ValueError(f"{unknown('dataset', name, names())} Other folders of BEIR: 'beir' with `path` (--path).")
    about = f"{short} of the BEIR benchmark, with its judgements"
    return replace(DATASET, name=name, summary=about, hub=HubCopy(f"BeIR/{short}", revision=PINNED.get(short, "main")))


def load(options: LoadOptions) -> QADataset:
    """Read the folder, or the hub's two repositories of a set: documents and queries, and judgements."""
    name, read, graphs, origin = options.spec.name, Files(), dict[str, Path](), dict[str, object]()
    if options.path is None:
        # The revision of what was read are the commits of both repositories: one can ask for it again.
        assert options.spec.hub is not None
        title, repo = file_name(name), options.spec.hub.repo
        asked, _, second = (options.revision or options.spec.hub.revision).partition("+")
        files, commit = options.fetch(repo, asked, "corpus*", "queries*")
        judged, other = options.fetch(f"{repo}-qrels", second or asked, "*.tsv")
        origin = {"hub": repo, "judgements": f"{repo}-qrels", "revision": f"{commit}+{other}"}
    else:
        if not options.path.is_dir():
            raise FileNotFoundError(f"{options.path} is no folder. Give one with corpus.jsonl, queries.jsonl, qrels.")
        name = title = options.path.resolve().name
        files, judged = sorted(options.path.glob("**/*")), sorted(options.path.glob("qrels/*.tsv"))
        graphs = find_graph_files(options.path)
    split, qrels = _of_split(judged, options.split, name)
    documents = read.records(_named(files, "corpus", name), Document)
    queries = read.records(_named(files, "queries", name), BeirQuery)
    rows = list(read.rows(qrels))
    scores = zip(rows, checked(rows, Score, qrels.name), strict=True)
    judgements = ((where, one.query, one.document, one.score) for (where, _), one in scores)
    corpus, questions, notes = collect(name, documents, queries, judgements, ours=options.path is not None)
    source = {**origin, "files": read.checksums, "split": split, "notes": notes}
    return QADataset(title, corpus, questions, source=source, graph_files=graphs)


def _named(files: Sequence[Path], what: str, name: str) -> list[Path]:
    """The file of lines, packed or not, or the parts of a Parquet table."""
    lines = [path for path in files if path.name in (f"{what}.jsonl", f"{what}.jsonl.gz")]
    if parts := lines[:1] or [path for path in files if path.parent.name == what and path.suffix == ".parquet"]:
        return parts
    raise FileNotFoundError(f"{name} holds no BEIR {what}. Looked for: {what}.jsonl, .jsonl.gz, {what}/*.parquet.")


def _of_split(judged: Sequence[Path], split: str | None, name: str) -> tuple[str, Path]:
    """The requested judgements; where none are, "test" or the only split. The hub says "validation" of BEIR's "dev"."""
    if not judged:
        raise FileNotFoundError(f"{name} holds no qrels/<split>.tsv.")
    there = {path.stem: path for path in judged}
    chosen = split or ("test" if "test" in there or len(there) > 1 else next(iter(there)))
    other = {"validation": "dev", "dev": "validation"}.get(chosen, chosen)
    if chosen not in there and other not in there:
        raise ValueError(f"{name} has no split {chosen!r}. It offers: {', '.join(there)}.")
    return chosen, there[chosen if chosen in there else other]


def collect(
    where: str, documents: Iterable[Document], queries: Iterable[BeirQuery], judged: Iterable[Judgement], *, ours: bool
) -> tuple[Corpus, tuple[Question, ...], dict[str, int]]:
    """The corpus, the questions that have a relevant document, and what was left out or changed, and how often.

    `ours` says whether what nothing could find is an error, as in a user's files: an empty document, a judgement of
    a query that is not there. Otherwise it is left out and counted. DataError, too: a judged document that the corpus
    lacks, one that is judged twice and differently, no question.
    """
    notes, passages, empty = Counter[str](), list[Passage](), set[str]()
    for number, one in enumerate(documents, start=1):
        title, text = one.title or "", one.text
        if not text.strip():
            title, text = "", title
            known = "documents without text, their title serves as text"
            notes[known if text.strip() else "documents without title and text left out"] += 1
        if text.strip():
            passages.append(Passage(one.id, title, text, one.id, 0))
        elif ours:
            raise DataError(f"{where}, document {number} ({one.id!r}): title and text are both empty. Leave it out.")
        else:
            empty.add(one.id)
    corpus, texts = Corpus.from_passages(passages), {query.id: query.text for query in queries}
    gold = _gold(judged, texts, set(corpus.ids), (empty, ours), notes)
    questions = tuple(Question(id_, text, gold[id_]) for id_, text in texts.items() if gold.get(id_))
    if not questions:
        raise DataError(f"{where}: none of its {len(texts)} queries has a relevant document.")
    notes["queries without a relevant document in this split left out"] = len(texts) - len(questions)
    return corpus, questions, {what: count for what, count in notes.items() if count}


def _gold(
    judged: Iterable[Judgement],
    texts: Container[str],
    known: Container[str],
    left_out: tuple[Container[str], bool],
    notes: Counter[str],
) -> dict[str, dict[str, int]]:
    """Query -> document -> grade; `left_out` : empty documents, and whether a judgement of one is an error."""
    grades, gold, (empty, ours) = dict[tuple[str, str], int](), dict[str, dict[str, int]](), left_out
    for place, query, document, grade in judged:
        if query not in texts or document in empty:
            if ours:
                raise DataError(f"{place}: {query!r} is none of the queries. Are both of the same version?")
            notes[f"judgements of {'documents' if query in texts else 'queries'} without text left out"] += 1
        elif document not in known:
            raise DataError(
                f"{place}: {document!r}, judged for query {query!r}, is no document of the corpus. Are judgements "
                "and documents from the same version? kg2rag.from_frames takes what you can repair."
            )
        elif (former := grades.setdefault((query, document), grade)) != grade:
            raise DataError(f"{place}: {query!r} and {document!r} are judged twice, {former} and {grade}.")
        elif grade < 1 or document in gold.setdefault(query, {}):
            notes["judgements below 1 left out" if grade < 1 else "repeated judgements left out"] += 1
        else:
            gold[query][document] = grade
    return gold


DATASET = DatasetSpec(
    name="beir",
    summary="a set of the BEIR benchmark, by its name on the hub (beir/scifact) or as a folder",
    load=load,
    licence="each set its own",
    citation="Thakur et al., BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of IR Models, NeurIPS 2021",
    homepage="https://github.com/beir-cellar/beir",
    splits=None,
)
