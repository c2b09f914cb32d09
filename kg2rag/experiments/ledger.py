"""A TOML file -> a `Ledger`: published numbers, each with our comparable runs.

Its tables are the classes below, as eval/ledger shows them: `[sets.NAME]`, `[[published]]` with a
row's `values.NAME` (metric -> number, per cent unless `metric` says otherwise),
`[[published.ours]]`, `[[missing]]`. `reproduction` runs a ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from kg2rag.datasets.reading import fault
from kg2rag.text.records import DataError, read_toml

Sample = Literal["subset", "other"]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedSet(_Strict):
    """A question set as the paper used it; None if the paper gives no number."""

    name: str
    questions: int | None = Field(default=None, ge=1)
    passages: int | None = None
    note: str = ""


class Ours(_Strict):
    """A run of ours to compare with a published system.

    set : the ledger's set with whose numbers it is compared.
    data, folder, setting, passages : the options of `kg2rag.load`; `titles` : False searches texts
    only.
    graph : the graph source; FILE in it is a name in the folder.
    system, parameters : of the catalogue. k : hits per query. dtype : of the encoder, see
    `SentenceEncoder`.
    metrics : the paper's name of each metric that is measured -> ours; "passages" counts hits. If
    empty, all metrics of the row, which then have the same names here.
    primary : this run is judged. It was fixed before the numbers were seen, so it is the
    catalogue's default; of other settings, `as_published` names the place in the paper that
    they follow.
    sample : how our questions relate to the published ones, see `reproduction`; a verdict needs it.
    note : what differs; needed where `comparable` is false, which forbids a verdict.
    """

    set: str
    data: str
    folder: str
    system: str
    label: str = ""
    setting: Literal["pooled", "distractor"] | None = None
    passages: Literal["paragraph", "sentence"] | None = None
    titles: bool = True
    graph: str = "mentions"
    parameters: dict[str, object] = Field(default_factory=dict)
    k: int = Field(default=10, ge=1)
    metrics: dict[str, str] = Field(default_factory=dict)
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    primary: bool = False
    as_published: str = ""
    sample: Sample | None = None
    note: str = ""
    comparable: bool = True

    @property
    def name(self) -> str:
        """The name of the run in tables."""
        return self.label or self.system

    @model_validator(mode="after")
    def _says_why(self) -> Ours:
        if not self.comparable and not self.note:
            raise ValueError(
                "comparable is false, so note must say what forbids a verdict"
            )
        if (
            self.primary
            and (self.parameters or not self.titles)
            and not self.as_published
        ):
            raise ValueError(
                "a primary run has the catalogue's defaults; as_published names the place in the paper that sets others"
            )
        return self


class Published(_Strict):
    """One system of the paper; `values` : set -> metric -> value.

    A value that the paper does not print is absent, never zero.

    `needs` : what running it takes, if no run of ours measures it.
    """

    system: str
    values: dict[str, dict[str, float]] = Field(min_length=1)
    source: str = ""
    encoder: str = ""
    graph: str = ""
    reader: str = ""
    needs: str = ""
    ours: tuple[Ours, ...] = ()

    def runs(self, name: str) -> list[Ours]:
        """Our runs on one set; `metrics` maps each measured metric of the paper to our name."""
        equal_names: Mapping[str, str] = {
            metric: metric for metric in self.values[name]
        }
        runs = []
        for ours in self.ours:
            if ours.set == name:
                metrics = ours.metrics or equal_names
                runs.append(ours.model_copy(update={"metrics": metrics}))
        return runs

    @model_validator(mode="after")
    def _one_run_is_judged(self) -> Published:
        for name in dict.fromkeys(ours.set for ours in self.ours):
            runs = [ours for ours in self.ours if ours.set == name]
            judged = [ours.name for ours in runs if ours.primary]
            if len(judged) != 1:
                raise ValueError(
                    f"{self.system!r} on {name!r} has {len(judged)} primary runs of {len(runs)} ({', '.join(judged)}): "
                    f"exactly one is judged, chosen before its numbers are seen"
                )
        return self


class Missing(_Strict):
    """Numbers of the paper that the ledger does not hold, and why."""

    table: str
    rows: str
    why: str


class Ledger(_Strict):
    """One paper's numbers, or those of one program as its authors released it.

    Attributes
    ----------
    cite : whom to cite. metric : what the numbers measure, and their unit. scale : ours are
        multiplied by it.
    against : "published", or "released": our own run of released code, judged otherwise and counted
        apart.
    decimals : the fewest that a value is printed with.
    baseline : the row over which improvements are compared, if the paper's table has one.
    needs : metric -> its requirements, for every system.
    """

    name: str
    cite: str
    metric: str
    against: Literal["published", "released"] = "published"
    scale: float = Field(default=100.0, gt=0)
    decimals: int = Field(default=1, ge=0)
    baseline: str = ""
    needs: dict[str, str] = Field(default_factory=dict)
    sets: dict[str, PublishedSet] = Field(default_factory=dict)
    published: tuple[Published, ...] = Field(min_length=1)
    missing: tuple[Missing, ...] = ()

    @model_validator(mode="after")
    def _names_are_known(self) -> Ledger:
        systems = Counter(row.system for row in self.published)
        repeated = [name for name, count in systems.items() if count > 1]
        if repeated:
            raise ValueError(
                f"{repeated[0]!r} is published twice; one row holds all the numbers of a system"
            )
        if self.baseline and self.baseline not in systems:
            raise ValueError(
                f"the baseline {self.baseline!r} is no row; known: {', '.join(systems)}"
            )
        for row in self.published:
            self._check_row(row)
        return self

    def _check_row(self, row: Published) -> None:
        """ValueError: a row names an unknown set, or a run of ours does not fit it."""
        for name in [*row.values, *(ours.set for ours in row.ours)]:
            if name not in self.sets:
                raise ValueError(
                    f"{row.system!r} names the set {name!r}; known: {', '.join(self.sets)}"
                )
        for ours in row.ours:
            self._check_ours(row, ours)

    def _check_ours(self, row: Published, ours: Ours) -> None:
        """Raise ValueError if a run measures a metric that the row lacks, or cannot be judged."""
        values = row.values.get(ours.set)
        if values is None:
            raise ValueError(f"{row.system!r} prints no value on {ours.set!r}")
        for metric in ours.metrics:
            if metric not in values:
                raise ValueError(f"{row.system!r} prints no {metric!r} on {ours.set!r}")
        is_judged = ours.primary and ours.comparable and self.against == "published"
        if is_judged and (ours.sample is None or self.sets[ours.set].questions is None):
            raise ValueError(
                f"{ours.name!r} is judged against {row.system!r}, so sample ('subset' or 'other') and the number of "
                f"questions of the set {ours.set!r} must be given"
            )

    @classmethod
    def read(cls, path: Path | str) -> Ledger:
        """Read a file; DataError names file, field and reason. FileNotFoundError: no such file."""
        path = Path(path)
        content = read_toml(path)
        try:
            return cls.model_validate({"name": path.stem, **content})
        except ValidationError as error:
            raise DataError(f"{path.name}: {fault(error)}") from None
