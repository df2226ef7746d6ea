# sprof itself, before any command: help, version, wrong names, and output that cannot be written.

@test "help is a table of commands and three examples" {
	run "$SPROF" --help
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == "Usage: sprof COMMAND"* ]]
	[ "$(grep -c '^  sprof ' <<<"$output")" -eq 3 ]
}

commands() {
	"$SPROF" --help | sed -n '/^Commands:$/,/^$/s/^  \([a-z][a-z]*\)  .*/\1/p'
}

@test "-h is --help of every command" {
	[ "$(commands | wc -l)" -ge 17 ]
	for command in $(commands); do
		"$SPROF" $command -h | cmp - <("$SPROF" $command --help)
	done
}

@test "--help of sprof and of every command keeps within 80 columns" {
	local command wide=
	for command in "" $(commands); do
		# glibc's argp leaks where a command has groups without options.
		COLUMNS=80 ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 "$SPROF" $command --help >"$BATS_TEST_TMPDIR/help"
		if [ "$(wc -L <"$BATS_TEST_TMPDIR/help")" -gt 80 ]; then
			echo "sprof $command --help:"
			grep -E '^.{81}' "$BATS_TEST_TMPDIR/help"
			wide=1
		fi
	done
	[ -z "$wide" ]
}

# The options that manual pages describe.
described() {
	grep -hE '^\.It .*Fl -' "$@" | grep -oE 'Fl -[a-z][a-z0-9-]*' | sed 's/^Fl -/--/' | sort -u
}

# What several commands share is described in sprof(1), or in the page of another command that the page names.
@test "--help and the manual pages have the same options" {
	local man command pages wrong=
	man=$(cd "$BATS_TEST_DIRNAME/../../docs/man" && pwd)
	cd "$BATS_TEST_TMPDIR"
	for command in $(commands); do
		"$SPROF" $command --help | sed -nE 's/^ {2,6}(-., )*(--[a-z0-9-]+).*/\2/p' | grep -vxE -e '--(help|usage|version)' | sort -u >help
		pages=$(sed -nE "s|^\.Xr (sprof[a-z-]*) 1.*|$man/\1.1|p" "$man/sprof-$command.1" | sort -u)
		wrong+=$(described "$man/sprof-$command.1" $pages | comm -23 help - | sed "s/^/ $command: no page has /")
		wrong+=$(described "$man/sprof-$command.1" | comm -13 help - | sed "s/^/ $command: there is no /")
		cat help >>all
	done
	wrong+=$(described "$man/sprof.1" | comm -23 - <(sort -u all) | sed "s/^/ no command has /")
	echo "$wrong"
	[ -z "$wrong" ]
}

@test "version is one line" {
	run "$SPROF" --version
	[ "$status" -eq 0 ]
	[[ $output =~ ^sprof\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "sprof alone explains itself on stderr and is a usage error" {
	run bash -c '"$SPROF" 2>/dev/null'
	[ "$status" -eq 2 ]
	[ -z "$output" ]
}

@test "a command that does not exist is a usage error with a hint" {
	run "$SPROF" recrod
	[ "$status" -eq 2 ]
	[ "${lines[0]}" = "sprof: cannot run 'recrod': there is no such command" ]
	[ "${lines[1]}" = "hint: did you mean sprof record?" ]
	run "$SPROF" nothing-like-it
	[ "${lines[1]}" = "hint: sprof --help" ]
}

@test "a mistyped option is answered with the one that was meant" {
	run "$SPROF" report --sourt self
	[ "$status" -eq 2 ]
	[ "${lines[2]}" = "hint: did you mean --sort?" ]
	# Options with a value, and the words of a program to run, are told from sprof's.
	run "$SPROF" record -o --sourt --sorce timer true --sourt
	[ "$status" -eq 2 ]
	[ "${lines[2]}" = "hint: did you mean --source?" ]
	run "$SPROF" record -F none true --sorce
	[ "$status" -eq 2 ]
	[[ $output != *"did you mean"* ]]
}

@test "a usage error shows escapes in an argument as text" {
	local args
	for args in $'report --\e[31mred' $'report --sort=\e[31mred' $'merge --origin=\e]0;title\a' $'completion \e[2J' $'record -F \xe2\x80\xae9'; do
		run "$SPROF" $args
		echo "$output"
		[ "$status" -eq 2 ]
		[[ $output == *'\u{'* ]]
		[[ $output != *$'\e'* && $output != *$'\a'* && $output != *$'\xe2\x80\xae'* ]]
		[[ $output == *"--help' "* ]] # the rest of the message has come too
	done
}

@test "output that does not fit on the disk is an error" {
	run bash -c '"$SPROF" --help 2>&1 >/dev/full'
	[ "$status" -eq 1 ]
	[ "$output" = "sprof: cannot write to standard output: No space left on device" ]
}

@test "output to a closed descriptor is an error" {
	run bash -c '"$SPROF" --help 2>&1 >&-'
	[ "$status" -eq 1 ]
}

@test "a reader that leaves early is not an error" {
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	run bash -c 'trap "" PIPE; : <"$0" & exec 3>"$0"; wait $!; "$SPROF" --help >&3' \
		"$BATS_TEST_TMPDIR/pipe"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}
