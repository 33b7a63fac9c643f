# isorun: one non-recursive Makefile. Everything built goes to build/ (build/asan/, build/ubsan/ for
# those modes). `make help` lists the targets.

MODE    ?= release
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= cc

BUILD := build$(if $(filter-out release,$(MODE)),/$(MODE))
OBJ   := $(BUILD)/obj
GEN   := $(BUILD)/gen

# What a target builds first it builds on all processors, unless make was told how many.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# `make V=1` shows the commands.
Q := $(if $(V),,@)

# --- flags -----------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
            -Wno-missing-field-initializers $(if $(CI),-Werror)
CPPFLAGS += -D_GNU_SOURCE -I. -I$(GEN)
CFLAGS   ?= -O2 -g
BASE     := -std=gnu11 $(WARNINGS) -MMD -MP
HARDEN   := -fstack-protector-strong -fstack-clash-protection -fcf-protection -fPIC
LDHARDEN := -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed

SANITIZE_asan    := -fsanitize=address -fno-omit-frame-pointer
SANITIZE_ubsan   := -fsanitize=undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZE_coverage := --coverage -fprofile-update=atomic -O0
SANITIZE         := $(SANITIZE_$(MODE))
ifeq ($(MODE),release)
HARDEN   += -D_FORTIFY_SOURCE=2
endif

ALL_CFLAGS := $(CFLAGS) $(BASE) $(HARDEN) $(SANITIZE)

# Code that runs without libc: raw system calls only, nothing that the compiler might call for.
FREE_CFLAGS := $(CFLAGS) $(BASE) -fPIC -ffreestanding -fno-stack-protector -fcf-protection=none \
               -fno-tree-loop-distribute-patterns -fno-sanitize=all
INIT_CFLAGS := -Os $(filter-out -MMD -MP,$(BASE)) -ffreestanding -fno-stack-protector -fcf-protection=none -fno-pie \
               -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns
INIT_LDFLAGS := -static -no-pie -nostdlib -Wl,--build-id=none -Wl,-z,noseparate-code \
                -Wl,-z,noexecstack -s

# Start-up is most of a short run, so in release mode the program is a static one on musl, which starts
# four times faster than one on glibc (docs/decisions/003-static-program.md). Debian ships no static
# cJSON: `make deps` builds it. Without that or musl-gcc the program is linked dynamically.
STATIC_CJSON := build/deps/libcjson.a
STATIC ?= $(if $(filter release,$(MODE)),$(if $(wildcard $(STATIC_CJSON)),$(shell command -v musl-gcc)))
LIBS   := -lcap -lcjson -lhogweed -lnettle -lgmp -lseccomp
MULTIARCH := $(shell $(CC) -print-multiarch)
MUSL_DIR  := /usr/lib/$(subst gnu,musl,$(MULTIARCH))
# The kernel's and the libraries' headers, behind musl's own.
MUSL_CFLAGS := $(CFLAGS) $(BASE) $(filter-out -D_FORTIFY_SOURCE=2,$(HARDEN)) \
               -idirafter /usr/include -idirafter /usr/include/$(MULTIARCH)

# --- sources ---------------------------------------------------------------------------------------

