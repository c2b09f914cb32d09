"""The store: built once, whole or not at all, damage named and repaired."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from kg2rag.compute import Store, atomic_write
from kg2rag.compute import store as stores
from kg2rag.compute.keyed_file import DamagedEntryWarning
from kg2rag.compute.store import MANIFEST, default_root

KEY = {"rows": 3, "name": "Zoë"}
DEAD = 2**22 + 1  # above Linux's largest process id


class Counted:
    """A build that writes two files and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, folder: Path) -> None:
        self.calls += 1
        (folder / "a.bin").write_bytes(b"a" * 10_000)
        (folder / "deep").mkdir()
        (folder / "deep" / "b.bin").write_bytes(b"b" * 10)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def build() -> Counted:
    return Counted()


def contents(folder: Path) -> dict[str, bytes]:
    files = (
        file for file in folder.rglob("*") if file.is_file() and file.name != MANIFEST
    )
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def leftovers(store: Store) -> list[Path]:
    return sorted(store.root.glob("*/.partial-*"))


def test_an_entry_is_built_once_and_then_opened(store: Store, build: Counted) -> None:
    key = {**KEY, "pair": (1, "a")}
    first = store.entry("thing", key, build)
    assert Store(store.root).entry("thing", key, build) == first
    assert build.calls == 1
    assert contents(first) == {"a.bin": b"a" * 10_000, "deep/b.bin": b"b" * 10}
    assert leftovers(store) == []


def flip(path: Path) -> None:
    damaged = bytearray((path / "a.bin").read_bytes())
    damaged[4_321] ^= 1
    (path / "a.bin").write_bytes(damaged)


def spoil_checksum_name(path: Path) -> None:
    text = (path / MANIFEST).read_text()
    (path / MANIFEST).write_text(text.replace('"sha256"', '"sha257"', 1))


def spoil_number(path: Path, field: str, number: str) -> None:
    text = (path / MANIFEST).read_text()
    (path / MANIFEST).write_text(
        re.sub(rf'("{field}": )[\d.]+', rf"\g<1>{number}", text, count=1)
    )


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "one flipped bit": (flip, "a.bin does not match its checksum"),
    "truncated": (
        lambda path: os.truncate(path / "a.bin", 9_999),
        "a.bin has 9999 bytes instead of 10000",
    ),
    "file missing": (
        lambda path: (path / "deep" / "b.bin").unlink(),
        "b.bin is missing",
    ),
    "manifest missing": (lambda path: (path / MANIFEST).unlink(), "manifest"),
    "manifest cut": (lambda path: os.truncate(path / MANIFEST, 50), "manifest"),
    "manifest lacks a checksum": (spoil_checksum_name, "sha256"),
    "manifest of infinite size": (
        lambda path: spoil_number(path, "size", "1e345"),
        "size",
    ),
    "manifest nests": (
        lambda path: spoil_number(path, "size", "[" * 30_000 + "]" * 30_000),
        "manifest",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_reported_by_name_and_the_entry_rebuilt(
    store: Store, build: Counted, damage: str
) -> None:
    path = store.entry("thing", KEY, build)
    whole = contents(path)
    spoil, complaint = DAMAGE[damage]
    spoil(path)
    store = Store(store.root)  # as another process opens it: nothing verified yet
    assert damage == "manifest missing" or complaint in store.verify()[path]
    with pytest.warns(DamagedEntryWarning, match=complaint) as caught:
        assert store.entry("thing", KEY, build) == path
    assert [str(path) in str(warning.message) for warning in caught] == [True]
    assert build.calls == 2
    assert contents(path) == whole
    assert store.verify() == {}


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (OSError("no model of that name"), None),
        (OSError("10 requested and 4 written"), errno.ENOSPC),  # as numpy says it
    ],
)
def test_a_disk_is_full_where_it_is_and_nowhere_else(
    store: Store, error: OSError, number: int | None
) -> None:
    def failing(_: Path) -> None:
        raise error

    with pytest.raises(OSError, match=str(error.strerror or error)) as raised:
        store.entry("thing", KEY, failing)
    assert raised.value.errno == number
    assert (raised.value.filename is not None) == (number is not None)


