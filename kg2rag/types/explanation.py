"""A ranking -> an explanation of each hit: stage, source, path of triples, arithmetic of the score.

Displays itself in Jupyter (self-contained HTML, all text escaped) and as plain text; nothing is
recomputed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Protocol

from kg2rag.text.cells import visible
from kg2rag.text.registry import split
from kg2rag.types.notes import StagedHits, for_stage, sources
from kg2rag.types.passages import FloatArray, Hit, Triple

GOLD = "◆ gold"  # marks hits that are gold
MAX_MEMBERS = 12  # the displayed members of a note; a strategy may record hundreds
CSS = """
.kg2rag-why { border-collapse: collapse; font-variant-numeric: tabular-nums; width: 100%; max-width: 62em; }
.jp-RenderedHTMLCommon table.kg2rag-why { table-layout: auto; }
.kg2rag-why td { padding: .5em .8em; vertical-align: top; text-align: left !important; border-top: 1px solid #8883; }
.kg2rag-why td.rank { opacity: .7; width: 1.6em; padding-right: .2em; }
.kg2rag-why td.score { white-space: nowrap; text-align: right !important; }
.kg2rag-why tr.is-gold td { background: rgba(0,158,115,.1); }
.kg2rag-why tr.is-gold td:first-child { box-shadow: inset 4px 0 #009E73; opacity: 1; }
.kg2rag-why small, .kg2rag-notes { display: block; opacity: .8; }
.kg2rag-why .stage { font-size: .8em; border: 1px solid; border-radius: 1em; padding: 0 .6em; opacity: .75; }
.kg2rag-why .gold { color: #00805a; font-weight: 600; white-space: nowrap; }
.kg2rag-missed { color: #b35c00; }
.kg2rag-path { display: flex; flex-wrap: wrap; align-items: center; gap: .3em; margin-top: .35em; font-size: .9em; }
.kg2rag-path .node { border: 1px solid #2b8fd0; border-radius: .9em; padding: .05em .6em; }
.kg2rag-path .relation { opacity: .8; }
.kg2rag-why bdi, .kg2rag-path span { unicode-bidi: isolate; overflow-wrap: anywhere; }
"""
"""The style of the HTML view; a page or cell with several explanations includes it once."""


class ExplainableRanking(StagedHits, Protocol):
    """The part of a ranking that its explanation reads."""

    @property
    def passage_ids(self) -> list[str]:
        """The ids of the hits, best first."""

    @property
    def score_parts(self) -> Mapping[str, FloatArray]:
        """The named columns whose formula gives the scores."""

    def top(self, k: int) -> Iterable[Hit]:
        """The first `k` hits."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """The first hits of a ranking, explained; make one with `Ranking.explain`.

    Attributes
    ----------
    limit : hits shown.
    texts : passage id -> the text shown for it; if empty, only ids are shown.
    gold : gold id -> the passages that count as it (itself, or those of a document); empty if unknown.
    """

    ranking: ExplainableRanking
    limit: int = 10
    texts: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    gold: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def hits(self) -> list[Hit]:
        """The hits shown."""
        return list(self.ranking.top(self.limit))

    def _arithmetic(self, hit: Hit) -> tuple[str, Mapping[str, float]]:
        """The formula with a hit's numbers, and the score parts that it does not name.

        The formula reads as "0.7 · 0.91 (hybrid) + 0.3 · 0.5 (graph)".
        """
        parts = hit.score_parts
        terms = [
            term
            for term in terms_of(self.ranking, hit.stage)
            if parts.keys() >= set(term[1::2])
        ]
        formula = " + ".join(_with_numbers(term, parts) for term in terms)
        # The weights in a formula have up to eight digits.
        formula = re.sub(
            r"\d+\.\d{5,}", lambda match: short_number(float(match[0])), formula
        )
        named_parts = {name for term in terms for name in term[1::2]}
        return formula, {
            name: value for name, value in parts.items() if name not in named_parts
        }

    def is_gold(self, hit: Hit) -> bool:
        """Whether the hit counts as gold."""
        return any(hit.passage_id in passages for passages in self.gold.values())

    def missed(self) -> dict[str, str]:
        """Gold id -> its rank in words, for each gold id without a displayed hit."""
        rank_of = {
            id_: rank for rank, id_ in enumerate(self.ranking.passage_ids, start=1)
        }
        missed = dict[str, str]()
        for gold_id, passages in self.gold.items():
            ranks = [rank_of[passage] for passage in passages if passage in rank_of]
            if not ranks:
                missed[gold_id] = (
                    f"not among the {len(rank_of)} passages of the ranking"
                )
            elif min(ranks) > self.limit:
                missed[gold_id] = f"at rank {min(ranks)}"
        return missed

    def _lines_below(self, hit: Hit) -> list[str]:
        """The lines below a hit: text, arithmetic of the score, remaining score parts."""
        formula, other_parts = self._arithmetic(hit)
        lines = [self.texts.get(hit.passage_id, "")]
        if formula:
            lines.append(f"= {formula}")
        if other_parts:
            lines.append(f"besides: {readable(other_parts)}")
        return list(filter(None, lines))

    def html(self) -> str:
        """An HTML fragment; the page supplies the style, `CSS`."""
        parts = [f"<p><b>{escape(self.title)}</b></p>"] if self.title else []
        for id_, rank_text in self.missed().items():
            parts.append(
                f'<p class="kg2rag-missed">{GOLD} <b>{escape(id_)}</b>: {escape(rank_text)}</p>'
            )
        parts.append('<table class="kg2rag-why"><tbody>')
        parts += [
            self._html_row(rank, hit) for rank, hit in enumerate(self.hits(), start=1)
        ]
        parts.append("</tbody></table>")
        for name, value in notes_of(self.ranking).items():
            parts.append(
                f'<small class="kg2rag-notes">{escape(f"{name}: {value}")}</small>'
            )
        # JupyterLab would typeset the text between two dollar signs as a formula.
        return '<div class="mathjax_ignore">' + "\n".join(parts) + "</div>"

    def _html_row(self, rank: int, hit: Hit) -> str:
        """The table row of a hit: rank, description, score."""
        stage = stage_label(self.ranking, hit.stage)
        parts = [f"<b><bdi>{escape(hit.passage_id)}</bdi></b>"]
        if stage:
            parts.append(f' <span class="stage">{escape(stage)}</span>')
        row_class = ""
        if self.is_gold(hit):
            parts.append(f' <span class="gold">{GOLD}</span>')
            row_class = ' class="is-gold"'
        parts += map(_small, self._lines_below(hit))
        parts += map(_html_triple, hit.path)
        cells = f'<td class="rank">{rank}</td><td>{"".join(parts)}</td><td class="score">{short_number(hit.score)}</td>'
        return f"<tr{row_class}>{cells}</tr>"

    def _repr_html_(self) -> str:
        return f"<style>{CSS}</style>{self.html()}"

    def __repr__(self) -> str:
        lines = [self.title] if self.title else []
        for rank, hit in enumerate(self.hits(), start=1):
            gold = f"  {GOLD}" if self.is_gold(hit) else ""
            stage = stage_label(self.ranking, hit.stage)
            lines.append(
                f"{rank:>2}  {hit.passage_id}  {short_number(hit.score)}  {stage}{gold}"
            )
            lines += [f"    {line}" for line in self._lines_below(hit)]
            lines += [f"    {_triple_line(triple)}" for triple in hit.path]
        lines += [f"{GOLD} {id_}: {rank}" for id_, rank in self.missed().items()]
        lines += [f"{name}: {value}" for name, value in notes_of(self.ranking).items()]
        return visible("\n".join(lines))


def _with_numbers(term: list[str], parts: Mapping[str, float]) -> str:
    """A term of `terms_of` as text, with the number of each part before its name."""
    pieces = list(term)
    pieces[1::2] = [f"{short_number(parts[name])} ({name})" for name in term[1::2]]
    return "".join(pieces)


def _html_triple(triple: Triple) -> str:
    """A triple as HTML: head, arrow with relation and strength, tail, description."""
    head, tail = (
        f'<span class="node">{escape(end)}</span>' for end in (triple.head, triple.tail)
    )
    arrow = f'<span class="relation">{escape(triple.relation)} ({triple.strength:.3g}) →</span>'
    path = f'<div class="kg2rag-path">{head}{arrow}{tail}</div>'
    if triple.description:
        path += _small(triple.description)
    return path


def _triple_line(triple: Triple) -> str:
    """A triple as one line of plain text: triple, strength, description."""
    line = f"{triple}  (strength {triple.strength:g})"
    if triple.description:
        line += f": {' '.join(triple.description.split())}"
    return line


def stage_label(ranking: StagedHits, stage: str) -> str:
    """The label of a stage, with the source of its hits if that differs: "seed, from dense"."""
    source = sources(ranking)[stage]
    return stage if source == stage else f"{stage}, from {source}"


def terms_of(ranking: ExplainableRanking, stage: str) -> list[list[str]]:
    """The terms of a stage's formula, each split as [text, score part, text, …, text].

    The list is empty if the stage has no formula, or the ranking no score parts.
    """
    formula = for_stage(ranking.notes.formula, stage)
    if not (formula and ranking.score_parts):
        return []
    # Longer names match first, and none within a word or after a dot.
    names = sorted(ranking.score_parts, key=len, reverse=True)
    pattern = "|".join(rf"(?<![\w.]){re.escape(name)}(?!\w)" for name in names)
    return [re.split(f"({pattern})", term) for term in split(formula, "+")]


def notes_of(ranking: StagedHits) -> dict[str, str]:
    """The notes of a ranking as texts."""
    return {
        name: readable(value) for name, value in ranking.notes.display_fields().items()
    }


def _small(line: str) -> str:
    """A line as escaped HTML in small type."""
    return f"<small><bdi>{escape(line)}</bdi></small>"


def short_number(value: float) -> str:
    """A number with four significant digits."""
    return f"{value:.4g}"


def readable(value: object) -> str:
    """The text that displays a note's value; long lists are cut to `MAX_MEMBERS`."""
    if isinstance(value, float):
        return short_number(value)
    if isinstance(value, Mapping):
        members = [f"{name} {readable(part)}" for name, part in value.items()]
    elif isinstance(value, tuple | list):
        members = [_readable_member(member) for member in value]
    else:
        return str(value)
    if len(members) > MAX_MEMBERS:
        members[MAX_MEMBERS:] = [f"… and {len(members) - MAX_MEMBERS} more"]
    return ", ".join(members) or "none"


def _readable_member(member: object) -> str:
    """The text that displays a member of a list; a nested list is in parentheses."""
    return (
        f"({readable(member)})"
        if isinstance(member, tuple | list)
        else readable(member)
    )
