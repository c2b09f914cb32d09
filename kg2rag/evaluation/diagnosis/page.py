"""What a diagnosis holds -> self-contained HTML: every text escaped, nothing loaded, folded behind `<details>`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kg2rag.report import plots
from kg2rag.text import templates
from kg2rag.types.trace import LOST_AT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kg2rag.evaluation.diagnosis.fates import Waterfall
    from kg2rag.evaluation.diagnosis.ladder import OracleLadder
    from kg2rag.evaluation.diagnosis.queries import QueryComparison


def render(template: str, *, alone: bool, **content: object) -> str:
    """A template filled in; `alone` makes a whole page of it, else it is a fragment for a notebook."""
    return templates.render("diagnosis.html.j2", alone=alone, body=template, **content)


def svg(figure: Figure, name: str) -> object:
    """A figure for a template, with ids that no other figure of a notebook has."""
    from markupsafe import Markup

    return Markup(plots.to_svg(figure, name))  # noqa: S704  our own SVG, whose texts matplotlib has escaped


def of_waterfall(found: Waterfall) -> dict[str, Any]:
    """What the template of a waterfall shows."""
    totals = found.totals()
    shown = [lost_at for lost_at in LOST_AT if totals[lost_at].any() or lost_at == "found"]
    return {
        "title": f"{found.system}: where the gold went",
        "lead": f"{found.data}: {len(found.returned)} questions, {len(found.frame)} gold passages, k = {found.k}",
        "lost_at": shown,
        "totals": [
            (name, [int(row[lost_at]) for lost_at in shown], int(row["gold"])) for name, row in totals.iterrows()
        ],
        "figure": svg(found.figure(), f"waterfall-{found.system}-{found.k}"),
        "groups": [_group(found, lost_at) for lost_at in shown],
    }


def _group(found: Waterfall, lost_at: str) -> dict[str, Any]:
    part = found.frame[found.frame["lost_at"] == lost_at]
    reasons = [(why, [_gold(found, row) for row in own.itertuples()]) for why, own in part.groupby("why", sort=False)]
    return {"lost_at": lost_at, "count": len(part), "reasons": sorted(reasons, key=lambda reason: -len(reason[1]))}


def _gold(found: Waterfall, row: Any) -> dict[str, Any]:
    import pandas as pd

    own = found.frame[found.frame["query_id"] == row.query_id]
    titles = set(own["title"]) | set(own["gold"])
    return {
        "query_id": row.query_id,
        "type": row.type,
        "question": row.question,
        "gold": row.gold,
        "title": row.title if row.title != row.gold else "",
        "rank": "" if pd.isna(row.rank) else int(row.rank),
        "returned": [(title, title in titles) for title in found.returned[row.query_id]],
    }


def of_ladder(ladder: OracleLadder) -> dict[str, Any]:
    """What the template of an oracle ladder shows."""
    rungs = [
        (
            row["rung"],
            ["" if row[name] != row[name] else f"{100 * row[name]:.1f}" for name in ladder.metrics],
            row["note"],
        )
        for row in ladder.frame.to_dict("records")
    ]
    return {
        "title": f"{ladder.system}: what a perfect stage would be worth",
        "lead": f"{ladder.data}; per cent. Every rung but the first is told the gold: a ceiling, not a result.",
        "metrics": ladder.metrics,
        "rungs": rungs,
        "figure": svg(ladder.figure(), f"ladder-{ladder.system}"),
    }


def of_pairs(pairs: QueryComparison) -> dict[str, Any]:
    """What the template of two systems' differences shows."""
    from markupsafe import Markup

    a, b = pairs.systems
    return {
        "title": f"Where {a} and {b} differ most",
        "lead": f"{pairs.data}, by {pairs.metric}; ◆ marks gold",
        "names": pairs.systems,
        "metric": pairs.metric,
        "differences": [
            {
                "question": row["question"],
                "type": row["type"],
                "scores": [f"{row[name]:.3g}" for name in pairs.systems],
                "gold": pairs.gold[row["query_id"]],
                # An explanation escapes its own texts.
                "explained": [Markup(each._repr_html_()) for each in pairs.explanations[row["query_id"]]],  # noqa: S704
            }
            for row in pairs.frame.to_dict("records")
        ],
    }
