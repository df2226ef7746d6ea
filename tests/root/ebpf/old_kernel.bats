# The oldest kernel that the tests have: Debian 12's 6.1, in qemu. sprof records and folds the
# targets of truth.bats inside the guest; the output comes back over the serial line and is compared
# with the truth here.
# bats file_tags=full
load ../guest
load ../waits

targets="shares_static deep32_nofp threads8 exec_chain"
# CPU time in ms. Creating threads is slow in the guest, and libc has no unwind rule inside clone3:
# only in a longer run is the share of those samples as small as elsewhere.
ms_of() {
	[ "$1" = threads8 ] && echo 3500 || echo 1500
}

# A program in Python, and Debian's interpreter with the modules that it needs to start.
python=/usr/bin/python3.11
python_files() {
	local name
	cat >"$BATS_FILE_TMPDIR/spin.py" <<-'PROGRAM'
		import time
		def inner(n):
		    for i in range(n): pass
		def outer(end):
		    while time.process_time() < end: inner(3000)
		outer(2)
	PROGRAM
	echo "$BATS_FILE_TMPDIR/spin.py"
	[ ! -x $python ] || echo $python
	for name in encodings/{__init__,aliases,utf_8,ascii,latin_1} codecs os io abc stat; do
		[ ! -f /usr/lib/python3.11/$name.py ] || echo /usr/lib/python3.11/$name.py
	done
}

