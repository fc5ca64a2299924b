# SPDX-License-Identifier: Apache-2.0
# `make setup` needs root the first time, because it installs Debian packages. Once everything is installed and built,
# a second run does nothing and needs no network.

PYTHON ?= /usr/bin/python3
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 8219
MINUTES ?= 60
SAMPLE ?= 300
SEED ?= 1

# What builds natxy and makes a lab of the quickstart, and then the other gateways and servers that plans can name.
PYTHON_PACKAGES := python3-venv
DEMO_PACKAGES := $(PYTHON_PACKAGES) g++ make pkg-config meson ninja-build libdpdk-dev nlohmann-json3-dev libfmt-dev \
	nftables conntrack iproute2 ethtool procps
RUN_PACKAGES := $(DEMO_PACKAGES) iptables tayga iperf3
JOOL_PACKAGES := user-mode-linux jool-tools kmod flex bison bc libelf-dev libssl-dev xz-utils
VM_PACKAGES := gcc libc6-dev qemu-system-x86 qemu-utils mmdebstrap e2fsprogs openssh-client util-linux
AARCH64_PACKAGES := g++-aarch64-linux-gnu qemu-user-static mmdebstrap
DEB_PACKAGES := build-essential debhelper git
CONTAINER_PACKAGES := mmdebstrap podman crun
DEV_PACKAGES := git dpdk-dev libgtest-dev libbenchmark-dev openssh-server openssh-client qemu-utils syslinux mtools \
	dosfstools fdisk e2fsprogs clang clang-format libclang-rt-14-dev chromium tshark unbound bind9 pdns-recursor \
	knot-resolver nghttp2-client nginx-light

# The levels of x86-64 that the portable engine has builds for. DPDK itself needs the second.
ISAS := x86-64-v2 x86-64-v3 x86-64-v4
PROGRAMS := natxy-engine natxy-reference

CPP := $(shell find engine -name '*.cpp')
HPP := $(shell find engine -name '*.hpp')
# Clang alone builds the fuzz targets: they are not in build/engine's compilation database.
# With TIDY_TESTS=no, as CI has it, the tests' own sources are left out, and with TIDY_ANALYZER=no the static analyzer.
TIDY_TESTS ?= yes
TIDY_ANALYZER ?= yes
TIDY_DONE := build/tidy$(if $(filter no,$(TIDY_ANALYZER)),-quick)
TIDY := $(patsubst engine/%.cpp,$(TIDY_DONE)/%.ok,$(filter-out engine/fuzz/% $(if $(filter no,$(TIDY_TESTS)),%_test.cpp),$(CPP)))

# The sanitizers' builds keep the assertions and report the line. Clang needs a quarter of GCC's time for them. To
# optimize what the sanitizers add would take twice as long as all else.
SANITIZED := --buildtype=plain -Dcpp_args=-gline-tables-only -Db_lundef=false
CLANG := CC=clang CXX=clang++
UBSAN := UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

.PHONY: help help-all setup setup-dev packages packages-python packages-demo packages-dev packages-deb packages-jool packages-vm \
	packages-aarch64 engine engine-programs engine-tests portable portable-test aarch64-test man deb deb-test \
	made-deb install-test release container container-test jool vm demo demo-setup test test-fresh test-long test-alone test-more cards \
	faults lint lint-python lint-engine format instrumented built-sanitize built-tsan built-fuzz sanitize tsan fuzz \
	kills mutants soak bench profile docs docs-site docs-site-test gallery clean
.DELETE_ON_ERROR:

help: ## list the verbs that most people need
	@grep -E '^[a-z0-9-]+:[^#]*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 16

help-all: ## list all verbs
	@grep -E '^[a-z0-9-]+:[^#]*##+ ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):[^#]*##+ /\1\t/' | expand -t 16

setup: packages ## install what measuring needs: Debian packages, .venv, natxy-engine
	@$(MAKE) --no-print-directory --jobs=2 engine
	@$(if $(filter setup,$(MAKECMDGOALS)),echo "Ready. Next: make demo. To look at this machine: .venv/bin/natxy doctor",:)

