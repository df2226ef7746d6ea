# Programs with a seccomp filter: sprof attaches if the filter allows every system call that
# attaching needs, and refuses otherwise.
bats_require_minimum_version 1.5.0
root_for="read the filter of another process" without_filter=true
load ../attach

# Attaches again and again while the target works. KIND TIMES
allowed() {
	target "$TARGETS/seccomped" "$1" 60
	grep -q '^Seccomp:.*2' /proc/"$target"/status
	drive attach "$target" "$(often "$2" 1000)" 20 1000
	grep -q '^handlers [1-9]' "$BATS_TEST_TMPDIR/figures"
	nothing_stays
	ends_well
}

# The target is refused for this reason and stays unharmed. KIND REASON
denied() {
	target "$TARGETS/seccomped" "$1" 60
	run "$DRIVERS/attach" "$target" 1
	echo "$output"
	[ "$status" -eq 2 ]
	[ "${lines[0]}" = "refused: $2" ]
	[ "${lines[2]}" = "only from outside" ]
	nothing_stays
	ends_well
}

# bats test_tags=full, stress
@test "seccomp: a filter that allows everything" {
	allowed allow 10
}

# bats test_tags=stress
@test "seccomp: the filter that containers have by default" {
	allowed docker 20
}

# bats test_tags=full, stress
@test "seccomp: a filter that kills for any call but those that sprof says it needs" {
	allowed exact 20
}

@test "seccomp: sprof record -p of a program under a container's filter" {
	data=$BATS_TEST_TMPDIR/data
	target "$TARGETS/seccomped" docker 60
	"$SPROF" record -q -o "$data" --source timer -F 999 -d 500ms -p "$target"
	nothing_stays
	ends_well
	"$SPROF" info "$data"
	"$SPROF" info --json "$data" | jq -e '.samples > 5 and .finished'
	"$SPROF" fold "$data" | grep -q 'main;work'
}

@test "seccomp: every system call of the payload is asked about" {
	local call missing=''
	# A case names a call that the program was in.
	for call in $(cat $(find sampler/agent -name '*.[ch]' | grep -vE '/(preload[a-z_]*|join)\.[ch]') | grep -vE '^\s*case |^#ifdef ' |
		grep -o '__NR_[a-z_0-9]*' | sort -u); do
		grep -q "SYS_${call#__NR_}\>" sampler/inject/x86_64/seccomp_calls.c || missing+=" $call"
	done
	echo "missing:$missing"
	[ -z "$missing" ]
}

@test "seccomp: doctor says what stands in the way, and which filters it has read" {
	target "$TARGETS/seccomped" timers 60
	run "$SPROF" doctor -p "$target"
	[[ $output == *"its seccomp filter would end it for timer_create(2)"* ]]
	ends_well
	target "$TARGETS/seccomped" docker 60
	run "$SPROF" doctor -p "$target"
	[[ $output == *"timer  OK: by ptrace, its seccomp filter allows what that takes"* ]]
	[ "$("$SPROF" doctor --json -p "$target" | jq -r .process.seccomp)" = read ]
	nothing_stays
	ends_well
}

@test "seccomp: refused where a filter kills for a call, unharmed" {
	denied timers "its seccomp filter would end it for timer_create(2), which sprof would have it make"
	denied timers2 "its seccomp filter would end it for timer_create(2), which sprof would have it make"
}

# bats test_tags=full
@test "seccomp: refused where the filter of another thread does" {
	denied other "its seccomp filter would end it for timer_create(2), which sprof would have it make"
}

@test "seccomp: refused where an argument decides" {
	denied write "its seccomp filter denies it mprotect(2), which sprof would have it make"
	denied pointer "its seccomp filter denies it timer_create(2), which sprof would have it make"
}

# bats test_tags=full
@test "seccomp: refused where another process decides" {
	denied trace "its seccomp filter has another process decide over munmap(2), which sprof would have it make"
}

@test "seccomp: refused in strict mode" {
	target "$TARGETS/seccomped" strict 60
	run "$DRIVERS/attach" "$target" 1
	[ "$status" -eq 2 ]
	[ "${lines[0]}" = "refused: it runs in seccomp's strict mode, which allows hardly any system call" ]
	kill -0 "$target"
}

@test "seccomp: refused where the filter cannot be read, as for an ordinary user" {
	target setpriv --reuid 65534 --regid 65534 --clear-groups "$TARGETS/seccomped" allow 60
	cp "$DRIVERS/attach" "$BATS_TEST_TMPDIR/attach"
	exec 5<"$BATS_TEST_TMPDIR/attach"
	run setpriv --reuid 65534 --regid 65534 --clear-groups /proc/self/fd/5 "$target" 1
	echo "$output"
	[ "$status" -eq 2 ]
	[[ ${lines[0]} == "refused: it has 1 seccomp filters, sprof 0 and the first process 0: what they allow is known only where "* ]]
	kill "$target"
}

@test "seccomp: no library is loaded into a program with a filter" {
	target "$TARGETS/seccomped" allow 60
	run "$DRIVERS/dlopen" "$target" "$TARGETS/libguest.so" 1
	echo "$output"
	[ "$status" -eq 2 ]
	[[ ${lines[0]} == "refused: a seccomp filter decides over its system calls, and which of them the library makes"* ]]
	ends_well
}
