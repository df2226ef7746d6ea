# sprof: build, tests and checks. `make help` prints the goals.
#
# One file, no recursion into folders. tests/lint/rooms lists the folders of sources, and wildcards
# find the files in them: a new .c file needs no edit, a new room needs a line there. Where a goal
# must first install packages (test, demo, lint ...) it runs this same file a second time, because
# the search at the start of a run cannot see what that run installs.

VERSION := 0.1.0
ARCH := $(shell uname -m)
PREFIX ?= /usr/local
MANDIR ?= $(PREFIX)/share/man

# ---- switches: SAN=1 (sanitizers), FUZZ=1 (set by `make fuzz`), WERROR=1, V=1
SAN ?= 0
FUZZ ?= 0
WERROR ?= 0
V ?= 0
FUZZ_SECONDS ?= 60

ifeq ($(origin CC),default)
CC := $(if $(filter 1,$(FUZZ)),clang,gcc)
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
CLANG ?= clang
LLVM_STRIP ?= llvm-strip
CLANG_FORMAT ?= clang-format
OBJCOPY ?= objcopy
# Debian keeps bpftool in /usr/sbin, which is not in a user's PATH.
BPFTOOL ?= $(firstword $(shell command -v bpftool) /usr/sbin/bpftool)

B ?= build$(if $(filter 1,$(FUZZ)),/fuzz,$(if $(filter 1,$(SAN)),/san))

# ---- packages, Debian 12 names
DEPS_BUILD := gcc g++ make pkg-config clang llvm bpftool libc6-dev libbpf-dev libelf-dev libdw-dev \
	libunwind-dev libxxhash-dev libzstd-dev libcapstone-dev zlib1g-dev liblzma-dev libiberty-dev uthash-dev \
	libcurl4-openssl-dev libncurses-dev linux-libc-dev
DEPS_TEST := git perl bats libcmocka-dev clang-format libclang-rt-14-dev jq libxml2-utils file binutils \
	linux-perf python3 redis-server redis-tools sqlite3 gdb openssl nodejs chromium mandoc \
	qemu-system-x86 cpio busybox-static dwz libdebuginfod1 protobuf-compiler valgrind musl-tools procps \
	python3-pip python3-venv python3-yaml dpkg-dev libcap2-bin zsh fish tmux curl libcurl4 libjemalloc2 libtcmalloc-minimal4 \
	$(if $(shell command -v go),,golang-go)

# ---- flags
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla \
	-Wpointer-arith -Wwrite-strings -Werror=implicit -Werror=incompatible-pointer-types \
	-Werror=return-type -Werror=int-conversion
