# Growth of resident memory, without hooks: sprof record --alloc=growth.
load ../recorder

@test "growth of resident memory is what each place has touched first" {
	mkfifo "$BATS_TEST_TMPDIR/input"
	: >"$truth"
	"$TARGETS/hoard" "$BATS_TEST_TMPDIR/held" 150 <"$BATS_TEST_TMPDIR/input" >"$truth" 3>&- &
	local hoard=$!
	pids+=($hoard)
	exec {go}>"$BATS_TEST_TMPDIR/input"
	wait_until grep -q ready "$truth"
	record --source ebpf --alloc=growth -p $hoard
	sleep 0.3
	echo >&$go
	until grep -q full "$truth"; do sleep 0.1; done
	kill -INT $recorder
	wait $recorder
	exec {go}>&-
	"$SPROF" report --column resident-growth "$data"
	"$SPROF" info "$data" | grep resident-growth
	# What is held is touched once, and hardly anything else. Blocks have heads of 16 bytes.
	"$SPROF" fold --column resident-growth "$data" | awk '
	{ all += $NF; for (i = 1; i <= 4; i++) if (index($0, names[i])) sum[i] += $NF }
	BEGIN { split("hold_large hold_middle hold_small hold_leak", names, " "); split("60 30 9 1", want, " ") }
	END {
		printf "all: %.0f\n", all
		if (all < 150e6 || all > 150 * 1048576 * 1.2) bad = 1
		for (i = 1; i <= 4; i++) {
			share = 100 * sum[i] / all
			# About 200 KiB a sample, so 750 samples.
			sigma = 100 * sqrt(want[i] / 100 * (1 - want[i] / 100) / (all / 200000))
			printf "%s: %.1f %%, to be %d %%, sigma %.1f\n", names[i], share, want[i], sigma
			if (share - want[i] > 4.5 * sigma + 1 || want[i] - share > 4.5 * sigma + 3) bad = 1
		}
		exit bad
	}'
}

@test "growth is of any program, and only the source ebpf sees it" {
	"$SPROF" record -q --source ebpf --alloc=growth -o "$data" -- sh -c 'x=$(head -c 30000000 /dev/zero | tr "\0" a); exit 0'
	"$SPROF" fold --column resident-growth "$data" | awk '{ all += $NF } END { print all; exit all < 25e6 }'
	run "$SPROF" record -q -s timer --alloc=growth -o "$data" -- true
	[ "$status" -eq 2 ]
	[[ $output == *"does not see memory grow"* ]]
}

@test "what cannot be hooked is an error, or with --alloc=growth, too, a warning" {
	cat >"$BATS_TEST_TMPDIR/bare.c" <<-'END'
		static char memory[64 << 20] __attribute__((aligned(4096)));
		void _start(void)
		{
			for (;;) {
				long result;

				for (long i = 0; i < sizeof(memory); i += 4096)
					((volatile char *)memory)[i] = 1;
				/* madvise(memory, all of it, MADV_DONTNEED): it grows again. */
				__asm__ volatile("syscall" : "=a"(result) : "a"(28), "D"(memory), "S"(sizeof(memory)), "d"(4) : "rcx", "r11", "memory");
			}
		}
	END
	cc -nostdlib -static -o "$BATS_TEST_TMPDIR/bare" "$BATS_TEST_TMPDIR/bare.c"
	start "$BATS_TEST_TMPDIR/bare"
	run "$SPROF" record -q --source ebpf -o "$data" -d 1 --alloc -p "${pids[0]}"
	[ "$status" -eq 1 ]
	[[ $output == *"--alloc=growth"* ]]
	run "$SPROF" record --source ebpf -o "$data" -d 1 --alloc --alloc=growth -p "${pids[0]}"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"none of its files defines malloc"*"only growth of memory is sampled"* ]]
	"$SPROF" report --column resident-growth "$data" | grep -q _start
}
