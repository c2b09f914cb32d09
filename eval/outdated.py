"""`eval/results` -> the kept comparisons that the code of another day made, with the systems: a part of `make check`.

Blind sets are left out: they are run once, with the code of the day when they were made.
"""

from __future__ import annotations

from collections.abc import Mapping

from studies import Study, read

from kg2rag.evaluation.system_code import outdated_systems


def outdated(studies: Mapping[str, Study]) -> dict[str, list[str]]:
    """Name of each comparison with a system whose code is another today -> these systems."""
    remade = {name: study for name, study in studies.items() if study.about["page"] != "blind"}
    systems = {name: outdated_systems(study.config) for name, study in remade.items()}
    return {name: changed for name, changed in systems.items() if changed}


def main() -> None:
    """Print one line for each comparison, and the command that remakes them."""
    studies = read()
    comparisons = outdated(studies)
    for name, systems in comparisons.items():
        n_systems = len(studies[name].config["systems"])
        print(f"eval/results/{name}: the code of {len(systems)} of {n_systems} systems is another today")
    if comparisons:
        print(f"To remake them: python eval/remake.py DATA {' '.join(comparisons)}")


if __name__ == "__main__":
    main()
