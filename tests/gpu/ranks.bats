# sprof ranks, and recordings of the ranks of a job, over the fake GPU. No rights are needed.

load fake.bash

setup() {
	fake_setup
	cd "$BATS_TEST_TMPDIR"
	WORK=$TARGETS/gpu_rank
}

# Starts a job: a command for each rank, as torchrun does. Arguments: the command.
job() { # NR command...
	local nr=$1 r pids=() failed=0
	shift
	truncate -s 0 job && truncate -s 4M job
	for ((r = 0; r < nr; r++)); do
		FAKE_JOB=$PWD/job RANK=$r LOCAL_RANK=$r WORLD_SIZE=$nr timeout 60 "$@" >log.$r 2>&1 &
		pids+=($!)
	done
	for r in "${pids[@]}"; do
		wait "$r" || failed=1
	done
	[ $failed -eq 0 ] || { cat log.*; return 1; }
}

export -f job

# The rank of the latest collective, its name, and whether load_batch() is the cause.
latest() { # file...
	"$SPROF" ranks --json -n 1 "$@" | jq -r '.latest[0] | "\(.last) \(.name) \(.cause | test("load_batch"))"'
}

# Others may be late now and then on a busy machine, so this rank is in every step. With the priority of real time no other
# program makes a rank late.
@test "a recording per rank: the late rank and its stack are found" {
	local first=()
	! chrt -f 1 true 2>/dev/null || first=(chrt -f 1)
	LATE=3:-1:20:spin job 8 "$SPROF" record -s timer -- "${first[@]}" "$WORK" 12
	[ "$(ls sprof.rank*.data | wc -l)" -eq 8 ] && [ ! -e sprof.data ]
	"$SPROF" ranks --json -n 0 sprof.rank*.data >found
	cut -c1-300 found
	jq -e '.exact and (.ranks | length) == 8 and [.ranks[].rank] == [range(8)] and .communicators == 5' found
	# sums of eight ranks and gathers of four pairs, but for the first of each
	jq -e '.collectives == 12 + 4 * 11 and .incomplete == 0' found
	jq -e '[.latest[] | .name + " " + .ranks] | unique == ["AllGather 0,1", "AllGather 2,3", "AllGather 4,5", "AllGather 6,7", "AllReduce 0-7"]' found
	jq -e '.ranks[3] | .last >= 10 and .late_ns > 12 * 15e6 and .gpu == "GPU-abababab-abab-abab-abab-abababababab"' found
	jq -e '[.latest[] | select(.last == 3 and .name == "AllReduce" and (.cause | test("load_batch")))] | length >= 8' found
	jq -e '.causes[0] | .rank == 3 and ([.path[].name] | index("be_late") and index("load_batch"))' found
	jq -e '.causes[0].latest_call | index("train_step") and index("collect")' found
	"$SPROF" ranks sprof.rank*.data >text
	cat text
	grep -q '^8 ranks, 56 collectives of 5 communicators' text
	grep -q 'One host, one clock: the times are exact' text
	grep -Eq 'AllReduce .* 0-7 +3 +[0-9.]+ ms .* load_batch' text
}

@test "one recording of a launcher has all ranks, and labels its processes by them" {
	# Each rank computes for long enough to have samples.
	printf '#!/bin/sh\nLATE=$RANK:-1:$((RANK == 2 ? 40 : 8)):spin exec "$@"\n' >rank
	"$SPROF" record -s timer -o g.data -- bash -c 'job "$@"' job 4 sh "$PWD/rank" "$WORK" 5
	"$SPROF" ranks --json g.data | jq -e '[.ranks[].rank] == [0, 1, 2, 3] and .ranks[2].last >= 4 and .ranks[2].late_ns > 70e6'
	"$SPROF" report --by rank --json g.data | jq -e '[.rows[].function] | contains(["rank 0", "rank 1", "rank 2", "rank 3"])'
	"$SPROF" report --by process --json g.data | jq -e '[.rows[].function] | any(test("^gpu_rank \\(rank 2, pid [0-9]+\\)$"))'
}

@test "merged recordings keep ranks, GPUs and tables, and say the same" {
	LATE=1:-1:20:spin job 4 "$SPROF" record -s timer -- "$WORK" 6
	"$SPROF" merge sprof.rank*.data -o g.data 2>log
	cat log
	[ ! -s log ]
	what='[.communicators, .collectives, .exact, [.ranks[] | [.rank, .host, .gpu, .collectives, .last, .late_ns, .waited_ns]], [.latest[] | [.name, .number, .ranks, .last, .late_ns, .waited_ns, .cause]]]'
	"$SPROF" ranks --json -n 0 sprof.rank*.data | jq -c "$what" >apart
	"$SPROF" ranks --json -n 0 g.data | jq -c "$what" | diff apart -
	"$SPROF" report --gpu --json g.data | jq -e '.devices | length == 4 and ([.[].uuid] | unique | length) == 1'
	# Processes of one number on two hosts: none replaces the other.
	"$SPROF" merge g.data g.data -o twice.data
	"$SPROF" report --gpu --json twice.data | jq -e '.devices | length == 8 and ([.[].pid] | unique | length) == 8'
	"$SPROF" ranks --json twice.data | jq -e '[.ranks[].rank] == [0, 0, 1, 1, 2, 2, 3, 3]'
}

# bats test_tags=full
@test "one delay of 20 ms in one rank of eight is found" {
	local late step
	chrt -f 1 true 2>/dev/null || skip "needs CAP_SYS_NICE"
	for _ in {1..5}; do
		late=$((RANDOM % 8)) step=$((1 + RANDOM % 11))
		rm -f sprof.rank*.data*
		LATE=$late:$step:20:spin job 8 "$SPROF" record -s timer -- chrt -f 1 "$WORK" 12
		echo "$late:$step"; "$SPROF" ranks -n 3 sprof.rank*.data
		"$SPROF" ranks --json -n 1 sprof.rank*.data |
			jq -e ".latest[0] | .last == $late and .name == \"AllReduce\" and .number == $((step + 2)) and (.cause | test(\"load_batch\"))"
	done
}

@test "a rank whose GPU is late is told from one whose host is" {
	LATE=1:-1:20:gpu job 4 "$SPROF" record -s timer -- "$WORK" 8
	"$SPROF" ranks --json -n 1 sprof.rank*.data >found
	cat found
	jq -e '([.causes[] | select(.rank == 1)][0] | .late_ns - .host_late_ns > 7 * 15e6)' found
	jq -e '[.causes[] | select(.rank == 1)][0].path[0] | .name == "[work of the GPU]" and .excess_ns > 7 * 15e6' found
}

@test "a rank that slept has no samples, which is said, and its call is shown" {
	LATE=1:-1:20:sleep job 4 "$SPROF" record -s timer -- "$WORK" 8
	"$SPROF" ranks sprof.rank*.data >text
	cat text
	grep -q '^Rank 1 came last .* has no more CPU samples than the other ranks before that: it waited (--clock wall' text
	grep -q 'The latest call came from .* > train_step > collect > ' text
	grep -q 'AllReduce .* \[no CPU sample\] before train_step > collect$' text
}
