"""How names are found in a text, folded and split."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kg2rag.text.normalisation import definitions, key, looks_like_name, split, surfaces, variants


def test_spellings_of_one_name_share_a_key() -> None:
    spellings = (
        "StreamingTextResponse",
        "streaming_text_response",
        "streaming-text-response",
        "STREAMING.text/Response",
    )
    assert {key(spelling) for spelling in spellings} == {"streamingtextresponse"}


def test_a_key_folds_accents_as_entity_names_do() -> None:
    assert key("Étienne") == "etienne"


def test_names_split_at_capitals_and_separators() -> None:
    assert split("parseHTTPResponse_v2") == ["parse", "HTTP", "Response", "v2"]


def test_a_path_is_found_whole_by_its_members_and_by_their_parts() -> None:
    assert variants("ai-sdk/openAI") == ("ai-sdk/openAI", "ai", "sdk", "openAI", "open", "AI")


def test_punctuation_at_the_edges_is_no_part_of_a_name() -> None:
    assert [name for name, _ in surfaces("(os.path.join), 'useChat'.")] == ["os.path.join", "useChat"]


def test_words_of_prose_do_not_look_like_names_in_code() -> None:
    assert not any(map(looks_like_name, ("Who", "well-known", "U.S.", "NASA", "1984", "3rd")))


def test_a_function_defined_in_any_of_several_languages_is_a_definition() -> None:
    assert list(definitions("def a(): x\nclass B:\nfunction c() {}\nfn d() {}\nconst e = 1")) == [
        "a",
        "B",
        "c",
        "d",
        "e",
    ]


@given(st.text("abzABZ019_-./: é", max_size=60))
def test_the_parts_of_a_name_are_its_characters_without_the_separators(text: str) -> None:
    assert key("".join(split(text))) == key(text)
