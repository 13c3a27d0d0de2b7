# `make chat` sets everything up and starts the chat (without a terminal: plays the demo);
# `make test` sets everything up and runs the checks and the tests.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: chat test lint unit docs bench clean

chat: .venv/base
	@if [ -t 0 ]; then $(BIN)/letopis chat; else $(BIN)/letopis demo; fi

test: lint unit

lint: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/cog --check docs/commands.md docs/settings.md

unit: .venv/dev .venv/clients
	$(BIN)/pytest

docs: .venv/dev
	$(BIN)/cog -r docs/commands.md docs/settings.md

bench: .venv/dev
	$(BIN)/python benchmarks/append.py
	$(BIN)/python benchmarks/startup.py

.venv/base: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/dev: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ .venv/base

# The programs of other people that the tests run; without npm those tests are skipped, and say so.
.venv/clients: tests/clients/package.json .venv/dev
	@if command -v npm >/dev/null; then npm install --silent --no-audit --no-fund --no-package-lock --prefix tests/clients; \
	else echo "npm was not found: the tests with npm's packages will be SKIPPED" >&2; fi
	@touch $@

clean:
	rm -rf .venv tests/clients/node_modules build dist *.egg-info src/*.egg-info
