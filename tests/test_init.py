"""`import kg2rag` costs nothing, and every public name is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kg2rag

HEAVY = (
    "bm25s",
    "datasets",
    "faiss",
    "matplotlib",
    "networkx",
    "numba",
    "pandas",
    "ranx",
    "scipy",
    "sentence_transformers",
    "sklearn",
    "torch",
    "transformers",
)


def loaded_after(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after some code."""
    script = f"import sys\n{code}\nprint(*sorted(name for name in sys.modules if '.' not in name), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_importing_the_package_loads_no_other_library() -> None:
    assert loaded_after("import kg2rag").isdisjoint(
        {*HEAVY, "numpy", "pyarrow", "pydantic", "typer"}
    )


def test_the_help_of_the_command_line_loads_no_heavy_library() -> None:
    code = "from typer.testing import CliRunner; from kg2rag.cli import app; CliRunner().invoke(app, ['--help'])"
    assert loaded_after(code).isdisjoint(HEAVY)


def test_building_a_knowledge_base_object_loads_no_torch() -> None:
    code = "from kg2rag import KnowledgeBase, load; KnowledgeBase.build(load('bundled').corpus)"
    assert loaded_after(code).isdisjoint({"torch", "matplotlib", "ranx"})


def test_a_comparison_by_words_loads_no_torch() -> None:
    code = "import kg2rag; data = kg2rag.load('bundled'); kb = kg2rag.KnowledgeBase.build(data.corpus)"
    code += "; kg2rag.compare({'bm25': kg2rag.BM25(kb)}, data)"
    assert loaded_after(code).isdisjoint({"torch", "transformers"})


def test_the_public_names_are_sorted_and_each_stands_once() -> None:
    assert list(kg2rag.__all__) == sorted(set(kg2rag.__all__))


@pytest.mark.parametrize("name", kg2rag.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    # One function under two names.
    named = "from_texts" if name == "from_frame" else name
    assert getattr(kg2rag, name).__name__.rpartition(".")[2] == named


def test_dir_lists_the_public_names() -> None:
    assert set(kg2rag.__all__) <= set(dir(kg2rag))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"kg2rag.*retriever"):
        kg2rag.retriever  # noqa: B018
