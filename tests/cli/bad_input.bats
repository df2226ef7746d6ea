# Wrong and damaged input to the reading commands: one line that says what is wrong, the right exit status, and never a
# crash. info.bats tests the message for each kind of file.
bats_require_minimum_version 1.5.0

GOLDEN=$BATS_TEST_DIRNAME/../golden/recordings/complete.data

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# Every way to read a file.
read_all_ways() { # file
	local command
	for command in info 'info --json' fold report 'report --json' 'flame -o flame.svg'; do
		# shellcheck disable=SC2086
		run --separate-stderr "$SPROF" $command "$1"
		"$2" "$command" "$1"
	done
}

fails_in_one_line() {
	echo "sprof $1 $2: status $status, '$stderr'"
	[ "$status" -eq 1 ]
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" -le 2 ]
	[[ ${stderr_lines[0]} == "sprof: cannot "*"'$2'"* ]]
	[ "${#stderr_lines[@]}" = 1 ] || [[ ${stderr_lines[1]} == "hint: "* ]]
}

# A damaged recording is shown as far as it can be read, with a warning, or refused.
does_not_crash() {
	echo "sprof $1 $2: status $status, '$stderr'"
	[ "$status" -le 1 ]
	[ -z "$stderr" ] || [[ $stderr == "sprof: "* ]]
	[ "$status" -eq 0 ] || [[ ${stderr_lines[0]} == "sprof: cannot "* ]]
}

@test "a file that is not there" {
	read_all_ways missing.data fails_in_one_line
}

@test "a folder" {
	mkdir folder
	read_all_ways folder fails_in_one_line
}

@test "an empty file" {
	: >empty
	read_all_ways empty fails_in_one_line
}

@test "a program" {
	cp /bin/true program
	read_all_ways program fails_in_one_line
}

# bats test_tags=full
@test "a recording cut off anywhere" {
	local size n
	size=$(stat -c %s "$GOLDEN")
	for ((n = 1; n < size; n += size / 25 + 1)); do
		head -c $n "$GOLDEN" >cut
		read_all_ways cut does_not_crash
	done
}

# bats test_tags=full
@test "a recording with one bit wrong anywhere" {
	local size n byte
	size=$(stat -c %s "$GOLDEN")
	for ((n = 0; n < size; n += size / 25 + 1)); do
		cp "$GOLDEN" flipped
		byte=$(od -An -tu1 -j $n -N 1 "$GOLDEN")
		printf "\\x$(printf %02x $((byte ^ (1 << n % 8))))" | dd of=flipped bs=1 seek=$n conv=notrunc status=none
		read_all_ways flipped does_not_crash
	done
}

@test "a recording whose content is random" {
	local n
	for n in 1 2 3 4 5 6 7 8; do
		{
			head -c 64 "$GOLDEN"
			openssl enc -aes-128-ctr -pass "pass:$n" -nosalt -in /dev/zero 2>/dev/null | head -c 4000
		} >random
		read_all_ways random does_not_crash
	done
}

@test "random bytes" {
	local n
	for n in 1 2 3 4 5 6 7 8; do
		openssl enc -aes-128-ctr -pass "pass:$n" -nosalt -in /dev/zero 2>/dev/null | head -c 4000 >random
		read_all_ways random does_not_crash
	done
}

@test "a picture that does not fit on the disk" {
	run --separate-stderr "$SPROF" flame "$GOLDEN" -o /dev/full
	[ "$status" -eq 1 ]
	[ "${stderr_lines[-1]}" = "sprof: cannot write '/dev/full': No space left on device" ]
}

@test "collapsed stacks that do not fit on the disk" {
	run bash -c '"$SPROF" fold "$0" 2>&1 >/dev/full' "$GOLDEN"
	[ "$status" -eq 1 ]
	[[ $output == *"sprof: cannot write to standard output: No space left on device" ]]
	# More than stdio holds, which is written while there is more to come.
	seq -f 'main;a%.0f 1' 20000 >many.folded
	for command in fold 'flame' 'report -n 0' 'report --json' 'export -f csv' 'merge -f collapsed'; do
		run bash -c '"$SPROF" $0 many.folded 2>&1 >/dev/full' "$command"
		[ "$status" -eq 1 ]
		[ "$output" = "sprof: cannot write to standard output: No space left on device" ]
	done
}

