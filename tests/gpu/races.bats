# libsprof-gpu.so under ThreadSanitizer; the fake driver, a fake CUPTI and the program are built with it too.
# bats file_tags=full

load fake.bash

setup_file() {
	local flags="-std=gnu11 -O1 -g -w -I. -D_GNU_SOURCE -fno-omit-frame-pointer -fsanitize=thread"
	local library="-fpic -shared -fvisibility=hidden"

	[ -e gpu/agent/agent.c ] || return 0
	mkdir -p "$BATS_FILE_TMPDIR/cuda12"
	echo 'int main(void) { return 0; }' >"$BATS_FILE_TMPDIR/empty.c"
	gcc -fsanitize=thread -o "$BATS_FILE_TMPDIR/empty" "$BATS_FILE_TMPDIR/empty.c" 2>/dev/null &&
		"$BATS_FILE_TMPDIR/empty" 2>/dev/null || return 0
	gcc $flags $library -fno-stack-protector -fno-plt -ftls-model=initial-exec -Wl,-z,now,-z,nodelete \
		-o "$BATS_FILE_TMPDIR/libsprof-gpu.so" $(find gpu/agent -name "*.c")
	gcc $flags $library -Wl,-soname,libcuda.so.1 -o "$BATS_FILE_TMPDIR/libcuda.so.1" \
		tests/gpu/fake_cuda.c tests/gpu/fake_context.c tests/gpu/fake_driver.c tests/gpu/fake_memory.c tests/gpu/fake_collective.c
	gcc $flags $library -DFAKE_VERSION=12 -Wl,-soname,libcupti.so.12 -o "$BATS_FILE_TMPDIR/cuda12/libcupti.so.12" \
		tests/gpu/fake_cupti.c tests/gpu/fake_buffers.c tests/gpu/fake_clock.c tests/gpu/fake_pc.c tests/gpu/fake_records.c
	gcc $flags -no-pie -o "$BATS_FILE_TMPDIR/gpu_work" tests/targets/gpu_work.c -ldl
	ln -s cuda12/libcupti.so.12 "$BATS_FILE_TMPDIR/libcupti.so"
	gcc $flags $library -Wl,-z,lazy -o "$BATS_FILE_TMPDIR/libcompetitor.so" tests/gpu/competing_profiler.c -L"$BATS_FILE_TMPDIR" -lcupti -ldl
}

setup() {
	fake_setup
	# Not reported: the fakes' own tables, and thread_reclaim(), which learns from the kernel that a thread has ended;
	# ThreadSanitizer cannot see that.
	printf '%s\n' race_top:on_api race_top:on_op race:thread_reclaim >"$BATS_TEST_TMPDIR/suppressions"
	[ -x "$BATS_FILE_TMPDIR/gpu_work" ] || skip 'no sources, or no ThreadSanitizer that runs here (libtsan)'
	export SPROF_GPU_LIBRARY=$BATS_FILE_TMPDIR/libsprof-gpu.so LD_LIBRARY_PATH=$BATS_FILE_TMPDIR
	export SPROF_CUPTI=$BATS_FILE_TMPDIR/cuda12/libcupti.so.12 TSAN_OPTIONS="exitcode=66 log_path=$BATS_TEST_TMPDIR/races suppressions=$BATS_TEST_TMPDIR/suppressions"
	WORK=$BATS_FILE_TMPDIR/gpu_work
}

no_races() {
	! cat "$BATS_TEST_TMPDIR"/races.* 2>/dev/null || false
}

# The threads come last, so that no slot is reused: ThreadSanitizer cannot see that the old owner has ended.
@test "many launching threads cause no data race" {
	record --want=4095 -- "$WORK" launch:100 graph:3 mixed:10 peer alloc:10 threads:2000
	no_races
	# in the realistic model the program calls the runtime's function
	[ $(($(calls_of cuLaunchKernel) + $(calls_of cudaLaunchKernel_v7000))) -ge 8100 ]
}

# Recorders come and go while four threads launch: enabling, the last flush, and finalizing CUPTI from within one of
# their calls. Times mean nothing under ThreadSanitizer; each control word must be obeyed.
@test "starting and ending collection under launching threads causes no data race" {
	export END_FILE=$BATS_TEST_TMPDIR/end
	LIMIT=300 record --want=4095 --cycles=3 --calls=300 -- "$WORK" storm:4
	no_races
	grep '^cycles 3 ' <<<"$output"
	grep -qx 'state detached' <<<"$output"
	[ "$(counter kernels)" -ge 900 ]
}

# sprof's buffers, callbacks and settings are removed for the other profiler, and set again, while threads launch.
@test "giving CUPTI up to another profiler and taking it again under launching threads causes no data race" {
	! is_realistic || skip 'the other profiler ends its records beside launches, and CUPTI before 13.0 update 1 deadlocks'
	LD_LIBRARY_PATH+=:$BATS_FILE_TMPDIR/cuda12
	LIMIT=120 COMPETITOR=$BATS_FILE_TMPDIR/libcompetitor.so record --want=4095 -- "$WORK" beside:300
	no_races
	# work in progress while the clock changes may still have a time on the old one: CUPTI documents that
	grep -q '^competitor error 0 kernels [0-9]* strange [0-4] zeroed 0$' <<<"$output" || { grep '^competitor ' <<<"$output"; return 1; }
	[ "$(sed -n 's/^competitor error 0 kernels \([0-9]*\) .*/\1/p' <<<"$output")" -ge 300 ]
	grep -q '^failure 3 .*CUPTI is free now' <<<"$output"
	[ "$(counter bad_record)" -eq 0 ]
}
