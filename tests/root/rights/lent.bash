# A copy of sprof with capabilities on its file, run by an ordinary user: lend_rights() says what it sets. `plain` is sprof
# without them; what a test puts into pids is killed.
load ../kernel

setup() {
	bats_require_minimum_version 1.5.0
	needs_bpf
	plain=$SPROF place='' pids=()
	lend_rights cap_bpf cap_perfmon cap_sys_ptrace cap_dac_read_search cap_checkpoint_restore
	cp -r "$TARGETS" "$place/targets"
	cd "$out"
}

teardown() {
	[ -z "${pids[*]-}" ] || kill -9 "${pids[@]}" 2>/dev/null || true
	[ -z "$place" ] || rm -rf "$place"
}
