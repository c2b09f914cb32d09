"""Small values by key in one file: damage is lacking or named, never another value; what is paid is paid once."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from kg2rag.compute import Store
from kg2rag.compute.keyed_file import DamagedEntryWarning, KeyedFile

VALUES = {f"key {number}": f"value {number} ".encode() * 60 for number in range(60)}


@pytest.fixture
def file(tmp_path: Path) -> KeyedFile:
    file = Store(tmp_path).keyed_file("answers")
    file.keep(VALUES.items())
    return file


def flip(file: KeyedFile, place: int, bit: int = 0) -> None:
    content = bytearray(file.path.read_bytes())
    content[place] ^= 1 << bit
    file.path.write_bytes(content)


def place_of(file: KeyedFile, content: bytes) -> int:
    return file.path.read_bytes().index(content)


def test_the_first_value_of_a_key_stays(file: KeyedFile) -> None:
    file.keep([("key 3", b"another"), ("new", b"1"), ("new", b"2")])
    assert file.find(["key 3", "new", "unknown"]) == {
        "key 3": VALUES["key 3"],
        "new": b"1",
    }


def test_a_damaged_row_is_lacking_is_named_and_can_be_kept_again(
    file: KeyedFile,
) -> None:
    flip(file, place_of(file, b"value 7 value 7") + 4)
    found = file.find(list(VALUES))
    assert found == {key: value for key, value in VALUES.items() if key != "key 7"}
    assert file.damage() is not None
    file.keep([("key 7", VALUES["key 7"])])
    assert file.find(["key 7"]) == {"key 7": VALUES["key 7"]}


def test_no_flipped_bit_gives_another_value(file: KeyedFile) -> None:
    whole, draw = file.path.read_bytes(), random.Random(40)
    used = [place for place, byte in enumerate(whole) if byte]
    places = [*range(100), *draw.sample(used, 200)]
    for place in places:
        for path in file.path.parent.glob("answers*"):
            path.unlink()
        file.path.write_bytes(whole)
        flip(file, place, draw.randrange(8))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamagedEntryWarning)
            found = file.find(list(VALUES))
            file.keep(VALUES.items())
            again = file.find(list(VALUES))
        for values in (found, again):
            assert all(value == VALUES[key] for key, value in values.items()), place


def test_the_sound_rows_of_a_malformed_file_are_read_and_the_old_file_is_set_aside(
    file: KeyedFile,
) -> None:
    place = place_of(file, b"value 30 ") // 16_384 * 16_384
    content = bytearray(file.path.read_bytes())
    content[place : place + 400] = b"\xff" * 400
    file.path.write_bytes(content)
    with pytest.warns(DamagedEntryWarning, match="answers"):
        found = file.find(list(VALUES))
    assert 20 <= len(found) < len(VALUES)
    assert all(VALUES[key] == value for key, value in found.items())
    assert len(list(file.path.parent.glob("answers.sqlite.damaged*"))) == 1
    assert file.damage() is None
    file.keep(VALUES.items())
    assert file.find(list(VALUES)) == VALUES


def database(path: Path) -> None:
    """A SQLite file as another program writes it."""
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE entries (name)")


@pytest.mark.parametrize(
    "write", [lambda path: path.write_bytes(b"no database" * 1000), database]
)
def test_a_file_of_which_no_row_can_be_read_is_renamed_and_a_new_one_begun(
    tmp_path: Path, write
) -> None:
    file = Store(tmp_path).keyed_file("answers")
    write(file.path)
    before = file.path.read_bytes()
    with pytest.warns(DamagedEntryWarning, match="answers"):
        assert file.find(["key 1"]) == {}
    file.keep([("key 1", b"1")])
    assert file.find(["key 1"]) == {"key 1": b"1"}
    assert (tmp_path / "answers.sqlite.damaged1").read_bytes() == before


def pay(file: KeyedFile, key: str, payments: list[str]) -> bytes:
    """Read the values, and write those that are missing."""
    found = file.find([key])
    if not found:
        with file.claim(key):
            found = file.find([key])
            if not found:
                payments.append(key)
                time.sleep(0.1)
                file.keep([(key, b"answer")])
                found = file.find([key])
    return found[key]


def test_threads_that_want_one_value_pay_it_once_and_do_not_wait_for_others(
    tmp_path: Path,
) -> None:
    file, payments = Store(tmp_path).keyed_file("answers"), []
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: pay(file, "one", payments), range(6)))
    assert (found, payments) == ([b"answer"] * 6, ["one"])
    with file.claim("held"):
        pay(file, "two", payments)
    assert payments == ["one", "two"]
    assert list(tmp_path.rglob("*.lock")) == []


HOLDING = """
import sys, time
from kg2rag.compute import Store
file = Store(sys.argv[1]).keyed_file("answers")
with file.claim("one"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_claim_holds_between_processes_and_a_kill_frees_it(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    file, payments = Store(tmp_path).keyed_file("answers"), []
    waiting = threading.Thread(target=pay, args=(file, "one", payments))
    waiting.start()
    waiting.join(0.5)
    assert payments == []
    holder.kill()
    holder.communicate()
    waiting.join(30)
    assert payments == ["one"]
