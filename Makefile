# Every target sets up what it needs in .venv, and is quick when nothing changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Of `make study`: smoke, quick or paper, and where it goes.
PRESET ?= quick
FOLDER ?= study

.PHONY: setup test lint bench study clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing uaos and its tools into $(VENV) (once; about a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n auto -q

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py

$(VENV)/.bench: $(STAMP)
	@echo "installing the peers to measure against (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,bench]"
	@touch $@

study: $(STAMP)
	@$(BIN)/uaos study --preset $(PRESET) --folder $(FOLDER)

clean:
	rm -rf $(VENV) dist study .pytest_cache .mypy_cache .ruff_cache .hypothesis
