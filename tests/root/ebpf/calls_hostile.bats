# sprof record --calls among programs of users who want it to count wrongly, or not at all.
load ../recorder

build_program() {
	cat >"$BATS_TEST_TMPDIR/shared.c" <<-'END'
		#include <stdio.h>
		#include <unistd.h>
		static volatile unsigned n;
		__attribute__((noinline)) static void shared_work(void)
		{ for (int i = 0; i < 3000000; i++) n++; }
		int main(void)
		{
			for (int i = 0; i < 2000; i++) {
				shared_work();
				usleep(20000);
			}
			return 0;
		}
	END
	cc -O1 -static -Wl,--build-id -o "$BATS_TEST_TMPDIR/full" "$BATS_TEST_TMPDIR/shared.c" 2>/dev/null ||
		skip "no static C library"
}

# Makes a root directory with the program, and a debug file of that build-id in it that calls
# shared_work "planted_name". The debug file belongs to a USER. Sets $root.
build_root() { # USER
	local id
	root=$BATS_TEST_TMPDIR/root
	build_program
	objcopy -S "$BATS_TEST_TMPDIR/full" "$BATS_TEST_TMPDIR/program"
	id=$(readelf -n "$BATS_TEST_TMPDIR/full" | sed -n 's/.*Build ID: //p')
	mkdir -p "$root/usr/lib/debug/.build-id/${id:0:2}"
	debug=$root/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
	objcopy --only-keep-debug --redefine-sym shared_work=planted_name "$BATS_TEST_TMPDIR/full" "$debug"
	ln "$BATS_TEST_TMPDIR/program" "$root/program"
	chown -R "$1" "$root/usr"
	chmod 0755 "$BATS_TEST_TMPDIR" "$root"
}

# A recording of which nothing was counted has no such report.
counts_of_planted() {
	"$SPROF" report --calls --json "$data" 2>/dev/null | jq -s '[.[].rows[] | select(.function == "planted_name") | .calls] | add // 0'
}

# Records the program in the root and the one outside, with probes where their debug files say.
record_planted() {
	start chroot --userspec=65534:65534 "$root" /program
	start "$BATS_TEST_TMPDIR/program"
	run "$SPROF" record -a -o "$data" -d 1s --calls 'program:planted_*'
	echo "$output"
}

@test "a debug file that a user plants in a root of its own names no function of a file of root" {
	build_root nobody
	record_planted
	[ "$status" -eq 0 ]
	[ "$(counts_of_planted)" -eq 0 ]
	[[ $output == *"a debug file is not used, which could have been written by others than the owner of that file"* ]]
}

# bats test_tags=full
@test "a debug file in another root that only its superuser could write places no probe" {
	build_root root
	record_planted
	[ "$(counts_of_planted)" -eq 0 ]
}

# bats test_tags=full
@test "a debug file of the owner of the program places probes from another root, too" {
	build_root nobody
	chown nobody "$root/program"
	start chroot --userspec=65534:65534 "$root" /program
	"$SPROF" record -a -o "$data" -d 1s --calls 'program:planted_*'
	"$SPROF" report --calls "$data"
	[ "$(counts_of_planted)" -gt 10 ]
}

# bats test_tags=full
@test "a planted debug file names no function in reports of another user's samples" {
	build_root nobody
	start chroot --userspec=65534:65534 "$root" /program
	"$SPROF" record -a -F 999 -o "$data" -d 1s
	! "$SPROF" fold "$data" | grep planted_name || false
}

# Makes a program whose symbol table is listed 4000 times by its section headers, each time with
# 20000 functions: reading it takes minutes.
build_slow_program() { # FILE
	{
		printf '\t.text\n\t.globl main\nmain: mov $35, %%eax\nlea wait(%%rip), %%rdi\nxor %%esi, %%esi\n'
		printf 'syscall\njmp main\n'
		awk 'BEGIN { for (i = 0; i < 20000; i++) printf ".globl slow_function_%d;.type slow_function_%d, @function;slow_function_%d: ret\n", i, i, i }'
		printf '\t.data\nwait: .quad 0, 10000000\n\t.section .note.GNU-stack,"",%%progbits\n'
	} >"$BATS_TEST_TMPDIR/slow.s"
	cc -o "$BATS_TEST_TMPDIR/slow" "$BATS_TEST_TMPDIR/slow.s"
	python3 - "$BATS_TEST_TMPDIR/slow" "$1" <<-'END'
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		at, size, nr = struct.unpack_from("<Q", data, 40)[0], 64, struct.unpack_from("<H", data, 60)[0]
		headers = [bytes(data[at + i * size:at + (i + 1) * size]) for i in range(nr)]
		table = next(h for h in headers if struct.unpack_from("<I", h, 4)[0] == 2)
		data += b"\0" * (-len(data) % 8)
		struct.pack_into("<Q", data, 40, len(data))
		struct.pack_into("<H", data, 60, nr + 4000)
		open(sys.argv[2], "wb").write(data + b"".join(headers) + table * 4000)
	END
	chmod 755 "$1"
}

