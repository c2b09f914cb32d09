import pytest

from kg2rag.datasets import load

CODES = {"def a():\n    pass": 0, "def b():\n    pass": 1}


def _question(number, code):
    return {
        "idx": f"q{number}",
        "doc": "how to pass",
        "code": code,
        "label": 1,
        "retrieval_idx": number,
    }


@pytest.fixture
def folder(write):
    write("cosqa-retrieval-dev-500.json", [_question(1, "def b():\n    pass")])
    return write("code_idx_map.txt", CODES).parent


def test_functions_are_untitled_passages_under_their_numbers(folder):
    data = load("cosqa", path=folder)
    assert data.corpus.ids == ["0", "1"]
    assert data.corpus.contents == list(CODES)
    assert data.qrels == {"q1": {"1": 1}}


@pytest.mark.parametrize(
    ("number", "code"), [(7, "def b():\n    pass"), (1, "def c():\n    pass")]
)
def test_a_question_whose_function_is_not_the_maps_is_refused(
    folder, write, number, code
):
    write("cosqa-retrieval-dev-500.json", [_question(number, code)])
    with pytest.raises(
        ValueError, match=rf"record 1 \('q{number}'\).*code_idx_map\.txt.* {number}\."
    ):
        load("cosqa", path=folder)


def test_two_functions_under_one_number_are_refused(folder, write):
    write("code_idx_map.txt", {"a": 0, "b": 0})
    with pytest.raises(ValueError, match=r"code_idx_map\.txt, 'b'.*unique"):
        load("cosqa", path=folder)
