"""`kg2rag systems`: what can be compared by name."""

from __future__ import annotations

from kg2rag.cli.tables import table


def list_systems() -> None:
    """The named systems and the parameters that --set can change."""
    from rich.console import Console

    from kg2rag.retrievers.systems import names, parameters

    listed = table("system", "parameters")
    for name in names():
        listed.add_row(name, ", ".join(f"{key}={value!r}" for key, value in parameters(name).items()) or "none")
    Console().print(listed)
