"""A relation -> its name read from tail to head: depends_on -> depended_on_by.

Tables for irregular ones (`inverses.toml`), a rule for third-person verbs, and "inverse of …" for the rest. Ours; the
design has the one example above.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_WORDS = re.compile(r"[\s_\-]+")
_INVERSES: dict[str, str] = {relation: relation for relation in _TABLES["symmetric"]}
for _one, _other in _TABLES["pairs"]:
    _INVERSES.setdefault(_one, _other)
    _INVERSES.setdefault(_other, _one)


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
    if len(rest) > 1 or (rest and rest[0] not in _TABLES["prepositions"]):
        return None
    if not (verb.isalpha() and re.fullmatch("..+[^s]s", verb)) or verb in _TABLES["no_verbs"]:
        return None
    return "_".join([_TABLES["participles"].get(verb) or _participle(verb), *rest, "by"])


def _participle(verb: str) -> str:
    """Of a regular verb: carries -> carried, publishes -> published, uses -> used, owns -> owned."""
    if verb.endswith("ies"):
        return f"{verb[:-3]}ied"
    if re.search(r"(sh|ch|ss|x|zz)es$", verb):
        return f"{verb[:-2]}ed"
    return f"{verb[:-1]}d" if verb.endswith("es") else f"{verb[:-1]}ed"
