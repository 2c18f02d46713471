# make demo     rate two small models on this machine, in your browser
# make test     every check: Python, web page, real browser, style and types; all run, one summary ends it
# make explore  property tests on examples drawn at random (make test: on the same ones each time)
# make storm    ten minutes of raters and faults at once, drawn from a seed: ARGS="--seconds 60 --seed 7"
# make install  all the set-up that these need, into .venv (they call it themselves)
# make docs     build the site of documentation into build/site, and check every link and anchor in it
# make bench    speed, as ratios beside ParlAI's own way
# make clean    remove everything that was built

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.PHONY: help demo test storm test-storm test-python test-models test-web test-browser explore lint docs install bench clean check-tools check-chromium wheel

VENV := .venv
BIN := $(VENV)/bin
# Stamps stand inside of what they vouch for: whoever deletes a folder deletes its stamp.
INSTALLED := .venv/.installed
WEB := mephisto_tasks/webapp
# A real server for tests, which needs a newer transformers than ParlAI can live with.
SERVER := .venv-server
SERVER_INSTALLED := .venv-server/.installed
WITH_TORCH := torch torchgen functorch nvidia triton sympy mpmath networkx filelock
# What builds the site wants a newer click than Mephisto can live with.
DOCS := .venv-docs
DOCS_INSTALLED := .venv-docs/.installed
NPM := $(WEB)/node_modules/.installed
PAGE := $(WEB)/dist/.built
WEB_SOURCES := $(shell find $(WEB) -path $(WEB)/node_modules -prune -o -path $(WEB)/dist -prune -o -type f -print 2>/dev/null)
ARGS ?=

# The first Python of these that runs and is 3.10 or 3.11 (ParlAI's numpy has no wheels for newer ones).
FIND_PYTHON = $$(for python in "$${PYTHON:-}" python3.11 python3.10 python3 python; do \
	  if [ -n "$$python" ] && "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] not in ((3, 10), (3, 11)))' >/dev/null 2>&1; \
	  then echo "$$python"; break; fi; done)

help:
	@sed -n 's/^# //p' Makefile | head -8

demo: install
	$(BIN)/parlai-humaneval demo $(ARGS)

# Two parts at a time: the browser mostly waits, and leaves its time to the others. A few tests that fail run once more.
test: install check-chromium
	@$(BIN)/python tests/every_part.py test-python test-browser test-models lint test-web test-storm docs

lint: install
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# A file stays with one process: what its tests share (a launch, a trained model) is made once.
# What failed is remembered for each part by itself, so that it can run again.
REMEMBER = -o cache_dir=.pytest_cache/$@
PYTEST = PARLAI_HUMANEVAL_SERVER=$(SERVER) $(BIN)/python -m pytest $(REMEMBER) --dist loadfile -m "not browser"
# Tests that start models, clusters and whole commands, and often wait for them: a part of their own, beside the others.
MODELS := tests/benchmarks tests/examples tests/parlai_humaneval/models tests/parlai_humaneval/self_chat

test-python: install $(SERVER_INSTALLED)
	$(PYTEST) tests $(MODELS:%=--ignore=%) -n 2 $(ARGS)

test-models: install $(SERVER_INSTALLED)
	$(PYTEST) $(MODELS) -n 2 $(ARGS)

explore: install
	$(BIN)/python -m pytest tests -n 2 --dist loadfile -m "hypothesis and not browser" --hypothesis-profile=explore $(ARGS)

test-browser: install check-chromium
	$(BIN)/python -m pytest $(REMEMBER) tests -m browser $(ARGS)

storm: install check-chromium
	PYTHONPATH=tests:tests/e2e $(BIN)/python -m storm $(ARGS)

# The same storm each time, without a browser: those are in test-browser.
test-storm: install
	PYTHONPATH=tests:tests/e2e $(BIN)/python -m storm --seconds 60 --seed 1 --no-browser $(ARGS)

test-web: $(NPM)
	cd $(WEB) && npm run --silent typecheck && npm run --silent lint && npm test --silent

docs: check-tools $(INSTALLED) $(DOCS_INSTALLED)
	@rm -rf build/facts
	$(BIN)/python -m docs.facts build/facts
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --config-file docs/mkdocs.yml
	@echo "The site is built: build/site/index.html"

bench: install
	$(BIN)/python -m benchmarks $(ARGS)

wheel: install
	rm -rf build
	$(BIN)/python -m build --wheel --outdir dist .

install: check-tools $(INSTALLED) $(PAGE)

check-tools:
	@[ -n "$(FIND_PYTHON)" ] || { echo "Python 3.10 or 3.11 is needed (with its venv module): install one, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@command -v node >/dev/null || { echo "Node.js 18 or newer is needed to build the rater's page: install it from your system's packages or nodejs.org" >&2; exit 1; }
	@node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' || { echo "Node.js 18 or newer is needed to build the rater's page; this is $$(node --version)" >&2; exit 1; }
	@command -v npm >/dev/null || { echo "npm is needed to build the rater's page: install it beside Node.js" >&2; exit 1; }

check-chromium:
	@for browser in "$${CHROMIUM:-}" chromium chromium-browser google-chrome; do \
	  if [ -n "$$browser" ] && command -v "$$browser" >/dev/null; then exit 0; fi; done; \
	  echo "Chromium is needed for the browser tests: install it (Debian: apt-get install chromium), or name it: make CHROMIUM=/path/to/chromium $(MAKECMDGOALS)" >&2; exit 1

# Re-made when what is installed changes; editing a source file needs no new install.
$(INSTALLED): setup.py pyproject.toml constraints.txt
	@if [ ! -x $(BIN)/python ]; then python="$(FIND_PYTHON)"; echo "Making $(VENV) with $$python"; "$$python" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }; fi
	@echo "Installing into $(VENV), 1 of 3: pip and setuptools (seconds)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip<26" "setuptools<81" wheel
	@echo "Installing into $(VENV), 2 of 3: PyTorch (a large download; the first time a minute or more)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	@echo "Installing into $(VENV), 3 of 3: ParlAI, Mephisto and about 150 packages that they need (the first time 2 to 3 minutes)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

# torch and what only torch needs are those of $(VENV): a second copy would take minutes and gigabytes.
$(SERVER_INSTALLED): tests/servers/requirements.txt $(INSTALLED)
	@rm -rf $(SERVER)
	$(BIN)/python -m venv $(SERVER)
	$(SERVER)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps -r $<
	@packages='import sysconfig; print(sysconfig.get_path("purelib"))'; \
	  from="$$($(BIN)/python -c "$$packages")"; to="$$($(SERVER)/bin/python -c "$$packages")"; \
	  for name in $(WITH_TORCH); do for found in "$$from/$$name" "$$from/$$name"-*.dist-info; do \
	    if [ -e "$$found" ]; then ln -s "$$found" "$$to/"; fi; done; done
	@touch $@

$(DOCS_INSTALLED): docs/requirements.txt $(INSTALLED)
	@rm -rf $(DOCS)
	$(BIN)/python -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(NPM): $(WEB)/package.json $(WEB)/package-lock.json
	@echo "Fetching what the rater's page is built with (the first time half a minute or so)"
	@cd $(WEB) && npm ci --silent --no-audit --no-fund
	@touch $@

$(PAGE): $(NPM) $(WEB_SOURCES)
	@echo "Building the rater's page (seconds)"
	@cd $(WEB) && npm run --silent build
	@touch $@

clean:
	rm -rf $(VENV) $(SERVER) $(DOCS) build dist *.egg-info $(WEB)/node_modules $(WEB)/dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
