"""What programs print is read as a terminal shows it: without colours, and the last state of a line."""

from __future__ import annotations

import json

from kg2rag.datasets.documents.terminal import shown_on_terminal


def stream(text):
    return {"output_type": "stream", "name": "stderr", "text": [text]}


def test_a_progress_bar_of_a_notebook_is_read_in_its_last_state(read):
    bars = [stream(f"\r{n}%|{'#' * n}| {n}/3") for n in range(4)]
    log = stream("\x1b[32m[I 10:00]\x1b[0m Trial \x1b[1m7\x1b[0m\n")
    cell = {
        "cell_type": "code",
        "source": ["train()"],
        "outputs": [*bars, stream("\n"), log],
    }
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    (passage,) = read({"train.ipynb": json.dumps(notebook)}).corpus
    assert passage.text == "train()\n\n3%|###| 3/3\n[I 10:00] Trial 7"


def test_a_log_is_read_without_its_colours(read):
    line = "\x1b[2m10:00\x1b[0m [\x1b[32mINFO\x1b[m] \x1b]0;title\x1b\\user \x1b[1;36mada\x1b[0m came\n"
    (passage,) = read({"app.log": line}).corpus
    assert passage.text == "10:00 [INFO] user ada came"


def test_what_a_line_keeps_of_its_former_state_is_shown():
    assert shown_on_terminal("ten parts\rsix\r\nend") == "six parts\nend"
    assert shown_on_terminal("1/9\b\b\b\r2/9\b\b\b\r") == "2/9"
    assert shown_on_terminal("typp\bo") == "typo"


def test_addresses_of_objects_that_a_cell_prints_are_left_out(read):
    value = "[<matplotlib.lines.Line2D at 0x7f8b1c>,\n <matplotlib.lines.Line2D at 0x7f8b1d>]"
    output = {"output_type": "execute_result", "data": {"text/plain": value}}
    cell = {"cell_type": "code", "source": "plot(x)", "outputs": [output]}
    documents = read({"a.ipynb": json.dumps({"nbformat": 4, "cells": [cell]})})
    assert [passage.text for passage in documents.corpus] == ["plot(x)"]
    assert documents.report.loc[0, "lost"] == 0
