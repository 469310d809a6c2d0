# Two commands matter: `make demo` and `make test`. Each does all its own set-up.

PREFIX ?= /usr/local
# Everything that changes the host needs root.
AS_ROOT := $(shell [ "$$(id -u)" -eq 0 ] || echo sudo)
ASSAY := target/release/assay

.PHONY: demo test check bench conformance install build setup clean

demo: build
	@echo "+ assay run io-weight --set groups=4"
	@$(AS_ROOT) $(ASSAY) run io-weight --set groups=4; \
	code=$$?; \
	echo "exit code $$code (0 kept, 1 broken, 3 undecided or void)"; \
	case $$code in 0|1|3) ;; *) exit $$code;; esac

test: setup
	@scripts/test

check: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

bench: build
	@scripts/setup bench
	cargo build --release -p assay-bench
	@$(AS_ROOT) target/release/assay-bench $(ASSAY)

# docs/conformance.md: this host, and guests with other kernels and layouts.
conformance: build
	@$(AS_ROOT) scripts/conformance $(ASSAY)

build: setup
	cargo build --release -p assay-cli

install: build
	$(AS_ROOT) install -D -m 755 $(ASSAY) $(DESTDIR)$(PREFIX)/bin/assay

setup:
	@scripts/setup

clean:
	cargo clean
