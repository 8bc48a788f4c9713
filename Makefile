# Each job builds its own environment in a folder of the checkout; nothing else on the machine is touched.
PYTHON ?= python3

# Tests start hundreds of processes: each would compile every module again if none were kept.
unexport PYTHONDONTWRITEBYTECODE

# $(call make-environment,FOLDER,WHAT) installs with uv, which is several times as fast as pip; with pip where uv fails.
define make-environment
	$(PYTHON) -m venv --clear $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check uv || true
	UV_HTTP_TIMEOUT=30 $(1)/bin/uv pip install --quiet --python $(1)/bin/python $(2) || \
	    $(1)/bin/python -m pip install --quiet --disable-pip-version-check $(2)
endef

.PHONY: audit fuzz gallery man site-version lowest demo test test-all check docs wheel bench bench-peers bench-scaling bench-searches clean

demo: .env-demo/ready
	.env-demo/bin/symscreen screen data/strogatz/glider2.csv \
	    --layers ubb --unary cos,id --binary sub,div --top 5

# Each process begins with a half of the tests that lie together: by turns, both would compile the same kernels at the same
# time, and make what the tests of a module share.
test: .env-test/ready
	.env-test/bin/pytest -n auto --dist worksteal

# Also the slow tests, and none skipped for want of a program or a package: tests/helpers/requirements.py lists what they need
# and how to get it. UNAVAILABLE=octave,polars lets the tests skip that need these.
test-all: .env-test/ready
	.env-test/bin/pytest -n auto --dist worksteal --slow --require-real --allow-missing "$(UNAVAILABLE)"

check: .env-test/ready
	.env-test/bin/ruff check .
	.env-test/bin/ruff format --check .
	.env-test/bin/mypy
	.env-test/bin/lint-imports

# A link that leads nowhere, or a name without a page, stops it.
docs: .env-docs/ready
	NO_MKDOCS_2_WARNING=1 .env-docs/bin/mkdocs build --strict

# Stores the site as one version in the branch gh-pages of this checkout, beside those that are there. Nothing is pushed.
site-version: .env-docs/ready
	PATH="$(CURDIR)/.env-docs/bin:$$PATH" NO_MKDOCS_2_WARNING=1 SITE_VERSIONS=mike .env-docs/bin/mike deploy --update-aliases $(or $(VERSION),$(error VERSION=0.1 names the version)) latest
	.env-docs/bin/mike set-default latest

# Builds the wheel, installs it with the packages that it requires into an empty environment, and runs a first command there, away
# from the checkout. No extra is installed.
wheel: .env-test/ready
	rm -rf dist/wheel
	.env-test/bin/python -m hatchling build --target wheel --directory dist/wheel
	$(call make-environment,.env-wheel,dist/wheel/*.whl)
	cp data/strogatz/glider2.csv .env-wheel
	.env-wheel/bin/python -m pip check
	cd .env-wheel && bin/symscreen screen glider2.csv --layers ub --top 1

# Writes the manual page again, after an option changed.
man: .env-test/ready
	.env-test/bin/python docs/site/man_page.py

# Runs all notebooks, and fails where a result differs from the stored one. ACCEPT=09-pendulum, or ACCEPT=all, stores the new results.
gallery: .env-test/ready
	.env-test/bin/python docs/site/gallery.py --accept "$(ACCEPT)"

bench: .env-test/ready
	.env-test/bin/python benchmarks/run.py million
	.env-test/bin/python benchmarks/run.py definition

# Makes an environment for each peer under the user's cache folder; skips what cannot be installed.
bench-peers: .env-test/ready
	.env-test/bin/python benchmarks/run.py peers

bench-scaling: .env-test/ready
	.env-test/bin/python benchmarks/run.py scaling

bench-searches: .env-test/ready
	.env-test/bin/python benchmarks/run.py searches times
	.env-test/bin/python benchmarks/run.py searches recall

# The tests that touch every dependency, at the lowest versions that pyproject.toml allows; pyparsing 3.3 warns of names that
# matplotlib 3.9 uses.
lowest: .env-lowest/ready
	.env-lowest/bin/pytest -q -W default tests/data tests/report tests/export tests/grammar tests/statistics tests/cli

# Known vulnerabilities of what is installed (asks an advisory database), and the bill of materials.
audit: .env-test/ready
	$(PYTHON) -m venv --clear .env-audit
	.env-audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit cyclonedx-bom
	mkdir -p dist
	.env-audit/bin/cyclonedx-py environment --output-reproducible --of JSON -o dist/sbom.json .env-test/bin/python
	.env-audit/bin/pip-audit --path $$(.env-test/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")

# Properties with fresh examples, then mutated files for every reader. `make fuzz SEED=...` repeats a run of the properties.
fuzz: SEED := $(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))
fuzz: .env-test/ready
	@echo "make fuzz SEED=$(SEED) repeats this run"
	.env-test/bin/pytest -n auto --dist worksteal -m hypothesis --slow --hypothesis-profile=fuzz --hypothesis-seed=$(SEED)
	.env-test/bin/python benchmarks/run.py fuzz --seconds 60

.env-lowest/ready: pyproject.toml
	$(PYTHON) -m venv --clear .env-lowest
	.env-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.env-lowest/bin/uv pip install --quiet --python .env-lowest/bin/python --resolution lowest-direct --editable ".[test]" "pyparsing>=3.1,<3.3"
	touch $@

.env-demo/ready: pyproject.toml
	$(call make-environment,.env-demo,--editable .)
	touch $@

.env-test/installed: pyproject.toml
	$(call make-environment,.env-test,--editable ".[test]")
	touch $@

.env-test/ready: .env-test/installed
	.env-test/bin/python tests/helpers/warm_kernels.py
	touch $@

.env-docs/ready: pyproject.toml
	$(call make-environment,.env-docs,--editable ".[docs]")
	touch $@

clean:
	rm -rf .env-audit .env-demo .env-docs .env-lowest .env-test .env-wheel build dist
