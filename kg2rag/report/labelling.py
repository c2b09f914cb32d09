"""Questions and hits -> a page to judge hits by the keys 1 and 0, which saves questions with gold.

The page does not show which system returned a hit. It estimates the number of further questions
from the spread of the differences so far, as `kg2rag.evaluation.power.questions_needed` does; for
several systems, that of the one which differs most from the baseline.

Reference: Webber, Moffat & Zobel, "Statistical Power in Retrieval Experimentation", CIKM 2008.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kg2rag.compute import write_output
from kg2rag.report.html import Frame, HtmlPage, as_json, document, render
from kg2rag.report.score_sheet import questions_text

if TYPE_CHECKING:
    from markupsafe import Markup

    from kg2rag.types import Corpus

MAX_CHARACTERS = 2_000
"""Longest part of a passage that the page shows."""


@dataclass(frozen=True, eq=False, repr=False)
class Labelling(HtmlPage):
    """Hits to be judged on a page, which Jupyter shows in a frame.

    Each judgement is stored at once: in a file of the judge's choice, if the browser can write one
    (Chromium-based browsers, for a page on the disk); otherwise in the storage of the browser or,
    in the frame of a notebook, as long as the page is open. The button "save" downloads them. The
    file has all questions: one whose hits are all irrelevant has no gold, and one that was not
    judged is unchanged, so that the next page continues where this one ended.

    Attributes
    ----------
    questions : rows of the file, each with `id`, `question`, and other fields such as `answers`.
    pool : question id -> its hits, in the order of the page.
    corpus : the corpus of the hits; None if their texts are unknown.
    runs : question id -> the first hits of each system; needed for the number of further questions.
    scores : recall of questions judged before, (n_questions, n_systems), in the order of the runs.
    other_rows : rows of the file without hits to judge.
    baseline : the index in the runs of the system with which the others are compared.
    planning : the result of `power.planning_constants`; empty for a page without the estimate.
    """

    questions: Sequence[Mapping[str, Any]]
    pool: Mapping[str, Sequence[str]]
    corpus: Corpus | None
    runs: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    scores: Sequence[Sequence[float]] = ()
    other_rows: Sequence[Mapping[str, Any]] = ()
    baseline: int = 0
    planning: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Hits to judge: {questions_text(len(self.questions))}"

    def body(self) -> Markup:
        """The element that the script of the page fills."""
        return render("label.html.j2", title=self.title, is_page=True)

    @property
    def key(self) -> str:
        """A checksum of the questions, the hits and their texts."""
        content = as_json([[*map(dict, self.questions)], self.pool, self._passages()])
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    def _passages(self) -> dict[str, tuple[str, str]]:
        """Passage id -> title and first part of the text, both "" without a corpus."""
        ids = list(chain.from_iterable(self.pool.values()))
        if self.corpus is None:
            return dict.fromkeys(ids, ("", ""))
        passages = [self.corpus[self.corpus.row(passage_id)] for passage_id in ids]
        return {
            passage.id: (passage.title, passage.text[:MAX_CHARACTERS])
            for passage in passages
        }

    def data(self) -> str:
        """The input of the page's script, as JSON."""
        questions = []
        for row in self.questions:
            hits = list(self.pool[row["id"]])
            runs = []
            for run in self.runs.get(row["id"], ()):
                runs.append([hits.index(hit) for hit in run if hit in hits])
            questions.append({"row": dict(row), "hits": hits, "runs": runs})
        content = {
            "key": self.key,
            "questions": questions,
            "passages": self._passages(),
            "scores": self.scores,
            "other_rows": [*map(dict, self.other_rows)],
            "baseline": self.baseline,
            "planning": dict(self.planning),
        }
        return as_json(content)

    def to_html(self) -> str:
        """A self-contained page that saves `questions-KEY.jsonl`.

        `kg2rag compare --questions` reads that file.
        """
        return document(self.title, self.body(), {"label.js": self.data()})

    def _repr_html_(self) -> str:
        return Frame(self.to_html(), 640)._repr_html_()

    def save(self, file: str | Path) -> Path:
        """Write the page, and return its path; FileExistsError: kg2rag did not write the file."""
        write_output(Path(file), "page", self.to_html().encode())
        return Path(file)

    def saved(self, *folders: str | Path) -> Path:
        """The path of the newest file that this page has saved, for `with_questions`.

        folders : folders to search; by default the working folder and ~/Downloads.

        FileNotFoundError: no folder has the file.
        """
        paths = list(map(Path, folders)) or [Path(), Path.home() / "Downloads"]
        files = [
            file
            for folder in paths
            for file in folder.glob(f"questions-{self.key}*.jsonl")
        ]
        if not files:
            searched = " or ".join(map(str, paths))
            raise FileNotFoundError(
                f"No questions-{self.key}.jsonl in {searched}. Press save in the page, or move it."
            )
        return max(files, key=lambda file: file.stat().st_mtime)