CLI_SOURCES := $(wildcard runner/cli/*.c runner/cli/*/*.c)
INIT_SOURCES := $(wildcard sandbox/init/*.c)
# Programs that make a part of the library before it is compiled.
GENERATORS  := sandbox/filter/gen_seccomp.c sandbox/net/gen_loopback.c
BASE_SOURCES := $(wildcard runner/base/*.c runner/base/*/*.c)
POLICY_SOURCES := $(wildcard policy/*.c policy/*/*.c)
LIB_SOURCES := $(BASE_SOURCES) $(POLICY_SOURCES) $(wildcard sandbox/*.c audit/*.c) \
               $(filter-out $(INIT_SOURCES) $(GENERATORS),$(wildcard sandbox/*/*.c)) \
               $(filter-out $(CLI_SOURCES) $(BASE_SOURCES),$(wildcard runner/*/*.c))
TEST_SOURCES := $(wildcard tests/test_*.c)
PROBE_SOURCES := $(wildcard integration/probes/*.c)
HOST_SOURCES := $(wildcard integration/hosts/*.c)

# What runs in the child after clone.
CHILD       := $(wildcard sandbox/child/*.c)

LIB_OBJECTS := $(LIB_SOURCES:%.c=$(OBJ)/%.o) $(OBJ)/sandbox/init/init_image.o
CLI_OBJECTS := $(CLI_SOURCES:%.c=$(OBJ)/%.o)
TESTS       := $(TEST_SOURCES:tests/%.c=$(BUILD)/tests/%)
PROBES      := $(PROBE_SOURCES:integration/probes/%.c=$(BUILD)/probes/%)
HOSTS       := $(HOST_SOURCES:integration/hosts/%.c=$(BUILD)/hosts/%)

.PHONY: all
all: $(BUILD)/isorun $(BUILD)/libisorun.so

-include $(shell find $(OBJ) $(BUILD)/musl $(BUILD)/tests $(BUILD)/probes $(BUILD)/hosts -name '*.d' 2>/dev/null)

# --- library and program ---------------------------------------------------------------------------

ifneq ($(STATIC),)
# musl-gcc knows no -static-pie: its start files are named here.
PROGRAM_OBJECTS := $(LIB_SOURCES:%.c=$(BUILD)/musl/%.o) $(CLI_SOURCES:%.c=$(BUILD)/musl/%.o) \
                   $(OBJ)/sandbox/init/init_image.o
PROGRAM_PARTS := $(PROGRAM_OBJECTS) $(STATIC_CJSON)
PROGRAM_DIR := $(BUILD)/musl
LINK_PROGRAM = musl-gcc -static -nostartfiles -Wl,-pie -Wl,--no-dynamic-linker -Wl,-z,text $(LDHARDEN) \
	$(LDFLAGS) -o $@ $(MUSL_DIR)/rcrt1.o $(MUSL_DIR)/crti.o $^ \
	$(foreach library,cap hogweed nettle gmp seccomp,/usr/lib/$(MULTIARCH)/lib$(library).a) $(MUSL_DIR)/crtn.o

$(BUILD)/musl/%.o: %.c
	@mkdir -p $(@D)
	$(Q)musl-gcc $(CPPFLAGS) $(MUSL_CFLAGS) -c -o $@ $<

$(BUILD)/musl/sandbox/filter/embedded.o: $(GEN)/seccomp_default.inc $(GEN)/seccomp_set_id.inc
$(BUILD)/musl/sandbox/net/loopback.o: $(GEN)/loopback.inc
$(BUILD)/musl/runner/calls/commands.o: $(GEN)/git_diff.inc

$(CHILD:%.c=$(BUILD)/musl/%.o): $(BUILD)/musl/%.o: $(OBJ)/%.o
	@mkdir -p $(@D)
	$(Q)cp $< $@
else
PROGRAM_PARTS := $(CLI_OBJECTS) $(BUILD)/libisorun.a
PROGRAM_DIR := $(OBJ)
LINK_PROGRAM = $(CC) -pie $(SANITIZE) $(LDHARDEN) $(LDFLAGS) -o $@ $^ $(LIBS)
endif

$(BUILD)/isorun: $(PROGRAM_PARTS)
	$(Q)$(LINK_PROGRAM)

$(BUILD)/libisorun.a: $(LIB_OBJECTS)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/libisorun.so: $(LIB_OBJECTS) runner/isorun.map
	$(Q)$(CC) -shared $(SANITIZE) $(LDHARDEN) $(LDFLAGS) -Wl,-soname,libisorun.so.0 \
		-Wl,--version-script=runner/isorun.map -o $@ $(LIB_OBJECTS) $(LIBS)

$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

# After clone this shares the parent's memory; see sandbox/child/child.h.
$(CHILD:%.c=$(OBJ)/%.o): $(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(FREE_CFLAGS) -c -o $@ $<

$(OBJ)/sandbox/init/init_image.o: sandbox/init/init_image.S $(BUILD)/isorun-init
	@mkdir -p $(@D)
	$(Q)$(CC) -c -DINIT_PATH='"$(BUILD)/isorun-init"' -o $@ $<

$(BUILD)/isorun-init: $(wildcard sandbox/init/*.[ch]) sandbox/child/steps.h sandbox/child/rawcall.h
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(INIT_CFLAGS) $(INIT_LDFLAGS) -o $@ $(filter %.c,$^)

# --- computed at build time ------------------------------------------------------------------------

$(OBJ)/sandbox/filter/embedded.o: $(GEN)/seccomp_default.inc $(GEN)/seccomp_set_id.inc
$(OBJ)/sandbox/net/loopback.o: $(GEN)/loopback.inc
$(OBJ)/runner/calls/commands.o: $(GEN)/git_diff.inc

$(GEN)/seccomp_default.inc: $(GEN)/gen_seccomp
	$(Q)$< > $@.tmp && mv $@.tmp $@

$(GEN)/seccomp_set_id.inc: $(GEN)/gen_seccomp
	$(Q)$< set-id > $@.tmp && mv $@.tmp $@

# A shell program as a C string, without its comments.
$(GEN)/git_diff.inc: runner/calls/git_diff.sh
	@mkdir -p $(@D)
	$(Q)sed -e '/^#/d' -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@.tmp && mv $@.tmp $@

$(GEN)/loopback.inc: $(GEN)/gen_loopback
	$(Q)$< > $@.tmp && mv $@.tmp $@

$(GEN)/gen_seccomp: sandbox/filter/gen_seccomp.c sandbox/filter/seccomp_profile.c sandbox/filter/seccomp_profile.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -std=gnu11 $(WARNINGS) -o $@ $(filter %.c,$^) -lseccomp

$(GEN)/gen_loopback: sandbox/net/gen_loopback.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -std=gnu11 $(WARNINGS) -o $@ $< -lmnl

# --- tests -----------------------------------------------------------------------------------------

$(BUILD)/tests/%: tests/%.c $(BUILD)/libisorun.a $(filter-out $(OBJ)/runner/cli/main.o,$(CLI_OBJECTS))
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MF $@.d -o $@ $< $(filter %.o,$^) $(filter %.a,$^) $(LIBS) -lcmocka

# Probes run inside the sandbox and inside the test machine: static, so that they need nothing.
$(BUILD)/probes/%: integration/probes/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -O1 -g $(BASE) -MF $@.d -static -pthread -o $@ $<

# Host programs on the library.
$(BUILD)/hosts/%: integration/hosts/%.c $(BUILD)/libisorun.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MF $@.d -pthread -o $@ $< $(BUILD)/libisorun.a $(LIBS)

# A file system to be afraid of.
$(BUILD)/hosts/fuse_server: integration/hosts/fuse_server.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -I/usr/include/fuse3 $(ALL_CFLAGS) -MF $@.d -o $@ $< -lfuse3

# isorun with an allocator that fails when it is told to, for the tests of its faults.
ALLOCATORS := malloc calloc realloc aligned_alloc

$(BUILD)/isorun-starved: LDFLAGS += $(ALLOCATORS:%=-Wl,--wrap=%)
$(BUILD)/isorun-starved: $(PROGRAM_PARTS) $(PROGRAM_DIR)/integration/faults/starve.o
	$(Q)$(LINK_PROGRAM)

# Fuzzers (libFuzzer with ASan and UBSan, so clang's own), on the corpora in tests/fuzz/corpus.
FUZZ_SECONDS ?= 60
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.c)
FUZZERS      := $(FUZZ_SOURCES:tests/fuzz/%.c=$(BUILD)/fuzz/%)
FUZZED       := $(BASE_SOURCES) $(POLICY_SOURCES) $(wildcard audit/*.c)

$(BUILD)/fuzz/%: tests/fuzz/%.c $(FUZZED)
	@mkdir -p $(@D)
	$(Q)clang $(CPPFLAGS) -O1 -g -std=gnu11 -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=all -o $@ $< $(FUZZED) $(LIBS)

# All unit tests and the integration tests of this kernel once with each sanitizer; with small floods and
# trees, because what is looked for does not depend on their size.
SANITIZED_TESTS := $(filter-out run_torture run_software run_faults,$(basename $(notdir $(wildcard integration/cases/*/run_*.sh))))
.PHONY: sanitize
sanitize: deps
	set -e; for mode in asan ubsan; do \
		$(MAKE) $(PARALLEL) MODE=$$mode check-programs; \
		tests/run_unit build/$$mode; \
		FLOOD_MIB=64 TREE_FILES=5000 integration/run_all build/$$mode $(SANITIZED_TESTS) >build/$$mode/log || \
			{ grep -A8 '^not ok' build/$$mode/log; exit 1; }; \
		tail -2 build/$$mode/log; \
	done

