# Measures the flight recorder: what it costs to leave it on (flight), and how quickly what it left is read (flight_read).
# FLEET_ONLY=1 samples the processes of the benchmark alone, for a machine on which others work.

flight_cpu_s() { # pid: CPU time of a process and its children, those that have ended and those that live
	local pid children
	children=$(pgrep -P "$1" || true)
	for pid in $1 $children $(for pid in $children; do pgrep -P "$pid" || true; done); do
		sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null || true
	done | awk '{ sum += $12 + $13 + $14 + $15 } END { print sum / 100 }'
}

flight_bpf_s() { # pid: run time of the BPF programs that it holds, by the kernel's count
	local id
	for id in $(sed -n 's/^prog_id:[[:space:]]*//p' /proc/"$1"/fdinfo/* 2>/dev/null | sort -u); do
		PATH=$PATH:/usr/sbin bpftool prog show id "$id" -j
	done | jq -s 'map(.run_time_ns // 0) | add / 1e9'
}

# MB that no file backs, of a process and its children, and of the maps of its BPF programs. Maps that it has mapped into its
# own memory are in that, too, and count once.
flight_memory() { # pid
	local pid children kib=0
	children=$(pgrep -P "$1" || true)
	for pid in $1 $children $(for pid in $children; do pgrep -P "$pid" || true; done); do
		kib=$((kib + $(awk '/^[0-9a-f]+-[0-9a-f]+ / { is_map = /anon_inode:bpf/ } /^Private_Dirty:/ && !is_map { n += $2 } END { print n + 0 }' "/proc/$pid/smaps" 2>/dev/null || echo 0)))
	done
	cat /proc/"$1"/fdinfo/* 2>/dev/null | awk -v kib=$kib '/^memlock:/ { bytes = $2 } /^map_id:/ { if (!seen[$2]++) sum += bytes } END { printf "%.1f\n", (sum / 1024 + kib) / 1024 }'
}

flight_run() { # contender, seconds, options...
	local recorder contender=$1 seconds=$2 cpu bpf memory most=0 bytes i
	rm -rf "$work/flight"
	"$SPROF" record -q --continuous "$work/flight" --segment 20s -F 99 "${targets_of_flight[@]}" "${@:3}" 2>"$work/flight.log" &
	recorder=$!
	background+=" $recorder"
	sleep 45 # unwind rows are made, and names are looked up for the first time
	cpu=$(flight_cpu_s $recorder) bpf=$(flight_bpf_s $recorder)
	bytes=$(du -sb "$work/flight" | cut -f1)
	for ((i = 0; i < seconds; i += 5)); do
		sleep 5
		memory=$(flight_memory $recorder)
		[ "$(calc "$memory > $most")" = 0 ] || most=$memory
	done
	note "$contender.cpu" "$(calc "($(flight_cpu_s $recorder) - $cpu) * 100 / $seconds")"
	note "$contender.bpf" "$(calc "($(flight_bpf_s $recorder) - $bpf) * 100 / $seconds")"
	note "$contender.memory" "$most"
	note "$contender.bytes" "$(calc "($(du -sb "$work/flight" | cut -f1) - $bytes) * 3600 / $seconds / 1e6")"
	end $recorder
	note "$contender.samples" "$("$SPROF" info --json "$work/flight" 2>/dev/null | jq .samples)"
}

flight_rows() { # contender, what
	row "$2: CPU of the recorder and its children" "$(median "$1.cpu")" %
	row "$2: CPU of its BPF programs" "$(median "$1.bpf")" %
	row "$2: together" "$(calc "$(median "$1.cpu") + $(median "$1.bpf")")" % 0.3
	row "$2: memory, with its BPF maps" "$(median "$1.memory")" MB 60
	row "$2: written" "$(median "$1.bytes")" MB/h 5
}

bench_flight() {
	local nr=2000 seconds=${QUICK:+20} copies=20 i rounds=$ROUNDS targets_of_flight=(-a) pids=
	seconds=${seconds:-60}
	[ "$rounds" -le 3 ] || rounds=3
	build_tool fleet
	for ((i = 0; i < copies; i++)); do
		cp "$tools/fleet" "$work/fleet_$i" # files of their own, as programs are
		"$work/fleet_$i" $((nr / copies)) $((i == 0)) >/dev/null &
		background+=" $!" pids+=",$!"
	done
	[ -z "${FLEET_ONLY:-}" ] || targets_of_flight=(-p "${pids#,}")
	sleep 5
	for _ in $(seq "$rounds"); do
		flight_run flight "$seconds"
		flight_run flight_limited "$seconds" --max-memory 60M
	done
	end $background
	background=
	title "A flight recorder at 99 Hz, ${FLEET_ONLY:+of these alone, }$nr processes, one of which is busy: $seconds s of segments of 20 s"
	flight_rows flight "no limit"
	flight_rows flight_limited "--max-memory 60M"
	row "samples in the folder" "$(median flight.samples)" ''
}

bench_flight_read() {
	local segments=${QUICK:+120} start end what
	segments=${segments:-1440}
	rm -rf "$work/day"
	"$BUILD/tests/drivers/segments" "$work/day" "$segments" 60 99 50
	for _ in $(seq "$ROUNDS"); do
		for what in flame report; do
			start=$(date +%s%N)
			"$SPROF" $what "$work/day" >"$work/out" 2>/dev/null
			end=$(date +%s%N)
			note "flight_read.$what" "$(calc "($end - $start) / 1e9")"
		done
		start=$(date +%s%N)
		"$SPROF" report "$work/day" --from "$(date -u -d @$((1700000000 + segments * 30)) +%Y-%m-%dT%H:%M:%S)" --to "$(date -u -d @$((1700000000 + segments * 30 + 3600)) +%Y-%m-%dT%H:%M:%S)" >/dev/null 2>&1
		end=$(date +%s%N)
		note flight_read.hour "$(calc "($end - $start) / 1e9")"
	done
	title "Reading $((segments / 60)) h at 99 Hz of 50 processes, $(du -sh --apparent-size "$work/day" | cut -f1) in $segments segments"
	row "sprof flame DIR" "$(median flight_read.flame)" s 2
	row "sprof report DIR" "$(median flight_read.report)" s 2
	row "sprof report DIR, one hour of it" "$(median flight_read.hour)" s 2
	rm -rf "$work/day"
}
