"""Every format that users bring -> a small valid file set, and the function that reads it as a user would."""

from __future__ import annotations

import gzip
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import pandas as pd
from fuzz import seeds
from fuzz.seeds import CORPUS, Files

from kg2rag.compute import Store
from kg2rag.compute.keyed_file import DamagedEntryWarning, DamagedFileError
from kg2rag.datasets import from_frames, load
from kg2rag.evaluation import Comparison
from kg2rag.experiments.ledger import Ledger
from kg2rag.experiments.sweep import read_sweep
from kg2rag.experiments.sweep.results import SweepResult
from kg2rag.extraction.sources import SOURCES
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.retrievers.adapters import Recorded
from kg2rag.retrievers.designs.dynamic_hybrid.analysers import LearnedAnalyser
from kg2rag.text.records import DataError


@dataclass(frozen=True)
class Format:
    """A format and how it is attacked.

    Attributes
    ----------
    seed : makes the valid files, by name.
    read : reads the folder that they are in; equal contents give equal values.
    mutated : which of the files are mutated; all where empty.
    signs : gives the mutated files checksums that fit.
    exact : what is read must be what the seed holds, or an error: the format has checksums.
    """

    seed: Callable[[], Files]
    read: Callable[[Path], object]
    mutated: tuple[str, ...] = ()
    signs: bool = False
    exact: bool = False


@cache
def seed_of(name: str) -> Files:
    """The valid files of a format, made once."""
    return FORMATS[name].seed()


def _dataset(name: str, folder: Path) -> object:
    data = load(name, path=folder)
    return data.corpus.fingerprint, repr(data.questions)


def _frames(folder: Path) -> object:
    def frame(name: str) -> pd.DataFrame:
        try:
            return pd.DataFrame(json.loads((folder / name).read_text(encoding="utf-8")))
        # no frame: nothing of ours
        except (
            ValueError,
            RecursionError,
            AttributeError,
            TypeError,
            KeyError,
        ) as error:
            raise DataError("custom") from error

    data = from_frames(frame("corpus.json"), frame("questions.json"))
    return data.corpus.fingerprint, repr(data.questions)


def _source(source: str, folder: Path) -> object:
    extractor = SOURCES.build(
        f"{source.partition('(')[0]}({folder / source.partition('(')[2]}"
    )
    return KnowledgeGraph.build(
        extractor.extract(CORPUS), CORPUS
    ).fingerprint, extractor.fingerprint


def _parquet_graph(folder: Path) -> object:
    graph = KnowledgeGraph.load(folder, CORPUS)
    return graph.fingerprint, [
        graph.triple(number) for number in range(graph.n_triples)
    ]


def _sweep(folder: Path) -> object:
    sweep = read_sweep(folder / "sweep.toml")
    return list(sweep.points), sweep.split, [metric.name for metric in sweep.scored]


def _comparison(folder: Path) -> object:
    found = Comparison.load(folder)
    values = [
        found.scores.to_csv(),
        found.per_query.to_csv(),
        found.curve.to_csv(),
        found.sizes.to_csv(),
    ]
    hits = [
        (name, one.passage_ids, one.scores.tolist())
        for name, own in found.rankings.items()
        for one in own
    ]
    return values, hits, found.baseline


def _sweep_results(folder: Path) -> object:
    found = SweepResult.load(folder)
    return (
        found.per_question.to_csv(),
        found.to_frame().to_csv(),
        found.name,
        found.objective,
    )


def _store(folder: Path) -> object:
    store = Store(folder)
    list(store.entries())
    store.verify()
    store.prune(older_than_days=1e5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedEntryWarning)
        try:
            return seeds.work(folder)
        # what is there may be somebody else's; the message says what to do
        except DamagedFileError as error:
            raise DataError(str(error)) from error


def _analyser(folder: Path) -> object:
    model = LearnedAnalyser.load(folder / "weights.json")
    return repr(
        (
            model.grid.tolist(),
            model.coefficients.tolist(),
            model.intercept.tolist(),
            model.alpha,
        )
    )


FORMATS: Mapping[str, Format] = {
    **{
        name: Format(seed, partial(_dataset, name.partition(" ")[0]))
        for name, seed in {
            "hotpotqa": seeds.hotpotqa,
            "musique": seeds.musique,
            "2wikimultihopqa": seeds.two_wiki,
            "2wikimultihopqa titles": seeds.titled,
            "2wiki-kg": seeds.two_wiki_kg,
            "hipporag": seeds.hipporag,
            "hipporag titles": seeds.hipporag_titles,
            "beir": seeds.beir,
            "cosqa": seeds.cosqa,
            "bundled": seeds.bundled,
        }.items()
    },
    "frames": Format(seeds.frames, _frames),
    "openie": Format(seeds.openie, partial(_source, "openie(openie_results.json)")),
    "subkgs": Format(seeds.subkgs, partial(_source, "subkgs(subkgs.jsonl)")),
    "lightrag": Format(seeds.lightrag, partial(_source, "lightrag(.)")),
    "msgraphrag": Format(seeds.msgraphrag, partial(_source, "msgraphrag(.)")),
    "graphml": Format(seeds.graphml, partial(_source, "graphml(graph.graphml)")),
    **{
        f"triples{suffix}": Format(
            partial(seeds.triples, suffix),
            partial(_source, f"triples(triples{suffix})"),
        )
        for suffix in (".tsv", ".csv", ".parquet", ".jsonl")
    },
    "saved graph": Format(seeds.saved_graph, partial(_source, "graph(g)")),
    "saved graph, signed": Format(
        seeds.saved_graph,
        partial(_source, "graph(g)"),
        (
            "g/extraction/triples.jsonl",
            "g/extraction/mentions.jsonl",
            "g/extraction/entities.jsonl",
        ),
        signs=True,
    ),
    "graph as Parquet": Format(seeds.parquet_graph, _parquet_graph),
    "sweep": Format(lambda: {"sweep.toml": seeds.SWEEP}, _sweep),
    "ledger": Format(
        lambda: {"paper.toml": seeds.LEDGER},
        lambda folder: Ledger.read(folder / "paper.toml"),
    ),
    "comparison": Format(seeds.comparison, _comparison, exact=True),
    "comparison, signed": Format(
        seeds.comparison,
        _comparison,
        (
            "scores.csv",
            "curve.csv",
            "token_curve.csv",
            "sizes.csv",
            "per_query.parquet",
            "runs/dense.trec.gz",
        ),
        signs=True,
    ),
    "sweep results": Format(seeds.sweep_results, _sweep_results),
    "store": Format(seeds.store, _store, exact=True),
    "run": Format(
        lambda: {"run.trec": gzip.decompress(seeds.comparison()["runs/dense.trec.gz"])},
        lambda folder: Recorded.of(folder / "run.trec", CORPUS).run,
    ),
    "analyser": Format(seeds.analyser, _analyser),
}
