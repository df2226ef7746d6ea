# What the agent assumes about cuBLAS, cuBLASLt and cuDNN, checked against NVIDIA's own headers, which need no GPU:
# $SPROF_TEST_MATH (folders with colons), a toolkit, or installed wheels; and some of PyPI (math_headers, real.bash).
# bats file_tags=full

load fake.bash
load real.bash

found_headers() {
	local path
	for path in ${SPROF_TEST_MATH//:/ } /usr/local/cuda*/include /usr/include \
		/usr/lib/python3*/*-packages/nvidia/*/include /usr/local/lib/python3*/*-packages/nvidia/*/include; do
		[ -e "$path/cublas_api.h" ] || [ -e "$path/cudnn.h" ] && echo "$path"
	done
	true
}

agree() { # folder...
	run python3 tests/gpu/real_math.py "$@"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "headers of cuBLAS and cuDNN agree on prototypes and numbers" {
	[ -e gpu/agent/flops/math_abi.h ] || skip 'no sources here'
	[ -n "$(found_headers)" ] || skip 'no headers of cuBLAS or cuDNN here (hint: set SPROF_TEST_MATH)'
	agree $(found_headers)
}

@test "headers of cuBLAS 13.1 and cuDNN 9.27 agree on prototypes and numbers" {
	local at
	[ -e gpu/agent/flops/math_abi.h ] || skip 'no sources here'
	at=$(math_headers) || skip 'no headers of cuBLAS and cuDNN: PyPI is not reachable'
	agree "$at"/nvidia/*/include
}
