"""Query text -> whether its form asks for what stands in a relation to something: users, callers, parents, impact.

Ours. Only forms count, not words alone: "what uses X", but not "how to use X"; "what does X depend on", but not "what
is the best way to import X". Prose that names people and places is not decided here (`analysis.NAMES_IN_PROSE`).
"""

from __future__ import annotations

import re

_VERBS = """
affect belong break build call configure connect consume contain cover create depend emit expect export expose extend
handle hold host implement impact import inherit instantiate invoke join link listen maintain manage mock modify monitor
open override own point produce publish read receive refer reference relate rely require run send serve subclass
subscribe talk touch trigger update use validate wrap write""".split()
_PREPOSITIONS = "on|upon|to|from|with|in|into|by|of|against"


def _third_person(verb: str) -> str:
    return f"{verb[:-1]}ies" if verb[-1] == "y" else f"{verb}e?s"


def _past(verb: str) -> str:
    irregular = {"read": "read", "write": "written", "run": "run", "hold": "held", "build": "built", "send": "sent"}
    known = {**irregular, "break": "broken", "rely": "relied"}
    regular = f"{verb}d" if verb[-1] == "e" else f"{verb[:-1]}ied" if verb[-1] == "y" else f"{verb}(?:ped|led|ed)"
    return known.get(verb, regular)


_ACTIVE = "|".join([*_VERBS, *map(_third_person, _VERBS)])
_PASSIVE = "|".join(map(_past, _VERBS))
_THINGS = r"""^(?:(?:list|show|find|get|give|name)\s+(?:me\s+)?)?(?:(?:all|every|any|the)\s+)?(?:
    (?:things?|everything|anything|all|those)(?:\s+\w+)?|
    (?:\w+\s+)?(?:classes|functions|methods|modules|services|components|files|packages|libraries|tests|types|jobs|scripts|
    tables|systems|teams|hosts|endpoints|pages|places|projects|tools|apps|applications))"""
_FORMS = (
    # callers of X, its blast radius, the relationship between X and Y
    r"""\b(?:callers?|callees?|(?:sub|super|base|child|parent|derived)[-\s]?class(?:es)?|child(?:ren)?|parents?|siblings?|
    ancestors?|descendants?|dependen(?:ts?|ci?es|cy)|usages?|references?|consumers?|producers?|publishers?|subscribers?|
    listeners?|implementations?|implementers?|implementors?|importers?|overrides?|impact|blast\s+radius|side\s+effects?|
    neighbou?rs|upstreams?|downstreams?|owners?|maintainers?|users)\s+(?:of|to|for|on|from)\b""",
    r"\b(?:relations?|relationships?|connections?|links?|dependenc(?:y|ies))\s+(?:between|among|of|to|with)\b",
    # where X is used; how X is connected to Y; up- and downstream
    rf"^where\s+(?:all\s+)?(?:is|are|do\s+we|does)\b.*\b(?:{_PASSIVE}|use|call|import|reference)\W*$",
    r"^(?:how|in\s+what\s+way)\s+(?:is|are|does|do)\b.*\b(?:connect|relate|link)(?:s|ed)?\b(?:\s+(?:to|with)\b|\W*$)",
    r"\b(?:up|down)stream\s+(?:of|from)\b|\brelated\s+to\b(?=[^?]*\W*$)",
    # what breaks if I change X
    r"""\b(?:what|which|who|whose|does|will|would|anything|something)\b.*\b(?:breaks?|broken|fails?|stops?\s+working|affected|
    impacted|suffers?|(?:has|have|had|needs?)\s+to\s+(?:be\s+)?(?:change|changed|adapt|adapted|updated?|follow))\b.*
    \b(?:if|when|by|after|once)\b""",
    r"""\b(?:if|when|after)\b.*\b(?:chang|renam|remov|delet|drop|upgrad|replac|deprecat|mov|modif|break|goes\s+down|go\s+down|
    fail)\w*\b.*\b(?:what|which|who)\b.*\b(?:breaks?|fails?|stops?|changes?|affected|impacted|happens)\b""",
    r"\bwhat\s+(?:if|happens\s+(?:if|when|to))\b.*\b(?:change|rename|remove|delete|drop|upgrade|replace|deprecate|move)s?\b",
    # which services depend on X, who calls X
    rf"""^(?:(?:and|so|list|show(?:\s+me)?|find|tell\s+me|give\s+me)\s+)?(?:(?:what|who)|which\s+\w+)(?:\s+(?!is\b|are\b|was\b|were\b|
    do\b|does\b|did\b|can\b|could\b|should\b|would\b|the\b|a\b|an\b|to\b)[\w.-]+){{0,3}}\s+(?:{_ACTIVE})\b""",
    # what does X depend on, what is X used by
    rf"^(?:what|which|who|whom)\b.*\b(?:do|does|did)\s+.*\b(?:{_ACTIVE})(?:\s+(?:{_PREPOSITIONS}))?\W*$",
    rf"^(?:what|which|who)\b.*\b(?:is|are|was|were|gets?)\s+(?:\S+\s+){{0,4}}(?:{_PASSIVE})\s+(?:by|from)\b",
    # everything that imports X, functions called by X
    rf"{_THINGS}\s+(?:that|which|who)\s+(?:{_ACTIVE})\b",
    rf"{_THINGS}\s+(?:that\s+are\s+|which\s+are\s+)?(?:{_PASSIVE})\s+by\b",
    rf"{_THINGS}\s+(?:using|calling|importing|extending|implementing|inheriting|overriding|referencing)\b",
)
_ANY = tuple(re.compile(form, re.IGNORECASE | re.VERBOSE) for form in _FORMS)
_READ = 300  # characters: some forms take time quadratic in what they read


def asks_relation(text: str) -> bool:
    """Whether one of the forms fits.

    >>> [asks_relation(text) for text in ("who invokes parse", "subclasses of Node", "what breaks if I rename it?")]
    [True, True, True]
    >>> [asks_relation(text) for text in ("how to use a table", "what is a reference", "Which film won the award?")]
    [False, False, False]
    """
    return any(form.search(text[:_READ]) for form in _ANY)