ifeq ($(WERROR),1)
WARN += -Werror
endif
PKGS := libbpf libelf libdw libunwind libxxhash libzstd zlib liblzma ncursesw
# The flags of ncursesw are feature macros of libc, which _GNU_SOURCE sets already.
PKG_CFLAGS := $(shell pkg-config --cflags $(filter-out ncursesw,$(PKGS)) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
CMOCKA_LIBS = $(shell pkg-config --libs cmocka)

CFLAGS ?= -O2 -g
CPPFLAGS_ALL = -I. -I$(B) -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DSPROF_VERSION='"$(VERSION)"' \
	$(PKG_CFLAGS) $(CPPFLAGS)
CFLAGS_ALL = -std=gnu11 $(WARN) -fno-common -fPIE $(MODE_CFLAGS) $(CFLAGS)
LDFLAGS_ALL = -pie -Wl,-z,relro,-z,now,--as-needed $(MODE_LDFLAGS) $(LDFLAGS)
# The remote half of libunwind, which unwinds from saved registers and stack bytes, is one library per target.
LIBS = -lunwind-$(ARCH) $(PKG_LIBS) -liberty -lpthread -lm

SAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
ifeq ($(FUZZ),1)
MODE_CFLAGS := -fsanitize=fuzzer-no-link $(SAN_FLAGS)
MODE_LDFLAGS := -fsanitize=fuzzer $(SAN_FLAGS)
else ifeq ($(SAN),1)
MODE_CFLAGS := $(SAN_FLAGS)
MODE_LDFLAGS := $(SAN_FLAGS)
else
MODE_CFLAGS := -fstack-protector-strong $(if $(filter -O%,$(filter-out -O0,$(CFLAGS))),-D_FORTIFY_SOURCE=2)
endif

# ---- what there is to build
# Files of a folder and of every folder below it.
files_below = $(sort $(shell find $(1) -name '$(2)'))
# tests/lint/rooms lists the folders, and what program the files in each are linked into.
rooms_of = $(shell awk -F '[ \t]*[|][ \t]*' '$$2 == "$(1)" { print $$1 }' tests/lint/rooms)
in_rooms_of = $(wildcard $(addsuffix /$(2),$(call rooms_of,$(1))))
BPF_SRC := $(call in_rooms_of,bpf,*.bpf.c)
AGENT_SRC := $(call in_rooms_of,agent,*.c)
ALLOC_AGENT_SRC := $(call in_rooms_of,alloc-agent,*.c)
GPU_AGENT_SRC := $(call in_rooms_of,gpu-agent,*.c)
HOST_SRC := $(call in_rooms_of,host,*.c)
CLI_SRC := $(call in_rooms_of,cli,*.c)
ASSETS := $(call in_rooms_of,host,*.js) $(call in_rooms_of,host,*.css)
UNIT_SRC := $(call files_below,tests/unit,test_*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
DRIVER_SRC := $(wildcard tests/drivers/*.c)
TARGET_SRC := $(wildcard tests/targets/*.c tests/targets/*.cc)
MAN_SRC := $(wildcard docs/man/*.1)

SKELS := $(BPF_SRC:%.bpf.c=$(B)/%.skel.h)
ASSET_HDRS := $(ASSETS:%=$(B)/%.h)
ASSET_OBJS := $(ASSETS:%=$(B)/%.o)
HOST_OBJS := $(HOST_SRC:%.c=$(B)/%.o) $(ASSET_OBJS) $(B)/sampler/agent/payload.o $(B)/sampler/agent/alloc/payload.o
AGENT_OBJS := $(AGENT_SRC:%.c=$(B)/%.o)
ALLOC_AGENT_OBJS := $(ALLOC_AGENT_SRC:%.c=$(B)/%.o)
GPU_AGENT_OBJS := $(GPU_AGENT_SRC:%.c=$(B)/%.o)
GPU_AGENT := $(B)/libsprof-gpu.so
CLI_OBJS := $(CLI_SRC:%.c=$(B)/%.o)
UNIT_BINS := $(UNIT_SRC:%.c=$(B)/%)
FUZZ_BINS := $(FUZZ_SRC:%.c=$(B)/%)
BENCH_BINS := $(B)/tests/bench/symbolize
DRIVER_BINS := $(DRIVER_SRC:%.c=$(B)/%)
TARGET_LIBS := $(patsubst tests/targets/%.c,$(B)/tests/targets/%.so,$(filter tests/targets/lib%,$(TARGET_SRC)))
TARGET_BINS := $(patsubst tests/%,$(B)/tests/%,$(basename $(filter-out tests/targets/lib%,$(TARGET_SRC))))
HOST_LIB := $(B)/libsprof_host.a
SPROF := $(if $(wildcard cli/main.c),$(B)/sprof)
DIST := sprof-$(VERSION)-$(ARCH)
DIST_GLIBC := 2.28
DIST_WHEEL := dist/sprof-$(VERSION)-py3-none-manylinux_$(subst .,_,$(DIST_GLIBC))_$(ARCH).whl
DIST_DEB := $(if $(shell command -v dpkg-shlibdeps),dist/sprof_$(VERSION)_$(shell dpkg --print-architecture).deb)
DIST_ARCHIVE := $(if $(filter 1,$(SAN) $(FUZZ)),,$(B)/$(DIST).tar.gz)

# ---- output: a short line each; the command itself with V=1; nothing with -s
QUIET := $(findstring s,$(firstword -$(MAKEFLAGS)))
ifeq ($(V),1)
say = @:
Q :=
else
say = $(if $(QUIET),@:,@printf '  %-5s %s\n' '$(1)' '$(2)')
Q := @
endif
# As many jobs as CPUs, unless the user said how many.
AGAIN = +@$(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: all tests-all bench-all help deps deps-build test check check-all stress run-test bench completeness cases lint run-lint format fuzz run-fuzz demo run-demo \
	dist wheel deb run-deb check-gpu receivers install uninstall clean FORCE
.DELETE_ON_ERROR:
.SUFFIXES:
# Implicit rules make no intermediates here: everything built is kept.
.SECONDARY:

all: $(SPROF) $(HOST_LIB) $(B)/libsprof.so $(GPU_AGENT)

# What is compiled into cached unwind tables as their version: they are good for this code only.
TABLE_CODE := $(sort $(wildcard sampler/unwind/*.[ch] sampler/unwind/*/*.[ch] core/base/elf_*.[ch] \
	core/portable/walk*.h))
TABLE_CODE_HDR := $(B)/sampler/unwind/table_code.h

# What the tests need besides sprof.
tests-all: all $(UNIT_BINS) $(DRIVER_BINS) $(TARGET_LIBS) $(TARGET_BINS) $(B)/tests/gpu/fakes.stamp $(DIST_ARCHIVE) $(if $(DIST_ARCHIVE),$(DIST_WHEEL) $(DIST_DEB))

# What measures sprof's own library, beside what the benchmarks compile themselves.
bench-all: tests-all $(BENCH_BINS)

# ---- the rules
# The command line and the list of objects live in files that change only when they do, so that new flags
# rebuild the objects and a removed source leaves the archive.
define write_if_changed
@mkdir -p $(@D); printf '%s\n' $(1) >$@.new; \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
endef

$(B)/flags.stamp: FORCE
	@pkg-config --exists $(PKGS) || { echo "cannot build sprof: a library or pkg-config is missing" >&2; \
		pkg-config --print-errors --exists $(PKGS) 2>&1 | grep '^No package' >&2; \
		echo "hint: make deps" >&2; exit 1; }
	$(call write_if_changed,'$(subst ','\'',$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL))')

