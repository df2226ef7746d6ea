# sprof record --source perf: the truths of truth.bats, as root and as an ordinary user, started and
# attached to.
source=perf
load ../source

# tests/root/source.bash explains the helpers; the kernel must allow events for the user nobody.
nobody_with_perf() {
	(($(cat /proc/sys/kernel/perf_event_paranoid) <= 2)) || skip "kernel.perf_event_paranoid is above 2"
	as_nobody
}

@test "perf: shares, and as many samples as CPU time" {
	started shares 2000
	truth_holds -v hz=999
	[ "$("$SPROF" info --json "$data" | jq -r .source)" = perf ]
}

# bats test_tags=full
@test "perf: a program that is started is sampled from its exec on, and sprof before that is not" {
	starts_without_sprof --source perf
}

# bats test_tags=full
@test "perf: 32 frames without frame pointers" {
	started deep32_nofp 2000
	truth_holds
}

# bats test_tags=full
@test "perf: eight threads" {
	started threads8 3000
	truth_holds
}

# bats test_tags=full
@test "perf: children that fork or exec" {
	started forkstorm 60 20
	# The stack cannot be copied while one of its pages is being brought in: perf record has 2
	# to 4 such samples of 1220 here.
	truth_holds -v other=20 -v broken=5
}

# bats test_tags=full
@test "perf: libraries that share an address over time" {
	started dlopen 3000
	truth_holds
}

# bats test_tags=full
@test "perf: code made at run time without frame pointers" {
	started jit_frames 3000
	truth_holds -v broken=60
	[ "$(samples decoy)" = 0 ]
}

# bats test_tags=full
@test "perf: kernel frames below system calls" {
	needs_root "see kernel frames"
	started kernel 2000
	truth_holds
	[ "$(awk '/_\[k\] [0-9]+$/ { kernel += $NF } { all += $NF } END { print (kernel > all / 2) }' "$folded")" = 1 ]
}

# bats test_tags=full
@test "perf: a stack deeper than its copy says where it ends" {
	started recursion 1500 5000
	awk '/^recursion;\[incomplete: .*;bottom [0-9]+$/ { n += $NF } END { print n; exit !(n > 1000) }' "$folded"
}

# bats test_tags=full
@test "perf, attached: shares" {
	attached shares 2500
	truth_holds
}

# bats test_tags=full
@test "perf, attached: 32 frames without frame pointers" {
	attached deep32_nofp 2500
	truth_holds
}

# bats test_tags=full
@test "perf, attached: eight threads" {
	attached threads8 5000
	truth_holds
}

# bats test_tags=full
@test "perf, attached: libraries" {
	attached dlopen 2500
	truth_holds
}

# bats test_tags=full
@test "perf: the whole machine" {
	needs_root "sample the whole machine"
	"$TARGETS/deep32_nofp" 2500 >"$truth" 3>&- &
	sleep 0.3
	"$SPROF" record -o "$data" --source perf -F 999 -d 1500ms -a
	wait $!
	fold_here
	tests/root/shares "$truth" <(grep ^deep32_nofp "$folded")
}

# bats test_tags=full
@test "nobody with perf: shares, and as many samples as CPU time" {
	nobody_with_perf
	started shares 2000
	truth_holds -v hz=999
}

# bats test_tags=full
@test "nobody with perf: 32 frames without frame pointers" {
	nobody_with_perf
	started deep32_nofp 2000
	truth_holds
}

# bats test_tags=full
@test "nobody with perf: eight threads" {
	nobody_with_perf
	started threads8 3000
	truth_holds
}

# bats test_tags=full
@test "nobody with perf: children that fork or exec" {
	nobody_with_perf
	started forkstorm 60 20
	truth_holds -v other=20 -v broken=5 # as above
}

# bats test_tags=full
@test "nobody with perf: libraries that share an address over time" {
	nobody_with_perf
	started dlopen 3000
	truth_holds
}

# bats test_tags=full
@test "nobody with perf, attached: shares" {
	nobody_with_perf
	attached shares 2500
	truth_holds
}

# bats test_tags=full
@test "nobody with perf, attached: 32 frames without frame pointers" {
	nobody_with_perf
	attached deep32_nofp 2500
	truth_holds
}

# bats test_tags=full
@test "nobody with perf, attached: eight threads" {
	nobody_with_perf
	attached threads8 5000
	truth_holds
}

# bats test_tags=full
@test "nobody with perf, attached: libraries" {
	nobody_with_perf
	attached dlopen 2500
	truth_holds
}

@test "nobody takes perf by itself, and is told why not ebpf" {
	nobody_with_perf
	run "${as[@]}" "$SPROF" record -o "$data" -- "$TARGETS/shares" 200
	[ "$status" -eq 0 ]
	grep -q '^sprof: sampling with perf, not ebpf: no BPF rights' <<<"$output"
	[[ $output != *cannot* ]]
}

@test "nobody may not sample the whole machine, nor someone else's process" {
	needs_root "be someone else"
	nobody_with_perf
	run "${as[@]}" "$SPROF" record -o "$data" --source perf -a
	[ "$status" -eq 1 ]
	[[ $output == *"cannot sample the whole system: "*"hint: "* ]]
	run "${as[@]}" "$SPROF" record -o "$data" --source perf -a --all-users
	[ "$status" -eq 1 ]
	[[ $output == *"cannot open perf events on whole CPUs: "*"hint: "* ]]
	run "${as[@]}" "$SPROF" record -o "$data" --source perf -p $$
	[ "$status" -eq 1 ]
	[[ $output == *"cannot look at process $$: "*"hint: "* ]]
	run "${as[@]}" "$SPROF" record -o "$data" --source perf -p $$ --all-users
	[ "$status" -eq 1 ]
	[[ $output == *"cannot open perf events on process $$: "*"hint: "* ]]
	[ ! -e "$data" ]
}

# bats test_tags=full
@test "ebpf and perf see the same shares of one process" {
	needs_bpf
	"$TARGETS/shares" 4000 >"$truth" 3>&- &
	local pid=$! other=$BATS_TEST_TMPDIR/other
	sleep 0.3
	"$SPROF" record -q -o "$data" --source ebpf -F 999 -d 2s -p $pid 3>&- &
	local first=$!
	"$SPROF" record -q -o "$other" --source perf -F 499 -d 2s -p $pid
	wait $first
	wait $pid
	"$SPROF" fold "$data" >"$folded"
	"$SPROF" fold "$other" >"$folded.other"
	same_shares "$folded" "$folded.other" ';main;part_'
}
