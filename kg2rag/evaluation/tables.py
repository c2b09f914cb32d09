"""Rankings and their scores, question by question -> the tables that a comparison shows beside its means."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from kg2rag.evaluation.gold import judged_hits
from kg2rag.evaluation.metrics import PassageTokens, score
from kg2rag.evaluation.statistics import EQUAL
from kg2rag.types import GoldUnit, QADataset, Ranking, sources

Group = Literal["type", "hops", "gold"]
GROUPS: tuple[Group, ...] = get_args(Group)
ABOUT = ("query_id", "system", "type", "hops", "gold", "question", "notes")
"""The columns of `Comparison.per_query` that are not metrics."""
LISTED = 20
"""Members of a list that are kept; of a longer one, also how many there are."""
DEPTH = 10
GRAPH = "graph"  # the source that a strategy records for hits of its graph
DEPTHS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""Where the recall curve is measured, and at k: about evenly spaced on a log axis."""
BUDGETS = (1, 2, 3, 5, 7, *(n * 10**e for e in range(5) for n in (10, 15, 20, 30, 50, 70)))
"""Tokens at which the other curve may be measured, spaced alike."""
LARGER = 1.10
"""A system is `larger` above this ratio of its hits or tokens to the median of the others."""


def per_query_table(
    frames: Mapping[str, pd.DataFrame],
    data: QADataset,
    metrics: Sequence[str],
    rankings: Mapping[str, Sequence[Ranking]],
) -> pd.DataFrame:
    """One row per system and question: the columns of `ABOUT`, then the metrics; see `Comparison.per_query`."""
    rows = [(one.id, one.type, one.hops, len(one.gold), one.text) for one in data.questions]
    about = pd.DataFrame(rows, columns=["query_id", "type", "hops", "gold", "question"])
    about = about.astype({"hops": "Int64", "gold": "Int64"})
    parts = []
    for name, frame in frames.items():
        part = about.assign(system=name, notes=list(map(notes_json, rankings[name])))[list(ABOUT)]
        parts.append(pd.concat([part, frame[list(metrics)].reset_index(drop=True)], axis=1))
    return pd.concat(parts, ignore_index=True)


def grouped_means(per_query: pd.DataFrame, column: Group, metrics: Sequence[str]) -> pd.DataFrame:
    """Means within each value of a column: index (group, system), `n`, then the metrics; blanks are "unknown"."""
    if column not in GROUPS:
        raise ValueError(f"Questions are grouped by {', '.join(map(repr, GROUPS))}, not by {column!r}.")
    named = per_query[column].astype("string").fillna("").replace("", "unknown").astype(object)
    grouped = per_query.assign(**{column: named}).groupby([column, "system"], sort=False)
    frame = grouped[list(metrics)].mean()
    frame.insert(0, "n", grouped.size())
    # Numbers by their size, 2 before 10, then words.
    groups = sorted(named.unique(), key=lambda group: (not group.isdigit(), group.isdigit() and int(group), group))
    levels = [groups, list(dict.fromkeys(per_query["system"]))]
    # In this order, which `unstack` keeps.
    codes = [range(len(level)) for level in levels]
    index = pd.MultiIndex.from_product(codes, names=[column, "system"]).set_levels(levels)
    return frame.loc[index].set_axis(index)


def largest_differences(per_query: pd.DataFrame, metric: str, baseline: str, limit: int) -> pd.DataFrame:
    """Columns query_id, question, system, score, baseline, difference; largest difference first, none of 0.

    Of equally large ones each system shows one before any shows a second, in the order of systems and questions.
    """
    frame = per_query[["query_id", "question", "system"]].assign(score=per_query[metric])
    reference = frame[frame["system"] == baseline].set_index("query_id")["score"]
    frame = frame[frame["system"] != baseline]
    frame = frame.assign(baseline=frame["query_id"].map(reference).astype(float))
    frame["difference"] = frame["score"] - frame["baseline"]
    frame = frame[frame["difference"].abs() > EQUAL].assign(size=lambda rows: rows["difference"].abs().round(9))
    turn = frame.groupby(["size", "system"], sort=False).cumcount()
    frame = frame.assign(turn=turn).sort_values(["size", "turn"], ascending=[False, True], kind="stable")
    return frame.drop(columns=["size", "turn"]).head(limit).reset_index(drop=True)


def notes_json(ranking: Ranking) -> str:
    """The notes as JSON, "{}" for none; lists of more than 20 as {"count": …, "first": […]}."""
    shown = {key: _plain(value) for key, value in ranking.notes.display_fields().items()}
    return json.dumps(shown, ensure_ascii=False, default=str)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        members = [_plain(one) for one in value[:LISTED]]
        return members if len(value) <= LISTED else {"count": len(value), "first": members}
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    return value.item() if hasattr(value, "item") else str(value)


def graph_use(rankings: Mapping[str, Sequence[Ranking]]) -> dict[str, dict[str, Any]]:
    """How often the graph added anything, of the systems whose rankings have hits of a text search and of a graph.

    Returns system -> `brought`, the share of questions with a passage among the first `DEPTH` that only the graph
    found, and `skipped`, reason in the notes -> share of questions to which it brought none, the most frequent first.
    """
    use: dict[str, dict[str, Any]] = {}
    for name, run in rankings.items():
        # A ranking that searches the graph alone, or falls back to text, joins nothing.
        if any({source == GRAPH for source in sources(ranking).values()} == {True, False} for ranking in run):
            brought = [_brought(ranking) for ranking in run]
            without = (one.notes.warnings for one, new in zip(run, brought, strict=True) if not new)
            reasons = Counter("; ".join(warnings) for warnings in without if any(warnings))
            ordered = sorted(reasons.items(), key=lambda one: (-one[1], one))
            skipped = {reason: round(count / len(run), 6) for reason, count in ordered}
            use[name] = {"brought": round(sum(brought) / len(run), 6), "skipped": skipped}
    return use