$(B)/objects.stamp: FORCE
	$(call write_if_changed,$(sort $(HOST_OBJS)))

$(TABLE_CODE_HDR): $(TABLE_CODE)
	@mkdir -p $(@D); printf '#define TABLE_CODE 0x%sull\n' "$$(cat $^ | sha256sum | cut -c1-16)" >$@

$(B)/%.o: %.c $(B)/flags.stamp | $(SKELS) $(ASSET_HDRS) $(TABLE_CODE_HDR)
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(HOST_LIB): $(HOST_OBJS) $(B)/objects.stamp
	$(call say,AR,$@)
	@mkdir -p $(@D); rm -f $@
	$(Q)$(AR) rcs $@ $(HOST_OBJS)

$(B)/sprof: $(CLI_OBJS) $(HOST_LIB)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $(CLI_OBJS) $(HOST_LIB) $(LIBS)

# BPF: compiled once for every kernel (CO-RE), its DWARF dropped (the BTF stays), wrapped in a skeleton.
# sampler/bpf/NAME.bpf.c is used as #include "sampler/bpf/NAME.skel.h", struct NAME_bpf, NAME_bpf__open().
BPF_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(ARCH)))
BPF_FLAGS = -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Wno-unused-parameter -D__TARGET_ARCH_$(BPF_ARCH) \
	-I. -I$(B) -idirafter /usr/include/$(ARCH)-linux-gnu $(if $(filter 1,$(WERROR)),-Werror)

$(B)/%.bpf.o: %.bpf.c Makefile
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) -MMD -MP -MT $@ -MF $(@:.o=.d) -c -o $@.debug $<
	$(Q)$(LLVM_STRIP) -g -o $@ $@.debug

$(B)/%.skel.h: $(B)/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $(notdir $*)_bpf >$@

# Embedded files: output/view.js becomes `const char view_js[]` and `const size_t view_js_size`, declared in
# #include "output/view.js.h". The array ends in a NUL that the size leaves out, so it is a string as well.
# In the name every character that C does not allow is an underscore.
asset_name = $(shell printf '%s' '$(notdir $(1))' | tr -c 'A-Za-z0-9_' _)

$(B)/output/%.h: output/% Makefile
	@mkdir -p $(@D)
	@n=$(call asset_name,$<); printf '%s\n' '#ifndef SPROF_ASSET_'$$n '#define SPROF_ASSET_'$$n \
		'#include <stddef.h>' "extern const char $$n[];" "extern const size_t $${n}_size;" '#endif' >$@

$(B)/output/%.asset.c: output/% Makefile
	$(call say,EMBED,$<)
	@mkdir -p $(@D)
	@n=$(call asset_name,$<); { printf '#include "%s.h"\nconst char %s[] = {\n' '$<' $$n; \
		od -An -v -td1 $< | sed 's/  */,/g; s/^,//; s/$$/,/'; \
		printf '0};\nconst size_t %s_size = sizeof(%s) - 1;\n' $$n $$n; } >$@

$(ASSET_OBJS): $(B)/%.o: $(B)/%.asset.c $(B)/%.h $(B)/flags.stamp
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -c -o $@ $<

# In-target code: freestanding, whatever flags the rest is built with. Attaching puts payload.bin
# into a process: a flat image without relocations, embedded like the files of output/.
AGENT_FLAGS := -std=gnu11 -O2 -g $(WARN) -I. -ffreestanding -fpic -fvisibility=hidden -fno-common -fno-builtin \
	-fno-stack-protector -fcf-protection=none -mgeneral-regs-only -fno-tree-loop-distribute-patterns
# The fuzz build also compiles it with gcc, because clang reaches hidden symbols through a table.
AGENT_CC := $(if $(filter 1,$(FUZZ)),gcc,$(CC))

$(B)/sampler/agent/%.o: sampler/agent/%.c Makefile
	$(call say,AGENT,$<)
	@mkdir -p $(@D)
	$(Q)$(AGENT_CC) $(AGENT_FLAGS) -MMD -MP -c -o $@ $<

# Each of the two forms of in-target code has its own version of these files.
PRELOAD_OBJS := $(filter $(B)/sampler/agent/preload% $(B)/sampler/agent/$(ARCH)/preload% %/join.o,$(AGENT_OBJS))
PAYLOAD_OBJS := $(filter %/payload_header.o %/payload_home.o %/payload_park.o,$(AGENT_OBJS))

$(B)/sampler/agent/payload.elf: $(filter-out $(PRELOAD_OBJS),$(AGENT_OBJS)) sampler/agent/payload.lds
	$(call say,BLOB,$@)
	$(Q)$(LD) -shared -Bsymbolic -z noexecstack --no-undefined -T sampler/agent/payload.lds -o $@ $(filter %.o,$^)
	$(Q)! readelf -rW $@ | grep R_ || { echo "$@: needs relocation" >&2; exit 1; }

