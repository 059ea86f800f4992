# Everything beyond Rust, Python 3.11+ (3.10 but for test-frameworks and test-servers), Node 20+, a C compiler and make is
# installed from the package registries.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One target directory and one profile for all tests: dependencies are compiled once.
export CARGO_TARGET_DIR := $(CURDIR)/target
# No test asks the keychain of whoever runs it; those of the keychain have their own.
export MCPOOL_KEYCHAIN := off
# Where a user's pip would make a release build, the tests make a development build of the same package.
DEV_WHEEL := PATH="$(CURDIR)/$(BIN):$$PATH" MATURIN_PEP517_ARGS="--profile dev"

# The wheel that `make python` builds once and every environment installs
WHEELS := $(CURDIR)/target/python-wheel
# Python frameworks that agree on their requirements share an environment; each has its list in tests/frameworks.
FRAMEWORK_GROUPS := current crewai
FRAMEWORK_VENVS := .venv-frameworks
# Libraries for servers, each group in an environment without us; the lists are in tests/servers.
SERVER_VENVS := .venv-servers
SERVERS := tests/servers/node_modules $(SERVER_VENVS)/current/ready $(SERVER_VENVS)/mcp1/ready
# Servers that others published, in the environments of their libraries; the lists are in tests/servers/published.
PUBLISHED := tests/servers/published/node_modules $(patsubst %,$(SERVER_VENVS)/%/published,current mcp1 fastmcp2)

.PHONY: demo test lint deny hazards-release soak fuzz bench build fixture python node browser test-rust test-python test-servers matrix-rmcp test-node test-scenarios test-portable test-frameworks \
	test-frameworks-node user-namespaces conformance reference test-reference \
	$(FRAMEWORK_GROUPS:%=test-frameworks-%) clean

# Side by side: one downloads while the other compiles. cargo lets one of them compile at a time, so the other finds its
# dependencies built.
demo:
	$(MAKE) -j2 python node
	$(BIN)/mcpool demo
	@echo
	node node/bin/mcpool.js demo
	@echo
	@echo "The command mcpool is $(BIN)/mcpool here. The same in a program: docs/quickstart.md and examples/README.md."

build: python node fixture

# Together with the core: alone, the fixture would get other features of the same dependencies, and compile them again.
fixture:
	cargo build -p mcpool -p mcpool-fixture

test: build test-rust test-python test-servers test-node test-portable test-reference test-docs test-frameworks test-frameworks-node \
	conformance

test-rust: fixture tests/servers/node_modules
	cargo test -p mcpool -p mcpool-fixture

test-python: python fixture $(VENV)/ready $(SERVERS) tests/typing/node_modules browser
	# The tests mostly wait for servers: four processes on two cores.
	$(BIN)/python -m pytest -n 4

# Servers that others published, and one server on each library. Without a network but loopback: none may need anything
# from outside.
test-servers: python fixture $(VENV)/ready $(SERVERS) $(PUBLISHED) matrix-rmcp
	$(BIN)/python tests/conformance/isolated.py $(BIN)/python -m pytest -n 4 tests/servers

matrix-rmcp:
	cargo build --quiet --locked --target-dir target/matrix-rmcp --manifest-path tests/servers/matrix/rmcp/Cargo.toml

# The registries are far and the environments large: they are made side by side.
test-frameworks: python fixture
	$(MAKE) -j$(words $(FRAMEWORK_GROUPS)) $(FRAMEWORK_GROUPS:%=$(FRAMEWORK_VENVS)/%/ready)
	$(MAKE) $(FRAMEWORK_GROUPS:%=test-frameworks-%)

test-frameworks-current: TESTS = tests/frameworks --ignore tests/frameworks/test_crewai.py
test-frameworks-crewai: TESTS = tests/frameworks/test_crewai.py tests/frameworks/test_docs.py tests/frameworks/test_table.py
# Without `python` as a requirement: for a run of one group, after `make python`. Bytecode is written for what is
# imported, which is a small part of what pip installs.
$(FRAMEWORK_GROUPS:%=test-frameworks-%): test-frameworks-%: $(FRAMEWORK_VENVS)/%/ready
	$(FRAMEWORK_VENVS)/$*/bin/pip install --quiet --force-reinstall --no-deps $(WHEELS)/*.whl
	PYTHONDONTWRITEBYTECODE= $(FRAMEWORK_VENVS)/$*/bin/python -m pytest $(TESTS)

