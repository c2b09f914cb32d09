"""The forecasts of docs/scale.md follow from what was measured."""

from __future__ import annotations

import pandas as pd
import pytest
from internet_scale import forecast, parts, vectors


def test_a_cost_goes_on_growing_as_it_was_seen_to_grow() -> None:
    assert forecast({10: 1.0, 100: 100.0}, 1000) == pytest.approx(10_000)
    assert forecast({10: 2.0}, 20) is None  # one size alone says nothing of growth


def test_a_part_has_hours_memory_and_disk() -> None:
    row = {"label": "now", "step": "build", "name": "bm25"}
    large = {**row, "passages": 1_000_000, "seconds_cpu": 3600.0, "peak_gb": 2.0, "disk_bytes": 5e8}
    small = {**row, "passages": 100_000, "seconds_cpu": 360.0, "peak_gb": 0.2, "disk_bytes": 5e7}
    line = parts(pd.DataFrame([small, large])).splitlines()[-1]
    assert line.startswith("| bm25 | 10⁵, 10⁶ | 1.00 / 2.00 / 0.500 | 5.23 / 10.5 / 2.62 |")


def test_a_part_that_was_measured_at_one_size_has_no_forecast() -> None:
    row = {"label": "now", "step": "build", "name": "bm25", "passages": 10_000}
    frame = pd.DataFrame([{**row, "seconds_cpu": 3600.0, "peak_gb": 2.0, "disk_bytes": 5e8}])
    assert "bm25" not in parts(frame)


def test_vectors_take_four_bytes_a_number() -> None:
    assert "| 1.5 GB | 8.0 GB | 32.3 GB |" in vectors()