$(B)/libsprof.so: $(filter-out $(PAYLOAD_OBJS),$(AGENT_OBJS))
	$(call say,SO,$@)
	$(Q)$(CC) -shared -nostartfiles -Wl,-soname,libsprof.so,--strip-debug,-z,relro,-z,now,-z,noexecstack,--no-undefined \
		-o $@ $^

# The code of allocation hooks is a payload of its own, with the agent's stack walker. It finds its own callers by
# frame pointers (draw.c).
$(ALLOC_AGENT_OBJS): AGENT_FLAGS += -fno-omit-frame-pointer

$(B)/sampler/agent/alloc/payload.elf: $(ALLOC_AGENT_OBJS) $(addprefix $(B)/sampler/agent/,stack.o memory.o python.o) sampler/agent/payload.lds
	$(call say,BLOB,$@)
	$(Q)$(LD) -shared -Bsymbolic -z noexecstack --no-undefined -T sampler/agent/payload.lds -o $@ $(filter %.o,$^)
	$(Q)! readelf -rW $@ | grep R_ || { echo "$@: needs relocation" >&2; exit 1; }

# Both are embedded. Arguments: the folder, what the array is called, and the sections behind the code.
define embed_payload
$(B)/$(1)/payload.bin: $(B)/$(1)/payload.elf
	$$(Q)$$(OBJCOPY) -O binary -j .payload $(3) $$< $$@

$(B)/$(1)/payload.bin.asset.c: $(B)/$(1)/payload.bin
	$$(Q){ printf '#include "sampler/attach/payload.h"\nconst unsigned char $(2)[] = {\n'; \
		od -An -v -tu1 $$< | sed 's/  */,/g; s/^,//; s/$$$$/,/'; \
		printf '};\nconst size_t $(2)_size = sizeof($(2));\n'; } >$$@

$(B)/$(1)/payload.o: $(B)/$(1)/payload.bin.asset.c sampler/attach/payload.h $(B)/flags.stamp
	$$(Q)$$(CC) $$(CPPFLAGS_ALL) $$(CFLAGS_ALL) -c -o $$@ $$<

endef
$(eval $(call embed_payload,sampler/agent,payload_bin))
$(eval $(call embed_payload,sampler/agent/alloc,alloc_payload_bin,-j .eh_frame))

# The library that CUDA and NVTX load into a target. Its frame pointers are where launch stacks
# begin; its one thread-local pointer is in the static block, where no access allocates; and it is
# never unloaded.
GPU_AGENT_FLAGS := -std=gnu11 -O2 -g $(WARN) -I. -D_GNU_SOURCE -fpic -fvisibility=hidden -fno-common \
	-fno-omit-frame-pointer -fno-stack-protector -fno-plt -ftls-model=initial-exec