setup-dev: packages-dev ## install what the tests and linters need too
	@tools/offer_tests.sh build/engine
	@$(MAKE) --no-print-directory --jobs=2 engine .venv/.installed-dev

demo: demo-setup ## measure a Linux router and an nftables NAT44 in a temporary lab
	.venv/bin/natxy run plans/quickstart.yaml

# The quickstart needs neither natxy-reference nor the other gateways, which `make setup` adds.
demo-setup:
	@$(MAKE) --no-print-directory --jobs=2 engine PROGRAMS=natxy-engine
	@$(if $(filter demo-setup,$(MAKECMDGOALS)),echo "Ready. Next: make demo",:)

portable: $(ISAS:%=portable-%) ### build the engine for any x86-64 machine, into build/portable; it chooses its instructions at start
	@for program in natxy-engine natxy-reference; do \
		install -m 755 build/engine-x86-64-v2/natxy-launcher build/portable/$$program; \
	done

portable-%: | packages
	@[ -f build/engine-$*/build.ninja ] || \
		tools/step.sh "configuring the engine's build for $*" meson setup build/engine-$* engine -Disa=$* -Dtests=false
	@tools/build.sh "building the engine for $*, about a minute" build/engine-$* natxy-engine natxy-reference natxy-launcher
	@mkdir -p build/portable
	@for program in natxy-engine natxy-reference; do \
		install -m 755 build/engine-$*/$$program build/portable/$$program.$*; \
	done

portable-test: setup-dev portable ### run the engine's tests as built for each level of x86-64 that this CPU has
	@tools/portable_tests.sh $(ISAS)

aarch64-test: packages-aarch64 ### build the engine for Arm servers, and run its tests that need no ports, by emulation
	@tools/aarch64_tests.sh

man: .venv/.installed ### write man pages, from what `natxy VERB --help` prints, into build/man
	@rm -rf build/man
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) .venv/bin/python -m tools.package.manual build/man

