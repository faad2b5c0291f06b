# `make help` lists what can be made.
PYTHON ?= $(shell .ci/find-python)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
# Release of the Kubernetes libraries that `make reference` and `make differential` ask; the default where it is not given.
KUBERNETES ?=

.PHONY: help compiled setup audit test test-python slow nightly check bench bench-quick bench-all differential hostile paths reference reference-lifecycle golden lock docs docs-html man release-check image-lock

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes --requirement requirements.lock
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

# As an installer would: a start reads the modules and does not compile them, where Python may not write either.
compiled: $(STAMP)
	@$(BIN)/python -m compileall -q auditor pipelines

setup: compiled ## Create .venv with everything the project needs

test: compiled ## Run the tests (TESTS="tests/cel ...": some of them)
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not slow and not nightly' $(TESTS)

slow: compiled ## Run the slower tests
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'slow and not nightly' $(TESTS)

# Generated code, code objects, pickling, engines, start.
OF_PYTHON := tests/base tests/codegen tests/fastpath tests/cel/emit tests/program tests/shards tests/processes \
	tests/pipelines/engines tests/pipelines/test_engines.py tests/pipelines/test_run.py tests/pipelines/test_many_definitions.py \
	tests/pipelines/test_hostile_content.py tests/causes/test_part_counts.py tests/crdcheck/test_examples.py

test-python: compiled ## Run the tests of what depends on the version of Python
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not slow and not nightly' $(OF_PYTHON)

nightly: compiled ## Run the tests that take hours, or need Ray, Spark, a browser or an image
	$(BIN)/python -m pytest -m nightly $(TESTS)

# Each question is printed with the command that answers it.
audit: compiled ## Audit two nights of sample-data/, show what is new, answer questions
	$(BIN)/auditor audit 'sample-data/monday/*.db.gz' --cluster-name '{1}' --report out/monday --force --fail-on never --quiet
	$(BIN)/auditor audit 'sample-data/tuesday/*.db.gz' --cluster-name '{1}' --report out/tuesday --force --fail-on never --diff out/monday
	@echo; echo "Which pods and ovens are not healthy, and why?"
	$(BIN)/auditor query out/tuesday pods,ovens --unhealthy
	@echo; echo "Which orders want more than 15 loaves?"
	$(BIN)/auditor query out/tuesday orders --where 'spec.lines.map(line, line.count).sum() > 15'
	@echo; echo "How many loaves of each flour has each cluster, and how heavy are they?"
	$(BIN)/auditor sql out/tuesday 'SELECT cluster, spec.flour, count(*) AS loaves, max(spec.grams) AS heaviest FROM loaves GROUP BY ALL ORDER BY ALL'

bench: compiled ## Measure beside the API server's own libraries
	$(BIN)/python tests/benchmarks/run.py
	$(BIN)/python tests/benchmarks/updates.py
	$(BIN)/python tests/benchmarks/definitions.py

bench-quick: compiled ## Measure audits beside orjson.loads in three minutes; the last line is for the commit
	$(BIN)/python tests/benchmarks/quick.py

bench-all: $(STAMP) ## Run every benchmark and make the tables of tests/benchmarks/README.md
	$(BIN)/python tests/benchmarks/all.py

differential: $(STAMP) ## Hold audits and rules against the API server's own libraries, object by object
	$(BIN)/python -m tests.differential.run --objects 100000 --rules $(if $(KUBERNETES),--kubernetes $(KUBERNETES))
	$(BIN)/python -m tests.differential.upgrade --objects 20000
	$(BIN)/python -m tests.fuzz.cel.run $(if $(KUBERNETES),--kubernetes $(KUBERNETES))

hostile: $(STAMP) ## Attack the commands with 100,000 definitions, keys, reports, surroundings, and 200,000 broken dumps
	$(BIN)/python -m tests.fuzz.hostile.run --cases 100000
	$(BIN)/python tests/fuzz/sources/run.py --jobs 2

paths: $(STAMP) ## Hold the generated code against the interpreters, over 1,000,000 objects
	$(BIN)/python -m tests.differential.fast_vs_exact --objects 1000000
	$(BIN)/python -m tests.properties.odd_definitions --definitions 20000

reference: $(STAMP) ## Build the program around the API server's own libraries, have it answer the vectors anew (KUBERNETES=v0.34.x)
	$(BIN)/python -m tests.reference.make $(if $(KUBERNETES),--release $(KUBERNETES))

reference-builtins: $(STAMP) ## Build the program around the API server's own schemes, make the tables of built-in kinds anew
	$(BIN)/python -m tests.reference.builtins.make

reference-lifecycle: $(STAMP) ## Make the table of removed versions of kinds anew (KUBERNETES="v0.38.0 v1.38.0": ask these modules first)
	$(BIN)/python -m tests.reference.lifecycle.make $(KUBERNETES)

golden: $(STAMP) ## Record a cluster of the tests and what a real API server answers (AUDITOR_KUBE=FOLDER with start and bin/kubectl)
	$(BIN)/python -m tests.golden.server.record $(AUDITOR_KUBE)
	$(BIN)/python -m tests.golden.server.unlistable $(AUDITOR_KUBE)
	$(BIN)/python -m tests.golden.server.torn $(AUDITOR_KUBE)
	$(BIN)/python -m tests.golden.server.encrypted $(AUDITOR_KUBE)
	$(BIN)/python -m tests.golden.server.etcd_files

docs: compiled ## Make the reference pages and the transcripts of the documents anew
	$(BIN)/python -m tests.papers.make

man: compiled ## Write man pages to build/man
	$(BIN)/python deploy/man/make.py build/man

docs-html: ## Make a site of the documents in build/docs, in an environment of its own
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-docs/bin/uv pip install --quiet --python .venv-docs/bin/python --group docs
	.venv-docs/bin/sphinx-build -W --keep-going -q -b html -d build/doctrees docs build/docs

image-lock: $(STAMP) ## Choose the versions of requirements.lock for the image (deploy/image/requirements.lock)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	grep -v -- '--hash' requirements.lock | sed 's/ \\$$//' > build-constraints.txt
	$(BIN)/uv pip compile pyproject.toml --extra crypto --constraint build-constraints.txt --universal \
		--python-version 3.11 --generate-hashes --no-annotate --no-header --quiet --output-file deploy/image/requirements.lock
	rm build-constraints.txt

release-check: $(STAMP) ## Do all of a release but publishing: build twice, compare, check, install, run
	deploy/release/check

lock: ## Choose the newest versions that pyproject.toml allows, with their hashes
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile pyproject.toml --upgrade --extra crypto --group dev --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header --quiet --output-file requirements.lock

check: $(STAMP) ## Lint, types, layers, style
	$(BIN)/ruff check auditor pipelines tests deploy
	$(BIN)/ruff format --check auditor pipelines tests deploy
	$(BIN)/mypy
	$(BIN)/mypy tests/typing/api.py
	$(BIN)/lint-imports
	$(BIN)/python -m tests.style