$(B)/gpu/agent/%.o: gpu/agent/%.c Makefile
	$(call say,AGENT,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(GPU_AGENT_FLAGS) $(GPU_AGENT_SAN) -MMD -MP -c -o $@ $<

$(GPU_AGENT): $(GPU_AGENT_OBJS)
	$(call say,SO,$@)
	$(Q)$(CC) -shared $(GPU_AGENT_SAN) -static-libgcc -Wl,-z,relro,-z,now,-z,nodelete,-z,noexecstack,--no-undefined \
		-o $@ $(GPU_AGENT_OBJS)

# Tests. One binary per test_*.c below tests/unit; harness.c lets one test of a binary run alone.
# `// BUILD: flags` in the first ten lines of a test or target adds flags, for instance -Wl,--wrap=write.
own_flags = $$(sed -n '1,10s|^// BUILD: *||p' $<)

$(UNIT_BINS): $(B)/%: %.c $(B)/tests/unit/harness.o $(HOST_LIB) $(B)/flags.stamp
	$(call say,TEST,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -Wno-missing-prototypes -MMD -MP $(LDFLAGS_ALL) -o $@ $< \
		$(B)/tests/unit/harness.o $(own_flags) $(HOST_LIB) $(CMOCKA_LIBS) $(LIBS)

# Drivers run by hand what the commands do for a user.
$(FUZZ_BINS) $(BENCH_BINS) $(DRIVER_BINS): $(B)/%: %.c $(HOST_LIB) $(B)/flags.stamp
	$(call say,PROG,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -Wno-missing-prototypes -MMD -MP $(LDFLAGS_ALL) -o $@ $< \
		$(own_flags) $(HOST_LIB) $(LIBS)

# Programs whose true profile is known. They are what is measured, so they get no sanitizer and no
# hardening: -O2 -g and the flags of their own BUILD lines. lib*.c become shared objects; a target
# that needs one has -Wl,-rpath,$ORIGIN (a static-pie program would not start with it).
TARGET_FLAGS := -O2 -g -Wall -Wextra -pthread -I. -D_GNU_SOURCE

$(TARGET_LIBS): $(B)/%.so: %.c Makefile
	$(call say,SO,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(TARGET_FLAGS) -fPIC -shared -MMD -MP -o $@ $< $(own_flags)

# Substitutes for a GPU in tests/gpu: a libcuda, and a libcupti of each of three CUDA versions, one
# of which lacks a function that the agent needs.
FAKE := $(B)/tests/gpu
FAKE_CUPTIS := $(FAKE)/cuda11/libcupti.so.11 $(FAKE)/cuda12/libcupti.so.12 $(FAKE)/cuda13/libcupti.so.13 \
	$(FAKE)/lacking/libcupti.so.12
FAKE_FLAGS := -std=gnu11 $(TARGET_FLAGS) -fno-omit-frame-pointer -fPIC -shared -fvisibility=hidden
fake_version = $(patsubst .%,%,$(suffix $@))

$(FAKE)/libcuda.so.1: tests/gpu/fake_cuda.c tests/gpu/fake_context.c tests/gpu/fake_driver.c tests/gpu/fake_memory.c tests/gpu/fake_collective.c tests/gpu/fake_profiler.c \
		$(wildcard tests/gpu/fake_*.h) Makefile
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(FAKE_FLAGS) -Wl,-soname,libcuda.so.1 -o $@ $(filter %.c,$^)

FAKE_CUPTI_SRC := $(addprefix tests/gpu/,fake_cupti.c fake_buffers.c fake_clock.c fake_pc.c fake_records.c)

$(FAKE_CUPTIS): $(FAKE_CUPTI_SRC) $(wildcard tests/gpu/fake_*.h) Makefile
	$(call say,SO,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(FAKE_FLAGS) -DFAKE_VERSION=$(fake_version) $(if $(findstring lacking,$@),-DFAKE_WITHOUT_FLUSH) \
		-Wl,-soname,$(@F) -o $@ $(filter %.c,$^)

$(FAKE)/fakes.stamp: $(FAKE)/libcuda.so.1 $(FAKE_CUPTIS)
	@touch $@

target_link = -L$(@D) -MMD -MP -o $@ $< $(own_flags) -lm

$(B)/tests/targets/%: tests/targets/%.c Makefile | $(TARGET_LIBS)
	$(call say,PROG,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(TARGET_FLAGS) $(target_link)

# It has both halves of the timer source compiled into it, for ThreadSanitizer.
$(B)/tests/targets/race: $(call files_below,core,*.h) $(call files_below,sampler/agent,*.[ch]) $(wildcard sampler/timer/targets/timer_region.[ch])

$(B)/tests/targets/%: tests/targets/%.cc Makefile | $(TARGET_LIBS)
	$(call say,PROG,$<)
	@mkdir -p $(@D)
	$(Q)$(CXX) $(TARGET_FLAGS) $(target_link)

-include $(shell [ ! -d $(B) ] || find $(addprefix $(B)/,cli core sampler symbolizer gpu output tests) -name '*.d' 2>/dev/null)

# ---- dist: one archive that runs where nothing can be installed and glibc is DIST_GLIBC or later.
# It holds sprof with every other library linked in, the libraries it loads into programs, manual
# pages, completions, the GPU tests with the fake GPU, and bats. Debian's libunwind.a is not
# position-independent, so this sprof is not either. It is linked against stubs of an older glibc
# (deploy/glibc), because a static one cannot load libcurl, libcapstone and libdebuginfod.
STUBS := $(addprefix $(B)/dist/glibc/,libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libc.so.6)
DIST_LIBS := -Wl,-Bstatic -lunwind-$(ARCH) -lunwind -lbpf -lelf -lxxhash -lzstd -lz -llzma -liberty \
	-lncursesw -ltinfo -Wl,-Bdynamic,--no-as-needed $(STUBS) -l:libc_nonshared.a -lgcc
DIST_TARGETS := $(patsubst tests/%.c,$(B)/tests/%,$(wildcard tests/targets/gpu_*.c))
DIST_TESTS := $(wildcard tests/gpu/*.bats tests/gpu/*.bash tests/gpu/*.py tests/gpu/*.cu)
DIST_CHECKS := $(wildcard tests/gpu/check/*.py)
DIST_DIR := $(B)/dist/$(DIST)
BATS := $(wildcard /usr/bin/bats)

$(B)/dist/glibc/libc.so.6: deploy/glibc/make_stubs Makefile
	$(call say,STUBS,$@)
	$(Q)mkdir -p $(B)/dist && CC='$(CC)' deploy/glibc/make_stubs $(DIST_GLIBC) $(@D)

$(B)/dist/newer.o: deploy/glibc/newer.c Makefile
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(WARN) -Wno-missing-prototypes -O2 -c -o $@ $<

$(B)/dist/sprof: $(CLI_OBJS) $(HOST_LIB) $(B)/dist/newer.o $(B)/dist/glibc/libc.so.6
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(filter-out -pie,$(LDFLAGS_ALL)) -no-pie -nodefaultlibs -Wl,--strip-debug,--wrap=__libc_start_main \
		-o $@ $(CLI_OBJS) $(HOST_LIB) $(B)/dist/newer.o $(DIST_LIBS)

$(B)/$(DIST).tar.gz: $(B)/dist/sprof $(B)/libsprof.so $(GPU_AGENT) $(MAN_SRC) $(DIST_TARGETS) $(B)/tests/gpu/fakes.stamp \
		$(DIST_TESTS) $(DIST_CHECKS) tests/gpu/archive_readme tests/golden/gpu/agent.txt LICENSE tests/lint/glibc Makefile
	$(call say,TAR,$@)
	$(Q)tests/lint/glibc $(DIST_GLIBC) $(B)/dist/sprof $(B)/libsprof.so $(GPU_AGENT) && tests/lint/glibc 2.34 $(DIST_TARGETS)
	$(Q)rm -rf $(DIST_DIR)
	$(Q)install -D -t $(DIST_DIR)/bin $(B)/dist/sprof
	$(Q)install -D -t $(DIST_DIR)/lib/sprof $(B)/libsprof.so $(GPU_AGENT)
	$(Q)install -D -m 644 -t $(DIST_DIR)/share/man/man1 $(MAN_SRC)
	$(Q)$(call install_completions,$(B)/dist/sprof,$(DIST_DIR)/share)
	$(Q)install -D -m 644 -t $(DIST_DIR) LICENSE
	$(Q)install -D -m 644 tests/gpu/archive_readme $(DIST_DIR)/README
	$(Q)printf '#!/bin/sh\nexec python3 "$$(dirname "$$0")/tests/gpu/check/main.py" "$$@"\n' >$(DIST_DIR)/check-gpu
	$(Q)chmod 755 $(DIST_DIR)/check-gpu
	$(Q)install -D -t $(DIST_DIR)/build/tests/targets $(DIST_TARGETS)
	$(Q)install -D -m 644 -t $(DIST_DIR)/tests/golden/gpu tests/golden/gpu/agent.txt
	$(Q)install -D -t $(DIST_DIR)/tests/gpu $(DIST_TESTS)
	$(Q)install -D -t $(DIST_DIR)/tests/gpu/check $(DIST_CHECKS)
	$(Q)install -D -m 644 -t $(DIST_DIR)/tests/root tests/root/pythons.bash
	$(Q)install -D -m 644 -t $(DIST_DIR)/tests tests/rights.bash
	$(Q)ln -s ../lib/sprof/libsprof-gpu.so $(DIST_DIR)/build/
	$(Q)cd $(B) && cp --parents tests/gpu/libcuda.so.1 $(FAKE_CUPTIS:$(B)/%=%) dist/$(DIST)/build
	$(Q)$(if $(BATS),cd $(DIST_DIR) && mkdir -p bats && cd /usr && cp --parents -r bin/bats lib/bats-core libexec/bats-core \
		$(abspath $(DIST_DIR))/bats)
	$(Q)tar -C $(B)/dist --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -c $(DIST) | gzip -n9 >$@

dist: $(B)/$(DIST).tar.gz
	@echo $<

# ---- wheel: the same program for pip, with the magics of deploy/python.
WHEEL_DIR := $(B)/wheel
WHEEL_SHARE := $(WHEEL_DIR)/sprof-$(VERSION).data/data/share

$(DIST_WHEEL): $(B)/dist/sprof $(B)/libsprof.so $(GPU_AGENT) $(MAN_SRC) $(wildcard deploy/python/* deploy/python/sprof/*.py) LICENSE \
		tests/lint/glibc Makefile
	$(call say,WHEEL,$@)
	$(Q)tests/lint/glibc $(DIST_GLIBC) $(B)/dist/sprof $(B)/libsprof.so $(GPU_AGENT)
	$(Q)rm -rf $(WHEEL_DIR)
	$(Q)install -D -m 644 -t $(WHEEL_DIR)/sprof $(wildcard deploy/python/sprof/*.py)
	$(Q)install -D -t $(WHEEL_DIR)/sprof/bin $(B)/dist/sprof
	$(Q)install -D -t $(WHEEL_DIR)/sprof/lib $(B)/libsprof.so $(GPU_AGENT)
	$(Q)install -D -m 644 -t $(WHEEL_SHARE)/man/man1 $(MAN_SRC)
	$(Q)$(call install_completions,$(B)/dist/sprof,$(WHEEL_SHARE))
	$(Q)python3 deploy/python/wheel.py $(WHEEL_DIR) $(VERSION) manylinux_$(subst .,_,$(DIST_GLIBC))_$(ARCH) $(@D) >/dev/null

wheel:
	$(call install_missing,$(DEPS_BUILD) python3)
	$(AGAIN) -s $(DIST_WHEEL)
	@echo $(DIST_WHEEL)

# ---- deb: a package of Debian, with the libraries of the Debian that made it.
DEB_DIR := $(B)/deb

dist/sprof_%.deb: $(B)/sprof $(B)/libsprof.so $(GPU_AGENT) $(MAN_SRC) $(wildcard deploy/debian/*) deploy/sprof.service Makefile
	$(call say,DEB,$@)
	$(Q)rm -rf $(DEB_DIR)
	$(Q)$(MAKE) -s --no-print-directory -o all install PREFIX=/usr DESTDIR='$(abspath $(DEB_DIR))' B='$(B)'
	$(Q)deploy/debian/make_deb $(abspath $(DEB_DIR)) $(VERSION) $(@D) >/dev/null

deb:
	$(call install_missing,$(DEPS_BUILD) dpkg-dev)
	$(AGAIN) -s run-deb

run-deb: $(DIST_DEB)
	@echo $(DIST_DEB)

# Unpacks the archive and runs what it holds. Where there is no compiler, the archive is used as it
# is. PART=1 and PART=2 are calls of at most 9 minutes, OUT is where the results go, DRY=1 only says
# what would be done; CHECK_ARGS="--only sums" and the like.
OUT ?= $(B)/gpu-check
HAS_COMPILER := $(shell command -v $(lastword $(CC)) 2>/dev/null)

check-gpu: $(if $(HAS_COMPILER),$(B)/$(DIST).tar.gz)
	@[ -e $(B)/$(DIST).tar.gz ] || { echo "there is no compiler here and no $(B)/$(DIST).tar.gz" >&2; \
		echo "hint: run make dist elsewhere and copy it here" >&2; exit 1; }
	$(Q)rm -rf $(B)/check-gpu && mkdir -p $(B)/check-gpu && tar -xzf $(B)/$(DIST).tar.gz -C $(B)/check-gpu
	$(B)/check-gpu/$(DIST)/check-gpu -o '$(OUT)' $(PART:%=--part %) $(if $(filter 1,$(DRY)),--dry-run) $(CHECK_ARGS)

# ---- packages
# Installs only what is missing, so it is instant and needs no network when everything is installed.
define install_missing
@command -v dpkg-query >/dev/null || { echo "not a Debian system; sprof needs what Debian calls: $(1)"; exit 0; }; \
	missing=$$(for p in $(1); do \
		dpkg-query -W -f '$${db:Status-Status}' $$p 2>/dev/null | grep -q '^installed' || echo $$p; done); \
	[ -n "$$missing" ] || exit 0; \
	echo "installing:" $$missing; \
	as_root=; [ "$$(id -u)" = 0 ] || as_root=sudo; \
	get="$$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0"; \
	install="$$get install -y --no-install-recommends"; \
	{ ls /var/lib/apt/lists/*_Packages* && $$install $$missing; } >/dev/null 2>&1 || \
	{ $$get update && $$install $$missing; } >/dev/null || { \
		echo "cannot install the packages above: apt-get failed" >&2; \
		echo "hint: apt-get install --no-install-recommends" $$missing >&2; exit 1; }
endef

# The engines that the tests of sprof push ask whether all has arrived; without them those tests are skipped.
receivers: deps
	nice tests/receivers/build $(B)/receivers

deps-build: ; $(call install_missing,$(DEPS_BUILD))
deps: ; $(call install_missing,$(DEPS_BUILD) $(DEPS_TEST))

# ---- test, check, bench, lint, fuzz
TEST_ENV = SPROF=$(abspath $(B))/sprof BUILD=$(abspath $(B)) TARGETS=$(abspath $(B))/tests/targets
DIRS ?= unit cli root browser gpu ship
PART ?=
STRESS_SECONDS ?= 300
SOAK_SECONDS ?= 3600

# What a newcomer runs: every command and every source once, within minutes.
test: deps
	$(AGAIN) RUN_ARGS=--part=quick run-test

# All tests. PART=rest leaves out those that `make test` ran.
check-all: deps
	$(AGAIN) RUN_ARGS='$(PART:%=--part=%)' run-test

# The tests tagged "stress" repeat one thing many hundred times, in each program for STRESS_SECONDS; the soak of the flight
# recorder takes SOAK_SECONDS.
stress: deps
	$(AGAIN) RUN_ARGS=--part=stress STRESS=1 STRESS_SECONDS=$(STRESS_SECONDS) SOAK_SECONDS=$(SOAK_SECONDS) \
		TEST_LIMIT_S=$$(($(STRESS_SECONDS) * 4 + $(SOAK_SECONDS) + 900)) run-test

run-test: tests-all
	@$(TEST_ENV) tests/run $(RUN_ARGS) $(addprefix --dir=,$(DIRS))

check: tests-all
	@[ -n "$(T)" ] || { echo "usage: make check T=name (a test file, or one test in it)" >&2; exit 2; }
	@$(TEST_ENV) tests/run --only='$(T)'

bench: deps
	$(AGAIN) bench-all
	@[ -x tests/bench/run ] || { echo "cannot run the benchmarks: tests/bench/run does not exist" >&2; exit 1; }
	@$(TEST_ENV) tests/bench/run $(BENCH_ARGS)

# The shares of complete stacks in docs/completeness.md. PROGRAMS="go luajit" limits it to those.
completeness: tests-all
	@$(TEST_ENV) tests/completeness/run $(COMPLETENESS_ARGS) $(PROGRAMS)

# The slow programs of docs/waiting.md. CASES="postgres go" limits it to those.
cases: all
	@$(TEST_ENV) tests/cases/run $(CASES)

lint: deps
	$(AGAIN) run-lint

run-lint: $(SKELS) $(ASSET_HDRS) all
	@CLANG='$(CLANG)' CLANG_FORMAT='$(CLANG_FORMAT)' CC='$(CC)' BUILD='$(B)' \
		HOST_FLAGS='$(subst ','\'',$(CPPFLAGS_ALL) $(CFLAGS_ALL))' BPF_FLAGS='$(BPF_FLAGS)' tests/lint/run

format:
	@tests/lint/sources | grep -v '/vmlinux\.h$$' | xargs -r $(CLANG_FORMAT) -i

fuzz: deps
	$(AGAIN) FUZZ=1 run-fuzz

run-fuzz: $(FUZZ_BINS)
	@BUILD='$(B)' FUZZ_SECONDS='$(FUZZ_SECONDS)' tests/fuzz/run $(FUZZ_BINS)

# ---- demo: one picture of a Python program, with its own functions and those of the libraries that
# it calls. Debian strips its libraries: unnamed functions are hidden and their time goes to their
# callers.
DEMO_NAMED := --hide '\+0x[0-9a-f]+$$'

demo:
	$(call install_missing,$(DEPS_BUILD) python3)
	$(AGAIN) run-demo

run-demo: all
	@$(B)/sprof record -o demo.data -- /usr/bin/python3 docs/demo.py || { s=$$?; \
		echo "the demo could not record: see the message above, and $(B)/sprof doctor" >&2; exit $$s; }
	@$(B)/sprof report $(DEMO_NAMED) -n 15 demo.data
	@$(B)/sprof flame $(DEMO_NAMED) --show-from '^<module> .demo' -t 'docs/demo.py: an index of the Python library' -o demo.svg demo.data
	@echo "demo.svg is the flame graph: open it in a browser"

# ---- install
# Below share: where the shells look for completions.
COMPLETIONS := bash-completion/completions/sprof zsh/site-functions/_sprof fish/vendor_completions.d/sprof.fish
# Arguments: a sprof, which makes them, and the folder that stands for share.
install_completions = $(foreach c,$(COMPLETIONS),install -d '$(2)/$(dir $(c))' && \
	$(1) completion $(firstword $(subst -, ,$(subst /, ,$(c)))) >'$(2)/$(c)' &&) true

install: all
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(MANDIR)/man1'
	install -m 755 $(B)/sprof '$(DESTDIR)$(PREFIX)/bin/sprof'
	install -d '$(DESTDIR)$(PREFIX)/lib/sprof'
	install -m 755 $(B)/libsprof.so $(GPU_AGENT) '$(DESTDIR)$(PREFIX)/lib/sprof'
	$(if $(MAN_SRC),install -m 644 $(MAN_SRC) '$(DESTDIR)$(MANDIR)/man1')
	$(call install_completions,$(B)/sprof,$(DESTDIR)$(PREFIX)/share)

uninstall:
	rm -f '$(DESTDIR)$(PREFIX)/bin/sprof' '$(DESTDIR)$(PREFIX)/lib/sprof/libsprof.so' \
		'$(DESTDIR)$(PREFIX)/lib/sprof/libsprof-gpu.so' $(MAN_SRC:docs/man/%='$(DESTDIR)$(MANDIR)/man1/%') \
		$(COMPLETIONS:%='$(DESTDIR)$(PREFIX)/share/%')

clean:
	rm -rf build dist

help:
	@printf '%s\n' \
	'make all       build/sprof' \
	'make demo      install the build packages and python3, record a program at work, draw demo.svg' \
	'make test      install every package, build, run the tests of every command and source: minutes' \
	'make check-all run every test; PART=rest: those that make test left out' \
	'make stress    attach to programs thousands of times, to each for STRESS_SECONDS=300; a soak of SOAK_SECONDS=3600' \
	'make check T=x run one test file, or one test by its name' \
	'make bench     measure sprof beside perf' \
	'make completeness measure the share of complete stacks of many programs, by each source' \
	'make cases     record the slow programs of docs/waiting.md: CASES="locks go"' \
	'make lint      format, layers, headers, sizes, in-target libraries' \
	'make format    let clang-format write the format that lint asks for' \
	'make fuzz      fuzz every parser for FUZZ_SECONDS=60 each' \
	'make deps      install every Debian package needed (deps-build: only those of the build)' \
	'make install   PREFIX=/usr/local DESTDIR=' \
	'make receivers build Parca, a Collector and the API of Pyroscope, ten minutes, for make check T=receivers' \
	'make dist      one archive that runs where nothing can be installed' \
	'make wheel     dist/*.whl, for pip, with the magics for notebooks' \
	'make deb       dist/*.deb, for this Debian and later ones' \
	'make check-gpu check sprof on the GPU of this machine, with the archive: PART=1, PART=2, OUT=folder, DRY=1' \
	'make clean     remove build/' \
	'' \
	'SAN=1 builds with ASan and UBSan in build/san; WERROR=1 turns warnings into errors; V=1 prints commands;' \
	'DIRS="unit cli" limits the three goals of tests to some of unit, cli, root, browser, gpu, ship.'
