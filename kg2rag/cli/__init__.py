"""The command line: `kg2rag compare`, `kg2rag datasets`, `kg2rag store` and the rest.

A command parses its options, calls the functions that a notebook would call, and prints their
results. Each is a function in a file of its subject, and a line below.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings

import typer

from kg2rag.cli.compare import compare, compare_graphs
from kg2rag.cli.data import datasets_app, questions, store_app
from kg2rag.cli.graph import build, report_graph
from kg2rag.cli.option_groups import opt
from kg2rag.cli.printing import print_line, print_traceback, print_warning
from kg2rag.cli.sweep import reproduce, sweep
from kg2rag.cli.systems import ask, context, explain, list_systems

app = typer.Typer(
    help="A research toolkit for graph-guided retrieval: interchangeable strategies, fair comparisons, no LLM key.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _print_version(is_requested: bool) -> None:
    """Print the version and exit, if it is requested."""
    if is_requested:
        from importlib.metadata import version

        print_line(version("kg2rag"))
        raise typer.Exit


@app.callback()
def options(
    version: bool = opt(
        False,
        "Print the version and exit.",
        "--version",
        callback=_print_version,
        is_eager=True,
    ),
) -> None:
    """Options of `kg2rag` itself."""


for command in (
    ask,
    build,
    compare,
    compare_graphs,
    context,
    explain,
    questions,
    reproduce,
    sweep,
):
    app.command()(command)
app.command("graph")(report_graph)
app.command("systems")(list_systems)
app.add_typer(datasets_app, name="datasets")
app.add_typer(store_app, name="store")


def _message(error: Exception) -> object:
    """The text of an error; for an error of the operating system, the file and the reason."""
    if isinstance(error, KeyError) and error.args:
        return error.args[0]
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    return error


def main() -> None:
    """Run the command line; an error of the input prints one line without a traceback."""
    gc.set_threshold(
        100_000, 20, 50
    )  # imports make some 600,000 objects, all of them permanent
    warnings.showwarning = print_warning  # type: ignore[assignment]
    sys.excepthook = print_traceback
    # Without this variable the tokeniser warns in every forked process.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    try:
        app()
    except (ValueError, OSError, KeyError, RuntimeError, ImportError) as error:
        if os.environ.get("KG2RAG_DEBUG"):
            raise
        print_line(f"Error: {_message(error)}", err=True)
        for note in getattr(error, "__notes__", ()):
            print_line(note, err=True)
        sys.exit(2)
