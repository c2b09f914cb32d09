"""Tests of differences: exact by hand and against slow references, published examples, and that corrections hold."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from kg2rag.evaluation import significance
from kg2rag.evaluation.power import detectable_difference
from kg2rag.evaluation.significance import p_of_best, pair_table, win_tie_loss
from kg2rag.evaluation.statistics import holm, p_values, t_test


def by_trying_all(differences) -> float:
    """The definition: of all ways to swap, the share whose sum is as far from 0."""
    signs = np.array(list(product((1, -1), repeat=len(differences))))
    sums = np.abs(signs @ np.asarray(differences))
    return float((sums >= abs(np.sum(differences)) - 1e-9).mean())


def test_the_exact_test_by_hand():
    # Differences 1, 2, 3: of the 8 sign patterns only + + + and - - - reach |6|.
    assert p_values([1, 2, 3]) == 2 / 8
    # Thirds do not add up exactly in floats: |sum| >= 2/3 leaves out C(6, 3) = 20 of 64.
    thirds = np.array([1, 1, 1, 1, -1, -1]) / 3
    assert p_values(thirds) == 44 / 64
    assert p_values([0.0, 0.0]) == 1


def test_fishers_randomisation_test_of_darwins_maize():
    # "The Design of Experiments" (1935), Sec. 17 and 21: of 2^15 ways to sign the differences of
    # fifteen pairs of
    # plants, in eighths of an inch, 863 reach 314 in one direction; t(14) = 2.148.
    darwin = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48])
    assert p_values(darwin) == 2 * 863 / 2**15
    assert t_test(darwin[:, None])[0] == pytest.approx(0.0497, abs=5e-5)


@given(st.lists(st.fractions(-1, 1, max_denominator=10), min_size=1, max_size=9))
def test_the_exact_test_is_that_of_trying_all_swaps(scores):
    differences = [float(score) for score in scores]
    assert p_values(differences) == pytest.approx(by_trying_all(differences))


def test_scores_that_are_multiples_of_nothing_are_resampled_to_about_the_same():
    rng = np.random.default_rng(4)
    a = rng.normal(0.25, 1, 12)
    assert p_values(a) == pytest.approx(by_trying_all(a), rel=0.1)
    assert p_values(a, seed=1) != p_values(a, seed=2)
    # reciprocal ranks are multiples of 1/2520: no seed matters
    ranks = rng.integers(1, 11, (2, 300))
    assert (
        len({float(p_values(1 / ranks[0] - 1 / ranks[1], seed)) for seed in range(3)})
        == 1
    )
    far = rng.normal(3, 1, 60)
    assert 0 < p_values(far) < 1e-4  # never 0: the observed swap counts


@pytest.mark.parametrize("wrong", [[], [np.nan], [[[1]]]])
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(ValueError, match="Scores"):
        p_values(wrong)
    with pytest.raises(ValueError, match=r"1\.5"):
        holm([1.5])


def test_holm_wins_ties_and_losses_by_hand():
    # Sorted .01 .02 .03 .04 times 4, 3, 2, 1 = .04 .06 .06 .04, then never falling.
    assert holm([0.04, 0.01, 0.03, 0.02]).tolist() == pytest.approx(
        [0.06, 0.04, 0.06, 0.06]
    )
    assert holm([]).tolist() == []
    assert win_tie_loss(np.array([[1], [-0.2], [0], [0.1 + 0.2 - 0.3]])).tolist() == [
        [1, 2, 1]
    ]


def test_students_sleep_data_and_the_films_of_lakens():
    # Student (1908), Biometrika 6; R's t.test(paired = TRUE): t(9) = -4.0621, p = .002833.
    drug_1 = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
    drug_2 = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])
    # Lakens (2013), Table 1: ten ratings of two films, t(9) = 4.74, Cohen's d_z = 1.50.
    films = np.array([9, 7, 8, 9, 8, 9, 9, 10, 9, 9]) - np.array(
        [9, 6, 7, 8, 7, 9, 8, 8, 8, 7]
    )
    p, effect = t_test(np.stack([drug_1 - drug_2, films], axis=1))
    assert p[0] == pytest.approx(0.002833, abs=5e-7)
    assert effect.tolist() == pytest.approx([-4.0621 / np.sqrt(10), 1.5], abs=1e-4)


# Which differences could have been seen


def seen(sizes: np.ndarray, difference: float, runs: int = 400) -> float:
    """How often the test finds a difference of that size, by drawing who wins each question that differs."""
    rng = np.random.default_rng(5)
    share = (1 + difference * len(sizes) / sizes.sum()) / 2
    samples = np.where(rng.random((runs, len(sizes))) < share, sizes, -sizes).T
    return float((p_values(samples) < 0.05).mean())


@pytest.mark.parametrize("differing", [0.1, 0.4])
def test_a_detectable_difference_of_recalls_is_found_four_times_in_five(differing):
    rng = np.random.default_rng(6)
    sizes = rng.choice(
        [0, 0.5, 1], p=[1 - differing, 0.8 * differing, 0.2 * differing], size=150
    )
    (least,) = detectable_difference(sizes[:, None])
    # whole questions are won, so that power jumps; simulations here and there err by .02 each
    assert 0.74 < seen(sizes, least) < 0.9
    assert seen(sizes, 0.8 * least) < 0.72


def test_five_questions_that_differ_cannot_show_anything():
    # all five won has p = 2 / 2^5 = .0625; six won 2 / 2^6 = .031, so six must nearly all be won
    differences = np.array([[1, 1]] * 5 + [[0, 1]] + [[0, 0]] * 94)
    # .031 is above the level of two tests
    assert np.isnan(detectable_difference(differences, 2)).all()
    found = detectable_difference(differences)
    assert np.isnan(found[0])
    assert 0.05 < found[1] <= 0.06


# Pairs


def draws(n: int, **means: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shared = rng.normal(size=n)  # hard questions are hard for all
    return {name: mean + shared + rng.normal(size=n) for name, mean in means.items()}


def test_a_pair_by_hand():
    # Differences 1, 2, 3: mean 2, sd 1, t = 2 / (1 / sqrt 3), and 2 of 8 sign patterns reach 6.
    row = pair_table({"a": np.array([1.0, 2, 3]), "b": np.zeros(3)}).iloc[0]
    assert row[["a", "b", "difference", "p", "p_holm"]].tolist() == [
        "a",
        "b",
        2,
        1 / 4,
        1 / 4,
    ]
    assert row[["wins", "ties", "losses"]].tolist() == [3, 0, 0]
    assert row["p_t"] == pytest.approx(0.0742, abs=1e-4)  # t(2) = 3.464
    one = pair_table({"a": np.array([1.0]), "b": np.array([0.0])}).iloc[0]
    assert one["p"] == 1
    assert np.isnan(one["p_t"])
    assert pair_table({"a": np.ones(3)}).empty


def test_corrections_run_over_all_pairs():
    table = pair_table(draws(30, w=0, x=0.3, y=0.6, z=1.2))
    assert [*zip(table["a"], table["b"], strict=True)][:3] == [
        ("w", "x"),
        ("w", "y"),
        ("w", "z"),
    ]
    for p in ("p", "p_t"):
        assert table[f"{p}_holm"].tolist() == holm(table[p].to_numpy()).tolist()


def best(scores: dict[str, np.ndarray]) -> tuple[str, float]:
    columns = {name: column[:, None] for name, column in scores.items()}
    pairs = [(a, b) for i, a in enumerate(scores) for b in list(scores)[i + 1 :]]
    p = p_values(np.stack([scores[a] - scores[b] for a, b in pairs], axis=1))
    return p_of_best(columns, pairs, p[:, None])[0]


def test_the_best_is_named_with_its_largest_corrected_p():
    scores = draws(40, low=0, middle=1, high=1.3)
    name, p = best(scores)
    table = pair_table(scores)
    assert name == "high"
    assert p == pytest.approx(table.loc[table["b"] == "high", "p_holm"].max(), rel=0.2)
    assert best(scores | {"twin": scores["high"].copy()})[1] == 1


# Simulations. A family is a table of four systems; under the null no correction may reject in more
# than 5 % of
# families, up to the binomial error of the simulation.

FAMILIES = 300
# 27: more has chance 0.1 % where the true share is 5 %
MOST = int(binom.ppf(0.999, FAMILIES, 0.05))


def families(seed: int, means: tuple[float, ...] = (0, 0, 0, 0), n: int = 24):
    """Tables of systems that are equally good but for `means`; recalls of 0, 1/2 and 1, correlated by question."""
    rng = np.random.default_rng(seed)
    for _ in range(FAMILIES):
        level = (
            rng.normal(size=(n, 1)) + rng.normal(size=(n, len(means))) + np.array(means)
        )
        recall = np.digitize(level, [-0.7, 0.7]) / 2
        yield {f"s{i}": recall[:, i] for i in range(len(means))}


def test_where_all_systems_are_equal_corrected_tests_reject_at_most_5_per_cent_of_families(
    monkeypatch,
):
    # which is not read here
    monkeypatch.setattr(
        significance, "detectable_difference", lambda table, *_: table[0]
    )
    tables = [pair_table(one) for one in families(1)]
    rejected = {
        p: sum(bool((one[p] < 0.05).any()) for one in tables)
        for p in ("p", "p_t", "p_holm", "p_t_holm")
    }
    assert max(rejected["p_holm"], rejected["p_t_holm"]) <= MOST
    # the simulation finds tests out that are not corrected
    assert min(rejected["p"], rejected["p_t"]) > MOST


@pytest.mark.parametrize("means", [(0, 0, 0, 0), (0, 0, -2, -2)])
def test_a_winner_is_called_in_error_in_at_most_5_per_cent_of_families_and_a_clear_one_is_called(
    means,
):
    assert sum(best(one)[1] < 0.05 for one in families(3, means)) <= MOST
    assert (
        sum(best(one)[1] < 0.05 for one in families(4, (2.5, 0, 0, 0))) > 0.8 * FAMILIES
    )
