"""A file that can be read, and a random generator -> a file that has something wrong with it, and what was done.

Half of the mutations know what a value is (of text by its tokens, of Parquet by its columns), so
that they reach the code behind the parser; the others know bytes only.
"""

from __future__ import annotations

import io
import re
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

DEEP = 30_000  # brackets; parsers that recurse overflow their stack on them
DIGITS = "9" * 5_000  # more than Python converts
LONG = "x" * 200_000
JSON = (
    "null", "true", "0", "-1", "0.5", "1e345", "NaN", "Infinity", DIGITS, "9223372036854775808", '""', '" "', '"1e345"',
    '"\\ud800"', '"\\u0000"', '"../../x"', '"=1+1"', f'"{LONG}"', '"\u202e\u200b"', "[]", "{}", "[[]]", "[null]",
    '[["a", "b"]]', '{"": ""}', '{"a": [1]}', '["a", "a"]', "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP,
)  # fmt: skip
TOML = (
    "true", "-1", "0", "0.5", "1e345", "nan", "-inf", DIGITS, "[]", "{}", '""', '" "', '"\\ud800"', f'"{LONG}"', "[[]]",
    "[1, 'a']", "[{}]", "{low = 0}", "1979-05-27", "[" * DEEP + "]" * DEEP, "'a\nb'", "'dense'", "['a', 'a']",
)  # fmt: skip
CELLS = (
    "", " ", "\x00", "nan", "inf", "-1", "0", "1e345", DIGITS, LONG, '"', '""', "a\tb", "a,b", "\r", "\u2028", "\x85",
    "\ufeff", "%zz", "٣", "²", "1_000", "1.5", "=1+1", "None", "\u202e",
)  # fmt: skip
XML = (
    "<!DOCTYPE a [<!ENTITY b 'b'>]>", '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]>', "<a>" * DEEP, "&b;",
    "&#0;", "<![CDATA[", "<!--", "</graph>", "<edge/>", "<node/>", "<data/>", "int", "boolean", "directed", "-1", LONG,
)  # fmt: skip
STRING = r'"(?:[^"\\]|\\.)*"'
TOKENS = {
    ".json": (rf"{STRING}|-?[\d.]+|true|false|null", JSON),
    ".toml": (rf"(?<== ){STRING}|(?<== )[^\n]+|[\w-]+", TOML),
    ".tsv": (r"[^\t\n]+", CELLS),
    ".csv": (r"[^,\n]+", CELLS),
    ".trec": (r"[^ \n]+", CELLS),
    ".graphml": (r'(?<=")[^"\n]*(?=")|(?<=>)[^<\n]+(?=<)|</?\w+[^>]*>', XML),
}
"""Ending -> what a value of such a text is, and what may stand in its place."""
TOKENS |= {".jsonl": TOKENS[".json"], ".txt": TOKENS[".trec"]}
PIECES = (b"[" * DEEP, b"{", b"}", b"]", b'"', b"\\", b"\x00", b"\xff", b"\xed\xa0\x80", b"\r\n", b"\n\n", b",", b"\t",
          b":", b"NaN", b"1e345", DIGITS.encode(), LONG.encode(), b"null", b"-", b"\\ud800", "\ufeff".encode(),
          b"%", b"<", b"&")  # fmt: skip


def mutate(data: bytes, suffix: str, random: Random) -> tuple[bytes, str]:
    """A mutated copy of a file with that suffix, and the names of its mutations."""
    names: list[str] = []
    times = random.choice((1, 1, 1, 2, 3))
    # Those that know values first, for they must read the file themselves.
    for _ in range(sum(random.random() < 0.6 for _ in range(times))):
        try:
            data, name = (
                _parquet(data, random)
                if suffix == ".parquet"
                else _text(data, suffix, random)
            )
        except (KeyError, ValueError, IndexError, pa.ArrowException):
            # an ending that is not known, or an earlier one has left nothing that can be read
            break
        names.append(name)
    while len(names) < times:
        data, name = _bytes(data, random)
        names.append(name)
    return data, " + ".join(names)


