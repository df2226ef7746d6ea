# sprof report --flops: operations of cuBLAS, cuBLASLt and cuDNN by the shapes in their arguments, over fakes of these
# libraries (fake_math.c) and of the GPU. What each call asks for is in math_user.c. No privileges are needed.

load fake.bash
load real.bash

setup_file() {
	local t=$BATS_FILE_TMPDIR cuda=$BUILD/tests/gpu flags='-O1 -g -fno-omit-frame-pointer -Wl,-z,lazy' way
	[ -e tests/gpu/fake_math.c ] || return 0
	gcc -shared -fpic $flags -DCUBLASLT -Wl,-soname,libcublasLt.so.12 -o "$t/libcublasLt.so.12" tests/gpu/fake_math.c "$cuda/libcuda.so.1"
	gcc -shared -fpic $flags -DCUBLAS -Wl,-soname,libcublas.so.12 -o "$t/libcublas.so.12" tests/gpu/fake_math.c "$t/libcublasLt.so.12" "$cuda/libcuda.so.1"
	gcc -shared -fpic $flags -DCUDNN -Wl,-soname,libcudnn.so.9 -o "$t/libcudnn.so.9" tests/gpu/fake_math.c "$cuda/libcuda.so.1"
	for way in lazy relro; do
		gcc -no-pie $flags $([ $way = lazy ] || echo -Wl,-z,relro,-z,now) -o "$t/math_$way" tests/gpu/math_user.c \
			"$t/libcublas.so.12" "$t/libcublasLt.so.12" "$t/libcudnn.so.9" "$cuda/libcuda.so.1" -ldl
	done
}

setup() {
	fake_setup
	[ -e tests/gpu/fake_math.c ] || skip 'no sources here'
	export LD_LIBRARY_PATH=$BATS_FILE_TMPDIR:$LD_LIBRARY_PATH
	USER=$BATS_FILE_TMPDIR/math_lazy
	cd "$BATS_TEST_TMPDIR"
}

report() { # [ROWS]: into r.json
	"$SPROF" report --flops${1:+=$1} --json g.data >r.json || { cat r.json; return 1; }
	jq -c '.rows[]' r.json
}

row() { # NAME FIELD: of the one row of that name
	jq -r --arg n "$1" "[.rows[] | select(.name == \$n)] | if length == 1 then .[0].$2 else error(\"rows: \\(length)\") end" r.json
}

@test "operations of each function are those of its arguments, exactly" {
	record_gpu -- "$USER" sgemm:100 sgemm64:3 dgemm:7 cgemm:5 zgemm:5 hgemm:10 strided:2 batched:4 grouped:6 matmul:8
	report
	local name flops calls type
	while read -r name flops calls type; do
		echo "$name"
		[ "$(row $name flops)" = "$flops" ]
		[ "$(row $name calls)" = "$calls" ]
		[ "$(row $name type)" = "${type//_/ }" ]
	done <<-'END'
		sgemm 1200000 100 FP32
		sgemm64 360000000000 3 FP32
		dgemm 336 7 FP64
		cgemm 960 5 FP32
		zgemm 960 5 FP64
		hgemm 10240 10 FP16_sums
		strided 168000 2 FP32
		batched 144000 4 FP32
		grouped 25440 6 FP32
		matmul 48000000 8 FP8
	END
	[ "$(row sgemm from)" = 'cublasSgemm_v2 arguments' ]
	[ "$(row matmul from)" = 'cublasLtMatmul layouts' ]
	[ "$(jq '[.rows[].calls] | add' r.json)" -eq 150 ]
	# one kernel of 10 blocks for each call of cuBLAS, 25 blocks for one of cuBLASLt; a block takes 100 ns
	[ "$(row sgemm gpu_ns)" -eq 100000 ]
	[ "$(row matmul gpu_ns)" -eq $((8 * 2500)) ]
	[ "$(row sgemm flops_per_s)" -eq 12000000000 ]
}

@test "a call that a library makes to another one counts once, for the outer one" {
	record_gpu -- "$USER" nested:10 matmul:3
	report
	[ "$(row nested flops)" -eq 81920 ]
	[ "$(row nested calls)" -eq 10 ]
	[ "$(row nested type)" = BF16 ]
	[ "$(row nested from)" = 'cublasGemmEx arguments' ]
	[ "$(row nested gpu_ns)" -eq 25000 ] # its kernels are those that the inner call launched
	report call
	[ "$(row cublasGemmEx calls)" -eq 10 ] && [ "$(row cublasLtMatmul calls)" -eq 3 ]
	[ "$(jq '.rows | length' r.json)" -eq 2 ]
}

