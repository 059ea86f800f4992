# Everything beyond Rust, Python 3.10+, Node 20+, a C compiler and make is installed from the package registries.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One target directory and one profile for all tests: dependencies are compiled once.
export CARGO_TARGET_DIR := $(CURDIR)/target
# Where a user's pip would make a release build, the tests make a development build of the same package.
DEV_WHEEL := PATH="$(CURDIR)/$(BIN):$$PATH" MATURIN_PEP517_ARGS="--profile dev"

.PHONY: demo test lint soak fuzz bench build python node test-rust test-python test-node clean

demo: python node
	$(BIN)/mcpool demo
	@echo
	node node/bin/mcpool.js demo --json

build: python node
	cargo build -p mcpool -p mcpool-fixture

test: build test-rust test-python test-node

test-rust: tests/servers/node_modules
	cargo build -p mcpool-fixture
	cargo test -p mcpool -p mcpool-fixture

test-python: python tests/servers/node_modules
	cargo build -p mcpool-fixture
	$(BIN)/python -m pytest

test-node: node $(VENV)/ready tests/servers/node_modules
	npm run check:generated
	cargo build -p mcpool-fixture
	npm test

lint: $(VENV)/ready node_modules/ready
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy python/mcpool
	npm run lint

# A long storm of kills over fifty servers; SOAK_SECONDS says how long.
soak:
	cargo build -p mcpool-fixture
	cargo run -p mcpool --example soak

# Each target for FUZZ_SECONDS; a finding fails and lies in fuzz/artifacts. Runs on stable: without a sanitizer, which only
# nightly has, libFuzzer still sees coverage, panics, overflows, hangs and memory.
FUZZ_SECONDS ?= 20
FUZZ_TARGETS ?= parse_json parse_yaml parse_toml edit validate normalise find translate expand redact
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
	cargo build --release -p mcpool-fixture
	bench/run $(BENCH)

python: $(VENV)/ready
	$(DEV_WHEEL) $(BIN)/pip install --quiet --force-reinstall --no-deps --no-build-isolation .

node: node_modules/ready
	npm run build:debug

$(VENV)/ready: tests/requirements.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -r tests/requirements.txt
	touch $@

node_modules/ready: package.json package-lock.json
	npm ci --no-audit --no-fund
	touch $@

tests/servers/node_modules: tests/servers/package.json
	cd tests/servers && npm install --no-package-lock --no-audit --no-fund
	touch $@

clean:
	cargo clean
	rm -rf $(VENV) node_modules tests/servers/node_modules node/dist bench/.peers
