"""One store, several processes and containers: what one uses no other deletes, and what nobody uses can be deleted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kg2rag.compute import Store, files
from kg2rag.compute import store as stores
from kg2rag.compute.store import MANIFEST, DamagedEntryWarning

KEY = {"rows": 3}
DEAD = 2**22 + 1  # above Linux's largest process id

READER = """
import sys
from pathlib import Path
from kg2rag.compute.store import Store

path = Store(sys.argv[1]).find("thing", {"rows": 3})
print("open", flush=True)
sys.stdin.read()
print(len((path / "a.bin").read_bytes()))
"""
ELSEWHERE = """
import os, sys
os.getpid = lambda: int(sys.argv[2])  # as in a container with process ids of its own
from kg2rag.compute.store import Store

def build(folder):
    (folder / "a.bin").write_bytes(b"a" * 100)
    print("open", flush=True)
    sys.stdin.read()

print(len((Store(sys.argv[1]).entry("thing", {"rows": 3}, build) / "a.bin").read_bytes()))
"""


def build(folder: Path) -> None:
    (folder / "a.bin").write_bytes(b"a" * 100)


def unwanted(folder: Path) -> None:
    pytest.fail("built again")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@contextmanager
def waiting(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process that has come to where it waits for the end of its input."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process


def test_what_a_living_process_reads_is_not_pruned(store: Store) -> None:
    store.entry("thing", KEY, build)
    with waiting(READER, store.root) as reader:
        assert store.prune() == (0, 0)
        assert reader.communicate()[0] == "100\n"
    assert store.prune()[0] == 1
    assert list(store.entries()) == []


def test_what_nobody_has_used_since_a_reader_began_is_pruned_beside_it(store: Store) -> None:
    store.entry("thing", KEY, build)
    other = store.entry("thing", {"rows": 4}, build)
    record = json.loads((other / MANIFEST).read_text()) | {"created": 1e9}
    (other / MANIFEST).write_text(json.dumps(record))
    os.utime(other / MANIFEST, (1e9, 1e9))
    with waiting(READER, store.root) as reader:
        assert store.prune()[0] == 1
        assert not other.exists()
        assert reader.communicate()[0] == "100\n"


def test_a_build_in_another_container_is_no_leftover_until_it_is_killed(store: Store) -> None:
    with waiting(ELSEWHERE, store.root, DEAD) as builder:
        store.prune()
        assert len(list(store.root.glob("thing/.partial-*"))) == 1
        assert builder.communicate()[0] == "100\n"
    store.remove(store.entry("thing", KEY, build))
    with waiting(ELSEWHERE, store.root, DEAD) as builder:
        builder.kill()
        builder.wait()
        store.prune()
    assert list(store.root.glob("thing/.partial-*")) == []


def test_an_entry_in_use_is_not_pruned_however_old_it_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    now = stores.time.time()
    monkeypatch.setattr(stores.time, "time", lambda: now - 90 * 86_400)
    path = store.entry("thing", KEY, build)
    monkeypatch.setattr(stores.time, "time", lambda: now)
    stores.verified.clear()
    assert store.find("thing", KEY) == path
    assert store.prune(older_than_days=30) == (0, 0)
    (entry,) = store.entries()
    assert (round(now - entry.created), round(now - entry.used)) == (90 * 86_400, 0)


def test_an_entry_without_manifest_is_seen_and_pruned(store: Store) -> None:
    path = store.entry("thing", KEY, build)
    (path / MANIFEST).unlink()
    assert list(store.verify()) == [path]
    assert store.prune(older_than_days=30) == (1, 100)
    assert not path.exists()


def test_damage_after_the_first_opening_is_noticed_at_the_next(store: Store) -> None:
    path = store.entry("thing", KEY, build)
    assert store.find("thing", KEY) == path
    (path / "a.bin").write_bytes(b"b" * 100)
    with pytest.warns(DamagedEntryWarning, match=r"a\.bin does not match its checksum"):
        assert store.entry("thing", KEY, build) == path
    assert (path / "a.bin").read_bytes() == b"a" * 100


def test_an_entry_that_another_process_has_mended_by_now_is_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store.entry("thing", KEY, build)
    sound = path.with_name("sound")
    shutil.copytree(path, sound)
    (path / "a.bin").write_bytes(b"b" * 100)
    stores.verified.clear()
    first = [True]

    def mended_in_between(self: Store, path: Path, **options: bool) -> str | None:
        damage = damage_of(self, path, **options)
        if first.pop() if first else False:
            files.remove_folder(path)
            sound.rename(path)
        return damage

    damage_of = Store._damage
    monkeypatch.setattr(Store, "_damage", mended_in_between)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.entry("thing", KEY, unwanted) == path
    assert (path / "a.bin").read_bytes() == b"a" * 100


def test_listing_a_store_survives_what_is_deleted_meanwhile(store: Store) -> None:
    for rows in range(3):
        store.entry("thing", {"rows": rows}, build)
    listing = store.entries()
    next(listing)
    for path in store.root.glob("thing/*"):
        shutil.rmtree(path)
    assert list(listing) == []
