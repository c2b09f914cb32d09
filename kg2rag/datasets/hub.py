"""A repository of the Hugging Face hub -> its files on this machine, and the commit they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

from kg2rag.datasets.spec import DatasetSpec


def fetch(spec: DatasetSpec, repo: str, revision: str, patterns: Sequence[str]) -> tuple[list[Path], str]:
    """Download, or take from the hub's cache on this machine, the files whose names fit a pattern.

    Returns
    -------
    The files, sorted, and the commit they are of.

    Raises
    ------
    ConnectionError : the hub cannot be reached, or has no such repository, revision or file, and its cache has none.
    """
    from huggingface_hub import snapshot_download

    cause = f"it has no {' or '.join(patterns)}"
    try:
        folder = Path(snapshot_download(repo, repo_type="dataset", revision=revision, allow_patterns=list(patterns)))
    except OSError as error:
        cause, found = next(iter(str(error).splitlines()), type(error).__name__).rstrip("."), []
    else:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        found = [one for one in files if any(fnmatch(one.relative_to(folder).as_posix(), each) for each in patterns)]
    if found:
        return found, folder.name
    official = f" (--path; see {spec.homepage})" if spec.homepage else " (--path)"
    raise ConnectionError(
        f"Dataset {spec.name!r}: {repo!r} (revision {revision!r}) could not be read from the Hugging Face hub: {cause}."
        f" Without a network, give the official files by `path`{official}, or load 'bundled', which comes with kg2rag."
    )


def fetch_split(spec: DatasetSpec, split: str | None, revision: str | None) -> tuple[list[Path], Mapping[str, object]]:
    """The files of one split of a set, its first by default, and what `QADataset.source` says of them."""
    assert spec.hub is not None
    chosen = split or next(iter(spec.hub.files))
    files, commit = fetch(spec, spec.hub.repo, revision or spec.hub.revision, [spec.hub.files[chosen]])
    return files, {"hub": spec.hub.repo, "split": chosen, "revision": commit}
