# Memory that a running program allocates, and what of it stays: sprof record --alloc.
load ../recorder
load ../allocations

# The standard deviation of a sum is at most the root of the interval times the bytes. Of 28 sums
# one in a thousand runs has one beyond 4.2 of them.
@test "ten sites: what is allocated and what stays have no bias" {
	start_sites "$TARGETS/alloc_sites"
	record_sites --alloc=64k
	cat "$BATS_TEST_TMPDIR/said"
	compare allocated 2 65536 4.2
	compare live 3 65536 4.2
	"$SPROF" report --column allocated "$data" | grep 'margin at 1%'
	"$SPROF" report --column live "$data" | grep 'memory in use'
	# CPU samples are in the same recording.
	"$SPROF" report --column cpu "$data" | grep 'by ebpf'
	"$SPROF" export -f pprof -o "$BATS_TEST_TMPDIR/pprof.gz" "$data"
	zcat "$BATS_TEST_TMPDIR/pprof.gz" | grep -a -o 'alloc_space\|alloc_objects\|inuse_space\|inuse_objects' | sort | uniq >"$BATS_TEST_TMPDIR/names"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/names")" -eq 4 ]
}

# Records the sites of a program with this allocator preloaded, and compares.
sums_are_right() { # COMMAND...
	start_sites "$@"
	record_sites --alloc=64k
	cat "$BATS_TEST_TMPDIR/said"
	compare allocated 2 65536 4.2
	compare live 3 65536 4.2
	rm -rf "$BATS_TEST_TMPDIR/input" "$truth" "$data"
}

needs_library() { # NAME
	allocator=$(ldconfig -p | awk -v name="$1" 'index($1, name) && /x86-64/ { print $NF; exit }')
	[ -n "$allocator" ] || skip "$1 is not installed"
}

# bats test_tags=full
@test "jemalloc in place of the C library's allocator: the sums are as right" {
	needs_library libjemalloc.so.2
	sums_are_right "$TARGETS/alloc_sites"
}

# bats test_tags=full
@test "tcmalloc in place of the C library's allocator: the sums are as right" {
	needs_library libtcmalloc_minimal.so.4
	sums_are_right "$TARGETS/alloc_sites"
}

# Each program also asks for more than there is, so operator new throws through what is hooked.
# bats test_tags=full
@test "operators new and delete: the sums are right with each allocator" {
	sums_are_right "$TARGETS/alloc_operators"
	for name in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
		allocator=$(ldconfig -p | awk -v name="$name" 'index($1, name) && /x86-64/ { print $NF; exit }')
		[ -z "$allocator" ] || sums_are_right "$TARGETS/alloc_operators"
	done
}

# Its operator delete ends the program if it gets a block that its operator new has not allocated.
@test "operators new and delete of the program itself, beside malloc: the sums are as right" {
	c++ -I. -O2 -g -static -o "$BATS_TEST_TMPDIR/own_new" tests/targets/alloc_own_new.cc
	sums_are_right "$BATS_TEST_TMPDIR/own_new"
	[ -z "$(grep 'what _Z' "$BATS_TEST_TMPDIR/said")" ]
}

# So does that of this library with a block of malloc.
# bats test_tags=full
@test "tcmalloc that checks where a block came from: no block is of the wrong kind" {
	needs_library libtcmalloc_minimal_debug.so.4
	echo | LD_PRELOAD=$allocator "$SPROF" record -q -o "$data" --alloc=4k -- "$TARGETS/alloc_operators"
}

# bats test_tags=full
@test "a static program: the sums are as right" {
	cc -O2 -g -static -pthread -o "$BATS_TEST_TMPDIR/static" tests/targets/alloc_sites.c
	sums_are_right "$BATS_TEST_TMPDIR/static"
}

# bats test_tags=full
@test "musl, as a library and static: the sums are as right" {
	command -v musl-gcc >/dev/null || skip "needs musl-gcc"
	musl-gcc -O2 -g -o "$BATS_TEST_TMPDIR/musl" tests/targets/alloc_sites.c
	sums_are_right "$BATS_TEST_TMPDIR/musl"
	musl-gcc -O2 -g -static -o "$BATS_TEST_TMPDIR/musl" tests/targets/alloc_sites.c
	sums_are_right "$BATS_TEST_TMPDIR/musl"
}

