# make demo | test | bench | figures | soak | lint | debug | clean
# Each target makes what it needs: an environment in this folder, and fastgraph installed in it from these sources.
# Another Python: make test PYTHON=python3.13 (it gets an environment of its own).

PYTHON ?= python3
TEST_ARGS ?=

ifeq ($(origin PYTHON),command line)
  VENV := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
else
  VENV := .venv
endif
BIN := $(VENV)/bin
SOURCES := pyproject.toml setup.py $(shell find fastgraph -name '*.py[xd]' -o -name '*.pxd' -o -name '*.pxi' \
             -o -name '*.h' -not -path '*/_generated/*') $(wildcard fastgraph/_loops_gen.py fastgraph/_math_gen.py fastgraph/expr.py \
             fastgraph/compiler/vecmath.py fastgraph/ops/*.py)
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo test bench figures soak lint debug clean help
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# //p' Makefile

demo: $(VENV)/installed-examples
	$(BIN)/python examples/digits.py --output demo-out

test: $(VENV)/installed-test
	$(BIN)/python -m pytest -q $(TEST_ARGS) tests

# make bench PEERS=all (makes the peers' environments) BASE=earlier.json (flags changes over 15 %) ONLY='mlp;chain/*'
# PUBLISH=1: the results go to benchmarks/results and docs instead of bench-out.
PEERS ?= here
bench: $(VENV)/installed-examples
	$(BIN)/python -m benchmarks.run --peers $(PEERS) $(if $(BASE),--base '$(BASE)') $(if $(ONLY),--only '$(ONLY)') \
	    $(if $(PUBLISH),--publish)

# The figures of the README.
figures: $(VENV)/installed-examples
	$(BIN)/python benchmarks/figures.py

# The long forms of the checks; the report lies in docs/soak.md afterwards.
soak: $(VENV)/installed-test
	$(BIN)/python tools/soak.py --report docs/soak.md

lint: $(VENV)/installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cython-lint fastgraph

# The suite once on a build with bounds checks, which lies in build/debug and leaves the usual build alone.
debug: $(VENV)/installed-test
	$(PIP) install --quiet setuptools 'Cython>=3.3,<3.4'
	FASTGRAPH_CYTHON_DEBUG=1 $(BIN)/python setup.py --quiet build --build-base build/debug --build-lib build/debug/lib
	PYTHONPATH=build/debug/lib:. $(BIN)/pytest -q --deselect tests/packaging $(TEST_ARGS) tests

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit("fastgraph needs Python 3.11 to 3.14; $(PYTHON) is " + sys.version.split()[0]) \
	    if not (3, 11) <= sys.version_info[:2] <= (3, 14) else None'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "No environment could be made: $(PYTHON) lacks venv or" \
	    "ensurepip (Debian, Ubuntu: apt install python3-venv)." >&2; exit 1; }
	@touch $@

$(VENV)/installed-%: $(SOURCES) | $(VENV)/created
	$(PIP) install --quiet --editable '.[$*]'
	@touch $@

clean:
	rm -rf build dist *.egg-info fastgraph/_generated .venv .venv-*
	find fastgraph -name '*.so' -delete