# Which lines the tests reach; the child and the init, which run without libc, cannot count.
.PHONY: coverage
coverage: deps
	command -v gcovr >/dev/null || apt-get install -y -qq --no-install-recommends gcovr >/dev/null
	$(MAKE) $(PARALLEL) MODE=coverage check-programs
	find build/coverage -name '*.gcda' -delete
	tests/run_unit build/coverage
	FLOOD_MIB=64 TREE_FILES=5000 integration/run_all build/coverage $(SANITIZED_TESTS) >build/coverage/log || tail -2 build/coverage/log
	gcovr --root . --object-directory build/coverage --filter 'runner/|sandbox/|policy/|audit/' --print-summary \
		--txt build/coverage/report.txt --html-details build/coverage/report.html

# The peers that can be had are installed first; BENCH=--quick for a look.
$(BUILD)/bench/launcher: integration/bench/launcher.c $(BUILD)/libisorun.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MF $@.d -pthread -o $@ $< $(BUILD)/libisorun.a $(LIBS)

.PHONY: bench
bench: deps
	$(MAKE) $(PARALLEL) check-programs $(BUILD)/bench/launcher
	.ci/bench_peers
	integration/bench/run $(BUILD) $(BENCH)
	integration/bench/peers $(BUILD)

# isorun attacked for minutes, killed at every system call that it makes, refused every call and allocation; and all
# programs on the cgroup-v2 kernel.
.PHONY: torture
torture: deps
	$(MAKE) $(PARALLEL) check-programs
	TORTURE=full FAULTS=all integration/run_all $(BUILD) run_torture run_faults
	VM_TIMEOUT=3600 integration/vm/run $(BUILD)

