# The few commands that one needs; CMakePresets.json has the builds themselves.
PRESET ?= release
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
# Some tests wait for disks and browsers: two more of them than there are cores keep these busy.
TEST_JOBS ?= $(shell expr $(JOBS) + 2)
MAKEFLAGS += --no-print-directory
# Folders that are not there yet are built by ninja where there is one: it has no work of its own between two compilations.
ifneq ($(shell command -v ninja 2>/dev/null),)
export CMAKE_GENERATOR ?= Ninja
endif
CALDER := build/$(PRESET)/bin/calder
DEMO := $(CALDER) sim mobile --time 20 --tol 1e-6 --out out/mobile.csv --plot out/mobile.svg
LANDING := $(CALDER) sim humanoid:drop=0.5 --time 3

.DEFAULT_GOAL := help
.PHONY: help demo test python deb wheel reference screenshot check layers format format-check prepared tidy analyze sanitize \
    sanitize-addresses sanitize-threads sanitize-all soak fuzz fuzz-short coverage same-bits mpich peers build clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null || true

demo: ## install what is missing, build, simulate a mobile and a humanoid that lands on a floor, and make pages that play them
	@scripts/setup build
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS) --target calder_command
	@mkdir -p out
	@rm -f out/mobile.html out/humanoid.html
	@# A build without the page says so, and records the rest.
	$(DEMO) --out out/mobile.html || $(DEMO)
	$(LANDING) --out out/humanoid.html || $(LANDING)
	@echo "The mobile's motion is in out/mobile.csv, its energy is drawn in out/mobile.svg."
	@test ! -f out/mobile.html || echo "Open in a browser: out/mobile.html, and out/humanoid.html, which lands on a floor."
	@echo "Live, to grab it and drag it: $(CALDER) view mobile --open"

test: ## install what is missing, build, and run all tests
	@scripts/setup build test
	@$(MAKE) build
	ctest --preset $(PRESET) -j $(TEST_JOBS)

python: ## install what is missing, and build the Python module into build/release/python
	@scripts/setup build
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS) --target calder_python
	@echo "PYTHONPATH=build/$(PRESET)/python python3 -c 'import calder; help(calder)'"

deb: ## install what is missing, build, and make Debian packages in build/release/deb
	@scripts/setup build deb
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS) --target calder_packages
	@scripts/pack-deb build/$(PRESET)

wheel: ## build a wheel of the Python module in build/wheels, as 'pip wheel .' does
	@scripts/setup build
	@$(MAKE) python
	CALDER_BUILD=build/$(PRESET) python3 -m pip wheel --no-deps --wheel-dir build/wheels .

reference: ## install what is missing, and build the reference of the C interface into build/reference/html
	@scripts/setup docs
	@mkdir -p build
	doxygen docs/Doxyfile
	@echo "build/reference/html/index.html"

screenshot: # the viewer's picture in the documentation
	scripts/screenshot $(CALDER) docs/images/viewer.png

# Seconds of fuzzing, all targets together; or CHECK_ENDS, the time (date +%s) until which it goes on, a minute of each target at most.
CHECK_FUZZ_SECONDS ?= 420

check: ## what CI runs after the tests: format, lint, sanitizers, fuzzing, same bits from every compiler
	@scripts/setup build test check
	@$(MAKE) layers format-check
	@# Two at a time, in this order: where one waits for its last program or test, the other has work for the core.
	@$(MAKE) -j 2 -Otarget sanitize-addresses tidy sanitize-threads same-bits fuzz-short

format: ## put all sources into the house's format
	scripts/sources | xargs clang-format -i

format-check: # fails when clang-format would change a file
	scripts/sources | xargs clang-format --dry-run --Werror

layers: # fails when a folder includes one above it (docs/architecture.md)
	scripts/check-layers

# What others take from a build: kernels, and tables of numbers.
prepared:
	@for preset in $(sort release $(PRESET)); do \
	    cmake --preset $$preset > /dev/null && cmake --build --preset $$preset -j $(JOBS) --target calder calder_tables > /dev/null || exit; \
	done

tidy: prepared # clang-tidy on all of our own C code
	JOBS=$(JOBS) scripts/analyze build/$(PRESET) clang-tidy

analyze: ## gcc's -fanalyzer and cppcheck on all of our own C code
	@scripts/setup build analyze
	@$(MAKE) prepared
	JOBS=$(JOBS) scripts/analyze build/$(PRESET)

