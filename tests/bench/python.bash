# Measures what a Python frame costs in the BPF program: the difference between 10 and 210 of them
# in one run of the eval loop, in which the number of native frames is the same. Needs Python 3.11
# or later, where Python calls Python without C in between.
bench_python() {
	local seconds=${QUICK:+1} before python version
	seconds=${seconds:-2}
	python_cost() { # contender, interpreter, depth, functions
		"$2" tests/targets/python_depth.py "$3" "$4" &
		local target=$! time cpu
		"$SPROF" record -q -F 4999 -o "$work/data" -p $target &
		local recorder=$!
		background="$target $recorder"
		sleep 1
		time=$(own_run_time_ns $recorder) cpu=$(cpu_ns $target)
		sleep "$seconds"
		time=$(calc "$(own_run_time_ns $recorder) - $time") cpu=$(calc "$(cpu_ns $target) - $cpu")
		end $background
		background=
		note "$1" "$(calc "$time / ($cpu / 1e9 * 4999)")"
	}
	own_run_time_ns() { # recorder: of its program alone, as others may be sampling
		awk '/^run_time_ns:/ && $2 > most { most = $2 } END { print most + 0 }' /proc/"$1"/fdinfo/*
	}
	before=$(sysctl -n kernel.bpf_stats_enabled)
	sysctl -qw kernel.bpf_stats_enabled=1
	title "Python frames in the BPF program"
	build_tool user_read
	row "a read of user memory, which is warm" "$("$tools/user_read")" ns
	for python in /usr/bin/python3 ~/.pyenv/versions/3.1[2-9]*/bin/python3; do
		version=$("$python" -c 'import sys; print(*sys.version_info[:3], sep=".")' 2>/dev/null) || continue
		for _ in $(seq "$ROUNDS"); do
			python_cost "flat$version" "$python" 10 210
			python_cost "tall$version" "$python" 210 210
			python_cost "same$version" "$python" 210 1
		done
		row "CPython $version, per frame" "$(calc "$(paired "tall$version" - "flat$version") / 200")" ns 120
		row "CPython $version, of one function" "$(calc "$(paired "same$version" - "flat$version") / 200")" ns 120
	done
	sysctl -qw kernel.bpf_stats_enabled="$before"
}
