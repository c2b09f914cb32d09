"""The Python examples of README and docs run as they are printed, on the bundled set and without a network.

The pages that say how to add something have tests of their own, which also hold what they make to its contract.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from kg2rag.compute import Store

ROOT = Path(__file__).parent.parent
PAGES: Mapping[str, Mapping[str, str]] = {
    "README.md": {
        '"hotpotqa", path="hotpot_dev_distractor_v1.json", setting="pooled", limit=500': '"bundled", limit=20',
    },
    "docs/guide.md": {},
    "docs/site/quickstart.md": {},
}
"""Page -> what of it needs data from elsewhere, and what stands there in the test."""
TESTED_APART = {f"docs/add_a_{what}.md" for what in "dataset graph_source linker metric reranker strategy".split()}


def examples(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def test_every_page_with_an_example_is_run() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "data" / "bundled" / "README.md"]
    with_examples = {page.relative_to(ROOT).as_posix() for page in pages if examples(str(page.relative_to(ROOT)))}
    assert with_examples == {*PAGES, *TESTED_APART}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(
    page: str, session_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