# Long computations on few lines of code, which run without sanitizers, and kernels of widths that tests use least: compiling them so
# takes minutes. sanitize-all has them all.
SANITIZED_NOT ?= ^test_(sessions|distribution|bdf_machine|cli_plan|rps|resume|constraints|groups)$$
SANITIZED_LANES ?= w1;$(shell grep -qw avx512vl /proc/cpuinfo 2>/dev/null && echo w8 || echo w4)
THREAD_TESTS ?= machines|ensemble

SANITIZED = -D "CALDER_SANITIZE_LANES=$(SANITIZED_LANES)" -D CALDER_PLAIN_LANES=$(CURDIR)/build/release

sanitize: sanitize-addresses sanitize-threads # the tests under the sanitizers

sanitize-addresses: prepared # the tests under the address and undefined-behaviour sanitizers
	cmake --preset asan $(SANITIZED)
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan -j $(TEST_JOBS) -E "$(SANITIZED_NOT)"

sanitize-threads: prepared # those with threads under the thread sanitizer
	cmake --preset tsan $(SANITIZED)
	cmake --build --preset tsan -j $(JOBS) --target $(patsubst %,test_%,$(subst |, ,$(THREAD_TESTS)))
	ctest --preset tsan -j $(JOBS) -R "^test_($(THREAD_TESTS))$$"

sanitize-all: ## all tests and kernels under the sanitizers, and all tests with threads under the thread sanitizer: an hour
	@$(MAKE) sanitize SANITIZED_NOT=none SANITIZED_LANES= \
	    THREAD_TESTS="$$(grep -lE 'cal_machine_threads|pthread|threads:[0-9]|"view/' tests/test_*.c | sed 's/.*test_//; s/\.c$$//' | paste -sd '|')"

# Simulated hours.
SOAK_HOURS ?= 24

soak: ## simulate a mobile, a world and a watched run for a day each: memory, balance of energy, resumed bits
	cmake --preset $(PRESET) > /dev/null
	cmake --build --preset $(PRESET) -j $(JOBS) --target soak
	build/$(PRESET)/tests/soak --hours $(SOAK_HOURS)

# Seconds of fuzzing, all targets together; FUZZ_TARGETS="mjcf world" fuzzes these.
FUZZ_SECONDS ?= 3600
FUZZ_TARGETS ?=

fuzz: ## an hour of fuzzing in all (FUZZ_SECONDS): readers, files, specifications, options, worlds, command lines, the viewer
	@scripts/setup build fuzz
	cmake --preset fuzz -D "CALDER_SANITIZE_LANES=$(SANITIZED_LANES)"
	@JOBS=$(JOBS) scripts/fuzz build/fuzz $(FUZZ_SECONDS) $(FUZZ_TARGETS)

fuzz-short: sanitize-addresses # CI's minutes of it, with what gcc's sanitizers watch
	JOBS=$(JOBS) scripts/fuzz build/asan $(if $(CHECK_ENDS),until:$(CHECK_ENDS),$(CHECK_FUZZ_SECONDS))

# Long computations on few lines of code run nothing that others do not run; COVERED_NOT=none runs them, too.
COVERED_NOT ?= ^test_(sessions|distribution|bdf_machine)$$|package|wheel|debian|exports|other_libm|web_engines|ranks_[58]

coverage: ## build with counters, run the tests, and say how much of each folder they run
	@scripts/setup build test
	cmake --preset coverage
	cmake --build --preset coverage -j $(JOBS)
	find build/coverage -name '*.gcda' -delete
	-ctest --preset coverage -j $(TEST_JOBS) -E "$(COVERED_NOT)"
	scripts/coverage build/coverage

same-bits: # the hashes of tests/bits.txt from gcc -O3 and clang -O2, every width of lanes; scripts/same-bits all has the matrix
	scripts/same-bits

mpich: ## the tests of ranks with the other MPI, where it is installed
	@if command -v mpicc.mpich > /dev/null; then \
	    cmake --preset mpich && cmake --build --preset mpich -j $(JOBS) --target ranks && ctest --test-dir build/mpich -R "ranks_[12]$$"; \
	else echo "MPICH is not installed (Debian: mpich libmpich-dev): its ranks are not tested"; fi

peers: ## install the other engines, where there are packages, and build the comparisons with them
	@scripts/setup build peers
	@$(MAKE) build

build: ## configure and build
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET) -j $(JOBS)

clean: ## remove everything that was built
	rm -rf build out
