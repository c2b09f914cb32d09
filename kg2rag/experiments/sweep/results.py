"""The scores of a sweep -> tables of all configurations and of the best on dev, files, and a report.

The folder of a sweep has `results.parquet`, with one row per configuration and question;
`sweep.json`, with their shared inputs; and the report as Markdown and as a page. An interrupted
sweep that was continued has the same `results.parquet` as an uninterrupted one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from kg2rag.compute.outputs import write_outputs
from kg2rag.evaluation.metrics import bounds
from kg2rag.evaluation.statistics import (
    LEVEL,
    holm,
    interval_of_mean,
    interval_of_sum,
    p_values,
)
from kg2rag.experiments.sweep.effects import effects, main_effects
from kg2rag.experiments.sweep.scores import COLUMNS, LABELS, PARTS, WHAT, SweepScores
from kg2rag.report import plots
from kg2rag.report.html import document, render
from kg2rag.report.markup import pipe_table, plain
from kg2rag.retrievers.systems import parameters
from kg2rag.text.records import DataError, as_parquet, read_json, read_parquet, sha256
from kg2rag.text.registry import unknown
from kg2rag.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULTS, ABOUT, PAGE = "results.parquet", "sweep.json", "report.html"
NAMES = (RESULTS, ABOUT, "report.md", PAGE)
"""The files of a sweep."""
CHECKSUM = "results_sha256"
HEADER = ("system", "chosen", "dev", "test", "gap", "defaults", "p", "parameters")
LISTED = 20  # configurations that a report lists


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(SweepScores):
    """The scores of a sweep, with selection, effects of parameters, and report."""

    @classmethod
    def load(cls, out: str | Path) -> SweepResult:
        """The result in a folder of `Sweep.run`; DataError: its files were changed, or are no sweep."""
        out = Path(out)
        if not (out / RESULTS).is_file():
            raise FileNotFoundError(
                f"{out} holds no results: {RESULTS} is missing. Run the sweep first."
            )
        config = read_json(out / ABOUT)
        if not isinstance(config, dict) or config.pop(CHECKSUM, "") != sha256(
            out / RESULTS
        ):
            raise DataError(
                f"{out / RESULTS} is not as {ABOUT} has it: it is damaged, or of another sweep or version. Run the "
                "sweep again; what is in the store is not run again."
            )
        frame = read_parquet(out / RESULTS).to_pandas().astype({"hops": "Int64"})
        result = cls(frame, str(config.get("objective")), config)
        if result.objective not in result.metrics:
            raise DataError(
                f"{out / ABOUT}: its objective is none of the columns of {RESULTS}."
            )
        return result

    def save(self, out: str | Path) -> Path:
        """Write the results and the report into a folder, and return the path of the page.

        The files of an earlier sweep are replaced. FileExistsError: a file is in the way that
        kg2rag did not write, or that was edited since.
        """
        columns = self.per_question[[*COLUMNS, *self.metrics]]
        results = as_parquet(pa.Table.from_pandas(columns, preserve_index=False))
        checksum = hashlib.sha256(results).hexdigest()
        config = {**self.config, "objective": self.objective, CHECKSUM: checksum}
        about = json.dumps(config, indent=1, ensure_ascii=False, default=str)
        files = {
            RESULTS: results,
            ABOUT: f"{about}\n".encode(),
            "report.md": self.to_markdown().encode(),
            PAGE: self.to_html().encode(),
        }
        write_outputs(Path(out), "sweep", files, last=ABOUT)
        return Path(out) / PAGE

    def best(self, by: Sequence[str] = ("system",)) -> pd.DataFrame:
        """The best configuration of each group on dev, with its test score.

        Test scores of other configurations are not read.

        `by` : columns of `to_frame` that make a group, such as ("system", "graph").

        Returns one row per group, best on dev first, ties by number: the group, number, tried
        (configurations it was chosen from), parameters; of the objective dev, test and gap (dev -
        test), each with _low and _high (95 %); against the system's defaults, if the sweep has
        them, default_dev, default_test, p (paired randomisation test on the test questions) and
        p_holm, corrected for the groups of the table.
        """
        rows = []
        for group, part in self.to_frame().groupby(list(by), sort=False):
            number = part.index.tolist()[
                part[f"dev {self.objective}"].round(12).argmax()
            ]
            row = {
                **dict(zip(by, group, strict=True)),
                "number": number,
                "tried": len(part),
            }
            row["parameters"] = self.parameters_text(number)
            row |= self._scores_of(number)
            row |= self._comparison_with_default(number, self.default(part))
            rows.append(row)
        table = pd.DataFrame(rows).sort_values("dev", ascending=False, kind="stable")
        table = table.reset_index(drop=True)
        tested = table["p"].notna()
        table["p_holm"] = np.nan
        table.loc[tested, "p_holm"] = holm(
            table.loc[tested, "p"].to_numpy(dtype=np.float64)
        )
        return table

    def _objective_of(self, number: int) -> dict[str, FloatArray]:
        """Split -> (n_questions,) scores of one configuration."""
        return {
            split: self.questions[split][self.numbers.index(number)] for split in PARTS
        }

    def _scores_of(self, number: int) -> dict[str, float]:
        """The means of a configuration on dev and test, and their gap, each with its interval.

        Keys are dev, test and gap, each also with `_low` and `_high`.
        """
        scores = self._objective_of(number)
        limits = bounds(self.objective)
        means = np.array([scores[split].mean() for split in PARTS])
        low, high = np.array(
            [interval_of_mean(scores[split], bounds=limits) for split in PARTS]
        ).T
        # Dev and test have different questions, so their means are independent.
        gap_low, gap_high = interval_of_sum(means, low, high, np.array([1, -1]))
        row = {"gap": means[0] - means[1], "gap_low": gap_low, "gap_high": gap_high}
        for i, split in enumerate(PARTS):
            row |= {split: means[i], f"{split}_low": low[i], f"{split}_high": high[i]}
        return {name: float(value) for name, value in row.items()}

    def _comparison_with_default(
        self, number: int, default: int | None
    ) -> dict[str, float]:
        """The means of the system's defaults, and p of the configuration against them on test."""
        if default is None:
            return dict.fromkeys(("default_dev", "default_test", "p"), np.nan)
        scores = self._objective_of(default)
        dev = float(scores["dev"].mean())
        test = float(scores["test"].mean())
        p = float(p_values(self._objective_of(number)["test"] - scores["test"]))
        return {"default_dev": dev, "default_test": test, "p": p}

    def against(self, number: int, metric: str | None = None) -> pd.DataFrame:
        """The difference of every configuration from a reference, on all questions.

        Dev and test questions count equally. A choice by this table needs further questions for its
        judgement.

        number : the reference configuration.

        Returns one row per configuration, in the order of the sweep: number, system, changed (the
        parameters that differ), mean, difference (from the mean of the reference), low and high
        (95 %, paired bootstrap over questions) and p_holm (paired randomisation tests, corrected
        over all rows; blank for the reference). ValueError: no finished configuration has the
        number, or there is no such metric.
        """
        metric = metric or self.objective
        if metric not in self.metrics:
            raise ValueError(unknown("metric", metric, self.metrics))
        if number not in self.numbers:
            raise ValueError(
                f"No finished configuration has the number {number}. There are {self.numbers}."
            )
        reference = self.numbers.index(number)
        base = self.settings[number]
        changed = [self._changes(settings, base) for settings in self.settings.values()]
        scores = self._wide(self.scored, metric)
        differences = scores - scores[reference]
        limits = None if bounds(metric) is None else (-1.0, 1.0)
        low, high = interval_of_mean(differences.T, bounds=limits)
        low[reference] = high[reference] = 0.0
        is_tested = np.arange(len(scores)) != reference
        p_holm = np.full(len(scores), np.nan)
        p_holm[is_tested] = holm(
            [float(p_values(row)) for row in differences[is_tested]]
        )
        systems = self.scored.drop_duplicates("number")["system"].to_numpy()
        table = pd.DataFrame(
            {"number": self.numbers, "system": systems, "changed": changed}
        )
        means = {"mean": scores.mean(axis=1), "difference": differences.mean(axis=1)}
        return table.assign(**means, low=low, high=high, p_holm=p_holm)

    def _changes(self, settings: dict[str, Any], reference: dict[str, Any]) -> str:
        """The changed parameters of a configuration; "default" for a parameter that is not set."""
        names = dict.fromkeys([*settings, *reference])
        changed = [name for name in names if settings.get(name) != reference.get(name)]
        return ", ".join(f"{name}={settings.get(name, 'default')}" for name in changed)

    def parameters_text(self, number: int) -> str:
        """The parameters of a configuration as a text."""
        parameters = [
            f"{name}={value}" for name, value in self.settings[number].items()
        ]
        return ", ".join(parameters) or "defaults"

    def default(self, group: pd.DataFrame) -> int | None:
        """The number of the configuration in a group with the catalogue's defaults; None without.

        group : rows of `to_frame`.
        """
        for number, system in zip(
            group.index.tolist(), group["system"].tolist(), strict=True
        ):
            defaults = parameters(system)
            if all(
                defaults.get(name) == value
                for name, value in self.settings[number].items()
            ):
                return int(number)
        return None

    def effects(self, system: str) -> pd.DataFrame:
        """The dev scores of each value of each parameter of a system; see `effects.effects`.

        Parameters that a configuration leaves out have the system's defaults. ValueError: the sweep
        has no results of the system.
        """
        about = self.scored.drop_duplicates("number").set_index("number")
        of_system = (about["system"] == system).to_numpy()
        if not of_system.any():
            raise ValueError(unknown("system", system, about["system"].unique()))
        names = dict.fromkeys(chain.from_iterable(self.settings.values()))
        defaults = parameters(system)
        rows = [
            {**defaults, **self.settings[number]} for number in about.index[of_system]
        ]
        configurations = pd.DataFrame(rows, dtype=object)
        listed = [name for name in names if name in configurations]
        labels = about.loc[of_system, list(LABELS)].reset_index(drop=True)
        configurations = pd.concat([configurations[listed], labels], axis=1)
        return effects(configurations, self.questions["dev"][of_system], self.objective)

    def plot_effects(self, system: str) -> Figure:
        """The effects of the parameters of a system on the dev score, a panel each."""
        return main_effects(self.effects(system), self.objective)

    def chosen(self) -> list[tuple[str, ...]]:
        """The texts of the table of selected configurations, in the order of `HEADER`."""
        return [self._chosen_row(row) for row in self.best().to_dict("records")]

    def _chosen_row(self, row: dict[Any, Any]) -> tuple[str, ...]:
        """The texts of a row of `best`, in the order of `HEADER`."""
        intervals = []
        for name in (*PARTS, "gap"):
            mean, low, high = (
                f"{100 * row[f'{name}{end}']:z.1f}" for end in ("", "_low", "_high")
            )
            intervals.append(f"{mean} ({low} to {high})")
        number = f"{row['number']} (best of {row['tried']})"
        if np.isnan(row["p"]):
            return row["system"], number, *intervals, "", "", row["parameters"]
        defaults = f"{100 * row['default_dev']:.1f}, {100 * row['default_test']:.1f}"
        p = f"{row['p_holm']:.3f}"
        if row["p_holm"] >= LEVEL:
            p += ", no difference"
        return row["system"], number, *intervals, defaults, p, row["parameters"]

    def note(self) -> str:
        """The note below the table of selected configurations."""
        counts = {split: scores.shape[1] for split, scores in self.questions.items()}
        return (
            f"{self.objective} in per cent with 95 % intervals over {counts['dev']} dev and "
            f"{counts['test']} test questions. Configurations were chosen on dev only: report the "
            "test score. The gap is dev minus test. It has two causes, selection and easier dev "
            "questions; the system's defaults (dev, test), if the sweep has them, show the second. "
            "p compares the chosen configuration with the defaults on the test questions (paired "
            "randomisation test, Holm-corrected for the rows)."
        )

    def top(self) -> pd.DataFrame:
        """The `LISTED` best configurations on dev: parameters, dev scores and milliseconds.

        Their test scores are not shown, so that none is selected by them.
        """
        frame = self.to_frame()
        frame = frame.sort_values(
            f"dev {self.objective}", ascending=False, kind="stable"
        )
        frame = frame.head(LISTED)
        table = frame[list(WHAT)].assign(
            parameters=list(map(self.parameters_text, frame.index.tolist()))
        )
        for metric in self.metrics:
            table[f"dev {metric}"] = (100 * frame[f"dev {metric}"]).map(
                "{:z.1f}".format
            )
        return table.assign(ms=frame["ms_per_query"].map("{:.1f}".format)).reset_index()

    def to_markdown(self) -> str:
        """The report as Markdown: chosen and failed configurations, best on dev, effects."""
        lines = [f"# {self.name}", "", self.headline, ""]
        lines += [*pipe_table(HEADER, self.chosen()), "", self.note(), ""]
        if len(self.failed):
            texts = self.failed.astype(str).agg(", ".join, axis=1)
            lines += ["## Failed", "", *(f"- {plain(text)}" for text in texts), ""]
        lines += ["## Best on dev", "", *_pipe_table_of(self.top())]
        for system in dict.fromkeys(self.scored["system"]):
            table = self.effects(str(system))
            if len(table):
                points = {
                    name: (100 * table[name]).round(1)
                    for name in ("mean", "low", "high")
                }
                shown = table.assign(**points).drop(columns="p_holm")
                lines += ["", f"## Effects of the parameters of {system} on dev", ""]
                lines += _pipe_table_of(shown)
        return "\n".join([*lines, ""])

    def to_html(self) -> str:
        """The report as one self-contained page for screen (light or dark) and paper."""
        best = self.top()
        body = render(
            "sweep.html.j2",
            name=self.name,
            headline=self.headline,
            header=HEADER,
            objective=self.objective,
            failed=self.failed.to_dict("records"),
            config=json.dumps(self.config, indent=1, ensure_ascii=False, default=str),
            chosen=self.chosen(),
            note=self.note(),
            figures=self._figures(),
            columns=list(best.columns),
            best=best.astype(str).to_numpy().tolist(),
        )
        return document(self.name, body)

    def _figures(self) -> dict[str, str]:
        """System -> an SVG figure of its parameters, for systems with several values of one."""
        figures: dict[str, str] = {}
        for number, system in enumerate(dict.fromkeys(self.scored["system"])):
            table = self.effects(system)
            if len(table):
                figure = main_effects(table, self.objective)
                figures[system] = plots.to_svg(figure, f"effects{number}")
        return figures

    def __repr__(self) -> str:
        return f"SweepResult({self.name}: {len(self.numbers)} configurations, {len(self.failed)} failed)"

    def _repr_html_(self) -> str:
        table = self.best().to_html(
            index=False, na_rep="", float_format="{:z.4f}".format
        )
        return f"<p>{self!r}, chosen on dev by {self.objective}</p>{table}"


def _pipe_table_of(frame: pd.DataFrame) -> list[str]:
    """The lines of a Markdown table of a frame."""
    return pipe_table(list(frame.columns), frame.astype(str).to_numpy().tolist())
