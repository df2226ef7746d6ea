# The rules of `make lint`, each against a small tree that breaks it: a rule that finds nothing is no rule.

setup() {
	root=$BATS_TEST_DIRNAME/../..
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir -p tests core sampler/bpf symbolizer output cli gpu/agent
	cp -r "$root/tests/lint" tests/lint
	cp "$root/.clang-format" .
}

breaks() { # rule, then the line it must print
	run "tests/lint/$1"
	echo "$output"
	[ "$status" -ne 0 ]
	grep -qF -- "$2" <<<"$output"
}

holds() { # rule
	run "tests/lint/$1"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "a layer that includes its neighbour is named with file and line" {
	echo '#include "symbolizer/symbolizer.h"' >output/flame/svg.c
	breaks layers 'output/flame/svg.c:1: output may not include "symbolizer/symbolizer.h"'
}

@test "core may include core only" {
	echo '#include "sampler/unwind/unwind_table.h"' >core/profile/profile.c
	breaks layers 'core/profile/profile.c:1: core may not include'
}

@test "a BPF program may include guest headers and no other header of core" {
	printf '#include "core/portable/walk.h"\n#include "core/profile/profile.h"\n' >sampler/bpf/sample.bpf.c
	breaks layers 'sampler/bpf/sample.bpf.c:2: sampler/bpf may not include "core/profile/profile.h"'
	[ "${#lines[@]}" -eq 1 ]
}

@test "an in-target library may not include its host half" {
	echo '#include "gpu/source.h"' >gpu/agent/hook.c
	breaks layers 'gpu/agent/hook.c:1: gpu/agent may not include "gpu/source.h"'
}

@test "a guest header may not include libc" {
	echo '#include <stdio.h>' >core/portable/walk.h
	breaks layers 'core/portable/walk.h:1: <stdio.h>'
}

@test "a path that climbs is refused" {
	echo '#include "../core/profile/profile.h"' >output/flame/svg.c
	breaks layers 'output/flame/svg.c:1: "../core/profile/profile.h": write the path from the root'
}

@test "the includes that the layers allow pass" {
	printf '#include "core/profile/profile.h"\n#include "output/tree/tree.h"\n#include "svg.h"\n#include <stdio.h>\n' >output/flame/svg.c
	printf '#include "output/tree/tree.h"\n#include "sampler/attach/attach.h"\n' >cli/record.c
	printf '#include "sampler/bpf/sample.skel.h"\n#include "core/portable/walk.h"\n' >sampler/ebpf.c
	printf '#include <linux/types.h>\n#include "core/portable/ring.h"\n' >core/portable/walk.h
	holds layers
}

function_of() { # number of lines, from brace to brace
	printf 'int f(void)\n{\n'
	for ((i = 2; i < $1; i++)); do printf '\tg();\n'; done
	printf '}\n'
}

@test "a function of 100 lines passes and one of 101 does not" {
	function_of 100 >core/f.c
	holds sizes
	function_of 101 >core/f.c
	breaks sizes 'core/f.c:2: f() has 101 lines'
}

@test "a file of 501 lines must say that it is a table" {
	{ for ((i = 0; i < 501; i++)); do echo '/* row */'; done; } >core/table.c
	breaks sizes 'core/table.c:501: 501 lines'
	sed -i '1s/.*/\/* lint: table *\//' core/table.c
	holds sizes
}

@test "a file that clang-format would change is named" {
	printf 'int f(void)\n{\n    return 1;\n}\n' >core/f.c
	breaks format 'core/f.c:2:2: not formatted'
	printf 'int f(void)\n{\n\treturn 1;\n}\n' >core/f.c
	holds format
}

@test "a header that needs another one first is named" {
	export CC=gcc CLANG=clang HOST_FLAGS=-I. BPF_FLAGS='-target bpf -I.'
	echo 'size_t f(void);' >core/f.h
	breaks headers 'core/f.h:1: does not compile as the first include'
	printf '#include <stddef.h>\nsize_t f(void);\n' >core/f.h
	holds headers
}

@test "a struct that only a parameter list declares is an error" {
	export CC=gcc CLANG=clang HOST_FLAGS=-I. BPF_FLAGS='-target bpf -I.'
	echo 'int f(struct later *x);' >core/f.h
	breaks headers 'core/f.h:1: does not compile'
}

@test "unfinished work and unbounded copies are found" {
	printf '/* TODO */\n' >core/a.c
	breaks words 'core/a.c:1: do it'
	printf 'void f(char *a) { strcpy(a, ""); }\n' >core/a.c
	breaks words 'core/a.c:1: use snprintf'
	printf 'extern int x;\n' >core/a.c
	breaks words 'core/a.c:1: declare it'
	printf 'int x;\n' >core/a.c
	mkdir -p tests/cli
	printf '@test "x" {\n\tsleep 1 &\n\twait\n}\n' >tests/cli/a.bats
	breaks words 'tests/cli/a.bats:3: wait for'
	printf '@test "x" {\n\tsleep 1 &\n\twait $!\n}\n' >tests/cli/a.bats
	holds words
}

@test "an in-target library may not need threads, C++ or malloc" {
	export BUILD=$BATS_TEST_TMPDIR/build
	mkdir build
	printf 'void *malloc(unsigned long);\nvoid *sprof_f(void);\nvoid *sprof_f(void) { return malloc(1); }\n' >guest.c
	gcc -shared -fPIC -o build/libsprof.so guest.c
	breaks guests 'build/libsprof.so:1: uses malloc()'
	printf 'int other(void);\nint other(void) { return 0; }\n' >guest.c
	gcc -shared -fPIC -o build/libsprof.so guest.c
	breaks guests 'build/libsprof.so:1: exports other'
	gcc -shared -fPIC -o build/libsprof.so guest.c -Wl,--no-as-needed -lstdc++
	breaks guests 'build/libsprof.so:1: needs libstdc++.so.6'
	printf 'int puts(const char *);\nint sprof_f(void);\nint sprof_f(void) { return puts(""); }\n' >guest.c
	gcc -shared -fPIC -o build/libsprof.so guest.c
	breaks guests 'build/libsprof.so:1: asks libc for puts'
	printf 'char sprof_d[70000] = { 1 };\n' >guest.c
	gcc -shared -fPIC -o build/libsprof.so guest.c
	breaks guests 'bytes; 64 KiB is the limit'
	printf 'int sprof_f(void);\nint sprof_f(void) { return 0; }\n' >guest.c
	gcc -shared -fPIC -o build/libsprof.so guest.c
	holds guests
}
