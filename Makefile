# make try      rate your own model, a function in a file: MODEL=bots.py
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
.PHONY: help try demo test storm test-storm test-oldest test-newest test-python test-tasks test-models test-web test-browser explore lint docs install lock bench clean compiled check-tools check-oldest check-chromium wheel

# The hundred processes that tests start share what one of them compiled, whatever the image of a machine has set: PyTorch,
# pandas and transformers from their sources are 16 seconds of processor time for each.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
# Stamps stand inside of what they vouch for: whoever deletes a folder deletes its stamp.
INSTALLED := .venv/.installed
# Enough for studies of functions and hosted models: neither PyTorch nor tools of development.
SMALL := .venv/.small
# ParlAI's own pins of 2022, which people have who installed it first, on the oldest Python.
OLDEST := .venv-oldest
OLDEST_INSTALLED := .venv-oldest/.installed
# The newest Python, without PyTorch, where the other tests run on an older one.
NEWEST := .venv-newest
NEWEST_INSTALLED := .venv-newest/.installed
WEB := mephisto_tasks/webapp
NPM := $(WEB)/node_modules/.installed
PAGE := $(WEB)/dist/.built
WEB_SOURCES := $(shell find $(WEB) -path $(WEB)/node_modules -prune -o -path $(WEB)/dist -prune -o -path $(WEB)/new_dist -prune -o -type f -print 2>/dev/null)
ARGS ?=
# Parts that "make test" leaves out, as they ran before.
DONE ?=

