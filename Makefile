PYTHON ?= python3
DATASET ?= bundled
ARGS ?=
NOTEBOOKS ?= $(sort $(wildcard notebooks/*.ipynb))

BIN := .venv/bin
CORE := .venv/.core
LAB := .venv/.lab
ALL := .venv/.all

.DEFAULT_GOAL := help
.PHONY: help compare test test-all test-models check docs notebooks bench lab

help: ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

compare: $(CORE) ## compare the core systems: make compare DATASET=hotpotqa ARGS="--limit 200"
	$(BIN)/kg2rag compare $(DATASET) $(ARGS)

# Bytecode is written even where the environment says otherwise: many tests start a Python of their own.
test: $(ALL) ## the tests, and every notebook from top to bottom
	PYTHONDONTWRITEBYTECODE= KG2RAG_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --durations=25 $(ARGS)

test-all: export KG2RAG_FULL := 1
test-all: test ## these, and those that take many minutes: goldens on whole sets, every kept comparison

# A native build takes instructions that some virtual processors announce and do not have.
test-models: $(ALL) ## every path that asks a language model, with a small real one (needs cmake and a C++ compiler)
	CMAKE_ARGS="-DLLAVA_BUILD=OFF -DGGML_NATIVE=OFF" $(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--no-cache-dir --constraint constraints.txt --editable ".[models]"
	$(BIN)/python eval/models/small_model.py $(ARGS)

check: $(ALL) ## style, types, layers, prose; the kept results that older code made
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python eval/prose.py
	$(BIN)/python eval/outdated.py

docs: $(ALL) ## the documentation site, in build/site/html; ARGS=linkcheck asks the addresses outside of it
	$(BIN)/python docs/site/build.py $(ARGS)

notebooks: $(LAB) ## run the notebooks in place; that of public sets needs KG2RAG_DATA, the folder of the sets
	KG2RAG_DTYPE=float32 TQDM_DISABLE=1 PYTHONWARNINGS="ignore:IProgress not found" $(BIN)/jupyter nbconvert --to notebook --execute --inplace --ExecutePreprocessor.record_timing=False $(NOTEBOOKS)

bench: $(ALL) ## our speed as a ratio to the plain libraries
	$(BIN)/python eval/bench/run.py $(ARGS)

lab: $(LAB) ## JupyterLab on the notebooks
	$(BIN)/jupyter lab --notebook-dir=notebooks

# Three sizes of installation; a larger one counts as the smaller ones too. Each is repeated when its versions change.
$(CORE): EXTRAS := offline
$(LAB): EXTRAS := offline,documents,notebooks,llm
$(ALL): EXTRAS := offline,documents,notebooks,llm,irds,scale,docs,dev
$(LAB): SMALLER := $(CORE)
$(ALL): SMALLER := $(CORE) $(LAB)

# uv, if it is installed, takes an eighth of the time of pip.
UV := $(shell command -v uv)
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-compile
INSTALL := $(if $(UV),$(UV) pip install --python $(BIN)/python,$(PIP))

# The constraints pin torch: an open range would take the newest build with its CUDA packages. pip compiles bytecode on
# one core and compiles all of it; compileall uses every core and leaves out tests and the 400 models of transformers.
$(CORE) $(LAB) $(ALL): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing the pinned packages into .venv: some minutes with pip, seconds with uv."
	$(INSTALL) --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests/|/transformers/models/' .venv/lib || true # sources for other Pythons
	@touch $(SMALLER) $@

$(BIN)/python:
	$(PYTHON) -m venv .venv
