# Memory that a running program allocates, and what of it stays: sprof record --alloc.
load ../recorder

# Starts alloc_sites, which waits on its standard input; $go is where to tell it to begin.
start_sites() {
	mkfifo "$BATS_TEST_TMPDIR/input"
	LD_PRELOAD=${allocator-} "$TARGETS/alloc_sites" <"$BATS_TEST_TMPDIR/input" >"$truth" 3>&- &
	sites=$!
	pids+=($sites)
	exec {go}>"$BATS_TEST_TMPDIR/input"
	until_says ready
}

until_says() { # WORD
	for _ in $(seq 1200); do
		! grep -q "^$1" "$truth" || return 0
		sleep 0.05
	done
	return 1
}

# Records all that the sites allocate. OPTIONS...
record_sites() {
	start_sites
	record -v "$@" -p $sites 2>"$BATS_TEST_TMPDIR/said"
	sleep 0.5
	echo >&$go
	until_says end
	kill -INT $recorder
	wait $recorder
	exec {go}>&-
	wait $sites
}

# Compares the sums of each site with the truth: COLUMN FIELD-OF-TRUTH INTERVAL SIGMAS
compare() {
	"$SPROF" fold --column "$1" "$data" | awk -v field="$2" -v interval="$3" -v sigmas="$4" '
	FNR == NR { if (NF == 3) truth[$1] = $field; next }
	{ all += $NF; for (name in truth) if (index($0, name)) sum[name] += $NF }
	function check(name, is, want,   sigma) {
		sigma = want ? (is - want) / sqrt(interval * want) : 0
		printf "%s: %.0f, to be %.0f: %.1f sigma\n", name, is, want, sigma
		if ((sigma < 0 ? -sigma : sigma) > sigmas || (!want && is)) bad = 1
	}
	END {
		for (name in truth) { whole += truth[name]; check(name, sum[name], truth[name]) }
		check("all", all, whole)
		exit bad
	}' "$truth" -
}

# The standard deviation of a sum is at most the root of the interval times the bytes. Of 28 sums
# one in a thousand runs has one beyond 4.2 of them.
@test "ten sites: what is allocated and what stays have no bias" {
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

@test "jemalloc in place of the C library's allocator: the sums are as right" {
	allocator=$(ldconfig -p | awk '/libjemalloc\.so\.2.*x86-64/ { print $NF; exit }')
	[ -n "$allocator" ] || skip "libjemalloc is not installed"
	record_sites --alloc=64k
	cat "$BATS_TEST_TMPDIR/said"
	compare allocated 2 65536 4.2
	compare live 3 65536 4.2
}

@test "the interval follows the rate of allocation, and the sums stay right" {
	record_sites --alloc
	cat "$BATS_TEST_TMPDIR/said"
	compare allocated 2 4194304 4.2 # it may have grown to some MiB
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

@test "of a Python program it is said that small objects are not counted" {
	command -v python3 >/dev/null || skip "needs python3"
	start python3 -c 'while True: [bytes(5000) for i in range(100)]'
	wait_until grep -q python "/proc/${pids[0]}/maps"
	run "$SPROF" record -o "$data" -d 1 --alloc -p "${pids[0]}"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"Python takes objects of up to 512 bytes from pools of its own"* ]]
	"$SPROF" fold --column allocated "$data" | grep -q .
}
