# Makefile - shortcuts to the presets of CMakePresets.json. `make help` lists them.
SHELL := /bin/sh
.DEFAULT_GOAL := build
.NOTPARALLEL:
.PHONY: build run test test-dev test-release test-asan test-tsan test-arm64 test-clients lint fuzz bench bench-peers pretrained soak install package packages packages-operations clean help

CONFIG ?= conf/run.yaml
PREFIX ?= /usr/local
# /usr is the one prefix whose configuration lies elsewhere.
SYSCONFDIR ?= $(patsubst /usr/etc,/etc,$(PREFIX)/etc)
# One job per processor; for fewer: make build JOBS=1.
JOBS ?= $(shell nproc)
MINUTES ?= 20
SECONDS ?= 60

# gcc 12's thread sanitizer expects memory where it used to be, before kernels shuffled addresses
# further apart; a fixed layout suits both. Not every container allows it.
FIXED_LAYOUT := $(shell setarch -R true 2>/dev/null && echo setarch -R)

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r target text; \
	    do printf '  make %-14s %s\n' "$$target" "$$text"; done

build: ## build the programs: build/release/{sluiced,sluice,sluicectl}
	@.ci/packages build
	cmake --preset release --log-level=WARNING
	cmake --build --preset release -j $(JOBS)

run: build ## serve the models in models/ on 127.0.0.1:8080
	@.ci/packages run
	exec build/release/sluiced --config $(CONFIG)

test: test-release test-asan test-tsan ## all tests, also under the sanitizers

test-dev: ## all tests on the build that compiles fastest
	@.ci/packages build run test
	cmake --preset dev --log-level=WARNING
	cmake --build --preset dev -j $(JOBS)
	ctest --preset dev

test-release: ## all tests on the release build
	@.ci/packages build run test
	cmake --preset release --log-level=WARNING
	cmake --build --preset release-all -j $(JOBS)
	ctest --preset release

test-asan: ## all tests under the address and undefined-behaviour sanitizers
	@.ci/packages build run test
	cmake --preset asan --log-level=WARNING
	cmake --build --preset asan -j $(JOBS)
	ctest --preset asan

test-tsan: ## all tests under the thread sanitizer
	@.ci/packages build run test
	cmake --preset tsan --log-level=WARNING
	cmake --build --preset tsan -j $(JOBS)
	@if $(FIXED_LAYOUT) build/tsan/tests/tidy --self-test >/dev/null; then \
	    $(FIXED_LAYOUT) ctest --preset tsan; \
	else \
	    echo "SKIPPED: the thread sanitizer cannot start here; as root: sysctl vm.mmap_rnd_bits=28"; \
	fi

test-arm64: ## tests of the kernels, ops and golden values for 64-bit ARM, emulated; not part of make test
	@.ci/packages build arm64
	cmake --preset arm64 --log-level=WARNING
	cmake --build --preset arm64 -j $(JOBS)
	ctest --preset arm64

test-clients: build ## LangChain and LlamaIndex against the daemon: half a gigabyte from PyPI; not part of make test
	@for name in langchain llama_index; do echo "== $$name"; \
	    tests/third_party_clients/python_client.sh tests/third_party_clients/$${name}_client.py build/release/sluiced \
	        || [ $$? -eq 77 ] || exit 1; done

lint: ## build every preset without a warning; clang-tidy, cppcheck, formatting; shows all findings
	@.ci/packages build run test lint arm64
	@failed=; \
	step() { name=$$1; shift; echo "== $$name"; "$$@" || failed="$$failed $$name"; }; \
	for preset in dev release asan tsan clang tidy fuzz analyze arm64; do \
	    step $$preset-configure cmake --preset $$preset --log-level=WARNING; \
	    step $$preset cmake --build --preset $$preset -j $(JOBS) -- -k 0; \
	done; \
	step format tests/lint/check-format.sh .; \
	step cppcheck tests/lint/check-cppcheck.sh $(JOBS); \
	[ -z "$$failed" ] || { echo "lint: failed:$$failed" >&2; exit 1; }

fuzz: ## search for inputs that break the parsers: make fuzz [SECONDS=60] for each; new ones stay in build/fuzz/corpus
	@.ci/packages build test lint
	cmake --preset fuzz --log-level=WARNING
	cmake --build --preset fuzz -j $(JOBS)
	tests/fuzz/run.sh build/fuzz $(SECONDS)

bench: ## run the benchmarks on the release build
	@.ci/packages build run test
	cmake --preset release --log-level=WARNING
	cmake --build --preset bench -j $(JOBS)
	cmake --build --preset release -j $(JOBS)
	@for bench in build/release/tests/bench_*; do echo "== $$bench" && $$bench || exit 1; done

bench-peers: ## compare with other software in turns: make bench-peers [ONLY=forward]; writes build/bench/peers.json
	@.ci/packages build run test peers
	cmake --preset release --log-level=WARNING
	cmake --build --preset bench -j $(JOBS)
	cmake --build --preset release -j $(JOBS)
	tests/bench/peers/run.py $(if $(ONLY),--only $(ONLY)) $(if $(REVIEWS),--reviews $(REVIEWS)) \
	  $(if $(TEXTS),--texts $(TEXTS))

pretrained: ## fetch the published models that some benchmarks need, into build/pretrained
	tests/pretrained/fetch.py build/pretrained

soak: build ## mixed traffic, swaps and jobs for a while: make soak [MINUTES=20]; writes build/soak/soak.md
	tests/soak/soak.py build/release . $(MINUTES) build/soak

install: ## install everything: make install [PREFIX=/usr] [DESTDIR=/tmp/tree]
	@.ci/packages build install
	cmake --preset release --log-level=WARNING -B build/install \
	    -DCMAKE_INSTALL_PREFIX=$(PREFIX) -DCMAKE_INSTALL_SYSCONFDIR=$(SYSCONFDIR) -DSL_TESTS=OFF
	cmake --build build/install -j $(JOBS)
	DESTDIR=$(DESTDIR) cmake --install build/install

package: ## build the Debian packages build/package/*.deb and check them
	@.ci/packages build install package
	rm -rf build/package
	mkdir -p build/package/sluice
	tar -c --exclude=./build --exclude=./.git . | tar -x -C build/package/sluice
	cd build/package/sluice && dpkg-buildpackage --build=binary --no-sign
	lintian --fail-on error,warning build/package/*.changes

packages: ## install the Debian packages of all targets
	@.ci/packages build run test lint install package

packages-operations: ## install HAProxy, nginx, Prometheus, shells and systemd, for the tests that want them
	@.ci/packages operations

clean: ## remove build/
	rm -rf build
