# Two commands for newcomers, `make demo` and `make test`; the rest is for developers.
# Needs Python 3.11 or newer and nothing else: see tools/bootstrap.py.

.DEFAULT_GOAL := help
# `docs` is a folder as well.
.PHONY: help demo test test-thorough test-changed lint bench compiled pure docs build release setup clean distclean

# The first Python that is new enough; override with `make PYTHON=… test`.
CANDIDATES := python3 python3.11 python3.12 python3.13 python3.14 python
PYTHON ?= $(shell for python in $(CANDIDATES); do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo "$$python" && break; done)
VENV := .venv/bin/python

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(firstword $(MAKEFILE_LIST)) \
	| sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

demo: ## train a small network, record one step, write gradviz-demo.html
	@$(call bootstrap,demo)
	@$(VENV) -m gradviz demo

test: ## lint, types and every test, with one summary at the end
	@$(call bootstrap,test)
	@$(VENV) -m tools.check

test-thorough: ## the same with hundreds of examples and longer programs
	@$(call bootstrap,test)
	@$(VENV) -m tools.check --thorough

test-changed: ## lint and the tests nearest to what differs from main, in minutes
	@$(call bootstrap,test)
	@$(VENV) -m tools.changed

lint: ## only lint and types
	@$(call bootstrap,test)
	@$(VENV) -m tools.check --only lint

bench: ## speed against PyTorch, in one run
	@$(call bootstrap,test)
	@$(VENV) -m tests.benchmarks

compiled: ## compile gradtape's hot functions in place; `make pure` takes it back
	@$(call bootstrap,test)
	@cd engine && ../$(VENV) -m compiling

pure: ## let gradtape run as plain Python
	@$(call bootstrap,test)
	@cd engine && ../$(VENV) -m compiling --remove

docs: ## the documentation site, into build/site
	@$(call bootstrap,test)
	@$(VENV) -m tools.site

build: ## wheels and sdists of both distributions, into dist/
	@$(call bootstrap,test)
	@$(VENV) -m build --no-isolation --outdir dist .
	@GRADTAPE_PURE=1 $(VENV) -m build --no-isolation --outdir dist engine

release: ## build and check a release; prints the command that uploads it
	@$(call bootstrap,test)
	@$(VENV) -m tools.release

setup: ## only prepare .venv, for development
	@$(call bootstrap,test)

clean: ## remove what was built
	rm -rf build dist gradviz/render/static gradviz/labextension
	rm -rf .pytest_cache .ruff_cache .hypothesis test-results gradviz-demo.html

distclean: clean ## also remove .venv and node_modules
	rm -rf .venv extension/node_modules

define bootstrap
if [ -z "$(PYTHON)" ]; then \
	echo "gradviz needs Python 3.11 or newer; none was found on PATH." >&2; exit 1; \
fi; $(PYTHON) -m tools.bootstrap $(1)
endef
