# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian packages that building, testing and fuzzing need. README gives the reasons, under Dependencies.

BUILD_PACKAGES := gcc libc6-dev clang llvm bpftool libbpf-dev libdw-dev libelf-dev liblzma-dev zlib1g-dev \
	libseccomp-dev libmd-dev libxxhash-dev libzydis-dev libiberty-dev libsqlite3-dev libzstd-dev libmicrohttpd-dev libinih-dev libcurl4-gnutls-dev libsystemd-dev libncurses-dev
# The test library, independent tools to check results against, programs to profile, and linters.
TEST_PACKAGES := libcmocka-dev binutils g++ musl-tools linux-perf golang-go golang-github-google-pprof-dev \
	chromium libxml2-utils python3-minimal xz-utils sqlite3 libc6-dbg mandoc libdebuginfod1 debuginfod \
	elfutils lld dwz rustc libbinutils-dbg libgprofng0-dbg libstdc++6-12-dbg libc6-arm64-cross \
	curl openssl prometheus protobuf-compiler systemd strace nodejs erlang-base php-cli openjdk-17-jdk-headless luajit linux-source-6.1 python3-venv clang-format clang-tidy
# Languages, linkers and libraries that tests/programs/ profiles beside the above; 1.1 GB.
PROGRAM_PACKAGES := $(TEST_PACKAGES) musl-tools mold gfortran gnat gdc ldc nim ocaml-nox fp-compiler fp-units-rtl \
	chicken-bin guile-3.0 sbcl r-base-core lua5.4 luajit ruby perl tcl8.6 swi-prolog-nox libgmp-dev \
	libboost-context-dev x264 qemu-utils openssl mono-mcs mono-runtime pypy3 zstd git mawk gpg
FUZZ_PACKAGES := libclang-rt-14-dev

# $(call need,PACKAGES): installs those that are missing; without root, names them and fails.
define need
@missing=$$(for p in $(1); do dpkg-query -W -f='$${db:Status-Abbrev}' $$p 2>/dev/null | grep -q '^ii' || echo $$p; done); \
if [ -n "$$missing" ] && command -v dpkg-query >/dev/null; then \
	if [ "$$(id -u)" != 0 ]; then \
		echo "Missing packages. Run as root: apt-get install" $$missing >&2; exit 1; \
	fi; \
	echo "  APT      $$(echo $$missing)"; \
	export DEBIAN_FRONTEND=noninteractive; \
	{ apt-get -qq update && apt-get -qq install -y --no-install-recommends $$missing; } >build/apt.log 2>&1 </dev/null || \
		{ tail -n 20 build/apt.log >&2; echo "apt-get could not install" $$missing". See build/apt.log." >&2; exit 1; }; \
fi
endef

.PHONY: build-packages test-packages fuzz-packages
build-packages: ; $(call need,$(BUILD_PACKAGES))
test-packages: ; $(call need,$(TEST_PACKAGES))
fuzz-packages: ; $(call need,$(FUZZ_PACKAGES))
