"""What a loader offers and what it is asked: the two records between the registry and the loaders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from kg2rag.types.questions import QADataset

Setting = Literal["pooled", "distractor"]
Unit = Literal["paragraph", "sentence"]


@dataclass(frozen=True, slots=True)
class Request:
    """One call of `load`, its options checked against the entry and its defaults filled in."""

    path: Path | None
    split: str | None
    setting: Setting
    passages: Unit
    revision: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A set that `load` knows.

    Attributes
    ----------
    load : reads it; what it returns lacks only what the registry itself knows (loader, options, licence).
    settings, passages : what may be asked for; the first is the default.
    splits : likewise; None where the files decide, empty where there is nothing to choose.
    needs_path : False where the set comes with the package or from the hub.
    """

    name: str
    summary: str
    load: Callable[[Request], QADataset]
    aliases: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ("pooled",)
    passages: tuple[Unit, ...] = ("paragraph",)
    splits: tuple[str, ...] | None = ()
    on_hub: bool = False
    needs_path: bool = True

    def request(
        self,
        path: str | Path | None,
        split: str | None,
        setting: str | None,
        passages: str | None,
        revision: str | None,
    ) -> Request:
        """The options as a `Request`; ValueError lists what this set offers."""
        if path is None and self.needs_path and not self.on_hub:
            raise ValueError(
                f"Dataset {self.name!r} is read from files: give `path` (--path), a folder or a file of it."
            )
        if revision is not None and (path is not None or not self.on_hub):
            raise ValueError(
                f"Dataset {self.name!r}: revision {revision!r} names a version on the hub, and this set is read from "
                f"{'files' if path is not None or self.needs_path else 'the package'}. Leave `revision` out."
            )
        if self.splits is not None:
            self._offered("split", split, self.splits)
        return Request(
            path=None if path is None else Path(path).expanduser(),
            split=split,
            setting=cast("Setting", self._offered("setting", setting, self.settings)),
            passages=cast("Unit", self._offered("passages", passages, self.passages)),
            revision=revision,
        )

    def _offered(self, option: str, value: str | None, offered: tuple[str, ...]) -> str | None:
        if value is None:
            return offered[0] if offered else None
        if value not in offered:
            choice = (
                f"It offers: {', '.join(offered)}." if offered else "It offers none to choose: leave the option out."
            )
            raise ValueError(f"Dataset {self.name!r} has no {option} {value!r}. {choice}")
        return value
