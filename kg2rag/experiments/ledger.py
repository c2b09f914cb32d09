"""A TOML file -> a `Ledger`: published numbers, each with comparable runs of this package.

Its tables are the classes below: `[sets.NAME]`, `[[published]]` with `values.NAME` (metric ->
number, in per cent unless `metric` states another unit), `[[published.ours]]` and `[[missing]]`.
The folder eval/ledger has examples, and `reproduction` runs a ledger.
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
    """A table whose keys must all be known."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedSet(_Strict):
    """A question set as the paper used it; a number is None if the paper does not state it."""

    name: str
    questions: int | None = Field(default=None, ge=1)
    passages: int | None = None
    note: str = ""


class OurRun(_Strict):
    """A run of this package that is compared with a published system.

    Attributes
    ----------
    set : the set of the ledger with whose numbers the run is compared.
    data, folder, setting, passages : the options of `kg2rag.load`.
    titles : False searches only the texts of passages.
    graph : the graph source; FILE in it is a name in the folder.
    system, parameters : a system of the catalogue, and the parameters that are not its defaults.
    k : hits per query.
    dtype : the format of the encoder, see `SentenceEncoder`.
    metrics : name of each measured metric in the paper -> name of this package; "passages" counts
        hits. Empty for all metrics of the row, with the names of the paper.
    primary : whether this run has the verdict. It was fixed before its numbers were seen, so it has
        the catalogue's defaults, or the settings of the section of the paper in `as_published`.
    sample : the relation of the questions to the published ones, see `reproduction`; needed for a
        verdict.
    note : the differences from the paper; needed if `comparable` is false.
    comparable : False for a run that can have no verdict.
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
    def _has_reasons(self) -> OurRun:
        """ValueError: a run lacks the note or the reference that its settings need."""
        if not self.comparable and not self.note:
            raise ValueError(
                "comparable is false, so note must name the reason that forbids a verdict"
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
    """One system of the paper.

    Attributes
    ----------
    values : set -> metric -> value; a value that the paper does not print is absent.
    needs : the requirements of a run, if no run measures the system.
    runs : the runs of this package, `[[published.ours]]` in the file.
    """

    system: str
    values: dict[str, dict[str, float]] = Field(min_length=1)
    source: str = ""
    encoder: str = ""
    graph: str = ""
    reader: str = ""
    needs: str = ""
    runs: tuple[OurRun, ...] = Field(default=(), alias="ours")

    def runs_on(self, name: str) -> list[OurRun]:
        """The runs on one set, with `metrics` filled in."""
        equal_names: Mapping[str, str] = {
            metric: metric for metric in self.values[name]
        }
        runs = []
        for run in self.runs:
            if run.set == name:
                metrics = run.metrics or equal_names
                runs.append(run.model_copy(update={"metrics": metrics}))
        return runs

    @model_validator(mode="after")
    def _has_one_primary_run(self) -> Published:
        """ValueError: the runs on a set have no primary one, or several."""
        for name in dict.fromkeys(run.set for run in self.runs):
            runs = [run for run in self.runs if run.set == name]
            primary = [run.name for run in runs if run.primary]
            if len(primary) != 1:
                raise ValueError(
                    f"{self.system!r} on {name!r} has {len(primary)} primary runs of {len(runs)} "
                    f"({', '.join(primary)}): exactly one is primary, chosen before its numbers are seen"
                )
        return self


class Missing(_Strict):
    """Numbers of the paper that the ledger does not have, and the reason."""

    table: str
    rows: str
    why: str


class Ledger(_Strict):
    """The numbers of one paper, or of the code that its authors released.

    Attributes
    ----------
    cite : the reference of the paper.
    metric : the quantity that the numbers measure, and their unit.
    scale : the factor by which scores of this package are multiplied.
    against : "published"; or "released" for numbers of our run of released code, which have other
        verdicts and are counted separately.
    decimals : the least number of decimals of a printed value.
    baseline : the row over which improvements are compared; "" if the paper has none.
    needs : metric -> the requirements of its measurement, for every system.
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
    def _has_known_names(self) -> Ledger:
        """ValueError: a system is repeated, or the baseline, a set or a metric is unknown."""
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
        """Raise ValueError if a row names an unknown set, or one of its runs does not fit it."""
        for name in [*row.values, *(run.set for run in row.runs)]:
            if name not in self.sets:
                raise ValueError(
                    f"{row.system!r} names the set {name!r}; known: {', '.join(self.sets)}"
                )
        for run in row.runs:
            self._check_run(row, run)

    def _check_run(self, row: Published, run: OurRun) -> None:
        """Raise ValueError if a run measures a metric that the row lacks, or lacks its sample."""
        values = row.values.get(run.set)
        if values is None:
            raise ValueError(f"{row.system!r} prints no value on {run.set!r}")
        for metric in run.metrics:
            if metric not in values:
                raise ValueError(f"{row.system!r} prints no {metric!r} on {run.set!r}")
        has_verdict = run.primary and run.comparable and self.against == "published"
        n_questions = self.sets[run.set].questions
        if has_verdict and (run.sample is None or n_questions is None):
            raise ValueError(
                f"{run.name!r} is judged against {row.system!r}, so sample ('subset' or 'other') and the number of "
                f"questions of the set {run.set!r} must be given"
            )

    @classmethod
    def read(cls, path: Path | str) -> Ledger:
        """The ledger of a file; DataError names the file, the field and the fault."""
        path = Path(path)
        content = read_toml(path)
        try:
            return cls.model_validate({"name": path.stem, **content})
        except ValidationError as error:
            raise DataError(f"{path.name}: {fault(error)}") from None
