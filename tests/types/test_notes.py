from __future__ import annotations

import json
from dataclasses import dataclass, field

from kg2rag.types import INNER, LinkedEntity, Notes

ADA = LinkedEntity("Ada", "fuzzy", 0.9)


@dataclass(frozen=True)
class Walked(Notes):
    """The notes of a strategy of these tests."""

    steps: int = 0
    paths: tuple[tuple[str, float], ...] = ()
    codes: tuple[int, ...] | None = field(default=None, metadata=INNER)


WALKED = Walked(
    "walk",
    {"walk": "graph"},
    entities=(ADA,),
    steps=3,
    paths=(("a b", 0.5),),
    codes=(1, 2),
)
JOINED = Notes(
    "1 / place", inputs=(Notes("cosine", "dense", warning="dense ranking"), WALKED)
)


def test_notes_are_written_as_plain_json_and_read_back() -> None:
    written = json.loads(json.dumps(JOINED.to_json()))
    read = Notes.from_json(written)
    assert read.to_json() == written
    assert read.inputs[0] == JOINED.inputs[0]
    assert isinstance(read.inputs[1], Walked)
    assert (read.inputs[1].steps, read.inputs[1].paths, read.linked) == (
        3,
        (("a b", 0.5),),
        (ADA,),
    )


def test_codes_that_a_stage_leaves_for_the_next_are_neither_written_nor_shown() -> None:
    assert "codes" not in WALKED.to_json()
    assert "codes" not in WALKED.display_fields()


def test_notes_of_a_class_that_is_not_loaded_are_kept_for_display() -> None:
    written = {
        "kind": "Elsewhere",
        "formula": "x",
        "hops": [1, 2],
        "entities": [["Ada", "fuzzy", 0.9]],
    }
    read = Notes.from_json(written)
    assert (type(read), read.formula, read.linked) == (Notes, "x", (ADA,))
    assert read.display_fields()["hops"] == (1, 2)
    assert read.to_json() == {**written, "entities": [["Ada", "fuzzy", 0.9]]}


def test_what_inputs_say_follows_and_a_name_that_is_taken_is_numbered() -> None:
    said = Notes(inputs=(Walked(steps=1), Walked(steps=2))).display_fields()
    assert (said["steps"], said["steps 2"]) == (1, 2)
    assert JOINED.display_fields()["warning"] == "dense ranking"


def test_the_notes_of_a_step_are_found_by_their_class() -> None:
    assert JOINED.find(Walked) is WALKED
    assert Notes(inputs=(JOINED,)).find(Walked) is WALKED
    assert Notes().find(Walked) is None
