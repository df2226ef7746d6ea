# What the agent assumes about cuBLAS, cuBLASLt and cuDNN, checked against NVIDIA's own headers, which need no GPU:
# $SPROF_TEST_MATH (folders with colons), a toolkit, or installed wheels. They come with libraries of 600 MB each, so they
# are not fetched.

load fake.bash

found_headers() {
	local path
	for path in ${SPROF_TEST_MATH//:/ } /usr/local/cuda*/include /usr/include \
		/usr/lib/python3*/*-packages/nvidia/*/include /usr/local/lib/python3*/*-packages/nvidia/*/include; do
		[ -e "$path/cublas_api.h" ] || [ -e "$path/cudnn.h" ] && echo "$path"
	done
	true
}

@test "headers of cuBLAS and cuDNN agree on prototypes and numbers" {
	[ -e gpu/agent/flops/math_abi.h ] || skip 'no sources here'
	[ -n "$(found_headers)" ] || skip 'no headers of cuBLAS or cuDNN here (hint: set SPROF_TEST_MATH)'
	run python3 tests/gpu/real_math.py $(found_headers)
	echo "$output"
	[ "$status" -eq 0 ]
}
