# Failures of libsprof-gpu.so over the fake GPU: the program continues, one line on stderr names the failure, and the
# recording has it.

load fake.bash

setup() {
	fake_setup
	LOG=$BATS_TEST_TMPDIR/log
}

# Checks for one line on stderr, one failure of that code, and the program's own output.
reported() { # code, text
	grep -q "^failure $1 .*$2" <<<"$output"
	[ "$(grep -c "^sprof: gpu: .*$2" <<<"$stderr")" -eq 1 ]
	grep -q '^done ' <<<"$output"
}

@test "without a recorder the library sleeps: CUPTI is not called at all" {
	FAKE_LOG=$LOG CUDA_INJECTION64_PATH=$SPROF_GPU_LIBRARY run "$WORK" launch:1000
	[ "$status" -eq 0 ]
	[ "$output" = 'done 2001' ]
	[ ! -e "$LOG" ]
}

@test "no libcupti" {
	SPROF_CUPTI=/nowhere/libcupti.so record -- "$WORK" launch:10
	reported 5 'cannot find libcupti'
}

@test "a libcupti without a function that is needed" {
	SPROF_CUPTI=$BUILD/tests/gpu/lacking/libcupti.so.12 record -- "$WORK" launch:10
	reported 6 'it has no cuptiActivityFlushAll'
}

# The same cause has another number in each version: 15 in CUPTI 11 and 12, 999 in 13; an idle process got 39.
@test "no GPU is said to be no GPU, whatever CUPTI's error (15, 39, 999)" {
	local error
	for error in 15 39 999; do
		FAKE_DEVICE_ERROR=100 FAKE_SUBSCRIBE_ERROR=$error record -- "$WORK" launch:10
		reported 1 "no GPU: the driver says that there is no device"
	done
	FAKE_DEVICES=0 FAKE_SUBSCRIBE_ERROR=999 record -- "$WORK" launch:10
	reported 1 "no GPU: the driver shows no device"
	FAKE_DEVICE_ERROR=34 FAKE_SUBSCRIBE_ERROR=999 record -- "$WORK" launch:10
	reported 1 "libcuda is the toolkit's stub"
}

@test "a libcupti that is too new for the driver names both versions (15, 999)" {
	local error
	for error in 15 999; do
		FAKE_DRIVER_VERSION=11080 FAKE_SUBSCRIBE_ERROR=$error record -- "$WORK" launch:10
		reported 6 "libcupti.so.12 is of CUDA 12, the driver of CUDA 11.8"
	done
}

# cuInit has not ended, or failed: the driver does not tell one from the other.
# bats test_tags=full
@test "CUPTI that is not ready in cuInit is tried again at once" {
	local error
	for error in 15 999; do
		FAKE_DEVICE_ERROR=3 FAKE_SUBSCRIBE_ERROR=$error FAKE_SUBSCRIBE_MS=200 record -- "$WORK" launch:10 idle:700 launch:50
		[ "$(fold_sum kernel count)" -eq 50 ]
		! grep '^failure' <<<"$output" || false
	done
}

# bats test_tags=full
@test "CUDA that never starts is said to have failed" {
	FAKE_DEVICE_ERROR=3 FAKE_SUBSCRIBE_ERROR=15 record -- "$WORK" launch:10 idle:1500
	reported 1 'CUDA has not started in this process'
	FAKE_DEVICE_ERROR=3 FAKE_SUBSCRIBE_ERROR=999 record -- "$WORK" launch:10
	reported 1 'CUDA has not started in this process'
}

# bats test_tags=full
@test "an error that passes is waited for, and CUPTI is taken later (14, 15, 999)" {
	local error
	for error in 14 15 999; do
		FAKE_SUBSCRIBE_ERROR=$error FAKE_SUBSCRIBE_MS=2000 record -- "$WORK" launch:10 idle:6000 launch:50
		[ $error = 14 ] && reported 2 'another tool holds CUPTI in a way that excludes others'
		[ $error = 14 ] || reported 14 "CUPTI refuses although the driver works: .* ($error)"
		reported 3 'CUPTI is free now'
		[ "$(fold_sum kernel count)" -eq 50 ]
	done
}

@test "no permission (35)" {
	FAKE_SUBSCRIBE_ERROR=35 record -- "$WORK" launch:10
	reported 4 'CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)'
}

