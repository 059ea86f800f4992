# The packages that strangers install, into dist/. TARGET is a target of Rust: the runners of other systems say their own.
TARGET ?= $(shell rustc -vV | sed -n 's/^host: //p')
# Where only the packaging is tested, `bench-build` compiles in half the time.
DIST_PROFILE ?= release
DIST_BIN := .venv-dist/bin
# Panics would name the directories of this machine.
RUST_FLAGS := --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src= --remap-path-prefix=$(CURDIR)=
DIST_TOOLS := PATH="$(CURDIR)/$(DIST_BIN):$$PATH"
# On Linux zig links, against the glibc of manylinux_2_17, the oldest that Rust supports, or against musl. maturin and cargo
# could each bring zig themselves, but would then compile every dependency twice.
LINUX := $(findstring linux,$(TARGET))
GLIBC := $(findstring linux-gnu,$(TARGET))
ifdef LINUX
UNDERSCORED := $(subst -,_,$(TARGET))
TARGET_ENV := CARGO_TARGET_$(shell echo $(UNDERSCORED) | tr a-z A-Z)
DIST_TOOLS += MCPOOL_ZIG_TARGET=$(subst unknown-,,$(TARGET))$(if $(GLIBC),.2.17) \
	CC_$(UNDERSCORED)=$(CURDIR)/release/zig-cc $(TARGET_ENV)_LINKER=$(CURDIR)/release/zig-cc
# A library for musl must not bring a libc of its own.
RUST_FLAGS += $(if $(GLIBC),,-C target-feature=-crt-static)
endif
DIST_TOOLS += RUSTFLAGS="$(RUST_FLAGS)"
ADDON := $(CURDIR)/target/npm/$(TARGET).node

.PHONY: dist dist-python dist-node test-dist

dist: dist-python dist-node dist-rust
	$(MAKE) check-dist

# An interpreter without the GIL, for a wheel of its own.
FREE_THREADED ?= $(shell command -v python3.14t)
WHEEL_FLAGS := --profile $(DIST_PROFILE) --target $(TARGET) $(if $(GLIBC),--compatibility manylinux_2_17) --sbom-include dist/mcpool.cdx.json

dist-python: .venv-dist/ready licences
	rm -f dist/*.whl dist/mcpool-*.tar.gz
	$(DIST_TOOLS) maturin sdist --out dist
	$(DIST_TOOLS) maturin build $(WHEEL_FLAGS) --out dist
	$(if $(FREE_THREADED),$(DIST_TOOLS) maturin build $(WHEEL_FLAGS) --interpreter $(FREE_THREADED) --out dist)
	$(if $(LINUX),for wheel in dist/*.whl; do $(DIST_TOOLS) auditwheel show $$wheel || exit 1; done)

dist-node: .venv-dist/ready node_modules/ready licences
	rm -f dist/*.tgz
	$(DIST_TOOLS) node node/build.mjs --out $(ADDON) --profile $(DIST_PROFILE) --target $(TARGET)
	npm run build:ts
	node release/npm.mjs main
	node release/npm.mjs $(TARGET) $(ADDON)

# In clean environments: every CPython that is found, and the runtimes of JavaScript from npm.
test-dist: $(VENV)/ready tests/dist/node_modules
	$(BIN)/python -m pytest tests/dist

.venv-dist/ready: release/requirements.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@
