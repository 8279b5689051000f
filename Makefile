# demo: the bundled sample, end to end, with no server and no download at run time
# test: everything that needs no real model server, no torch and no browser; test-all: that too
# lint: style, types, imports

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-all browser lint sample clean

demo: $(VENV)/.demo
	$(BIN)/omnieval run daily-omni --sample --backend embedded

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not real_server and not torch and not slow and not browser"

# The model server's tests share one server, hence one process.
# TESTED=1 leaves out what `make test` has just run.
test-all: $(if $(TESTED),,test) $(VENV)/.torch browser
	$(BIN)/python -m pytest -m "real_server or torch or slow or browser"

# The tests say what to do where it is still missing.
browser:
	@command -v chromium || command -v chromium-browser || command -v google-chrome || test "$$(id -u)" != 0 || \
	  { apt-get update -qq && apt-get install -y -qq chromium >/dev/null; }

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Makes the folders in omnieval/samples anew (needs a speech synthesiser, hence an extra of its own).
sample: $(VENV)/.dev
	$(PIP_INSTALL) --editable '.[samples]'
	$(BIN)/python -m omnieval.samples.build_daily_omni
	$(BIN)/python -m omnieval.samples.build_small_sets
	$(BIN)/python -m omnieval.samples.build_seed_tts

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "omnieval needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.demo: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP_INSTALL) --editable '.[demo]'
	@touch $@

$(VENV)/.dev: $(VENV)/.python pyproject.toml constraints.txt
	$(PIP_INSTALL) --editable '.[demo,hub,modelscope,notebooks,speech,voice,dev]'
	@touch $@

$(VENV)/.torch: $(VENV)/.dev
	$(PIP_INSTALL) --editable '.[speech-torch,mlflow,wandb]'
	$(PIP_INSTALL) --no-deps resemblyzer
	@touch $@

clean:
	rm -rf $(VENV) runs artefacts build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
