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
			for (int i = 0; i < 200; i++) {
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

@test "a debug file that a user plants in a root of its own names no function of a file of root" {
	build_root nobody
	start chroot --userspec=nobody "$root" /program
	start "$BATS_TEST_TMPDIR/program"
	run "$SPROF" record -a -o "$data" -d 1s --calls 'program:planted_*'
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(counts_of_planted)" -eq 0 ]
	[[ $output == *"a debug file is not used, which could have been written by others than the owner of that file"* ]]
}

@test "a debug file in another root that only its superuser could write places no probe" {
	build_root root
	start chroot --userspec=nobody "$root" /program
	start "$BATS_TEST_TMPDIR/program"
	run "$SPROF" record -a -o "$data" -d 1s --calls 'program:planted_*'
	echo "$output"
	[ "$(counts_of_planted)" -eq 0 ]
}

@test "a debug file of the owner of the program places probes from another root, too" {
	build_root nobody
	chown nobody "$root/program"
	start chroot --userspec=nobody "$root" /program
	"$SPROF" record -a -o "$data" -d 1s --calls 'program:planted_*'
	"$SPROF" report --calls "$data"
	[ "$(counts_of_planted)" -gt 10 ]
}

@test "a planted debug file names no function in reports of another user's samples" {
	build_root nobody
	start chroot --userspec=nobody "$root" /program
	"$SPROF" record -a -F 999 -o "$data" -d 1s
	! "$SPROF" fold "$data" | grep planted_name
}
