# Each job builds its own environment in a folder of the checkout; nothing else on the machine is touched.
PYTHON ?= python3

.PHONY: demo test check bench clean

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

bench: .env-test/ready
	.env-test/bin/python benchmarks/million.py

.env-demo/ready: pyproject.toml
	$(PYTHON) -m venv --clear .env-demo
	.env-demo/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.env-test/ready: pyproject.toml
	$(PYTHON) -m venv --clear .env-test
	.env-test/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	touch $@

clean:
	rm -rf .env-demo .env-test build dist
