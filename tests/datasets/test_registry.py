import subprocess
import sys

import pytest

from kg2rag.datasets import DATASETS, load, names


def test_every_set_is_registered_under_its_own_name_with_its_licence():
    assert names() == tuple(sorted(DATASETS))
    assert all(spec.name == name and spec.licence for name, spec in DATASETS.items())


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"'hotpot'.*2wiki, .*beir/scifact.*hotpotqa"):
        load("hotpot")


def test_a_size_after_the_name_is_the_name_of_a_folder(hotpot, write):
    assert load("hotpotqa-300", path=write("hotpot.json", hotpot)).name == "hotpotqa"


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("hotpotqa-300", {}, "path"),  # does not become the whole set
        ("cosqa", {}, "path"),
        (
            "musique",
            {"path": ".", "passages": "sentence"},
            "passages 'sentence'.*: paragraph",
        ),
        ("bundled", {"split": "test"}, "split 'test'"),
        ("hotpotqa", {"path": __file__, "split": "train"}, "split 'train'"),
        ("hotpotqa", {"path": __file__, "revision": "v1"}, "revision 'v1'"),
    ],
)
def test_options_that_make_no_sense_are_named(name, options, named):
    with pytest.raises(ValueError, match=named):
        load(name, **options)


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_an_unknown_setting_lists_those_of_the_set(name, tmp_path):
    offered = ", ".join(DATASETS[name].settings)
    with pytest.raises(
        ValueError, match=rf"'{name}' has no setting 'open'\. It offers: {offered}\."
    ):
        load(name, path=tmp_path, setting="open")


def test_a_limit_draws_questions_and_says_so(hotpot, write):
    data = load("hotpotqa", path=write("hotpot.json", hotpot), limit=1, seed=3)
    assert (len(data), len(data.corpus)) == (1, 3)
    assert (data.source["limit"], data.source["seed"]) == (1, 3)


def test_importing_the_registry_loads_nothing_heavy():
    heavy = ("torch", "datasets", "pandas", "sklearn")
    code = f"import sys, kg2rag.datasets; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
