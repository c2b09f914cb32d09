"""A set -> the rows, or the files, of its copy on the Hugging Face hub, and the commit they were read from."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kg2rag.datasets.pool import Schema, read_corpus
from kg2rag.datasets.reading import Files, R, check, find_graph_files, locate
from kg2rag.datasets.spec import DatasetSpec, LoadOptions
from kg2rag.text.records import DataError
from kg2rag.types import QADataset

_COMMIT = re.compile(r"@([0-9a-f]{40})/")
_FULL = re.compile(r"[0-9a-f]{40}")


def rows(
    spec: DatasetSpec, split: str | None, revision: str | None
) -> tuple[Iterable[Mapping[str, object]], str, Mapping[str, object]]:
    """Download, or take from the hub's cache on this machine, one split of a set.

    A copy whose `repo` is a local directory is read from there, without a revision.

    Parameters
    ----------
    split : None means the set's default.
    revision : branch, tag or commit; None means the one of the spec.

    Returns
    -------
    The rows as Python objects, what errors call them, and where they are from.

    Raises
    ------
    ConnectionError : the hub cannot be reached and its cache has no copy.
    DataError : what was read is of another commit than the one asked for.
    """
    from datasets import load_dataset

    copy = spec.hub
    assert copy is not None
    assert spec.splits
    split, local = split or spec.splits[0], Path(copy.repo).is_dir()
    config, asked = (None, None) if local else (copy.config, revision or copy.revision)
    with nullcontext() if local or reachable() else offline():
        try:
            table: Iterable[Mapping[str, object]] = load_dataset(copy.repo, config, split=split, revision=asked)
        except (ConnectionError, FileNotFoundError) as error:
            raise ConnectionError(_not_read(spec, copy.repo, f"{asked!r}, split {split!r}", error)) from error
    repo = Path(copy.repo).name if local else copy.repo
    commit = None if local else required(repo, asked, commit_of(table))
    return table, f"{repo}, {split}", {"hub": repo, "config": copy.config, "split": split, "revision": commit}


def files(spec: DatasetSpec, repo: str, revision: str, patterns: Sequence[str]) -> tuple[Path, str | None]:
    """Download, or take from the hub's cache on this machine, the files of a repository whose names fit a pattern.

    Returns
    -------
    The folder that holds them, and its commit; of a `repo` that is a local directory that directory, and None.

    Raises
    ------
    ConnectionError : the hub cannot be reached, or has no such repository or revision, and its cache has no copy.
    DataError : what was read is of another commit than the one asked for.
    """
    from huggingface_hub import snapshot_download

    if Path(repo).is_dir():
        return Path(repo), None
    options: dict[str, Any] = {"repo_type": "dataset", "revision": revision, "allow_patterns": list(patterns)}
    online = reachable()
    try:
        folder = Path(snapshot_download(repo, local_files_only=not online, **options))
    except OSError as error:
        cause = error if online else OSError("the hub does not answer, and its cache on this machine has no copy")
        raise ConnectionError(_not_read(spec, repo, repr(revision), cause)) from error
    return folder, required(repo, revision, folder.name)


def required(repo: str, asked: str | None, found: str | None) -> str | None:
    """The commit that was read; DataError where it is another than the one asked for.

    Where the addresses do not tell (None), what was asked for.
    """
    if asked is not None and _FULL.fullmatch(asked) and found not in (None, asked):
        raise DataError(f"{repo}: revision {asked} was asked for, and the rows are of {found}. Empty the hub's cache.")
    return found or asked


def _not_read(spec: DatasetSpec, repo: str, revision: str, error: Exception) -> str:
    official = f" (--path; see {spec.homepage})" if spec.homepage else " (--path)"
    cause = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
    return (
        f"Dataset {spec.name!r}: {repo!r} (revision {revision}) could not be read from the Hugging Face hub: {cause}. "
        f"Without a network, give the official files by `path`{official}, or load 'bundled', which comes with kg2rag."
    )


def transpose(value: object, columns: Sequence[str]) -> object:
    """`{"title": [a, b], "sent_id": [0, 1]}` -> `[(a, 0), (b, 1)]`; a list of such records likewise; else as it is.

    The hub stores a list of records as a record of lists; what is neither is left for the schema to refuse.
    """
    if isinstance(value, Mapping) and all(isinstance(value.get(column), list) for column in columns):
        lists = [value[column] for column in columns]
        if len({len(one) for one in lists}) > 1:
            return value
        return list(zip(*lists, strict=True))
    if isinstance(value, list) and all(isinstance(item, Mapping) and set(columns) <= set(item) for item in value):
        return [tuple(item[column] for column in columns) for item in value]
    return value


def reachable() -> bool:
    """Whether the hub answers at all. Its own client retries for 23 s before it says no."""
    from huggingface_hub.constants import ENDPOINT, HF_HUB_OFFLINE

    if HF_HUB_OFFLINE:
        return False
    try:
        with urllib.request.urlopen(urllib.request.Request(ENDPOINT, method="HEAD"), timeout=10):  # noqa: S310 (the hub's own address)
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


@contextmanager
def offline() -> Iterator[None]:
    """Read the hub's cache on this machine only, as `HF_HUB_OFFLINE=1` does, which is read at import time alone."""
    import datasets.config
    import huggingface_hub.constants

    settings: tuple[Any, Any] = (datasets.config, huggingface_hub.constants)
    before = [module.HF_HUB_OFFLINE for module in settings]
    try:
        for module in settings:
            module.HF_HUB_OFFLINE = True
        yield
    finally:
        for module, value in zip(settings, before, strict=True):
            module.HF_HUB_OFFLINE = value


