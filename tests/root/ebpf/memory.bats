# sprof record --max-memory: files whose unwind rows take more than a recorder may have. tests/unit/core/base has the
# shares, tests/unit/cli/service the watch. What a recorder takes is measured from outside, by the kernel's own count.
bats_require_minimum_version 1.5.0
load ../flight

# Builds the big program, once for the tests of this file.
needs_big() {
	BIG=$BATS_FILE_TMPDIR/big
	[ ! -x "$BIG" ] || return 0
	command -v gcc >/dev/null || skip "needs gcc"
	# 6 MB of .eh_frame of functions that never run, beside 32 frames that do.
	cat >"$BATS_FILE_TMPDIR/filler.S" <<-'END'
		.text
		.rept 160000
		.cfi_startproc
		push %rbp
		.cfi_adjust_cfa_offset 8
		.cfi_offset %rbp, -16
		push %rbx
		.cfi_adjust_cfa_offset 8
		.cfi_offset %rbx, -24
		sub $40, %rsp
		.cfi_adjust_cfa_offset 40
		nop
		add $40, %rsp
		.cfi_adjust_cfa_offset -40
		pop %rbx
		.cfi_adjust_cfa_offset -8
		pop %rbp
		.cfi_adjust_cfa_offset -8
		ret
		.cfi_endproc
		.endr
		.section .note.GNU-stack,"",@progbits
	END
	cp tests/targets/deep32_nofp.c "$BATS_FILE_TMPDIR/big.c"
	gcc -O2 -g -std=gnu11 -D_GNU_SOURCE -I. -fomit-frame-pointer -o "$BIG" "$BATS_FILE_TMPDIR/big.c" "$BATS_FILE_TMPDIR/filler.S"
}

setup() {
	needs_bpf
	pids=() dir=$BATS_TEST_TMPDIR/flight log=$BATS_TEST_TMPDIR/log data=$BATS_TEST_TMPDIR/o.data
}

