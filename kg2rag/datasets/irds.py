"""A name of ir_datasets ("irds:beir/scifact/test") -> QADataset: documents, queries and judgements as it reads them.

[1] MacAvaney et al., "Simplified Data Wrangling with ir_datasets", SIGIR 2021. The package knows where each collection
is from, downloads it into its own folder and checks it; its version says which files those are. Ours: a document's text
is the package's `default_text` without the title that it begins with, which stays the title.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from kg2rag.datasets.beir import BeirQuery
from kg2rag.datasets.judgements import Judgement, collect
from kg2rag.datasets.reading import checked
from kg2rag.datasets.spec import DatasetSpec, LoadOptions, file_name
from kg2rag.text.records import DataError, quote
from kg2rag.text.registry import nearest
from kg2rag.types import QADataset

PREFIX = "irds:"
EXTRA = "pip install 'kg2rag[irds]'"


def spec_of(name: str) -> DatasetSpec:
    """The spec of "irds:NAME"; the package is asked when the set is loaded."""
    if not name.removeprefix(PREFIX):
        raise ValueError(f"{name!r} names no set. Write irds:NAME, such as irds:beir/scifact/test.")
    return replace(DATASET, name=name)


def load(options: LoadOptions) -> QADataset:
    """Read documents, queries and judgements.

    Raises
    ------
    ValueError : a name that ir_datasets has not, one without documents, queries or judgements (the message names parts
        that have them), or a `path`: the package decides where its files are.
    DataError : a record that is wrong (it names the set and the record), or files that the package cannot read.
    ImportError : the package is not installed.
    ConnectionError : the package cannot download the set.
    """
    where = options.spec.name
    if options.path is not None:
        raise ValueError(f"Dataset {where!r} is read by ir_datasets from its own folder: leave out `path` (--path).")
    name = where.removeprefix(PREFIX)
    try:
        import ir_datasets
    except ImportError as error:
        raise ImportError(f"Sets by 'irds:NAME' need the package ir_datasets: {EXTRA}.") from error
    dataset = _dataset(ir_datasets, name)
    with _reading(where):
        queries, judgements = _queries(dataset, where), _judgements(dataset, where)
        corpus, questions, notes = collect(where, _documents(dataset, where), queries, judgements, ours=False)
    source = {"irds": name, "ir_datasets": str(ir_datasets.__version__), "notes": notes}
    return QADataset(file_name(where), corpus, questions, source=source)


def _dataset(package: Any, name: str) -> Any:
    """The package's own object; ValueError where it has none of that name, or not all that a comparison needs."""
    try:
        dataset = package.load(name)
    except KeyError:
        close = nearest(name, package.registry)
        meant = f" Did you mean {PREFIX + close!r}?" if close else ""
        raise ValueError(
            f"Unknown dataset {PREFIX + name!r}: ir_datasets {package.__version__} has no {name!r} among its "
            f"{len(list(package.registry))} sets.{meant} Its catalogue: https://ir-datasets.com."
        ) from None
    if missing := _missing(dataset):
        parts = [each for each in package.registry if each.startswith(f"{name}/") and not _missing(package.load(each))]
        named = f" Its parts that have all: {', '.join(PREFIX + each for each in parts)}." if parts else ""
        raise ValueError(f"Dataset {PREFIX + name!r} has no {' and no '.join(missing)} to compare on.{named}")
    return dataset


def _missing(dataset: Any) -> list[str]:
    has = {"documents": dataset.has_docs, "queries": dataset.has_queries, "judgements (qrels)": dataset.has_qrels}
    return [what for what, there in has.items() if not there()]


@contextmanager
def _reading(where: str) -> Iterator[None]:
    """What the package says of files that it cannot have, or not read, as an error that names the set."""
    try:
        yield
    except DataError:
        raise
    except (AssertionError, LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
        said = f"{type(error).__name__}: {quote(str(error))}"
        if isinstance(error, OSError) or "download" in str(error).lower():  # it raises RuntimeError for both
            raise ConnectionError(
                f"Dataset {where!r}: ir_datasets cannot have its files: {said}. Some sets must be got from their "
                "owners: https://ir-datasets.com says how. Without a network, load 'bundled', which comes with kg2rag."
            ) from error
        raise DataError(f"{where}: ir_datasets cannot read its files: {said}. Are they whole?") from error


def _documents(dataset: Any, where: str) -> Iterator[tuple[str, str, str]]:
    for number, one in enumerate(dataset.docs_iter(), start=1):
        if getattr(one, "title", "") is None:
            one = one._replace(title="")  # `default_text` would say "None"
        title = getattr(one, "title", "")
        text = _text(one, f"{where}, document {number} ({one.doc_id!r})")
        yield one.doc_id, title, text.removeprefix(title).lstrip() if hasattr(one, "title") else text


def _queries(dataset: Any, where: str) -> dict[str, str]:
    def rows() -> Iterator[tuple[str, Any]]:
        for number, one in enumerate(dataset.queries_iter(), start=1):
            place = f"{where}, query {number}"
            yield place, {"id": one.query_id, "text": _text(one, f"{place} ({one.query_id!r})")}

    return {query.id: query.text for query in checked(rows(), BeirQuery, where)}


def _judgements(dataset: Any, where: str) -> Iterator[Judgement]:
    for number, one in enumerate(dataset.qrels_iter(), start=1):
        yield f"{where}, judgement {number}", one.query_id, one.doc_id, int(one.relevance)


def _text(record: Any, where: str) -> str:
    """What the package takes for the text of a record; DataError where it has none."""
    read = getattr(record, "default_text", None)
    text = read() if callable(read) else getattr(record, "text", None)
    if not isinstance(text, str):
        fields = ", ".join(getattr(record, "_fields", ())) or type(record).__name__
        raise DataError(f"{where}: ir_datasets names no text of it; it has {fields}. Use kg2rag.from_frames.")
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
