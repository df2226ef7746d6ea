# The rules of `make lint`, each against a small tree that breaks it: a rule that finds nothing is no rule.
# bats file_tags=full

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

# A floor plan of five rooms.
rooms() {
	printf '%s\n' 'core/portable | portable | | * | Portable.' 'core/profile | host | core/portable | * | Words.' \
		'sampler/bpf | bpf | core/portable | events | Kernel.' 'sampler/walk | host | core sampler/bpf | walker | Walks.' \
		'output/flame | host | core | svg | Pictures.' "$@" >tests/lint/rooms
	mkdir -p core/portable core/profile sampler/walk output/flame
	echo 'int walk;' >core/portable/walk.h
	echo 'int profile;' >core/profile/profile.h
	echo 'int events;' >sampler/bpf/events.h
	echo 'int walker;' >sampler/walk/walker.h
	echo 'int svg;' >output/flame/svg.h
}

@test "a room that includes what its line does not name is told so with file and line" {
	rooms
	echo '#include "sampler/walk/walker.h"' >output/flame/svg.c
	breaks layers 'output/flame/svg.c:1: output/flame may not include "sampler/walk/walker.h"'
}

@test "a room may name only rooms above it" {
	rooms 'output/tree | host | output/import | | Trees.' 'output/import | host | output/tree | | Files.'
	mkdir -p output/tree output/import
	echo 'int tree;' >output/tree/tree.c
	echo 'int import;' >output/import/import.c
	breaks layers "tests/lint/rooms:6: 'output/tree' may include 'output/import', which is no room above it"
}

@test "another folder may include doors only" {
	rooms 'cli | cli | core output | | Commands.'
	printf '#include "output/flame/svg.h"\n#include "output/flame/layout.h"\n' >cli/flame.c
	echo 'int layout;' >output/flame/layout.h
	breaks layers 'cli/flame.c:2: "output/flame/layout.h" is no door of output/flame'
	[ "${#lines[@]}" -eq 1 ]
}

@test "a BPF program may include portable headers and no other header of core" {
	rooms
	printf '#include "core/portable/walk.h"\n#include "core/profile/profile.h"\n' >sampler/bpf/sample.bpf.c
	breaks layers 'sampler/bpf/sample.bpf.c:2: sampler/bpf may not include "core/profile/profile.h"'
	[ "${#lines[@]}" -eq 1 ]
}

@test "a portable header may not include libc" {
	rooms
	echo '#include <stdio.h>' >core/portable/walk.h
	breaks layers 'core/portable/walk.h:1: <stdio.h>'
}

@test "a path that climbs is refused" {
	rooms
	echo '#include "../core/profile/profile.h"' >output/flame/svg.c
	breaks layers 'output/flame/svg.c:1: "../core/profile/profile.h": write the path from the root'
}

@test "a file outside the rooms, a name that is there twice and a 33rd file are found" {
	rooms
	mkdir -p output/attic
	echo 'int old;' >output/attic/old.c
	breaks layers 'output/attic/old.c:1: lies in no room'
	rm -r output/attic
	echo 'int svg;' >sampler/walk/svg.c
	breaks layers 'sampler/walk/svg.c:1: is called like output/flame/svg.h'
	rm sampler/walk/svg.c
	for ((i = 0; i < 32; i++)); do echo "int f$i;" >"output/flame/f$i.c"; done
	breaks layers 'output/flame:1: 33 files'
}

@test "the includes that the plan allows pass" {
	rooms 'cli | cli | core sampler output | | Commands.'
	printf '#include "core/profile/profile.h"\n#include "svg.h"\n#include <stdio.h>\n' >output/flame/svg.c
	printf '#include "output/flame/svg.h"\n#include "sampler/walk/walker.h"\n' >cli/record.c
	printf '#include "sampler/bpf/events.h"\n#include "core/portable/walk.h"\n' >sampler/walk/walker.c
	printf '#include <linux/types.h>\n#include "core/portable/ring.h"\n' >core/portable/walk.h
	echo 'int ring;' >core/portable/ring.h
	holds layers
}

@test "files that need each other's symbols are a circle" {
	rooms
	export BUILD=build
	mkdir -p build/output/flame
	echo 'int b(void); int a(void) { return b(); }' >output/flame/a.c
	echo 'int c(void); int b(void) { return c(); }' >output/flame/b.c
	echo 'int c(void) { return 1; }' >output/flame/c.c
	for f in a b c; do gcc -c -o build/output/flame/$f.o output/flame/$f.c; done
	holds circles
	echo 'int a(void); int c(void) { return a(); }' >output/flame/c.c
	gcc -c -o build/output/flame/c.o output/flame/c.c
	breaks circles 'output/flame/a.c:1: one of 3 files in a circle'
	grep -qF 'output/flame/c.c needs a of output/flame/a.c' <<<"$output"
}

@test "a wide comment and a head that points elsewhere are found" {
	printf '/* %0100d */\n' 0 >core/a.c
	breaks comments 'core/a.c:1: a comment beyond column 100'
	printf '/* See core/a.h for this. */\n' >core/a.c
	breaks comments 'core/a.c:1: say here'
	printf '#include "core/a.h"\n' >core/a.c
	breaks comments 'core/a.c:1: no comment'
	printf '/* Adds. */\n' >core/a.c
	holds comments
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

@test "a path that is opened without a look at what is there is refused, unless the list says why" {
	echo 'core/a.c | 1 | a reason' >tests/lint/allowed_opens
	printf '%s\n' 'int f(const char *p)' '{' '	return open(p, 0);' '}' >core/a.c
	printf '%s\n' 'int g(void)' '{' '	snprintf(path, 64, "/proc/%d/maps", pid);' '	return open(path, 0);' '}' >core/b.c
	holds opens
	printf '%s\n' 'int h(void)' '{' '	snprintf(path, 64, "/proc/%d/root%s", pid, name);' '	f = fopen(path, "re");' '}' >output/c.c
	breaks opens 'output/c.c:4: opens a path'
	rm output/c.c
	printf '%s\n' 'int i(const char *p)' '{' '	return open(p, 0);' '}' >>core/a.c
	breaks opens 'core/a.c:7: opens a path'
	rm core/a.c
	breaks opens 'core/a.c:1: is in tests/lint/allowed_opens and does not exist'
}
