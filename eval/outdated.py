"""`eval/results` -> the kept comparisons with systems whose code has changed since: a part of `make check`.

Blind sets are left out, since they are run once.
"""

from __future__ import annotations

from collections.abc import Mapping

from studies import Study, read

from kg2rag.evaluation.system_code import outdated_systems


def outdated(studies: Mapping[str, Study]) -> dict[str, list[str]]:
    """Name of each comparison with changed systems -> these systems."""
    comparisons = {}
    for name, study in studies.items():
        systems = outdated_systems(study.config)
        if systems and study.about["page"] != "blind":
            comparisons[name] = systems
    return comparisons


def main() -> None:
    """Print one line for each comparison, and the command that remakes them."""
    studies = read()
    comparisons = outdated(studies)
    for name, systems in comparisons.items():
        n_systems = len(studies[name].config["systems"])
        print(
            f"eval/results/{name}: the code of {len(systems)} of {n_systems} systems has changed"
        )
    if comparisons:
        print(f"To remake them: python eval/remake.py DATA {' '.join(comparisons)}")


if __name__ == "__main__":
    main()
