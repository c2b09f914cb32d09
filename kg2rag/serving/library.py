"""What is saved below a root, opened when it is asked for and kept in memory until it is saved anew."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from kg2rag.evaluation import storage
from kg2rag.evaluation.comparison import Comparison
from kg2rag.evaluation.first_hits import FILE, FirstHits
from kg2rag.experiments.sweep import SweepResult
from kg2rag.report.listing import Choice, Listing
from kg2rag.report.question_explanation import QuestionExplanation, excerpts, explain_rankings
from kg2rag.report.table import Sheet
from kg2rag.retrievers.adapters import trec
from kg2rag.serving.folders import Saved, find
from kg2rag.serving.texts import Joined, MismatchError, Texts, wanted
from kg2rag.text.cells import frame_of_csv
from kg2rag.text.records import DataError, reading
from kg2rag.types import Explanation

OPEN = 8
"""Comparisons and sweeps that are kept in memory."""
_AGAIN = "Save it again, or restore the files."


@dataclass(frozen=True, eq=False)
class OpenComparison:
    """A loaded comparison and what lies beside it.

    Attributes
    ----------
    first : the first hits with texts and paths; None where it was saved without. gold : by question, empty likewise.
    joined : the data set, where `first` is None and a folder has the one that was compared on.
    refused : why one that seemed to be it is not joined.
    """

    saved: Saved
    result: Comparison
    first: FirstHits | None
    gold: Mapping[str, Mapping[str, int]]
    joined: Joined | None = None
    refused: str = ""

    @cached_property
    def listing(self) -> Listing:
        """Its questions."""
        return Listing(self.result)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Question id -> its place."""
        return {id_: at for at, id_ in enumerate(self.listing.about.index)}

    def text(self, query_id: str) -> str:
        """The question; its id, where the texts were not kept."""
        return str(self.listing.about.loc[query_id, "question"]) or query_id

    def explained(self, choice: Choice, query_id: str) -> QuestionExplanation:
        """Two systems' hits for a question, headed by their scores."""
        at = self.places[query_id]
        rankings = {name: self.result.rankings[name][at] for name in (choice.left, choice.right)}
        if self.first is not None:
            found = self.first.explained(rankings, self.text(query_id), choice.hits)
        elif self.joined is not None:
            data = self.joined.data
            found = explain_rankings(rankings, data, data.questions[at], k=choice.hits)
        else:
            gold = {id_: (id_,) for id_ in self.gold.get(query_id, ())}
            bare = {name: Explanation(one, choice.hits, {}, "", gold) for name, one in rankings.items()}
            found = QuestionExplanation(self.text(query_id), bare, tuple(gold), (), query_id)
        titled = {
            name: Explanation(one.ranking, one.limit, one.texts, self.listing.scores_line(name, query_id), one.gold)
            for name, one in found.explanations.items()
        }
        return QuestionExplanation(found.question, titled, found.gold, found.answers, query_id)

    def texts(self, system: str, query_id: str) -> Mapping[str, str]:
        """Passage id -> the beginning of its text, of the hits of a system whose texts are known."""
        if self.first is not None:
            return self.first.texts(system, query_id)
        if self.joined is None:
            return {}
        ranking = self.result.rankings[system][self.places[query_id]]
        return excerpts(ranking, self.joined.data, len(ranking))

    def lacks(self) -> str:
        """What it was saved without, in words, and what can be done about it."""
        if self.first is not None:
            return ""
        if self.joined is not None:
            return f"Saved without {FILE}: texts and gold are read from {self.joined.folder}; no stages or paths."
        gold = "" if self.gold else ", and no gold is marked"
        files = wanted(self.result.config)
        remedy = f" To show texts: kg2rag serve FOLDER --data DATA, DATA holding {files}." if files else ""
        refused = f" Not joined: {self.refused}" if self.refused else remedy
        return f"Saved without {FILE}: hits have ids and scores alone, no texts, stages or paths{gold}.{refused}"

    def gold_of(self, system: str) -> Mapping[str, Collection[str]]:
        """Question id -> the passages of a system's ranking that count as gold; empty where nothing is known."""
        return self.gold if self.first is None else self.first.gold(system)


@dataclass(frozen=True)
class Entry:
    """A line of the list of all: what is known of a folder without loading it, or why it cannot be opened."""

    saved: Saved
    about: Mapping[str, Any]
    problem: str = ""