@test "an activity kind that cannot be enabled leaves the others" {
	FAKE_KIND_ERROR=2:35 record -- "$WORK" mixed:10
	reported 4 'enable activity kind MEMSET'
	[ "$(counter memsets)" -eq 0 ]
	[ "$(fold_sum kernel count)" -eq 20 ]
}

# bats test_tags=full
@test "another subscriber is named and waited for (39)" {
	export SPROF_CUPTI=$BUILD/tests/gpu/cuda13/libcupti.so.13
	FAKE_LOG=$LOG FAKE_HOLDER=Kineto FAKE_SUBSCRIBE_ERROR=39 FAKE_SUBSCRIBE_MS=2000 \
		record -- "$WORK" launch:100 idle:6000 launch:50
	reported 2 'CUPTI is in use by CUPTI for Kineto'
	reported 3 'CUPTI is free now'
	[ "$(fold_sum kernel count)" -eq 50 ]
	# Nothing was taken from the other one: buffers and kinds are set after the second cuptiSubscribe.
	awk '/ cuptiActivity(Enable|RegisterCallbacks)$/ { if (tries < 2) exit 1 } / cuptiSubscribe$/ { tries++ }' "$LOG"
}

# bats test_tags=full
@test "records without times are counted, reported, and in no sum" {
	FAKE_ZERO_AFTER=500 record --records -- "$WORK" launch:1000
	reported 9 'records without times'
	[ "$(counter untimed)" -ge 500 ]
	[ "$(($(fold_sum kernel count) + $(counter untimed) + $(fold_sum sync count)))" -eq 1001 ]
	[ "$(fold_sum kernel ns)" -eq "$((1000 * $(fold_sum kernel count)))" ]
}

# With a pool of 250 buffers of 1000 records. Below CUPTI's own limit kernels in graphs are recorded one by one; near it
# the graphs are, and no time is lost: a graph takes 6000 ns, mixed:1 1600 ns in kernels.
# bats test_tags=full
@test "graphs are recorded whole before they use up CUPTI's device buffers, and that is reported" {
	local part=(graph:5000 mixed:1 idle:60)
	export FAKE_REALISTIC=1 FAKE_DEVICE_BUFFER=32000
	record -- "$WORK" "${part[@]}" "${part[@]}" "${part[@]}" "${part[@]}" "${part[@]}" "${part[@]}" "${part[@]}" \
		"${part[@]}" "${part[@]}" "${part[@]}" "${part[@]}" "${part[@]}"
	reported 20 'CUDA graphs are recorded whole from here on'
	[ "$(counter untimed)" -eq 0 ]
	[ "$(counter graph_nodes)" -ge 200000 ] && [ "$(counter graph_nodes)" -lt 250000 ]
	[ "$(($(fold_sum kernel ns) + $(fold_sum graph ns)))" -eq $((12 * (5000 * 6000 + 1600))) ]
}

# bats test_tags=full
@test "records that CUPTI dropped are counted" {
	FAKE_DROP=10 record --records -- "$WORK" launch:1000
	reported 12 'CUPTI dropped activity records'
	[ "$(counter cupti_dropped)" -eq 100 ]
	grep -q '^record drops .* nr=' <<<"$output"
}

@test "a forked child does not call CUPTI, and its parent is recorded on" {
	FAKE_LOG=$LOG record -- "$WORK" launch:10 fork launch:10
	[ "$(cut -d' ' -f1 "$LOG" | sort -u | wc -l)" -eq 1 ]
	[ "$(fold_sum kernel count)" -eq 21 ]
}

# With a flush every 10 s: it is the pause that has CUPTI asked for what it has.
# bats test_tags=full
@test "a program that ends at once after a pause loses nothing" {
	record --flush=10000 -- "$WORK" launch:100 idle:1500 launch:50 idle:1500 quit
	[ "$(fold_sum kernel count)" -eq 150 ]
}

# bats test_tags=full
@test "detached while idle: within 250 ms, and CUPTI stays loaded but disabled" {
	FAKE_LOG=$LOG record --stop-after=300 -- "$WORK" launch:100 idle:1500 launch:100
	reported 10 'CUPTI is disabled'
	[ "$(sed -n 's/^stopped_ms //p' <<<"$output")" -lt 250 ]
	grep -qx 'after_stop 0' <<<"$output"
	[ "$(fold_sum kernel count)" -eq 100 ]
	grep -q cuptiUnsubscribe "$LOG"
	! grep cuptiFinalize "$LOG" || false
}

