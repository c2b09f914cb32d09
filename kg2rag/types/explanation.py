"""A ranking -> why each hit was retrieved: stage, source, the triples on its path, the arithmetic of its score.

Displays itself in Jupyter (self-contained HTML, all text escaped) and as plain text; nothing is recomputed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from kg2rag.text.cells import visible
from kg2rag.text.registry import split
from kg2rag.types.notes import for_stage, sources
from kg2rag.types.passages import Hit

if TYPE_CHECKING:
    from kg2rag.types.rankings import Ranking


GOLD = "◆ gold"  # marks hits that are gold
LISTED = 12  # members of a note that are shown; a strategy may record hundreds
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
"""Of the HTML view; pages and cells that hold several explanations give it once."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """The first hits of a ranking, explained; make one with `Ranking.explain`.

    Attributes
    ----------
    limit : hits shown.
    texts : passage id -> the text shown for it; only ids are shown where empty.
    gold : gold id -> the passages that count as it (itself, or those of a document); empty where unknown.
    """

    ranking: Ranking
    limit: int = 10
    texts: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    gold: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def hits(self) -> list[Hit]:
        """The hits shown."""
        return list(self.ranking.top(self.limit))

    def _arithmetic(self, hit: Hit) -> tuple[str, str]:
        """The formula with the hit's numbers, "0.7 · 0.91 (hybrid) + 0.3 · 0.5 (graph)", and the parts it lacks."""
        every, parts = terms_of(self.ranking, hit.stage), hit.score_parts
        if every is None:
            return readable(parts) if parts else "", ""
        told = {name: f"{number(value)} ({name})" for name, value in parts.items()}
        terms = [term for term in every if parts.keys() >= set(term[1::2])]
        total = " + ".join("".join(told.get(one, one) if at % 2 else one for at, one in enumerate(x)) for x in terms)
        total = re.sub(r"\d+\.\d{5,}", lambda found: number(float(found[0])), total)
        unnamed = parts.keys() - {name for term in terms for name in term[1::2]}
        return total, readable({name: value for name, value in parts.items() if name in unnamed}) if unnamed else ""

    def is_gold(self, hit: Hit) -> bool:
        """Whether the hit counts as gold."""
        return any(hit.passage_id in passages for passages in self.gold.values())

    def missed(self) -> dict[str, str]:
        """Gold that none of the hits shown counts as -> where it is ranked instead."""
        places = {id_: at for at, id_ in enumerate(self.ranking.passage_ids, start=1)}
        first = {id_: min((places[p] for p in of_gold if p in places), default=0) for id_, of_gold in self.gold.items()}
        nowhere = f"not among the {len(places)} passages of the ranking"
        return {id_: f"at rank {at}" if at else nowhere for id_, at in first.items() if not 0 < at <= self.limit}

    def _below(self, hit: Hit) -> list[str]:
        total, besides = self._arithmetic(hit)
        lines = self.texts.get(hit.passage_id), total and f"= {total}", besides and f"besides: {besides}"
        return [line for line in lines if line]

    def html(self) -> str:
        """A fragment for a page that brings the styles, `CSS`."""
        parts = [f"<p><b>{escape(self.title)}</b></p>"] if self.title else []
        for id_, where in self.missed().items():
            parts.append(f'<p class="kg2rag-missed">{GOLD} <b>{escape(id_)}</b>: {escape(where)}</p>')
        parts.append('<table class="kg2rag-why"><tbody>')
        for rank, hit in enumerate(self.hits(), start=1):
            stage, gold = stage_label(self.ranking, hit.stage), self.is_gold(hit)
            head = f"<b><bdi>{escape(hit.passage_id)}</bdi></b>"
            head += f' <span class="stage">{escape(stage)}</span>' * bool(stage)
            head += f' <span class="gold">{GOLD}</span>' * gold + "".join(map(_small, self._below(hit)))
            for one in hit.path:
                ends = [f'<span class="node">{escape(end)}</span>' for end in (one.head, one.tail)]
                arrow = f'<span class="relation">{escape(one.relation)} ({one.strength:.3g}) →</span>'
                head += f'<div class="kg2rag-path">{arrow.join(ends)}</div>' + _small(one.description)
            cells = f'<td class="rank">{rank}</td><td>{head}</td><td class="score">{number(hit.score)}</td>'
            parts.append("<tr" + ' class="is-gold"' * gold + f">{cells}</tr>")
        parts.append("</tbody></table>")
        for name, value in notes_of(self.ranking).items():
            parts.append(f'<small class="kg2rag-notes">{escape(f"{name}: {value}")}</small>')
        # JupyterLab takes what stands between two $ for a formula, and passages speak of dollars.
        return '<div class="mathjax_ignore">' + "\n".join(parts) + "</div>"

    def _repr_html_(self) -> str:
        return f"<style>{CSS}</style>{self.html()}"

    def __repr__(self) -> str:
        lines = [self.title] if self.title else []
        for rank, hit in enumerate(self.hits(), start=1):
            stage, gold = stage_label(self.ranking, hit.stage), f"  {GOLD}" * self.is_gold(hit)
            lines.append(f"{rank:>2}  {hit.passage_id}  {number(hit.score)}  {stage}{gold}")
            lines += [f"    {line}" for line in self._below(hit)]
            for one in hit.path:
                about = " ".join(one.description.split())
                lines.append(f"    {one}  (strength {one.strength:g}){about and f': {about}'}")
        lines += [f"{GOLD} {id_}: {where}" for id_, where in self.missed().items()]
        lines += [f"{name}: {value}" for name, value in notes_of(self.ranking).items()]
        return visible("\n".join(lines))


def stage_label(ranking: Ranking, stage: str) -> str:
    """A stage and, if it has another name, where its hits were searched: "seed, from dense"."""
    source = sources(ranking)[stage]
    return stage if source == stage else f"{stage}, from {source}"


def terms_of(ranking: Ranking, stage: str) -> list[list[str]] | None:
    """The terms of a stage's formula, each as text, part, text, part, …, text; None where there is no formula."""
    formula = for_stage(ranking.notes.formula, stage)
    if not formula:
        return None
    names = sorted(ranking.score_parts, key=len, reverse=True)  # the longer of two that begin alike
    named = re.compile("(" + ("|".join(rf"(?<![\w.]){re.escape(name)}(?!\w)" for name in names) or "(?!)") + ")")
    return [named.split(term) for term in split(formula, "+")]


def notes_of(ranking: Ranking) -> dict[str, str]:
    """What the strategy records about the query as a whole, as text."""
    return {name: readable(value) for name, value in ranking.notes.display_fields().items()}


def _small(line: str) -> str:
    return f"<small><bdi>{escape(line)}</bdi></small>" if line else ""


def number(value: float) -> str:
    """A number of a score as it is shown, to four digits."""
    return f"{value:.4g}"


def readable(value: object) -> str:
    """A note in words; of long lists the first members."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        members = [f"{name} {readable(part)}" for name, part in value.items()]
    elif isinstance(value, tuple | list):
        members = [f"({readable(x)})" if isinstance(x, tuple | list) else readable(x) for x in value]
    else:
        return str(value)
    unshown = [f"… and {len(members) - LISTED} more"] if len(members) > LISTED else []
    return ", ".join([*members[:LISTED], *unshown]) or "none"
