"""The sweeps of the five designs: chosen on training questions, judged on the public sets.

    python eval/designs.py train --data DATA     runs eval/sweeps/DESIGN.toml on each training set; interrupted, goes on
    python eval/designs.py judge --data DATA     the best setting of each design beside its defaults, on the public sets

`train` writes `eval/results/designs-train.csv`, a row a setting and training set; the questions of musique-100 are left
out of MuSiQue's. The setting of the greatest recall@5, mean over the training sets, is the one that is judged, and
recall@10 decides between equal ones. `judge` writes `eval/results/designs.csv`: before, after, and the difference with
its 95 % interval.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from public_sets import ENCODER, TRAINING, reported

import kg2rag
from kg2rag.experiments.sweep import Sweep, read_sweep
from kg2rag.retrievers import systems

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "eval" / "results"
DESIGNS = ("graph_augmented", "confidence_gated", "vector_first", "expansion_queries", "dynamic_hybrid")
TRAINED, PUBLIC, ALL = ",".join(TRAINING), "musique-100,hotpotqa-300,2wiki-kg-500-test", ",".join(DESIGNS)
SWEEPS = Path("reports/designs")
METRICS = ["recall@5", "recall@10"]

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
Data = Annotated[Path, typer.Option(help="The folder of the public sets.")]
Designs = Annotated[str, typer.Option(help="Separated by commas.")]
Sets = Annotated[str, typer.Option(help="Separated by commas.")]
Out = Annotated[Path, typer.Option(help="Where the sweeps lie.")]


@app.command()
def train(data: Data, designs: Designs = ALL, sets: Sets = TRAINED, out: Out = SWEEPS) -> None:
    """Run what is not finished, then write the means of all."""
    left_out = {question.id for question in reported(data, "musique-100").questions}
    for name in sets.split(","):
        for design in designs.split(","):
            folder = out / f"{design}-{name}"
            result = _sweep(data, design, name).run(folder, jobs=1, resume=folder.is_dir())
            result.save_report(folder)
    frames = []
    for folder in sorted(file.parent for file in out.glob("*-*/results.parquet")):
        design, _, name = folder.name.rpartition("-")
        found = kg2rag.SweepResult.load(folder).scored
        found = found[~found["query_id"].isin(left_out)]
        means = found.groupby("parameters", sort=False)[METRICS].mean().reset_index()
        frames.append(means.assign(system=design, set=name, questions=found["query_id"].nunique()))
    table = pd.concat(frames, ignore_index=True)[["system", "set", "questions", "parameters", *METRICS]]
    table["parameters"] = [_without_defaults(*row) for row in table[["system", "parameters"]].to_numpy()]
    table = table.drop_duplicates(["system", "set", "parameters"])
    table.to_csv(RESULTS / "designs-train.csv", index=False, float_format="%.4f")
    typer.echo(_chosen(table).to_string(index=False))


def _sweep(data: Path, design: str, name: str) -> Sweep:
    file = data / "train" / name / f"{name}_train.jsonl"
    given = read_sweep(ROOT / "eval" / "sweeps" / f"{design}.toml", path=file)
    entries = given.systems[design]
    listed = entries if isinstance(entries, list) else [entries]
    return replace(given, data=name, setting="pooled", systems={design: [{}, *listed]}, encoders={"default": ENCODER})


def _without_defaults(system: str, parameters: str) -> str:
    """The parameters, as JSON, that are not at their defaults: equal settings of two entries are one."""
    known = systems.parameters(system)
    return json.dumps({name: value for name, value in json.loads(parameters).items() if value != known[name]})


def _chosen(table: pd.DataFrame) -> pd.DataFrame:
    """Of each design its defaults and the setting that is best on the training questions, means over the sets."""
    means = table.groupby(["system", "parameters"], sort=False)[METRICS].mean().reset_index()
    ordered = means.sort_values(METRICS, ascending=False, kind="stable")
    best = ordered.drop_duplicates("system").assign(setting="best")
    return pd.concat([means[means["parameters"] == "{}"].assign(setting="default"), best], ignore_index=True)


@app.command()
def judge(data: Data, sets: Sets = PUBLIC) -> None:
    """Compare the defaults of each design with its best setting on the public sets."""
    trained = pd.read_csv(RESULTS / "designs-train.csv")
    chosen = _chosen(trained)
    best = chosen[chosen["setting"] == "best"].set_index("system")["parameters"].to_dict()
    rows = [
        _row(system, best[system], f"train-{name}", part) for (system, name), part in trained.groupby(["system", "set"])
    ]
    for name in sets.split(","):
        questions = _public(data, name)
        kb = kg2rag.KnowledgeBase.build(questions.corpus, embedder=ENCODER)
        for system, parameters in best.items():
            rows.append(_judged(system, parameters, name, questions, kb))
    table = pd.DataFrame(rows).sort_values(["system", "set"], kind="stable")
    table.to_csv(RESULTS / "designs.csv", index=False, float_format="%.4f")
    typer.echo(table.to_string(index=False))


def _public(data: Path, name: str) -> kg2rag.QADataset:
    """A public set; of 2wiki-kg-500 also the test questions alone, with the passages that belong to them."""
    if name == "2wiki-kg-500-test":
        return kg2rag.load("2wiki-kg", path=data / "2wiki-kg-500", split="test")
    return reported(data, name)


def _row(system: str, parameters: str, name: str, part: pd.DataFrame) -> dict[str, object]:
    """What the defaults and the best setting have on a training set; no interval, for the setting was chosen there."""
    means = part.set_index("parameters")
    before, after = means.loc["{}"], means.loc[parameters]
    scores = {
        f"{metric} {when}": row[metric] for metric in METRICS for when, row in (("before", before), ("after", after))
    }
    return {"system": system, "parameters": parameters, "set": name, "questions": int(before["questions"]), **scores}


def _judged(
    system: str, parameters: str, name: str, data: kg2rag.QADataset, kb: kg2rag.KnowledgeBase
) -> dict[str, object]:
    built = {"before": systems.build(system, kb), "after": systems.build(system, kb, **json.loads(parameters))}
    found = kg2rag.compare(built, data, metrics=METRICS, baseline="before")
    means, tested = found.to_frame(), found.pairs(METRICS[0]).iloc[0]
    scores = {f"{metric} {when}": means.loc[when, metric] for metric in METRICS for when in built}
    about = {"system": system, "parameters": parameters, "set": name, "questions": len(data)}
    return {**about, **scores, "p": tested["p"]}


if __name__ == "__main__":
    app()