@test "a program that is started is sampled from its first instruction on" {
	echo | "$SPROF" record -q -o "$data" --alloc=64k -- "$TARGETS/alloc_sites" >"$truth"
	compare allocated 2 65536 4.2
	compare live 3 65536 4.2
	"$SPROF" report --column cpu "$data" | grep 'by ebpf'
	# Of the time in which it waits for the hooks nothing is counted.
	[ -z "$("$SPROF" fold "$data" | grep -E '(^|;)_start [0-9]+$')" ]
}

@test "CPU samples in the hooks have a name of their own" {
	echo | "$SPROF" record -q -F 4999 -o "$data" --alloc=1m -- "$TARGETS/alloc_sites" >"$truth"
	"$SPROF" fold "$data" >"$BATS_TEST_TMPDIR/folded"
	grep -F '[allocation hook]' "$BATS_TEST_TMPDIR/folded"
	# What stands below guessed callers may be anything.
	[ -z "$(grep -vF '[incomplete: guessed callers]' "$BATS_TEST_TMPDIR/folded" | grep -F '[jit]')" ]
}

# bats test_tags=full
@test "instructions that hooks have moved are their function's own" {
	moved_instructions_are_the_functions_own -s ebpf
}

# bats test_tags=full
@test "moved instructions in copied stacks are their function's own" {
	moved_instructions_are_the_functions_own -s perf
}

# bats test_tags=full
@test "stacks through the hooks are complete" {
	stacks_through_hooks_are_complete -s ebpf
}

# bats test_tags=full
@test "copied stacks through the hooks are complete" {
	stacks_through_hooks_are_complete -s perf
}

@test "a static program is sampled from its first instruction on, and its status is handed on" {
	printf '#include <stdlib.h>\nint main(void) { for (int i = 0; i < 100000; i++) if (!malloc(1000)) return 1; return 7; }\n' >"$BATS_TEST_TMPDIR/some.c"
	cc -O0 -g -static -o "$BATS_TEST_TMPDIR/some" "$BATS_TEST_TMPDIR/some.c"
	run "$SPROF" record -q -o "$data" --alloc=64k -- "$BATS_TEST_TMPDIR/some"
	[ "$status" -eq 7 ]
	printf 'main %s %s\n' 100000000 100000000 >"$truth"
	compare live 3 65536 4.2
}

@test "a program that cannot be hooked is not started" {
	cat >"$BATS_TEST_TMPDIR/bare.c" <<-'END'
		void _start(void) { for (;;) __asm__ volatile("pause"); }
	END
	cc -nostdlib -static -o "$BATS_TEST_TMPDIR/bare" "$BATS_TEST_TMPDIR/bare.c"
	run timeout 60 "$SPROF" record -q -o "$data" --alloc -- "$BATS_TEST_TMPDIR/bare"
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"none of its files defines malloc"* ]]
}

# Its allocator is mapped, unmapped, and mapped again, each time with other bytes than we left.
# bats test_tags=full
@test "a module that is loaded later is hooked" {
	start_sites "$TARGETS/alloc_later" "$TARGETS/libarena.so"
	record -v --alloc=64k -p $sites 2>"$BATS_TEST_TMPDIR/said"
	for step in loaded 'done' loaded 'done'; do
		before=$(grep -c "^$step" "$truth") || true
		[ "$step" = loaded ] || sleep 2.5 # we look twice a second
		echo >&$go
		until [ "$(grep -c "^$step" "$truth")" -gt "$before" ]; do sleep 0.05; done
	done
	until_says end
	kill -INT $recorder
	wait $recorder
	exec {go}>&-
	wait $sites
	cat "$BATS_TEST_TMPDIR/said"
	compare allocated 2 65536 4.2
}

# bats test_tags=full
@test "children are hooked as they appear, and those that were missed are counted" {
	cat >"$BATS_TEST_TMPDIR/worker" <<-END
		#!/bin/bash
		bash -c 'for i in {1..200000}; do :; done'
		sleep 1
		exec "$TARGETS/alloc_storm" 3000
	END
	chmod +x "$BATS_TEST_TMPDIR/worker"
	run "$SPROF" record -o "$data" --alloc=64k -- bash -c "'$BATS_TEST_TMPDIR/worker'; exit 3"
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *" are not counted: a child is hooked within "* ]]
	"$SPROF" fold --column allocated "$data" | grep -c 'allocate_somehow'
}

