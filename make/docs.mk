# The site from docs/, the references, the scenarios and the figures. `python3 -m http.server -d target/site` serves it.
DOCS_VENV := .venv-docs
DOCS_BIN := $(DOCS_VENV)/bin

.PHONY: docs test-docs look-docs lint-docs clean-docs

# Prepares the sources, builds with warnings as errors, and checks links, anchors and that nothing is loaded from elsewhere.
# The generator builds only within the folder of its sources, so the site is moved out of it.
docs: $(DOCS_VENV)/ready
	$(DOCS_BIN)/python docs/site/figures.py
	$(DOCS_BIN)/python docs/site/stage.py target/site-source
	cd target/site-source && $(CURDIR)/$(DOCS_BIN)/zensical build --clean --strict
	rm -rf target/site
	mv target/site-source/site target/site
	$(DOCS_BIN)/python docs/site/check.py target/site

test-docs: docs

# The same in a browser, with screenshots for people in target/screenshots.
look-docs: docs browser $(VENV)/ready
	PYTHONPATH=tests/python $(BIN)/python docs/site/look.py target/site

$(DOCS_VENV)/ready: docs/site/requirements.txt
	test -x $(DOCS_BIN)/python || $(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_BIN)/pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: -r $<
	touch $@

lint: lint-docs
lint-docs: $(VENV)/ready
	MYPYPATH=tests/python $(BIN)/mypy docs/site

clean: clean-docs
clean-docs:
	rm -rf $(DOCS_VENV)
