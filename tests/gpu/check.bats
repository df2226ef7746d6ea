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

@test "every check that the fake GPU can pass passes, and says that it is the fake's" {
	check --only launches,sums,memory,graphs,load,residue,flame,torch_gpt
	[ "$status" -eq 0 ]
	grep -q '^no GPU here' <<<"$output"
	grep -q '^7 ok, 0 failed, 1 skipped\|^6 ok, 0 failed, 2 skipped' <<<"$output"
	grep -q '^skipped  torch_gpt: there is no GPU for torch' <<<"$output"
	grep -q "every figure is the fake's" out/results.md
	# Nothing that ran over the fake counts as verified.
	grep -q '^- kernel times and counts are right' out/results.md
	jq -e '.fake and (.checks | length) == 8' out/results.json
}

@test "a check that finds something wrong fails, and the others have their turn" {
	FAKE_DROP=10 check --only graphs,host
	[ "$status" -eq 1 ]
	grep -q '^FAILED   graphs: 2500 activities were lost' <<<"$output"
	grep -q '^ok       host' <<<"$output"
}
