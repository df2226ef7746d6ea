# Memory of tensors: what PyTorch's allocators report to c10 (sprof record --alloc=tensor). A stand-in
# for libc10.so reports blocks of known sizes at known places, so every number is exact.
load ../recorder
load ../allocations

# Starts the program and hooks it before it reports: it loads the library before the recorder comes, or meanwhile.
hook_tensors() { # ARGUMENTS...
	start_sites "$TARGETS/tensors" "$TARGETS/libc10.so" "$@"
	[ -z "${loads_first-}" ] || load_library
	"$SPROF" record -v -o "$data" --alloc=tensor "${options[@]}" -p $sites 2>"$BATS_TEST_TMPDIR/said" 3>&- &
	recorder=$!
	pids+=($recorder)
	until [ -e "$data" ]; do kill -0 $recorder && sleep 0.05; done
	[ -n "${loads_first-}" ] || load_library
	until grep -q 'allocation functions hooked' "$BATS_TEST_TMPDIR/said"; do kill -0 $recorder && sleep 0.05; done
	echo >&$go
	until_says end
}

load_library() {
	echo >&$go
	until_says loaded
}

finish() {
	kill -INT $recorder
	wait $recorder
	exec {go}>&-
	wait $sites
	cat "$BATS_TEST_TMPDIR/said" "$truth"
	grep 'arguments ok' "$truth"
}

# Compares each place with the truth, to the byte: FIELD-OF-TRUTH, COLUMN-OF-GPU, COLUMN-OF-CPU
exactly() {
	{
		"$SPROF" fold --column "$2" "$data"
		"$SPROF" fold --column "$3" "$data"
	} | awk -v field="$1" '
	FNR == NR { if (/^site_/) truth[$1] = $field; next }
	{ all += $NF; for (name in truth) if (index($0, name)) sum[name] += $NF }
	END {
		for (name in truth) {
			whole += truth[name]
			printf "%s: %.0f, to be %.0f\n", name, sum[name], truth[name]
			if (sum[name] + 0 != truth[name]) bad = 1
		}
		printf "all: %.0f, to be %.0f\n", all, whole
		exit bad || all != whole
	}' "$truth" -
}

setup() {
	needs_bpf
	pids=()
	options=()
}

@test "tensors: each block is counted where it was asked for, and on its device" {
	hook_tensors
	finish
	exactly 2 gpu-allocated cpu-allocated
	exactly 3 gpu-live cpu-live
	"$SPROF" report --column gpu-allocated "$data" | tee "$BATS_TEST_TMPDIR/report"
	grep -q 'every one counted' "$BATS_TEST_TMPDIR/report"
	# 10 + 300 + 1 + 5 + 25 + 2 blocks of GPUs, and 7 of the CPU.
	[ "$("$SPROF" fold --column gpu-blocks "$data" | awk '{ n += $NF } END { print n }')" -eq 343 ]
	[ "$("$SPROF" fold --column cpu-blocks "$data" | awk '{ n += $NF } END { print n }')" -eq 7 ]
	# malloc is not hooked, so the program's columns of it are not there.
	run "$SPROF" report --column live "$data"
	[ "$status" -ne 0 ]
	# By device, with the label.
	while read -r _ device bytes live _; do
		column=gpu
		[ "$device" != cpu ] || column=cpu
		is=$("$SPROF" fold --column $column-allocated --label "device=$device" "$data" | awk '{ n += $NF } END { printf "%.0f", n }')
		[ "$is" = "$bytes" ]
		is=$("$SPROF" fold --column $column-live --label "device=$device" "$data" | awk '{ n += $NF } END { printf "%.0f", n }')
		[ "$is" = "$live" ]
	done < <(grep ^device "$truth")
}

