# sprof info, and the messages of every command about a file that it cannot read (cli/input/load.c).

GOLDEN=tests/golden/recordings

info() {
	run --separate-stderr "$SPROF" info "$@"
}

setup() {
	bats_require_minimum_version 1.5.0
	export TZ=UTC
	cp "$GOLDEN/complete.data" "$GOLDEN/killed.data" "$BATS_TEST_TMPDIR"
	# The content of the second of its chunks is damaged: most samples are in it.
	cp "$GOLDEN/complete.data" "$BATS_TEST_TMPDIR/damaged.data"
	printf 'XXXX' | dd of="$BATS_TEST_TMPDIR/damaged.data" bs=1 seek=400 conv=notrunc status=none
	cd "$BATS_TEST_TMPDIR"
}

@test "info says where a recording comes from" {
	info complete.data
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	grep -qx 'file        complete.data, [0-9]* bytes, [0-9.]* bytes per sample' <<<"$output"
	grep -qx 'state       finished' <<<"$output"
	grep -qx 'recorded    2023-11-14 22:13:20 +0000, for 0.4 s' <<<"$output"
	grep -qx 'command     make -j8' <<<"$output"
	grep -qx 'host        host' <<<"$output"
	grep -qx 'kernel      6.1.0' <<<"$output"
	grep -qx 'event       cpu-clock' <<<"$output"
	grep -qx 'frequency   999 Hz' <<<"$output"
}

@test "info says what is missing, by reason" {
	info complete.data
	grep -qx 'samples     400' <<<"$output"
	grep -qx 'lost        5 (1.2%)' <<<"$output"
	grep -q '^incomplete  41 (10%)' <<<"$output"
	grep -qx ' *40  \[no unwind rule\]' <<<"$output"
	grep -qx ' *1  \[incomplete: too deep\]' <<<"$output"
	grep -q '^snapshots   4 stacks' <<<"$output"
	grep -q '^throttled   2 times' <<<"$output"
}

@test "info shares samples out to threads and modules" {
	info complete.data
	grep -qx '2 threads in 2 processes' <<<"$output"
	grep -qx ' *40%  *100  *100  make' <<<"$output"
	grep -qx ' *self  *total  *unnamed  build-id  *file' <<<"$output"
	grep -qx ' *20%  *30%  *0%  deadbeef  */usr/bin/make' <<<"$output"
	grep -qx ' *10%  *10%  *10%  *-  *\[kernel\]' <<<"$output"
	[[ $output != *'debug packages'* ]] # which the kernel and JIT code get no names from
}

