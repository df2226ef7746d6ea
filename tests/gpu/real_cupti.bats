# What the agent assumes about CUPTI, checked against real ones, which need no GPU for that: $SPROF_TEST_CUPTI (a list
# with colons), a toolkit, installed wheels of NVIDIA, and one wheel for each CUDA version, fetched once (45 MB).
# bats file_tags=full

load fake.bash

# Fetches a wheel from PyPI and keeps its library and headers in a folder of their own.
fetch() { # package, version
	local to=$BUILD/tests/gpu/cupti/$2
	[ ! -e "$to" ] || return 0
	timeout 120 python3 -m pip -q --retries 1 --timeout 10 download --no-deps --only-binary :all: -d "$BATS_FILE_TMPDIR/$2" \
		"$1==$2" >/dev/null 2>&1 || return 1
	python3 -m zipfile -e "$BATS_FILE_TMPDIR/$2"/*.whl "$BATS_FILE_TMPDIR/$2"
	mkdir -p "$to.new"
	mv "$BATS_FILE_TMPDIR/$2"/nvidia/*/include "$BATS_FILE_TMPDIR/$2"/nvidia/*/lib/libcupti.so.1* "$to.new"
	mv "$to.new" "$to"
}

setup_file() {
	[ -e gpu/agent/cupti/cupti_abi.h ] || return 0 # in the archive: only what this machine has
	fetch nvidia-cuda-cupti-cu11 11.8.87 &&
		fetch nvidia-cuda-cupti-cu12 12.9.79 &&
		fetch nvidia-cuda-cupti 13.0.85 &&
		fetch nvidia-cuda-cupti 13.5.25 || # its library does not answer without a driver
		echo 'wheels of CUPTI cannot be had from PyPI' >&2
}

found() {
	local path
	for path in ${SPROF_TEST_CUPTI//:/ } /usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1? \
		/usr/lib/python3*/site-packages/nvidia/c*/lib/libcupti.so.1? \
		/usr/local/lib/python3*/*-packages/nvidia/c*/lib/libcupti.so.1? "$BUILD"/tests/gpu/cupti/*/libcupti.so.1*; do
		[ -e "$path" ] && echo "$path"
	done
	true
}

found_headers() {
	local path
	for path in /usr/local/cuda*/extras/CUPTI/include /usr/lib/python3*/site-packages/nvidia/c*/include \
		/usr/local/lib/python3*/*-packages/nvidia/c*/include "$BUILD"/tests/gpu/cupti/*/include; do
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