$(FRAMEWORK_VENVS)/%/ready: tests/frameworks/%.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-compile --only-binary :all: -r $<
	touch $@

test-node: node fixture $(VENV)/ready $(SERVERS) tests/test-runners/node_modules
	npm run check:generated
	npm test

# Every promise in three languages. Unlike the tests of hazards, it measures nothing by means that only Linux has.
test-scenarios: build $(VENV)/ready
	cargo test -p mcpool --test scenarios
	$(BIN)/python -m pytest -n 4 tests/python/test_scenarios.py
	node --test tests/node/scenarios.test.mjs

# The same once more with what macOS has, without the means that only Linux has.
test-portable: export MCPOOL_PORTABLE := 1
test-portable: build $(VENV)/ready
	$(MAKE) test-scenarios
	cargo test -p mcpool --test portable_means --test orphans

# Some frameworks want a newer Node than the others and we do; it comes from the registry.
NODE_FRAMEWORKS := tests/frameworks-node
NODE_FRAMEWORK_TESTS := missing types langchain anthropic
NEW_NODE_FRAMEWORK_TESTS := approval arguments docs ai-sdk mastra openai openai-agents sampling

# With the oldest versions that the package allows, the heart of the battery: those differ from the newest in details.
OLDEST_NODE_FRAMEWORK_TESTS := ai-sdk anthropic langchain mastra openai sampling
OLDEST_PATTERN := called through the loop|a tool that fails|dies in the call|an image is shown|structured result|survive a restart|changed list|require gives|text and its name|whole conversation

test-frameworks-node: node fixture $(NODE_FRAMEWORKS)/node_modules $(NODE_FRAMEWORKS)/lowest/node_modules
	node $(NODE_FRAMEWORKS)/place.mjs
	cd $(NODE_FRAMEWORKS) && node --test $(NODE_FRAMEWORK_TESTS:%=%.test.mjs)
	cd $(NODE_FRAMEWORKS) && node_modules/.bin/node --test $(NEW_NODE_FRAMEWORK_TESTS:%=%.test.mjs)
	cd $(NODE_FRAMEWORKS) && node_modules/.bin/node --import ./lowest/resolve.mjs --test --test-force-exit \
		--test-name-pattern '$(OLDEST_PATTERN)' $(OLDEST_NODE_FRAMEWORK_TESTS:%=%.test.mjs)

# For `conformance` and `test-servers` on a system whose AppArmor restricts user namespaces, such as Ubuntu's.
USER_NAMESPACES := kernel.apparmor_restrict_unprivileged_userns
user-namespaces:
	test ! -e /proc/sys/$(subst .,/,$(USER_NAMESPACES)) || sudo sysctl -w $(USER_NAMESPACES)=0

# The official suite; ARGS="--only scope --client node" runs a part of it.
conformance: python node $(VENV)/ready tests/conformance/node_modules
	cargo build -p mcpool --example conformance
	$(BIN)/python tests/conformance/run.py $(ARGS)

# What docs/reference says is made from stubs and comments.
reference: python $(VENV)/ready node_modules/ready docs/reference/node_modules
	$(BIN)/python docs/reference/python.py > docs/reference/python.md
	node docs/reference/node.mjs > docs/reference/node.md

test-reference: reference
	git diff --exit-code -- docs/reference

lint: $(VENV)/ready node_modules/ready
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p mcpool --no-default-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc -p mcpool --no-deps
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy python/mcpool tests/conformance
	npm run lint

# Licences, forbidden crates and sources of the dependencies, by deny.toml. Not part of `lint`: the tool takes minutes to build.
deny: target/tools/bin/cargo-deny
	PATH="$(CURDIR)/target/tools/bin:$$PATH" cargo deny check licenses bans sources

target/tools/bin/cargo-deny:
	cargo install cargo-deny --version 0.20.2 --locked --root target/tools

