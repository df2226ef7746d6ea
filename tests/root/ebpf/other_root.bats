# A target in a root directory of its own, as in a container: the names in its files mean files of
# that root, and what is no file there is not opened.
load ../recorder

setup() {
	needs_bpf
	root=$BATS_TEST_TMPDIR/root pids=()
	mkdir -p "$root/debug" "$root/.debug"
	cat >"$BATS_TEST_TMPDIR/spin.c" <<-'END'
		static volatile unsigned n;
		__attribute__((noinline)) static void spin_here(void)
		{ for (int i = 0; i < 1000; i++) n += i; }
		int main(void) { for (;;) spin_here(); }
	END
	cc -g -O1 -static -o "$BATS_TEST_TMPDIR/full" "$BATS_TEST_TMPDIR/spin.c" 2>/dev/null ||
		skip "no static C library"
	objcopy --only-keep-debug "$BATS_TEST_TMPDIR/full" "$root/debug/file"
	cp "$root/debug/file" "$BATS_TEST_TMPDIR/spin.debug"
	(cd "$BATS_TEST_TMPDIR" && objcopy -S --add-gnu-debuglink=spin.debug full "$root/spin")
}

record() { # samples of the target
	chroot "$root" /spin 3>&- &
	pids+=($!)
	sleep 0.2
	"$SPROF" record -q -o "$data" -F 999 -d 500ms -p $!
	fold
}

@test "the debug file of a target in another root is found there, through a link that is absolute there" {
	ln -s /debug/file "$root/spin.debug"
	record
	cat "$folded"
	[ "$(samples 'spin_here')" -gt 0 ]
	[ "$(samples 'spin_here')" -ge $(($(samples .) / 2)) ]
}

@test "a debug file that only the recorder's root has is not used for a target in another" {
	# The paths of the target are /spin and /spin.debug; the link leads to a file of the host.
	ln -s "$BATS_TEST_TMPDIR/spin.debug" "$root/spin.debug"
	record
	[ "$(samples 'spin_here')" -eq 0 ]
}

@test "a FIFO where a debug file should be is not opened" {
	local writer
	mkfifo "$root/spin.debug" "$root/.debug/spin.debug" "$root/spin.dwp"
	for fifo in "$root/spin.debug" "$root/.debug/spin.debug" "$root/spin.dwp"; do
		# Opening it for writing returns once it is opened for reading.
		sh -c ': >"$1"' sh "$fifo" 3>&- &
		pids+=($!)
	done
	record
	for writer in "${pids[@]:0:3}"; do
		kill -0 "$writer"
	done
}
