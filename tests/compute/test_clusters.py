"""Clusters that are running are joined, used and left running; in a file of their own, for a process has one Ray."""

from __future__ import annotations

import os
import re

import pytest

from kg2rag.compute import in_order, run_pieces, workers

PIECES = range(12)
SQUARES = [piece * piece for piece in PIECES]


def test_a_dask_cluster_that_is_running_is_joined_and_left_running() -> None:
    from distributed import Client, LocalCluster

    options = {"host": "127.0.0.1", "dashboard_address": None, "silence_logs": 50}
    with LocalCluster(2, threads_per_worker=1, **options) as cluster:
        with Client(cluster, set_as_default=False) as other:
            theirs = set(other.run(os.getpid).values())
        with workers(0, "dask", cluster.scheduler_address) as slots:
            assert slots == 2
            assert {process for _, process in run_pieces(lambda _: os.getpid(), PIECES)} <= theirs
        with workers(1, "dask", cluster.scheduler_address) as slots:
            assert slots == 1
            assert list(in_order(run_pieces(lambda piece: piece * piece, PIECES))) == SQUARES


@pytest.mark.slow
def test_a_ray_cluster_of_two_nodes_that_is_running_is_joined_and_left_running() -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1)
        for _ in range(2):
            with workers(0, "ray", cluster.address) as slots:
                assert slots == 2
                found = dict(run_pieces(lambda piece: (piece * piece, os.getpid()), PIECES))
            assert [found[number][0] for number in sorted(found)] == SQUARES
            assert os.getpid() not in {process for _, process in found.values()}
    finally:
        cluster.shutdown()


@pytest.mark.parametrize(("backend", "address"), [("dask", "tcp://127.0.0.1:1"), ("ray", "127.0.0.1:1")])
def test_an_address_where_nobody_answers_is_said(backend: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kg2rag.compute.backends._PATIENCE", 0.5)
    with pytest.raises(ConnectionError, match=re.escape(repr(address))), workers(2, backend, address):
        pass


@pytest.mark.slow
def test_a_process_that_is_connected_to_one_ray_does_not_take_it_for_another() -> None:
    message = r"connected to Ray at .*, not at '10\.0\.0\.1:6379'"
    with workers(1, "ray"), pytest.raises(ConnectionError, match=message), workers(2, "ray", "10.0.0.1:6379"):
        pass
