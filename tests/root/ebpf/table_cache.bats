# Unwind tables are kept between two recordings: the second one finds them, a damaged one is built again, and what
# the stacks look like does not depend on it.
load ../recorder

# A process with a dozen libraries; its cache is the test's own.
busy_python() {
	mkdir "$BATS_TEST_TMPDIR/home"
	export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/home
	cache=$XDG_CACHE_HOME/sprof
	start python3 -c '
import ssl, sqlite3, decimal, ctypes
while True: sum(range(1000))'
	sleep 1
}

# Prints "READ WRITTEN": how many tables came from the cache and went into it. OPTIONS...
tables() {
	rm -f "$data"
	"$SPROF" record -v -o "$data" -F 999 -d 500ms "$@" -p "${pids[0]}" 2>"$BATS_TEST_TMPDIR/messages"
	sed -n 's/.*unwind tables in the cache: \([0-9]*\) read, \([0-9]*\) written$/\1 \2/p' "$BATS_TEST_TMPDIR/messages"
}

# Records until nothing new is written: on a busy machine a recording may end before all tables are built.
fill() {
	local nr
	for i in $(seq 20); do
		nr=$(tables "$@")
		[ "${nr#* }" != 0 ] || return 0
	done
	return 1
}

# bats test_tags=full
@test "the next recording has its tables from the cache, whatever the source" {
	local nr nr_entries
	busy_python
	nr=$(tables)
	[ "${nr%% *}" = 0 ]
	[ "${nr#* }" -gt 5 ]
	fill
	nr_entries=$(ls "$cache" | wc -l)
	[ "$(stat -c %a "$cache")" = 700 ]
	[ "$(stat -c %a "$cache"/* | sort -u)" = 600 ]
	for source in ebpf perf timer; do
		nr=$(tables -s $source)
		echo "$source: $nr of $nr_entries"
		[ "${nr#* }" = 0 ]
		[ "${nr%% *}" -gt 5 ]
	done
	[ "$(ls "$cache" | wc -l)" = "$nr_entries" ]
}

# bats test_tags=full
@test "truncated and changed tables are built again, and -v says so" {
	local nr frames
	busy_python
	fill
	frames=$("$SPROF" fold "$data" | tr ';' '\n' | sed 's/ [0-9]*$//' | sort -u)
	[[ $frames == *main* ]]
	for file in "$cache"/*; do
		truncate -s $(($(stat -c %s "$file") * 7 / 10)) "$file"
	done
	nr=$(tables)
	[ "${nr%% *}" = 0 ]
	[ "${nr#* }" -gt 5 ]
	grep -q "the cached unwind table '.*' is damaged: it is built again" "$BATS_TEST_TMPDIR/messages"
	fill
	for file in "$cache"/*; do
		printf '\1\2\3' | dd of="$file" bs=1 seek=1000 conv=notrunc status=none
	done
	nr=$(tables)
	[ "${nr%% *}" = 0 ]
	fill
	"$SPROF" info --json "$data" | jq -c '[.samples, .incomplete, .incomplete_by_reason]'
	[ "$("$SPROF" info --json "$data" | jq '.samples > 10 and .incomplete * 10 < .samples')" = true ]
	"$SPROF" fold "$data" | grep -q 'main;'
}

# bats test_tags=full
@test "--no-cache and a folder of somebody else's: every table is built, nothing is kept" {
	busy_python
	[ -z "$(tables --no-cache)" ]
	[ ! -e "$cache" ]
	mkdir -m 700 "$cache"
	chown 65534 "$cache"
	[ -z "$(tables)" ]
	grep -q "unwind tables are not kept: '$cache': it belongs to another user" "$BATS_TEST_TMPDIR/messages"
	[ -z "$(ls "$cache")" ]
	rm -r "$cache"
	chmod 777 "$XDG_CACHE_HOME"
	[ -z "$(tables)" ]
	grep -q "unwind tables are not kept: '$XDG_CACHE_HOME': others may write to it" "$BATS_TEST_TMPDIR/messages"
	"$SPROF" fold "$data" | grep -q 'main;'
}