def reads_graph(run: Sequence[Ranking]) -> bool:
    """Whether some hits of a run come from a graph, as the sources of its stages record it."""
    return any(GRAPH in sources(ranking).values() for ranking in run)


def _brought(ranking: Ranking) -> bool:
    """Whether one of the first hits is the graph's alone: not of a ranking fused with it, nor where its walk began."""
    if not len(ranking) or ranking.stage_codes is None:
        return False
    of = sources(ranking)
    graph = np.array([of[stage] == GRAPH for stage in ranking.stages])[ranking.stage_codes[:DEPTH]]
    for stage, source in of.items():
        if source != GRAPH and f"{stage} rank" in ranking.score_parts:
            graph &= np.isnan(ranking.score_parts[f"{stage} rank"][:DEPTH])
    if "restart" in ranking.score_parts:
        graph &= ~(ranking.score_parts["restart"][:DEPTH] > 0)
    return bool(graph.any())


def returned_sizes(runs: Mapping[str, Sequence[Ranking]], tokens: PassageTokens, depths: Sequence[int]) -> pd.DataFrame:
    """Means over a system's rankings within its first k hits; one row per system and depth: system, k, hits, tokens."""
    rows = []
    for name, rankings in runs.items():
        tokens.count(rankings)
        spent = [tokens.of(ranking) for ranking in rankings]
        for k in depths:
            used = [int(one[:k].sum()) for one in spent]
            rows.append((name, k, float(np.mean([min(k, len(one)) for one in spent])), float(np.mean(used))))
    return pd.DataFrame(rows, columns=["system", "k", "hits", "tokens"])


def against_others(sizes: pd.DataFrame) -> pd.DataFrame:
    """Sizes with `hits_ratio` and `tokens_ratio`, each to the median of the other systems at that depth, and `larger`.

    Ratios are NaN for a single system, and where the others return nothing.
    """
    frame = sizes.copy()
    for column in ("hits", "tokens"):
        same_depth = sizes.groupby("k", sort=False)[column]
        others = same_depth.transform(lambda own: pd.Series([own.drop(at).median() for at in own.index], own.index))
        frame[f"{column}_ratio"] = sizes[column] / others.where(others > 0)
    frame["larger"] = (frame[["hits_ratio", "tokens_ratio"]] > LARGER).any(axis=1)
    return frame


def larger_sets(sizes: pd.DataFrame) -> dict[str, str]:
    """System -> in words, where it returns most in excess of the others; only systems that are `larger`."""
    frame = against_others(sizes).melt(["system", "k"], ["tokens_ratio", "hits_ratio"], ignore_index=False)
    # Rounded, so that a table that was saved with six decimals gives the same words.
    larger = frame[frame["value"] > LARGER].round({"value": 4}).sort_index(kind="stable")
    worst = larger.sort_values("value", ascending=False, kind="stable").drop_duplicates("system").sort_index()
    return {
        system: f"{ratio:.2f} times the {what.partition('_')[0]} of the others (median) within the first {k}"
        for system, k, what, ratio in worst.itertuples(index=False)
    }


def token_curve(
    runs: Mapping[str, Sequence[Ranking]], data: QADataset, tokens: PassageTokens, k: int, unit: GoldUnit
) -> pd.DataFrame:
    """Mean recall within growing numbers of tokens: index tokens, one column per system.

    NaN from where a ranking of `k` hits ends before the tokens are spent: there k would cut, not the budget. A ranking
    of fewer hits is complete, and still counts.

    `runs` : system -> rankings for all questions, in their order; repeated, for several seeds.
    """
    for rankings in runs.values():
        tokens.count(rankings)
    spent = {name: [tokens.of(one) for one in rankings] for name, rankings in runs.items()}
    reach = {name: min((one.sum() for one in each if len(one) >= k), default=np.inf) for name, each in spent.items()}
    # From the shortest hit to the longest ranking, or as far as any system reaches; at least one.
    returned = [one for each in spent.values() for one in each if len(one)]
    shortest = min((int(one.min()) for one in returned), default=1)
    longest = int(min(max(reach.values()), max((int(one.sum()) for one in returned), default=1)))
    budgets = np.array([*(budget for budget in BUDGETS if shortest <= budget < longest), longest])
    columns = {
        name: np.where(budgets <= reach[name], _recall(rankings, data, tokens, budgets.tolist(), unit), np.nan)
        for name, rankings in runs.items()
    }
    return pd.DataFrame(columns, index=pd.Index(budgets, name="tokens"))


def _recall(
    rankings: Sequence[Ranking], data: QADataset, tokens: PassageTokens, budgets: Sequence[int], unit: GoldUnit
) -> Any:
    """Mean recall at each budget, (n_budgets,), all in one call of ranx."""
    width = max(1, *(len(ranking) for ranking in rankings))
    # Padded to one length with numbers of no passage, which do not change recall: ranx takes queries of one shape.
    filler, ranked, gold = list(range(-1, -width - 1, -1)), list[list[int]](), list[Mapping[int, int]]()
    for budget in budgets:
        found, wanted = judged_hits(tokens.cut(rankings, budget), data, unit)
        ranked += [one.rows.tolist() + filler[len(one) :] for one in found]
        gold += [*wanted.by_number] * (len(rankings) // len(data))
    return score(gold, ranked, ["recall"])["recall"].reshape(len(budgets), -1).mean(axis=1)
