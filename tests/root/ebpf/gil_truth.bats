# Waits for Python's GIL against the kernel's own counts. Long in all: each runs for some seconds.
# bats file_tags=full
load ../kernel

setup() {
	needs_bpf
	cd "$BATS_TEST_TMPDIR"
	command -v python3 >/dev/null || skip "there is no python3"
	python=$(python3 -c 'import sys; print(sys.executable)')
	"$python" -c 'import sys; sys.exit(sys.version_info >= (3, 13) and not sys._is_gil_enabled())' || skip "this Python has no GIL"
}

# The shares of the two functions within 0.5 points, their sum within 2 %, and hardly any other reason. Where waits
# are shorter than the period, a sample stands for many of them: then, within four standard deviations of so many
# samples.
truth_holds() { # period of the samples, arguments of the target...
	"$SPROF" record -q --source ebpf --clock off --wait-period "$1" -o data -- "$python" "$BATS_TEST_DIRNAME/../../targets/python_gil_waits.py" "${@:2}" >truth
	"$SPROF" info --json data | jq -c '[.lost, .times]'
	"$SPROF" info --json data | jq -e '.lost == 0' >/dev/null
	local samples
	samples=$("$SPROF" report --json --column waiting --focus '^(few|many) ' data | jq '.samples - (.filtered_samples // 0)')
	"$SPROF" fold --time --column waiting data | awk -v period="$1" -v samples="$samples" -v brief="${brief-}" '
		NR == FNR { exact[$1] = $2; all += $2; next }
		{ name = "" }
		/;few \(python_gil_waits\.py:[0-9]+\);/ { name = "few" }
		/;many \(python_gil_waits\.py:[0-9]+\);/ { name = "many" }
		!name { next }
		{ is[name] += $NF; total += $NF }
		/;GIL wait_\[w\]/ { gil += $NF }
		END {
			for (n in exact) {
				off = 100 * (is[n] / total - exact[n] / all)
				printf "%s: %.3f s of %.3f s, %+.2f points\n", n, is[n] / 1e9, exact[n] / 1e9, off
				room = 0.5 + (brief ? 400 * sqrt(exact[n] / all * (1 - exact[n] / all) / samples) : 0)
				failed = failed || off > room || off < -room
			}
			off = total / all - 1
			room = 0.02 + (brief ? 4 / sqrt(samples) : 0)
			printf "period %s: total %+.2f %% by %d samples, %.2f %% of it is for the GIL\n", period, 100 * off, samples, 100 * gil / total
			exit failed || off > room || off < -room || gil < 0.99 * total
		}' truth -
}

@test "eight threads that wait for the GIL for less than a period have their true times" {
	brief=1
	truth_holds 1ms 5 8 50
	truth_holds 10ms 5 8 50
}

@test "eight threads that wait for the GIL for longer than a period have their true times" {
	truth_holds 1ms 5 8 500
	truth_holds 10ms 8 8 3000
}

@test "two thousand threads that wait for the GIL have their true times" {
	truth_holds 1ms 8 2000 50
	truth_holds 10ms 8 2000 50
}

# How much of the time off a CPU was runnable, by samples and exactly: a thread has at most one or two samples.
divided_right() { # points
	for column in waiting runnable; do
		"$SPROF" fold --time --column $column data | awk -v c=$column '{ n += $NF } END { printf "%s %.0f\n", c, n }'
	done >sampled
	"$SPROF" info --json data | jq -r '.times | "waiting \(.waiting_ns)", "runnable \(.runnable_ns)"' | awk -v room="$1" '
		NR == FNR { is[$1] = $2; next }
		{ exact[$1] = $2 }
		END {
			share = 100 * is["runnable"] / (is["waiting"] + is["runnable"])
			should = 100 * exact["runnable"] / (exact["waiting"] + exact["runnable"])
			printf "%.2f %% runnable, exactly %.2f %%\n", share, should
			exit share - should > room || should - share > room
		}' sampled -
}

@test "threads that live for 2 ms have their true waits for the GIL" {
	brief=1
	truth_holds 1ms 5 8 50 2
	divided_right 2
	truth_holds 10ms 5 8 50 2
	divided_right 2
}