@test "convolutions count by their descriptors, plans by what they were made from" {
	record_gpu -- "$USER" forward:10 backward:4 planned:5 unplanned:3 opaque:2
	report
	[ "$(row forward flops)" -eq 345600 ] && [ "$(row forward type)" = FP32 ]
	[ "$(row backward flops)" -eq $((8 * 34560)) ] && [ "$(row backward calls)" -eq 8 ] && [ "$(row backward type)" = TF32 ]
	[ "$(row planned flops)" -eq $((5 * 34560)) ] && [ "$(row planned type)" = FP16 ]
	[ "$(row planned from)" = 'cudnnBackendExecute plan' ]
	[ "$(row forward from)" = 'cudnnConvolutionForward descriptors' ]
	# what is not known is counted, with the time of its kernels, and is in no rate
	[ "$(row unplanned flops)" = null ] && [ "$(row unplanned flops_per_s)" = null ]
	[ "$(row unplanned unknown_shape_calls)" -eq 3 ] && [ "$(row unplanned gpu_ns)" -eq 12000 ] && [ "$(row unplanned counted_gpu_ns)" -eq 0 ]
	[ "$(row unplanned from)" = 'unknown shape: 3 calls' ]
	[ "$(row opaque from)" = 'unknown shape: 2 calls' ]
	report call
	[ "$(row cudnnBackendExecute from)" = 'cudnnBackendExecute plan; unknown shape: 3 calls' ]
	[ "$(row cudnnBackendExecute flops_per_s)" -eq $((34560 * 5 * 1000000000 / 20000)) ]
}

@test "sizes that cannot be are no operations, and too many are said to be" {
	record_gpu -- "$USER" negative:3 huge:2 large:4
	report
	[ "$(row negative flops)" = null ] && [ "$(row negative failed_calls)" -eq 3 ] && [ "$(row negative from)" = 'failed: 3 calls' ]
	# jq has 53 bits
	grep -o '"name": "huge".*' r.json
	grep -q '"flops": 36893488147419103230, "calls": 2, .*"saturated_calls": 2, .*"name": "huge"' r.json
	grep -q '"flops": 36893488147419103232, "calls": 4, .*"saturated_calls": 0, .*"name": "large"' r.json
	"$SPROF" report --flops g.data | grep -q 'huge .*cublasSgemm_v2_64 arguments; more than 2^64 operations, counted as so many: 2 calls'
	FAKE_LENIENT=1 record_gpu -- "$USER" negative:3
	report
	[ "$(row negative unknown_shape_calls)" -eq 3 ] && [ "$(row negative flops)" = null ]
}

@test "rows are functions, lines, calls or kernels, and each has all operations" {
	record_gpu -- "$USER" sgemm:10 nested:10 matmul:1
	local by all=$((120000 + 81920 + 6000000)) line
	for by in function line operator range call kernel; do
		report $by
		[ "$(jq '[.rows[].flops] | add' r.json)" -eq $all ]
	done
	[ "$(row reduce_kernel flops)" -eq $(((81920 + 6000000) / 5)) ]
	[ "$(row reduce_kernel calls)" -eq 11 ]
	"$SPROF" report --flops=kernel g.data | grep -q 'shared out to its kernels by their time'
	line=$(grep -n 'cublasGemmEx(NULL' tests/gpu/math_user.c 2>/dev/null || grep -n 'cublasGemmEx(NULL' "$BATS_TEST_DIRNAME/math_user.c")
	report line
	[ "$(jq -r '.rows[] | select(.flops == 81920).name' r.json | sed 's/.*math_user.c:/math_user.c:/')" = "math_user.c:${line%%:*}" ]
	report operator
	[ "$(jq -r '.rows[].name' r.json)" = '[no operator]' ]
	run "$SPROF" report --flops=colour g.data
	[ "$status" -eq 2 ]
}