@test "tensors: the peak has the block that made it, and the page draws it" {
	hook_tensors
	finish
	"$SPROF" fold --column gpu-live --peak "$data" | tee "$BATS_TEST_TMPDIR/peak"
	[ "$(awk '/site_peak/ { n += $NF } END { print n }' "$BATS_TEST_TMPDIR/peak")" -eq $((64 << 20)) ]
	[ "$(awk '/site_weights/ { n += $NF } END { print n }' "$BATS_TEST_TMPDIR/peak")" -eq $((10 << 20)) ]
	[ "$(awk '{ n += $NF } END { print n }' "$BATS_TEST_TMPDIR/peak")" -eq $((74 << 20)) ]
	"$SPROF" report --column gpu-live --peak "$data" | grep 'GPU memory of tensors in use when it was most'
	"$SPROF" flame --column gpu-live -o "$BATS_TEST_TMPDIR/page.html" "$data"
	grep -o 'aria-label="memory of tensors over time"' "$BATS_TEST_TMPDIR/page.html"
	grep -o 'cuda:0, peak [^<]*' "$BATS_TEST_TMPDIR/page.html" | grep 'peak 77.6 MB'
	grep -q 'cuda:1 reserved' "$BATS_TEST_TMPDIR/page.html"
	# What sprof info says of each device is what the program has counted.
	grep ^device "$truth" | sort | awk '{ print $2, $3, $4, $5 }' >"$BATS_TEST_TMPDIR/expected"
	"$SPROF" info --json "$data" | jq -r '.tensors[] | "\(.device) \(.bytes) \(.allocated_bytes) \(.peak_bytes)"' | sort |
		diff "$BATS_TEST_TMPDIR/expected" -
}

@test "tensors: by line, with the number of blocks" {
	hook_tensors
	finish
	line=$(grep -n 'change(address(0, i), MIB, first);' tests/targets/tensors.c | cut -d: -f1)
	"$SPROF" lines --column gpu-live --json "$data" | jq -e --argjson line "$line" '
		[.functions[] | select(.function == "site_weights") | .lines[] | select(.line == $line)][0] |
		.live == { bytes: 10485760, margin: 0, blocks: 10 } and .allocated.blocks == 10'
}

@test "tensors: what makes no sense is counted as lost, and the rest is exact" {
	hook_tensors hostile
	finish
	exactly 2 gpu-allocated cpu-allocated
	exactly 3 gpu-live cpu-live
	"$SPROF" report --column gpu-live "$data" | grep -E '[1-9][0-9]* lost'
	"$SPROF" flame --column gpu-live -o "$BATS_TEST_TMPDIR/page.html" "$data"
	"$SPROF" info "$data"
}

@test "tensors and malloc in one recording: their bytes are never added" {
	options=(--alloc=64k)
	loads_first=1
	hook_tensors
	finish
	exactly 2 gpu-allocated cpu-allocated
	exactly 3 gpu-live cpu-live
	run "$SPROF" fold "$data" --peak
	[[ $output == *"site_peak"* ]]
}

# bats test_tags=full
@test "tensors: more blocks than can be recorded are sampled, without bias" {
	hook_tensors fast 4000
	finish
	"$SPROF" report --column gpu-allocated "$data" | tee "$BATS_TEST_TMPDIR/report"
	! grep -q 'every one counted' "$BATS_TEST_TMPDIR/report" || false
	"$SPROF" lines --json --column gpu-allocated "$data" >"$BATS_TEST_TMPDIR/json"
	# A margin is 1.96 standard deviations.
	jq -e --argjson allocated "$(awk '/^site_fast/ { print $2 }' "$truth")" --argjson live "$(awk '/^site_fast/ { print $3 }' "$truth")" '
		def is_close($m; $truth): [$m, $truth] | debug | .[0].bytes - .[1] | fabs < 2.2 * $m.margin;
		.lost == 0 and ([.functions[] | select(.function == "site_fast")][0] |
			is_close(.allocated; $allocated) and is_close(.live; $live))' "$BATS_TEST_TMPDIR/json"
}

@test "a process without PyTorch: --alloc=tensor leaves it alone, and says so" {
	run timeout 60 "$SPROF" record -o "$data" --alloc=tensor -- sh -c 'exit 3'
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *"no process has loaded PyTorch"* ]]
}
