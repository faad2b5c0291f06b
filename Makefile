# `make help` lists what can be made.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup audit test check bench

help: ## List the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $(STAMP)

setup: $(STAMP) ## Create .venv with everything the project needs

test: $(STAMP) ## Run the tests
	$(BIN)/python -m pytest -n 2 -m 'not slow'

check: $(STAMP) ## Lint, types, layers
	$(BIN)/ruff check auditor pipelines tests
	$(BIN)/ruff format --check auditor pipelines tests
	$(BIN)/mypy
	$(BIN)/lint-imports
