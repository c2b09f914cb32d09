"""The report of a comparison whose texts are attacks -> docs/hostile_report.png, as Chromium shows it.

    python eval/hostile_report.py

The attacks are those of tests/attacks.py; tests/report/test_hostile_text.py counts scripts run and requests sent.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "report")]

from attacks import ATTACKS, CHROMIUM, RUN  # noqa: E402 (beside the tests)
from test_hostile_text import hostile_data, hostile_result  # noqa: E402


def main(
    out: Annotated[Path, typer.Option(help="The picture.")] = ROOT / "docs" / "hostile_report.png",
    size: Annotated[str, typer.Option(help="Width and height of the window, in pixels.")] = "900,1000",
) -> None:
    """Write the report into a folder of its own, and have Chromium draw it."""
    if CHROMIUM is None:
        raise typer.BadParameter("no Chromium is installed (apt-get install chromium).")
    attacks = [attack.format(run=RUN, url="http://127.0.0.1:9") for attack in ATTACKS]
    with tempfile.TemporaryDirectory() as folder:
        page = hostile_result(hostile_data(attacks)).save(folder)
        drawn = Path(folder, "page.png")
        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
        ]
        command = [CHROMIUM, *flags, f"--window-size={size}", f"--screenshot={drawn}", page.resolve().as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=300)  # a guard
        shutil.copyfile(drawn, out)
    typer.echo(f"{out}: {out.stat().st_size:,} bytes")


if __name__ == "__main__":
    typer.run(main)
