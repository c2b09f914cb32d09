"""A question and systems -> the explained hits of each system, with marked gold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kg2rag.knowledge.announcement import announce
from kg2rag.report.html import HtmlPage, render
from kg2rag.retrievers.contract import Retriever
from kg2rag.retrievers.system_parts import workloads
from kg2rag.text.cells import excerpt, visible
from kg2rag.types import Explanation, QADataset, Query, Question, require_k

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, repr=False)
class QuestionExplanation(HtmlPage):
    """A question with one explanation of hits per system, the result of `explain`.

    gold, answers, id : empty for a question that is not in the data set.
    """

    question: str
    explanations: Mapping[str, Explanation]
    gold: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    id: str = ""

    def facts(self) -> dict[str, str]:
        """Names "id", "answer" and "gold" -> text, as far as they are known."""
        if not self.id:
            return {"gold": "unknown: the question is new to the set"}
        facts = {
            "id": self.id,
            "answer": " / ".join(self.answers),
            "gold": ", ".join(self.gold),
        }
        return {name: value for name, value in facts.items() if value}

    @property
    def title(self) -> str:
        """The question."""
        return self.question

    def body(self) -> Markup:
        """The hits of the systems side by side."""
        from markupsafe import Markup

        columns = []
        for name, explanation in self.explanations.items():
            column = Markup(explanation.html())  # noqa: S704 (an explanation escapes its own texts)
            columns.append((name, column))
        return render("explained.html.j2", explained=self, columns=columns)

    def __repr__(self) -> str:
        lines = [self.question]
        for name, value in self.facts().items():
            lines.append(f"{name}: {value}")
        for name, explanation in self.explanations.items():
            lines.append(f"\n── {name} ──\n{explanation}")
        return visible("\n".join(lines))


def explain(
    systems: Mapping[str, Retriever], data: QADataset, question: str, *, k: int = 5
) -> QuestionExplanation:
    """The hits of systems for a question, with the reasons for each hit.

    Parameters
    ----------
    question : the id or the text of a question of the set, or any other question, whose gold is
        unknown.
    k : number of hits. Gold below them is listed with its rank, if it has one.

    Raises ValueError: there is no system, or the question is a word and no id, see `find_question`.
    """
    if not systems:
        raise ValueError("No system to explain. Name at least one.")
    require_k(k)
    known_question, query = find_question(data, question)
    announce(data.name, workloads(systems, [query]))
    described = known_question or Question("", query.text, gold={})
    ids = data.corpus.ids
    gold = {}
    for gold_id, rows in data.gold_rows(described).items():
        gold[gold_id] = tuple(ids[row] for row in rows)
    explanations = {}
    for name, system in systems.items():
        ranking = system.retrieve(query, max(k, len(data.corpus)))
        shown = ranking.passage_ids[:k]
        texts = {passage_id: _shown_text(data, passage_id) for passage_id in shown}
        explanations[name] = Explanation(ranking, k, texts, "", gold)
    return QuestionExplanation(
        described.text,
        explanations,
        tuple(described.gold),
        described.answers,
        described.id,
    )


def _shown_text(data: QADataset, passage_id: str) -> str:
    """The title of a passage, unless it is the id, and the first part of its text."""
    # Rows of a loaded ranking are positions in its ids, not rows of the corpus.
    passage = data.corpus[data.corpus.row(passage_id)]
    if passage.title in ("", passage_id):
        return excerpt(passage.text)
    return f"{passage.title}: {excerpt(passage.text)}"


def find_question(data: QADataset, given: str) -> tuple[Question | None, Query]:
    """The question of the set with an id or text, and its query; None and a new query for others.

    ValueError: `given` is blank, or a single word similar to an id.
    """
    text = given.strip()
    for question, query in zip(data.questions, data.queries, strict=True):
        if text in (question.id, question.text.strip()):
            return question, query
    ids = [question.id for question in data.questions]
    near = get_close_matches(text, ids, n=3, cutoff=0.5)
    if not text:
        near = ids[:3]
    if near and len(text.split()) < 2 and "?" not in text:
        raise ValueError(
            f"{data.name} has no question {given!r}. Similar ids: {', '.join(near)}. A new question "
            "needs several words or a question mark."
        )
    return None, Query("new", given)
