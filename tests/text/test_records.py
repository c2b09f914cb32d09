"""The one gate for users' files: whatever is wrong with them is a DataError that names file and record."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg2rag.text import records
from kg2rag.text.decoding import decode_text, guessed_encodings
from kg2rag.text.records import (
    DataError,
    parse_json,
    read_delimited,
    read_jsonl,
    read_parquet,
    read_toml,
    reading,
)


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.fixture
def csv(tmp_path: Path):  # type: ignore[no-untyped-def]
    def written(text: str, name: str = "a.csv") -> list[tuple[int, records.Record]]:
        (tmp_path / name).write_bytes(text.encode())
        delimiter = "\t" if name.endswith("tsv") else ","
        return list(
            read_delimited(tmp_path / name, delimiter, ("head", "tail").__contains__)
        )

    return written


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '{"a": ',
            r"x: not valid JSON at column 7 \(Expecting value\). Is the file complete\?",
        ),
        ('{"a":\n ]', r"x: not valid JSON at line 2, column 2"),
        (nested(1_000_000), "x: lists and objects nest too deeply"),
        ('{"a":' * 500_000, "nest too deeply"),
        ("1" * 5_000, "x: a number has too many digits"),
        (r'["\ud83d"]', r"x: '\\ud83d' is half of a surrogate pair"),
    ],
)
def test_json_that_cannot_be_used_is_a_data_error_that_says_why(
    text: str, reason: str
) -> None:
    with pytest.raises(DataError, match=reason):
        parse_json(text, "x")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values, st.booleans())
def test_json_is_read_as_the_standard_library_reads_it(
    value: object, escaped: bool
) -> None:
    text = json.dumps(value, ensure_ascii=escaped)
    assert parse_json(text, "x") == json.loads(text)


def test_a_line_that_is_no_json_object_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    for line, reason in (
        ("{", "not valid JSON"),
        ("[]", "a list where an object is needed"),
        (nested(90_000), "deep"),
    ):
        file.write_text(f'{{"id": "1"}}\n\n{line}\n')
        with pytest.raises(DataError, match=rf"a\.jsonl, line 3: .*{reason}"):
            list(read_jsonl(file))


@pytest.mark.parametrize(
    ("names", "encoding"),
    [
        ("Jürgen Prochnow,Herbert Grönemeyer", "cp1252"),
        ("北京,中国", "gbk"),
        ("東京スカイツリー,日本の東京都", "shift_jis"),
        ("Москва,Россия", "cp1251"),
        ("Łódź,Kraków", "cp1250"),
        ("Jürgen,Köln", "utf-16-le"),
    ],
)
def test_a_table_in_another_encoding_is_read_and_the_guess_is_counted(
    tmp_path: Path, names: str, encoding: str
) -> None:
    file = tmp_path / "a.csv"
    frame = pd.DataFrame([names.split(",")] * 3, columns=["head", "tail"])
    frame.to_csv(file, index=False, encoding=encoding)
    with guessed_encodings() as guesses:
        rows = [row for _, row in read_delimited(file, ",")]
    assert rows == frame.to_dict("records")
    assert list(guesses.values()) == [1]
    with pytest.warns(UserWarning, match=r"a\.csv: encoding guessed"):
        list(read_delimited(file, ","))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Le café était fermé à cause d'un problème. Où êtes-vous? ", "cp1252"),
        ("Plain English words. " * 20 + "Смотритель маяка проверяет линзы. ", "cp1251"),
        (
            "Plain English words. " * 20 + "我的爱情故事发生在港口。 And so on.",
            "gb18030",
        ),
        ("Ślimak wędruje przez świeżą łąkę, a żółty źdźbło śpi. ", "cp1250"),
    ],
)
def test_a_text_is_read_in_the_encoding_in_which_its_words_have_usual_letters(
    text: str, encoding: str
) -> None:
    assert decode_text(text.encode(encoding)).text == text


def test_bytes_far_behind_the_start_decide_on_the_encoding(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    rows = [f"node {i},node {i + 1}" for i in range(20_000)]
    rows += ["Jürgen Prochnow,Das Boot für Größen"]
    file.write_text("\n".join(["head,tail", *rows]), encoding="cp1252")
    with guessed_encodings():
        *_, last = read_delimited(file, ",")
    assert last == (20_002, {"head": "Jürgen Prochnow", "tail": "Das Boot für Größen"})


def test_line_ends_of_a_macintosh_are_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"head,tail\ra,b\rc,d\r")
    rows = [row for _, row in read_delimited(file, ",")]
    assert rows == [{"head": "a", "tail": "b"}, {"head": "c", "tail": "d"}]


def test_damaged_characters_are_counted_even_behind_a_byte_order_mark(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"id": "1"}\n{"id": "\xe9"}\n')
    with guessed_encodings() as guesses:
        assert len(list(read_jsonl(tmp_path / "a.jsonl"))) == 2
    assert [text for text in guesses if "1 damaged" in text]


def test_bytes_that_are_no_text_are_refused_with_the_name_of_the_file(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.jsonl").write_bytes(bytes(range(256)) * 20)
    with pytest.raises(DataError, match=r"a\.jsonl: "):
        list(read_jsonl(tmp_path / "a.jsonl"))


def test_a_stray_quotation_mark_does_not_swallow_the_rows_after_it(csv) -> None:  # type: ignore[no-untyped-def]
    rows = [f"head {i},is,tail {i}" for i in range(50)]
    # 46 rows would become the first cell of one
    rows[3], rows[48] = '"head 3,is,tail 3', 'head 48,is,tail 48"'
    rows[48] = 'head 48",is,tail 48'
    with pytest.raises(DataError, match=r"a\.csv, lines 5 to 50: head"):
        csv("\n".join(["head,relation,tail", *rows]) + "\n")


@pytest.mark.parametrize(
    "row",
    ['"Ed" Wood,is,b', 'a,is,"b', '"a,is,b', "a,is", f"{'x' * 200_000},is,b"],
    ids=lambda row: row[:9],
)
def test_a_row_that_is_none_is_named(csv, row: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match=r"a\.csv, (line|record) [23]"):
        csv(f"head,relation,tail\n{row}\nc,is,d\n")


def test_cells_may_be_quoted_and_other_columns_may_have_several_lines(csv) -> None:  # type: ignore[no-untyped-def]
    found = csv('head,note,tail\n"a ""b"", c","one\ntwo",d\n')
    assert found == [(3, {"head": 'a "b", c', "note": "one\ntwo", "tail": "d"})]


def test_a_quotation_mark_in_tsv_is_a_character(csv) -> None:  # type: ignore[no-untyped-def]
    assert csv('head\ttail\n"a\tb\n', "a.tsv") == [(2, {"head": '"a', "tail": "b"})]


@pytest.mark.parametrize(
    "text", ["[" * 30_000 + "]" * 30_000, f"{9:0>5000}", "a = 1e345e", "\udcff"]
)
def test_a_toml_file_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f"a = {text}", encoding="utf-8", errors="surrogateescape")
    with pytest.raises(DataError, match=r"a\.toml"):
        read_toml(file)


def test_what_goes_wrong_in_reading_is_an_error_of_ours_that_names_the_file() -> None:
    with (
        pytest.raises(
            DataError, match=r"^x/a\.json: KeyError: \"'name'\"\. Write it again\.$"
        ),
        reading("x/a.json", "Write it again."),
    ):
        raise KeyError("name")
    with (
        pytest.raises(DataError, match=r"^x/a\.json: no passage\.$"),
        reading("x/a.json", "Write it again."),
    ):
        raise ValueError("no passage.")
    with (
        pytest.raises(ValueError, match=r"^x/a\.json, line 3: no\.$"),
        reading("x/a.json", "Write it again."),
    ):
        raise DataError("x/a.json, line 3: no.")
    with pytest.raises(TypeError), reading("x/a.json", "", ValueError):
        raise TypeError("a mistake in the code")


def test_what_is_no_parquet_file_is_named(tmp_path: Path) -> None:
    file, sound = tmp_path / "a.parquet", pa.table({"name": ["one", "two"]})
    pq.write_table(
        sound,
        file,
        use_dictionary=False,
        compression=None,
        write_page_checksum=True,
        store_schema=False,
    )
    written, misnamed = (
        file.read_bytes(),
        file.read_bytes().replace(b"name", b"n\xe1me"),
    )
    # The last in a page.
    for content in (
        b"PAR1 not",
        misnamed,
        written.replace(b"two", b"twi"),
    ):
        file.write_bytes(content)
        with pytest.raises(DataError, match=r"a\.parquet"):
            read_parquet(file)
