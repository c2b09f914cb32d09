import pytest

from kg2rag.datasets.reading import Files, Identifier, Record, Text, locate


class Row(Record):
    id: Identifier
    text: Text


def read(path):
    return Files().records(Row, path)


X = {"id": "1", "text": "x"}


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        (
            "a.json",
            '[{"id": "1", "text": "on',
            r"a\.json: not valid JSON at column \d+",
        ),
        (
            "a.jsonl",
            '{"id": "1", "text": "x"}\n\n{"id": "2", ',
            r"a\.jsonl, line 3: not valid JSON at column \d+",
        ),
        ("a.json", {"data": []}, "a.json.*list.*dict"),
        ("a.json", [X, 5], r"a\.json, record 2: .*not 5"),
        ("a.json", [{"id": "1"}], r"record 1 \('1'\): field 'text'"),
        ("a.json", [{"id": "1", "text": None}], "field 'text'.*None"),
        (
            "a.jsonl",
            [{"id": "1", "text": " \n"}],
            r"a\.jsonl, line 1 \('1'\): field 'text'",
        ),
        ("a.json", [X, {"_id": "2", "text": "y"}, X], r"record 3 \('1'\)"),
        ("a.json", [], "a.json"),
        ("a.jsonl", "\n", "a.jsonl"),
        (
            "a.json",
            [{"id": "1", "text": list(range(1, 100))}],
            r"not \[1, 2, 3, 4, 5, 6, \.\.\.\]",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(write, name, content, named):
    with pytest.raises(ValueError, match=named):
        read(write(name, content))


def test_a_byte_order_mark_is_no_content(write):
    assert read(write("a.json", b'\xef\xbb\xbf[{"id": "1", "text": "x"}]'))[0].id == "1"


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.csv", "a.tsv"])
def test_tables_in_utf_16_are_read(write, name):
    texts = {
        ".json": '[{"id": "1", "text": "żółw"}]',
        ".jsonl": '{"id": "1", "text": "żółw"}\n',
    }
    texts |= {".csv": "id;text\r\n1;żółw\r\n", ".tsv": "id\ttext\r\n1\tżółw\r\n"}
    text = texts[name.removeprefix("a")]
    assert read(write(name, text.encode("utf-16")))[0].text == "żółw"


def test_the_guess_of_an_encoding_is_a_warning(write):
    with pytest.warns(UserWarning, match=r"a\.json: encoding guessed: Windows-1252"):
        record = read(write("a.json", b'[{"id": "1", "text": "Re\xe9, Z\xfcrich"}]'))[0]
    assert record.text == "Reé, Zürich"


def test_a_unicode_line_separator_does_not_end_a_record(write):
    assert (
        read(write("a.jsonl", '{"id": "1", "text": "a\u2028b"}\n'))[0].text
        == "a\u2028b"
    )


def test_checksums_are_kept_under_short_names(write):
    files = Files()
    files.text(write("deep/a.txt", "abc"))
    # sha256 of "abc", FIPS 180-2, appendix B.1
    assert files.checksums == {
        "a.txt": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    }


def test_a_file_is_located_by_patterns_or_what_was_looked_for_is_named(write, tmp_path):
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(FileNotFoundError, match=r"x\*\.json.*y\.json"):
            locate(folder, ["x*.json", "y.json"], "questions")
    first = write("x1.json", [])
    assert (
        locate(tmp_path, ["x*.json"], "questions")
        == locate(first, ["y.json"], "questions")
        == first
    )
    write("x2.json", [])
    with pytest.raises(ValueError, match=r"x1\.json, x2\.json"):
        locate(tmp_path, ["x*.json"], "questions")