@test "info says which files have no names, and what gives them some" {
	printf 'int main(void) { for (volatile unsigned i = 0; i < 500000000; i++) ; }\n' | gcc -O1 -g0 -s -x c - -o bare
	"$SPROF" record -q --source timer -o bare.data -- ./bare
	info bare.data
	[ "$status" -eq 0 ]
	grep -qE '^ *(9[0-9.]+|100)%  +100%  +(9[0-9.]+|100)% +[0-9a-f]+  .*/bare$' <<<"$output"
	grep -q '^For names, install debug packages' <<<"$output"
	[ "$(awk '/^frames/ { print ($2 > $3 + 0) }' <<<"${output//,/}")" = 1 ]
	"$SPROF" info --json bare.data |
		jq -e '.modules[] | select(.path | endswith("/bare")) | .unnamed_samples > 0.9 * .self_samples'
}

@test "info prints no control character from a recording" {
	info complete.data
	[[ $output == *'u{1b}[31m'* ]]
	! LC_ALL=C.UTF-8 grep -q '[^[:print:]]' <<<"$output" || false
}

@test "info --json is one valid object with the same numbers" {
	info complete.data --json
	[ "$status" -eq 0 ]
	[ "$(jq -r '[.version, .finished, .samples, .lost, .incomplete, .snapshots, .throttled,
		.unwind_rows, .frequency_hz, .cpus, .stacks, .frames, .named_frames, .processes]
		| map(tostring) | join(" ")' <<<"$output")" = "2 true 400 5 41 4 2 123456 999 2 4 7 3 2" ]
	[ "$(jq -r '.start, .duration_s, .hostname, .command, .note' <<<"$output")" = \
		$'2023-11-14T22:13:20Z\n0.4\nhost\nmake -j8' ]
	[ "$(jq -r '.incomplete_by_reason[] | "\(.samples) \(.reason)"' <<<"$output")" = \
		$'40 [no unwind rule]\n1 [incomplete: too deep]' ]
	[ "$(jq '[.threads[].samples] | add' <<<"$output")" = 400 ]
	[ "$(jq '[.modules[].self_samples] | add' <<<"$output")" = 400 ]
	[ "$(jq -c '.modules[] | select(.path == "/usr/bin/make")
		| [.kind, .build_id, .self_samples, .total_samples, .unnamed_samples]' <<<"$output")" = \
		'["file","deadbeef",80,120,0]' ]
	[ "$(jq .file_bytes <<<"$output")" = "$(stat -c %s complete.data)" ]
}

@test "info shows what a killed recorder has left, and says UNFINISHED" {
	info killed.data
	[ "$status" -eq 0 ]
	grep -qx 'state       UNFINISHED: the recorder was killed, or is still running' <<<"$output"
	grep -qx 'samples     200' <<<"$output"
	info --json killed.data
	[ "$(jq -r '.finished, .samples, .lost' <<<"$output")" = $'false\n200\n3' ]
}

@test "info counts the samples of a damaged chunk as lost" {
	info --json damaged.data
	[ "$status" -eq 0 ]
	[ "$(jq -r .finished <<<"$output")" = false ]
	[[ $(jq -r .note <<<"$output") == 'damaged after chunk '* ]]
	[ "$(jq '.samples + .lost' <<<"$output")" = 405 ]
	[ "$(jq '.lost > 5' <<<"$output")" = true ]
}

@test "info reads sprof.data unless told otherwise" {
	cp complete.data sprof.data
	info
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "file        sprof.data,"* ]]
}

@test "info reads a recording from standard input" {
	run bash -c '"$SPROF" info - <complete.data'
	[ "$status" -eq 0 ]
	grep -qx 'samples     400' <<<"$output"
	run bash -c 'cat complete.data | "$SPROF" info - --json'
	[ "$(jq .samples <<<"$output")" = 400 ]
}

@test "a file on standard input is read from where it stands" {
	run bash -c '{ head -c 9 >/dev/null; "$SPROF" info - --json; } < <(printf "skipped;\nmain;work 3\n")'
	[ "$(jq .samples <<<"$output")" = 3 ]
	printf 'skipped 9\nmain;work 3\nmain 1\n' >"$BATS_TEST_TMPDIR/stacks"
	run bash -c '{ read -r; "$SPROF" info - --json; } <"$1"' - "$BATS_TEST_TMPDIR/stacks"
	[ "$(jq .samples <<<"$output")" = 4 ]
}

@test "info reads collapsed stacks" {
	run bash -c 'printf "main;work 3\nmain 1\n" | "$SPROF" info - --json'
	[ "$status" -eq 0 ]
	[ "$(jq .samples <<<"$output")" = 4 ]
}

@test "a file that is not there is an error with a reason, and a hint for the default name" {
	info nothing.data
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot open 'nothing.data': No such file or directory" ]
	info
	[ "$status" -eq 1 ]
	[ "${stderr_lines[0]}" = "sprof: cannot open 'sprof.data': No such file or directory" ]
	[[ ${stderr_lines[1]} == "hint: sprof record "* ]]
}

@test "a directory, an empty file and a file of anything are errors" {
	mkdir directory
	info directory
	[ "$status" -eq 1 ]
	[ "${stderr_lines[0]}" = "sprof: cannot read 'directory': it is a folder without segments" ]
	: >empty
	info empty
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot read 'empty': it is empty" ]
	head -c 100000 "$SPROF" >anything
	info anything
	[ "$status" -eq 1 ]
	[[ ${stderr_lines[0]} == "sprof: cannot read 'anything'"* ]]
	[ -z "$output" ]
}

@test "a recording of a later major version is an error that says so" {
	info "$BATS_TEST_DIRNAME/../golden/recordings/later.data"
	[ "$status" -eq 1 ]
	[[ $stderr == *"later.data': a later version of sprof wrote it, in a newer format" ]]
}

@test "a damaged header costs nothing but the time in it" {
	printf X | dd of=complete.data bs=1 seek=16 conv=notrunc status=none
	info --json complete.data
	[ "$(jq -r '.note, .start, .samples' <<<"$output")" = \
		$'damaged at its start; 4 chunks could be read\n\n400' ]
}

@test "a damaged magic number is an error that says so" {
	printf X | dd of=complete.data bs=1 seek=3 conv=notrunc status=none
	info complete.data
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot read 'complete.data': its beginning is damaged" ]
}

@test "a wrong option or a second file is a usage error" {
	info --no-such-option
	[ "$status" -eq 2 ]
	info complete.data killed.data
	[ "$status" -eq 2 ]
}

@test "commands whose output has no place for it warn of what is missing on stderr" {
	run --separate-stderr "$SPROF" fold killed.data
	[ "$status" -eq 0 ]
	[ "$stderr" = "sprof: warning: 'killed.data' is UNFINISHED: the recorder was killed, or is still running
sprof: warning: 3 of 203 samples were lost" ]
	run --separate-stderr "$SPROF" fold complete.data
	[ "$stderr" = "sprof: warning: 5 of 405 samples were lost" ]
	run --separate-stderr bash -c 'printf "main 1\n" | "$SPROF" fold -'
	[ -z "$stderr" ]
}

@test "info that cannot be written is an error" {
	run bash -c '"$SPROF" info complete.data 2>&1 >/dev/full'
	[ "$status" -eq 1 ]
	[ "$output" = "sprof: cannot write to standard output: No space left on device" ]
}
