# `make chat` sets everything up and starts the chat (without a terminal: plays the demo);
# `make test` sets everything up and runs the checks and the tests.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: chat test lint unit docs screenshots bench clean

chat: .venv/base
	@if [ -t 0 ]; then $(BIN)/letopis chat; else $(BIN)/letopis demo; fi

test: lint unit

lint: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/cog --check docs/commands.md docs/settings.md

unit: .venv/dev .venv/clients .venv/chromium
	$(BIN)/pytest

docs: .venv/dev
	$(BIN)/cog -r docs/commands.md docs/settings.md

screenshots: .venv/dev .venv/chromium
	$(BIN)/python -m tests.screenshots build/screenshots

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
	@npm install --silent --no-audit --no-fund --no-package-lock --fetch-retries=1 --prefix tests/clients \
	|| echo "npm's packages could not be installed: the tests with them will be SKIPPED" >&2
	@touch $@

# The browser of the tests. It is installed where that may be done; elsewhere its tests are skipped, and say so.
.venv/chromium: .venv/dev
	@if command -v chromium >/dev/null || command -v google-chrome >/dev/null || command -v chromium-browser >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null \
	  || echo "chromium could not be installed: the browser tests will be SKIPPED" >&2; \
	else echo "chromium was not found: the browser tests will be SKIPPED" >&2; fi
	@touch $@

clean:
	rm -rf .venv tests/clients/node_modules build dist *.egg-info src/*.egg-info
