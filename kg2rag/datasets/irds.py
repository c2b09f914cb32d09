"""A name of ir_datasets ("irds:beir/scifact/test") -> QADataset.

[1] MacAvaney et al., "Simplified Data Wrangling with ir_datasets", SIGIR 2021. The package
downloads each collection into its folder and checks it; the files depend on its version. Ours: the
text of a document is `default_text` of the package without the title at its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from kg2rag.datasets.beir import BeirQuery, Document, Judgement, collect
from kg2rag.datasets.reading import checked
from kg2rag.datasets.spec import DatasetSpec, LoadOptions, file_name
from kg2rag.text.records import DataError, quote
from kg2rag.text.registry import nearest
from kg2rag.types import QADataset

PREFIX = "irds:"


def spec_of(name: str) -> DatasetSpec:
    """The spec of "irds:NAME"; the name is checked when the set is loaded."""
    if not name.removeprefix(PREFIX):
        raise ValueError(
            f"{name!r} names no set. Write irds:NAME, such as irds:beir/scifact/test."
        )
    return replace(DATASET, name=name)


def load(options: LoadOptions) -> QADataset:
    """The data set of the documents, queries and judgements of ir_datasets.

    ValueError: an unknown name, a set without one of the three, or a `path`. DataError: a wrong
    record, or files that the package cannot read. ImportError: the package is not installed.
    ConnectionError: it cannot download the set.
    """
    where = options.spec.name
    name = where.removeprefix(PREFIX)
    if options.path is not None:
        raise ValueError(
            f"Dataset {where!r} is read by ir_datasets from its folder: leave out `path` (--path)."
        )
    dataset, version = _open(name, where)
    with _reading(where):
        documents = checked(_documents(dataset, where), Document, where)
        queries = checked(_queries(dataset, where), BeirQuery, where)
        corpus, questions, notes = collect(
            where, documents, queries, _judgements(dataset, where), is_strict=False
        )
    source = {"irds": name, "ir_datasets": version, "notes": notes}
    return QADataset(file_name(where), corpus, questions, source=source)


def _open(name: str, where: str) -> tuple[Any, str]:
    """The set of ir_datasets, and the version of the package.

    ValueError: an unknown name, or a set without documents, queries or judgements.
    """
    try:
        import ir_datasets
    except ImportError as error:
        raise ImportError(
            "Sets by 'irds:NAME' need ir_datasets: pip install 'kg2rag[irds]'."
        ) from error
    version = str(ir_datasets.__version__)
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        close = nearest(name, ir_datasets.registry)
        suggestion = f" Did you mean {PREFIX + close!r}?" if close else ""
        raise ValueError(
            f"Unknown dataset {where!r}: ir_datasets {version} has no {name!r}.{suggestion} See https://ir-datasets.com."
        ) from None
    has_part = {
        "documents": dataset.has_docs(),
        "queries": dataset.has_queries(),
        "judgements (qrels)": dataset.has_qrels(),
    }
    missing = [part for part, is_present in has_part.items() if not is_present]
    if missing:
        raise ValueError(
            f"{where} has no {' and no '.join(missing)}: name a part, see https://ir-datasets.com/{name}."
        )
    return dataset, version


def _queries(dataset: Any, where: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The location, for errors, and the record of each query."""
    for number, query in enumerate(dataset.queries_iter(), start=1):
        location = f"{where}, query {number}"
        text = _text(query, f"{location} ({query.query_id!r})")
        yield location, {"id": query.query_id, "text": text}


def _judgements(dataset: Any, where: str) -> Iterator[Judgement]:
    """The judgements, each with its location for errors."""
    for number, judgement in enumerate(dataset.qrels_iter(), start=1):
        location = f"{where}, judgement {number}"
        yield location, judgement.query_id, judgement.doc_id, int(judgement.relevance)


@contextmanager
def _reading(where: str) -> Iterator[None]:
    """A context that turns errors of ir_datasets into a DataError or ConnectionError of the set."""
    try:
        yield
    except DataError:
        raise
    except (
        AssertionError,
        LookupError,
        OSError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        message = (
            f"{where}: ir_datasets says {type(error).__name__}: {quote(str(error))}."
        )
        # The package raises RuntimeError for a failed download and for damaged files.
        if isinstance(error, OSError) or "download" in str(error).lower():
            advice = "Some sets must be got from their owners, see https://ir-datasets.com; 'bundled' needs no network."
            raise ConnectionError(f"{message} {advice}") from error
        raise DataError(f"{message} Are its files whole?") from error


def _documents(dataset: Any, where: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The location, for errors, and the record of each document."""
    for number, document in enumerate(dataset.docs_iter(), start=1):
        location = f"{where}, document {number}"
        title = getattr(document, "title", "")
        if title is None:
            title = ""
            document = document._replace(title=title)  # `default_text` would say "None"
        text = _text(document, f"{location} ({document.doc_id!r})")
        if hasattr(document, "title"):
            text = text.removeprefix(title).lstrip()
        yield location, {"id": document.doc_id, "title": title, "text": text}


def _text(record: Any, where: str) -> str:
    """`default_text` or else `text` of a record of ir_datasets; DataError if it has neither."""
    default_text = getattr(record, "default_text", None)
    text = default_text() if callable(default_text) else getattr(record, "text", None)
    if not isinstance(text, str):
        fields = ", ".join(getattr(record, "_fields", ())) or type(record).__name__
        raise DataError(
            f"{where}: ir_datasets names no text of it; it has {fields}. Use kg2rag.from_frames."
        )
    return text


DATASET = DatasetSpec(
    name="irds:NAME",
    summary="any test collection that ir_datasets knows, with graded judgements",
    load=load,
    licence="each set its own",
    citation="MacAvaney et al., Simplified Data Wrangling with ir_datasets, SIGIR 2021",
    homepage="https://ir-datasets.com",
    needs_path=False,
)
