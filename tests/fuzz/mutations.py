"""A file that can be read, and a random generator -> a file that has something wrong with it, and what was done.

Half of the mutations know the format (JSON and JSON Lines by their values, TOML, tables and XML by their parts,
Parquet by its columns), so that they reach the code behind the parser; the others know bytes alone.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

DEEP = 30_000  # brackets; parsers that recurse overflow their stack on them
DIGITS = "9" * 5_000  # more than Python converts
LONG = "x" * 200_000
VALUES = (
    "null", "true", "0", "-1", "0.5", "1e345", "-1e345", "NaN", "Infinity", DIGITS, "9223372036854775808", "1e5",
    '""', '" "', '"\\ud800"', '"\\u0000"', '"[/INST]"', '"../../x"', '"=1+1"', f'"{LONG}"', '"1e345"', '"\u202e\u200b"',
    "[]", "{}", "[[]]", "[null]", '[["a", "b"]]', '{"": ""}', '{"a": [1]}', '["a", "a"]',
    "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP,
)  # fmt: skip
"""JSON values that a field may hold in place of its own."""
CELLS = ("", " ", "\x00", "nan", "NaN", "inf", "-1", "0", "1e345", DIGITS, LONG, '"', '""', "a\tb", "a,b", "\r",
         "\u2028", "\x85", "\x0c", "\ufeff", "%00", "%zz", "%ff", "٣", "²", "1_000", "0x10", "1.5", "=1+1",
         "None", "\u202e")  # fmt: skip
TOML = (
    "true", "-1", "0", "0.5", "1e345", "nan", "inf", "-inf", DIGITS, "[]", "{}", '""', '" "', '"\\ud800"', '"\\u0000"',
    f'"{LONG}"', "[[]]", "[1, 'a']", "[{}]", "[1, 1]", "{low = 1, high = 1e300, step = 1}", "{low = 0, high = inf}",
    "{low = 1, high = 9223372036854775807}", "{low = 0, high = 1, step = 1e-300}", '{low = "a", high = 2}',
    "1979-05-27", "07:32:00", "[" * DEEP + "]" * DEEP, "'a\nb'", "[1979-05-27]", "'dense'", "['dense', 'dense']",
)  # fmt: skip
PIECES = (b"[" * DEEP, b"{", b"}", b"]", b'"', b"\\", b"\x00", b"\xff", b"\xed\xa0\x80", b"\r\n", b"\n\n", b",", b"\t",
          b":", b"NaN", b"1e345", DIGITS.encode(), LONG.encode(), b"null", b"-", b"\\ud800", "\ufeff".encode(),
          b"%", b"<", b"&")  # fmt: skip
XML = (
    "<!DOCTYPE a [<!ENTITY b 'b'>]>",
    '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]>',
    "<a>" * DEEP,
    "<a/>",
    "&b;",
    "&#0;",
    "<![CDATA[",
    "<!--",
    "<?xml version='1.0' encoding='utf-7'?>",
    "</graph>",
    "<graph>",
    "<edge/>",
    "<node/>",
    "<data/>",
)


def mutate(data: bytes, suffix: str, random: Random) -> tuple[bytes, str]:
    """A mutated copy of a file of that suffix, and the names of the mutations, of which there may be several."""
    names: list[str] = []
    times = random.choice((1, 1, 1, 2, 3))
    knowing = _KNOWING.get(suffix)
    # Those that know the format first, for they must read the file themselves.
    for _ in range(sum(random.random() < 0.6 for _ in range(times)) if knowing else 0):
        try:
            changed, name = knowing(data, random)
        except (ValueError, IndexError, RecursionError, pa.ArrowException):
            break  # an earlier one has left nothing that can be read
        data, names = changed, [*names, name]
    while len(names) < times:
        data, name = _bytes(data, random)
        names.append(name)
    return data, " + ".join(names)


def _bytes(data: bytes, random: Random) -> tuple[bytes, str]:
    at = random.randrange(len(data) + 1)
    end = min(len(data), at + random.choice((1, 2, 8, 64, 512)))
    name = random.choice(("flip", "insert", "delete", "repeat", "truncate", "encode", "empty"))
    if name == "flip" and at < len(data):
        return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :], name
    if name == "delete":
        return data[:at] + data[end:], name
    if name == "repeat":
        return data[:end] + data[at:end] * random.choice((1, 2, 50)) + data[end:], name
    if name == "truncate":
        return data[:at], name
    if name == "empty" and random.random() < 0.2:
        return random.choice((b"", b" ", b"\n", b"\x00", b"null", b"[]", b"{}", b'"a"', b"1")), name
    if name == "encode":
        encoding = random.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "cp037"))
        return data.decode("utf-8", "replace").encode(encoding, "replace"), f"{name} {encoding}"
    return data[:at] + random.choice(PIECES) + data[at:], "insert"


class _Raw(str):
    """JSON as it is to be written."""

    __slots__ = ()


class _Object(list[Any]):
    """An object as its [key, value] pairs, of which several may have one key."""


def _json(data: bytes, random: Random) -> tuple[bytes, str]:
    root = [_parsed(data.decode())]
    name = _change(root, random)
    return _written(root[0]).encode(), name


def _json_lines(data: bytes, random: Random) -> tuple[bytes, str]:
    lines = data.decode().split("\n")
    at = random.choice([number for number, line in enumerate(lines) if line.strip()])
    if random.random() < 0.15:
        lines.insert(random.randrange(len(lines) + 1), lines[at])
        return "\n".join(lines).encode(), "line repeated"
    root = [_parsed(lines[at])]
    name = _change(root, random)
    lines[at] = _written(root[0])
    return "\n".join(lines).encode(), name


def _parsed(text: str) -> Any:
    return json.loads(text, object_pairs_hook=lambda pairs: _Object(map(list, pairs)))


def _change(root: list[Any], random: Random) -> str:
    """Change one place in a tree."""
    places = [(root, 0)]
    for holder, at in places:  # grows while it is walked: every place, breadth first
        value = holder[at]
        if isinstance(value, _Object):
            places += [(pair, 1) for pair in value]
        elif isinstance(value, list):
            places += [(value, number) for number in range(len(value))]
    holder, at = random.choice(places)
    value = holder[at]
    name = random.choice(("value", "value", "value", "copy", "missing", "renamed", "key twice", "item twice"))
    if name == "missing" and isinstance(value, list) and value:
        del value[random.randrange(len(value))]
    elif name == "renamed" and isinstance(value, _Object) and value:
        random.choice(value)[0] = random.choice(("", "x", "ID", "title", "id", "a b"))
    elif name == "key twice" and isinstance(value, _Object) and value:
        value.append([random.choice(value)[0], random.choice(value)[1]])
    elif name == "item twice" and isinstance(value, list) and not isinstance(value, _Object) and value:
        value.append(random.choice(value))
    elif name == "copy":
        other, place = random.choice(places)
        holder[at] = _Raw(_written(other[place]))
    else:
        holder[at] = _Raw(random.choice(VALUES))
        name = "value"
    return f"json {name}"


def _written(value: Any) -> str:
    if isinstance(value, _Raw):
        return str(value)
    if isinstance(value, _Object):
        return "{" + ", ".join(f"{json.dumps(key)}: {_written(one)}" for key, one in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value)


def _toml(data: bytes, random: Random) -> tuple[bytes, str]:
    lines = data.decode().split("\n")
    at = random.randrange(len(lines))
    key, equals, _ = lines[at].partition(" = ")
    name = random.choice(("value", "value", "value", "missing", "twice", "renamed", "header"))
    if name == "missing":
        del lines[at]
    elif name == "twice":
        lines.insert(random.randrange(len(lines) + 1), lines[at])
    elif name == "renamed" and equals:
        lines[at] = lines[at].replace(key, random.choice(("x", '""', "a.b", '"\\u0000"', ".".join("a" * 1_000))), 1)
    elif name == "header":
        lines.insert(
            at, random.choice(("[x]", "[[x]]", "[systems]", "[data]", f"[{'.'.join('a' * 1_000)}]", "[", "[["))
        )
    elif equals:
        lines[at] = f"{key} = {random.choice(TOML)}"
    return "\n".join(lines).encode(), f"toml {name}"


def _table(mark: str) -> Callable[[bytes, Random], tuple[bytes, str]]:
    def change(data: bytes, random: Random) -> tuple[bytes, str]:
        lines = data.decode().split("\n")
        at = random.randrange(max(len(lines) - 1, 1))
        cells = lines[at].split(mark)
        cell = random.randrange(len(cells))
        name = random.choice(("cell", "cell", "cell", "missing", "twice", "row twice", "no row", "swapped"))
        if name == "missing":
            del cells[cell]
        elif name == "twice":
            cells.insert(cell, cells[cell])
        elif name == "swapped":
            random.shuffle(cells)
        elif name == "cell":
            cells[cell] = random.choice(CELLS)
        lines[at] = mark.join(cells)
        if name == "row twice":
            lines.insert(at, lines[at])
        elif name == "no row":
            del lines[at]
        return "\n".join(lines).encode(), f"table {name}"

    return change


def _xml(data: bytes, random: Random) -> tuple[bytes, str]:
    text = data.decode()
    name = random.choice(("attribute", "attribute", "no attribute", "no element", "element twice", "insert", "text"))
    if name == "insert":
        places = [match.start() for match in re.finditer("<", text)]
        at = random.choice(places)
        return (text[:at] + random.choice(XML) + text[at:]).encode(), "xml insert"
    pattern = {
        "attribute": r'(?<=")[^"]*(?=")',
        "no attribute": r' [\w.:-]+="[^"]*"',
        "text": r"(?<=>)[^<]+(?=</data>)",
    }
    elements = r"<(?:node|edge|key|data)\b[^>]*?/>|<(node|edge|data)\b.*?</\1>"
    match = random.choice(list(re.finditer(pattern.get(name, elements), text, re.DOTALL)))
    new = {"no attribute": "", "no element": "", "element twice": match[0] * 2}.get(name)
    if new is None:
        new = random.choice(
            (*CELLS[:12], "directed", "int", "boolean", "d0", "None", "[]", "{}", "[" * DEEP, "[1]", "x")
        )
    new = new.replace("\x00", "&#0;").replace('"', "&quot;") if name in ("attribute", "text") else new
    return (text[: match.start()] + new + text[match.end() :]).encode(), f"xml {name}"


_TYPES = (pa.string(), pa.large_string(), pa.binary(), pa.int64(), pa.float64(), pa.bool_(), pa.null(),
          pa.timestamp("ns"), pa.list_(pa.string()), pa.list_(pa.int64()), pa.struct([("a", pa.string())]), pa.date32(),
          pa.dictionary(pa.int32(), pa.string()), pa.decimal128(38))  # fmt: skip


def _parquet(data: bytes, random: Random) -> tuple[bytes, str]:
    table = pq.read_table(io.BytesIO(data))
    at = random.randrange(table.num_columns)
    column, rows = table.column_names[at], table.num_rows
    name = random.choice(("type", "type", "cell", "cell", "renamed", "missing", "twice", "rows", "no metadata"))
    if name == "type":
        kind = random.choice(_TYPES)
        values: Any = pa.nulls(rows).cast(kind)
        if random.random() < 0.7:
            made = {"a": "x"} if pa.types.is_struct(kind) else [1] if kind == pa.list_(pa.int64()) else None
            made = ["x"] if kind == pa.list_(pa.string()) else made
            plain = 1 if pa.types.is_primitive(kind) or pa.types.is_decimal(kind) else "x"
            values = pa.array([made or plain] * rows).cast(kind)
        table = table.set_column(at, column, values)
    elif name == "cell":
        values = table.column(at).to_pylist()
        kind = table.schema.field(at).type
        texts = (None, "", " ", "\x00", LONG, "x", "{", "[" * DEEP, DIGITS)
        numbers = (None, -1, 0, 7, float("nan"), float("inf"), 1e300)
        cells: tuple[Any, ...] = texts if pa.types.is_string(kind) else numbers
        cells = (None, [], [None], ["", ""]) if pa.types.is_list(kind) else cells
        values[random.randrange(len(values))] = random.choice(cells)
        table = table.set_column(at, column, pa.array(values, kind))
    elif name == "renamed":
        names = list(table.column_names)
        names[at] = random.choice(("", "x", names[0], column.upper()))
        table = table.rename_columns(names)
    elif name == "missing":
        table = table.remove_column(at)
    elif name == "twice":
        table = table.append_column(column, table.column(at))
    elif name == "rows":
        table = random.choice((table.slice(0, 0), table.slice(1), pa.concat_tables([table, table])))
    else:
        table = table.replace_schema_metadata(random.choice((None, {b"kg2rag.notes": b"["}, {b"kg2rag.notes": b"[1]"})))
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue(), f"parquet {name}"


_KNOWING: dict[str, Callable[[bytes, Random], tuple[bytes, str]]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".toml": _toml,
    ".tsv": _table("\t"),
    ".csv": _table(","),
    ".trec": _table(" "),
    ".txt": _table(" "),
    ".graphml": _xml,
    ".parquet": _parquet,
}