def test_prune_deletes_entries_older_than_asked_and_says_how_much(
    store: Store, build: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 3 * 86_400)
    old = store.entry("thing", {"rows": 1}, build)
    os.utime(old / MANIFEST, (now - 3 * 86_400,) * 2)
    size = sum(file.stat().st_size for file in old.rglob("*") if file.is_file())
    monkeypatch.setattr(time, "time", lambda: now)
    young = store.entry("thing", {"rows": 2}, build)
    assert store.prune(older_than_days=2) == (1, size)
    assert (old.exists(), young.exists()) == (False, True)
    monkeypatch.setattr(time, "time", lambda: now + 60)
    assert store.prune()[0] == 1
    assert not young.exists()


def flip_at(file: Path, *, as_if_untouched: bool) -> None:
    status, content = file.stat(), bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + (not as_if_untouched)))


@pytest.mark.parametrize("untouched", [True, False])
def test_a_large_file_is_read_when_it_was_written_to_and_always_by_verify(
    store: Store, build: Counted, monkeypatch: pytest.MonkeyPatch, untouched: bool
) -> None:
    monkeypatch.setattr(stores, "LARGE_BYTES", 1)
    path = store.entry("thing", KEY, build)
    file = path / "a.bin"
    flip_at(file, as_if_untouched=untouched)
    assert (Store(store.root).find("thing", KEY) is None) is not untouched
    assert store.verify() == {
        path: f"{file.relative_to(path)} does not match its checksum"
    }


