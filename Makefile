# Everything CI does is a target here.
SHELL := /bin/sh
GO    ?= go
BIN   := bin/agentclash

# The version is what git says; a build from an archive has build info only.
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := -s -w $(if $(VERSION),-X github.com/agentclash/agentclash/cmd/cli.version=$(VERSION))

# The race detector needs a C compiler. It watches all but SQLite, which is C made into
# Go and keeps its own locks: watching that as well takes three times as long.
CC_FOUND := $(shell command -v $${CC:-cc} 2>/dev/null || command -v gcc 2>/dev/null)
RACE     := $(if $(CC_FOUND),-race -gcflags=modernc.org/...=-race=false)
# Every process with the detector in it would sleep for a second at its end.
export GORACE ?= atexit_sleep_ms=0

.PHONY: build quickstart test test-rooms test-processes slow-test lint fmt update screenshots fixture guests pages release-check snapshot cross bench bench-stats sandbox-image clean help

build: ## build bin/agentclash (static, no cgo)
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) .

quickstart: build ## the main job with no key: run, scorecard, baseline, comparison
	@sh examples/quickstart.sh $(BIN)

# The tests that run whole processes take three times as long with the detector in them:
# it is on where a process does several things at once.
TOGETHER := 'TestScript/(quickstart|native|peers|turns|events)$$|TestServe$$'

# They wait more than they compute: two at once for each processor.
AT_ONCE := $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))))

# Rooms that only compute have nothing for it to watch, but that trials share a scorer.
COMPUTE := ./pack/... ./scoring/... ./bench/stats ./cmd/report/page ./engine/tool/query

test: build ## run every test; those that need Docker run when an engine answers
	@$(if $(RACE),true,echo "note: no C compiler found: the race detector is off")
	@$(BIN) doctor --json --query '.checks[] | select(.name == "docker") | .status' 2>/dev/null | grep -qx ok \
		|| echo "note: no Docker engine answers: the tests that need one are skipped"
	$(MAKE) --no-print-directory -j2 test-rooms test-processes

test-rooms:
	$(GO) test $(TESTFLAGS) -timeout 20m $(COMPUTE)
	$(if $(RACE),$(GO) test $(RACE) $(TESTFLAGS) -timeout 20m ./scoring -run TestScorerIsSafeForConcurrentUse)
	@mkdir -p bin
	$(GO) list $(COMPUTE) . >bin/without-race
	$(GO) test $(RACE) $(TESTFLAGS) -timeout 20m $$($(GO) list ./... | grep -vxFf bin/without-race)

test-processes:
	$(GO) test $(TESTFLAGS) -parallel $(AT_ONCE) -timeout 20m .
	$(if $(RACE),$(GO) test $(RACE) $(TESTFLAGS) -timeout 20m . -run $(TOGETHER))

slow-test: ## the long fault and simulation tests as well
	AGENTCLASH_SLOW=1 $(GO) test $(RACE) -timeout 60m ./...

lint: ## vet, format and the linters of .golangci.yml
	@files=$$(gofmt -l .); test -z "$$files" || { echo "not formatted (make fmt): $$files"; exit 1; }
	$(GO) vet ./...
	$(GO) -C .ci/lint tool -n golangci-lint >/dev/null
	$$($(GO) -C .ci/lint tool -n golangci-lint) run ./...

fmt: ## format the Go files
	gofmt -w $$(git ls-files '*.go')

# One room after the other: some write pages that others read.
update: ## rewrite the golden files of every room whose tests have -update
	$(GO) test -p 1 $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n 1 dirname | sort -u) -update

fixture: build ## keep a store of the present schema, for the tests of upgrades
	sh testdata/upgrade/make.sh $(BIN) testdata/upgrade/schema$$(ls store/migrations/*.sql | wc -l | tr -d ' ').db.gz

GUESTS := sandbox/guest/embedded

screenshots: ## take the pictures in docs/images and the screens in docs/screens (needs chromium, tmux)
	AGENTCLASH_REQUIRE_BROWSER=1 AGENTCLASH_REQUIRE_TMUX=1 AGENTCLASH_SCREENSHOTS=1 $(GO) test . -run '^(TestScreenshots|TestScreens)$$' -count 1

guests: ## build the small guests (linux, amd64 and arm64) for builds with -tags embed_guests
	@for arch in amd64 arm64; do \
		CGO_ENABLED=0 GOOS=linux GOARCH=$$arch $(GO) build -trimpath -ldflags '-s -w' -o $(GUESTS)/guest ./sandbox/guest/small && \
		gzip -9 -n -c $(GUESTS)/guest > $(GUESTS)/guest-linux-$$arch.gz && rm $(GUESTS)/guest || exit 1; \
	done
	$(GO) test -tags embed_guests ./$(GUESTS)

pages: ## manual pages and completion scripts, into bin/pages
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(GO) run ./docs/gen -out bin/pages

release-check: ## read .goreleaser.yaml; needs goreleaser
	goreleaser check

snapshot: ## build all of a release into dist, and publish nothing; needs goreleaser and syft
	goreleaser release --snapshot --clean --skip=publish

cross: ## vet for Windows and macOS, and build the test binaries of the program for them
	@for goos in windows darwin; do \
		echo "vet for $$goos" && CGO_ENABLED=0 GOOS=$$goos $(GO) vet ./... && \
		CGO_ENABLED=0 GOOS=$$goos $(GO) test -c -o /dev/null . || exit 1; \
	done

bench: build ## measure the budgets; see bench/README.md
	$(GO) run ./bench -bin $(BIN)
	$(GO) test ./sandbox/docker -run '^$$' -bench Ratios -benchtime 1x -timeout 30m

bench-stats: ## simulate what the statistics promise, 10,000 histories a row; see bench/README.md
	$(GO) run ./bench/stats
	AGENTCLASH_HISTORIES=10000 $(GO) test ./scoring/sequential -run TestErrorRates -count 1 -v

sandbox-image: ## make agentclash/sandbox:local (sh, python3) without a registry
	sh sandbox/docker/image/build.sh

clean: ## remove what was built
	rm -rf bin

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
