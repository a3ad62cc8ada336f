# Everything runs from .venv; nothing needs to be activated. SYSTEM=no keeps `make test` from the system's packages.

PYTHON ?= python3
JOBS   ?= 3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready
NODE   := js/node_modules/.package-lock.json
EXTRAS := all,experiments,test,check,docs,bench,release
# One thread for each worker. Three of them keep two cores busy: many tests wait for servers and browsers.
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS)

# Keeps what each process of a first run would compile again: all tests, the servers' kernels, the types of numpy.
PREPARE := CI= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -k "test_cases or mypy"

# The tests start many Pythons: where nothing is compiled beforehand, each of them compiles everything again.
unexport PYTHONDONTWRITEBYTECODE
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Silences the theme's notice about MkDocs 2; pyproject.toml stays below 2.
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup system node demo test wheel examples coverage validate check javascript format bench reproduce zoo figures docs lock build release-check clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv and install dpairs with its tools, at pinned versions

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("dpairs needs Python 3.11 or newer")'
	$(PYTHON) -m venv --clear $(VENV)

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$(EXTRAS)]'
	@$(PREPARE) >/dev/null || echo 'the first run of the tests will take longer, as this failed: $(PREPARE)' >&2
	@touch $@

demo: setup ## Run the demonstration
	$(BIN)/dpairs demo

system: ## Install what some tests need from the system's packages (Chromium, node, PostgreSQL); SYSTEM=no refuses
	@$(if $(filter validate,$(MAKECMDGOALS)),DPAIRS_VALIDATE=1) tools/system-packages

node: # pyright, on a user's script; what stays absent is reported as not tested
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory $(NODE) || \
	    echo "not installed, so what needs it will not be tested: pyright (npm ci failed in js/)" >&2; fi

test: setup system node ## Run the tests, without the long ones
	$(PYTEST) -m "not long and not wheel and not examples"

wheel: setup ## Build the wheel and try every install line of the documentation in a clean environment
	$(PYTEST) -m wheel --dist loadgroup tests/test_wheel.py

examples: setup ## Run the examples of federated tools from their READMEs, each in an environment of its own
	$(PYTEST) -n 0 -m examples tests/test_examples.py

coverage: setup system node ## Run the tests and show which lines and branches they reach
	@rm -f .coverage .coverage.*
	$(PYTEST) -m "not long and not wheel and not examples" --cov --cov-report=term:skip-covered

validate: setup system node ## Run every test, with the full statistical validation
	DPAIRS_VALIDATE=1 $(PYTEST)

check: setup javascript ## Check lint, format, types, imports, JavaScript and documentation
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/mkdocs build --strict # not --quiet, which hides warnings from --strict
	$(BIN)/python tools/page_widths.py site

javascript: ## Lint and type-check the JavaScript
ifeq ($(shell command -v npm),)
	@echo "not checked: JavaScript (npm is not installed)"; test -z "$$CI"
else
	@$(MAKE) --no-print-directory $(NODE)
	cd js && npm run --silent lint && npm run --silent types
endif

$(NODE): js/package.json js/package-lock.json
	cd js && npm ci --silent --no-audit --no-fund
	@touch $@

format: setup ## Format the code and fix what can be fixed safely
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: setup ## Run the benchmarks; NAMES for some of them
	$(BIN)/python benchmarks/run.py $(NAMES)

reproduce: setup ## Run the paper's experiments, into reproduced/; QUICK=1 for a small form, NAMES for some of them
	$(BIN)/python -m experiments $(if $(QUICK),--quick) $(NAMES)

zoo: setup ## Measure how often intervals hold on awkward populations; QUICK=1 for a few, HALF=second, AGAIN=1 for the worst
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m experiments.zoo --half $(or $(HALF),first) $(if $(QUICK),--quick) $(if $(AGAIN),--again)

figures: setup ## Draw the pictures of the documentation from the results; NAMES for some of them
	$(BIN)/python -m experiments --figures $(NAMES)

docs: setup ## Build the documentation into site/
	$(BIN)/mkdocs build --strict

lock: setup ## Write the versions that .venv holds to constraints.txt
	$(BIN)/python -m pip freeze --exclude-editable --exclude dpairs > constraints.tmp
	mv constraints.tmp constraints.txt
	@touch $(STAMP)

build: setup ## Build the wheel into dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# 8 of 10: there is no home page and no mail address to name yet.
release-check: setup ## Build sdist and wheel into dist/ and check all that would be published
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/pyroma --min 8 dist/*.tar.gz
	$(BIN)/python tools/release_check.py

clean: ## Remove what the other targets made, except .venv
	rm -rf site dist build reproduced js/node_modules constraints.tmp .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
