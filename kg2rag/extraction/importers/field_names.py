"""Columns and attributes as other tools call them -> the fields that are read here.

Case and separators do not count: "Edge Label", "edge_label" and ":EdgeLabel" are one name. The synonyms are those of
pandas, networkx, Gephi, yEd, Cytoscape, Neo4j (APOC and admin import), Neptune, KGTK, Graphiti, LangChain, LlamaIndex,
GraphRAG and LightRAG. Ours: the order in which they count, from the most to the least specific.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_NAMES = """
head: head subject subj source src from start startnode node1 entity1 arg1 headentity sourcenode sourcename fromnode h s
    sourceid fromid startid startnodeid
tail: tail object obj target tgt to end endnode node2 entity2 arg2 dst dest destination tailentity targetnode targetname
    tonode t o targetid toid endid endnodeid
relation: relation predicate relationship rel relationtype relationshiptype reltype relationname relationshipname
    edgelabel edgetype property interaction sharedinteraction verb r p label labels type types typer name keywords title
    link edge
passage_id: passageid chunkid passage chunk textunitid
strength: strength
weight: weight weights edgeweight
confidence: confidence llmconfidence
head_type: headtype subjecttype subjtype sourcetype fromtype
tail_type: tailtype objecttype objtype targettype totype
head_id: headid subjectid subjid sourceid fromid startid
tail_id: tailid objectid objid targetid toid endid
description: description relationdescription relationshipdescription edgedescription fact
name: name fullname displayname sharedname entityname canonicalname preflabel prefname
caption: title label nodelabel caption
id: entityid entity id
node_type: type entitytype nodetype labels category class
node_description: description entitydescription desc summary definition
"""
FIELDS: Mapping[str, tuple[str, ...]] = {
    field: tuple(names.split()) for field, names in re.findall(r"^(\w+): (.*(?:\n .*)*)", _NAMES, re.MULTILINE)
}
"""Field -> its names, folded; of several that a record has, the first counts."""
DIRECTIONS = frozenset({"directed", "undirected", "mutual"})
"""What the column "Type" of Gephi's edges holds: it names no relation."""
_SEPARATOR = re.compile(r"[\W_]+")


def folded(name: object) -> str:
    """A name in lower case without separators.

    >>> [folded(name) for name in ("Edge Label", ":START_ID", "relationType")]
    ['edgelabel', 'startid', 'relationtype']
    """
    return _SEPARATOR.sub("", str(name)).casefold()


@lru_cache(maxsize=1_000)
def columns_of(field: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that may hold a field, the most specific first; of two that fold to one name, the first.

    >>> columns_of("head", ("Source", "Target", "subject"))
    ('subject', 'Source')
    """
    by_name: dict[str, str] = {}
    for column in columns:
        by_name.setdefault(folded(column), column)
    return tuple(by_name[name] for name in FIELDS[field] if name in by_name)


def values_of(field: str, record: Mapping[Any, Any]) -> list[Any]:
    """The values that a record has for a field, the most specific first; null and blank ones are left out."""
    return [record[column] for column in _filled(field, record)]


def relation_of(record: Mapping[Any, Any]) -> str:
    """The relation that a record names; "" where it names none.

    >>> relation_of({"Source": "a", "Type": "Directed", "Edge Label": "steers"}), relation_of({"type": "Undirected"})
    ('steers', '')
    """
    for column in _filled("relation", record):
        value = record[column]
        name = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        if folded(column) != "type" or name.strip().casefold() not in DIRECTIONS:
            return name
    return ""


def _filled(field: str, record: Mapping[Any, Any]) -> list[str]:
    """The columns of a field whose values are not null or blank."""
    columns = columns_of(field, tuple(column for column in record if isinstance(column, str)))
    return [column for column in columns if not _is_blank(record[column])]


def _is_blank(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return not value
    return value is None or value != value or not str(value).strip()