class Library:
    """The saved comparisons and sweeps of a root folder."""

    def __init__(self, root: Path, texts: Texts | None = None) -> None:
        self.root = root
        self.texts = texts or Texts()
        self._open: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._lock = threading.Lock()
        find(root)

    def entries(self) -> list[Entry]:
        """Everything that is saved now."""
        return [self._entry(saved) for saved in find(self.root).values()]

    def saved(self, at: str) -> Saved:
        """What is saved at a path from the root; KeyError for any other path."""
        found = find(self.root)
        if at not in found:
            raise KeyError(f"Nothing is saved at {at!r}.")
        found[at].require_inside(self.root)
        return found[at]

    def comparison(self, at: str) -> OpenComparison:
        """A comparison; DataError or FileNotFoundError where it is damaged or unfinished."""
        saved = self._of_kind(at, "comparison")
        opened: OpenComparison = self._kept("comparison", saved, lambda one: _open_comparison(one, self.texts))
        return opened

    def joinable(self) -> tuple[list[str], dict[str, str]]:
        """The comparisons saved without texts: which find their data set's files, and why the others do not.

        Files are found by checksum, not opened; folders that are damaged are left to `entries`.
        """
        found, lacking = list[str](), dict[str, str]()
        for entry in self.entries():
            if entry.problem or entry.saved.kind != "comparison" or (entry.saved.path / FILE).is_file():
                continue
            config = storage.configuration(entry.saved.path)
            try:
                place = self.texts.place(config)
            except MismatchError as error:
                lacking[entry.saved.at] = str(error)
                continue
            if place is None:
                files = wanted(config)
                lacking[entry.saved.at] = f"no folder has {files}." if files else "its configuration names no files."
            else:
                found.append(entry.saved.at)
        return found, lacking

    def sweep(self, at: str) -> SweepResult:
        """A sweep; DataError or FileNotFoundError where it is damaged or has no result."""
        opened: SweepResult = self._kept("sweep", self._of_kind(at, "sweep"), _open_sweep)
        return opened

    def report(self, at: str) -> bytes:
        """The saved page of a comparison or sweep."""
        file = self.saved(at).path / "report.html"
        if not file.is_file():
            raise FileNotFoundError(f"{at} has no report.html.")
        return file.read_bytes()

    def _of_kind(self, at: str, kind: str) -> Saved:
        saved = self.saved(at)
        if saved.kind != kind:
            raise KeyError(f"{at!r} is a {saved.kind}, not a {kind}.")
        return saved

    def _entry(self, saved: Saved) -> Entry:
        try:
            saved.require_inside(self.root)
            about: Mapping[str, Any] = self._kept("about", saved, _about)
        except (ValueError, OSError, KeyError) as error:
            return Entry(saved, {}, within(self.root, error))
        return Entry(saved, about)

    def _kept(self, what: str, saved: Saved, read: Callable[[Saved], Any]) -> Any:
        """What was read of a folder, from memory where its files are the same; one reader at a time."""
        key = (what, saved.at, saved.state())
        with self._lock:
            if key not in self._open:
                self._open[key] = read(saved)
                same = [one for one in self._open if one[0] == what]
                for old in same[: len(same) - (1000 if what == "about" else OPEN)]:
                    del self._open[old]
            self._open.move_to_end(key)
            return self._open[key]


def within(root: Path, error: BaseException) -> str:
    """An error's message, with paths from the root."""
    message = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return message.replace(f"{root}{'/' if str(root) != '/' else ''}", "")


def _open_comparison(saved: Saved, texts: Texts) -> OpenComparison:
    folder = saved.path
    result = Comparison.load(folder)
    with reading(folder, _AGAIN):
        first = FirstHits.load(folder / FILE) if (folder / FILE).is_file() else None
        gold = trec.load_qrels(folder / "qrels.trec") if (folder / "qrels.trec").is_file() else {}
        opened = _joined(OpenComparison(saved, result, first, gold), texts)
        if not (result.systems and result.metrics and len(opened.places)):
            raise DataError(f"{folder} has no system, metric or question.")
        result.to_frame()
        opened.listing.hops()
        for name in result.systems:
            opened.listing.scores_line(name, opened.listing.about.index[0])
    return opened


def _joined(opened: OpenComparison, texts: Texts) -> OpenComparison:
    """A comparison with the texts of its data set, where it has none of its own and a folder has that set."""
    if opened.first is not None:
        return opened
    try:
        joined = texts.join(opened.result.config)
    except MismatchError as error:
        return replace(opened, refused=str(error))
    if joined is None:
        return opened
    data, per_query = joined.data, opened.result.per_query
    questions = {question.id: question.text for question in data.questions}
    result = replace(opened.result, per_query=per_query.assign(question=per_query["query_id"].map(questions)))
    ids = data.corpus.ids
    gold = {one.id: {ids[row]: 1 for rows in data.gold_rows(one).values() for row in rows} for one in data.questions}
    return replace(opened, result=result, gold=gold, joined=joined)


def _open_sweep(saved: Saved) -> SweepResult:
    return SweepResult.load(saved.path)


def _about(saved: Saved) -> Mapping[str, Any]:
    """What the list says of a folder."""
    with reading(saved.path, _AGAIN):
        return _about_sweep(saved) if saved.kind == "sweep" else _about_comparison(saved)


def _about_comparison(saved: Saved) -> Mapping[str, Any]:
    if not (saved.path / "config.json").is_file():
        raise DataError(f"{saved.path} has no finished comparison: config.json is missing.")
    config = storage.configuration(saved.path)
    scores = frame_of_csv(pd.read_csv(saved.path / "scores.csv", keep_default_na=False, na_values={"mean": [""]}))
    metric = str(scores["metric"].iloc[0])
    sheet = Sheet(scores, {}, str(config["baseline"]))
    means = scores[scores["metric"] == metric].set_index("system")["mean"].astype(float)
    return {
        "data": config.get("data", {}),
        "systems": list(config["systems"]),
        "metric": metric,
        "best": str(means.idxmax()),
        "mean": f"{means.max() * sheet.scale(metric):.{sheet.digits(metric)}f}",
        "started": str(config.get("started", "")),
    }


def _about_sweep(saved: Saved) -> Mapping[str, Any]:
    result = SweepResult.load(saved.path)
    best = result.to_frame()[f"dev {result.objective}"] if result.numbers else None
    return {
        "name": result.name,
        "configurations": len(result.numbers),
        "failed": len(result.failed),
        "metric": result.objective,
        "systems": list(dict.fromkeys(result.scored["system"])),
        "mean": "" if best is None else f"{100 * best.max():.1f}",
        "started": str(result.config.get("started", "")),
    }