# What the recorder takes, in KiB: its memory and that of its children that no file backs, and the maps of its BPF
# programs, each once. A child shares much with its parent: what it has beside that is what counts.
taken() {
	local pid kib=0
	for pid in $recorder $(pgrep -P $recorder) $(pgrep -P "$(pgrep -d, -P $recorder)" 2>/dev/null); do
		kib=$((kib + $(awk '/^(Private_Dirty|Private_Hugetlb):/ { n += $2 } END { print n + 0 }' /proc/$pid/smaps_rollup 2>/dev/null || echo 0)))
	done
	kib=$((kib + $(cat /proc/$recorder/fdinfo/* 2>/dev/null | awk '/^memlock:/ { bytes = $2 } /^map_id:/ { if (!seen[$2]++) n += bytes } END { print int(n / 1024) }')))
	echo $kib
}

# The most that is taken while a command runs. Sets $most.
watch_while() { # COMMAND...
	local now
	most=0
	"$@" &
	local command=$!
	while kill -0 $command 2>/dev/null; do
		now=$(taken)
		[ "$now" -le $most ] || most=$now
		sleep 0.1
	done
	echo "at most $most KiB"
}

# A busy machine takes a while to have that many stacks.
second_segment() {
	local i
	for i in $(seq 600); do
		[ "$(segments | wc -l)" -lt 2 ] || return 0
		sleep 0.2
	done
}

# Of the samples of the big program, how many are whole.
is_whole() { # FILE, PERCENT
	"$SPROF" fold --comm=big "$1" 2>/dev/null | awk '
		{ all += $NF; if (/;main;f1;.*;f30;leaf_[46]0/) whole += $NF }
		END { print whole, "of", all; exit !(all > 50 && whole * 100 >= all * '"$2"') }'
}

# bats test_tags=full
@test "rows that do not fit into --max-memory: stacks are copied, whole, and that is said" {
	needs_big
	start "$BIG" 30000
	sleep 0.3
	"$SPROF" record -o "$data" -F 499 -p ${pids[0]} --max-memory 36M -d 6s 2>"$log" 3>&- &
	recorder=$!
	pids+=($recorder)
	watch_while sleep 5
	wait $recorder
	cat "$log"
	[ $most -le $((36 * 1024)) ]
	is_whole "$data" 95
	said "the unwind rows of '$BIG' take more than --max-memory leaves: stacks through such files are copied"
	[ "$(told '.limits[] | select(.limit == 20).times')" = 1 ]
	[ "$(told '.snapshots >= .samples * 0.9')" = true ]
	[ "$(told .lost)" = 0 ]
	"$SPROF" info "$data" | grep -q 'take more than --max-memory leaves'
}

# bats test_tags=full
@test "a recording without big programs is the same with --max-memory" {
	work shares 30000
	"$SPROF" record -q -o "$data" -F 499 -p ${pids[0]} -d 2s
	local rows=$(told .unwind_rows)
	"$SPROF" record -q -o "$data" -F 499 -p ${pids[0]} -d 2s --max-memory 60M
	[ "$(told .unwind_rows)" = "$rows" ]
	[ "$(told '.limits | length')" = 0 ]
	[ "$(told '.samples > 50 and .snapshots < 50')" = true ]
	"$SPROF" fold "$data" | grep -q ';main;'
}

# bats test_tags=full
@test "the whole system within --max-memory 60M, in segments, with a big program and many new ones" {
	needs_big
	start "$BIG" 60000
	start bash -c 'while :; do /bin/true; /bin/ls >/dev/null; done'
	fly --segment 2s -F 199 -a --max-memory 60M
	watch_while sleep 14
	land
	cat "$log"
	[ $most -le $((60 * 1024)) ]
	! said "the recorder takes" || false
	is_whole "$dir" 70 # on a busy machine, some copies come too late to be unwound
	[ "$("$SPROF" info --json "$dir" 2>/dev/null | jq '.finished and .lost < .samples / 50')" = true ]
}

# bats test_tags=full
@test "stacks that never come again do not grow the vocabulary: segments begin early" {
	work unique 60000
	fly --segment 1h -F 4999 -p ${pids[0]} --max-memory 40M
	watch_while second_segment
	land
	cat "$log"
	[ $most -le $((40 * 1024)) ]
	[ "$(segments | wc -l)" -ge 2 ]
}

@test "a limit that cannot work is refused, and a source that cannot keep it says so" {
	run "$SPROF" record -a --max-memory 31M -d 1s -o "$data"
	[ "$status" -eq 2 ]
	run "$SPROF" record -a --max-memory lots -d 1s -o "$data"
	[ "$status" -eq 2 ]
	work shares 30000
	run --separate-stderr "$SPROF" record -s perf -p ${pids[0]} --max-memory 60M -d 1s -o "$data"
	[ "$status" -eq 0 ]
	[[ $stderr == *"--max-memory does not limit unwind rows: source perf keeps them all"* ]]
}

# Rows of mapped files depend on what runs here, and so does the rest of the memory that no file backs.
@test "the maps of a recorder of the whole system are small, beside rows of files, without a limit, too" {
	fly --segment 1h -F 99 -a
	local kib=$(cat /proc/$recorder/fdinfo/* 2>/dev/null | awk '/^value_size:/ { size = $2 } /^memlock:/ { bytes = $2 } /^map_id:/ { if (!seen[$2]++ && size != 1048576) n += bytes } END { print int(n / 1024) }')
	land
	echo "$kib KiB for $(nproc --all) CPUs"
	# The ring grows with the CPUs, from 4 MB to 16 MB, and the table of processes with kernel.pid_max.
	[ $kib -gt 4000 ]
	[ $kib -lt $((13000 + 1024 * $(nproc --all) + $(cat /proc/sys/kernel/pid_max) / 16)) ]
}
