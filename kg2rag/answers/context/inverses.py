"""A relation -> its name read from tail to head: depends_on -> depended_on_by.

A table for irregular inverses, a rule for third-person verbs, and "inverse of …" for the rest. Ours; the design has the
one example above.
"""

from __future__ import annotations

import re

PAIRS = (
    ("part_of", "has_part"),
    ("has", "belongs_to"),
    ("member_of", "has_member"),
    ("instance_of", "has_instance"),
    ("subclass_of", "has_subclass"),
    ("is_a", "has_instance"),
    ("parent_of", "child_of"),
    ("employs", "works_for"),
    ("located_in", "location_of"),
    ("born_in", "birthplace_of"),
    ("died_in", "place_of_death_of"),
    ("author_of", "written_by"),
    ("wrote", "written_by"),
    ("directed", "directed_by"),
    ("founded", "founded_by"),
    ("created", "created_by"),
    ("precedes", "follows"),
    ("before", "after"),
)
SYMMETRIC = ("married_to", "spouse_of", "sibling_of", "related_to", "same_as", "similar_to", "connected_to", "borders")
PARTICIPLES = {
    "builds": "built",
    "finds": "found",
    "gives": "given",
    "holds": "held",
    "keeps": "kept",
    "knows": "known",
    "leads": "led",
    "makes": "made",
    "plans": "planned",
    "reads": "read",
    "runs": "run",
    "sees": "seen",
    "sells": "sold",
    "sends": "sent",
    "sets": "set",
    "stops": "stopped",
    "submits": "submitted",
    "takes": "taken",
    "teaches": "taught",
    "wins": "won",
    "writes": "written",
}
PREPOSITIONS = ("at", "for", "from", "in", "into", "of", "on", "over", "to", "upon", "with")
NO_VERBS = frozenset({"always", "as", "does", "goes", "has", "his", "is", "its", "series", "species", "this", "was"})
_WORDS = re.compile(r"[\s_\-]+")


def _table() -> dict[str, str]:
    table = {relation: relation for relation in SYMMETRIC}
    for relation, inverse in PAIRS:
        table.setdefault(relation, inverse)
        table.setdefault(inverse, relation)
    return table


_INVERSES = _table()


def inverse(relation: str) -> str:
    """The relation's name from the other end, in the spelling of the given one (case, underscores or spaces).

    >>> [inverse(name) for name in ("depends_on", "HOSTS", "is located in")]
    ['depended_on_by', 'HOSTED_BY', 'inverse of is located in']
    """
    words = _WORDS.split(relation.strip())
    known = _INVERSES.get("_".join(words).lower()) or _passive([word.lower() for word in words])
    if not known:
        return f"inverse of {relation.strip()}"
    spelled = known if "_" in relation or len(words) == 1 else known.replace("_", " ")
    return spelled.upper() if relation.isupper() else spelled


def _passive(words: list[str]) -> str | None:
    """["depends", "on"] -> "depended_on_by"; None where the words are no third-person verb with a preposition."""
    verb, *rest = words
    if len(rest) > 1 or (rest and rest[0] not in PREPOSITIONS):
        return None
    if not verb.isalpha() or not verb.endswith("s") or verb.endswith("ss") or len(verb) < 4 or verb in NO_VERBS:
        return None
    return "_".join([PARTICIPLES.get(verb) or _participle(verb), *rest, "by"])


def _participle(verb: str) -> str:
    """Of a regular verb: carries -> carried, publishes -> published, uses -> used, owns -> owned."""
    if verb.endswith("ies"):
        return f"{verb[:-3]}ied"
    if re.search(r"(sh|ch|ss|x|zz)es$", verb):
        return f"{verb[:-2]}ed"
    return f"{verb[:-1]}d" if verb.endswith("es") else f"{verb[:-1]}ed"
