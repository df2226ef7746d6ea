# The holder of the global interpreter lock, on every installed CPython from 3.8 on:
# tests/targets/python_gil.py uses the lock in a known way.
load ../recorder
load ../pythons

has_a_gil() {
	"$python" -c 'import sys; sys.exit(not getattr(sys, "_is_gil_enabled", lambda: True)())'
}

where_there_is_a_gil() { # COMMAND...
	! has_a_gil || "$@"
}

# The share of the samples through a function, matched by name alone, that --gil keeps.
held_in() { # FUNCTION
	local all held
	all=$("$SPROF" fold --focus "^$1 \\(python_gil" "$data" | awk '{ n += $NF } END { print n + 0 }')
	held=$("$SPROF" fold --gil --focus "^$1 \\(python_gil" "$data" 2>/dev/null | awk '{ n += $NF } END { print n + 0 }')
	echo "$1: $held of $all samples hold the GIL"
	[ "$all" -gt 50 ]
	awk -v all="$all" -v held="$held" "BEGIN { exit !(held $2 * all) }"
}

computes_with_it_and_compresses_without() { # OPTIONS...
	"$SPROF" record -q -o "$data" -F 499 "$@" -- "$python" tests/targets/python_gil.py 0.4
	held_in compute ">= 0.98"
	held_in compress "<= 0.05"
	told .gil
	told '.gil | (.held + .waited_for + .released + .no_thread) as $all |
		.held / $all > 0.4 and .released / $all > 0.3 and .no_thread / $all < 0.05' | grep -qx true
	"$SPROF" report --json "$data" >"$folded"
	jq -e '[.rows[] | select(.module | startswith("libz."))] | (map(.self_ns) | add) as $all |
		(map(.self_ns * (.self_gil_percent // 0)) | add) / $all < 5' "$folded" >/dev/null
}

@test "threads that compute in Python hold the GIL, those in zlib and hashlib do not" {
	each_python where_there_is_a_gil computes_with_it_and_compresses_without
}

# bats test_tags=full
@test "the same with timer" {
	each_python where_there_is_a_gil computes_with_it_and_compresses_without --source timer
}

# Four threads: one waits for the others to end, without the GIL; of the other three one holds it
# and two wait for it.
fights() {
	"$SPROF" record -q -o "$data" -F 199 --source timer --clock wall -- \
		"$python" tests/targets/python_gil.py 0.2 fight
	told .gil
	told '.gil | (.held + .waited_for + .released + .no_thread) as $all |
		.held / $all > 0.15 and .held / $all < 0.35 and .waited_for / $all > 0.33 and
		.released / $all > 0.2 and .released / $all < 0.45' | grep -qx true
}

@test "of threads that fight for the GIL one holds it and the others wait" {
	each_python where_there_is_a_gil fights
}

says_that_there_is_none() {
	! has_a_gil || return 0
	"$SPROF" record -o "$data" -F 499 -- "$python" tests/targets/python_gil.py 0.2 2>"$folded"
	grep -q "do not say who holds the GIL: it is a free-threaded build" "$folded"
	told .gil | grep -qx null
}

@test "of a free-threaded build it is said that it has no GIL" {
	each_python says_that_there_is_none
}

@test "without Python there is no word of the GIL, and --gil says so" {
	"$SPROF" record -q -o "$data" -F 499 -d 300ms -- "$TARGETS/leaf" 1000
	told .gil | grep -qx null
	! "$SPROF" info "$data" | grep GIL || false
	! "$SPROF" report "$data" | grep GIL || false
	run "$SPROF" report --gil "$data"
	[ "$status" -ne 0 ]
	[[ $output == *"it holds no samples that say who holds the GIL" ]]
}
