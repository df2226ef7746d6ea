# tests/gpu/check.py, which `make check-gpu` runs: the part that works without a GPU.

load fake.bash

setup() {
	fake_setup
	unset LD_LIBRARY_PATH SPROF_CUPTI
	cd "$BATS_TEST_TMPDIR"
}

check() {
	run timeout 100 python3 "$BATS_TEST_DIRNAME/check.py" --fake --rounds 1 -o out "$@"
	echo "$output"
}

# bats test_tags=full
@test "the checks that a fake GPU can pass pass, and the results name the fake" {
	check --only launches,sums,timeline,memory,graphs,attach_graphs,load,residue,flame,torch_gpt
	[ "$status" -eq 0 ]
	grep -q '^no GPU here (--fake was given)' <<<"$output"
	grep -q '^9 ok, 0 failed, 1 skipped\|^8 ok, 0 failed, 2 skipped' <<<"$output"
	grep -q '^skipped  torch_gpt: needs a GPU, and torch' <<<"$output"
	grep -q "every figure is the fake's" out/results.md
	# A claim is not verified by a run over the fake.
	grep -q '^- kernel times and counts are right' out/results.md
	jq -e '.fake and (.checks | length) == 10' out/results.json
}

@test "a check that finds an error fails, and the others still run" {
	FAKE_DROP=10 check --only graphs,host
	[ "$status" -eq 1 ]
	grep -q '^FAILED   graphs: 2500 activities were lost' <<<"$output"
	grep -q '^ok       host' <<<"$output"
}

# bats test_tags=full
@test "everything that the machine lacks is named" {
	run timeout 100 python3 "$BATS_TEST_DIRNAME/check.py" --rounds 1 -o out --only host
	echo "$output"
	[ "$status" -eq 0 ]
	! grep -q '^no GPU here' <<<"$output" && skip 'there is a GPU here'
	grep -q '^no GPU here (libcuda.so.1: cannot open shared object file\|^no GPU here (cuInit fails with' <<<"$output"
	command -v nvcc || grep -q '^ok       host: .*not here: a GPU (.*, nvcc' <<<"$output"
}
