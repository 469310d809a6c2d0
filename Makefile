# The main commands are `make demo` and `make test`. Both install their own requirements.

PREFIX ?= /usr/local
# Changing the host needs root.
AS_ROOT := $(shell [ "$$(id -u)" -eq 0 ] || echo sudo)
ASSAY := target/release/assay
ASSAY_LOAD := target/release/assay-load

.PHONY: demo test test-quick fuzz check audit bench studies screenshots package release image book install build setup clean

# From a fresh clone to a verdict, in minutes; prints each step and its duration.
demo:
	@scripts/demo

# All tests, or by name: make test ONLY=ledger. The last line counts passed, failed and skipped tests.
test: setup
	@scripts/test $(if $(ONLY),--only '$(ONLY)')

# Tests without root, network and guests, for frequent use.
test-quick:
	@scripts/setup runner
	@scripts/test --quick $(if $(ONLY),--only '$(ONLY)')

# Fuzzes every reader of external input for TIME seconds each (CONTRIBUTING.md):
# make fuzz TIME=600 ONLY=parquet SEED=2. Inputs that cause a panic are kept in target/fuzz.
fuzz:
	@scripts/setup build
	@ONLY='$(ONLY)' scripts/fuzz --time $(or $(TIME),60) --seed $(or $(SEED),1)

check:
	@scripts/setup build
	cargo fmt --all --check
	cargo fmt --manifest-path loadgen/Cargo.toml --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy --manifest-path loadgen/Cargo.toml --workspace --all-targets -- -D warnings
	@scripts/check-static

# Known advisories, licences and sources of all crates, hashes of vendored files (docs/supply-chain.md).
# Without a network: ADVISORY_DB=PATH of a clone of RustSec's advisory-db.
audit:
	@scripts/setup audit
	@ADVISORY_DB="$(ADVISORY_DB)" scripts/audit

# What Assay costs on this host (docs/results/performance.md).
bench: build
	@scripts/setup bench
	cargo build --release -p assay-bench
	@$(AS_ROOT) target/release/assay-bench $(ASSAY)

# Every shipped study on this host (docs/results/studies.md), ROUNDS times: target/studies/studies.md.
studies: build
	@scripts/setup bench
	@$(AS_ROOT) scripts/studies target/studies --assay $(ASSAY) --rounds $(or $(ROUNDS),1)

# Generates docs/images: pictures of real pages.
screenshots: build
	@scripts/setup demo report
	@$(AS_ROOT) scripts/screenshots $(ASSAY)

# target/package: a static assay, a .deb and an .rpm for this architecture, installed in clean roots and
# run there (docs/deploying.md).
package:
	@scripts/setup package
	@scripts/package --formats "deb rpm" | while read -r package; do $(AS_ROOT) scripts/package-check "$$package" || exit; done

# target/release-VERSION, with sizes: static programs of two architectures, packages, images, the bill of materials, checksums.
release:
	@scripts/setup release
	@scripts/release

# target/package/assay.tar: a container image of the static program, and a run of it.
image:
	@scripts/setup image
	@scripts/shipped target/package/binaries
	@scripts/image target/package/binaries/$$(uname -m)/assay target/package/assay.tar
	@$(AS_ROOT) scripts/image-check target/package/assay.tar

# The docs as one book, if mdbook is installed; they can be read without it.
book:
	@command -v mdbook >/dev/null || { echo "error: no mdbook; docs/README.md has the same pages" >&2; exit 1; }
	{ printf '# Summary\n\n[Documentation](README.md)\n'; \
	  grep -oE '^## .*|\[[^]]+\]\([a-zA-Z0-9/-]+\.md\)' docs/README.md | sed -E 's/^## (.*)/\n# \1\n/; s/^\[/- [/'; } >docs/SUMMARY.md
	mdbook build docs

build:
	@scripts/setup build
	ASSAY_COMMIT=$$(scripts/commit) cargo build --release -p assay-cli
	cargo build --release --manifest-path loadgen/Cargo.toml -p assay-load

install: build
	$(AS_ROOT) install -D -m 755 $(ASSAY) $(DESTDIR)$(PREFIX)/bin/assay
	$(AS_ROOT) install -D -m 755 $(ASSAY_LOAD) $(DESTDIR)$(PREFIX)/bin/assay-load
	$(AS_ROOT) scripts/extras $(ASSAY) $(DESTDIR)$(PREFIX)

# Requirements of `make test`; scripts/setup lists other parts.
setup:
	@scripts/setup all

clean:
	cargo clean
