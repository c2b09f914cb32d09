import pytest

from kg2rag.datasets.reading import Files, Identifier, Record, Text, first_keys, locate


class Row(Record):
    id: Identifier
    text: Text


def read(path):
    return Files().records(path, Row)


def test_truncated_json_says_where_and_asks_for_the_rest(write):
    with pytest.raises(
        ValueError, match=r"a\.json: not valid JSON: EOF .* at line 1 column \d+\. Is the file complete\?"
    ):
        read(write("a.json", '[{"id": "1", "text": "on'))


def test_a_truncated_line_is_named_by_its_number(write):
    with pytest.raises(ValueError, match=r"a\.jsonl, line 3: not valid JSON: EOF .* at column \d+\. Is the file"):
        read(write("a.jsonl", '{"id": "1", "text": "x"}\n\n{"id": "2", '))


def test_a_byte_that_is_not_utf8_is_named_by_offset_and_value(write):
    with pytest.raises(ValueError, match=r"a\.json: byte 0xe9 at offset 24 is not UTF-8 .* Convert the file to UTF-8"):
        read(write("a.json", b'[{"id": "1", "text": "Ren\xe9"}]'[:0] + b'[{"id": "1", "text": "Re' + b'\xe9"}]'))


def test_a_byte_order_mark_is_no_content(write):
    assert read(write("a.json", b'\xef\xbb\xbf[{"id": "1", "text": "x"}]'))[0].id == "1"


def test_an_object_where_a_list_is_due(write):
    with pytest.raises(ValueError, match=r"a\.json: must hold a list of records, not dict"):
        read(write("a.json", {"data": []}))


def test_a_record_that_is_no_object(write):
    with pytest.raises(ValueError, match=r"a\.json, record 2: the record must be an object, not int: 5"):
        read(write("a.json", [{"id": "1", "text": "x"}, 5]))


def test_a_missing_field_is_named_with_its_record(write):
    with pytest.raises(ValueError, match=r"a\.json, record 1 \('1'\): field 'text' is missing"):
        read(write("a.json", [{"id": "1"}]))


def test_null_is_called_null(write):
    with pytest.raises(ValueError, match=r"field 'text' must be a string, not null: None"):
        read(write("a.json", [{"id": "1", "text": None}]))


def test_blank_text_is_empty(write):
    with pytest.raises(ValueError, match=r"a\.jsonl, line 1 \('1'\): field 'text' is empty"):
        read(write("a.jsonl", [{"id": "1", "text": " \n"}]))


def test_an_id_that_stands_twice_names_both_records(write):
    rows = [{"_id": "1", "text": "x"}, {"_id": "2", "text": "y"}, {"_id": "1", "text": "z"}]
    with pytest.raises(ValueError, match=r"a\.json, record 3 \('1'\): the id already stands at record 1"):
        read(write("a.json", rows))


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_a_file_without_records_is_refused(write, name):
    with pytest.raises(ValueError, match=rf"{name}: no record in it"):
        read(write(name, "[]" if name == "a.json" else "\n"))


def test_a_long_value_is_shortened_in_the_message(write):
    with pytest.raises(ValueError, match=r"must be a string, not list: \[1, 2, 3, 4, 5, 6, \.\.\.\]\."):
        read(write("a.json", [{"id": "1", "text": list(range(1, 100))}]))


def test_a_unicode_line_separator_does_not_end_a_record(write):
    assert read(write("a.jsonl", '{"id": "1", "text": "a\u2028b"}\n'))[0].text == "a\u2028b"


def test_checksums_are_kept_under_short_names(write):
    files = Files()
    files.text(write("deep/a.txt", "abc"))
    # sha256 of "abc", FIPS 180-2, appendix B.1
    assert files.checksums == {"a.txt": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}


def test_a_path_that_does_not_exist_says_what_is_looked_for(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"nowhere does not exist\. Give a folder that holds x\*\.json or y\.json"
    ):
        locate(tmp_path / "nowhere", ["x*.json", "y.json"], "questions")


def test_an_empty_folder_says_what_is_looked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"holds no questions\. Looked for: x\*\.json, y\.json"):
        locate(tmp_path, ["x*.json", "y.json"], "questions")


def test_two_files_that_fit_are_named(write):
    folder = write("x1.json", []).parent
    write("x2.json", [])
    with pytest.raises(ValueError, match=r"holds 2 files of questions: x1\.json, x2\.json\. Give one of them"):
        locate(folder, ["x*.json"], "questions")


def test_the_first_objects_fields_are_found_in_both_layouts():
    assert first_keys('[{"a": {"b": 1}, "c": 2}, {"d": 3}]') == ["a", "c"]
    assert first_keys('{"a": 1}\n{"b": 2}\n') == ["a"]
    assert first_keys("[]") == first_keys('[{"a": ') == []
