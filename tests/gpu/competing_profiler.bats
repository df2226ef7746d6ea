# A program loads another profiler and uses it while sprof records: that profiler gets CUPTI, and sprof stops and
# continues when it has left.

load fake.bash

setup_file() {
	local fakes=$BUILD/tests/gpu/cuda12 name flags
	[ -e tests/gpu/competing_profiler.c ] || return 0
	ln -s "$fakes/libcupti.so.12" "$BATS_FILE_TMPDIR/libcupti.so"
	while read -r name flags; do
		gcc -shared -fpic -O1 -w $flags -o "$BATS_FILE_TMPDIR/libcompetitor-$name.so" tests/gpu/competing_profiler.c -L"$BATS_FILE_TMPDIR" -lcupti -ldl
	done <<-'END'
		lazy -Wl,-z,lazy
		now -Wl,-z,now,-z,norelro
		address -fno-plt -Wl,-z,lazy,-z,norelro
		relro -Wl,-z,relro,-z,now
	END
}

setup() {
	fake_setup
	[ -e tests/gpu/competing_profiler.c ] || skip 'no sources here'
	LOG=$BATS_TEST_TMPDIR/log
	export LD_LIBRARY_PATH=$BUILD/tests/gpu:$BUILD/tests/gpu/cuda12
}

# Every kernel is recorded by one of them: 100 before, 50 by the competitor, 200 after.
# bats test_tags=full
@test "a profiler that subscribes after sprof gets CUPTI, and sprof gets it back later" {
	COMPETITOR=$BATS_FILE_TMPDIR/libcompetitor-lazy.so FAKE_LOG=$LOG record --records -- "$WORK" launch:100 competitor:50 idle:6000 launch:200
	grep -q '^competitor error 0 kernels 50 strange 0 zeroed 0$' <<<"$output"
	[ "$(fold_sum kernel count)" -eq 300 ]
	[ "$(grep -c '^record kernel' <<<"$output")" -eq 300 ]
	[ "$(counter bad_record)" -eq 0 ]
	grep -q '^failure 2 .*libcompetitor-lazy.so subscribes to CUPTI and gets it' <<<"$output"
	grep -q '^failure 3 .*CUPTI is free now' <<<"$output"
	[ "$(grep -c '^sprof: gpu: ' <<<"$stderr")" -eq 2 ]
	[ "$(grep -c ' cuptiSubscribe$' "$LOG")" -eq 3 ]
}

# bats test_tags=full
@test "it gets CUPTI however its functions are bound, if their table is writable" {
	local way
	for way in now address; do
		COMPETITOR=$BATS_FILE_TMPDIR/libcompetitor-$way.so record --records -- "$WORK" launch:100 competitor:50
		echo "$way"
		grep -q '^competitor error 0 kernels 50 strange 0 zeroed 0$' <<<"$output"
		[ "$(fold_sum kernel count)" -eq 100 ]
	done
}

# A read-only table is left alone, and an address from dlsym() is in no table.
# bats test_tags=full
@test "a profiler whose call cannot be intercepted gets CUPTI's error, and sprof continues" {
	COMPETITOR=$BATS_FILE_TMPDIR/libcompetitor-relro.so record -- "$WORK" launch:100 competitor:50
	grep -q '^competitor error 39 kernels 0 ' <<<"$output"
	[ "$(fold_sum kernel count)" -eq 150 ]
	COMPETITOR_DLSYM=1 COMPETITOR=$BATS_FILE_TMPDIR/libcompetitor-lazy.so record -- "$WORK" launch:100 competitor:50
	grep -q '^competitor error 39 kernels 0 ' <<<"$output"
	[ "$(fold_sum kernel count)" -eq 150 ]
}

# CUPTI does not tell when such a profiler is done.
# bats test_tags=full
@test "a profiler that never subscribes keeps its buffers, and sprof reports that it has stopped" {
	COMPETITOR_SILENT=1 COMPETITOR=$BATS_FILE_TMPDIR/libcompetitor-lazy.so record -- "$WORK" launch:100 competitor:50 idle:6000 launch:200
	grep -q '^competitor error 0 kernels 50 strange 0 zeroed 0$' <<<"$output"
	[ "$(fold_sum kernel count)" -eq 100 ]
	grep -q '^failure 18 .*libcompetitor-lazy.so records with CUPTI without subscribing to it' <<<"$output"
	[ "$(grep -c '^sprof: gpu: ' <<<"$stderr")" -eq 1 ]
}

# As Kineto: its clock, its buffers, and no subscription. sprof reads what it has before the clock changes, and leaves it.
# bats test_tags=full
@test "a profiler that registers its clock and buffers and never subscribes keeps both" {
	local model
	for model in '' 1; do
		[ -z "$model" ] || export FAKE_REALISTIC=1
		COMPETITOR_CLOCK=1 COMPETITOR_SILENT=1 COMPETITOR=$BATS_FILE_TMPDIR/libcompetitor-lazy.so \
			record -- "$WORK" launch:100 competitor:50 idle:6000 launch:200
		grep -q '^competitor error 0 kernels 50 strange 0 zeroed 0$' <<<"$output"
		[ "$(fold_sum kernel count)" -eq 100 ]
		[ "$(counter untimed)" -eq 0 ]
		grep -q '^failure 18 .*libcompetitor-lazy.so records with CUPTI without subscribing to it' <<<"$output"
		[ "$(grep -c '^sprof: gpu: ' <<<"$stderr")" -eq 1 ]
	done
}

# bats test_tags=full
@test "sprof detaches while the other profiler is active, and leaves it alone" {
	COMPETITOR_HOLD=3 COMPETITOR=$BATS_FILE_TMPDIR/libcompetitor-lazy.so FAKE_LOG=$LOG record --stop-after=4000 -- "$WORK" launch:100 competitor:50
	grep -q '^competitor error 0 kernels 50 strange 0 zeroed 0$' <<<"$output"
	[ "$(fold_sum kernel count)" -eq 100 ]
	! grep cuptiFinalize "$LOG" || false
	[ "$(grep -c cuptiUnsubscribe "$LOG")" -eq 2 ]
}

# Meanwhile the loader writes the tables of what it loads, and binds functions at their first call.
@test "imports are exchanged while libraries come and go" {
	local way users=() t=$BATS_TEST_TMPDIR
	gcc -shared -fpic -DDEPENDENCY -o "$t/libanswer.so" tests/gpu/import_storm.c
	for way in -Wl,-z,lazy -Wl,-z,now,-z,norelro -fno-plt -Wl,-z,relro,-z,now; do
		users+=("$t/libuser${#users[@]}.so")
		gcc -shared -fpic -DUSER $way -o "${users[-1]}" tests/gpu/import_storm.c -L"$t" -lanswer
	done
	gcc -O2 -I. -D_GNU_SOURCE -pthread -o "$t/storm" tests/gpu/import_storm.c gpu/agent/base/imports.c -ldl
	LD_LIBRARY_PATH=$t run timeout 60 "$t/storm" 4000 "${users[@]}"
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q '^cycles 4000 wrong 0 met [1-9]' <<<"$output"
}
