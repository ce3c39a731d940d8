# make demo   set up, then adapt the small CLIP that comes with the package and write a report
# make test   set up, then check style, types and behaviour
# make test-optional   set up, then run what `litotes export` writes in onnxruntime and in open_clip, and hold the
#   calibrators against scikit-learn
# All need Python 3.11 or newer with pip, and make their own virtual environment in .venv; the last one also a folder
# .venv-optional with these three and what they need besides.

PYTHON ?= python3
VENV ?= .venv
OPTIONAL ?= $(VENV)-optional
BIN := $(VENV)/bin
export HF_HUB_OFFLINE ?= 1
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: demo test lint types tests optional test-optional clean

demo: $(VENV)/.demo
	$(BIN)/litotes demo

test: lint types tests

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

tests: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2

optional: $(OPTIONAL)/.done

test-optional: optional
	PYTHONPATH=$(abspath $(OPTIONAL)):tests/optional $(BIN)/python -c "import conftest, onnx, onnxruntime, onnxscript, open_clip, sklearn"
	PYTHONPATH=$(abspath $(OPTIONAL)) OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 tests/optional

$(VENV)/.demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.demo
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

# A folder of packages instead of a second environment: all that they need besides is in .venv already.
$(OPTIONAL)/.done: tests/optional/requirements.txt $(VENV)/.dev
	rm -rf $(OPTIONAL)
	$(BIN)/pip install --quiet --no-deps --target $(OPTIONAL) --requirement tests/optional/requirements.txt
	touch $@

clean:
	rm -rf $(VENV) $(OPTIONAL) build dist
