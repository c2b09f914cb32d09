"""The choices of a data set, and the options of one load."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal, cast

from kg2rag.types import QADataset

Setting = Literal["pooled", "distractor"]
Granularity = Literal["paragraph", "sentence"]


@dataclass(frozen=True, slots=True)
class HubCopy:
    """The repository of a set on the Hugging Face hub.

    files : split -> pattern of its files.
    revision : the branch, tag or commit that is read by default.
    """

    repo: str
    files: Mapping[str, str] = field(default_factory=dict)
    revision: str = "main"


def file_name(name: str) -> str:
    """The name of a set with `-` in place of characters that do not suit the name of a file.

    >>> file_name("irds:beir/scifact/test")
    'irds-beir-scifact-test'
    """
    return re.sub(r"[^\w.+-]+", "-", name, flags=re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSpec:
    """A set that `load` knows: the function that reads it, its choices and its origin.

    Attributes
    ----------
    load : the function that reads the set; the registry adds loader, options and licence to the
        `source` of the result.
    settings, passages, splits : the choices, the default first; splits are None if they depend on
        the files.
    files : split -> names of its files, the official one first; "" -> names of files that belong to
        no split.
    hub : the copy that `load` reads without a path; None if there is none.
    needs_path : False if the set comes with the package or from another library.
    """

    name: str
    summary: str
    load: Callable[[LoadOptions], QADataset]
    licence: str
    citation: str = ""
    homepage: str = ""
    aliases: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ("pooled",)
    passages: tuple[Granularity, ...] = ("paragraph",)
    splits: tuple[str, ...] | None = ()
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hub: HubCopy | None = None
    needs_path: bool = True

    def options(
        self,
        path: str | Path | None = None,
        *,
        split: str | None = None,
        setting: str | None = None,
        passages: str | None = None,
        revision: str | None = None,
    ) -> LoadOptions:
        """The validated options of `kg2rag.load`; ValueError lists the choices of this set."""
        if path is None and self.needs_path and self.hub is None:
            raise ValueError(
                f"Dataset {self.name!r} is read from files: give `path` (--path), a folder or a file."
            )
        if revision is not None and (path is not None or self.hub is None):
            raise ValueError(
                f"Dataset {self.name!r} is not read from the hub here: leave out revision {revision!r}."
            )
        if self.splits is not None:
            self._offered("split", split, self.splits)
        return LoadOptions(
            spec=self,
            path=None if path is None else Path(path).expanduser(),
            split=split,
            setting=cast("Setting", self._offered("setting", setting, self.settings)),
            passages=cast(
                "Granularity", self._offered("passages", passages, self.passages)
            ),
            revision=revision,
        )

    def _offered(
        self, option: str, value: str | None, offered: tuple[str, ...]
    ) -> str | None:
        """The value of an option, by default the first one offered; ValueError for any other."""
        if value is None or value in offered:
            return value or next(iter(offered), None)
        listed = ", ".join(offered) or "none, leave the option out"
        raise ValueError(
            f"Dataset {self.name!r} has no {option} {value!r}. It offers: {listed}."
        )


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The options of one call of `load`; `path`, `split` and `revision` may be None."""

    spec: DatasetSpec
    path: Path | None
    split: str | None
    setting: Setting
    passages: Granularity
    revision: str | None

    @property
    def patterns(self) -> list[str]:
        """The names of the files of the split or, without one, of all splits.

        ValueError: a split was given, and `path` is a single file.
        """
        if self.path is not None and self.path.is_file() and self.split:
            raise ValueError(
                f"{self.path.name} is one file: leave out split {self.split!r}, or give its folder."
            )
        splits = [self.split] if self.split else list(self.spec.files)
        return [name for split in splits for name in self.spec.files.get(split, ())]

    def from_hub(self) -> tuple[list[Path], Mapping[str, object]]:
        """The files of the split, by default the first, and their record for `QADataset.source`."""
        assert self.spec.hub is not None
        hub = self.spec.hub
        split = self.split or next(iter(hub.files))
        files, commit = self.fetch(
            hub.repo, self.revision or hub.revision, hub.files[split]
        )
        return files, {"hub": hub.repo, "split": split, "revision": commit}

    def hub_files(self, folder: Path) -> list[Path]:
        """The files of the split in a clone of the hub's repository, or in its folder of tables.

        Empty if `folder` is neither, or the repository has no folders.
        """
        hub = self.spec.hub or HubCopy("")
        pattern = hub.files.get(self.split or next(iter(hub.files), ""), "")
        if "/" not in pattern:
            return []
        tables = f"{Path(pattern).name}.parquet"
        return sorted(folder.glob(pattern)) or sorted(folder.glob(tables))

    def fetch(self, repo: str, revision: str, *patterns: str) -> tuple[list[Path], str]:
        """The files of a repository of the hub that match a pattern, and the commit of them.

        ConnectionError: the hub cannot be reached, or has no such repository, revision or file, and
        the local cache has none either.
        """
        from huggingface_hub import snapshot_download

        try:
            folder = snapshot_download(
                repo,
                repo_type="dataset",
                revision=revision,
                allow_patterns=list(patterns),
            )
        except OSError as error:
            cause = next(iter(str(error).splitlines()), type(error).__name__).rstrip(
                "."
            )
            raise self._unreachable(repo, revision, cause) from error
        copy = Path(folder)
        paths = [path for path in sorted(copy.rglob("*")) if path.is_file()]
        files = [
            path
            for path in paths
            if any(
                fnmatch(path.relative_to(copy).as_posix(), name) for name in patterns
            )
        ]
        if not files:
            raise self._unreachable(
                repo, revision, f"it has no {' or '.join(patterns)}"
            )
        return files, copy.name

    def _unreachable(self, repo: str, revision: str, cause: str) -> ConnectionError:
        """The error for a repository that cannot be read."""
        homepage = f"; see {self.spec.homepage}" if self.spec.homepage else ""
        return ConnectionError(
            f"Dataset {self.spec.name!r}: {repo!r} (revision {revision!r}) could not be read from the hub: {cause}. "
            f"Without a network, give the official files by `path` (--path{homepage}), or load 'bundled'."
        )
