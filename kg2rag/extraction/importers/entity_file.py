"""`entities.jsonl`, beside a table of triples -> what is known of the entities at their ends."""

from __future__ import annotations

from pathlib import Path

from kg2rag.extraction import Entity
from kg2rag.extraction.importers.file_source import Row
from kg2rag.text.normalisation import entity_key
from kg2rag.text.records import read_jsonl, wrong

NAMES = ("name", "canonical_name")
IDS = ("id", "entity_id")


class EntityFile:
    """The entities of a JSON Lines file: name, and optionally id, type, description, aliases.

    Aliases are strings, or objects whose `surface` is one. Where two records have the same name, the first describes
    it. No file, no entities.
    """

    def __init__(self, file: Path | None) -> None:
        self._by_id: dict[str, Entity] = {}
        self._by_name: dict[str, Entity] = {}
        for number, record in read_jsonl(file) if file else ():
            entity = _entity(Row(str(file), number, record))
            self._by_name.setdefault(entity_key(entity.name), entity)
            for column in IDS:
                if isinstance(id_ := record.get(column), str):
                    self._by_id[id_] = entity

    def entity(self, name: str, id_: str = "") -> Entity:
        """The entity of that id, else one of that name; else a bare one."""
        if id_ in self._by_id:
            return self._by_id[id_]
        known = self._by_name.get(entity_key(name)) if self._by_name else None
        return known or Entity(name)


def _entity(row: Row) -> Entity:
    name = row.string(*NAMES)
    if not name.strip():
        wrong(row.file, row.number, " or ".join(NAMES), row.value(*NAMES), "a string that is not blank")
    given = row.value("aliases") or []
    if not isinstance(given, list):
        wrong(row.file, row.number, "aliases", given, "a list")
    aliases: dict[str, None] = {}
    for item in given:
        alias = item.get("surface") if isinstance(item, dict) else item
        if not isinstance(alias, str):
            wrong(row.file, row.number, "aliases", item, "strings, or objects with a surface")
        if alias != name:
            aliases[alias] = None
    return Entity(name.strip(), row.string("type"), row.string("description"), tuple(aliases))
