# tests/gpu/check, which `make check-gpu` runs: calls, results and the dry run. Its judges are in judges.bats.

load fake.bash
load real.bash

setup() {
	fake_setup
	unset LD_LIBRARY_PATH SPROF_CUPTI
	CHECK=$BATS_TEST_DIRNAME/check/main.py
	cd "$BATS_TEST_TMPDIR"
}

check() {
	run timeout 100 python3 "$CHECK" --rounds 1 -o out "$@"
	echo "$output"
}

# bats test_tags=full
@test "two calls write one file of results and one archive, which name the fake" {
	check --fake --only sums,flame,nvcc
	[ "$status" -eq 0 ]
	grep -q '^no GPU is used (--fake was given)' <<<"$output"
	grep -q '^skipped  nvcc: needs a GPU, and nvcc' <<<"$output"
	grep -q '^2 ok, 0 failed, 1 skipped; out/results.md, out/gpu-check.tar.gz$' <<<"$output"
	check --fake --only torch_gpt
	[ "$status" -eq 0 ]
	grep -q "every figure is the fake's" out/results.md
	jq -e '.fake and ([.checks[].name] == ["sums", "flame", "nvcc", "torch_gpt"])' out/results.json
	# A claim is not verified by a run over the fake.
	grep -q '^- kernel times and counts are right' out/results.md
	tar tzf out/gpu-check.tar.gz >held
	for file in results.md results.json sums.data flame.svg torch_gpt.data torch_gpt.svg; do
		grep -qx "gpu-check/$file" held
	done
	# A call that cannot see the folder of another one is given its results.
	run timeout 100 python3 "$CHECK" --fake -o other --only host --with out
	[ "$status" -eq 0 ]
	jq -e '[.checks[].name] == ["host", "sums", "flame", "nvcc", "torch_gpt"]' other/results.json
	# Not those of another kind.
	sed -i 's/"fake": true/"fake": false/' out/results.json
	run timeout 100 python3 "$CHECK" --fake -o third --only host --with out/results.json
	jq -e '[.checks[].name] == ["host"]' third/results.json
}

@test "a check that finds an error fails, and the others still run" {
	FAKE_DROP=10 check --fake --only sums,host
	[ "$status" -eq 1 ]
	grep -q '^FAILED   sums: lost: 20 activities dropped by CUPTI' <<<"$output"
	grep -q '^ok       host' <<<"$output"
}

@test "a call ends when its time is over, and says which checks it did not make" {
	check --fake --limit 4 --only sums,flame
	[ "$status" -eq 1 ]
	[ "$(grep -c '^skipped  .*: no time left' <<<"$output")" -eq 2 ]
}

# bats test_tags=full
@test "without a GPU it says what it would do, and tries what can be tried" {
	[ ! -e /proc/driver/nvidia/version ] || skip 'there is a GPU here'
	check
	[ "$status" -eq 77 ]
	grep -q '^a dry run: nothing is checked on a GPU, because there is none here$' <<<"$output"
	grep -q '^ok       A recording over the fake GPU.*: 20 kernels of 20$' <<<"$output"
	grep -q '^missing  a GPU (' <<<"$output"
	command -v nvcc || grep -q '^missing  .*, nvcc' <<<"$output"
	for name in $(python3 "$CHECK" --list | grep -v exhaustion); do
		grep -q "^  $name  *[A-Za-z2]" <<<"$output"
	done
	[ ! -e out/results.md ]
	check --dry-run --part 2
	[ "$status" -eq 0 ]
	grep -q '^part 2 would do' <<<"$output"
	[ "$(grep -c '^part 1 would do' <<<"$output")" -eq 0 ]
	BUILD=$BATS_TEST_TMPDIR check --dry-run
	[ "$status" -eq 1 ]
	grep -q '^FAILED   The archive is whole, and sprof starts: not there: ' <<<"$output"
}

# A machine with a driver on which nothing can be installed: the archive, an empty environment, no compiler. Its PATH has
# only what check-gpu needs.
bare_machine() {
	local archive=("$BUILD"/sprof-*.tar.gz) program
	[ -e "${archive[0]}" ] || skip 'no archive: make dist'
	tar xzf "${archive[0]}"
	mkdir bin
	for program in sh dirname env; do
		ln -s "$(command -v $program)" bin/
	done
	ln -s "$(python3 -c 'import sys; print(sys.executable)')" bin/python3
	cd sprof-*
}

bare() { # VARIABLE=VALUE... COMMAND...
	run timeout 100 env -i PATH="$BATS_TEST_TMPDIR/bin" "$@"
	echo "$output"
}

# bats test_tags=full
@test "a dry run of the archive on a bare machine with a real libcuda and no GPU says what it would do" {
	local driver made=''
	[ ! -e /proc/driver/nvidia/version ] || skip 'there is a GPU here'
	driver=$(real_driver) || skip "no libcuda: Debian's package libcuda1 (non-free) cannot be had here"
	[ -e /dev/nvidiactl ] || made=yes # as root libcuda makes this file
	bare_machine
	bare LD_LIBRARY_PATH="$driver" OUT="$BATS_TEST_TMPDIR/out" ./check-gpu --dry-run
	[ -z "$made" ] || rm -f /dev/nvidiactl
	[ "$status" -eq 0 ]
	# without a libcupti it says no more of the driver
	grep -q '^ok       The driver loads the library in cuInit: cannot find libcupti: no GPU data' <<<"$output"
	grep -q '^missing  a GPU (cuInit fails with 100, ' <<<"$output"
	grep -q '^CUPTI    not found (hint: ' <<<"$output"
	grep -q '^part 1 would do, until 520 seconds are over:' <<<"$output"
	grep -q '^  torch_gpt .*(skipped: no torch for this python)' <<<"$output" || python3 -c 'import torch'
	grep -q "^and would write results.md, results.json and gpu-check.tar.gz into $BATS_TEST_TMPDIR/out" <<<"$output"
}

# bats test_tags=full
@test "the archive's checks run over the fake GPU on a bare machine" {
	bare_machine
	bare ./check-gpu --fake -o "$BATS_TEST_TMPDIR/out" --rounds 1 --only host,sums,pauses,threads,capture,torch_gpt
	[ "$status" -eq 0 ]
	grep -q '^6 ok, 0 failed, 0 skipped' <<<"$output"
}

# bats test_tags=full
@test "make check-gpu uses the archive that is there where there is no compiler" {
	[ -e Makefile ] || cd "$OLDPWD"
	[ -e Makefile ] || skip 'no sources here'
	local archive=("$BUILD"/sprof-*.tar.gz) out=$BATS_TEST_TMPDIR/out
	[ -e "${archive[0]}" ] || skip 'no archive: make dist'
	mkdir "$BATS_TEST_TMPDIR/b"
	cp "${archive[0]}" "$BATS_TEST_TMPDIR/b"
	unset SPROF BUILD TARGETS
	run timeout 100 make -s check-gpu CC=no-compiler-here B="$BATS_TEST_TMPDIR/b" OUT="$out" DRY=1 PART=1
	echo "$output"
	[ "$status" -eq 0 ]
	grep -q "^and would write results.md, .* into $out" <<<"$output"
	rm "$BATS_TEST_TMPDIR"/b/*.gz
	run timeout 100 make -s check-gpu CC=no-compiler-here B="$BATS_TEST_TMPDIR/b" OUT="$out" DRY=1
	[ "$status" -eq 2 ]
	grep -q 'hint: run make dist elsewhere' <<<"$output"
}