# Records the sites of a program that the started one executes: PROGRAM ARGUMENTS... which end in the path of alloc_sites.
start_executed() {
	mkfifo "$BATS_TEST_TMPDIR/input"
	"$SPROF" record -o "$data" --alloc=64k -- "$@" <"$BATS_TEST_TMPDIR/input" >"$truth" 2>"$BATS_TEST_TMPDIR/said" 3>&- &
	recorder=$!
	pids+=($recorder)
	exec {go}>"$BATS_TEST_TMPDIR/input"
	until sites=$(pgrep -P $recorder -x alloc_sites); do
		kill -0 $recorder
		sleep 0.05
	done
}

executed_is_recorded() {
	until_says ready
	for _ in $(seq 600); do
		! grep -q sprof-alloc "/proc/$sites/maps" || break
		sleep 0.05
	done
	sleep 0.5 # what is shared is mapped before the hooks are set
	echo >&$go
	until_says end
	exec {go}>&-
	wait $recorder
	cat "$BATS_TEST_TMPDIR/said"
	compare allocated 2 65536 4.2
	[[ $(<"$BATS_TEST_TMPDIR/said") != *"executed another"* ]]
}

# As a shim does: a shell executes a shell that executes the program.
# bats test_tags=full
@test "a program that the started one executes is hooked" {
	start_executed bash -c 'exec bash -c "exec $0" "$0"' "$TARGETS/alloc_sites"
	executed_is_recorded
}

# The dynamic linker waits for somebody to open the FIFO, and the C library is not mapped before.
# bats test_tags=full
@test "a program that is seen before its libraries are mapped is hooked once they are" {
	mkfifo "$BATS_TEST_TMPDIR/slow"
	start_executed env LD_PRELOAD="$BATS_TEST_TMPDIR/slow" "$TARGETS/alloc_sites"
	sleep 1.5 # it is seen by then
	[ -z "$(grep libc "/proc/$sites/maps")" ]
	: >"$BATS_TEST_TMPDIR/slow" # empty, so it is passed over
	executed_is_recorded
}

# bats test_tags=full
@test "a program that was executed and cannot be hooked is said" {
	cat >"$BATS_TEST_TMPDIR/bare.c" <<-'END'
		void _start(void)
		{
			long rax = 37; /* alarm(2) ends it */
			__asm__ volatile("syscall" : "+a"(rax) : "D"(2L) : "rcx", "r11", "memory");
			for (;;)
				__asm__ volatile("pause");
		}
	END
	cc -nostdlib -static -o "$BATS_TEST_TMPDIR/bare" "$BATS_TEST_TMPDIR/bare.c"
	run timeout 60 "$SPROF" record -o "$data" --alloc -- bash -c "exec '$BATS_TEST_TMPDIR/bare'"
	echo "$output"
	[ "$status" -eq 142 ]
	[[ $output == *"1 process executed another program, whose allocations are not counted"* ]]
}

@test "the interval follows the rate of allocation, and the sums stay right" {
	start_sites "$TARGETS/alloc_sites"
	record_sites --alloc
	cat "$BATS_TEST_TMPDIR/said"
	compare allocated 2 4194304 4.2 # it may have grown to some MiB
}

# 100 MB at a time, and then a pause: by the clock it would be sampled as often as a program that never pauses.
# bats test_tags=full
@test "a program that uses little of a CPU is sampled by what it uses" {
	cat >"$BATS_TEST_TMPDIR/bursts.c" <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>
		static void *volatile block;
		int main(void)
		{
			for (int i = 0; i < 80; i++) {
				for (int k = 0; k < 100000; k++)
					free(block = malloc(1000));
				nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
			}
			printf("%.3f\n", (double)clock() / CLOCKS_PER_SEC);
			return 0;
		}
	END
	cc -O1 -w -o "$BATS_TEST_TMPDIR/bursts" "$BATS_TEST_TMPDIR/bursts.c"
	"$SPROF" record -q -o "$data" --alloc -- "$BATS_TEST_TMPDIR/bursts" >"$BATS_TEST_TMPDIR/cpu"
	"$SPROF" report --json --column allocated "$data" | jq -r '"\(.samples) \(.bytes)"' | tee "$BATS_TEST_TMPDIR/seen"
	cat "$BATS_TEST_TMPDIR/cpu"
	# The first second begins with 512 KiB: 2000 of 100 MB each 100 ms, and half of that in the next.
	awk 'FNR == NR { cpu = $1; next } { exit !($1 < 4000 + 4000 * cpu) }' "$BATS_TEST_TMPDIR/cpu" "$BATS_TEST_TMPDIR/seen"
}

