# tests/gpu/check.py, what `make check-gpu` runs: as far as it goes without a GPU.

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
@test "every check that the fake GPU can pass passes, and says that it is the fake's" {
	check --only launches,sums,timeline,memory,graphs,attach_graphs,load,residue,flame,torch_gpt
	[ "$status" -eq 0 ]
	grep -q '^no GPU here (--fake was given)' <<<"$output"
	grep -q '^9 ok, 0 failed, 1 skipped\|^8 ok, 0 failed, 2 skipped' <<<"$output"
	grep -q '^skipped  torch_gpt: needs a GPU, and torch' <<<"$output"
	grep -q "every figure is the fake's" out/results.md
	# Nothing that ran over the fake counts as verified.
	grep -q '^- kernel times and counts are right' out/results.md
	jq -e '.fake and (.checks | length) == 10' out/results.json
}

@test "a check that finds something wrong fails, and the others have their turn" {
	FAKE_DROP=10 check --only graphs,host
	[ "$status" -eq 1 ]
	grep -q '^FAILED   graphs: 2500 activities were lost' <<<"$output"
	grep -q '^ok       host' <<<"$output"
}

# bats test_tags=full
@test "what a machine has not got is said, each by its name" {
	run timeout 100 python3 "$BATS_TEST_DIRNAME/check.py" --rounds 1 -o out --only host
	echo "$output"
	[ "$status" -eq 0 ]
	! grep -q '^no GPU here' <<<"$output" && skip 'there is a GPU here'
	grep -q '^no GPU here (libcuda.so.1: cannot open shared object file\|^no GPU here (cuInit fails with' <<<"$output"
	command -v nvcc || grep -q '^ok       host: .*not here: a GPU (.*, nvcc' <<<"$output"
}
