"""A kept reproduction -> every published row that was run, with links to its ledger, its command and the kept run.

Links are relative, from where the table is shown to the files as they lie in the repository, with the line of each.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from kg2rag.experiments.reproduction.tables import Reproduction, texts

COLUMNS = ("row", "set", "our run", "metric", "theirs", "ours", "difference", "verdict", "command", "kept")


@dataclass(frozen=True, eq=False)
class LinkedRows:
    """One row per published system, set and run of ours, its metrics below each other.

    Attributes
    ----------
    frame : the texts, columns `COLUMNS`.
    links : the address behind each text of the columns "row" and "kept", in the order of the rows.
    """

    frame: pd.DataFrame
    links: Mapping[str, list[str]]

    def __repr__(self) -> str:
        return self.frame.to_string(index=False)

    def _repr_html_(self) -> str:
        shown = self.frame.map(lambda text: html.escape(text).replace("\n", "<br>"))
        for column, addresses in self.links.items():
            pairs = zip(addresses, shown[column], strict=True)
            shown[column] = [f'<a href="{html.escape(link)}">{text}</a>' for link, text in pairs]
        shown["command"] = [f"<code>{text}</code>" for text in shown["command"]]
        with pd.option_context("display.max_colwidth", None):
            table: str = shown.to_html(index=False, escape=False)
        table = table.replace("text-align: right", "text-align: left")
        return table.replace("<td>", '<td style="text-align: left; vertical-align: top">')


def linked(ledgers: Path | str, kept: Path | str) -> LinkedRows:
    """The rows that ran, from a folder of ledgers and the file that `kg2rag reproduce --out` wrote, as paths of links.

    Raises
    ------
    FileNotFoundError : one of them is not there. ValueError : a ledger has no row that the file names.
    """
    frame = Reproduction.load(kept).frame
    frame = frame.assign(line=frame.index + 2)  # after the header; no text of it has a line break
    rows, links = [], {"row": list[str](), "kept": list[str]()}
    for (ledger, published, name, system), part in frame[frame["ours"].notna()].groupby(
        ["ledger", "published", "set", "system"], sort=False
    ):
        source = f", {part['source'].iloc[0]}" if part["source"].iloc[0] else ""
        numbers = {column: "\n".join(texts(part[column], 1)) for column in ("theirs", "ours", "difference")}
        about = {"row": f"{ledger}{source}: {published}", "set": name, "our run": system}
        verdicts = part["verdict"] if len(set(part["verdict"])) > 1 else part["verdict"].iloc[:1]
        said = {"metric": "\n".join(part["metric"]), "verdict": "\n".join(verdicts)}
        lines = part["line"].astype(str)
        ends = {"command": part["command"].iloc[0], "kept": f"line{'s' * (len(lines) > 1)} {', '.join(lines)}"}
        rows.append({**about, **said, **numbers, **ends})
        file = Path(ledgers) / f"{ledger}.toml"
        links["row"].append(f"{file.as_posix()}#L{_line(file, str(published))}")
        links["kept"].append(f"{Path(kept).as_posix()}#L{lines.iloc[0]}")
    return LinkedRows(pd.DataFrame(rows, columns=list(COLUMNS)), links)


def _line(ledger: Path, published: str) -> int:
    """The line on which a ledger names a published system."""
    for number, system in _published(ledger):
        if system == published:
            return number
    raise ValueError(f"{ledger} has no published row {published!r}. Run kg2rag reproduce again.")


def _published(ledger: Path) -> Iterator[tuple[int, Any]]:
    import tomllib

    inside = False
    for number, line in enumerate(ledger.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("[["):
            inside = line.strip() == "[[published]]"
        elif inside and line.startswith("system ="):
            yield number, tomllib.loads(line)["system"]