# What depends on timing, again and again, many at once: a thousand times take an hour.
SOAK ?= 1000
.PHONY: soak
soak: deps
	$(MAKE) $(PARALLEL) check-programs
	integration/soak $(BUILD) $(SOAK)

.PHONY: fuzz
fuzz: deps
	$(MAKE) $(PARALLEL) $(FUZZERS)
	tests/fuzz/run $(BUILD) $(FUZZ_SECONDS)

.PHONY: deps unit integration test demo lint format clean help install check-programs
deps:
	.ci/deps

check-programs: all $(TESTS) $(PROBES) $(HOSTS) $(BUILD)/isorun-starved

unit: $(TESTS)
	tests/run_unit $(BUILD)

integration: check-programs
	integration/run_all $(BUILD)

test: deps
	$(MAKE) $(PARALLEL) check-programs
	tests/run_tests $(BUILD)

demo: deps
	$(MAKE) $(PARALLEL) all
	integration/demo $(BUILD)

lint: deps
	$(MAKE) $(PARALLEL) all $(TESTS)
	.ci/lint $(BUILD)

# What lint compares the library with; see docs/decisions/011-station-and-run.md.
.PHONY: abi
abi: $(BUILD)/libisorun.so
	$(Q)abidw --exported-interfaces-only --suppressions .ci/abi.suppr --no-corpus-path --no-comp-dir-path \
		--no-show-locs --out-file runner/isorun.abi $<

# The list of all options in the manual is the program's own.
.PHONY: manual
manual: $(BUILD)/isorun
	$(Q){ sed '/^\.\\" Below: /q' docs/isorun.1 && $< help --manual && \
		sed -n '/^\.\\" Above\.$$/,$$p' docs/isorun.1; } >$(BUILD)/isorun.1 && cp $(BUILD)/isorun.1 docs/isorun.1

format:
	git ls-files '*.c' '*.h' | xargs clang-format -i

# --- installation ----------------------------------------------------------------------------------

install: all
	install -D -m 755 $(BUILD)/isorun $(DESTDIR)$(PREFIX)/bin/isorun
	install -D -m 755 $(BUILD)/libisorun.so $(DESTDIR)$(PREFIX)/lib/libisorun.so.0
	ln -sf libisorun.so.0 $(DESTDIR)$(PREFIX)/lib/libisorun.so
	install -D -m 644 runner/isorun.h $(DESTDIR)$(PREFIX)/include/isorun.h
	install -D -m 644 docs/isorun.1 $(DESTDIR)$(PREFIX)/share/man/man1/isorun.1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/zsh/site-functions \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(BUILD)/isorun completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/isorun
	$(BUILD)/isorun completion zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_isorun
	$(BUILD)/isorun completion fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/isorun.fish
	install -D -m 644 docs/isorun-policy.5 $(DESTDIR)$(PREFIX)/share/man/man5/isorun-policy.5
	install -d $(DESTDIR)$(PREFIX)/share/isorun/policies
	install -m 644 docs/*.schema.json $(DESTDIR)$(PREFIX)/share/isorun
	install -m 644 docs/policies/*.json $(DESTDIR)$(PREFIX)/share/isorun/policies

clean:
	rm -rf build

help:
	@echo 'make                 build/isorun and build/libisorun.so'
	@echo 'make deps            install the Debian packages that are missing (needs root)'
	@echo 'make demo            set up, then compile and test isorun itself inside isorun'
	@echo 'make test            set up, then all unit and integration tests'
	@echo 'make unit            unit tests only'
	@echo 'make integration     integration tests on this kernel only'
	@echo 'make sanitize        the tests with ASan and with UBSan'
	@echo 'make coverage        which lines the tests reach (build/coverage/report.html)'
	@echo 'make bench           measured against peers, interleaved; JSON and a chart'
	@echo 'make torture         attack, kill and refuse isorun wherever that can be (about a quarter of an hour)'
	@echo 'make soak            the tests that depend on timing, SOAK=1000 times (about an hour)'
	@echo 'make fuzz            the fuzzers, FUZZ_SECONDS=60 each'
	@echo 'make manual          the list of all options in the manual, from the program'
	@echo 'make abi             what the library looks like, as the next lint will want it'
	@echo 'make lint            style, layers, headers, static analysis'
	@echo 'make install         to $$(DESTDIR)$$(PREFIX)'
	@echo 'MODE=asan|ubsan|coverage   another build, in build/asan and so on'
