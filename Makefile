# SPDX-License-Identifier: GPL-2.0-or-later
# `make help` lists the targets. Everything that is built goes to build/<variant>/.

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all
SHELL := /bin/bash

VARIANT ?= release
B := build/$(VARIANT)
prefix ?= /usr/local
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = @$(if $(filter 1,$(V)),:,printf '  %-8s %s\n' $(1) $(2))

# Sub-makes use all CPUs unless -j is given. MAKEFLAGS holds -j only while recipes run, hence the
# deferred expansion.
override JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

CC := gcc
BPF_CLANG ?= clang
BPFTOOL ?= $(or $(shell command -v bpftool),/usr/sbin/bpftool)

include packages.mk

# Upstream first. A stage includes and calls earlier stages only; its tests link nothing else.
STAGES := base sandbox broker child capture supervise drain process jit labels symbol dwarf extract symbolize unwind resolve kmemtrace aggregate store query render page export answer config steer serve client api send push engine

# --- flags -------------------------------------------------------------------------------------

VERSION := 0.1.0
WARNINGS := -Wall -Wextra -Wshadow -Wformat=2 -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef
CPPFLAGS := -D_GNU_SOURCE -DPILOTLIGHT_VERSION='"$(VERSION)"' -iquote daemon -iquote include -iquote bpf -iquote $(B) -iquote .
CFLAGS := -std=gnu17 -g $(WARNINGS)
LDLIBS := -lbpf -lelf -lz -llzma -lseccomp -lmd -lxxhash -l:libiberty.a -lm -Wl,--as-needed -lsqlite3 -lzstd -linih -lncursesw

ifeq ($(VARIANT),release)
CFLAGS += -O2 -fno-omit-frame-pointer -fstack-protector-strong -D_FORTIFY_SOURCE=2
else ifeq ($(VARIANT),debug)
CFLAGS += -O0
else ifeq ($(VARIANT),asan)
CFLAGS += -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined
else ifeq ($(VARIANT),tsan)
CFLAGS += -O1 -fsanitize=thread
else ifeq ($(VARIANT),coverage)
CFLAGS += -O0 --coverage
else ifeq ($(VARIANT),fuzz)
CC := clang
CFLAGS += -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
else
$(error VARIANT=$(VARIANT): there are release, debug, asan, tsan, coverage and fuzz)
endif
CFLAGS += $(EXTRA_CFLAGS)

MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
BPF_FLAGS := -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Wno-unused-parameter -iquote bpf -iquote include \
	$(if $(MULTIARCH),-I/usr/include/$(MULTIARCH))

