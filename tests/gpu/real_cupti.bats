# What the agent assumes about CUPTI, checked against real ones, which need no GPU for that: $SPROF_TEST_CUPTI (a list
# with colons), a toolkit, installed wheels of NVIDIA, and wheels of several CUDA versions, fetched once (60 MB).
# bats file_tags=full

load fake.bash
load real.bash

setup_file() {
	[ -e gpu/agent/cupti/cupti_abi.h ] || return 0 # in the archive: only what this machine has
	local package version
	while read -r package version; do
		real_cupti $package $version >/dev/null || echo "$package $version cannot be had from PyPI" >&2
	done < <(real_cupti_versions)
}

found() {
	local path
	for path in ${SPROF_TEST_CUPTI//:/ } /usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1? \
		/usr/lib/python3*/site-packages/nvidia/c*/lib/libcupti.so.1? \
		/usr/local/lib/python3*/*-packages/nvidia/c*/lib/libcupti.so.1? "$CACHE"/nvidia-cuda-cupti*/nvidia/*/lib/libcupti.so.1*; do
		[ -e "$path" ] && echo "$path"
	done
	true
}

found_headers() {
	local path
	for path in /usr/local/cuda*/extras/CUPTI/include /usr/lib/python3*/site-packages/nvidia/c*/include \
		/usr/local/lib/python3*/*-packages/nvidia/c*/include "$CACHE"/nvidia-cuda-cupti*/nvidia/*/include; do
		[ -e "$path/cupti_activity.h" ] && echo "$path"
	done
	true
}

@test "a real libcupti agrees on the sizes of records, the numbers of calls, and what it exports" {
	local path asked=0
	[ -n "$(found)" ] || skip 'no libcupti here, and PyPI cannot be reached (hint: set SPROF_TEST_CUPTI)'
	for path in $(found); do
		run python3 tests/gpu/real_cupti.py "$path"
		echo "$path: $output"
		[ "$status" -eq 77 ] && continue
		[ "$status" -eq 0 ]
		asked=$((asked + 1))
	done
	[ "$asked" -gt 0 ] || skip "$output"
}

@test "CUPTI's own headers agree on the offsets of fields, in each version of a record, and on numbers" {
	[ -n "$(found_headers)" ] || skip 'no headers of CUPTI here, and PyPI cannot be reached'
	[ -e gpu/agent/cupti/cupti_abi.h ] || skip 'no sources here'
	run python3 tests/gpu/real_headers.py $(found_headers)
	echo "$output"
	[ "$status" -eq 0 ]
}