def test_another_version_of_a_library_is_another_entry(
    store: Store, build: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = store.entry("thing", KEY, build, libraries=("numpy",))
    monkeypatch.setattr(stores, "version", lambda _name: "99.0")
    assert store.entry("thing", KEY, build, libraries=("numpy",)) != first


def test_the_default_store_is_the_environments_else_the_checkouts_else_the_users(
    monkeypatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KG2RAG_STORE", str(tmp_path))
    assert default_root() == tmp_path
    monkeypatch.delenv("KG2RAG_STORE")
    assert default_root() == Path(stores.__file__).parents[2] / "data" / "cache"
    monkeypatch.setattr(stores, "_CHECKOUT", tmp_path)
    assert default_root().name == "kg2rag"


def test_an_entry_in_use_is_not_pruned_however_old_it_is(
    store: Store, build: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 90 * 86_400)
    path = store.entry("thing", KEY, build)
    monkeypatch.setattr(time, "time", lambda: now)
    assert Store(store.root).find("thing", KEY) == path
    assert store.prune(older_than_days=30) == (0, 0)
    (entry,) = store.entries()
    assert round(now - entry.last_access) == 0


def test_a_keyed_file_is_listed_verified_and_pruned_like_an_entry(store: Store) -> None:
    kept = store.keyed_file("vectors/one")
    kept.keep([(b"a", b"1"), (b"a", b"2")])
    assert kept.find([b"a", b"b"]) == {b"a": b"1"}
    (entry,) = store.entries()
    assert (entry.path, entry.stage, entry.size) == (
        kept.path,
        "vectors",
        kept.path.stat().st_size,
    )
    assert (store.verify(), store.prune(older_than_days=1)) == ({}, (0, 0))
    assert store.prune()[0] == 1
    assert not kept.path.exists()


def database(path: Path) -> None:
    """A SQLite file as another program writes it."""
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE customers (name)")
        file.execute("INSERT INTO customers VALUES ('Ada')")


def strangers(root: Path) -> dict[str, bytes]:
    """Files of others in the folder of a store, with names such as ours."""
    name = "0123456789abcdef0123456789abcdef"
    for folder in (
        root / "profile" / name,
        root / "thing" / name,
        root / "vectors",
        root / "documents" / name,
    ):
        folder.mkdir(parents=True, exist_ok=True)
    for path in ("places.sqlite", "vectors/customers.sqlite", "profile/deep.sqlite"):
        database(root / path)
    (root / "notes.sqlite").write_bytes(b"no database")
    (root / "profile" / name / "letter.txt").write_text("Dear Ada")
    (root / "thing" / name / MANIFEST).write_text(
        '{"name": "an extension of a browser"}'
    )
    (root / "documents" / name / MANIFEST).write_text('{"key": {}, "files": {}}')
    (root / ".partial-notes").write_text("mine")
    (root / "profile" / ".partial-my-own-notes").write_text("mine")
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_prune_deletes_nothing_that_others_wrote(store: Store, build: Counted) -> None:
    before = strangers(store.root)
    mixed = store.entry("thing", {"rows": 1}, build)
    (mixed / "my notes.txt").write_text("put here by hand")
    store.entry("thing", {"rows": 2}, build)
    store.keyed_file("answers").keep([("a", b"1")])
    assert store.prune()[0] == 2
    left = {
        str(path.relative_to(store.root)): path.read_bytes()
        for path in store.root.rglob("*")
        if path.is_file()
    }
    assert {name: left.get(name) for name in before} == before
    assert (mixed / "my notes.txt").read_text() == "put here by hand"


def test_a_store_leaves_no_lock_files(store: Store, build: Counted) -> None:
    for row in range(5):
        store.entry("thing", {"rows": row}, build)
    assert list(store.root.rglob("*.lock")) == []


def test_a_tilde_is_the_home_of_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KG2RAG_STORE", "~/store")
    assert (Store().root, Store("~/other").root) == (
        tmp_path / "store",
        tmp_path / "other",
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def fail(partial: Path) -> None:
    partial.write_bytes(b"half")
    raise RuntimeError


def test_a_folder_that_is_there_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    (tmp_path / "graph" / "old").touch()
    with (
        pytest.raises(FileExistsError, match="graph"),
        atomic_write.new_folder(tmp_path / "graph") as partial,
    ):
        (partial / "new").touch()
    assert names(tmp_path) == ["graph"]
    assert names(tmp_path / "graph") == ["old"]


def test_a_file_takes_the_place_of_another_and_a_block_that_raises_changes_nothing(
    tmp_path,
):
    for name in ("old", "new"):
        atomic_write.write(tmp_path / "a.csv", name.encode())
    with (
        pytest.raises(RuntimeError),
        atomic_write.new_folder(tmp_path / "graph") as partial,
    ):
        fail(partial / "newer")
    with (
        pytest.raises(RuntimeError),
        atomic_write.new_file(tmp_path / "a.csv") as partial,
    ):
        fail(partial)
    assert names(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_bytes() == b"new"


def leftover(process: int, machine: str, name: str) -> str:
    """The name of what a process was writing."""
    return f".partial-{process}-{machine}-0123456789ab-{name}.tmp"


def test_what_killed_processes_left_is_removed_and_what_living_ones_write_is_kept(
    tmp_path: Path,
) -> None:
    (tmp_path / leftover(DEAD, atomic_write.MACHINE, "a.csv")).write_bytes(b"12345")
    folder = tmp_path / leftover(DEAD, atomic_write.MACHINE, "graph")
    folder.mkdir()
    (folder / "half").write_bytes(b"123")
    kept = [
        leftover(os.getpid(), atomic_write.MACHINE, "a.csv"),
        ".partial-mine-notes",
        f".partial-{DEAD}-mine.tmp",
    ]
    for name in kept:
        (tmp_path / name).touch()
    assert atomic_write.remove_leftovers(tmp_path) == 8
    assert names(tmp_path) == sorted(kept)


def test_what_a_container_left_that_is_gone_is_removed_after_a_week(
    store: Store, build: Counted
) -> None:
    folder = store.root / "thing"
    for machine, days in (("gone", 8), ("living", 6)):
        path = folder / leftover(1, machine, "graph") / "half"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"123")
        for changed in (path, path.parent):
            os.utime(changed, (time.time() - days * 86_400,) * 2)
    store.entry("thing", KEY, build)  # the first build of a process cleans up
    assert [path.name for path in leftovers(store)] == [leftover(1, "living", "graph")]


def test_an_exception_in_a_build_leaves_no_entry(store: Store, build: Counted) -> None:
    def broken(folder: Path) -> None:
        build(folder)
        raise RuntimeError("the extractor failed")

    with pytest.raises(RuntimeError, match="the extractor failed"):
        store.entry("thing", KEY, broken)
    assert list(store.entries()) == []
    assert leftovers(store) == []
    store.entry("thing", KEY, build)
    assert build.calls == 2
