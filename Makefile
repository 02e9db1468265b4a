# Every task of the project. Whatever a task needs, it makes or installs itself.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

WASM := GOOS=js GOARCH=wasm
BROWSER_PACKAGES := ./idbstore ./locks ./broadcast ./outbox/outboxtest/pagetest
ADDR ?= 127.0.0.1:8080

.PHONY: help build demo test test-go test-wasm test-web e2e soak bench lint size fmt clean pages tools chromium

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: web/node_modules ## Build the package into web/dist
	@node web/scripts/build.mjs

demo: pages bin/demo-server ## Build everything and serve the demo, with a real database
	@printf 'Try: add todos; tick "offline", edit, reload, close the browser, come back; open a second tab;\n'
	@printf 'add a todo with a blank title, which the server refuses. The data is in web/demo/demo.sqlite.\n'
	@bin/demo-server -addr $(ADDR) -db web/demo/demo.sqlite -web web/demo/public

test: lint test-go test-wasm test-web e2e ## All tests: what CI runs

test-go: ## The native tests, with the race detector
	@command -v gcc >/dev/null || $(MAKE) --no-print-directory apt-gcc
	@go test -race -json ./... | node web/scripts/count-go.mjs native
	@go test -C web/demo/server -json ./... | node web/scripts/count-go.mjs server

test-wasm: tools chromium ## The browser adapters' tests, in Chromium
	@$(WASM) go test -json -exec "$$PWD/bin/wasmbrowsertest" $(BROWSER_PACKAGES) | node web/scripts/count-go.mjs browser

test-web: build ## The package's types, its contents and its parts
	@cd web && npm run --silent check && npm test --silent

e2e: pages bin/demo-server chromium ## Tabs, reloads, crashes and a real server, in Chromium
	@cd web && npm run --silent e2e

soak: pages bin/demo-server chromium ## Three tabs, flaps, crashes and faults, for minutes; SOAK_SEED=… replays a run
	@cd web && SOAK_SECONDS=$${SOAK_SECONDS:-240} node --import tsx --test-reporter=spec e2e/soak.e2e.ts

bench: pages bin/demo-server chromium ## Measure, in Chromium, and print the ratios
	@cd web && npm run --silent bench

size: build ## Print how large outbox.wasm is, and fail above the limit
	@node web/scripts/size.mjs

lint: tools web/node_modules ## gofmt, vet, staticcheck and tsc
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$unformatted" || { echo "run make fmt: $$unformatted"; exit 1; }
	@go vet ./... && $(WASM) go vet ./...
	@bin/staticcheck ./... && $(WASM) bin/staticcheck ./...
	@go vet -C web/demo/server ./...

fmt: ## Format the Go code
	@gofmt -w $$(git ls-files '*.go')

clean: ## Remove what was built
	@rm -rf bin web/dist web/node_modules web/demo/public web/e2e/public web/src/generated/wasm_exec.js

pages: build
	@node web/scripts/demo.mjs

tools: bin/wasmbrowsertest bin/staticcheck

bin/wasmbrowsertest: .ci/tools/go.mod
	@env -u GOOS -u GOARCH go build -C .ci/tools -o ../../$@ github.com/agnivade/wasmbrowsertest

bin/staticcheck: .ci/tools/go.mod
	@env -u GOOS -u GOARCH go build -C .ci/tools -o ../../$@ honnef.co/go/tools/cmd/staticcheck

bin/demo-server: $(shell find web/demo/server -name '*.go' -o -name 'go.*' 2>/dev/null)
	@go build -C web/demo/server -o ../../../$@ .

web/node_modules: web/package-lock.json
	@cd web && npm ci --silent --no-audit --no-fund && touch node_modules

chromium:
	@node web/scripts/chromium.mjs ensure

.PHONY: apt-gcc
apt-gcc:
	@$$(test "$$(id -u)" = 0 || echo sudo) apt-get update -qq
	@$$(test "$$(id -u)" = 0 || echo sudo) apt-get install -y -qq gcc libc6-dev