FLAGS := $(CC) $(CPPFLAGS) $(CFLAGS) $(LDLIBS) | $(BPF_FLAGS)
$(shell mkdir -p $(B); [ "$$(cat $(B)/flags 2>/dev/null)" = '$(subst ','\'',$(FLAGS))' ] || printf '%s\n' '$(subst ','\'',$(FLAGS))' > $(B)/flags)

# `make check` makes warnings errors. WERROR is not in `flags`: setting it rebuilds nothing.
WERROR ?=

# --- programs ----------------------------------------------------------------------------------

.PHONY: all
all: build-packages
	$(Q)$(MAKE) $(JOBS) --no-print-directory programs

.PHONY: programs
programs: $(B)/pilotlight $(B)/pilotlightd

BPF_SOURCES := $(wildcard bpf/*.bpf.c)
SKELETONS := $(BPF_SOURCES:bpf/%.bpf.c=$(B)/%.skel.h)

$(B)/bpf/%.o: bpf/%.bpf.c $(B)/flags
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(BPF_CLANG) $(BPF_FLAGS) $(WERROR) -MMD -MP -MF $(B)/bpf/$*.d -MT $@ -c $< -o $@
$(B)/%.skel.h: $(B)/bpf/%.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen object $(B)/bpf/$*.linked.o $<
	$(Q)$(BPFTOOL) gen skeleton $(B)/bpf/$*.linked.o name $* > $@

# Those that include skeletons. All others need not wait for the sampler to be compiled.
$(patsubst %.c,$(B)/%.o,$(wildcard daemon/capture/*.c daemon/kmemtrace/*.c tests/capture/*.c)): | $(SKELETONS)

$(B)/%.o: %.c $(B)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(WERROR) -MMD -MP -c $< -o $@

# The assembler embeds these with .incbin, which -MMD does not see.
$(B)/daemon/render/flamegraph_assets.o: $(wildcard daemon/render/*.js) daemon/render/flamegraph.css
$(B)/daemon/page/page_assets.o: $(wildcard daemon/page/*.js) daemon/page/page.css

define stage_archive
$(B)/lib/$(1).a: $(patsubst %.c,$(B)/%.o,$(wildcard daemon/$(1)/*.c))
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	$(Q)rm -f $$@ && ar rcsD $$@ $$(filter %.o,$$^)
endef
$(foreach stage,$(STAGES),$(eval $(call stage_archive,$(stage))))

reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) $(firstword $(1)))
# The archives of a stage and of all stages before it, downstream first, as the linker wants them.
upto = $(if $(filter $(1),$(firstword $(2))),$(firstword $(2)),$(firstword $(2)) $(call upto,$(1),$(wordlist 2,$(words $(2)),$(2))))
archives = $(patsubst %,$(B)/lib/%.a,$(call reverse,$(call upto,$(1),$(STAGES))))
ARCHIVES := $(patsubst %,$(B)/lib/%.a,$(call reverse,$(STAGES)))

# The command's code is an archive too, so that tests can link it with a main() of their own.
$(B)/lib/tools.a: $(patsubst %.c,$(B)/%.o,$(filter-out tools/pilotlight.c,$(wildcard tools/*.c tools/*/*.c)))
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcsD $@ $(filter %.o,$^)

$(B)/pilotlight: $(B)/tools/pilotlight.o $(B)/lib/tools.a $(ARCHIVES)
$(B)/pilotlightd: $(B)/daemon/main.o $(ARCHIVES)
$(B)/pilotlight $(B)/pilotlightd:
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

# --- tests -------------------------------------------------------------------------------------

