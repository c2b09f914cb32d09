import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from kg2rag.datasets import near_duplicates as module
from kg2rag.datasets.near_duplicates import near_duplicates


def words(start, stop):
    return " ".join(f"w{number}" for number in range(start, stop))


def test_equal_texts_pair_with_the_first():
    text = words(0, 20)
    assert near_duplicates([text, "something else entirely, and more of it", text, text]) == [(2, 0), (3, 0)]


def test_similarity_is_the_jaccard_of_four_word_shingles():
    # 20 words make 17 shingles; one more word at the end adds one: 17 / 18 = 0.944…
    pair = [words(0, 20), words(0, 21)]
    assert near_duplicates(pair, threshold=0.94) == [(1, 0)]
    assert near_duplicates(pair, threshold=0.95) == []


def test_case_and_punctuation_make_no_difference():
    assert near_duplicates(["One two, three four five!", "ONE TWO THREE FOUR FIVE"]) == [(1, 0)]


def test_short_texts_are_one_shingle_and_texts_without_words_match_nothing():
    assert near_duplicates(["a b", "a b", "a", "...", "..."]) == [(1, 0)]


def test_no_texts_have_no_duplicates():
    assert near_duplicates([]) == []


def slow(texts, threshold=module.THRESHOLD):
    """Every pair, by sets."""
    sets = [set(module.hashed_shingles(text).tolist()) for text in texts]
    found = {}
    for later in range(len(texts)):
        for earlier in range(later):
            union = sets[earlier] | sets[later]
            if later not in found and union and len(sets[earlier] & sets[later]) / len(union) >= threshold:
                found[later] = earlier
    return sorted(found.items())


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=9).map(" ".join), max_size=12))
def test_the_sketches_find_what_comparing_every_pair_finds(texts):
    # Texts of at most nine words have at most six shingles, so a sketch holds them all and nothing can be missed.
    assert near_duplicates(texts) == slow(texts)


def test_the_result_does_not_depend_on_the_hash_seed():
    text = "one two three four five six"
    code = f"from kg2rag.datasets.near_duplicates import hashed_shingles as of; print(of({text!r}).tolist())"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1
