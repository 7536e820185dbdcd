# Everything a person or CI needs. `make help` lists the targets.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
#: What `make run` needs is less: what Ottla depends on, and not even Ottla installed, which takes as long again.
RUNS   := $(VENV)/.runs

.DEFAULT_GOAL := help

# Some containers set it. Every broker that a test starts would compile all of Ottla again: a quarter of a second each.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help:  ## this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(RUNS): pyproject.toml
	@echo "ottla: setting up $(VENV) with $$($(PYTHON) --version) (once)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ottla: Python 3.11 or newer is needed; try make PYTHON=python3.12 ..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' > $@.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement $@.txt
	@touch $@

$(STAMP): pyproject.toml | $(RUNS)
	@echo "ottla: installing what the tests and Spark's jobs need (once; some minutes)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[spark]' --group dev
	@touch $@

.PHONY: setup
setup: $(STAMP)  ## create .venv with everything the project needs

.PHONY: run
run: $(RUNS)  ## serve on 127.0.0.1:9092 (ARGS="--nodes 3" adds options)
	@$(BIN)/python -m ottla serve $(ARGS)

.PHONY: lint
lint: $(STAMP)  ## ruff, mypy --strict, import-linter
	@echo "ottla: ruff"; $(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet .
	@echo "ottla: mypy --strict"; $(BIN)/mypy --no-error-summary
	@echo "ottla: import-linter"; $(BIN)/lint-imports >/dev/null || $(BIN)/lint-imports

.PHONY: format
format: $(STAMP)  ## rewrite the sources in the house format
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

KAFKA_VERSION := $(shell sed -n 's/^KAFKA_VERSION: Final = "\(.*\)"/\1/p' ottla/protocol/generate/modules.py)
SCHEMA_JARS   := $(foreach name,clients group-coordinator transaction-coordinator,.cache/schemas/kafka-$(name)-$(KAFKA_VERSION).jar)

.cache/schemas/%-$(KAFKA_VERSION).jar:
	@echo "ottla: fetching $* $(KAFKA_VERSION) (needs Maven)"
	@mvn -q -B dependency:copy -Dartifact=org.apache.kafka:$*:$(KAFKA_VERSION) -DoutputDirectory=$(CURDIR)/.cache/schemas

.PHONY: generate
generate: $(STAMP) $(SCHEMA_JARS)  ## write ottla/protocol/messages/ from Kafka's own schemas
	@$(BIN)/python -m ottla.protocol.generate $(addprefix --jar ,$(SCHEMA_JARS))

.PHONY: bench
bench: $(STAMP)  ## measure beside the mock, kfake, Kafka (AGAINST=host:port, ONLY=heartbeats, STORED_GB=10)
	@STORED_GB=$(STORED_GB) $(BIN)/python -m bench $(if $(AGAINST),--against $(AGAINST)) $(if $(ONLY),--only $(ONLY))

.PHONY: bench-pipeline
bench-pipeline: $(STAMP)  ## measure the Spark jobs (ONLY=lag,rebalances SCALE=0.01)
	@$(BIN)/python -m bench.pipeline $(if $(ONLY),--only $(ONLY)) $(if $(SCALE),--scale $(SCALE))

.PHONY: card
card: $(STAMP)  ## run clients, public suites and conformance beside Kafka; print docs/compatibility.md (ONLY=kafka-python)
	@$(BIN)/python -m compatibility $(if $(ONLY),--only $(ONLY))
ifndef ONLY
	-@$(BIN)/python -m compatibility.suites
	-@$(BIN)/python -m compatibility.conformance
	@$(BIN)/python -m compatibility.page > docs/compatibility.md
endif

.PHONY: docs
docs: $(STAMP)  ## print the pages of docs/ that come from the code's tables
	@$(BIN)/python -m ottla.cli.reference docs
	@$(BIN)/python -m ottla.coordinator.groups.tables > docs/groups.md
	@$(BIN)/python -m ottla.coordinator.transactions.tables > docs/transactions.md
	@$(BIN)/python -m compatibility.page > docs/compatibility.md

#: What builds and checks a release, apart from what the tests need.
DIST := build/dist-venv

$(DIST)/.installed: pyproject.toml
	@$(PYTHON) -m venv $(DIST)
	@$(DIST)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	@$(DIST)/bin/python -m pip install --quiet --disable-pip-version-check --group dist
	@touch $@

.PHONY: dist
dist: $(DIST)/.installed  ## build sdist and wheel into dist/, check them, try them on every Python there is
	@$(DIST)/bin/python .ci/dist.py

DOCKER  ?= docker
COMPOSE ?= $(DOCKER) compose

.PHONY: image
image:  ## build the container image and try it (DOCKER=podman COMPOSE=podman-compose)
	@$(DOCKER) build --target broker --tag ottla .
	@DOCKER="$(DOCKER)" COMPOSE="$(COMPOSE)" container/try.sh

.PHONY: site
site: $(STAMP)  ## build the documentation as a site, into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "ottla: read site/index.html; with search: $(BIN)/python -m http.server --directory site"

.PHONY: check
check: lint  ## the quick half of `make test`: lint, types, imports, the tests that need no process and no client
	@$(BIN)/python -m pytest -q tests/protocol tests/purgatory tests/pacing tests/text tests/events tests/settings tests/log tests/coordinator tests/cluster tests/broker tests/control

.PHONY: clients
clients: $(STAMP)  ## the real-client tests and the stories (OTTLA_BOOTSTRAP=host:port runs them against any broker)
	@$(BIN)/python -m pytest tests/clients tests/stories

.PHONY: soak
soak: $(STAMP)  ## all that takes long, in its long form: things go wrong at random for a while (SEED=7 ROUNDS=500)
	@OTTLA_SOAK=1 OTTLA_SEED=$(SEED) OTTLA_ROUNDS=$(ROUNDS) $(BIN)/python -m pytest -m soak

#: A test that hangs ends the run, and says where it hung.
HANGS := --max-worker-restart 0 -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true

#: What is run once more where there is no uvloop, as on Windows: on asyncio's own loop.
WITHOUT_UVLOOP := tests/broker/lifecycle/test_event_loop.py tests/broker/network/test_listeners.py tests/broker/network/test_interception.py \
	tests/control/faults tests/broker/test_topics_over_sockets.py tests/broker/test_logs_over_sockets.py \
	tests/broker/groups/test_group_restart.py tests/broker/lifecycle/test_restart.py tests/broker/lifecycle/test_failures.py \
	tests/cli/test_serve.py tests/cli/test_control.py tests/cli/test_nodes.py tests/cli/test_data_dir.py tests/nodes/test_switching.py

.PHONY: test
test: lint  ## everything CI runs: lint, types, imports, all tests, and some of them on asyncio's own loop
	@$(BIN)/python -m pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder $(HANGS)
	@$(MAKE) --no-print-directory test-asyncio

.PHONY: test-asyncio
test-asyncio: $(STAMP)  ## the broker's tests without uvloop, on asyncio's own loop
	@echo "ottla: the broker's tests on asyncio's own loop"
	@PYTHONPATH=tests/support/without_uvloop $(BIN)/python -m pytest --quiet --numprocesses 3 --dist loadfile $(HANGS) $(WITHOUT_UVLOOP)