UNIT_TESTS := $(patsubst tests/%.c,$(B)/tests/%,$(foreach stage,$(STAGES) tools,$(filter-out %_kernel_test.c,$(wildcard tests/$(stage)/*_test.c tests/$(stage)/*/*_test.c))))
KERNEL_TESTS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/*/*_kernel_test.c))
FUZZERS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*_fuzz.c))
WORKLOADS := $(patsubst tests/workloads/%.c,$(B)/workloads/%,$(wildcard tests/workloads/*.c))

HARNESS := $(patsubst %.c,$(B)/%.o,$(filter-out tests/harness/corpus_main.c,$(wildcard tests/harness/*.c)))
# cmocka passes a state to every test, and most need none.
$(B)/tests/%.o: CFLAGS += -Wno-unused-parameter
# Optimized tests run no faster, and take more than twice as long to compile.
$(B)/tests/%.o: CFLAGS += $(if $(filter asan,$(VARIANT)),-O0)
# Tests can make every allocation fail (tests/harness/failing_allocation.h).
TEST_LDFLAGS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=strdup
# There are more than 500 of them, and GNU ld takes twice as long for each.
TEST_LINKER := $(if $(filter asan,$(VARIANT)),$(if $(shell command -v ld.lld),-fuse-ld=lld))

define stage_tests
$(B)/tests/$(1)/%: $(B)/tests/$(1)/%.o $(HARNESS) $(call archives,$(1))
	$$(call say,LINK,$$@)
	$(Q)$(CC) $(CFLAGS) $(TEST_LINKER) $(TEST_LDFLAGS) $$(filter %.o,$$^) $(call archives,$(1)) $(LDLIBS) -lcmocka -o $$@
endef
$(foreach stage,$(STAGES),$(eval $(call stage_tests,$(stage))))

$(B)/tests/tools/%: $(B)/tests/tools/%.o $(HARNESS) $(B)/lib/tools.a $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(TEST_LINKER) $(TEST_LDFLAGS) $^ $(LDLIBS) -lcmocka -o $@

# A fuzz target runs libFuzzer in the fuzz variant, and its corpus alone in all others.
FUZZ_MAIN := $(if $(filter fuzz,$(VARIANT)),-fsanitize=fuzzer,$(B)/tests/harness/corpus_main.o)
$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(if $(filter fuzz,$(VARIANT)),,$(B)/tests/harness/corpus_main.o) $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(TEST_LINKER) $(filter %_fuzz.o,$^) $(FUZZ_MAIN) $(ARCHIVES) $(LDLIBS) -o $@

# Programs whose correct profile is known: frame pointers throughout, no unexpected inlining.
$(B)/workloads/%: tests/workloads/%.c tests/workloads/work.h $(B)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)gcc -std=gnu17 -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id=sha1 -D_GNU_SOURCE -iquote include $< -o $@ $(WORKLOAD_FLAGS) -lpthread -lm

$(B)/workloads/intruder: tests/workloads/intruder_calls.h
HOSTILE := $(patsubst tests/workloads/%.c,$(B)/workloads/%,$(wildcard tests/workloads/hostile_*.c))
$(HOSTILE): tests/workloads/hostile.h
$(B)/workloads/spans $(HOSTILE): WORKLOAD_FLAGS := -rdynamic
$(B)/workloads/spans: $(wildcard include/pilotlight/*.h)
$(B)/workloads/impostor: $(wildcard include/pilotlight/*.h)

# Generates code and writes a jitdump, as runtimes do.
JIT_WRITER := $(wildcard tests/workloads/jit/*.c)
$(B)/workloads/jit_writer: $(JIT_WRITER) $(wildcard tests/workloads/jit/*.h) include/pilotlight/jitdump.h $(B)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)gcc -std=gnu17 -O1 -g $(WARNINGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id=sha1 -D_GNU_SOURCE -iquote include $(JIT_WRITER) -o $@ -lpthread
WORKLOADS += $(B)/workloads/jit_writer

# Attacks the service as an unprivileged user. Exports what an interpreter is known by.
ABUSE := $(wildcard tests/workloads/abuse/*.c)
$(B)/workloads/abuse: $(ABUSE) $(wildcard tests/workloads/abuse/*.h) include/pilotlight/jitdump.h $(B)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)gcc -std=gnu17 -O1 -g $(WARNINGS) -fno-omit-frame-pointer -fno-optimize-sibling-calls -rdynamic -Wl,--build-id=sha1 -D_GNU_SOURCE -iquote include $(ABUSE) -o $@ -lpthread
WORKLOADS += $(B)/workloads/abuse

.PHONY: unit-tests kernel-tests fuzzers workloads
unit-tests: $(UNIT_TESTS)
kernel-tests: $(KERNEL_TESTS)
fuzzers: $(FUZZERS:%=$(B)/tests/fuzz/%)
workloads: $(WORKLOADS)

# Runtimes that tests profile and Debian does not package. Tests skip what could not be prepared.
.PHONY: runtimes
runtimes: test-packages
	-$(Q)tests/runtimes/prepare

.PHONY: check
check: build-packages test-packages
	$(Q)$(MAKE) $(JOBS) --no-print-directory VARIANT=asan WERROR=-Werror runtimes unit-tests fuzzers
	$(Q)$(MAKE) $(JOBS) --no-print-directory VARIANT=release WERROR=-Werror programs kernel-tests workloads bench
	$(Q)tests/run

# Real programs, judged by perf, in a quarter of an hour; `make check` tries a few. They need packages of their own,
# which `make program-packages` installs; what lacks its package is skipped.
.PHONY: check-programs program-packages
program-packages: ; $(call need,$(PROGRAM_PACKAGES))
check-programs: all
	$(Q)tests/programs/programs.sh

# The rules that a script can check; `make check` runs them, too.
.PHONY: lint
lint: build-packages test-packages
	$(Q)$(MAKE) $(JOBS) --no-print-directory VARIANT=asan WERROR=-Werror unit-tests
	$(Q)tests/run lint/

# For tests/lint: the order of stages, and the commands that compile a file.
.PHONY: print-stages print-compile print-bpf-compile
print-stages: ; @echo $(STAGES)
print-compile: ; @echo $(CC) $(CPPFLAGS) $(CFLAGS)
print-bpf-compile: ; @echo $(BPF_CLANG) $(BPF_FLAGS)

.PHONY: fuzz
FUZZ_SECONDS ?= 60
fuzz: build-packages fuzz-packages
	$(Q)$(MAKE) $(JOBS) --no-print-directory VARIANT=fuzz fuzzers
	$(Q)tests/fuzz/run $(FUZZ_SECONDS) $(FUZZERS)

.PHONY: bench
BENCHES := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))
bench: $(BENCHES)
$(B)/bench/%: $(B)/tests/bench/%.o $(ARCHIVES)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(filter %.o,$^) $(ARCHIVES) $(LDLIBS) -o $@

# --- quickstart, installation, packages --------------------------------------------------------

.PHONY: quickstart
quickstart: all
	$(Q)$(B)/pilotlight record -d 10 -o flamegraph.svg

# Override any of them: `make install DESTDIR=… prefix=/usr unitdir=/lib/systemd/system`.
bindir ?= $(prefix)/bin
sbindir ?= $(prefix)/sbin
mandir ?= $(prefix)/share/man
docdir ?= $(prefix)/share/doc/pilotlight
unitdir ?= $(prefix)/lib/systemd/system
sysusersdir ?= $(prefix)/lib/sysusers.d
tmpfilesdir ?= $(prefix)/lib/tmpfiles.d
# The service reads this folder whatever the prefix is (config/config.h).
sysconfdir ?= /etc

MANUALS := $(wildcard tools/*.1 daemon/*.5 daemon/*.8)
UNITS := pilotlightd.service pilotlightd.socket pilotlight-fetch@.service pilotlight-fetch.socket \
	pilotlight-send@.service pilotlight-send.socket \
	pilotlight-events@.service pilotlight-events.socket pilotlight-failed@.service
DOCUMENTS := README.md LICENSE LICENSES/GPL-2.0.txt LICENSES/Linux-syscall-note.txt
DOCS := $(wildcard docs/*)
# $(call manual,FILE): the path to which a manual page is installed.
manual = $(mandir)/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
CONFIGURATION := $(sysconfdir)/pilotlight/pilotlight.conf
INSTALLED := $(bindir)/pilotlight $(sbindir)/pilotlightd $(foreach m,$(MANUALS),$(call manual,$(m))) \
	$(UNITS:%=$(unitdir)/%) $(sysusersdir)/pilotlight.conf $(tmpfilesdir)/pilotlight.conf \
	$(addprefix $(docdir)/,$(notdir $(DOCUMENTS)) $(DOCS))

# Without DESTDIR this also creates the service's users and reloads systemd.
.PHONY: install uninstall
install: programs
	install -D -m 0755 $(B)/pilotlight '$(DESTDIR)$(bindir)/pilotlight'
	install -D -m 0755 $(B)/pilotlightd '$(DESTDIR)$(sbindir)/pilotlightd'
	$(foreach m,$(MANUALS),install -D -m 0644 $(m) '$(DESTDIR)$(call manual,$(m))' &&) :
	install -d -m 0755 '$(DESTDIR)$(unitdir)' '$(DESTDIR)$(docdir)' '$(DESTDIR)$(CONFIGURATION).d'
	set -e; for unit in $(UNITS); do \
		sed -e 's|/usr/sbin/|$(sbindir)/|' -e 's|/usr/bin/|$(bindir)/|' -e 's|=/etc/|=$(sysconfdir)/|' systemd/$$unit >'$(DESTDIR)$(unitdir)'/$$unit; \
		chmod 0644 '$(DESTDIR)$(unitdir)'/$$unit; \
	done
	install -D -m 0644 systemd/sysusers.conf '$(DESTDIR)$(sysusersdir)/pilotlight.conf'
	install -D -m 0644 systemd/tmpfiles.conf '$(DESTDIR)$(tmpfilesdir)/pilotlight.conf'
	install -m 0644 -t '$(DESTDIR)$(docdir)' $(DOCUMENTS)
	install -D -m 0644 -t '$(DESTDIR)$(docdir)/docs' $(DOCS)
	[ -z '$(DESTDIR)' ] && [ -e '$(CONFIGURATION)' ] || \
		install -D -m 0644 systemd/pilotlight.conf '$(DESTDIR)$(CONFIGURATION)'
ifeq ($(DESTDIR),)
	set -e; if [ "$$(id -u)" = 0 ] && command -v systemd-sysusers >/dev/null; then \
		systemd-sysusers '$(sysusersdir)/pilotlight.conf'; \
		[ ! -d /run/systemd/system ] || systemctl daemon-reload; \
	else \
		echo 'Not root, or no systemd-sysusers: create a user and a group named pilotlight before you start the service, pilotlight-fetch for debuginfod servers, and pilotlight-send for receivers of profiles.'; \
	fi
endif

# Leaves the configuration, the history, the symbols and the user.
uninstall:
	[ -n '$(DESTDIR)' ] || [ ! -d /run/systemd/system ] || [ ! -e '$(unitdir)/pilotlightd.service' ] || systemctl disable --now pilotlightd pilotlight-fetch.socket pilotlight-send.socket || :
	rm -f $(foreach f,$(INSTALLED),'$(DESTDIR)$(f)')
	for d in '$(DESTDIR)$(docdir)/docs' '$(DESTDIR)$(docdir)'; do \
		[ ! -d "$$d" ] || rmdir --ignore-fail-on-non-empty "$$d"; \
	done
	[ -n '$(DESTDIR)' ] || [ ! -d /run/systemd/system ] || systemctl daemon-reload

# Debian packages of the programs and of their debugging symbols, in build/deb/. They are built apart
# from build/release, with the distribution's flags.
DEB := build/deb/pilotlight
.PHONY: deb deb-packages
deb-packages: ; $(call need,debhelper dpkg-dev)
deb: build-packages deb-packages
	$(call say,DEB,build/deb)
	$(Q)rm -rf $(DEB) build/deb/*.deb && mkdir -p $(DEB)
	$(Q)cp -r systemd/debian $(DEB)/debian
	$(Q)sed -i 's/@VERSION@/$(VERSION)/; s/@BUILD_PACKAGES@/$(strip $(foreach p,$(BUILD_PACKAGES),$(p),))/; s/,\( *\),/,/' $(DEB)/debian/control $(DEB)/debian/changelog
	$(Q)cd $(DEB) && PILOTLIGHT_SOURCE='$(CURDIR)' dpkg-buildpackage --build=binary --no-sign --no-check-builddeps >../build.log 2>&1 || { tail -n 40 ../build.log >&2; exit 1; }
	$(Q)ls build/deb/*.deb

.PHONY: format clean help
format: ; $(Q)clang-format -i $$(git ls-files '*.c' '*.h')
clean: ; $(Q)rm -rf build
help:
	@echo 'make              build both programs (VARIANT=release|debug|asan|tsan|coverage|fuzz)'
	@echo 'make quickstart   build, profile the whole system for ten seconds, write flamegraph.svg'
	@echo 'make check        build and run every test (tests/run NAME... runs those that match)'
	@echo 'make check-programs  profile some sixty real programs and compare with perf (install them: make program-packages)'
	@echo 'make lint         check layers, circles, layout, manual pages and commit subjects'
	@echo 'make fuzz         run each fuzz target for FUZZ_SECONDS (60)'
	@echo 'make bench        build the programs of tests/bench/'
	@echo 'make format       run clang-format on all C files'
	@echo 'make install      install below $$DESTDIR$$prefix; make uninstall removes'
	@echo 'make deb          build Debian packages in build/deb/'
	@echo 'make clean        remove build/'
	@echo 'V=1 shows the commands.'

-include $(shell find $(B) -name '*.d' 2>/dev/null)