# Its allocator hands blocks out again that came back by a function that nobody knows.
@test "blocks that are freed where no hook sees it are counted" {
	cat >"$BATS_TEST_TMPDIR/pool.c" <<-'END'
		#include <stddef.h>
		#include <stdlib.h>
		#include <string.h>
		static char room[64][1024];
		static unsigned char is_taken[64], next;
		__attribute__((noinline)) void *malloc(size_t size)
		{
			for (int i = 0; i < 64 && size <= 1024; i++) {
				int at = next++ % 64;
				if (!is_taken[at]) {
					is_taken[at] = 1;
					return room[at];
				}
			}
			return NULL;
		}
		__attribute__((noinline)) void free(void *block)
		{
			if (block)
				is_taken[((char *)block - room[0]) / 1024] = 0;
		}
		__attribute__((noinline)) void give_back(void *block)
		{
			__asm__ volatile("" : : : "memory");
			is_taken[((char *)block - room[0]) / 1024] = 0;
		}
		void *calloc(size_t nr, size_t size)
		{
			void *block = malloc(nr * size);
			return block ? memset(block, 0, nr * size) : NULL;
		}
		void *realloc(void *block, size_t size)
		{
			void *other = malloc(size);
			if (other && block)
				memcpy(other, block, size);
			free(block);
			return other;
		}
		int main(void)
		{
			for (int i = 0; i < 1000000; i++)
				give_back(malloc(1000));
			return 0;
		}
	END
	cc -O1 -w -fno-builtin -o "$BATS_TEST_TMPDIR/pool" "$BATS_TEST_TMPDIR/pool.c"
	run "$SPROF" record -o "$data" --alloc=64k -- "$BATS_TEST_TMPDIR/pool"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output =~ [0-9]+" sampled blocks were freed by functions that are not hooked: live memory is overestimated" ]]
}

@test "a program without malloc is refused with a reason" {
	cat >"$BATS_TEST_TMPDIR/bare.c" <<-'END'
		void _start(void) { for (;;) __asm__ volatile("pause"); }
	END
	cc -nostdlib -static -o "$BATS_TEST_TMPDIR/bare" "$BATS_TEST_TMPDIR/bare.c"
	start "$BATS_TEST_TMPDIR/bare"
	run "$SPROF" record -q -o "$data" -d 1 --alloc -p "${pids[0]}"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"none of its files defines malloc"* ]]
}


# The error of a change is that of both sums, which is at most 1.96 roots of the interval times their bytes.
# bats test_tags=full
@test "two recordings of the same allocations differ within the error that is printed" {
	for side in before after; do
		rm -rf "$BATS_TEST_TMPDIR/input" "$truth" "$data"
		start_sites "$TARGETS/alloc_sites"
		record_sites --alloc=64k
		mv "$data" "$BATS_TEST_TMPDIR/$side"
	done
	cd "$BATS_TEST_TMPDIR"
	"$SPROF" diff --absolute --column allocated --json before after >diff.json
	jq -r '.before.bytes as $whole | .rows[] | select(.function | startswith("site_")) |
		"\(.function) \(.before.total_bytes) \(.after.total_bytes) \(.total.margin_percent / 100 * $whole) \(.total.significant)"' diff.json | tee changes
	[ "$(grep -c . changes)" -eq 10 ]
	[ "$(grep -c true changes)" -le 4 ]
	awk '{
		most = 1.96 * sqrt(65536 * ($2 + $3) + 2 * 65536 ^ 2)
		if ($4 > 1.01 * most || $4 <= 0) { print "margin of " $1 ": " $4 ", at most " most; bad = 1 }
	} END { exit bad }' changes
	"$SPROF" diff --column allocated before after -o diff.svg
	"$SPROF" report --csv --column allocated before | head -1 | grep -q ',self_value_margin,total_value_margin'
	"$SPROF" report --json --tree --column allocated before | jq -e '.rows[0].total_bytes_margin > 0'
	"$SPROF" report --tree --column allocated before | grep -E '[0-9] [kM]B(±|\+-)[0-9.]+ [kM]B'
}