# bats test_tags=full
@test "a file that takes minutes to read stops neither sampling nor ^C" {
	local slow=$BATS_TEST_TMPDIR/program from
	build_slow_program "$slow"
	work shares 20000
	"$SPROF" record -a -o "$data" -F 499 --calls 'program:slow_*' >"$folded.log" 2>&1 3>&- &
	recorder=$!
	pids+=($recorder)
	wait_until test -e "$data"
	start setpriv --reuid 65534 --clear-groups "$slow"
	sleep 4
	from=$SECONDS
	kill -INT $recorder
	wait $recorder
	cat "$folded.log"
	[ $((SECONDS - from)) -le 8 ] # naming what was sampled included
	grep -q "calls of functions in 1 files are not counted: the recording ended before they were read" "$folded.log"
	# The other target was sampled all the time.
	[ "$(told '.duration_s >= 3')" = true ]
	fold
	[ "$(samples '^shares;')" -gt 600 ]
}

# bats test_tags=full
@test "^C ends a recording that is still reading files before it begins" {
	local slow=$BATS_TEST_TMPDIR/program from
	build_slow_program "$slow"
	start setpriv --reuid 65534 --clear-groups "$slow"
	local target=${pids[0]}
	"$SPROF" record -o "$data" --calls "$slow:slow_*" -p $target >"$folded.log" 2>&1 3>&- &
	recorder=$!
	pids+=($recorder)
	sleep 2
	[ ! -e "$data" ]
	from=$SECONDS
	kill -INT $recorder
	wait $recorder || true
	cat "$folded.log"
	[ $((SECONDS - from)) -le 4 ]
}

# bats test_tags=full
@test "files of one user that take long do not keep those of another from being read" {
	local i
	build_slow_program "$BATS_TEST_TMPDIR/program"
	for i in $(seq 6); do
		cp "$BATS_TEST_TMPDIR/program" "$BATS_TEST_TMPDIR/slow_$i"
		start setpriv --reuid 65534 --clear-groups "$BATS_TEST_TMPDIR/slow_$i"
	done
	build_program
	cp "$BATS_TEST_TMPDIR/full" "$BATS_TEST_TMPDIR/program_of_root"
	start "$BATS_TEST_TMPDIR/program_of_root"
	"$SPROF" record -a -o "$data" -d 2s --calls 'slow_*:slow_*' --calls 'program_of_root:shared_work'
	[ "$("$SPROF" report --calls --json "$data" | jq '[.rows[] | select(.function == "shared_work") | .calls] | add // 0')" -gt 10 ]
}

# Makes a program with 1500 functions shared_0, shared_1, ... that sleeps.
build_crowd() { # FILE
	{
		printf '\t.text\n\t.globl main\nmain: mov $35, %%eax\nlea wait(%%rip), %%rdi\nxor %%esi, %%esi\nsyscall\njmp main\n'
		awk 'BEGIN { for (i = 0; i < 1500; i++) printf ".globl shared_%d;.type shared_%d, @function;shared_%d: nop;ret\n", i, i, i }'
		printf '\t.data\nwait: .quad 0, 10000000\n\t.section .note.GNU-stack,"",%%progbits\n'
	} >"$BATS_TEST_TMPDIR/crowd.s"
	cc -o "$1" "$BATS_TEST_TMPDIR/crowd.s"
}

# bats test_tags=full
@test "the functions of one user leave probes for those of others" {
	build_program
	build_crowd "$BATS_TEST_TMPDIR/crowd"
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/crowd"
	start setpriv --reuid 65534 --clear-groups "$BATS_TEST_TMPDIR/crowd"
	"$SPROF" record -a -o "$data" -d 5s --calls 'shared_*' >"$folded.log" 2>&1 3>&- &
	recorder=$!
	pids+=($recorder)
	wait_until test -e "$data"
	start "$BATS_TEST_TMPDIR/full"
	wait $recorder
	cat "$folded.log"
	grep -q "calls of [0-9]* functions in '.*/crowd' are not counted: there are no more probes for user 65534 " "$folded.log"
	"$SPROF" report --calls --json "$data" | jq -s -e '[.[].rows[] | select(.function == "shared_work") | .calls] | add > 10'
}
