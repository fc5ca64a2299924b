# SPDX-License-Identifier: Apache-2.0
# Thin verbs. `make setup` needs root the first time (Debian packages); a second run finds everything done, offline too.

PYTHON ?= /usr/bin/python3
FUZZ_SECONDS ?= 60

RUN_PACKAGES := build-essential pkg-config meson ninja-build python3-venv \
	dpdk-dev libdpdk-dev nlohmann-json3-dev libfmt-dev libgtest-dev libbenchmark-dev \
	nftables iptables tayga conntrack iproute2 ethtool procps iperf3
JOOL_PACKAGES := user-mode-linux jool-tools kmod flex bison bc libelf-dev libssl-dev xz-utils
DEV_PACKAGES := git openssh-server clang clang-tidy clang-format libclang-rt-14-dev tcpdump tayga chromium

CPP := $(shell find engine -name '*.cpp')
HPP := $(shell find engine -name '*.hpp')
# The fuzz targets are built by clang alone and stand in no compilation database of build/engine.
TIDY := $(patsubst engine/%.cpp,build/tidy/%.ok,$(filter-out engine/fuzz/%,$(CPP)))

.PHONY: help setup setup-dev packages packages-dev packages-jool engine jool demo test lint lint-python lint-engine format \
	sanitize tsan fuzz bench profile docs clean
.DELETE_ON_ERROR:

help: ## list the verbs
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

setup: packages .venv/.installed engine ## everything that measuring needs: Debian packages, .venv, natxy-engine
	@$(if $(filter setup,$(MAKECMDGOALS)),echo "Ready. Next: make demo. To look at this machine: .venv/bin/natxy doctor",:)

setup-dev: setup packages-dev ## and what tests and lint need besides

demo: setup ## measure a Linux router and an nftables NAT44 in a throw-away lab
	.venv/bin/natxy run plans/quickstart.yaml

jool: packages-jool ## Jool in user-mode Linux, for machines that take no kernel modules: a minute, into ~/.cache/natxy
	@guest/build.sh

test: setup-dev jool ## GoogleTest, pytest with the namespace smoke tests, lint; ends with the counts
	@failed=; \
	rm -f build/pytest.xml build/engine/meson-logs/testlog.junit.xml; \
	$(MAKE) --no-print-directory lint || failed="$$failed lint"; \
	meson test -C build/engine --no-rebuild --print-errorlogs || failed="$$failed engine"; \
	.venv/bin/pytest --junit-xml=build/pytest.xml || failed="$$failed pytest"; \
	.venv/bin/python -m tools.count build/engine/meson-logs/testlog.junit.xml build/pytest.xml > build/counts \
		|| failed="$$failed counts"; \
	if [ -n "$$failed" ]; then echo "make test: failed:$$failed"; fi; \
	cat build/counts; \
	[ -z "$$failed" ]

lint: lint-python lint-engine ## ruff, mypy --strict, clang-format, clang-tidy

lint-python: setup-dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

lint-engine: setup-dev
	@clang-format --dry-run -Werror $(CPP) $(HPP)
	@$(MAKE) --no-print-directory -j2 $(TIDY)

# A stamp a file: clang-tidy takes seconds for each, and only what changed needs it again.
build/tidy/%.ok: engine/%.cpp $(HPP) .clang-tidy
	@mkdir -p $(@D)
	clang-tidy -quiet -p build/engine $<
	@touch $@

format: setup-dev ## rewrite the sources as the linters want them
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .
	clang-format -i $(CPP) $(HPP)

sanitize: setup-dev ## the engine's tests, and trials through a lab, under AddressSanitizer and UndefinedBehaviorSanitizer
	@[ -f build/engine-sanitize/build.ninja ] || \
		meson setup build/engine-sanitize engine --buildtype=debugoptimized -Db_sanitize=address,undefined
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 meson test -C build/engine-sanitize --print-errorlogs
	ninja -C build/engine-sanitize --quiet natxy-engine
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 NATXY_ENGINE=build/engine-sanitize/natxy-engine \
		.venv/bin/pytest -q tests/frames_test.py -k "both_phases"