# bats test_tags=full
@test "memory that no hook sees is a part of what the kernel counts" {
	cat >"$BATS_TEST_TMPDIR/maps.c" <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		int main(void)
		{
			void *own = mmap(NULL, 60000000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			memset(own, 1, 60000000);
			memset(malloc(20000000), 1, 20000000);
			sleep(2);
		}
	END
	cc -O0 -o "$BATS_TEST_TMPDIR/maps" "$BATS_TEST_TMPDIR/maps.c"
	run "$SPROF" record -o "$data" --alloc=64k -- "$BATS_TEST_TMPDIR/maps"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output =~ "held "(8[0-4]\.[0-9])" MB in the end, and "0\.[0-9]" MB when it was hooked; 20.0 MB are blocks that hooks saw. The other "6[0-4]\.[0-9]" MB (7"[0-9]" %) were there before, are kept" ]]
	"$SPROF" report --column live "$data" | grep -E 'memory in use in .*: 20.0 MB.*; in RAM and swap were 8[0-4][.0-9]* MB then, and [0-9.]+ [kM]?B when it was hooked'
}

# To remove the hooks takes a while, in which it frees all that it held.
# bats test_tags=full
@test "what a busy program holds at the end is live, however soon it frees that" {
	cat >"$BATS_TEST_TMPDIR/turns.c" <<-'END'
		#include <stdlib.h>
		#include <string.h>
		int main(void)
		{
			static char *held[20];

			for (unsigned int i = 0;; i++) {
				char *block = malloc(1000000);

				memset(block, 1, 4096);
				free(held[i % 20]);
				held[i % 20] = block;
				for (volatile int k = 0; k < 20000; k++)
					;
			}
		}
	END
	cc -O1 -o "$BATS_TEST_TMPDIR/turns" "$BATS_TEST_TMPDIR/turns.c"
	start "$BATS_TEST_TMPDIR/turns"
	for _ in 1 2 3; do
		"$SPROF" record -q -o "$data" -d 0.5 --alloc=64k -p "${pids[0]}"
		"$SPROF" fold --column live "$data" | awk '{ sum += $NF } END { print sum; exit sum < 19e6 || sum > 21.1e6 }'
		rm "$data"
	done
}

# A stack holds what functions have left there; a thread that waits has it above its stack pointer.
@test "old return addresses on a stack do not keep our code in a process" {
	cat >"$BATS_TEST_TMPDIR/rests.c" <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static __attribute__((noinline)) void allocate(void)
		{
			volatile char room[20000];
			room[0] = 0;
			for (int i = 0; i < 100000; i++) {
				void *block = malloc(1000);
				__asm__ volatile("" : : "r"(block) : "memory");
				free(block);
			}
		}
		static __attribute__((noinline)) void rest(void)
		{
			volatile char room[40000];
			read(0, (char *)room, 1);
		}
		int main(void)
		{
			char c;
			write(1, "ready\n", 6);
			read(0, &c, 1);
			allocate();
			write(1, "end\n", 4);
			rest();
			return 0;
		}
	END
	cc -O1 -w -o "$BATS_TEST_TMPDIR/rests" "$BATS_TEST_TMPDIR/rests.c"
	start_sites "$BATS_TEST_TMPDIR/rests"
	record --alloc=16k -p $sites 2>"$BATS_TEST_TMPDIR/said"
	echo >&$go
	until_says end
	sleep 0.3
	kill -INT $recorder
	wait $recorder
	cat "$BATS_TEST_TMPDIR/said"
	[ ! -s "$BATS_TEST_TMPDIR/said" ]
	[ -z "$(grep -E ' r-xp 00000000 00:00 0 *$' "/proc/$sites/maps")" ]
	exec {go}>&-
	wait $sites
}
