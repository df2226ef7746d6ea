# sprof over a real libcuda without a GPU, and real copies of libcupti and NVTX. CUDA loads the agent in cuInit() before
# it finds that there is no device, so everything up to the subscription runs. Needs a download (about 80 MB, once).
# bats file_tags=full

load fake.bash
load real.bash

setup_file() {
	local t=$BATS_FILE_TMPDIR
	[ -e tests/gpu/own_cupti.c ] || return 0
	gcc -O1 -w -o "$t/own_cupti" tests/gpu/own_cupti.c
	# As root libcuda makes this file; it is taken away again.
	[ -e /dev/nvidiactl ] || echo yes >"$t/made"
}

teardown_file() {
	[ ! -e "$BATS_FILE_TMPDIR/made" ] || rm -f /dev/nvidiactl
}

setup() {
	fake_setup
	unset SPROF_CUPTI
	[ -e tests/gpu/own_cupti.c ] || skip 'no sources here'
	PROGRAM=$BATS_FILE_TMPDIR/own_cupti
	[ ! -e /proc/driver/nvidia/version ] || skip 'this machine has a driver of its own'
}

need_driver() {
	DRIVER=$(real_driver) || skip "no libcuda: Debian's package libcuda1 (non-free) cannot be had here"
	export LD_LIBRARY_PATH=$DRIVER
}

need_cupti() { # package, version
	real_cupti "$@" || { echo "no wheel of $1 $2" >&2; return 1; }
}

@test "a real libcuda loads the agent in cuInit, and sprof says that there is no GPU, with every libcupti" {
	need_driver
	local package version at n=0
	while read -r package version; do
		at=$(need_cupti $package $version) || continue
		n=$((n + 1))
		SPROF_CUPTI=$(echo "$at"/libcupti.so.1*) record -- "$PROGRAM" - 0
		echo "$version: $output $stderr"
		grep -qx 'cuInit 100' <<<"$output"
		grep -qx 'launched 0' <<<"$output"
		if [ "${version%%.*}" = 13 ]; then # the driver is one of CUDA 12
			grep -q '^sprof: gpu: no GPU data: libcupti.so.13 is of CUDA 13, the driver of CUDA 12' <<<"$stderr"
		else
			grep -q '^sprof: gpu: CUDA has not started in this process: cuInit failed' <<<"$stderr"
		fi
	done < <(real_cupti_versions)
	[ "$n" -gt 0 ] || skip 'no wheel of CUPTI can be had from PyPI'
}

@test "the newest real libcupti that a real driver takes is chosen" {
	need_driver
	local old new newer t=$BATS_TEST_TMPDIR
	old=$(need_cupti nvidia-cuda-cupti-cu12 12.1.105) && new=$(need_cupti nvidia-cuda-cupti-cu12 12.9.79) &&
		newer=$(need_cupti nvidia-cuda-cupti 13.0.85) || skip 'no wheels of CUPTI can be had from PyPI'
	mkdir -p "$t/nvidia/cuda_cupti"
	ln -s "$new" "$t/nvidia/cuda_cupti/lib"
	LD_LIBRARY_PATH=$DRIVER:$old:$newer PYTHONPATH=$t record -- "$PROGRAM" - 0
	grep -qx 'cupti 28 libcupti.so.12' <<<"$output"
	LD_LIBRARY_PATH=$DRIVER:$new:$newer CONDA_PREFIX=/nowhere record -- "$PROGRAM" - 0
	grep -qx 'cupti 28 libcupti.so.12' <<<"$output"
	LD_LIBRARY_PATH=$DRIVER:$old record -- "$PROGRAM" - 0
	grep -qx 'cupti 18 libcupti.so.12' <<<"$output"
}