@test "operators and ranges have the operations of the calls inside them" {
	local include
	include=$(wheel nvidia-nvtx-cu12 12.9.79)/nvidia/nvtx/include && [ -e "$include/nvtx3/nvToolsExt.h" ] ||
		skip 'no NVTX headers: let pip fetch nvidia-nvtx-cu12'
	gcc -shared -fpic -O1 -isystem "$include" -o mark.so -x c - -ldl <<-'END'
		#include <nvtx3/nvToolsExt.h>
		int push_range(const char *name) { return nvtxRangePushA(name); }
		int pop_range(const char *name) { return nvtxRangePop(); }
	END
	NVTX_USER=$PWD/mark.so record_gpu -- "$USER" push:step sgemm:2 push:aten::addmm,\ seq\ =\ 3 sgemm:5 pop push:aten::addmm,\ seq\ =\ 4 sgemm:1 pop pop hgemm:1
	report operator
	[ "$(row aten::addmm flops)" -eq 72000 ]
	[ "$(row step flops)" -eq 24000 ]
	[ "$(row '[no operator]' flops)" -eq 1024 ]
	report range
	[ "$(row step flops)" -eq 96000 ]
	[ "$(row 'step / aten::addmm, seq = 3' flops)" -eq 60000 ]
	[ "$(row '[no range]' flops)" -eq 1024 ]
}

# The fake's GPU is of capability 9.0, with 132 multiprocessors at 1.98 GHz.
@test "rates are compared with the peak where it is known, whose source is named" {
	record_gpu -- "$USER" tf32 sgemm:1000 hgemm:10
	report
	cat r.json
	[ "$(row sgemm type)" = TF32 ]
	jq -e '.peaks[] | select(.type == "TF32" and .device == 0) | .flops_per_s == 2048 * .sms * .clock_hz and (.from | test("white paper of Hopper"))' r.json
	jq -e '(.peaks[] | select(.type == "TF32" and .device == 0).flops_per_s) as $p | .rows[] | select(.name == "sgemm") |
		(.peak_share - 100 * .flops_per_s / $p | fabs) <= 0.011' r.json
	"$SPROF" report --flops g.data >got
	cat got
	grep -q '^GPU 0 .*, TF32: peak .* TFLOP/s, .* SMs at .* MHz (NVIDIA.s white paper of Hopper (H100))$' got
	NVIDIA_TF32_OVERRIDE=0 record_gpu -- "$USER" tf32 sgemm:10
	report
	[ "$(row sgemm type)" = FP32 ]
}

@test "a call that was captured counts each time that its graph runs" {
	record_gpu -- "$USER" replay:50 sgemm:1
	report
	[ "$(row sgemm captured_calls)" -eq 1 ]
	[ "$(row sgemm flops)" -eq $((51 * 12000)) ] && [ "$(row sgemm calls)" -eq 51 ]
	[ "$(row nested flops)" -eq $((50 * 8192)) ]
	[ "$(row nested gpu_ns)" -eq $((50 * 2500)) ]
	grep -q 'captured into graphs: 1 call' <("$SPROF" report --flops g.data)
}

@test "what cannot be intercepted is said, and the program works as before" {
	record_gpu -- "$BATS_FILE_TMPDIR/math_relro" sgemm:10 nested:10
	# its own imports are read-only; that of libcublas, which calls libcublasLt, is not
	report
	[ "$(jq '[.rows[].calls] | add' r.json)" -eq 10 ]
	[ "$(jq -r '[.rows[].from] | unique[]' r.json)" = 'cublasLtMatmul layouts' ]
	"$SPROF" report --flops g.data | grep -q '^[1-9][0-9]* imports are read-only: calls through them are missing here\.$'
	gcc -shared -fpic -Wl,-soname,libcublas.so.11 -o libcublas.so.11 -x c /dev/null
	LD_PRELOAD=$PWD/libcublas.so.11 record_gpu -- "$USER" matmul:2
	report
	[ "$(jq '[.rows[].calls] | add' r.json)" -eq 2 ]
	"$SPROF" report --flops g.data | grep -q 'several copies of libcublas.so are loaded: the operations of its calls are not counted'
}

@test "without the kind nothing is replaced, and the report says why it has none" {
	record_gpu --gpu-kinds=-flops -- "$USER" sgemm:10
	run "$SPROF" report --flops g.data
	[ "$status" -eq 1 ] && grep -q 'not collected (sprof record --gpu-kinds): flops' <<<"$output"
	record_gpu -- "$WORK" launch:10
	run "$SPROF" report --flops g.data
	[ "$status" -eq 1 ] && grep -q 'it holds no calls of cuBLAS or cuDNN' <<<"$output"
	# counted without the time of a GPU
	record_gpu --gpu-kinds flops -- "$USER" sgemm:10
	report
	[ "$(row sgemm flops)" -eq 120000 ] && [ "$(row sgemm flops_per_s)" = null ]
}

@test "kernels that a call launched are under its stack, as without it" {
	record_gpu -- "$USER" sgemm:20
	[ "$("$SPROF" fold --column launches g.data | awk '/main;train;sgemm;.*gemm_kernel/ { s += $NF } END { print s }')" -eq 20 ]
}
