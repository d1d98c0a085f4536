# Every target sets up what it needs in .venv, and is quick when nothing changed.
# On Windows, run make from Git Bash, with PYTHON=python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Without compiled modules, the hundreds of processes that the tests start take twice as long.
unexport PYTHONDONTWRITEBYTECODE
# Of `make study`: smoke, quick or paper, and where it goes.
PRESET ?= quick
FOLDER ?= study

# Of `make bench`: QUICK=1 for fewer rounds, and so rougher numbers. What it installs has a name as
# a comma separates the arguments of `call`.
QUICK ?=
BENCH := .[dev,bench]

# The dependencies of pyproject.toml, each in the lowest version that it allows.
define LOWEST
import tomllib
with open("pyproject.toml", "rb") as file:
    needs = tomllib.load(file)["project"]["dependencies"]
print(*(need.split(",")[0].replace(">=", "==") for need in needs))
endef
export LOWEST

.PHONY: setup test lint lowest thorough faults bench study docs wheel clean

setup: $(STAMP)

# uv takes a quarter of pip's time. It does not read pip's settings: it is told the index, and where it
# fails, pip installs. In a terminal, progress stands on one line; if pip fails, too, what it said is
# shown in full.
INDEX = $$($(PIP) config get global.index-url 2>/dev/null || echo https://pypi.org/simple)
define install
@rm -f $(VENV)/.failed
@{ { $(PIP) install uv && $(BIN)/uv pip install --python $(BIN)/python --default-index "$(INDEX)" \
  -e "$(1)"; } 2>&1 || $(PIP) install --progress-bar off --no-compile -e "$(1)" 2>$(VENV)/.said || \
  touch $(VENV)/.failed; } | $(BIN)/python -c "$$WATCH"
@if rm $(VENV)/.failed 2>/dev/null; then cat $(VENV)/.said >&2; exit 1; fi
@touch $@
endef
define WATCH
import sys
for line in sys.stdin if sys.stdout.isatty() else ():
    print("\r\033[K" + line.split(" (")[0].strip()[:75], end="", flush=True)
for line in sys.stdin: pass
print("\r\033[K" * sys.stdout.isatty(), end="")
endef
export WATCH

$(STAMP): pyproject.toml
	@echo "installing uaos and its tools into $(VENV) (once; less than a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(call install,.[dev])

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Mypy, which takes one core for half a minute, runs beside the tests; its verdict is shown after.
test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/mypy >$(VENV)/.types 2>&1 & types=$$!; echo "mypy, beside the tests"; \
	  $(BIN)/python -m pytest -n auto --dist loadgroup --no-loadscope-reorder -q; tests=$$?; \
	  wait $$types; typed=$$?; echo "mypy: $$(cat $(VENV)/.types)"; \
	  test $$tests = 0 && test $$typed = 0

# What needs no extra, with the lowest supported versions of the dependencies.
lowest:
	test -x $(VENV)-lowest/bin/python || $(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --disable-pip-version-check -q -e ".[plot]" \
	  "pytest>=8.3,<9.2" pytest-xdist hypothesis $$($(PYTHON) -c "$$LOWEST")
	$(VENV)-lowest/bin/python -m pytest -n auto --dist loadgroup --no-loadscope-reorder -q \
	  -W ignore::DeprecationWarning tests/test_jit.py \
	  tests/test_without_jit.py tests/selection tests/cli/test_app.py

# What is drawn at random: many examples, other ones each time.
thorough: $(STAMP)
	$(BIN)/python -m pytest -n auto --hypothesis-profile thorough -q \
	  $$(grep -rl "^@given" tests)

# Kills, full disks, damaged and hostile files, nonsense: many times over (docs/reliability.md).
faults: $(STAMP)
	$(BIN)/python -m pytest tests/faults -m "faults_long or not faults_long" -q

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py $(if $(QUICK),--quick)

$(VENV)/.bench: $(STAMP)
	@echo "installing the peers to measure against (once)"
	$(call install,$(BENCH))

study: $(STAMP)
	@$(BIN)/uaos study --preset $(PRESET) --folder $(FOLDER)

docs: site/index.html
	@echo "the documentation: $(CURDIR)/site/index.html"

# What the site is made from; mkdocs.yml and docs/hooks.py say how.
PAGES := mkdocs.yml README.md CHANGELOG.md CONTRIBUTING.md CITATION.cff benchmarks/results.md \
  $(shell find docs examples src/uaos -type f -not -path '*/__pycache__/*')

site/index.html: $(STAMP) $(PAGES)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The files of a release, checked as the package index checks them.
wheel: $(VENV)/.build
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

$(VENV)/.build: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install -q build twine
	@touch $@

# A site with a warning is not kept.
.DELETE_ON_ERROR:

clean:
	rm -rf $(VENV) $(VENV)-lowest dist site study .pytest_cache .mypy_cache .ruff_cache .hypothesis
