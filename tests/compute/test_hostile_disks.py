"""A store on a disk that is full, may not be written, or holds something else where a folder should be."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kg2rag.compute import Store

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="limits and users of POSIX"
)
PROGRAM = """
import os, resource, signal, sys
from pathlib import Path
from kg2rag.compute import Store

how, root = sys.argv[1:]
made = []

def build(folder):
    made.append(folder)
    (folder / "a.bin").write_bytes(b"a" * 100_000)

Store(root + "-other").entry("thing", {"warm": 1}, build)  # imports what it needs, before rights are dropped
if how == "full":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
if how in ("read", "new") and os.getuid() == 0:
    os.setuid(65534)
try:
    path = Store(root).entry("thing", {"rows": 1 if how == "read" else 2}, build)
    print("made", len(made), (path / "a.bin").stat().st_size)
except OSError as error:
    print(type(error).__name__, error)
"""


def build(folder: Path) -> None:
    (folder / "a.bin").write_bytes(b"a" * 100_000)


@pytest.fixture
def root() -> Iterator[Path]:
    """A store with an entry, which other users may read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    Store(folder / "store").entry("thing", {"rows": 1}, build)
    yield folder / "store"
    for place in (folder, *folder.rglob("*/")):
        place.chmod(0o755)
    shutil.rmtree(folder)


def said(how: str, root: Path) -> str:
    command = [sys.executable, "-c", PROGRAM, how, str(root)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_a_full_disk_is_said_and_leaves_nothing(root: Path) -> None:
    told = said("full", root)
    assert told.startswith("OSError")
    assert str(root) in told
    assert not list(root.rglob(".partial-*"))
    assert len(list(Store(root).entries())) == 1
    assert Store(root).verify() == {}


def test_a_store_that_may_only_be_read_gives_what_it_has_and_says_what_it_cannot_make(
    root: Path,
) -> None:
    for place in (root.parent, root, *root.rglob("*/")):
        place.chmod(0o555 if place != root.parent else 0o755)
    assert said("read", root) == "made 1 100000"  # the one to warm up
    told = said("new", root)
    assert told.startswith("PermissionError")
    assert str(root) in told


@pytest.mark.parametrize("place", ["store", "stage"])
def test_a_file_where_a_folder_should_be_is_named(place: str, tmp_path: Path) -> None:
    root = tmp_path / "store"
    blocked = root if place == "store" else root / "thing"
    blocked.parent.mkdir(exist_ok=True)
    blocked.write_text("mine")
    with pytest.raises(OSError, match="store"):
        Store(root).entry("thing", {"rows": 1}, build)
    assert blocked.read_text() == "mine"


def test_a_dangling_link_to_the_store_is_named_and_one_in_place_of_an_entry_is_rebuilt(
    tmp_path: Path,
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    with pytest.raises(OSError, match="link"):
        Store(tmp_path / "link").entry("thing", {"rows": 1}, build)
    store = Store(tmp_path / "store")
    path = store.entry("thing", {"rows": 1}, build)
    shutil.rmtree(path)
    path.symlink_to(tmp_path / "gone")
    with pytest.raises(OSError, match=path.name):
        store.entry("thing", {"rows": 1}, build)
    path.unlink()
    assert (
        store.entry("thing", {"rows": 1}, build) / "a.bin"
    ).stat().st_size == 100_000
