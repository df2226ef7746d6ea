# Whose processes an ordinary user can look at with a sprof whose file has capabilities.
load lent

start() { # COMMAND...
	"$@" >/dev/null 2>&1 3>&- &
	pids+=($!)
	sleep 0.3
}

# Only members of nobody's group may run it from here on.
for_a_group() {
	chown 0:65534 "$SPROF" # which takes its capabilities away
	chmod 750 "$SPROF"
	PATH=$PATH:/usr/sbin setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore=ep "$SPROF"
}

refused() { # ARGUMENTS...
	run --separate-stderr "${as[@]}" "$SPROF" "$@"
	echo "$stderr"
	[ "$status" -eq 1 ]
	[ -z "$output" ]
	[ ! -e data ]
}

@test "a process of another user is refused by every source and by dump" {
	local source
	start "$TARGETS/shares" 20000
	for source in ebpf perf timer auto; do
		refused record -q -o data --source $source -d 300ms -p ${pids[0]}
		[[ $stderr == *"look at process ${pids[0]}: it belongs to another user (uid 0)"*"--all-users"* ]]
	done
	refused dump -p ${pids[0]}
	[[ $stderr == *"belongs to another user"* ]]
}

@test "the whole system is refused to an ordinary user" {
	refused record -q -o data -d 300ms -a
	[[ $stderr == *"processes of other users belong to it"* ]]
}

# bats test_tags=full
@test "a name, a cgroup and a user mean no processes of others" {
	cp "$TARGETS/shares" "$place/shared_name"
	start "$place/shared_name" 20000
	refused record -q -o data -d 300ms -p shared_name
	refused record -q -o data -d 300ms -u root
	[[ $stderr == *"sample another user: processes of other users belong to it"* ]]
	[ ! -e /sys/fs/cgroup/cgroup.procs ] || refused record -q -o data -d 300ms --cgroup /sys/fs/cgroup
	start "${as[@]}" "$place/shared_name" 20000
	run --separate-stderr "${as[@]}" "$SPROF" record -o data --source ebpf -d 1s -p shared_name
	[ "$status" -eq 0 ]
	[[ $stderr == *"left out because they are not yours: 1 processes"* ]]
	"${as[@]}" "$SPROF" record -q -o data --source ebpf -d 1s -u nobody
	"${as[@]}" "$SPROF" fold data | grep -q '^shared_name;'
}

@test "--all-users is for chosen users: a program that everybody may run refuses it" {
	start "$TARGETS/shares" 20000
	refused record -q -o data -d 300ms --all-users -p ${pids[0]}
	[[ $stderr == *"every user can borrow"* ]]
	refused record -q -o data -d 300ms --all-users -a
	refused dump --all-users -p ${pids[0]}
}

# bats test_tags=full
@test "--all-users works for those whom the administrator chose" {
	start "$TARGETS/shares" 20000
	for_a_group
	refused record -q -o data -d 300ms -p ${pids[0]} # not unless it is asked for
	"${as[@]}" "$SPROF" record -q -o data --source ebpf -d 1s --all-users -p ${pids[0]}
	"${as[@]}" "$SPROF" fold data | grep -q ';main'
	"${as[@]}" "$SPROF" record -q -o all --source ebpf -d 500ms --all-users -a
	"${as[@]}" "$SPROF" dump --all-users -p ${pids[0]} >dump
	grep -q main dump
}

@test "root needs no option" {
	start "${as[@]}" "$place/targets/shares" 20000
	"$plain" record -q -o data --source ebpf -d 500ms -p ${pids[0]}
	"$plain" dump -p ${pids[0]} | grep -q main
}

@test "a process of the user's that hides its memory is refused" {
	cp "$place/targets/shares" "$place/closed"
	chmod 711 "$place/closed"
	start "${as[@]}" sh -c "exec '$place/closed' 20000" # setpriv itself could read the file
	refused record -q -o data -d 300ms -p ${pids[0]}
	[[ $stderr == *"it has rights that you lack, or hides its memory"* ]]
}

# bats test_tags=full
@test "a setuid program that a target becomes is not sampled" {
	local source
	cp "$place/targets/shares" "$place/setuid"
	chmod 4755 "$place/setuid"
	for source in ebpf perf; do
		run --separate-stderr "${as[@]}" "$SPROF" record -o data --source $source -F 999 -- \
			sh -c "\"$place/targets/shares\" 400; exec \"$place/setuid\" 300"
		[ "$status" -eq 0 ]
		"${as[@]}" "$SPROF" fold data >folded
		grep -q '^shares' folded
		# The kernel's work at its exec and its exit may be there, but nothing that it does itself.
		[ "$(grep -c '^setuid.*;main' folded)" -eq 0 ]
	done
}

@test "a program that gains capabilities at its exec is not sampled, and sprof says so" {
	cp "$place/targets/shares" "$place/capable"
	PATH=$PATH:/usr/sbin setcap cap_net_raw=ep "$place/capable"
	run --separate-stderr "${as[@]}" "$SPROF" record -o data --source ebpf -F 999 -- \
		sh -c "\"$place/targets/shares\" 400; \"$place/capable\" 300; true"
	[ "$status" -eq 0 ]
	[[ $stderr == *"1 programs were not sampled because they run with more rights than you have"* ]]
	! "${as[@]}" "$SPROF" fold data | grep '^capable.*;main' || false
}

# bats test_tags=full
@test "what a setuid program starts as another user is not sampled" {
	local user
	cp "$(command -v setpriv)" "$place/become" # as sudo does
	chmod 4755 "$place/become"
	cp "$place/targets/shares" "$place/others"
	for user in 0 1234; do
		run --separate-stderr "${as[@]}" "$SPROF" record -o data --source ebpf -F 999 -- \
			sh -c "\"$place/targets/shares\" 400; exec \"$place/become\" --reuid $user \
			--regid $user --clear-groups \"$place/others\" 400"
		[ "$status" -eq 0 ]
		[[ $stderr == *"programs were not sampled because they run with more rights"* ]]
		"${as[@]}" "$SPROF" fold data >folded
		grep -q '^shares.*;main' folded
		[ "$(grep -c '^others' folded)" -eq 0 ]
	done
}

# bats test_tags=full
@test "a process of the user's with a capability that the user lacks is not sampled" {
	cp "$place/targets/shares" "$place/capable"
	start setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +net_raw \
		--ambient-caps +net_raw "$place/capable" 20000
	start "${as[@]}" "$place/targets/shares" 20000
	"${as[@]}" "$SPROF" record -q -o data --source ebpf -d 1s -u nobody
	"${as[@]}" "$SPROF" fold data >folded
	grep -q '^shares.*;main' folded
	[ "$(grep -c '^capable' folded)" -eq 0 ]
}

# bats test_tags=full
@test "with --all-users no table comes from the user's cache: it would say where a walk reads another's memory" {
	for_a_group
	as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	start "$TARGETS/shares" 20000
	mkdir -m 700 cache
	chown 65534:65534 cache
	XDG_CACHE_HOME=$out/cache "${as[@]}" "$SPROF" record -q --all-users -o data --source ebpf -d 300ms -p ${pids[0]}
	[ ! -e cache/sprof ]
	start "${as[@]}" "$place/targets/shares" 20000
	XDG_CACHE_HOME=$out/cache "${as[@]}" "$SPROF" record -q -o data --source ebpf -d 300ms -p ${pids[1]}
	[ -n "$(ls cache/sprof)" ]
}
