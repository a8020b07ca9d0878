# make: the two commands a stranger needs (run, test) and the others a developer does. Everything real is in CMake, tools/ and .ci/.
MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
JOBS ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 60
# The text as it was typed: dollar signs in a prompt are not make variables.
export CALLA_PROMPT := $(value PROMPT)
# Compiler cache beside the sources, so that nothing is written into HOME.
export CCACHE_DIR ?= $(CURDIR)/.cache/ccache
CALLA := build/release/calla
CLANG_FORMAT ?= $(firstword $(shell command -v clang-format-19 clang-format 2>/dev/null) clang-format)

GATE_REQUESTS ?= 10000

.PHONY: run test test-clients test-gate bench-privacy build setup bench format asan tsan fuzz cuda gpu clean help

run: setup build/release/build.ninja ## install what is missing, build, get the starter model, chat (PROMPT="..." answers once)
	@ninja -C build/release -j$(JOBS) --quiet calla
	@$(CALLA) pull starter </dev/null
	@if [ -z "$$CALLA_PROMPT" ] && [ -t 0 ] && [ -t 1 ]; then exec $(CALLA) chat starter; fi; \
	 exec $(CALLA) run starter "$${CALLA_PROMPT:-Write one sentence about the sea.}" </dev/null

test: setup build/release/build.ninja ## the same set-up, then build and run every test
	@ninja -C build/release -j$(JOBS)
	@ctest --test-dir build/release --output-on-failure --no-tests=error -j$(JOBS)

build: setup build/release/build.ninja ## build everything, run nothing
	@ninja -C build/release -j$(JOBS)

setup:
	@tools/setup.sh build

build/%/build.ninja: CMakePresets.json | setup
	@mkdir -p build
	@cmake --preset $* >build/$*.log 2>&1 || { cat build/$*.log; rm -f $@; exit 1; }
	@touch $@

test-clients: setup build/release/build.ninja ## the clients people use (openai, anthropic, ollama, LangChain, aider, …), from PyPI and npm, against the starter model
	@ninja -C build/release -j$(JOBS) --quiet calla
	@$(CALLA) pull starter </dev/null
	@command -v npm >/dev/null && python3 -c 'import ensurepip' 2>/dev/null || tools/setup.sh clients
	@python3 tests/clients/run.py

test-gate: setup build/release/build.ninja ## GATE_REQUESTS (10000) random requests through the privacy gate to a misbehaving cloud on loopback, and a search for every planted byte
	@ninja -C build/release -j$(JOBS) --quiet calla
	@CALLA=$(CALLA) python3 tests/gate/run.py --requests $(GATE_REQUESTS)

bench-privacy: setup build/release/build.ninja ## what the privacy gate finds, per class, beside presidio, detect-secrets and CredSweeper (from PyPI)
	@ninja -C build/release -j$(JOBS) --quiet calla
	@python3 -c 'import ensurepip' 2>/dev/null || tools/setup.sh clients
	@CALLA=$(CALLA) python3 bench/privacy/run.py

bench: setup build/release/build.ninja ## speed of the starter model on this machine
	@ninja -C build/release -j$(JOBS) --quiet calla
	@$(CALLA) pull starter </dev/null
	@$(CALLA) bench starter

asan: ## everything built with clang 19, warnings as errors, and every test under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/setup.sh build sanitize
	@$(MAKE) build/asan/build.ninja
	@ninja -C build/asan -j$(JOBS)
	@ctest --test-dir build/asan --output-on-failure --no-tests=error -L room

tsan: ## the tests of the rooms with threads under ThreadSanitizer (clang 19)
	@tools/setup.sh build sanitize
	@$(MAKE) build/tsan/build.ninja
	@ninja -C build/tsan -j$(JOBS) threaded_tests
	@ctest --test-dir build/tsan --output-on-failure --no-tests=error -L threaded

fuzz: ## each fuzz target for FUZZ_SECONDS (60), two at a time
	@tools/setup.sh build sanitize
	@$(MAKE) build/asan/build.ninja
	@ninja -C build/asan -j$(JOBS) fuzzers
	@tools/fuzz.sh build/asan $(FUZZ_SECONDS)

cuda: ## the NVIDIA device compiled for every architecture (nvcc 13, from PyPI where it is missing), and those of its tests that need no GPU
	@tools/setup.sh build && tools/setup.sh cuda
	@CUDACXX=$$(tools/setup.sh nvcc) $(MAKE) build/cuda/build.ninja
	@ninja -C build/cuda -j$(JOBS) cuda_test
	@ctest --test-dir build/cuda --output-on-failure --no-tests=error -R '^cuda'

gpu: ## everything that is claimed of the NVIDIA device, checked and measured on this machine's GPU (tools/gpu --help)
	@tools/setup.sh build && tools/setup.sh cuda
	@CUDACXX=$$(tools/setup.sh nvcc) tools/gpu

format: ## clang-format over src, tests and bench
	@find src tests bench -name '*.h' -o -name '*.cpp' -o -name '*.inl' | xargs $(CLANG_FORMAT) -i

clean: ## remove what was built (models stay where they are)
	@rm -rf build .cache/ccache

help: ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /|/' | awk -F'|' '{printf "make %-13s %s\n", $$1, $$2}'