# DPDK's libraries are not instrumented: what passes between threads by them would all look like races.
tsan: setup-dev ## what threads of the engine share without DPDK between them, under ThreadSanitizer
	@[ -f build/engine-tsan/build.ninja ] || \
		meson setup build/engine-tsan engine --buildtype=debugoptimized -Db_sanitize=thread
	meson test -C build/engine-tsan --print-errorlogs state/state_table trial/worker

fuzz: setup-dev ## every libFuzzer target for FUZZ_SECONDS (60), as many at once as there are cores
	@[ -f build/engine-fuzz/build.ninja ] || \
		CC=clang CXX=clang++ meson setup build/engine-fuzz engine --buildtype=debugoptimized \
			-Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
	ninja -C build/engine-fuzz --quiet
	@targets=$$(find build/engine-fuzz -type f -executable -name '*_fuzz'); \
	[ -n "$$targets" ] || { echo "make fuzz: no fuzz target was built"; exit 1; }; \
	printf '%s\n' $$targets | xargs -P "$$(nproc)" -I{} sh -ec ' \
		name=$$(basename {} _fuzz); mkdir -p build/corpus/$$name; \
		{} -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -artifact_prefix=build/corpus/$$name- \
			build/corpus/$$name engine/fuzz/corpus/$$name'

bench: setup-dev ## the engine's speed by part and beside testpmd, and what each search costs
	meson test -C build/engine --benchmark --verbose
	ninja -C build/engine --quiet task_bench phase1_bench drain.so
	.venv/bin/python -m tools.peer_benchmark
	.venv/bin/python -m tools.search_benchmark

profile: setup ## where the cycles of the engine's tasks go, by Debian's linux-perf
	ninja -C build/engine --quiet task_bench
	.venv/bin/python -m tools.cycles

docs: setup ## regenerate what is made from code, and the tables of the last `make bench` and `make profile`
	@mkdir -p docs/reference
	.venv/bin/python -m natxy.plan.yaml.schema > docs/reference/plan.schema.json
	.venv/bin/python -m natxy.engine.schema > docs/reference/rpc.schema.json
	.venv/bin/python -m tools.speed_tables

clean: ## remove everything that was built; measured runs stay
	rm -rf build .venv

engine: packages .venv/.installed
	@[ -f build/engine/natxy-engine ] || echo "building natxy-engine and natxy-reference, about two minutes"
	@[ -f build/engine/build.ninja ] || meson setup build/engine engine
	@ninja -C build/engine --quiet
	@for program in natxy-engine natxy-reference; do \
		cmp -s build/engine/$$program .venv/bin/$$program || \
			install -m 755 build/engine/$$program .venv/bin/$$program; \
	done

# The engine is no part of the wheel: DPDK comes from Debian, so it is built against the machine's own libraries.
.venv/.installed: requirements.txt requirements-dev.txt pyproject.toml | packages
	@echo "installing Python packages"
	@$(PYTHON) -m venv .venv
	@.venv/bin/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@.venv/bin/pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	@touch $@

define install_missing
	@missing=; for package in $(1); do \
		dpkg-query -W -f='$${db:Status-Status}' $$package 2>/dev/null | grep -qx installed || missing="$$missing $$package"; \
	done; \
	if [ -n "$$missing" ]; then \
		[ "$$(id -u)" = 0 ] || { echo "make setup: run it as root, it has to install:$$missing"; exit 1; }; \
		echo "installing$$missing"; \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$missing; \
	fi
endef

packages:
	@$(call install_missing,$(RUN_PACKAGES))

packages-dev: packages
	@$(call install_missing,$(DEV_PACKAGES))

packages-jool:
	@$(call install_missing,$(JOOL_PACKAGES))