# The tests of hazards on an optimised build: a debug build is slow enough to hide some races.
HAZARDS := $(basename $(notdir $(shell grep -l '^//! Hazard' core/tests/*.rs)))
OPTIMISED := $(CARGO_TARGET_DIR)/bench-build

hazards-release:
	cargo build --profile bench-build -p mcpool -p mcpool-fixture
	MCPOOL_FIXTURE=$(OPTIMISED)/mcpool-fixture \
		cargo test --profile bench-build -p mcpool $(HAZARDS:%=--test %)

# A long storm of kills over fifty servers; SOAK_SECONDS says how long. With SOAK_SESSIONS=1000000: so many simulated
# sessions, on an optimised build.
soak: $(if $(SOAK_SESSIONS),,fixture)
	$(if $(SOAK_SESSIONS),cargo test --profile bench-build -p mcpool --lib simulation,cargo run -p mcpool --example soak)

# Each target for FUZZ_SECONDS; a finding fails and lies in fuzz/artifacts. Runs on stable: without a sanitizer, which only
# nightly has, libFuzzer still sees coverage, panics, overflows, hangs and memory.
FUZZ_SECONDS ?= 20
FUZZ_TARGETS ?= parse_json parse_yaml parse_toml edit validate normalise find translate expand redact \
	lines events frames messages results metadata
FUZZ := PATH="$(CURDIR)/target/tools/bin:$$PATH" CARGO_TARGET_DIR="$(CURDIR)/target/fuzz" cargo fuzz

fuzz: target/tools/bin/cargo-fuzz
	$(FUZZ) build --fuzz-dir fuzz --sanitizer none
	@for target in $(FUZZ_TARGETS); do \
		mkdir -p fuzz/corpus/$$target fuzz/seeds/$$target; \
		echo "fuzz: $$target"; \
		$(FUZZ) run --fuzz-dir fuzz --sanitizer none $$target \
			fuzz/corpus/$$target fuzz/seeds/$$target tests/configs -- -max_total_time=$(FUZZ_SECONDS) \
			-rss_limit_mb=512 -timeout=5 -max_len=65536 -verbosity=0 -print_final_stats=1 || exit 1; \
	done

target/tools/bin/cargo-fuzz:
	cargo install cargo-fuzz --locked --root target/tools

# Release builds beside the peers, in one interleaved run; see bench/README.md.
bench: node_modules/ready
	bench/run --setup
	bench/.peers/venv/bin/pip install --quiet --force-reinstall --no-deps .
	npm run build
	cargo build --release -p mcpool -p mcpool-fixture
	bench/run $(BENCH)

python: $(VENV)/maturin
	rm -rf $(WHEELS)
	$(DEV_WHEEL) $(BIN)/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(WHEELS) .
	$(BIN)/pip install --quiet --force-reinstall --no-deps $(WHEELS)/*.whl

node: node_modules/ready
	npm run build:debug

# All that a build needs: `make demo` does not wait for the tools of the tests.
$(VENV)/maturin: tests/requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check $$(grep '^maturin==' tests/requirements.txt)
	touch $@

$(VENV)/ready: $(VENV)/maturin
	$(BIN)/pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	touch $@

node_modules/ready: package.json package-lock.json
	npm ci --no-audit --no-fund --ignore-scripts
	touch $@

# Each has its lock file: without one, npm resolves forever when a registry has a package and not yet its peers.
%/node_modules: %/package.json %/package-lock.json
	cd $* && npm ci --no-audit --no-fund --ignore-scripts --loglevel=error
	touch $@

$(SERVER_VENVS)/%/ready: tests/servers/%.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-compile -r $<
	touch $@

.PRECIOUS: $(SERVER_VENVS)/%/ready
$(SERVER_VENVS)/%/published: tests/servers/published/%.txt $(SERVER_VENVS)/%/ready
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-compile --only-binary :all: -r $<
	touch $@

# The browser that looks at notebooks, for Linux on x86-64; elsewhere MCPOOL_BROWSER names one.
browser: $(if $(MCPOOL_BROWSER),,target/browser/ready)

target/browser/ready: tests/browser/node_modules tests/browser/unpack.mjs
	node tests/browser/unpack.mjs target/browser
	touch $@

clean:
	cargo clean
	rm -rf dist $(VENV) .venv-dist $(FRAMEWORK_VENVS) $(SERVER_VENVS) node_modules tests/servers/node_modules tests/servers/published/node_modules tests/browser/node_modules tests/typing/node_modules \
		docs/reference/node_modules tests/conformance/node_modules tests/dist/node_modules \
		$(NODE_FRAMEWORKS)/node_modules $(NODE_FRAMEWORKS)/lowest/node_modules tests/test-runners/node_modules node/dist bench/.peers

include make/dist.mk
include make/docs.mk
include make/release.mk
