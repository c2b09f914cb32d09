"""A corpus -> known items: queries that are a heading or a sentence of their gold passage.

They measure how well a passage is found again, and do not test questions that need several
passages. After Azzopardi et al., SIGIR 2007; ours: which headings and sentences are queries.
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
from kg2rag.types import Corpus, Passage

if TYPE_CHECKING:
    from kg2rag.report import Labelling

WORDS = (8, 30)
"""Least and largest number of words of a sentence that is a known item."""


@dataclass(frozen=True, eq=False, repr=False)
class WrittenQuestions:
    """Questions about a corpus, for `data.with_questions` (`rows`) or the command line (`save`).

    Attributes
    ----------
    rows : one mapping per question: id, question, answers, gold (ids of passages, those of a chain
        in its order), type, hops, bridges, origin.
    dropped : reason -> number of chains of passages without a question.
    failures : calls of a language model without a usable response; the next call repeats them.
    usage : calls, tokens and cost of the language model; None without one.
    """

    corpus: Corpus
    rows: Sequence[Mapping[str, Any]]
    dropped: Mapping[str, int] = field(default_factory=dict)
    failures: Sequence[Any] = ()
    usage: object = None

    def save(self, file: str | Path) -> Path:
        """Write the rows as JSON Lines, and return the path.

        FileExistsError: a file of that name exists that kg2rag did not write.
        """
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in self.rows)
        write_output(Path(file), "questions", text.encode())
        return Path(file)

    def label(self) -> Labelling:
        """A page on which a person judges for each gold passage whether the question needs it."""
        # Imports pandas, which reading a set does not need.
        from kg2rag.report import Labelling

        questions = [
            {name: value for name, value in row.items() if name != "gold"}
            for row in self.rows
        ]
        return Labelling(
            questions, {row["id"]: list(row["gold"]) for row in self.rows}, self.corpus
        )

    def __repr__(self) -> str:
        counts = Counter(row["origin"] for row in self.rows)
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        lines = [f"{len(self.rows)} questions: {kinds or 'none'}"]
        lines += [
            f"  {count} chains dropped: {reason}"
            for reason, count in self.dropped.items()
        ]
        if self.usage:
            lines.append(f"  {self.usage}")
        return "\n".join(lines)


def known_items(corpus: Corpus, limit: int = 50, seed: int = 0) -> WrittenQuestions:
    """Known items of up to `limit` random passages.

    The query is a heading that only this passage has, or else a sentence without the title.
    """
    n_passages = Counter(
        heading
        for headings in corpus.metadata.get("headings", ())
        for heading in _as_list(headings)
    )
    rows = list[dict[str, Any]]()
    for row in np.random.default_rng(seed).permutation(len(corpus)).tolist():
        if len(rows) == limit:
            break
        passage = corpus[row]
        origin = "known item: a heading of the passage"
        query = _unique_heading(passage, n_passages)
        if not query:
            origin = "known item: a sentence of the passage, without its title"
            query = _sentence_query(passage, corpus.sentences(row))
        if query:
            fields = {
                "gold": [passage.id],
                "type": "known item",
                "hops": 1,
                "origin": origin,
            }
            rows.append({"id": f"k{len(rows) + 1}", "question": query, **fields})
    return WrittenQuestions(corpus, rows)


def _unique_heading(passage: Passage, n_passages: Mapping[str, int]) -> str:
    """The innermost heading of over two words that no other passage has; "" for none."""
    for heading in reversed(_as_list(passage.metadata.get("headings"))):
        if n_passages[heading] == 1 and len(heading.split()) > 2:
            return heading
    return ""


def _sentence_query(passage: Passage, sentences: Sequence[str]) -> str:
    """The first sentence of suitable length without the passage's title; "" if there is none."""
    for sentence in sentences:
        if passage.title:
            sentence = sentence.replace(passage.title, " ")
        words = sentence.split()
        text = " ".join(words)
        # A sentence with "|" is a row of a table.
        if WORDS[0] <= len(words) <= WORDS[1] and text[-1] in ".!?" and "|" not in text:
            return text
    return ""


def _as_list(headings: object) -> list[str]:
    """The headings of a passage's metadata as a list; [] if it has none."""
    return list(headings) if isinstance(headings, list | tuple | np.ndarray) else []
