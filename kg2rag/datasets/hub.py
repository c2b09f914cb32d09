"""A set -> the rows of its copy on the Hugging Face hub, and the commit they were read from."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from kg2rag.datasets.spec import DatasetSpec

_COMMIT = re.compile(r"@([0-9a-f]{40})/")


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
            raise ConnectionError(
                f"Dataset {spec.name!r}: {copy.repo!r} (revision {revision or copy.revision!r}, split {split!r}) could "
                f"not be read from the Hugging Face hub: {str(error).splitlines()[0]}. Without a network, give the "
                f"official files by `path` (--path; see {spec.homepage}), or load 'bundled', which comes with kg2rag."
            ) from error
    repo = Path(copy.repo).name if local else copy.repo
    commit = None if local else commit_of(table) or asked
    return table, f"{repo}, {split}", {"hub": repo, "config": copy.config, "split": split, "revision": commit}


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
