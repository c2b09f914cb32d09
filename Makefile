PYTHON ?= python3
DATASET ?= bundled
ARGS ?=
NOTEBOOKS ?= $(sort $(wildcard notebooks/*.ipynb))

BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help compare test check notebooks browser bench lab

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

compare: $(READY) ## compare all systems: make compare DATASET=hotpotqa ARGS="--limit 200"
	$(BIN)/kg2rag compare $(DATASET) $(ARGS)

test: $(READY) ## every test, and every notebook from top to bottom
	KG2RAG_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder $(ARGS)

check: $(READY) ## style, types, layers
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

notebooks: $(READY) ## run the notebooks in place
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace --ExecutePreprocessor.record_timing=False $(NOTEBOOKS)

browser: $(READY) ## notebook 01 and the widgets in JupyterLab, clicked in Chromium (pip install playwright)
	$(BIN)/python eval/browser.py notebooks/01_first_comparison.ipynb --widget $(ARGS)

bench: $(READY) ## our speed as a ratio to the plain libraries
	$(BIN)/python eval/bench/run.py $(ARGS)

lab: $(READY) ## JupyterLab on the notebooks
	$(BIN)/jupyter lab --notebook-dir=notebooks

# torch goes first and pinned: an open range would take the newest build with its CUDA packages.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable ".[notebooks,offline,llm,scale,dev]"
	@touch $(READY)