def commit_of(table: object) -> str | None:
    """The commit that the rows came from, as the addresses of the downloaded files tell it."""
    addresses = getattr(getattr(table, "info", None), "download_checksums", None) or {}
    found = [match.group(1) for address in addresses if (match := _COMMIT.search(str(address)))]
    return found[0] if found else None


CORPUS = "_corpus.json"
Row = Mapping[str, object]


def load_pooled(
    options: LoadOptions,
    schema: Schema[R],
    files: Mapping[str, tuple[str, ...]],
    *,
    from_hub: Callable[[Row], Row] = lambda row: row,
    counted: Mapping[str, str] = MappingProxyType({}),
) -> QADataset:
    """Read one set.

    Parameters
    ----------
    files : split -> names of its official files; "" -> names of files that belong to no split.
    from_hub : a row of the hub's copy -> the official record.
    counted : entry of `QADataset.source` -> the field whose values it counts.
    """
    name, pool, read = options.spec.name, schema.pool(options.passages), Files()
    if options.path is None:
        found, where, origin = rows(options.spec, options.split, options.revision)
        records, graphs = check([from_hub(row) for row in found], schema.record, where), {}
    else:
        path = locate(options.path, patterns(files, options), f"{name} questions")
        corpus = corpus_beside(path, name)
        if corpus is not None and pool.passages == "sentence":
            raise ValueError(
                f"{path.name} is read over {corpus.name}, a corpus of paragraphs: passages 'sentence' needs the "
                "official file in a folder of its own."
            )
        if corpus is not None:
            read_corpus(read, corpus, pool)
        records = read.records(path, schema.record)
        where, origin, graphs = path.name, {"files": read.checksums}, find_graph_files(path)
    questions = tuple(schema.questions(records, pool, where))
    counts = {name: dict(sorted(Counter(getattr(one, of) for one in records).items())) for name, of in counted.items()}
    source = {**origin, **counts, "notes": dict(pool.notes)}
    return QADataset(name, pool.corpus(), questions, options.setting, source=source, graph_files=graphs)


def patterns(files: Mapping[str, tuple[str, ...]], options: LoadOptions) -> list[str]:
    """The file names to look for: those of the split, or all where none is given.

    Raises
    ------
    ValueError : a split of a single file.
    """
    if options.path is not None and options.path.is_file() and options.split:
        raise ValueError(f"{options.path.name} is one file: leave out split {options.split!r}, or give its folder.")
    splits = [options.split] if options.split else list(files)
    return [name for split in splits for name in files.get(split, ())]


def corpus_beside(questions: Path, name: str) -> Path | None:
    """HippoRAG's corpus file of those questions: `<questions>_corpus.json` or `<name>_corpus.json` in their folder."""
    options = (questions.with_name(f"{questions.stem}{CORPUS}"), questions.with_name(f"{name}{CORPUS}"))
    return next((file for file in options if file.is_file()), None)
