# What the agent takes for granted of CUPTI, asked of real ones where there are any: $SPROF_TEST_CUPTI (several, with
# colons), a toolkit, or NVIDIA's wheels.

found() {
	local path
	for path in ${SPROF_TEST_CUPTI//:/ } /usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1? \
		/usr/lib/python3*/site-packages/nvidia/c*/lib/libcupti.so.1? \
		/usr/local/lib/python3*/*-packages/nvidia/c*/lib/libcupti.so.1?; do
		[ -e "$path" ] && echo "$path"
	done
	true
}

@test "a real libcupti agrees on the sizes of records, the numbers of calls, and what it exports" {
	local path asked=0
	[ -n "$(found)" ] || skip 'no libcupti here: pip install nvidia-cuda-cupti-cu12, and set SPROF_TEST_CUPTI'
	for path in $(found); do
		run python3 tests/gpu/real_cupti.py "$path"
		echo "$path: $output"
		[ "$status" -eq 77 ] && continue
		[ "$status" -eq 0 ]
		asked=$((asked + 1))
	done
	[ "$asked" -gt 0 ] || skip "$output"
}