setup_file() {
	cd "$BATS_TEST_DIRNAME/../../.." || return 1
	local programs=("$TARGETS/calls" "$TARGETS/waiting" "$TARGETS/kernel_events")
	for t in $targets; do programs+=("$TARGETS/$t"); done
	mapfile -t -O "${#programs[@]}" programs < <(python_files)
	boot_guest "${programs[@]}" <<-SCRIPT
		echo "@@ kernel"
		uname -r
		for run in $(for t in $targets; do echo "$t:$(ms_of "$t")"; done | tr '\n' ' '); do
			t=\${run%:*} ms=\${run#*:}
			echo "@@ \$t.truth"
			$SPROF record -F 999 -o \$t.data -- $TARGETS/\$t \$ms 2>\$t.log || echo "record: status \$?" >>\$t.log
			echo "@@ \$t.folded"
			$SPROF fold \$t.data 2>>\$t.log || echo "fold: status \$?" >>\$t.log
			echo "@@ \$t.log"
			cat \$t.log
		done
		echo "@@ calls"
		$SPROF record -v -o calls.data --calls leaf --calls 'part::twice(int)' -- $TARGETS/calls 300
		$SPROF report --calls calls.data
		$SPROF record -v --source ebpf --clock wall -o waits.data -- $TARGETS/waiting 3000 >waits.truth 2>waits.log || echo "record: status \$?" >>waits.log
		echo "@@ truth"
		cat waits.truth
		echo "@@ info.json"
		$SPROF info --json waits.data
		echo "@@ waiting"
		$SPROF fold --time --column waiting waits.data
		echo "@@ runnable"
		$SPROF fold --time --column runnable waits.data
		echo "@@ waiting.json"
		$SPROF report --by thread --json --column waiting waits.data
		echo "@@ runnable.json"
		$SPROF report --by thread --json --column runnable waits.data
		echo "@@ waits.log"
		cat waits.log
		echo "@@ wakers"
		$SPROF record -q --source ebpf --clock off --wakers -o wakers.data -- $TARGETS/waiting 1500 >/dev/null 2>wakers.log || echo "record: status \$?"
		cat wakers.log
		$SPROF fold --time --column waiting wakers.data
		echo "@@ locks"
		$SPROF report --locks --json wakers.data
		echo "@@ events.json"
		mount -t tracefs nodev /sys/kernel/tracing
		$SPROF record -q --source ebpf -c 1 -e page-faults,syscalls:sys_enter_getppid -o events.data -- $TARGETS/kernel_events 100 >/dev/null 2>events.log || echo "record: status \$?" >>events.log
		$SPROF report --json --column page-faults --per syscalls:sys_enter_getppid events.data 2>>events.log
		echo "@@ events_info.json"
		$SPROF info --json events.data
		echo "@@ events.log"
		cat events.log
		echo "@@ latency"
		$SPROF record -q --source ebpf -F 999 --latency -o latency.data -- $TARGETS/kernel_events 200 2>&1 || echo "record: status \$?"
		$SPROF report --csv --column latency --by parallelism latency.data
		echo "@@ python.log"
		$SPROF record --source perf -F 199 -o python.data -- $python -I -S -B $BATS_FILE_TMPDIR/spin.py 2>python.log || echo "record: status \$?" >>python.log
		cat python.log
		echo "@@ python.folded"
		$SPROF fold python.data
		echo "@@ doctor"
		$SPROF doctor
	SCRIPT
}

truth_holds() { # target
	cat "$1.log"
	"$BATS_TEST_DIRNAME/../shares" "$1.truth" "$1.folded"
}

@test "the kernel that ran was 6.1" {
	grep '^6\.1\.' kernel
}

@test "on 6.1 a static program has its true shares" {
	truth_holds shares_static
}

@test "on 6.1 32 frames without frame pointers are all there" {
	truth_holds deep32_nofp
}

@test "on 6.1 eight threads have their true shares" {
	truth_holds threads8
}

@test "on 6.1 a process is followed through five programs" {
	truth_holds exec_chain
}

@test "on 6.1 calls are counted exactly" {
	cat calls
	[ "$(awk '$NF == "calls" { print $1 }' calls | tr '\n' ' ')" = "1503 3 " ]
}

@test "on 6.1 the source perf has Python frames" {
	[ -x $python ] || skip "needs $python"
	cat python.log
	awk '{ n += $NF } /;outer [^;]*;inner|;outer;inner/ { both += $NF }
		END { print both " of " n " samples have both functions"; exit !(n > 150 && both > 0.8 * n) }' python.folded
}

@test "on 6.1 no sample is lost" {
	for t in $targets; do
		cat "$t.log"
		grep -Eq '^sprof: [0-9]+ samples in .*[, ]0 lost' "$t.log"
	done
}

@test "on 6.1 waits have their true times, shares and reasons" {
	cat waits.log
	times_add_up
	kernel_agrees
	samples_agree waiting 0.5
	reasons_are_right
	grep '^waits *OK: by an interrupt after each switch' doctor
}

@test "on 6.1 wakers and holders of locks are known" {
	grep -E '^reads_pipe;.*;pipe wait_\[w\];woken by writes_\[w\];.*;writes;run;' wakers
	grep -E '^reads_socket;.*;socket wait_\[w\];unix, process [0-9]+_\[w\];woken by writes_\[w\];' wakers
	grep -E '^polls;.*;woken by an interrupt_\[w\];' wakers
	jq -e '.rows[] | select(.thread | startswith("wants_lock")) | (.holder | startswith("holds_lock")) and .known_by == "the lock"' locks
}

@test "on 6.1 every page fault and every event of a tracepoint is there" {
	cat events.log
	jq -c '.rows[] | select(.function == "main" or .function == "many" or .function == "few") | [.function, .total_events, .total_ratio]' events.json
	jq -c '.columns' events_info.json
	jq -e '.lost == 0 and ([.columns[] | select(.name == "syscalls:sys_enter_getppid").sum] == [500]) and
		([.columns[] | select(.name == "page-faults").sum][0] >= 1000)' events_info.json
	jq -e '([.rows[] | select(.function == "many")][0].total_events | . >= 695 and . <= 710) and
		[.rows[] | select(.function == "few")][0].total_events >= 295 and
		([.rows[] | select(.function == "main")][0].total_ratio | . > 1.95 and . < 2.2)' events.json
}

@test "on 6.1 the threads that run are counted" {
	cat latency
	grep -E '^"?1 thread"?,' latency
}
