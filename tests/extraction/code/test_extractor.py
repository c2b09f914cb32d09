"""What a corpus of Python sources defines, imports, calls, uses and inherits from."""

from __future__ import annotations

import pytest

from kg2rag.extraction import Entity, Extraction, Mention
from kg2rag.extraction.code import PythonCode
from kg2rag.extraction.sources import SOURCES
from kg2rag.knowledge import KnowledgeGraph
from kg2rag.types import Corpus, Passage

SHAPES = '''
import math
from pkg.base import Base, check as checked


class Circle(Base):
    """A round shape.

    More of it.
    """

    def __init__(self, radius):
        self.radius = checked(radius)

    def area(self):
        return math.pi * self.square(self.radius)

    @staticmethod
    def square(value):
        return value**2
'''
BASE = """
class Base:
    def scale(self, by):
        return by


def check(value):
    return value
"""
USER = """
from pkg import Circle

KINDS = {"circle": Circle}


def total(shapes, check):
    def one(shape):
        return shape.scale(2)

    check(shapes)
    print(len(shapes), shapes.append(one))
    return sum(map(one, shapes)), Circle(3).area()
"""


def passage(id_: str, title: str, text: str, doc: str = "") -> Passage:
    return Passage(id_, title, text, doc or id_, 0)


TEXTS = {"shapes": SHAPES, "base": BASE, "user": USER}
CORPUS = Corpus.from_passages(
    [passage(name, f"pkg.{name}", text) for name, text in TEXTS.items()]
)


def facts(found: Extraction, passage_id: str = "") -> set[tuple[str, str, str]]:
    return {
        (t.head, t.relation, t.tail)
        for t in found.triples
        if passage_id in ("", t.passage_id)
    }


@pytest.fixture(scope="module")
def found() -> Extraction:
    return PythonCode().extract(CORPUS)


def test_definitions_are_entities_with_their_kind_docstring_and_shorter_names(
    found: Extraction,
) -> None:
    entities = {entity.name: entity for entity in found.entities}
    circle = Entity(
        "pkg.shapes.Circle", "class", "A round shape.", ("Circle", "shapes.Circle")
    )
    assert entities["pkg.shapes.Circle"] == circle
    assert entities["pkg.shapes.Circle.area"].type == "method"
    assert entities["pkg.user.total.one"].type == "function"
    assert Mention("pkg.base.check", "base") in found.mentions


def test_a_module_and_a_class_say_what_they_define_import_and_inherit(
    found: Extraction,
) -> None:
    assert facts(found, "shapes") == {
        ("pkg.shapes", "imports", "math"),
        ("pkg.shapes", "imports", "pkg.base.Base"),
        ("pkg.shapes", "imports", "pkg.base.check"),
        ("pkg.shapes", "defines", "pkg.shapes.Circle"),
        ("pkg.shapes.Circle", "inherits from", "pkg.base.Base"),
        ("pkg.shapes.Circle", "defines", "pkg.shapes.Circle.__init__"),
        ("pkg.shapes.Circle", "defines", "pkg.shapes.Circle.area"),
        ("pkg.shapes.Circle", "defines", "pkg.shapes.Circle.square"),
        ("pkg.shapes.Circle.__init__", "calls", "pkg.base.check"),
        ("pkg.shapes.Circle.area", "calls", "pkg.shapes.Circle.square"),
    }


def test_calls_go_to_what_is_meant_and_not_to_what_a_parameter_hides_or_a_builtin_is(
    found: Extraction,
) -> None:
    assert facts(found, "user") == {
        ("pkg.user", "imports", "pkg.shapes.Circle"),  # passed on by the package
        ("pkg.user", "uses", "pkg.shapes.Circle"),
        ("pkg.user", "defines", "pkg.user.total"),
        ("pkg.user.total", "defines", "pkg.user.total.one"),
        ("pkg.user.total", "uses", "pkg.user.total.one"),
        ("pkg.user.total", "calls", "pkg.shapes.Circle"),
        # Of the Circle that it makes.
        (
            "pkg.user.total",
            "calls",
            "pkg.shapes.Circle.area",
        ),
        ("pkg.user.total.one", "calls", "pkg.base.Base.scale"),
    }
    # Shapes.append.
    assert found.notes == {"calls of methods of unknown objects, left out": 1}


