# A flight recorder that is left running beside programs that come and go: what it holds does not grow. Part of make
# stress, where it takes SOAK_SECONDS (an hour if not given); in make check-all it is one minute.
#
# What a recorder knows of stacks and names grows until that has its share of --max-memory; then all of it is forgotten,
# and it grows anew. So its memory is a saw, and a straight line through a minute of it says how much of a tooth the
# minute has. Averages over whole teeth are compared here. The stacks that never come again are deep, so that a tooth
# takes seconds, and their program goes before others, so that it does so on a busy machine, too. The hour is one of all
# processes, the minute one of these here: others may bring large programs within it, whose unwind rows take memory.
bats_require_minimum_version 1.5.0
load ../flight

LEAST_TEETH=5
SHARE_KIB=$((80 * 1024 / 8)) # of --max-memory, for what is known of stacks and names

# How often the recorder has forgotten what it knew.
forgets() {
	grep -c 'are forgotten$' "$log" || true
}

# What is held now: the tooth, seconds since the start, KiB of memory that no file backs, descriptors, KiB of BPF maps,
# KiB on disk.
held() {
	local tooth=$(forgets) kib maps
	kib=$(awk '/^RssAnon|^RssShmem/ { n += $2 } END { print n }' /proc/$recorder/status)
	maps=$(cat /proc/$recorder/fdinfo/* 2>/dev/null | awk '/^memlock:/ { bytes = $2 } /^map_id:/ { if (!seen[$2]++) n += bytes } END { print int(n / 1024) }')
	echo "$tooth $SECONDS $kib $(ls /proc/$recorder/fd | wc -l) $maps $(du -sk "$dir" 2>/dev/null | cut -f1)"
}

# How many whole teeth there are.
teeth() {
	awk 'NR == 1 { first = $1 } END { n = $1 - first - 1; print (n > 0 ? n : 0) }' "$BATS_TEST_TMPDIR/held"
}

# The slope of a column of $BATS_TEST_TMPDIR/held per hour, and its error: of averages over tenths of the time, because
# neighbours in time depend on each other. COLUMN NAME UNIT [FILE]
slope() {
	awk -v column="$1" -v name="$2" -v unit="$3" '
		{ time[NR] = $2; value[NR] = $column }
		END {
			parts = NR < 10 ? NR : 10
			for (i = 1; i <= NR; i++) { p = int((i - 1) * parts / NR); n[p]++; x[p] += time[i]; y[p] += value[i] }
			for (p = 0; p < parts; p++) { x[p] /= n[p]; y[p] /= n[p]; mx += x[p] / parts; my += y[p] / parts }
			for (p = 0; p < parts; p++) { xx += (x[p] - mx) ^ 2; xy += (x[p] - mx) * (y[p] - my) }
			b = xy / xx
			for (p = 0; p < parts; p++) rest += (y[p] - my - b * (x[p] - mx)) ^ 2
			error = sqrt(rest / (parts - 2) / xx)
			printf "%s: %.0f %s on average, slope %.1f +- %.1f %s an hour\n", name, my, unit, b * 3600, error * 3600, unit
		}' "${4:-$BATS_TEST_TMPDIR/held}"
}

# What is added in the time of the test, an hour at most, is not more than that, or not certain to be.
# COLUMN NAME UNIT MOST [FILE]
is_flat() {
	local most line=$(slope "$1" "$2" "$3" "${5:-}")
	echo "$line"
	echo "soak: $line" >&3
	most=$(($4 * (3600 > taken ? 3600 / taken : 1)))
	[ "$(sed -E 's/.*slope (.*) \+- (.*) .* an hour/\1 \2/' <<<"$line" | awk -v most=$most '{ print $1 - 3 * $2 <= most }')" = 1 ]
}

# The same of memory: of a line for each whole tooth, with its averages. Where a minute has no teeth, because the machine
# let nobody run, all of it is a part of one.
memory_is_flat() {
	if [ "$(teeth)" -ge $LEAST_TEETH ]; then
		awk 'NR == 1 { first = $1 } { n[$1]++; x[$1] += $2; y[$1] += $3 }
			END { for (t = first + 1; t < $1; t++) if (n[t]) print t, x[t] / n[t], y[t] / n[t] }' "$BATS_TEST_TMPDIR/held" >"$BATS_TEST_TMPDIR/teeth"
		is_flat 3 "memory, $(teeth) teeth" KiB 1024 "$BATS_TEST_TMPDIR/teeth"
	else
		awk -v most=$((SHARE_KIB + 1024)) '{ k = $3 } NR == 1 || k < least { least = k } k > greatest { greatest = k }
			END { print "memory: from " least " to " greatest " KiB, less than a tooth"; exit greatest - least > most }' "$BATS_TEST_TMPDIR/held"
	fi
}

# bats test_tags=full,stress
@test "with churn, memory, descriptors and disk of a flight recorder have no slope" {
	local seconds=60 end taken sampled
	work shares 100000000
	start nice -n -10 "$TARGETS/unique" 100000000 400
	start bash -c 'while :; do /bin/true; /bin/ls /usr >/dev/null; cat /proc/self/maps >/dev/null
		[ ! -x /usr/bin/python3 ] || /usr/bin/python3 -c "import json"; sleep 0.02; done'
	start "$TARGETS/hostile_files" build 100000000 "$BATS_TEST_TMPDIR"
	sampled=(-p "$(IFS=,; echo "${pids[*]}")")
	if [ -n "${STRESS:-}" ]; then
		seconds=${SOAK_SECONDS:-3600} sampled=(-a)
	fi
	fly -v --segment 2s --keep 20s -F 199 "${sampled[@]}" --max-memory 80M
	# It learns what runs, the first segments go, and the first tooth ends.
	SECONDS=0 end=$((seconds / 5 < 30 ? 30 : seconds / 5 > 300 ? 300 : seconds / 5))
	while [ $SECONDS -lt $end ] || { [ "$(forgets)" = 0 ] && [ $SECONDS -lt 90 ]; }; do
		sleep 1
	done
	SECONDS=0 end=$seconds
	held >"$BATS_TEST_TMPDIR/held"
	while [ $SECONDS -lt $end ] || { [ "$(teeth)" -lt $LEAST_TEETH ] && [ $SECONDS -lt 100 ]; }; do
		sleep 1
		held >>"$BATS_TEST_TMPDIR/held"
	done
	taken=$SECONDS
	kill -0 $recorder
	land
	[ -z "${SOAK_FILE:-}" ] || cp "$BATS_TEST_TMPDIR/held" "$SOAK_FILE"
	memory_is_flat
	is_flat 4 descriptors '' 10
	is_flat 5 'BPF maps' KiB 1024
	is_flat 6 disk KiB 1024
	"$SPROF" info --json "$dir" 2>/dev/null | jq -e '.samples > 0'
}
