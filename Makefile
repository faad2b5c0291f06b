# `make help` lists what can be made.
PYTHON ?= $(shell .ci/find-python)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
# Release of the Kubernetes libraries that `make reference` asks; the recorded one where it is not given.
KUBERNETES ?=

.PHONY: help compiled setup audit test slow check bench bench-all differential paths reference

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $(STAMP)

# As an installer would: a start reads the modules and does not compile them, where Python may not write either.
compiled: $(STAMP)
	@$(BIN)/python -m compileall -q auditor pipelines

setup: compiled ## Create .venv with everything the project needs

test: $(STAMP) ## Run the tests
	$(BIN)/python -m pytest -n 2 -m 'not slow'

slow: $(STAMP) ## Run the slower tests
	$(BIN)/python -m pytest -m slow

audit: compiled ## Audit sample-data/ and show the result
	$(BIN)/auditor audit sample-data/cluster.db.gz --report out/sample --force --fail-on never
	@echo
	$(BIN)/auditor query out/sample loaves --field-selector spec.flour=spelt

bench: compiled ## Measure beside the API server's own libraries
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/scaling.py --objects 100000 1000000
	$(BIN)/python benchmarks/cel.py
	$(BIN)/python benchmarks/updates.py
	$(BIN)/python benchmarks/definitions.py

bench-all: $(STAMP) ## Run every benchmark and make the tables of benchmarks/README.md
	$(BIN)/python benchmarks/all.py

differential: $(STAMP) ## Hold audits and rules against the API server's own libraries, object by object
	$(BIN)/python -m tests.differential.run --objects 100000 --rules
	$(BIN)/python -m tests.differential.upgrade --objects 20000
	$(BIN)/python -m tests.cel_fuzz.run

paths: $(STAMP) ## Hold the generated code against the interpreters, over 1,000,000 objects
	$(BIN)/python -m tests.differential.fast_vs_exact --objects 1000000

reference: $(STAMP) ## Build the program around the API server's own libraries, have it answer the vectors anew (KUBERNETES=v0.38.0)
	$(BIN)/python -m tests.reference.make $(if $(KUBERNETES),--release $(KUBERNETES))

check: $(STAMP) ## Lint, types, layers
	$(BIN)/ruff check auditor pipelines tests
	$(BIN)/ruff format --check auditor pipelines tests
	$(BIN)/mypy
	$(BIN)/mypy tests/typing/api.py
	$(BIN)/lint-imports
