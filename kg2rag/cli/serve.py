"""`kg2rag serve`: saved comparisons and sweeps as pages, on this machine alone."""

from __future__ import annotations

import socket
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kg2rag.serving.guard import Guard


def serve(
    folder: Annotated[Path, typer.Argument(help="Holds saved comparisons and sweeps, at any depth.")],
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="A data set's folder, or one that holds such: shows the texts of comparisons kept without; repeatable."
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; any other than this machine is open to its network.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8765,
    show: Annotated[bool, typer.Option("--open", help="Open it in a browser.")] = False,
) -> None:
    """Look into saved comparisons and sweeps: a page of this machine, that reads the folder and changes nothing.

    Filter questions, see two systems' hits side by side, gold marked and paths drawn; set runs against each other.
    """
    try:
        import uvicorn

        from kg2rag.serving.app import application
        from kg2rag.serving.guard import LOOPBACK
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise ImportError(f"kg2rag serve needs {error.name}: pip install 'kg2rag[serve]'.") from error

    local = host in LOOPBACK
    names = LOOPBACK if local else (*LOOPBACK, host, socket.gethostname(), socket.getfqdn())
    root, sets = folder.expanduser(), [one.expanduser() for one in data or []]
    app: Guard = application(root, data=sets, names=tuple(name.lower() for name in names), addresses=not local)
    joined = _joined(root, sets) if sets else ""
    listening = _listening(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/"
    if not local:
        typer.echo(
            f"Warning: {host} is no address of this machine alone. Whoever reaches it can read what is saved in "
            f"{folder}: there is no password.",
            err=True,
        )
    typer.echo(f"{folder} is shown at {address} until Ctrl+C.")
    if joined:
        typer.echo(joined)
    if show and not webbrowser.open(address):
        typer.echo("No browser can be opened here.", err=True)
    config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, lifespan="off")
    with listening:
        uvicorn.Server(config).run(sockets=[listening])


def _joined(root: Path, sets: list[Path]) -> str:
    """Of how many comparisons the texts are shown, having said why not of others; ValueError where of none."""
    from kg2rag.serving.library import Library
    from kg2rag.serving.texts import Texts

    found, lacking = Library(root, Texts(sets)).joinable()
    if lacking and not found:
        told = "; ".join(f"{name}: {why}" for name, why in list(lacking.items())[:5])
        raise ValueError(f"--data {' '.join(map(str, sets))} is of no comparison in {root}. {told}")
    for name, why in lacking.items():
        typer.echo(f"{name} is shown without texts: {why}", err=True)
    return (
        f"{len(found)} of {len(found) + len(lacking)} comparisons that were saved without texts have them from --data."
    )


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens there; OSError says what to do where the port is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen()  # who comes before the server runs is answered once it does
    except OSError as error:
        made.close()
        raise OSError(
            f"{host}, port {port}: {error.strerror}. Name another with --port; 0 takes a free one."
        ) from error
    return made
