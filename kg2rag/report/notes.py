"""A score sheet -> the notes below it: meaning of signs, detectable differences, remarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kg2rag.report.score_sheet import (
    LARGER,
    LEVEL,
    MACRO,
    TUNED,
    ScoreSheet,
    questions_text,
)
from kg2rag.text.cells import excerpt


def notes(sheet: ScoreSheet) -> list[str]:
    """The notes below a table: how to read it, its detectable differences, remarks on systems."""
    how_to_read = " ".join(["Means in per cent with 95 % intervals.", *_signs(sheet)])
    about_data = [*_data_notes(sheet.config), _detectable_note(sheet)]
    about_runs = [*sheet.reader_notes, *_run_notes(sheet)]
    return [
        note
        for note in (how_to_read, *about_data, *about_runs, *_system_notes(sheet))
        if note
    ]


def remark_lines(config: Mapping[str, Any]) -> list[str]:
    """The remark of each system that has one, such as on questions without a line in its run."""
    return [f"{name}: {text}." for name, text in config.get("remarks", {}).items()]


def _system_notes(sheet: ScoreSheet) -> Iterator[str]:
    """Remarks on single systems."""
    config = sheet.config
    for name, parameters in sheet.tuned.items():
        yield f"{TUNED} {name}: chosen with access to this set: {'; '.join(parameters)}."
    for name, text in sheet.larger.items():
        yield f"{LARGER} {name} returns {text}."
    yield from remark_lines(config)
    unread = config.get("graph_unread", {})
    names_of = _grouped(
        (" and ".join(map(excerpt, graphs)), name) for name, graphs in unread.items()
    )
    for graphs, names in names_of.items():
        yield f"{', '.join(names)}: did not read the triples of the graph {graphs}."
    for name, use in config.get("graph_use", {}).items():
        graph = "its own graph" if name in unread else "the graph"
        yield _graph_use_note(name, graph, use)


def _data_notes(config: Mapping[str, Any]) -> Iterator[str]:
    """The sets of a macro-average, the encoders, and gold that no system can find."""
    sets = ", ".join(config.get("sets", {}))
    if sets:
        yield (
            f"{MACRO}: the unweighted mean of the means on {sets}. Its interval combines those of the sets, and its "
            "test swaps the systems on each question of each set: neither generalises to other sets."
        )
    yield _vectors_note(config)
    questions = config.get("data", {}).get("gold_out_of_reach", 0)
    if questions:
        yield f"{questions:,} questions have gold that is not among their candidates: no system can find it."


def _vectors_note(config: Mapping[str, Any]) -> str:
    """The note on the encoders that were called, with the systems of each if there are several."""
    systems_of: dict[str, list[str]] = {}
    for kb in config.get("knowledge", []):
        encoder = kb["encoder"]
        if "dtype" in encoder:
            text = f"{encoder['model'].split('/')[-1]}, {encoder['dtype']} on {encoder['device']}"
        elif "fingerprint" in encoder:
            # An encoder of the user that was called has only its `repr`.
            text = excerpt(str(encoder["encoder"]))
        else:
            continue
        systems_of.setdefault(text, []).extend(kb.get("systems", []))
    if not systems_of:
        return ""
    texts = list(systems_of)
    if len(texts) > 1:
        names = [", ".join(dict.fromkeys(systems)) for systems in systems_of.values()]
        texts = [
            f"{text} ({systems})" for text, systems in zip(texts, names, strict=True)
        ]
    return f"Vectors: {'; '.join(texts)}."


def _run_notes(sheet: ScoreSheet) -> Iterator[str]:
    """Notes on systems with several seeds, runs read from the store, and runs not kept."""
    seeds = [
        f"{name} ({len(runs)})" for name, runs in sheet.config.get("seeds", {}).items()
    ]
    if seeds:
        yield (
            f"Systems with several seeds: {', '.join(seeds)}. The score of a question is its mean "
            "over the seeds; ± is the standard deviation of the mean between seeds. Intervals and "
            "tests are over questions."
        )
    systems_of = _grouped(
        (when[:16].replace("T", " "), name) for name, when in sheet.stored.items()
    )
    runs = [
        f"{', '.join(names)} (computed {when})" for when, names in systems_of.items()
    ]
    if runs:
        yield f"Read from the store: {'; '.join(runs)}. fresh=True or --fresh computes them again."
    not_cached = sheet.config.get("not_cached", {})
    reasons = [f"{name}: {excerpt(why)}" for name, why in not_cached.items()]
    if reasons:
        yield f"Not kept in the store: {'; '.join(reasons)}."


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Text -> the systems that it is about, from pairs of text and system."""
    systems_of: dict[str, list[str]] = {}
    for text, system in pairs:
        systems_of.setdefault(text, []).append(system)
    return systems_of


def _graph_use_note(name: str, graph: str, use: Mapping[str, Any]) -> str:
    """The note on the share of questions for which a graph added a passage, and on warnings."""
    facts = []
    if "brought" in use:
        share = f"{100 * use['brought']:.1f} % of the questions"
        facts.append(f"{graph} added a passage to the first 10 for {share}")
    for warning, share in use.get("warnings", {}).items():
        facts.append(f"{warning} ({100 * share:.1f} % of the questions)")
    return f"{name}: {'; '.join(facts)}."


def _signs(sheet: ScoreSheet) -> Iterator[str]:
    """The meaning of the signs in the table, and the reason for missing signs."""
    if len(sheet.systems) < 2:
        return
    unit = "column" if sheet.metric else "metric"
    method = f"paired randomisation test, Holm-corrected within a {unit}"
    test = f"differs from {sheet.baseline} ({method}"
    if sheet.scores["p_holm"].lt(LEVEL).any():
        yield f"Stars: {test}; * p < .05, ** p < .01, *** p < .001)."
    else:
        yield f"No star: no system {test}, p < .05)."
    yield "Wins / ties / losses count questions."
    p_best = sheet.scores["p_best"]
    if p_best.isna().all():
        yield "No winner is marked in bold, because not every pair was tested."
    elif p_best.lt(LEVEL).any():
        yield f"Bold: best, and significantly above every other system (Holm-corrected over all pairs of a {unit})."
    else:
        yield f"No bold: no system is significantly above every other (Holm-corrected over all pairs of a {unit})."


def _detectable_note(sheet: ScoreSheet) -> str:
    """The note on the minimum detectable difference of each metric, the median over systems."""
    tested = sheet.scores.dropna(subset=["p_holm"])
    least = tested.groupby("metric", sort=False)["detectable"].median()
    # Of several sets it is known for each of them only.
    if least.empty or sheet.config.get("sets"):
        return ""
    questions = questions_text(int(tested[["wins", "ties", "losses"]].iloc[0].sum()))
    if least.isna().all():
        no_difference = (
            f"no difference from {sheet.baseline}, however large, in any metric"
        )
        return f"{questions} detect {no_difference}."
    texts = []
    for metric in map(str, least.index):
        texts.append(f"{sheet.text(metric, least[metric]) or 'none'} in {metric}")
    level = "level .05"
    n_tests = tested["system"].nunique()
    if n_tests > 1:
        level += f" divided by the {n_tests} tests of a metric"
    return (
        f"Minimum detectable difference from {sheet.baseline} with {questions}: {', '.join(texts)} "
        f"(80 % power, {level}; simulated with the randomisation test; median over systems)."
    )
