"""The Python examples of README and docs run as they are printed, on the bundled set and without a network.

The examples of docs/extending.md have other tests, which also check the contract of each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from kg2rag.compute import Store

ROOT = Path(__file__).parent.parent
DATA = ROOT / "data" / "bundled"
PAGES: Mapping[str, Mapping[str, str]] = {
    "README.md": {
        "data/bundled/corpus.jsonl": f"{DATA}/corpus.jsonl",
        "data/bundled/questions.jsonl": f"{DATA}/questions.jsonl",
    },
    "docs/guide.md": {},
    "docs/site/quickstart.md": {},
}
"""Page -> what of it depends on the folder that it is run in, and what stands there in the test."""
TESTED_APART = {"docs/documents.md", "docs/extending.md"}


def examples(page: str) -> list[str]:
    return re.findall(
        r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL
    )


def test_every_page_with_an_example_is_run() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        ROOT / "data" / "bundled" / "README.md",
    ]
    with_examples = {
        page.relative_to(ROOT).as_posix()
        for page in pages
        if examples(str(page.relative_to(ROOT)))
    }
    assert with_examples == {*PAGES, *TESTED_APART}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(
    page: str,
    session_store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)  # where examples save
    monkeypatch.setenv("KG2RAG_STORE", str(session_store.root))
    code = "\n".join(examples(page))
    for there, here in PAGES[page].items():
        assert code.count(there) == 1, f"{page} no longer says {there}"
        code = code.replace(there, here)
    names: dict[str, object] = {}
    exec(compile(code, page, "exec"), names)
    assert "result" in names
    shown = re.findall(
        r"\n\n```\n(.*?)\n```\n", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL
    )
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert not shown or printed == shown[0].splitlines()


def test_no_command_or_page_names_a_file_of_data_that_a_clone_lacks() -> None:
    for page in [
        ROOT / "Makefile",
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("docs/site/*.py"),
    ]:
        for place in re.findall(
            r"(?<![\w/])data/[\w./-]+\w", page.read_text(encoding="utf-8")
        ):
            ours = (
                place.startswith(("data/bundled", "data/docs_questions.csv"))
                and (ROOT / place).exists()
            )
            assert ours or place.startswith("data/cache"), f"{page.name}: {place}"
