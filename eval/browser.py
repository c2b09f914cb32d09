"""Notebooks -> run in JupyterLab from its menu, in a real Chromium, with a picture of every screen.

    python eval/browser.py                               notebooks/01_first_comparison.ipynb
    python eval/browser.py NOTEBOOK … --out FOLDER       those
    python eval/browser.py --widget --out FOLDER         kg2rag.report.widgets.browse, clicked through; before and after

Fails where a cell did not run, failed or wrote to stderr (a warning), a widget was not drawn, or a click changed
nothing. Works on copies without outputs, so that no file changes and everything seen is new.

Needs `pip install playwright` and a Chromium of the system's own: nothing is downloaded. JupyterLab listens on
127.0.0.1 alone, with a token and settings made for this run.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SCREEN = {"width": 1500, "height": 1000}
SETTINGS = {
    # Every cell stays in the page, so that all can be looked at; no network is used.
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}  # else JupyterLab asks
PROMPTS = ".jp-Notebook .jp-CodeCell .jp-InputArea-prompt"
WIDGET = """import kg2rag
from kg2rag import BM25, Dense, KnowledgeBase, MentionPPR
from kg2rag.report import widgets

data = kg2rag.load("bundled")
kb = KnowledgeBase.build(data.corpus, graph="mentions")
systems = {"bm25": BM25(kb), "dense": Dense(kb), "mention_ppr": MentionPPR(kb)}
result = kg2rag.compare(systems, data, metrics=["all_recall@5", "mrr@10"], baseline="dense", progress=False)
widgets.browse(result, data)"""


def main() -> None:
    """Run the notebooks and clicks requested; the exit status says whether all of it was right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebooks", nargs="*", type=Path)
    parser.add_argument("--widget", action="store_true", help="click through kg2rag.report.widgets.browse")
    parser.add_argument("--out", type=Path, default=Path("reports/browser"), help="where the pictures go")
    parser.add_argument("--minutes", type=float, default=10, help="a notebook may take")
    given = parser.parse_args()
    notebooks = given.notebooks or ([] if given.widget else [ROOT / "notebooks" / "01_first_comparison.ipynb"])
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, jupyterlab(Path(folder)) as (url, work), browser() as page:
        problems = []
        for notebook in notebooks:
            blank(nbformat.read(notebook, as_version=4), work / notebook.name)
            problems += run(page, url, work / notebook.name, given.out, given.minutes)
        if given.widget:
            cells = [nbformat.v4.new_code_cell(WIDGET)]
            blank(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL}), work / "widget.ipynb")
            problems += run(page, url, work / "widget.ipynb", given.out, given.minutes)
            problems += click_through(page, given.out)
    print("\n".join(problems) or f"All as it should be; pictures in {given.out}")
    sys.exit(bool(problems))


def blank(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Write a notebook without its outputs and execution counts."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    nbformat.write(notebook, path)


@contextmanager
def jupyterlab(folder: Path) -> Iterator[tuple[str, Path]]:
    """A server of its own: its address, with the token, and the folder it shows."""
    work, settings = folder / "copy" / "notebooks", folder / "settings"
    work.mkdir(parents=True)
    for beside in ("data", "docs", "eval"):  # a notebook may read ../eval
        (work.parent / beside).symlink_to(ROOT / beside)
    for name, values in SETTINGS.items():
        path = settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values), encoding="utf-8")
    token = secrets.token_hex(16)
    own = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    own |= {"JUPYTERLAB_SETTINGS_DIR": str(settings), "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces")}
    own |= {"IPYTHONDIR": str(folder / "ipython"), "JUPYTER_TOKEN": token}
    # The kernel is called by the name `python`: it must be this one.
    own |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    port = free_port()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ServerApp.ip=127.0.0.1"]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={work}"]
    command += ["--allow-root"] if os.geteuid() == 0 else []
    log = folder / "jupyterlab.log"
    with log.open("wb") as stream:
        server = subprocess.Popen(command, env=os.environ | own, stdout=stream, stderr=stream)
        try:
            wait_for(f"http://127.0.0.1:{port}/api?token={token}", server, log)
            yield f"http://127.0.0.1:{port}/lab/tree/{{}}?token={token}&reset", work
        finally:
            server.terminate()
            server.wait(timeout=30)


def free_port() -> int:
    """A port of the loopback interface that is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path, seconds: float = 90) -> None:
    """Until the server answers; its log is the error where it does not."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.3)
    sys.exit(f"JupyterLab did not start:\n{log.read_text(encoding='utf-8', errors='replace')[-4000:]}")