def test_every_triple_has_its_line_and_its_confidence(found: Extraction) -> None:
    by_fact = {(t.head, t.relation, t.tail): t for t in found.triples}
    sure = by_fact["pkg.shapes.Circle.area", "calls", "pkg.shapes.Circle.square"]
    guess = by_fact["pkg.user.total.one", "calls", "pkg.base.Base.scale"]
    assert (sure.confidence, sure.description) == (
        1.0,
        "return math.pi * self.square(self.radius)",
    )
    assert (guess.confidence, guess.description) == (0.5, "return shape.scale(2)")
    assert (
        by_fact["pkg.shapes.Circle", "inherits from", "pkg.base.Base"].strength == 9.0
    )


def test_parts_of_a_file_share_its_imports_and_a_method_may_stand_alone() -> None:
    corpus = Corpus.from_passages(
        [
            passage(
                "head",
                "pkg.a",
                "from pkg.b import helper as h\nimport json as j",
                "a.py",
            ),
            passage(
                "method",
                "pkg.a.Thing",
                "    def run(self):\n        h(self)\n        return j.dumps(h)",
                "a.py",
            ),
            passage("other", "pkg.c", "def run():\n    return h()", "c.py"),
            passage("helper", "pkg.b", "def helper(x):\n    return x", "b.py"),
        ]
    )
    found = PythonCode().extract(corpus)
    assert ("pkg.a.Thing.run", "calls", "pkg.b.helper") in facts(found, "method")
    assert ("pkg.a.Thing.run", "calls", "json.dumps") in facts(found, "method")
    assert not [one for one in facts(found, "other") if one[1] == "calls"]


def test_relative_imports_are_resolved_by_the_module_in_the_title() -> None:
    texts = {
        "pkg.sub.one": "from ..base import check\nfrom . import two\nfrom .two import f as g\n",
        "pkg.base": "def check(): ...",
        "pkg.sub.two": "def f(): ...",
    }
    found = PythonCode().extract(
        Corpus.from_passages(
            [passage(name, name, text) for name, text in texts.items()]
        )
    )
    imported = ("pkg.base.check", "pkg.sub.two", "pkg.sub.two.f")
    assert facts(found, "pkg.sub.one") == {
        ("pkg.sub.one", "imports", name) for name in imported
    }


def test_what_is_no_python_is_counted_and_the_rest_is_read() -> None:
    texts = ["print 'two'", "def f():\n\tg()\ndef g(): pass", "\x00", "(" * 5000]
    corpus = Corpus.from_passages(
        [passage(f"p{at}", "", text) for at, text in enumerate(texts)]
    )
    found = PythonCode().extract(corpus)
    assert facts(found) == {("f", "calls", "g")}
    assert found.notes == {"passages that are no Python 3": 3}


def test_names_that_several_passages_define_are_not_guessed() -> None:
    texts = ["def save(x):\n    return x"] * 2 + [
        "def main(data):\n    save(data)\n    np.array(data)"
    ]
    corpus = Corpus.from_passages(
        [passage(f"p{at}", "", text) for at, text in enumerate(texts)]
    )
    assert facts(PythonCode().extract(corpus), "p2") == set()


def test_the_source_is_one_by_name_and_makes_a_graph() -> None:
    graph = KnowledgeGraph.build(SOURCES.build("code").extract(CORPUS), CORPUS)
    assert graph.find("Circle") == graph.entity("pkg.shapes.Circle")
    assert graph.entity_types == ("class", "function", "method")
