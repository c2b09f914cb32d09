"""A corpus -> known items: the heading of a passage, or one of its sentences without the title, as the query for it.

They say how well a passage is found again, and nothing of questions that need several passages. After Azzopardi et al.,
SIGIR 2007; what counts as a heading or a sentence is ours.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kg2rag.compute import write_output
from kg2rag.types import Corpus

if TYPE_CHECKING:
    from kg2rag.report import Labelling

WORDS = (8, 30)
"""Of a sentence that serves as a known item."""


@dataclass(frozen=True, eq=False, repr=False)
class WrittenQuestions:
    """A test set; `rows` goes to `data.with_questions`, `save` to `kg2rag compare FOLDER --questions FILE`.

    Attributes
    ----------
    rows : id, question, answers, gold (ids of passages, a chain's in its order), type, hops, bridges, origin.
    dropped : reason -> chains without a question.
    failures : what the endpoint did not answer usably; the same call asks again where no answer came.
    usage : calls, tokens, cost; None without a model.
    """

    corpus: Corpus
    rows: Sequence[Mapping[str, Any]]
    dropped: Mapping[str, int] = field(default_factory=dict)
    failures: Sequence[Any] = ()
    usage: object = None

    def save(self, file: str | Path) -> Path:
        """Write the rows as JSON Lines; FileExistsError if they would overwrite a file that kg2rag did not write."""
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in self.rows)
        write_output(Path(file), "questions", text.encode())
        return Path(file)

    def label(self) -> Labelling:
        """The page in which somebody says of each gold passage whether the question needs it."""
        from kg2rag.report import Labelling  # with pandas, which reading a set does not need

        asked = [{name: value for name, value in row.items() if name != "gold"} for row in self.rows]
        return Labelling(asked, {row["id"]: list(row["gold"]) for row in self.rows}, self.corpus)

    def __repr__(self) -> str:
        kinds = Counter(row["origin"] for row in self.rows)
        said = [f"{len(self.rows)} questions: {', '.join(f'{n} {kind}' for kind, n in kinds.items()) or 'none'}"]
        said += [f"  {count} chains dropped: {reason}" for reason, count in self.dropped.items()]
        return "\n".join([*said, *([f"  {self.usage}"] if self.usage else [])])


def known_items(corpus: Corpus, limit: int = 50, seed: int = 0) -> WrittenQuestions:
    """Headings that only one passage has, and sentences without the title, as queries for their passages."""
    headed = Counter(heading for one in corpus.metadata.get("headings", ()) for heading in _listed(one))
    rows = list[dict[str, Any]]()
    for row in np.random.default_rng(seed).permutation(len(corpus)).tolist():
        if len(rows) == limit:
            break
        passage = corpus[row]
        own = [one for one in _listed(passage.metadata.get("headings")) if headed[one] == 1 and len(one.split()) > 2]
        query, origin = (own[-1], "known item: a heading of the passage") if own else ("", "")
        for sentence in () if query else corpus.sentences(row):
            text = " ".join((sentence.replace(passage.title, " ") if passage.title else sentence).split())
            if WORDS[0] <= len(text.split()) <= WORDS[1] and text[-1] in ".!?" and "|" not in text:  # no row of a table
                query, origin = text, "known item: a sentence of the passage, without its title"
                break
        if query:
            about = {"gold": [passage.id], "type": "known item", "hops": 1, "origin": origin}
            rows.append({"id": f"k{len(rows) + 1}", "question": query, **about})
    return WrittenQuestions(corpus, rows)


def _listed(headings: object) -> list[str]:
    return list(headings) if isinstance(headings, list | tuple | np.ndarray) else []
