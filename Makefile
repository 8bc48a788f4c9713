# Each job builds its own environment in a folder of the checkout; nothing else on the machine is touched.
PYTHON ?= python3

.PHONY: demo test check docs bench bench-peers bench-scaling bench-searches clean

demo: .env-demo/ready
	.env-demo/bin/symscreen screen data/strogatz/glider2.csv \
	    --layers ubb --unary cos,id --binary sub,div --top 5

test: .env-test/ready
	.env-test/bin/pytest -n auto

check: .env-test/ready
	.env-test/bin/ruff check .
	.env-test/bin/ruff format --check .
	.env-test/bin/mypy
	.env-test/bin/lint-imports

# A link that leads nowhere, or a name without a page, stops it.
docs: .env-docs/ready
	NO_MKDOCS_2_WARNING=1 .env-docs/bin/mkdocs build --strict

bench: .env-test/ready
	.env-test/bin/python benchmarks/million.py
	.env-test/bin/python benchmarks/definition.py

# Makes an environment for each peer under the user's cache folder; skips what cannot be installed.
bench-peers: .env-test/ready
	.env-test/bin/python benchmarks/run.py

bench-scaling: .env-test/ready
	.env-test/bin/python benchmarks/scaling.py
	.env-test/bin/python benchmarks/scaling_picture.py

bench-searches: .env-test/ready
	.env-test/bin/python benchmarks/searches.py times
	.env-test/bin/python benchmarks/searches.py recall

.env-demo/ready: pyproject.toml
	$(PYTHON) -m venv --clear .env-demo
	.env-demo/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.env-test/ready: pyproject.toml
	$(PYTHON) -m venv --clear .env-test
	.env-test/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	touch $@

.env-docs/ready: pyproject.toml
	$(PYTHON) -m venv --clear .env-docs
	.env-docs/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $@

clean:
	rm -rf .env-demo .env-test .env-docs build dist