@test "recording without the rights" {
	local as_nobody=()
	[ "$(id -u)" != 0 ] || as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chmod 777 .
	run --separate-stderr "${as_nobody[@]}" "$SPROF" record --source ebpf -o data -- true
	[ "$status" -eq 125 ]
	[[ ${stderr_lines[0]} == "sprof: cannot sample with ebpf: no BPF rights"* ]]
	[[ ${stderr_lines[1]} == "hint: "*sudo* ]]
	[ "${#stderr_lines[@]}" = 2 ]
	[ ! -e data ]
	run --separate-stderr "${as_nobody[@]}" "$SPROF" record --source ebpf -o data -p 1
	[ "$status" -eq 1 ]
}

@test "a record line that makes no sense is a usage error" {
	local line
	for line in '' '-p 0' '-p -5' '-p 1,,2' '-p 1 -a' '-p 1 true' '-F 0 true' '-F x true' '-F 1e9 true' '-d 0 -a' \
		'-d -1s -a' '-d 5parsecs -a' '--source nope true' '--no-such-option' '-o - true' '--clock x true'; do
		# shellcheck disable=SC2086
		run --separate-stderr "$SPROF" record $line
		echo "sprof record $line: status $status, '$stderr'"
		[ "$status" -eq 2 ]
		[ -z "$output" ]
		[[ ${stderr_lines[-1]} == *"--help"* ]]
	done
}

@test "debug files cannot be fetched without a server, or without the library" {
	run --separate-stderr env -u DEBUGINFOD_URLS "$SPROF" record --debuginfod -o data -- true
	[ "$status" -eq 125 ]
	[[ $stderr == *"sprof: cannot fetch debug files: DEBUGINFOD_URLS names no server"$'\n'"hint: export DEBUGINFOD_URLS="* ]]
	${CC:-cc} -shared -o libdebuginfod.so.1 -x c /dev/null
	run --separate-stderr env LD_LIBRARY_PATH="$PWD" DEBUGINFOD_URLS=http://127.0.0.1:1 \
		"$SPROF" record --debuginfod -p $$
	[ "$status" -eq 1 ]
	[[ $stderr == *"sprof: cannot load 'libdebuginfod.so.1': it is not installed, or too old"$'\n'"hint: apt-get install libdebuginfod1"* ]]
	[ ! -e data ]
}

@test "no message tells the terminal to do something" {
	local name=$'evil\e]0;title\a\e[2J\r\xe2\x80\xae.data'
	cd "$BATS_TEST_TMPDIR"
	for command in fold info report flame "lines -i"; do
		run --separate-stderr "$SPROF" $command "./$name"
		[ "$status" -ne 0 ]
		[[ $stderr == *'evil\u{1b}]0;title\u{7}\u{1b}[2J\u{d}\u{202e}.data'* ]]
	done
	printf 'x' >"$name" # a file that cannot be read
	run --separate-stderr "$SPROF" fold "$name"
	[ "$status" -ne 0 ]
	[ "$(LC_ALL=C grep -c $'[\x01-\x09\x0b-\x1f\x7f]' <<<"$stderr")" -eq 0 ]
	# The name of a program, too, which anyone chooses who may start one.
	run --separate-stderr "$SPROF" record -o x -- "./$name"
	[[ $stderr == *'\u{1b}'* ]]
	[ "$(LC_ALL=C grep -c $'[\x01-\x09\x0b-\x1f\x7f]' <<<"$stderr")" -eq 0 ]
	run --separate-stderr "$SPROF" $'\e[2J'
	! LC_ALL=C grep -q $'\x1b' <<<"$stderr" || false
}
