# sprof doctor: what it says of sources and of the host, as root, as the user nobody, and without perf_event_open(2).

setup() {
	bats_require_minimum_version 1.5.0
	as=()
}

as_nobody() {
	[ "$(id -u)" = 0 ] || skip "needs root, to become nobody"
	cp "$SPROF" "$BATS_TEST_TMPDIR/sprof"
	exec 5<"$BATS_TEST_TMPDIR/sprof"
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
}

facts_are_right() {
	[ "$(jq -r .version <<<"$output")" = 2 ]
	[ "$(jq -r .facts.kernel <<<"$output")" = "$(uname -r)" ]
	[ "$(jq -r .facts.perf_event_paranoid <<<"$output")" = "$(cat /proc/sys/kernel/perf_event_paranoid)" ]
	[ "$(jq -r '.sources | map(.name) | join(" ")' <<<"$output")" = "ebpf perf timer" ]
	# What works has no reason; what does not has one; the exit status says whether any works.
	[ "$(jq '[.sources[] | select(.ok == (.reason != ""))] | length' <<<"$output")" = 0 ]
	[ "$status" = "$(jq '.sources | any(.ok) | if . then 0 else 1 end' <<<"$output")" ]
}

@test "doctor's JSON agrees with the host" {
	run "$SPROF" doctor --json
	facts_are_right
	jq -e '(.gpu_needs | keys) == if .gpu.ok then ["attach", "counters", "cupti"] else [] end' <<<"$output"
}

@test "doctor's table has a line for each source and each fact" {
	run --separate-stderr "$SPROF" doctor
	[ -z "$stderr" ]
	grep -q '^ebpf   ' <<<"$output"
	grep -q '^perf   ' <<<"$output"
	! grep -qx 'ebpf   OK' <<<"$output" || grep -Eq '^waits  (OK: (at|by) |the kernel has neither )' <<<"$output"
	grep -q '^timer  ' <<<"$output"
	grep -q '^gpu    ' <<<"$output"
	grep -Eq "^kernel +$(uname -r)\$" <<<"$output"
	grep -Eq "^kernel.perf_event_paranoid +$(cat /proc/sys/kernel/perf_event_paranoid)\$" <<<"$output"
	grep -Eq '^hardware cycles +(yes|no)$' <<<"$output"
}

@test "for nobody ebpf needs rights, and doctor says how to get them" {
	as_nobody
	run "${as[@]}" /proc/self/fd/5 doctor --json
	facts_are_right
	[ "$(jq -r '.sources[0] | .ok, .reason' <<<"$output" | paste -sd' ')" = "false no BPF rights (CAP_BPF and CAP_PERFMON)" ]
	[[ $(jq -r '.sources[0].fix' <<<"$output") == *setcap* ]]
	[ "$(jq -r .facts.capabilities <<<"$output")" = none ]
	run "${as[@]}" /proc/self/fd/5 doctor
	grep -qx 'ebpf   no BPF rights (CAP_BPF and CAP_PERFMON)' <<<"$output"
	grep -q '^       fix: .*sudo' <<<"$output"
}

# Runs a command whose perf_event_open(2) fails with EPERM, as in a container.
without_perf() {
	python3 -c '
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
load_number, jump_unless_perf, refuse, allow = (0x20, 0, 0, 0), (0x15, 0, 1, 298), (6, 0, 0, 0x50001), (6, 0, 0, 0x7fff0000)
code = b"".join(struct.pack("HBBI", *i) for i in (load_number, jump_unless_perf, refuse, allow))
filter = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("HP", 4, ctypes.addressof(filter)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit("no seccomp here")
os.execv(sys.argv[1], sys.argv[1:])' "$@"
}

@test "where no source works doctor exits with 1, and record gives every reason" {
	as_nobody
	run "${as[@]}" bash -c "$(declare -f without_perf); without_perf /proc/self/fd/5 doctor --json"
	facts_are_right
	[ "$status" -eq 1 ]
	[[ $(jq -r '.sources[1] | .reason + .fix' <<<"$output") == *seccomp* ]]
	[ "$(jq -r '.sources[2] | .reason' <<<"$output")" = "libsprof.so is not beside sprof, nor in ../lib/sprof" ]
	run "${as[@]}" bash -c "$(declare -f without_perf); without_perf /proc/self/fd/5 record -o /dev/null -- true"
	[ "$status" -eq 125 ]
	[ "$(grep -c '^sprof: cannot sample with ' <<<"$output")" -eq 3 ]
	[ "$(grep -c '^hint: ' <<<"$output")" -eq 3 ]
}

@test "doctor takes no argument" {
	run "$SPROF" doctor 1234
	[ "$status" -eq 2 ]
	[[ $output == *"'1234'"* ]]
}
