# For tests of waits: compares the exact times of a recording, its samples, and the kernel's own
# counts, which the target tests/targets/waiting prints. Files: info.json (sprof info --json), truth
# (printed by the target), waiting and runnable (sprof fold --time of these columns), waiting.json and
# runnable.json (sprof report --by thread --json of them).

fold_waits() { # options, as --pid, and the recording
	"$SPROF" info --json "${!#}" >info.json
	"$SPROF" report --by thread --json --column waiting -o waiting.json "$@"
	"$SPROF" report --by thread --json --column runnable -o runnable.json "$@"
	"$SPROF" fold --time --column waiting "$@" >waiting
	"$SPROF" fold --time --column runnable "$@" >runnable
}

# cpu + runnable + waiting = wall, of every thread.
times_add_up() {
	jq -e '(.thread_times | length) > 0 and all(.thread_times[];
		(.cpu_ns + .runnable_ns + .waiting_ns - .wall_ns | fabs) <= .wall_ns / 1000)' info.json
}

kinds_of_threads='sleeps|naps|wants_lock|holds_lock|reads_pipe|reads_socket|writes|polls|waits_on|competes[12]'
times_of_threads() {
	jq -r '.thread_times[] | "\(.name) \(.waiting_ns) \(.runnable_ns) \(.cpu_ns) \(.switches)"' info.json |
		grep -E "^($kinds_of_threads) "
}

# Time that interrupts and other machines on the host took from all CPUs, in ns, in ticks of 10 ms. A file
# `stolen` with what it was before the recording makes room for it in kernel_agrees.
stolen_ns() {
	awk '/^cpu / { printf "%.0f\n", ($7 + $8 + $9) * 1e7 }' /proc/stat
}

# The times of each thread are the kernel's. Between a thread's creation or end and its function it
# may be preempted, so runnable time has room for that. A thread that is woken on an idle CPU runs,
# for the kernel, from the wakeup on, and not from the switch: 5 to 15 us later in a virtual machine.
# And where a CPU that becomes idle looks for other work first, the switch comes up to 50 us later. For
# the kernel, a thread does nothing while its CPU is stolen or interrupted.
kernel_agrees() {
	local before
	before=$(cat stolen 2>/dev/null || stolen_ns)
	times_of_threads | awk -v lost="$(jq .lost info.json)" -v stolen=$(($(stolen_ns) - before)) '
		function check(what, name, is, should, room) {
			printf "%-12s %-8s %9.3f ms, kernel %9.3f ms\n", name, what, is / 1e6, should / 1e6
			if (is - should > room || should - is > room)
				failed = 1
		}
		NR == FNR { waiting[$1] += $3; runnable[$1] += $5; cpu[$1] += $7; wall[$1] += $9; next }
		$1 in wall {
			nr++
			seen[$1] = 1
			check("waiting", $1, $2, waiting[$1], waiting[$1] / 50 + 3e6 + 20e3 * $5 + stolen)
			all += $2
			should += waiting[$1]
			check("runnable", $1, $3, runnable[$1], wall[$1] / 50 + 30e6 + stolen)
			check("cpu", $1, $4, cpu[$1], wall[$1] / 50 + 20e3 * $5 + stolen)
		}
		END {
			for (n in wall)
				if (!(n in seen))
					print n " is not in the recording"
			if (nr != 11)
				print nr + 0 " threads"
			exit failed || nr + lost < 11 || all > 1.02 * should || all < 0.98 * should
		}' truth -
}

# The samples of a column have the shares and the total of the exact times. Threads are told apart by
# their numbers: before a thread gives itself a name it has its parent's, and may wait for a CPU.
samples_agree() { # column, points
	jq -rn --arg field "$1_ns" --slurpfile info info.json --slurpfile rows "$1.json" '
		($rows[0].rows | map({ tid: (.function | capture("tid (?<t>[0-9]+)").t), ns: .self_ns })
			| group_by(.tid) | map({ key: .[0].tid, value: (map(.ns) | add) }) | from_entries) as $sampled |
		$info[0].thread_times[] | "\(.name) \(.[$field]) \($sampled[.tid | tostring] // 0)"' |
	grep -E "^($kinds_of_threads) " | awk -v room="$2" '
		{ exact[$1] += $2; all += $2; sampled[$1] += $3; total += $3 }
		END {
			for (n in exact) {
				off = 100 * (sampled[n] / total - exact[n] / all)
				printf "%-12s %6.2f %% of samples, %+.2f points\n", n, 100 * sampled[n] / total, off
				if (off > room || off < -room)
					failed = 1
			}
			printf "total %.3f ms, exact %.3f ms\n", total / 1e6, all / 1e6
			exit failed || !total || total > 1.02 * all || total < 0.98 * all
		}'
}

# What the threads waited for most is what they were made to wait for.
reasons_are_right() { # a thread that is left out
	awk -v out="${1-}" '
		BEGIN {
			expected["sleeps"] = expected["naps"] = expected["holds_lock"] = expected["writes"] = "sleep"
			expected["wants_lock"] = "lock wait"
			expected["reads_pipe"] = "pipe wait"
			expected["reads_socket"] = "socket wait"
			expected["polls"] = expected["waits_on"] = "poll wait"
			delete expected[out]
		}
		{
			time = $NF
			sub(/_\[w\][; ].*/, "") # above the reason is what it was for
			nr = split($0, frames, ";")
			by[frames[1], frames[nr]] += time
			if (by[frames[1], frames[nr]] > most[frames[1]]) {
				most[frames[1]] = by[frames[1], frames[nr]]
				reason[frames[1]] = frames[nr]
			}
		}
		END {
			for (n in expected) {
				print n ": " reason[n]
				failed = failed || reason[n] != expected[n]
			}
			exit failed
		}' waiting
	# The threads that compete for a CPU wait for nothing else.
	awk '/^competes[12];/ { all += $NF } /^competes[12];.*;preempted_\[w\]/ { preempted += $NF }
		END { printf "%.1f %% preempted\n", 100 * preempted / all; exit preempted < 0.98 * all }' runnable
	# Every stack ends in a wait, and holds no function of another thread.
	awk '
		BEGIN {
			split("sleeps naps wants_lock holds_lock reads_pipe reads_socket writes polls waits_on competes", k, " ")
			for (i in k)
				kinds[k[i]] = 1
		}
		!/_\[w\] [0-9]+$/ { print "no reason: " $0; failed = 1 }
		{
			nr = split($0, f, ";")
			own = f[1] ~ /^competes/ ? "competes" : f[1]
			if (!(own in kinds))
				next
			for (i = 2; i < nr; i++)
				if (f[i] in kinds && f[i] != own) {
					print "of another thread: " $0
					failed = 1
				}
		}
		END { exit failed }' waiting runnable
}
