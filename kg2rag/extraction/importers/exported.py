"""What the exports of other tools have in common: entities and relations that name chunks -> an `Extraction`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, log1p

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.importers.chunks import ChunkMap
from kg2rag.types.passages import Triple

DEFAULT_STRENGTH = 5.0
LEAST = 0.1  # the strength of a relation whose weight is 0 or below
NO_PASSAGE = "relations of no known passage, kept without one"


@dataclass(frozen=True)
class Relation:
    """A relation between two entities; `weight` is as the export has it, None where it has none."""

    head: str
    text: str
    tail: str
    weight: float | None
    chunks: tuple[str, ...]


def extraction_of(
    entities: Iterable[tuple[Entity, Sequence[str]]],
    relations: Sequence[Relation],
    chunks: ChunkMap,
    notes: Counter[str],
) -> Extraction:
    """Entities with their chunks, and relations, as triples and mentions of passages.

    A relation becomes one triple for each passage that states it. Weights are sums over all its statements, without an
    upper bound, so a strength is 10 · ln(1 + weight) / ln(1 + the greatest weight).
    """
    described: list[Entity] = []
    mentions: list[Mention] = []
    for entity, named_in in entities:
        described.append(entity)
        passages = chunks.passages(named_in, [entity.name], "entities", notes)
        notes["entities of no known passage"] += not passages
        mentions.extend(Mention(entity.name, passage) for passage in passages)
    triples: list[Triple] = []
    for relation, strength in zip(relations, _strengths(relations, notes), strict=True):
        passages = chunks.passages(relation.chunks, [relation.head, relation.tail], "relations", notes)
        notes[NO_PASSAGE] += not passages
        triples += [
            Triple(relation.head, relation.text, relation.tail, passage, strength) for passage in passages or [""]
        ]
    counted = {cause: count for cause, count in notes.items() if count}
    return Extraction(tuple(triples), tuple(mentions), tuple(described), counted)


def _strengths(relations: Sequence[Relation], notes: Counter[str]) -> list[float]:
    greatest = max((r.weight for r in relations if r.weight is not None and isfinite(r.weight)), default=0.0)
    strengths = []
    for weight in (relation.weight for relation in relations):
        if weight is None or not isfinite(weight):
            notes[f"relations without a weight, of strength {DEFAULT_STRENGTH:g}"] += 1
            strengths.append(DEFAULT_STRENGTH)
        elif weight <= 0:
            notes[f"relations of weight 0 or below, of strength {LEAST:g}"] += 1
            strengths.append(LEAST)
        else:
            strengths.append(max(LEAST, round(10 * log1p(weight) / log1p(greatest), 3)))
    return strengths
