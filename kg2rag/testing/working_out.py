"""Works a score out of its formula and the parts of a hit, as `kg2rag.types.formulas` promises, on its own."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from kg2rag.types.passages import Hit
from kg2rag.types.rankings import Ranking

OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def worked_out(ranking: Ranking, hit: Hit) -> float:
    """The sum of the terms whose parts the hit has; KeyError where the ranking has no formula for the hit's stage."""
    given = ranking.metadata["score"]
    formula = given[hit.stage] if isinstance(given, Mapping) else given
    names = tuple(sorted(ranking.score_parts))
    values = {f"part{at}": hit.score_parts.get(name) for at, name in enumerate(names)}
    terms = [term for term, needs in _terms(str(formula), names) if all(values.get(name) is not None for name in needs)]
    if not terms:
        raise ValueError(f"no term of {formula!r} can be worked out from {dict(hit.score_parts)}")
    return sum(_value(term, values) for term in terms)


@cache
def _terms(formula: str, names: tuple[str, ...]) -> list[tuple[ast.expr, set[str]]]:
    """The terms of a formula and the parts that each needs; SyntaxError or ValueError where it is no arithmetic."""
    longest = sorted(range(len(names)), key=lambda at: -len(names[at]))
    found = re.compile("|".join(rf"(?<![\w.])(?:{re.escape(names[at])})(?!\w)" for at in longest))
    text = found.sub(lambda match: f"part{names.index(match.group())}", formula) if names else formula
    terms = list(_summands(ast.parse(text.replace("·", "*"), mode="eval").body))
    return [(term, {node.id for node in ast.walk(term) if isinstance(node, ast.Name)}) for term in terms]


def _summands(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _summands(node.left)
        yield from _summands(node.right)
    else:
        yield node


def _value(node: ast.expr, values: Mapping[str, float | None]) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Name):
        value = values.get(node.id)
        if value is None:
            raise ValueError(f"{node.id!r} is no part of the hit")
        return value
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](_value(node.left, values), _value(node.right, values))
    raise ValueError(f"{ast.unparse(node)} is no arithmetic.")
