# Files of targets are parsed in child processes without rights: what these processes are, and that
# a recording goes on without them.
source=ebpf
load ../source

# The process of that recorder which starts parsers, as soon as it is there.
find_starter() { # pid
	starter=
	for _ in $(seq 100); do
		starter=$(pgrep -x -P "$1" sprof-parser) && return
		sleep 0.05
	done
	false
}

goes_on_without_parsers() { # pid, seconds until they are killed
	local status=0
	find_starter "$1"
	sleep "$2"
	kill -9 "$starter"
	wait "$1" || status=$?
	cat "$folded.log"
	[ $status = 0 ]
}

# Records a program that starts deep32_nofp after a second; kills the process that starts parsers
# before that. The file of deep32_nofp is then new, and nothing can read its unwind rules.
# bats test_tags=full
@test "parsers: a recording goes on without them" {
	"$SPROF" record -o "$data" --source $source -- sh -c 'sleep 1; exec "$0" 1000' "$TARGETS/deep32_nofp" \
		>"$truth" 2>"$folded.log" &
	goes_on_without_parsers $! 0.3
	grep -q "no program headers of '.*/deep32_nofp': the process that reads it died" "$folded.log"
	"$SPROF" info --json "$data" | jq -e '.samples > 100'
	"$SPROF" fold "$data" | grep -F '[unwind rules not readable];' >"$folded"
	[ -s "$folded" ]
}

# bats test_tags=full
@test "parsers: without them, calls in new files are not counted, and the recording goes on" {
	"$SPROF" record -o "$data" --source $source --calls 'leaf*' -- \
		sh -c 'sleep 1; exec "$0" 1000' "$TARGETS/deep32_nofp" >"$truth" 2>"$folded.log" &
	goes_on_without_parsers $! 0.5
	grep -q "calls of functions in '.*/deep32_nofp' are not counted: the process that reads it died" "$folded.log"
	"$SPROF" info --json "$data" | jq -e '.samples > 100'
}

# bats test_tags=full
@test "parsers: the process that starts them has no rights" {
	"$SPROF" record -q -o "$data" --source $source -- sleep 2 &
	local recorder=$!
	find_starter $recorder
	cat "/proc/$starter/status"
	grep -qP '^CapEff:\t0+$' "/proc/$starter/status"
	grep -qP '^CapPrm:\t0+$' "/proc/$starter/status"
	grep -qP '^NoNewPrivs:\t1$' "/proc/$starter/status"
	[ "$(find "/proc/$starter/fd" -type l | wc -l)" = 4 ] # a socket, and /dev/null three times
	wait $recorder
	[ ! -e "/proc/$starter" ]
}

# A program that runs a new Python function after two seconds, when nothing decodes its code object.
python_without_parsers() { # source
	command -v python3 >/dev/null || skip "there is no python3"
	cat >"$BATS_TEST_TMPDIR/late.py" <<-'END'
		import time
		def spin(seconds):
		    end = time.monotonic() + seconds
		    while time.monotonic() < end:
		        pass
		spin(2)
		exec(compile("def late():\n    for i in range(20): spin(0.05)\nlate()", "late.txt", "exec"))
	END
	"$SPROF" record -o "$data" --source "$1" -- python3 "$BATS_TEST_TMPDIR/late.py" \
		>"$truth" 2>"$folded.log" &
	goes_on_without_parsers $! 1
	grep "names of Python functions of process [0-9]* are missing: the process that decodes them died" \
		"$folded.log"
	"$SPROF" fold "$data" >"$folded"
	grep 'spin (late.py:2)' "$folded"
	grep -F '[Python name not readable]' "$folded"
	[ "$(grep -c 'late (late.txt' "$folded")" = 0 ]
}

@test "parsers: without them, new Python functions are markers, and the recording goes on" {
	python_without_parsers ebpf
}

# bats test_tags=full
@test "parsers: without them, the timer source shows new Python functions as markers" {
	python_without_parsers timer
}
