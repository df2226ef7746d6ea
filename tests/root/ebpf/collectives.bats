# sprof record --calls collectives, and sprof ranks: a job over gloo on the CPU. The library is Debian's, fetched once
# (1 MB). PyTorch over it runs where python3 has torch; STRESS=1 fetches Debian's (150 MB) where it has not.
# bats file_tags=full

load ../recorder
load ../../gpu/real

setup_file() {
	local at
	at=$(debian_gloo) || return 0
	export GLOO_RANK=$BATS_FILE_TMPDIR/gloo_rank GLOO_LIBRARIES=$at/usr/lib:$at/usr/lib/x86_64-linux-gnu
	g++ -O1 -g -w -fno-omit-frame-pointer -I"$at/usr/include" -o "$GLOO_RANK" tests/root/ebpf/gloo_rank.cc \
		-L"$at/usr/lib" -L"$at/usr/lib/x86_64-linux-gnu" -Wl,--allow-shlib-undefined -lgloo -lpthread
}

setup() {
	needs_bpf
	pids=()
	cd "$BATS_TEST_TMPDIR"
}

needs_gloo() {
	[ -x "${GLOO_RANK-}" ] || skip "no network to fetch Debian's libgloo from, or no g++"
}

# Records a process for each rank. NR, program and arguments.
job() {
	local nr=$1 r ranks=() failed=0
	shift
	rm -rf meet sprof.rank*.data*
	mkdir meet
	for ((r = 0; r < nr; r++)); do
		RANK=$r LOCAL_RANK=$r WORLD_SIZE=$nr OMP_NUM_THREADS=1 LD_LIBRARY_PATH=${LIBRARIES-$GLOO_LIBRARIES} timeout -k 5 100 \
			"$SPROF" record -s ebpf --gpu off --calls collectives -- "$@" >log.$r 2>&1 3>&- &
		ranks+=($!)
	done
	pids+=("${ranks[@]}")
	for r in "${ranks[@]}"; do
		wait "$r" || failed=1
	done
	[ $failed -eq 0 ] || { cat log.*; return 1; }
}

# The latest arrival is of that rank, so many collectives before the last one, and load_batch() is the cause.
found() { # RANK, COLLECTIVES
	"$SPROF" ranks --json -n 0 sprof.rank*.data >found
	jq -e --argjson rank "$1" --argjson before "$2" '([.latest[].number] | max) as $last | .latest[0] |
		.last == $rank and .number == $last - $before and .name == "gloo::allreduce" and .late_ns > 15e6' found &&
		"$SPROF" ranks --json -n 1 sprof.rank*.data | jq -e '[.causes[] | select(.rank == '"$1"')][0].path | [.[].name] |
			any(test("load_batch"))'
}

# Delays one rank of eight in one step by 20 ms, some times; each must be found. TIMES, program...
delays_are_found() {
	local late step times=$1 i nr=0
	shift
	for ((i = 0; i < times; i++)); do
		late=$((RANDOM % 8)) step=$((1 + RANDOM % 11))
		LATE=$late:$step:20 job 8 "$@" || return 1
		[ "$(cat log.* | grep -c '^sum 8$')" -eq 8 ]
		if found $late $((11 - step)) >/dev/null; then
			nr=$((nr + 1))
		else
			echo "$i: rank $late, step $step:"
			"$SPROF" ranks -n 3 sprof.rank*.data
		fi
	done
	echo "$nr of $times found"
	[ -z "${STRESS-}" ] || echo "# $BATS_TEST_DESCRIPTION: $nr of $times" >&3
	[ $nr -eq $times ]
}

@test "every collective operation of every rank is recorded, and the sums are right" {
	needs_gloo
	LATE=2:3:20 job 4 "$GLOO_RANK" 10 meet
	[ "$(cat log.* | grep -c '^sum 4$')" -eq 4 ]
	"$SPROF" ranks --json -n 0 sprof.rank*.data >found
	jq -e '[.ranks[] | [.rank, .operations, .collectives]] == [range(4) | [., 11, 10]]' found
	jq -e '.communicators == 1 and .incomplete == 0 and .exact' found
	"$SPROF" ranks sprof.rank*.data | grep -q 'gloo::allreduce .* 0-3 '
	! "$SPROF" ranks sprof.rank*.data | grep 'The job has' || false
	"$SPROF" ranks sprof.rank[013].data | grep -q '^The job has 4 ranks: of the others there is no collective operation here'
	# one recording of all
	"$SPROF" merge sprof.rank*.data -o merged.data
	"$SPROF" ranks --json -n 0 merged.data | jq -e '[.ranks[] | [.rank, .operations]] == [range(4) | [., 11]]'
}

@test "a delay of 20 ms in one of eight ranks over gloo is found, with its function" {
	needs_gloo
	chrt -f 1 true 2>/dev/null || skip "needs CAP_SYS_NICE"
	delays_are_found "${STRESS_RUNS:-3}" "$GLOO_RANK" 12 meet
}

@test "an exception of gloo passes through a timed function" {
	needs_gloo
	LOST=1 job 4 "$GLOO_RANK" 5 meet
	[ "$(cat log.* | grep -c '^lost$')" -ge 2 ]
	[ "$(cat log.* | grep -c 'terminate called')" -eq 0 ]
	"$SPROF" ranks --json -n 0 sprof.rank*.data | jq -e '[.ranks[].operations] | min == 5 and max <= 6'
}

@test "a delay of 20 ms in one of eight ranks of PyTorch over gloo is found, with its function" {
	local python=python3 at
	chrt -f 1 true 2>/dev/null || skip "needs CAP_SYS_NICE"
	LIBRARIES=${LD_LIBRARY_PATH-}
	if ! python3 -c 'import torch.distributed as d; assert d.is_available()' 2>/dev/null; then
		[ -n "${STRESS-}" ] || [ -e "$CACHE/debian-torch" ] || skip "python3 has no torch (STRESS=1 fetches Debian's)"
		at=$(debian_torch) || skip "no network to fetch Debian's PyTorch from"
		python=/usr/bin/python3
		LIBRARIES=$(torch_libraries "$at") PYTHONPATH=$at/usr/lib/python3/dist-packages
		export PYTHONPATH
		LD_LIBRARY_PATH=$LIBRARIES $python -c 'import torch.distributed as d; assert d.is_available()' ||
			skip "Debian's PyTorch does not run with $python"
	fi
	delays_are_found "${STRESS_RUNS:-1}" $python "$BATS_TEST_DIRNAME/torch_rank.py" 12 "$PWD/meet/ranks"
}
