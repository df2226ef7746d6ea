# sprof with capabilities on its file, run by an ordinary user: commands that read have only that user's rights.
load ../kernel

setup() {
	bats_require_minimum_version 1.5.0
	plain=$SPROF place='' # without capabilities
	lend_rights cap_dac_read_search cap_sys_ptrace cap_perfmon cap_bpf
	secret=$place/secret
	echo 'the_secret 42' >"$secret"
	chmod 600 "$secret"
	cd "$out"
}

teardown() {
	[ -z "$place" ] || rm -rf "$place"
}

# Runs a command as nobody; it must not show the secret.
tried() { # ARGUMENTS...
	run --separate-stderr "${as[@]}" "$@"
	[[ $output$stderr != *the_secret* ]]
}

@test "a file that only root may read is not read for another user" {
	local command
	for command in fold flame report info imports ranks "export -f pprof -o out"; do
		tried "$SPROF" $command "$secret"
		[ "$status" -eq 1 ]
		[[ $stderr == *"$secret"*"Permission denied"* ]]
	done
	tried "$SPROF" lines -i "$secret"
	[ "$status" -eq 1 ]
	tried "$SPROF" diff "$secret" "$secret"
	[ "$status" -eq 1 ]
	tried "$SPROF" merge -o merged.data "$secret"
	[ "$status" -eq 1 ]
}

@test "a source file that only root may read is not shown to another user" {
	command -v gcc >/dev/null || skip "needs gcc"
	needs_bpf
	printf '#line 1 "%s"\nint main(void) { for (volatile long i = 0; i < 700000000; i++); }\n' "$secret" >"$place/spin.c"
	gcc -g -O1 -o "$place/spin" "$place/spin.c"
	"$plain" record -q -o spin.data --source ebpf -- "$place/spin"
	"$plain" lines -i spin.data | grep the_secret # what root may see
	chmod 644 spin.data
	chown 65534 spin.data
	tried "$SPROF" lines -i spin.data
	[ "$status" -eq 0 ]
	tried "$SPROF" report --annotate main spin.data
	tried "$SPROF" flame -o spin.html spin.data
	! grep -q the_secret spin.html || false
}

@test "a command that reads has no capabilities and a filter over its system calls" {
	local status_of_reader
	mkfifo pipe
	chown 65534 pipe
	"${as[@]}" "$SPROF" fold pipe >/dev/null 2>&1 3>&- &
	local reader=$!
	exec 9>pipe # returns when fold has opened the other end
	status_of_reader=$(cat /proc/$reader/status)
	exec 9>&-
	wait $reader || true
	grep -q '^CapPrm:.0*$' <<<"$status_of_reader"
	grep -q '^CapEff:.0*$' <<<"$status_of_reader"
	grep -q '^NoNewPrivs:.1' <<<"$status_of_reader"
	grep -q '^Seccomp:.2' <<<"$status_of_reader"
}

@test "root reads what others own and writes where others may" {
	printf 'main;f 7\n' >folded
	chown 65534 folded
	chmod 600 folded
	"$plain" fold folded | grep -x 'main;f 7'
	"$plain" flame -o flame.svg folded
	[ -s flame.svg ]
}

@test "a setuid sprof reads and writes as its caller" {
	PATH=$PATH:/usr/sbin setcap -r "$SPROF"
	chmod 4755 "$SPROF"
	tried "$SPROF" fold "$secret"
	[ "$status" -eq 1 ]
	printf 'main;f 7\n' >folded
	tried "$SPROF" flame -o flame.svg folded
	[ "$(stat -c %u flame.svg)" = 65534 ]
	tried "$SPROF" flame -o "$place/flame.svg" folded
	[ "$status" -eq 1 ]
	[ ! -e "$place/flame.svg" ]
}