# CUPTI withholds the record of what runs, and forced out, the record has no end.
# bats test_tags=full
@test "detached while a kernel runs: it counts up to then, and what waits behind it is counted apart" {
	export FAKE_REALISTIC=1
	record --stop-after=700 -- "$WORK" launch:100 long:1500 long:1500 idle:1000 launch:1
	[ "$(sed -n 's/^stopped_ms //p' <<<"$output")" -lt 400 ]
	[ "$(counter untimed)" -eq 0 ]
	[ "$(counter running)" -eq 1 ]
	[ "$(counter not_begun)" -eq 1 ]
	[ "$(fold_sum 'kernel spin' ns)" -gt 100000000 ] && [ "$(fold_sum 'kernel spin' ns)" -lt 1500000000 ]
	[ "$(fold_sum kernel count)" -eq 101 ]
	! grep 'buffers are exhausted' <<<"$stderr" || false
}

# bats test_tags=full
@test "detached while short kernels run: their records are waited for" {
	local work=() i
	export FAKE_REALISTIC=1
	for i in $(seq 30); do work+=(long:60 idle:60); done
	record --stop-after=1000 -- "$WORK" launch:100 "${work[@]}"
	[ "$(counter running)" -eq 0 ] && [ "$(counter not_begun)" -eq 0 ] && [ "$(counter untimed)" -eq 0 ]
	[ "$(fold_sum 'kernel spin' count)" -ge 3 ]
	[ "$(fold_sum 'kernel spin' ns)" -eq "$((60000000 * $(fold_sum 'kernel spin' count)))" ]
}

# Before CUDA 13.0 update 1 ending the recording of kernels may deadlock beside a launch, and a flush crash beside another.
# bats test_tags=full
@test "detached beside launching threads, again and again: no deadlock, no crash" {
	export FAKE_REALISTIC=1 FAKE_LOG=$LOG END_FILE=$BATS_TEST_TMPDIR/end
	LIMIT=30 record --cycles=10 --calls=300 -- "$WORK" storm:4
	grep '^cycles 10 ' <<<"$output"
	[ "$(grep -c -e deadlock -e crash "$LOG")" -eq 0 ]
	[ "$(grep -c cuptiActivityDisable "$LOG")" -ge 10 ]
}

# They are global to the process: the next user of CUPTI would get buffers taken for zeroed.
# bats test_tags=full
@test "after detaching CUPTI has its old attributes" {
	export SPROF_CUPTI=$BUILD/tests/gpu/cuda13/libcupti.so.13
	FAKE_LOG=$LOG record --stop-after=300 -- "$WORK" launch:100 idle:1500 launch:100
	diff <(grep -o 'attribute .*' "$LOG") - <<-'END'
		attribute 5 = 1
		attribute 9 = 0
		attribute 5 = 0
		attribute 9 = 1
	END
	[ "$(grep -c cuptiActivityRegisterTimestampCallback "$LOG")" -eq 0 ]
}

# bats test_tags=full
@test "detached while busy: CUPTI is unloaded from within a call" {
	FAKE_LOG=$LOG record --stop-after=300 -- "$WORK" spin:1500
	[ "$(sed -n 's/^stopped_ms //p' <<<"$output")" -lt 250 ]
	grep -q cuptiFinalize "$LOG"
	grep -qx 'after_stop 0' <<<"$output"
}

# bats test_tags=full
@test "collection ends within a second of the recorder's death" {
	FAKE_LOG=$LOG record --hang-up-after=300 -- "$WORK" spin:2500
	[ "$(sed -n 's/^stopped_ms //p' <<<"$output")" -lt 1000 ]
	grep -qx 'after_stop 0' <<<"$output"
}

# bats test_tags=full
@test "a running program is attached to, and detached from" {
	FAKE_LOG=$LOG record --attach=300 --stop-after=500 -- "$WORK" spin:1500
	[ "$(fold_sum kernel count)" -gt 0 ]
	grep -q '^fold kernel .*;train;forward;launch_gemm$' <<<"$output"
}
