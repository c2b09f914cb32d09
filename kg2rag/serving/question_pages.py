"""A comparison, its questions, one of them with two systems' hits, and what of it can be saved."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kg2rag import report
from kg2rag.report.listing import AHEAD, ORDERS, PAGE, Choice
from kg2rag.serving import exports
from kg2rag.serving.answers import file, library_of, page
from kg2rag.serving.asked import address, choice_of, hits_shown, number, one_of, question_of
from kg2rag.serving.library import OpenComparison


def comparison(request: Request) -> Response:
    """The scores of a comparison, and the way to its questions."""
    opened = library_of(request).comparison(request.query_params.get("at", ""))
    choice = choice_of(opened, {})
    sheet, config = opened.listing.sheet, opened.result.config
    return page(
        "served_comparison.html.j2",
        str(config.get("data", {}).get("name", opened.saved.at)),
        opened=opened,
        form=_form(opened, choice),
        headline=report.headline(config),
        rows=report.rows(sheet),
        metrics=sheet.metrics,
        baseline=sheet.baseline,
        notes=report.notes(sheet),
        config=config,
        reported=(opened.saved.path / "report.html").is_file(),
    )


def questions(request: Request) -> Response:
    """The chosen questions of a comparison, a page at a time."""
    opened, choice = _asked(request)
    frame = opened.listing.questions(choice)
    pages = max(1, -(-len(frame) // PAGE))
    at = min(number("page", request.query_params.get("page", "1")), pages)
    shown = frame.iloc[(at - 1) * PAGE : at * PAGE]
    return page(
        "served_questions.html.j2",
        "Questions",
        opened=opened,
        form=_form(opened, choice),
        choice=choice,
        rows=[
            _row(opened, choice, str(id_), row) for id_, row in zip(shown.index, shown.to_dict("records"), strict=True)
        ],
        found=len(frame),
        total=len(opened.places),
        first=(at - 1) * PAGE + 1,
        back=_turned(opened, choice, at - 1) if at > 1 else "",
        forth=_turned(opened, choice, at + 1) if at < pages else "",
        downloads=_downloads(opened, choice),
    )


def question(request: Request) -> Response:
    """A question with two systems' hits, and its neighbours in the list."""
    opened, choice = _asked(request)
    id_ = question_of(opened, request.query_params.get("id", ""))
    ids = [str(one) for one in opened.listing.questions(choice).index]
    place = ids.index(id_) if id_ in ids else -1
    near = {"back": place - 1, "forth": place + 1}
    links = {
        name: _link(opened, choice, ids[to]) if 0 <= to < len(ids) and place >= 0 else "" for name, to in near.items()
    }
    about = opened.listing.about.loc[id_]
    return page(
        "served_question.html.j2",
        opened.text(id_),
        opened=opened,
        choice=choice,
        form=_form(opened, choice),
        id=id_,
        about={name: about[name] for name in ("type", "hops") if about[name] != "unknown"},
        explained=opened.explained(choice, id_).html(alone=False, styled=False),
        place=place + 1,
        found=len(ids),
        listed=address("questions", opened.saved.at, choice, page=place // PAGE + 1 if place >= 0 else None),
        back=links["back"],
        forth=links["forth"],
    )


def export(request: Request) -> Response:
    """The chosen questions as a file: CSV with the scores of both systems, or one system's TREC run of them."""
    opened, choice = _asked(request)
    wanted = one_of("as", request.query_params.get("as", "csv"), ("csv", "trec"))
    folder = opened.saved.at.replace("/", "-")
    if wanted == "csv":
        name = exports.file_name(folder, choice.left, choice.right)
        return file(exports.as_csv(opened, choice), "text/csv", f"{name}.csv")
    system = one_of("system", request.query_params.get("system", choice.left), opened.result.systems)
    return file(exports.as_trec(opened, choice, system), "text/plain", f"{exports.file_name(folder, system)}.trec")


def _asked(request: Request) -> tuple[OpenComparison, Choice]:
    opened = library_of(request).comparison(request.query_params.get("at", ""))
    return opened, choice_of(opened, request.query_params)


def _form(opened: OpenComparison, choice: Choice) -> dict[str, Any]:
    """What the form of choices offers, and what of it is chosen."""
    listing, total = opened.listing, len(opened.places)
    kinds, hops = listing.kinds(), listing.hops()
    named = {
        "": "any",
        "left": f"{choice.left} is ahead",
        "right": f"{choice.right} is ahead",
        "neither": "neither is ahead",
        "either": "one is ahead",
    }
    offered: dict[str, list[tuple[object, str]]] = {
        "left": [(name, name) for name in opened.result.systems],
        "right": [(name, name) for name in opened.result.systems],
        "metric": [(name, name) for name in opened.result.metrics],
        "ahead": [(name, named[name]) for name in AHEAD],
        "order": [(name, name) for name in ORDERS],
        "kind": [("", f"all types ({total})"), *((name, f"{name} ({n})") for name, n in kinds.items())],
        "hops": [("", f"any hops ({total})"), *((name, f"{name} ({n})") for name, n in hops.items())],
        "hits": [(n, str(n)) for n in sorted({*hits_shown(opened), choice.hits})],
    }
    several = {"kind": len(kinds) > 1, "hops": len(hops) > 1}
    return {
        "at": opened.saved.at,
        "words": choice.words,
        "fields": {name: one for name, one in offered.items() if several.get(name, True)},
        "chosen": vars(choice),
        "labels": {"left": "left", "right": "right", "metric": "metric", "ahead": "questions where", "order": "order",
                   "kind": "type", "hops": "hops", "hits": "hits"},
    }  # fmt: skip


def _row(opened: OpenComparison, choice: Choice, id_: str, row: Any) -> dict[str, str]:
    """A question of the list, its scores as the tables print them."""
    listing, metric = opened.listing, choice.metric
    return {
        "id": id_,
        "question": row["question"] or id_,
        "type": row["type"],
        "hops": row["hops"],
        "left": listing.score(metric, row["left"]),
        "right": listing.score(metric, row["right"]),
        "difference": listing.difference(metric, row["difference"]),
        "ahead": "right" if row["difference"] > 1e-9 else "left" if row["difference"] < -1e-9 else "",
        "link": _link(opened, choice, id_),
    }


def _link(opened: OpenComparison, choice: Choice, id_: str) -> str:
    return address("question", opened.saved.at, choice, id=id_)


def _turned(opened: OpenComparison, choice: Choice, to: int) -> str:
    return address("questions", opened.saved.at, choice, page=to)


def _downloads(opened: OpenComparison, choice: Choice) -> list[tuple[str, str]]:
    at = opened.saved.at
    runs = [
        (f"{name} (TREC)", address("export", at, choice, **{"as": "trec", "system": name}))
        for name in dict.fromkeys((choice.left, choice.right))
    ]
    return [("scores (CSV)", address("export", at, choice, **{"as": "csv"})), *runs]