@contextmanager
def browser() -> Iterator[Page]:
    """A page of a headless Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("eval/browser.py drives Chromium with playwright: pip install playwright")
    binary = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if binary is None:
        sys.exit(f"eval/browser.py needs a browser; none of {', '.join(CHROMIUM)} is on the PATH.")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=binary, args=list(FLAGS), headless=True)
        try:
            yield chromium.new_page(viewport=SCREEN)
        finally:
            chromium.close()


def run(page: Page, url: str, notebook: Path, out: Path, minutes: float) -> list[str]:
    """Open a notebook, choose Run ▸ Run All Cells, wait, take pictures, save; what went wrong, in words."""
    page.goto(url.format(notebook.name))
    page.get_by_text("| Idle").wait_for(timeout=120_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    started = time.monotonic()
    wait_for_cells(page, started + 60 * minutes)
    print(f"{notebook.name}: {time.monotonic() - started:.0f} s")
    page.wait_for_timeout(2000)  # figures and widgets are drawn after their cell is done
    pictures(page, notebook.stem, out)
    page.keyboard.press("Control+s")
    page.wait_for_timeout(2000)
    return [f"{notebook.name}: {problem}" for problem in [*unwell(notebook), *undrawn(page)]]


def wait_for_cells(page: Page, end: float, settled: float = 5) -> None:
    """Until every cell is done, or none is running for `settled` seconds: those after an error are never run."""
    still = time.monotonic() + settled
    while time.monotonic() < min(still, end):
        # "[ ]:" waits, "[*]:" runs, "[3]:" is done.
        prompts = page.locator(PROMPTS).all_inner_texts()
        if all(text.strip("[]: \n").isdigit() for text in prompts):
            return
        if any("*" in text for text in prompts) or not page.get_by_text("| Idle").count():
            still = time.monotonic() + settled
        time.sleep(0.5)


def unwell(notebook: Path) -> Iterator[str]:
    """What the saved notebook tells of cells that did not run or failed."""
    cells = [cell for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    for at, cell in enumerate(cells, start=1):
        if cell.source.strip() and cell.execution_count is None:
            yield f"code cell {at} did not run: {cell.source.splitlines()[0]}"
        for output in cell.outputs:
            if output.output_type == "error":
                yield f"code cell {at} failed: {output.ename}: {output.evalue}"
            elif output.get("name") == "stderr":
                yield f"code cell {at} wrote to stderr: {output.text[:200]}"


def undrawn(page: Page) -> list[str]:
    """What JupyterLab itself says where it cannot show an output."""
    return page.locator(".jp-OutputArea-output").get_by_text("Error displaying widget").all_inner_texts()


def pictures(page: Page, name: str, out: Path) -> None:
    """One screen after the other, from the first cell to the end of the last."""
    for old in out.glob(f"{name}-*.png"):
        old.unlink()
    scrolled = page.locator(".jp-WindowedPanel-outer").first
    # JupyterLab lets one scroll a screen beyond the last cell.
    bottom = (
        "it => { it.scrollTop = 0; return [...it.querySelectorAll('.jp-Cell')].at(-1).getBoundingClientRect().bottom"
    )
    height = scrolled.evaluate(f"{bottom} - it.getBoundingClientRect().top }}")
    step = scrolled.evaluate("it => it.clientHeight") - 40
    for at in range(max(1, math.ceil(height / step))):
        scrolled.evaluate("(it, top) => { it.scrollTop = top }", at * step)
        page.wait_for_timeout(300)
        page.screenshot(path=out / f"{name}-{at + 1:02}.png")


def click_through(page: Page, out: Path) -> list[str]:
    """Choose another question, then another system; each must change what is shown."""
    panel = page.locator(".kg2rag-browse")
    shown, problems = panel.locator(".widget-html"), []
    page.set_viewport_size({**SCREEN, "height": 1500})  # the whole panel in one picture
    panel.evaluate("it => it.scrollIntoView({ block: 'start' })")
    steps = {
        "another question": lambda: panel.locator("select[size]").select_option(index=3),
        "another system": lambda: panel.get_by_label("left").select_option("bm25"),
        "another type": lambda: panel.get_by_label("type").select_option(index=2),
        "a search": lambda: (panel.get_by_label("search").fill("author"), page.keyboard.press("Enter")),
    }
    page.screenshot(path=out / "widget-clicked-0-before.png")
    for at, (name, click) in enumerate(steps.items(), start=1):
        before = shown.inner_text()
        click()
        end = time.monotonic() + 20
        while shown.inner_text() == before and time.monotonic() < end:
            page.wait_for_timeout(200)
        if shown.inner_text() == before:
            problems.append(f"widget: {name} changed nothing")
        page.wait_for_timeout(500)
        page.screenshot(path=out / f"widget-clicked-{at}-{name.replace(' ', '-')}.png")
    return problems


if __name__ == "__main__":
    main()
