# Every target sets up what it needs in .venv, and is quick when nothing changed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Of `make study`: smoke, quick or paper, and where it goes.
PRESET ?= quick
FOLDER ?= study

.PHONY: setup test lint bench study docs clean

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
	$(BIN)/python -m pytest -n auto --dist loadgroup -q

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py

$(VENV)/.bench: $(STAMP)
	@echo "installing the peers to measure against (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev,bench]"
	@touch $@

study: $(STAMP)
	@$(BIN)/uaos study --preset $(PRESET) --folder $(FOLDER)

docs: site/index.html
	@echo "the documentation: $(CURDIR)/site/index.html"

# What the site is made from; mkdocs.yml and docs/hooks.py say how.
PAGES := mkdocs.yml README.md CHANGELOG.md CONTRIBUTING.md CITATION.cff benchmarks/results.md \
  $(shell find docs examples src/uaos -type f -not -name '*.pyc' -not -name '*.nb[ic]')

site/index.html: $(STAMP) $(PAGES)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# A site with a warning is not kept.
.DELETE_ON_ERROR:

clean:
	rm -rf $(VENV) dist site study .pytest_cache .mypy_cache .ruff_cache .hypothesis
