# The commands of this project; CONTRIBUTING.md says more. Everything lands in .venv, .build, .cache and wheels/dist.
PYTHON ?= python3
PY := .venv/bin/python
LAYERS ?=
ARGS ?=
SECONDS ?= 3600
SEED ?= $(shell date +%y%j%H%M)
DEVICE ?= cpu

.PHONY: help setup build test test-all fuzz fuzz-ops fuzz-parts coverage check bench bench-gpu soak wheel npm demo
.PHONY: docs format clean

help:
	@echo "make build   the native core for this Python, in place (torchlite/_C.abi3.so)"
	@echo "make test    all layers of the test suite; LAYERS=\"host node-314\" for some (tests/run.py --list)"
	@echo "make test-all  these and the long ones: random programs for half an hour"
	@echo "make fuzz    random programs beside PyTorch; SECONDS=3600 SEED=7 DEVICE=webgpu; findings go to .out/fuzz"
	@echo "make fuzz-parts  random uses of modules, files, ... beside PyTorch; SECONDS=600 ARGS=\"--part files\""
	@echo "make soak    trains, saves, loads and is interrupted for SECONDS=3600, on cpu and webgpu: nothing may grow"
	@echo "make coverage  lines of the core, the package and the bridge that tests run"
	@echo "make check   formatters, ruff, mypy, tsc, and the C compiler's warnings for the host and for WASM"
	@echo "make format  the formatters write: ruff for Python, clang-format for C, prettier for TypeScript and JavaScript"
	@echo "make wheel   the wheels for Pyodide, in wheels/dist, with a package index"
	@echo "make npm     the npm package of the JavaScript API, in wheels/dist/npm"
	@echo "make demo    builds the demo site, serves it and prints its address"
	@echo "make bench   speed of the host and of Pyodide on node; ARGS are handed on"
	@echo "make bench-gpu  the webgpu device on this machine's GPU"
	@echo "make fuzz-ops  hostile calls of every op under the sanitizers, about an hour"
	@echo "make docs    support table, type stubs, and the docs site (demos/_site/docs) with the reference"
	@echo "make clean   removes what was built"

setup:
	@$(PYTHON) tests/setup_env.py

build: setup
	$(PY) native/build.py host

test: setup
	$(PY) tests/run.py $(LAYERS)

test-all: setup
	$(PY) tests/run.py --all

fuzz: build
	$(PY) tests/fuzz --seconds $(SECONDS) --seed $(SEED) --device $(DEVICE)

fuzz-parts: build
	$(PY) tests/fuzz_parts --seconds $(SECONDS) --seed $(SEED) $(ARGS)

coverage: build
	$(PY) tests/measure_coverage.py $(ARGS)

check: setup
	$(PY) tests/check.py $(ARGS)

format: setup
	$(PY) tests/check.py --fix ruff "ruff format" clang-format prettier

wheel:
	@$(PYTHON) demos/start.py --tool wheels/make.py $(ARGS)

npm: wheel
	@$(PYTHON) demos/start.py --tool wheels/npm.py $(ARGS)

demo:
	@$(PYTHON) demos/start.py $(ARGS)

fuzz-ops: setup
	$(PY) tests/fuzz_ops.py --sanitized $(or $(ARGS),--calls 200)

bench: build wheel
	$(PY) tests/bench/run.py $(ARGS)

soak: build wheel
	$(PY) tests/bench/soak.py --seconds $(SECONDS) $(ARGS)

bench-gpu: wheel
	$(PY) tests/bench/gpu.py $(ARGS)

docs: build
	$(PY) demos/docs/support.py
	$(PY) demos/docs/public_names.py
	$(PY) demos/docs/stubs.py
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --config-file demos/mkdocs.yml

clean:
	rm -rf .build .out wheels/dist demos/_site torchlite/_C.abi3.so torchlite/_C.v3.so
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