# The newest Python that the tests pass on and that can make environments, on PATH or of pyenv. 3.14 comes last: ParlAI's
# metadata and ours allow it, the tests do not run on it.
FIND_PYTHON = $$(for python in $${PYTHON:-$$(for minor in 13 12 11 10 14; do \
	    echo python3.$$minor; ls -d "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.$$minor.*/bin/python 2>/dev/null || true; done) python3 python}; do \
	  if [ -n "$$python" ] && "$$python" -c 'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1; \
	  then echo "$$python"; break; fi; done)

# The same whatever PYTHON names; empty where $(VENV) is of that version.
FIND_NEWEST = $$(unset PYTHON; newest="$(FIND_PYTHON)"; version='import sys; print(sys.version_info[:2])'; \
	  [ -z "$$newest" ] || [ "$$("$$newest" -c "$$version")" = "$$($(BIN)/python -c "$$version")" ] || echo "$$newest")

# A Python 3.10; empty where there is none.
FIND_OLDEST = $$(for python in python3.10 $$(ls -d "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/3.10.*/bin/python 2>/dev/null || true); do \
	  if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 10))' >/dev/null 2>&1; then echo "$$python"; break; fi; done)

help:
	@sed -n 's/^# //p' Makefile | head -9

MODEL ?= bots.py
try: check-tools $(if $(wildcard $(INSTALLED)),$(INSTALLED),$(SMALL)) $(PAGE)
	$(BIN)/parlai-humaneval try "$(MODEL)" $(ARGS)

demo: check-tools $(if $(wildcard $(INSTALLED)),$(INSTALLED),$(SMALL)) $(PAGE)
	$(BIN)/parlai-humaneval demo $(ARGS)

# Of the parts that wait and of those that compute, the longest first. A few tests that fail run once more.
test: install check-chromium
	@oldest="$(FIND_OLDEST)"; newest="$(FIND_NEWEST)"; \
	$(BIN)/python tests/every_part.py $(filter-out $(DONE),test-tasks test-browser test-models \
	  test-python $${oldest:+test-oldest} $${newest:+test-newest} test-storm test-web lint docs); [ -n "$$oldest" ] || echo "Not tested, for want of Python 3.10: the oldest libraries (make test-oldest)"

lint: install
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tests/docs/english.py

# What failed is remembered for each part by itself, so that it can run again.
REMEMBER = -o cache_dir=.pytest_cache/$@
# One process imports and collects, and forks those that run the tests; with "-n 2" two more would import everything.
# A file stays with one of them: what its tests share (a launch, a trained model) is made once.
PYTEST = $(BIN)/python -m pytest $(REMEMBER) --dist loadfile
# Tests that start models, clusters and whole commands, and often wait for them.
MODELS := tests/benchmarks tests/examples $(addprefix tests/parlai_humaneval/,models self_chat test_compat.py)
TASKS := tests/mephisto_tasks
BROWSER := tests/e2e

test-python: install
	$(PYTEST) tests $(patsubst %,--ignore=%,$(MODELS) $(TASKS) $(BROWSER)) --processes 2 $(ARGS)

# Real launches wait more than they compute: of twenty minutes of them, four are a processor's.
test-tasks: install
	$(PYTEST) $(TASKS) --processes 2 $(ARGS)

test-models: install
	$(PYTEST) $(MODELS) --processes 2 $(ARGS)

explore: install
	$(BIN)/python -m pytest tests -n 2 --dist loadfile -m "hypothesis and not browser" --hypothesis-profile=explore $(ARGS)

test-browser: install check-chromium
	$(PYTEST) $(BROWSER) --processes 2 $(ARGS)

storm: install check-chromium
	PYTHONPATH=tests:tests/e2e $(BIN)/python -m storm $(ARGS)

# The same storm each time, without a browser: those are in test-browser.
test-storm: install
	PYTHONPATH=tests:tests/e2e $(BIN)/python -m storm --seconds 60 --seed 1 --no-browser $(ARGS)

# What people have who installed ParlAI first, with its own pins: imports, statistics, a launch of either engine, ParlAI's
# training, and a report of each technique in every form.
AT_OLDEST := tests/parlai_humaneval/test_compat.py \
	$(addprefix tests/mephisto_tasks/test_demo.py::test_every_technique_can_be_tried_with_nothing_of_ones_own,[sata] [self_chat]) \
	$(addprefix tests/parlai_humaneval/report/test_,one_answer.py document_files.py) \
	$(addprefix tests/parlai_humaneval/statistics/test_,paper_figures.py replay_gold.py turn_win_rates.py) \
	tests/test_every_module.py::test_every_module_is_importable
test-oldest: $(OLDEST_INSTALLED)
	$(OLDEST)/bin/python -m pytest $(REMEMBER) -m "not hypothesis" $(AT_OLDEST) $(ARGS)

# Where $(VENV) is of an older Python (PYTHON=…): what differs between versions of Python, without PyTorch.
AT_NEWEST := tests/test_every_module.py::test_only_models_of_this_machine_need_pytorch $(filter-out %.py,$(wordlist 2,3,$(AT_OLDEST))) \
	$(addprefix tests/parlai_humaneval/,importers/test_forms_of_files.py importers/test_tables_of_any_form.py tables/test_frames.py tables/test_table_files.py report/test_document_files.py) $(filter tests/parlai_humaneval/statistics/%,$(AT_OLDEST))
test-newest: $(NEWEST_INSTALLED)
	$(NEWEST)/bin/python -m pytest $(REMEMBER) -m "not hypothesis" $(AT_NEWEST) $(ARGS)

test-web: $(NPM)
	cd $(WEB) && npm run --silent check && npm test --silent

docs: check-tools $(INSTALLED)
	@rm -rf build/facts
	$(BIN)/python -m docs.facts build/facts
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file docs/mkdocs.yml
	@echo "The site is built: build/site/index.html"

bench: install
	$(BIN)/python -m benchmarks $(ARGS)

wheel: install
	rm -rf build
	$(BIN)/python -m build --wheel --outdir dist .

install: check-tools $(INSTALLED) $(PAGE)

# What most tests import, compiled by one process: five that begin at once would each do it.
compiled: $(INSTALLED)
	@$(BIN)/python -m compileall -q parlai_humaneval mephisto_tasks
	@$(BIN)/python tests/warm_python.py torch._dynamo scipy.stats sklearn.pipeline nltk.stem pandas statsmodels.api \
	  matplotlib.figure pydantic hydra omegaconf transformers ray </dev/null

check-tools:
	@[ -x $(BIN)/python ] || [ -n "$(FIND_PYTHON)" ] || { [ -z "$${PYTHON:-}" ] && command -v uv >/dev/null; } || { echo "Python 3.10 to 3.14 is needed, with its venv module (Debian and Ubuntu: apt-get install python3-venv): install one, or name it: make PYTHON=/path/to/python3.13 $(MAKECMDGOALS)" >&2; exit 1; }
	@command -v node >/dev/null || { echo "Node.js 18 or newer is needed to build the rater's page: install it from your system's packages or nodejs.org" >&2; exit 1; }
	@node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' || { echo "Node.js 18 or newer is needed to build the rater's page; this is $$(node --version)" >&2; exit 1; }
	@command -v npm >/dev/null || { echo "npm is needed to build the rater's page: install it beside Node.js" >&2; exit 1; }

check-chromium:
	@for browser in "$${CHROMIUM:-}" chromium-headless-shell chromium chromium-browser google-chrome; do \
	  if [ -n "$$browser" ] && command -v "$$browser" >/dev/null; then exit 0; fi; done; \
	  echo "Chromium is needed for the browser tests: install it (Debian: apt-get install chromium), or name it: make CHROMIUM=/path/to/chromium $(MAKECMDGOALS)" >&2; exit 1

# Re-made when what is installed changes; editing a source file needs no new install.
$(INSTALLED) $(SMALL): setup.py pyproject.toml requirements/lock.txt parlai_humaneval/_util/installing.py
	@if [ ! -x $(BIN)/python ]; then python="$(FIND_PYTHON)"; echo "Making $(VENV) with $${python:-uv}"; \
	  if [ -n "$$python" ]; then "$$python" -m venv $(VENV); else uv venv --quiet --python '>=3.10,<3.15' $(VENV); fi || { rm -rf $(VENV); exit 1; }; fi
	@$(BIN)/python -I parlai_humaneval/_util/installing.py requirements/lock.txt $(if $(filter $(INSTALLED),$@),--all)
	@touch $@

check-oldest:
	@[ -n "$(FIND_OLDEST)" ] || { echo "Python 3.10 is needed to test with the oldest libraries" >&2; exit 1; }

$(OLDEST_INSTALLED): requirements/oldest.txt $(INSTALLED) | check-oldest
	@rm -rf $(OLDEST)
	"$(FIND_OLDEST)" -m venv $(OLDEST)
	@# CUDA's libraries are the same for every Python: a second copy would take minutes and gigabytes.
	@packages='import sysconfig; print(sysconfig.get_path("purelib"))'; \
	  from="$$($(BIN)/python -c "$$packages")"; to="$$($(OLDEST)/bin/python -c "$$packages")"; \
	  for path in "$$from"/nvidia "$$from"/{nvidia,cuda,triton}*.dist-info; do if [ -e "$$path" ]; then ln -s "$$path" "$$to/"; fi; done
	@$(OLDEST)/bin/python -I parlai_humaneval/_util/installing.py requirements/oldest.txt --all
	@touch $@

$(NEWEST_INSTALLED): requirements/lock.txt setup.py parlai_humaneval/_util/installing.py
	@[ -n "$(FIND_NEWEST)" ] || { echo "There is no newer Python than that of $(VENV): make test-python tests with it" >&2; exit 1; }
	@rm -rf $(NEWEST)
	"$(FIND_NEWEST)" -m venv $(NEWEST)
	@$(NEWEST)/bin/python -I parlai_humaneval/_util/installing.py requirements/lock.txt --but-local
	@# With it pandas 3 keeps texts in Arrow, and Parquet can be read: as for whoever has it, and nowhere else in the tests.
	@$(NEWEST)/bin/python -m pip install --quiet 'pyarrow>=14'
	@touch $@

# Exact versions, found anew. Only uv can leave out packages, and put others in place of ParlAI's and Mephisto's pins.
COMPILE = "$(FIND_PYTHON)" -I parlai_humaneval/_util/installing.py --engines | uv pip compile --quiet --upgrade --python-version 3.10 \
	--no-annotate --custom-compile-command "make lock" --excludes requirements/excludes.txt setup.py -
lock: check-tools
	@command -v uv >/dev/null || { echo "uv is needed to find versions: pip install uv" >&2; exit 1; }
	@$(COMPILE) --universal --all-extras --override requirements/overrides.txt --output-file requirements/lock.txt
	@$(COMPILE) requirements/oldest.in --extra local --extra test --output-file requirements/oldest.txt

$(NPM): $(WEB)/package.json $(WEB)/package-lock.json
	@echo "Fetching what the rater's page is built with (the first time half a minute or so)"
	@cd $(WEB) && npm ci --silent --no-audit --no-fund
	@touch $@

$(PAGE): $(NPM) $(WEB_SOURCES)
	@echo "Building the rater's page, the viewer and the page of \`new\` (seconds)"
	@cd $(WEB) && npm run --silent build
	@touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(NEWEST) build dist *.egg-info $(WEB)/node_modules $(WEB)/dist $(WEB)/new_dist parlai_humaneval/viewer/static .mypy_cache .ruff_cache .pytest_cache .hypothesis