deb: packages-deb portable man ### make a Debian package, into build/deb: four minutes the first time
	@tools/step.sh "making the Debian package" tools/package/deb.sh $(PYTHON)
	@ls -l build/deb/*.deb

deb-test: made-deb packages-vm ### install the package of `make deb` in a fresh Debian 12, measure the quickstart there, purge it
	@tools/package/fresh/deb.sh build/deb/natxy_*.deb

install-test: made-deb packages-vm ### time each way of installing, from nothing to a report, in fresh roots: half an hour
	@rm -rf build/wheel
	@NATXY_WHEEL_ENGINE=portable tools/step.sh "making a wheel" .venv/bin/python -m hatchling build -t wheel -d build/wheel
	@tools/package/fresh/clone.sh
	@tools/package/fresh/deb.sh build/deb/natxy_*.deb
	@tools/package/fresh/wheel.sh build/wheel/natxy-*.whl

release: packages-deb ### make all files of a release twice, compare and try them: build/release; SNAPSHOT=1 needs no tag
	@SNAPSHOT=$(SNAPSHOT) tools/package/release.sh $(PYTHON)

container: made-deb ### make an image for podman from the package of `make deb`, without a registry: localhost/natxy
	@tools/packages.sh $(CONTAINER_PACKAGES)
	@tools/package/container.sh build/deb/natxy_*.deb

container-test: made-deb ### make the image, measure the quickstart in it, and take each of its privileges away
	@tools/packages.sh $(CONTAINER_PACKAGES)
	@tools/package/fresh/container.sh build/deb/natxy_*.deb $(PODMAN_OPTIONS)

made-deb:
	@ls build/deb/natxy_*.deb > /dev/null 2>&1 || { echo "there is no package in build/deb: run \`make deb\` first" >&2; exit 1; }

jool: packages-jool ### build Jool for user-mode Linux, for machines that load no kernel modules: a minute, into ~/.cache/natxy
	@guest/build.sh

vm: packages-vm ### build the Debian of testbeds of kind vm: three minutes, 700 MB, into ~/.cache/natxy
	@guest/instructions.sh
	@guest/vm.sh

test: setup-dev engine-tests ## run GoogleTest and pytest, without what takes long; ends with the counts
	@tools/test.sh short

test-fresh: packages-vm ### run `make test` on a fresh root of Debian 12: does it need anything that it does not install?
	@tools/package/fresh/tests.sh

test-long: setup-dev jool vm ## run tests that take longer: kills, siitperf's programs, user-mode Linux, a virtual machine
	@tools/test.sh long

test-alone: setup-dev ### run the tests that other programs would disturb: calibration, siitperf's scripts beside plans, a real table
	@tools/test.sh alone

test-more: setup-dev jool vm ### run the tests that show with other inputs what quicker tests show: an hour
	@ninja -C build/engine --quiet task_bench
	@tools/test.sh more

cards: setup-dev vm portable-x86-64-v3 ### drive PCI network cards, which QEMU emulates, by DPDK's own drivers: half an hour
	@tools/test.sh cards

faults: setup-dev vm ### break a DUT that QEMU boots and ssh reaches: does each run end as it should? half an hour
	@tools/test.sh faults

lint: lint-python lint-engine ## run ruff, mypy --strict, clang-format, clang-tidy, the checks of rooms and docstrings: a line for each finding

lint-python: setup-dev
	@tools/findings.sh .venv/bin/ruff check --output-format=concise .
	@tools/findings.sh .venv/bin/ruff format --check --output-format=concise .
	@tools/findings.sh .venv/bin/mypy
	@tools/findings.sh .venv/bin/python -m tools.house_map
	@tools/findings.sh .venv/bin/python -m tools.docstrings

lint-engine: setup-dev
	@tools/findings.sh clang-format --dry-run -Werror $(CPP) $(HPP)
	@mkdir -p build/tidy.db
	@sed -E 's/ -fpch-preprocess -include [a-z_]+\.hpp / /' build/engine/compile_commands.json > build/tidy.db/compile_commands.json
	@$(MAKE) --no-print-directory --keep-going -j"$$(nproc)" $(TIDY)

# The static analyzer takes two thirds of the time of clang-tidy. It would find in a test only what the sanitizers find by
# running it, and with a sixth of its usual steps it has found all that it found with all of them, in half the time.
TIDY_QUICK := --checks='-clang-analyzer-*'
TIDY_WHOLE := $(patsubst %,--extra-arg=%,-Xclang -analyzer-config -Xclang max-nodes=40000)
TIDY_SOURCE := $(if $(filter no,$(TIDY_ANALYZER)),$(TIDY_QUICK),$(TIDY_WHOLE))

# A stamp for each file, because only what has changed needs clang-tidy again.
$(TIDY_DONE)/%.ok: engine/%.cpp $(HPP) .clang-tidy
	@mkdir -p $(@D)
	@tools/findings.sh .venv/bin/clang-tidy -quiet -p build/tidy.db $(if $(filter %_test.cpp,$<),$(TIDY_QUICK),$(TIDY_SOURCE)) $<
	@touch $@

format: setup-dev ## rewrite the sources as the linters want them
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .
	clang-format -i $(CPP) $(HPP)

instrumented: built-sanitize built-tsan built-fuzz ### build what `make sanitize`, `make tsan` and `make fuzz` run

built-sanitize: setup-dev
	@[ -f build/engine-sanitize/build.ninja ] || $(CLANG) tools/step.sh "configuring the build for AddressSanitizer" \
		meson setup build/engine-sanitize engine $(SANITIZED) -Db_sanitize=address,undefined
	@tools/build.sh "building the engine and its tests for AddressSanitizer" build/engine-sanitize

sanitize: built-sanitize ### run the engine's tests, and trials in a lab, under AddressSanitizer and UndefinedBehaviorSanitizer
	$(UBSAN) meson test -C build/engine-sanitize --no-rebuild --print-errorlogs
	$(UBSAN) NATXY_ENGINE=build/engine-sanitize/natxy-engine \
		.venv/bin/pytest -q tests/frames/frames_test.py -k both_phases

# DPDK's libraries are not instrumented: what threads pass through them would be reported as races.
built-tsan: setup-dev
	@[ -f build/engine-tsan/build.ninja ] || $(CLANG) tools/step.sh "configuring the build for ThreadSanitizer" \
		meson setup build/engine-tsan engine $(SANITIZED) -Db_sanitize=thread
	@tools/build.sh "building the tests for ThreadSanitizer" build/engine-tsan state_state_table_test trial_worker_test \
		measure_core_probe_test

tsan: built-tsan ### run the tests of what the engine's threads share without DPDK under ThreadSanitizer
	meson test -C build/engine-tsan --no-rebuild --print-errorlogs state/state_table trial/worker measure/core_probe

built-fuzz: setup-dev
	@[ -f build/engine-fuzz/build.ninja ] || $(CLANG) tools/step.sh "configuring the fuzz targets' build" \
		meson setup build/engine-fuzz engine $(SANITIZED) -Doptimization=1 -Dfuzz=true -Db_sanitize=address,undefined
	@tools/build.sh "building the fuzz targets" build/engine-fuzz

fuzz: built-fuzz ### mutate plans, damage databases, and run every libFuzzer target, one on each core: FUZZ_SECONDS (60) each, FUZZ_SEED
	NATXY_FUZZ_SECONDS=$(FUZZ_SECONDS) NATXY_FUZZ_SEED=$(FUZZ_SEED) .venv/bin/pytest --quiet -s -m fuzz tests/plans/mutations_test.py \
		tests/runs/damaged_test.py
	@$(UBSAN) tools/fuzz.sh $(FUZZ_SECONDS)

kills: setup-dev jool ### end natxy at every change that it makes outside a run's folder, for an hour: is everything given back?
	@ninja -C build/engine --quiet task_bench
	@tools/test.sh kills

mutants: setup-dev engine-tests ### change the sources in SAMPLE (300, or all) places, one by one: do the tests notice?
	@status=0; \
	.venv/bin/python -m tools.mutants.python --sample $(SAMPLE) --seed $(SEED) || status=1; \
	.venv/bin/python -m tools.mutants.engine || status=1; \
	exit $$status

soak: setup ### keep one engine busy for MINUTES (60), and judge whether memory, descriptors and clock stay as they are
	.venv/bin/python -m tools.soak --minutes $(MINUTES)

bench: setup-dev portable ## measure the engine's speed, by part and beside testpmd, and the cost of each search
	meson test -C build/engine --benchmark --verbose
	ninja -C build/engine --quiet task_bench phase1_bench drain.so
	for isa in $(ISAS); do ninja -C build/engine-$$isa --quiet task_bench || exit 1; done
	.venv/bin/python -m tools.bench.peer_benchmark
	.venv/bin/python -m tools.bench.form_benchmark
	.venv/bin/python -m tools.bench.siitperf_benchmark
	.venv/bin/python -m tools.bench.siitperf_start
	.venv/bin/python -m tools.bench.isa_benchmark
	.venv/bin/python -m tools.bench.search_benchmark

profile: setup ### measure where the cycles of the engine's tasks go, by Debian's linux-perf
	ninja -C build/engine --quiet task_bench
	.venv/bin/python -m tools.bench.cycles

docs: setup ## regenerate the schemas, the tables of fields and figures, and those of what was measured last
	@mkdir -p docs/reference
	.venv/bin/python -m natxy.plan.yaml.schema > docs/reference/plan.schema.json
	.venv/bin/python -m natxy.engine.schema > docs/reference/rpc.schema.json
	.venv/bin/python -m natxy.events.schema > docs/reference/events.schema.json
	.venv/bin/python -m tools.figures_table
	.venv/bin/python -m tools.plan_fields
	.venv/bin/python -m tools.bench.speed_tables
	.venv/bin/python -m tools.soak.table
	.venv/bin/python -m tools.mutants.table
	.venv/bin/python -m tools.faults_table
	.venv/bin/python -m tools.papers_table
	.venv/bin/python -m tools.siitperf_replay --table
	.venv/bin/python -m tools.package.fresh.table

# In a venv of its own: measuring and testing need none of these packages.
docs-site: ### make a site of the documentation, which needs no network: open build/site/index.html
	@[ build/site-venv/.installed -nt requirements-docs.txt ] || { \
		tools/step.sh "making a venv for the documentation's site" $(PYTHON) -m venv build/site-venv && \
		tools/step.sh "installing Sphinx into it" build/site-venv/bin/pip install --disable-pip-version-check \
			--progress-bar=off -r requirements-docs.txt && touch build/site-venv/.installed; }
	@rm -rf build/site
	@build/site-venv/bin/sphinx-build -q -W --keep-going -b html -c tools/site -d build/site-doctrees . build/site
	@echo "The site is in build/site; open build/site/index.html, or: $(PYTHON) -m http.server --directory build/site"

docs-site-test: setup-dev docs-site ### open the site in Chromium: does its search find pages, and can everyone read them?
	.venv/bin/python -m tools.site.opened build/site

gallery: setup-dev ### measure what build/gallery lacks of the gallery, and take its pictures and those of the tutorial
	.venv/bin/natxy campaign tools/gallery/gallery.yaml --output build/gallery
	.venv/bin/python -m tools.gallery build/gallery

clean: ## remove .venv and everything that was built, but no measured run
	rm -rf build .venv

# Installing Python packages mostly waits, and neither apt nor the compiler needs them: this goes on beside both.
engine: engine-programs .venv/.installed
	@for program in $(PROGRAMS); do \
		cmp -s build/engine/$$program .venv/bin/$$program || \
			install -m 755 build/engine/$$program .venv/bin/$$program; \
	done

engine-programs: packages-demo
	@[ -f build/engine/build.ninja ] || \
		tools/step.sh "configuring the engine's build" meson setup build/engine engine -Dtests=false
	@tools/build.sh "building $(PROGRAMS), about a minute" build/engine $(PROGRAMS)

engine-tests: setup-dev
	@tools/build.sh "building the engine's tests, about a minute" build/engine

# The engine is not part of the wheel: it is built against the machine's own libraries, because Debian provides DPDK.
# A copy of natxy in .venv, which `pip install .` leaves, would go on as it is after `git pull`: the sources replace it.
.venv/.installed: requirements.txt requirements-build.txt pyproject.toml siitperf/pyproject.toml \
		$(wildcard .venv/lib/python*/site-packages/natxy .venv/lib/python*/site-packages/natxy_siitperf) \
		| packages-python
	@tools/step.sh "installing Python packages into .venv" tools/venv.sh $(PYTHON)
	@touch $@

.venv/.installed-dev: requirements-dev.txt .venv/.installed
	@tools/step.sh "installing the Python packages of the tests and linters" .venv/bin/pip install \
		--disable-pip-version-check --progress-bar=off -r requirements-dev.txt
	@touch $@

packages-python:
	@tools/packages.sh --newer $(PYTHON_PACKAGES)

packages-demo: packages-python
	@tools/packages.sh --newer $(DEMO_PACKAGES)

packages: packages-python
	@tools/packages.sh --newer $(RUN_PACKAGES)

packages-dev: packages
	@tools/packages.sh $(DEV_PACKAGES)

packages-deb: packages
	@tools/packages.sh $(DEB_PACKAGES)

packages-jool:
	@tools/packages.sh $(JOOL_PACKAGES)

packages-aarch64: packages
	@tools/packages.sh $(AARCH64_PACKAGES)

packages-vm:
	@tools/packages.sh $(VM_PACKAGES)
