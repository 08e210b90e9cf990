# make demo   set everything up in a private venv and run the main job
# make test   set everything up and run all tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(wildcard core/* core/*/* core/*/*/*) $(shell find src -name '*.py' -o -name '*.pyi' -o -name '*.css' -o -name '*.js')

.PHONY: demo test browser java lint sanitize core-tests core-threads fuzz fuzz-a-little bench clean

demo: $(VENV)/.ready
	$(BIN)/python examples/demo.py

test: $(VENV)/.ready lint core-tests fuzz-a-little browser java
	$(BIN)/python -m pytest -n auto --ignore=tests/spark
	$(BIN)/python -m pytest -q tests/spark
	$(BIN)/python -m pytest -q --doctest-modules --pyargs mistakebound

# The tests of HTML pages need Chromium, and those of Spark need Java 17 or later. Where they can be installed without
# questions, this does so; otherwise the tests are skipped, and the last line of the test run shows the reason.
APT = [ "$$(id -u)" = 0 ] && command -v apt-get && export DEBIAN_FRONTEND=noninteractive && \
	{ $(INSTALL) $(1) || { apt-get update -qq && $(INSTALL) $(1); }; }
INSTALL := apt-get install -qq -y --no-install-recommends
browser:
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome || \
		{ $(call APT,chromium); }; } </dev/null >/dev/null 2>&1 || true
java:
	@{ [ -n "$$JAVA_HOME" ] || command -v java || { $(call APT,openjdk-17-jre-headless); }; } </dev/null >/dev/null 2>&1 || true

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Tests of everything that reaches the core, with AddressSanitizer and UBSan. Their runtime must be loaded first.
SANITIZED := tests/rules tests/models tests/play tests/experts/test_parity.py tests/experts/test_core.py tests/experts/test_guarded.py \
	tests/learners/test_inputs.py tests/learners/test_robustness.py tests/learners/test_labels.py \
	tests/data/test_source.py tests/data/test_tables.py tests/data/test_cache.py tests/data/test_cache_hostile.py tests/data/test_bins.py
sanitize: .venv-sanitize/.ready
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0 UBSAN_OPTIONS=print_stacktrace=1 \
	PYTHONMALLOC=malloc MISTAKEBOUND_SANITIZED=1 .venv-sanitize/bin/python -m pytest -p no:cacheprovider $(SANITIZED)

# The core without Python, with the sanitizers: its own tests, and mutated files for every parser.
CHECKED := $(CXX) -std=c++20 -O1 -g -ffp-contract=off -fsanitize=address,undefined -fno-sanitize-recover=undefined -Icore
CORE := $(wildcard core/read/* core/names/* core/memory/* core/play/* core/rules/* core/panel/* core/panel/classes/* core/experts/*)
# The panel at each SIMD level that this machine can have.
X86 := $(filter x86_64 amd64,$(shell uname -m))
LEVELS := $(if $(X86),-DMISTAKEBOUND_LEVELS)
PANEL := build/level_plain.o $(if $(X86),build/level_avx2.o)
.SECONDARY: $(PANEL)
build/level_avx2.o: AVX2 := -mavx2 -mfma
build/level_%.o: core/panel/level_%.cpp $(CORE)
	@mkdir -p build
	$(CHECKED) -fno-math-errno -Wno-psabi $(LEVELS) $(AVX2) -c $< -o $@
build/test_%: core/tests/test_%.cpp core/tests/check.hpp $(CORE) $(PANEL)
	$(CHECKED) $(LEVELS) $< $(PANEL) -o $@
core-tests: build/test_engine build/test_panel build/test_class_panel
	build/test_engine
	build/test_panel
	build/test_class_panel
# The panel's two threads, with ThreadSanitizer.
core-threads:
	@mkdir -p build
	$(CXX) -std=c++20 -O1 -g -ffp-contract=off -fsanitize=thread -fno-math-errno -Wno-psabi -Icore \
		core/tests/test_panel.cpp core/panel/level_plain.cpp -o build/test_threads
	build/test_threads

FUZZERS := build/fuzz_lines build/fuzz_tables build/fuzz_cache
build/fuzz_%: core/fuzz/fuzz_%.cpp $(wildcard core/read/* core/names/* core/memory/* core/play/*) core/fuzz/mutate.hpp
	@mkdir -p build
	$(CHECKED) $< -o $@
fuzz: $(FUZZERS)
	build/fuzz_lines $${SEED:-1} 2000000
	build/fuzz_tables $${SEED:-1} 2000000
	build/fuzz_cache $${SEED:-1} 2000000
fuzz-a-little: $(FUZZERS)
	build/fuzz_lines 0 50000
	build/fuzz_tables 0 20000
	build/fuzz_cache 0 50000

# The figures of docs/speed.md and docs/accuracy.md: comparisons with other libraries, each measured in one run.
bench: $(VENV)/.bench
	$(BIN)/python benchmarks/bench_play.py
	$(BIN)/python benchmarks/bench_names.py
	$(BIN)/python benchmarks/bench_files.py
	$(BIN)/python benchmarks/bench_certificate.py
	$(BIN)/python benchmarks/bench_bounds.py
	$(BIN)/python benchmarks/bench_experts.py
	$(BIN)/python benchmarks/bench_panel.py
	$(BIN)/python benchmarks/bench_accuracy.py
	$(BIN)/python benchmarks/bench_class_speed.py
	$(BIN)/python benchmarks/bench_multilabel.py
	$(BIN)/python benchmarks/bench_class_memory.py
	$(BIN)/python benchmarks/bench_classes.py
	$(BIN)/python benchmarks/bench_tables.py
	$(BIN)/python benchmarks/bench_spark.py
	$(BIN)/python benchmarks/bench_spark_errors.py

# An ordinary install, not an editable one, so the tests run what a user installs.
$(VENV)/.ready: $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --config-settings=cmake.define.MISTAKEBOUND_WERROR=ON '.[test]'
	touch $@

$(VENV)/.bench: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet scikit-learn river vowpalwabbit
	touch $@

.venv-sanitize/.ready: $(SOURCES)
	$(PYTHON) -m venv .venv-sanitize
	.venv-sanitize/bin/python -m pip install --quiet --upgrade pip
	.venv-sanitize/bin/python -m pip install --quiet --config-settings=cmake.define.MISTAKEBOUND_SANITIZE=ON '.[test]'
	touch $@

clean:
	rm -rf $(VENV) .venv-sanitize build dist demo