def _text(data: bytes, suffix: str, random: Random) -> tuple[bytes, str]:
    pattern, values = TOKENS[suffix]
    text = data.decode()
    name = random.choice(
        (
            "value",
            "value",
            "value",
            "copy",
            "swap",
            "missing",
            "twice",
            "line twice",
            "no line",
        )
    )
    if "line" in name:
        lines = text.split("\n")
        at = random.randrange(len(lines))
        lines[at : at + 1] = [lines[at]] * 2 if name == "line twice" else []
        return "\n".join(lines).encode(), name
    tokens = list(re.finditer(pattern, text))
    one, other = sorted(random.choices(tokens, k=2), key=lambda token: token.start())
    new = {"missing": "", "twice": one[0] * 2, "copy": other[0]}.get(
        name, random.choice(values)
    )
    if name == "swap" and one.end() <= other.start():
        text = text[: other.start()] + one[0] + text[other.end() :]
        new = other[0]
    return (text[: one.start()] + new + text[one.end() :]).encode(), name


def _bytes(data: bytes, random: Random) -> tuple[bytes, str]:
    at = random.randrange(len(data) + 1)
    end = min(len(data), at + random.choice((1, 2, 8, 64, 512)))
    name = random.choice(
        ("flip", "insert", "delete", "repeat", "truncate", "encode", "empty")
    )
    if name == "flip" and at < len(data):
        return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[
            at + 1 :
        ], name
    if name == "delete":
        return data[:at] + data[end:], name
    if name == "repeat":
        return data[:end] + data[at:end] * random.choice((1, 2, 50)) + data[end:], name
    if name == "truncate":
        return data[:at], name
    if name == "empty" and random.random() < 0.2:
        return random.choice(
            (b"", b" ", b"\n", b"\x00", b"null", b"[]", b"{}", b'"a"', b"1")
        ), name
    if name == "encode":
        encoding = random.choice(
            ("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "cp037")
        )
        return data.decode("utf-8", "replace").encode(
            encoding, "replace"
        ), f"{name} {encoding}"
    return data[:at] + random.choice(PIECES) + data[at:], "insert"


_TYPES = (pa.string(), pa.binary(), pa.int64(), pa.float64(), pa.bool_(), pa.null(), pa.timestamp("ns"), pa.date32(),
          pa.list_(pa.string()), pa.struct([("a", pa.string())]), pa.dictionary(pa.int32(), pa.string()))  # fmt: skip
_TEXTS = (None, "", " ", "\x00", LONG, "x", "{", "[" * DEEP, DIGITS)
_NUMBERS = (None, -1, 0, 7, float("nan"), float("inf"), 1e300)


def _parquet(data: bytes, random: Random) -> tuple[bytes, str]:
    table = pq.read_table(io.BytesIO(data))
    at = random.randrange(table.num_columns)
    field, values, names = (
        table.schema.field(at),
        table.column(at),
        list(table.column_names),
    )
    name = random.choice(
        (
            "type",
            "type",
            "cell",
            "cell",
            "renamed",
            "missing",
            "twice",
            "rows",
            "no metadata",
        )
    )
    if name == "type":
        table = table.set_column(
            at, field.name, pa.nulls(table.num_rows).cast(random.choice(_TYPES))
        )
    elif name == "cell":
        cells: Any = _TEXTS if pa.types.is_string(field.type) else _NUMBERS
        cells = (None, [], [None], ["", ""]) if pa.types.is_list(field.type) else cells
        made = values.to_pylist()
        made[random.randrange(len(made))] = random.choice(cells)
        table = table.set_column(at, field.name, pa.array(made, field.type))
    elif name == "renamed":
        names[at] = random.choice(("", "x", names[0], field.name.upper()))
        table = table.rename_columns(names)
    elif name in ("missing", "twice"):
        table = (
            table.remove_column(at)
            if name == "missing"
            else table.append_column(field.name, values)
        )
    elif name == "rows":
        table = random.choice(
            (table.slice(0, 0), table.slice(1), pa.concat_tables([table, table]))
        )
    else:
        table = table.replace_schema_metadata(
            random.choice((None, {b"kg2rag.notes": b"["}, {b"kg2rag.notes": b"[1]"}))
        )
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue(), f"parquet {name}"
