"""A TOML file -> a `Ledger`: published numbers as data, each with the runs of ours that may be compared with it.

    cite = "Whom to cite, and the table"
    metric = "what the numbers measure, and their unit"

    [sets.musique]                  # the paper's sets
    name = "MuSiQue"
    questions = 1000
    passages = 11656

    [[published]]                   # one system of the paper
    system = "BM25"
    needs = "what running it takes"
    values.musique = { "recall@2" = 32.3, "recall@5" = 41.2 }

    [[published.ours]]              # a run to compare with it; any number of them, or none
    set = "musique"
    data = "musique"                # as `kg2rag.load` knows it
    folder = "musique-100"          # below the folder of data sets that the user names
    system = "bm25"
    tolerance = 3.0                 # in the ledger's unit
    note = "what differs"
    comparable = false              # where what differs forbids a verdict

Numbers are per cent unless `metric` says otherwise; ours are multiplied by `scale`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from kg2rag.text.records import DataError, read_toml


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedSet(_Strict):
    """A question set as the paper used it; None where the paper gives no number."""

    name: str
    questions: int | None = None
    passages: int | None = None
    note: str = ""


class Ours(_Strict):
    """A run of ours to compare with a published system.

    Attributes
    ----------
    set : the ledger's set with whose numbers it is compared.
    data, folder, split, setting, passages : the options of `kg2rag.load`.
    titles : False leaves the titles out of the passages, which are then searched by their texts alone.
    graph : the graph source; FILE in "openie:FILE" is a name in the folder.
    system, parameters : of the catalogue.
    k : hits a query.
    metrics : the ledger's metric -> ours, where their names differ; "passages" counts the hits returned.
    dtype : of the encoder.
    tolerance : the difference up to which the verdict is "ok"; up to twice that it is "close".
    note : what differs. comparable : False where that forbids a verdict; `note` must then say what it is.
    """

    set: str
    data: str
    folder: str
    system: str
    label: str = ""
    split: str | None = None
    setting: Literal["pooled", "distractor"] | None = None
    passages: Literal["paragraph", "sentence"] | None = None
    titles: bool = True
    graph: str = "mentions"
    parameters: dict[str, object] = Field(default_factory=dict)
    k: int = Field(default=10, ge=1)
    metrics: dict[str, str] = Field(default_factory=dict)
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    tolerance: float = Field(gt=0)
    note: str = ""
    comparable: bool = True

    @model_validator(mode="after")
    def _says_why(self) -> Ours:
        if not self.comparable and not self.note:
            raise ValueError("comparable is false, so note must say what forbids a verdict")
        return self


class Published(_Strict):
    """One system of the paper: set -> metric -> value. What a paper does not print is absent, never zero."""

    system: str
    values: dict[str, dict[str, float]] = Field(min_length=1)
    encoder: str = ""
    graph: str = ""
    reader: str = ""
    needs: str = ""
    ours: tuple[Ours, ...] = ()


class Ledger(_Strict):
    """One paper's numbers."""

    name: str
    cite: str
    metric: str
    scale: float = Field(default=100.0, gt=0)
    sets: dict[str, PublishedSet] = Field(default_factory=dict)
    published: tuple[Published, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _sets_are_known(self) -> Ledger:
        for row in self.published:
            for name in [*row.values, *(ours.set for ours in row.ours)]:
                if name not in self.sets:
                    raise ValueError(f"{row.system!r} names the set {name!r}; known: {', '.join(self.sets)}")
            for ours in row.ours:
                if ours.set not in row.values:
                    raise ValueError(f"{row.system!r} has no value on {ours.set!r} to compare {ours.system!r} with")
                strangers = [metric for metric in ours.metrics if metric not in row.values[ours.set]]
                if strangers:
                    raise ValueError(f"{row.system!r} prints no {strangers[0]!r} on {ours.set!r}")
        return self

    @classmethod
    def read(cls, path: Path | str) -> Ledger:
        """Read one file.

        Raises
        ------
        FileNotFoundError : it is not there. ValueError : no TOML, or no ledger; names the file, the field and why.
        """
        path = Path(path)
        content = read_toml(path)
        try:
            return cls.model_validate({"name": path.stem, **content})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the file"
            raise DataError(f"{path.name}, {where}: {first['msg'].removeprefix('Value error, ')}.") from None
