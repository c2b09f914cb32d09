"""Questions and hits -> a page in which hits are judged by the keys 1 and 0, and kept as questions with gold.

The judge sees no system. Below the hits stands how many more questions a difference would take, by the spread of the
differences so far, as `kg2rag.evaluation.verdict.questions_needed` has it; of several systems, by the two that differ
most.

Reference: Webber, Moffat & Zobel, "Statistical Power in Retrieval Experimentation", CIKM 2008.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kg2rag.compute import write_output
from kg2rag.report.html import Frame, HtmlPage, as_json, document, render

if TYPE_CHECKING:
    from markupsafe import Markup

    from kg2rag.types import Corpus

LETTERS = 2_000
"""Of a passage that is shown to be judged."""


@dataclass(frozen=True, eq=False, repr=False)
class Labelling(HtmlPage):
    """Hits to be judged; in Jupyter a page in a frame.

    Judgements are kept as they are made: in the file that the judge names, where the browser can write one (Chromium's
    kind, from a page on the disk); else in the browser's memory of the page, and, as in a notebook's frame, for as
    long as the page is open. `save` downloads them. A question whose hits are all irrelevant is kept, without gold, and
    one that was not judged as it was, so that the next page goes on where this one ended.

    questions : rows of the file to be, each with `id` and `question`, and whatever else stays in it, such as `answers`.
    pool : question -> its hits, in the order in which they are shown.
    corpus : has their texts; None where they are not known.
    runs : question -> the first hits of each system; needed to count the questions that are missing.
    scores : recall of questions judged before, (n_questions, n_systems), the systems in the order of the runs.
    kept : rows with nothing to judge, which the file has as well.
    """

    questions: Sequence[Mapping[str, Any]]
    pool: Mapping[str, Sequence[str]]
    corpus: Corpus | None
    runs: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)
    scores: Sequence[Sequence[float]] = ()
    kept: Sequence[Mapping[str, Any]] = ()

    @property
    def title(self) -> str:
        """The heading of the page."""
        return f"Hits to judge: {len(self.questions):,} question{'s' if len(self.questions) != 1 else ''}"

    def body(self) -> Markup:
        """The place of the script."""
        return render("label.html.j2", title=self.title, alone=True)

    @property
    def key(self) -> str:
        """Names what is asked: the same questions and hits have the same judgements."""
        return hashlib.sha256(as_json([[*map(dict, self.questions)], self.pool]).encode()).hexdigest()[:8]

    def data(self) -> str:
        """What the page's script reads, as JSON."""
        asked, passages = [], dict[str, tuple[str, str]]()
        for row in self.questions:
            hits = list(self.pool[row["id"]])
            runs = [[hits.index(hit) for hit in run if hit in hits] for run in self.runs.get(row["id"], ())]
            asked.append({"row": dict(row), "hits": hits, "runs": runs})
        for id_ in (id_ for hits in self.pool.values() for id_ in hits):
            passage = self.corpus and self.corpus[self.corpus.row(id_)]
            passages[id_] = (passage.title, passage.text[:LETTERS]) if passage else ("", "")
        held = {"key": self.key, "questions": asked, "passages": passages, "scores": self.scores}
        return as_json({**held, "kept": [*map(dict, self.kept)]})

    def to_html(self) -> str:
        """A page that loads nothing and saves `questions-KEY.jsonl`, as `kg2rag compare --questions` reads it."""
        return document(self.title, self.body(), {"label.js": self.data()})

    def _repr_html_(self) -> str:
        return Frame(self.to_html(), 640)._repr_html_()

    def save(self, file: str | Path) -> Path:
        """Write the page; FileExistsError if it would overwrite a file that kg2rag did not write."""
        write_output(Path(file), "page", self.to_html().encode())
        return Path(file)

    def saved(self, *folders: str | Path) -> Path:
        """The newest file that this page has saved, for `with_questions`.

        `folders` : where it may lie; the working folder and ~/Downloads otherwise. FileNotFoundError where it does not.
        """
        places = [Path(one) for one in folders] or [Path(), Path.home() / "Downloads"]
        found = [file for place in places for file in place.glob(f"questions-{self.key}*.jsonl")]
        if not found:
            looked = f"No questions-{self.key}.jsonl in {' or '.join(map(str, places))}."
            raise FileNotFoundError(f"{looked} Press save in the page, or move it there.")
        return max(found, key=lambda file: file.stat().st_mtime)