# cuptiSubscribe_v2 and others are in 12.9 and not in 12.1.
@test "a program with its own newer libcupti works as without sprof, whichever copy sprof has taken" {
	need_driver
	local old new t=$BATS_TEST_TMPDIR
	old=$(need_cupti nvidia-cuda-cupti-cu12 12.1.105) && new=$(need_cupti nvidia-cuda-cupti-cu12 12.9.79) ||
		skip 'no wheels of CUPTI can be had from PyPI'
	needed=$(comm -13 <(nm -D --defined-only "$old/libcupti.so.12" | awk '{ print $3 }' | sort) \
		<(nm -D --defined-only "$new/libcupti.so.12" | awk '{ print $3 }' | sort) | sed -n 's/^\(cupti[A-Z][A-Za-z_0-9]*\).*/\1/p' | head -1)
	[ -n "$needed" ]
	gcc -shared -fpic -w -DLIBRARY -DNEEDED="$needed" -Wl,--disable-new-dtags,-rpath,"$new" -o "$t/library.so" \
		tests/gpu/own_cupti.c -L"$new" -l:libcupti.so.12
	export LD_LIBRARY_PATH=$DRIVER:$old
	"$PROGRAM" "$t/library.so" 0 >"$t/without"
	record -- "$PROGRAM" "$t/library.so" 0
	diff "$t/without" <(grep -e '^cuInit' -e '^own' -e '^launched' <<<"$output")
	grep -qx 'own libcupti 28' <<<"$output"
	grep -qx 'cupti 18 libcupti.so.12' <<<"$output"
}

@test "real NVTX 2, Debian's libnvToolsExt, hands its ranges over" {
	local at t=$BATS_TEST_TMPDIR
	at=$(filled libnvtoolsext1 unpack_debs non-free libnvtoolsext1) || skip "Debian's package libnvtoolsext1 (non-free) cannot be had here"
	cat >"$t/user.c" <<-'END'
		int nvtxRangePushA(const char *);
		int nvtxRangePop(void);
		int main(void)
		{
			for (int i = 0; i < 7; i++) {
				nvtxRangePushA("step");
				nvtxRangePop();
			}
		}
	END
	gcc -o "$t/user" "$t/user.c" "$at"/usr/lib/*/libnvToolsExt.so.1 -Wl,-rpath,"$(dirname "$at"/usr/lib/*/libnvToolsExt.so.1)"
	record -- "$t/user"
	grep -q '^range step count=7 ' <<<"$output"
}

@test "real NVTX 3 of Python's package nvtx hands its ranges over" {
	local at version=0.2.17
	at=$(wheel nvtx $version) || skip "Python's package nvtx $version cannot be had from PyPI for this Python"
	PYTHONPATH=$at record -- python3 -c 'import nvtx
for _ in range(7):
    with nvtx.annotate("step", domain="test"): pass'
	grep -q '^range test:step count=7 ' <<<"$output"
}

# The wheels of a CUDA build of torch are 5 GB, which no test fetches: PYTHONPATH names a folder of them, or one is installed.
# cuInit comes before the import, because the runtime of a newer CUDA than the driver's asks for no more than its version.
# bats test_tags=stress
@test "importing a CUDA build of torch prints and returns the same with everything of sprof loaded" {
	local t=$BATS_TEST_TMPDIR
	[ -n "${STRESS-}" ] || skip "STRESS=1 runs this"
	python3 -c 'import torch, sys; sys.exit(not torch.version.cuda)' 2>/dev/null || skip 'no CUDA build of torch is installed (5 GB, which no test fetches)'
	need_driver
	cat >"$t/train.py" <<-'END'
		import ctypes
		print("cuInit", ctypes.CDLL("libcuda.so.1").cuInit(0))
		import torch
		print(torch.__version__, torch.version.cuda, torch.cuda.is_available())
		with torch.profiler.profile(acc_events=True) as profiler:
		    for _ in range(7):
		        torch.cuda.nvtx.range_push("step")
		        torch.ones(30, 30) @ torch.ones(30, 30)
		        torch.cuda.nvtx.range_pop()
		print([e.count for e in profiler.key_averages() if e.key == "aten::mm"])
	END
	timeout 300 python3 "$t/train.py" >"$t/without"
	grep -qx 'cuInit 100' "$t/without"
	grep -qx '\[7\]' "$t/without"
	run --separate-stderr timeout 300 "$SPROF" record -s timer --gpu on -o "$t/torch.data" -- python3 "$t/train.py"
	echo "$stderr"
	[ "$status" -eq 0 ]
	diff "$t/without" <(echo "$output")
	! grep -q 'no process has loaded libsprof-gpu.so' <<<"$stderr" || false
	"$SPROF" report --ranges --json "$t/torch.data" | jq -e '[.rows[] | select(.range == "step").repeats] == [7]'
}
