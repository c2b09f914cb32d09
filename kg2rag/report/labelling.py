"""Questions and hits -> a page to judge hits by the keys 1 and 0, saved as questions with gold.

The judge sees no system. Below the hits stands how many more questions a difference takes, by the
spread of the differences so far, as `kg2rag.evaluation.power.questions_needed` computes it; of
several systems, for the one that differs most from the baseline.

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
"""The part of a passage that is shown to be judged."""


@dataclass(frozen=True, eq=False, repr=False)
class Labelling(HtmlPage):
    """Hits to be judged; in Jupyter a page in a frame.

    Judgements are kept as they are made: in the file that the judge names, if the browser can write
    one (Chromium and its relatives, from a page on the disk); otherwise in the browser's storage
    under a key of the page's content, and, as in a notebook's frame, for as long as the page is
    open. The button "save" downloads them. A question whose hits are all irrelevant is kept,
    without gold, and one that was not judged stays as it was, so that the next page goes on where
    this one ended.

    Attributes
    ----------
    questions : rows of the file to be, each with `id` and `question`, and other fields that stay in
        it, such as `answers`.
    pool : question -> its hits, in the order in which they are shown.
    corpus : has their texts; None if they are unknown.
    runs : question -> the first hits of each system; needed to count the questions that are
        missing.
    scores : recall of questions judged before, (n_questions, n_systems), the systems in the order
        of the runs.
    other_rows : rows with nothing to judge, which the file has as well.
    baseline : the place of the system in the runs that the others are compared with.
    planning : constants of `power.questions_needed`, as `power.planning_constants` gives
        them; empty if the page does not count.
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
        """The place of the script."""
        return render("label.html.j2", title=self.title, is_page=True)

    @property
    def key(self) -> str:
        """A checksum of everything that is asked and shown, the texts of the passages included."""
        content = as_json([[*map(dict, self.questions)], self.pool, self._passages()])
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    def _passages(self) -> dict[str, tuple[str, str]]:
        """Passage id -> title and the beginning of the text, both "" if they are unknown."""
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
        """Write the page; FileExistsError if the file is not one of kg2rag's."""
        write_output(Path(file), "page", self.to_html().encode())
        return Path(file)

    def saved(self, *folders: str | Path) -> Path:
        """The newest file that this page has saved, for `with_questions`.

        folders : searched for it; the working folder and ~/Downloads by default. FileNotFoundError:
        it is in none.
        """
        places = [Path(folder) for folder in folders] or [
            Path(),
            Path.home() / "Downloads",
        ]
        files = [
            file
            for place in places
            for file in place.glob(f"questions-{self.key}*.jsonl")
        ]
        if not files:
            searched = " or ".join(map(str, places))
            raise FileNotFoundError(
                f"No questions-{self.key}.jsonl in {searched}. Press save in the page, or move it."
            )
        return max(files, key=lambda file: file.stat().st_mtime)
