# The archive of `make dist`: unpacked into an empty folder it runs without anything from this tree.

setup() {
	bats_require_minimum_version 1.5.0
	local archive=("$BUILD"/sprof-*.tar.gz)
	[ -e "${archive[0]}" ] || skip 'no archive: make dist'
	cd "$BATS_TEST_TMPDIR"
	tar xzf "${archive[0]}"
	cd sprof-*
	ROOT=$PWD
}

# Runs a command with an empty environment.
alone() {
	env -i PATH=/usr/bin:/bin LD_LIBRARY_PATH= "$@"
}

needed() {
	readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | paste -sd ' '
}

newest_glibc() {
	readelf -VW "$1" | sed -n 's/.*Name: GLIBC_\([0-9.]*\) .*/\1/p' | sort -V | tail -1
}

not_newer() { # version, limit
	[ "$(printf '%s\n' "$1" "$2" | sort -V | tail -1)" = "$2" ]
}

@test "nothing but glibc is needed: at most 2.34, and 2.28 inside targets" {
	[ "$(needed bin/sprof)" = 'libc.so.6 libm.so.6' ]
	not_newer "$(newest_glibc bin/sprof)" 2.34
	for library in lib/sprof/libsprof.so lib/sprof/libsprof-gpu.so; do
		not_newer "$(newest_glibc $library)" 2.28
	done
	! readelf -dW bin/sprof | grep -e RPATH -e RUNPATH
}

@test "the archive alone records a program and draws its flame graph" {
	cd "$BATS_TEST_TMPDIR"
	alone "$ROOT/bin/sprof" record -q -s timer -o a.data -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
	alone "$ROOT/bin/sprof" flame -o a.svg a.data
	xmllint --noout a.svg
	[ "$(alone "$ROOT/bin/sprof" info --json a.data | jq .samples)" -gt 0 ]
	alone "$ROOT/bin/sprof" doctor | grep -q '^timer  *OK'
}

# With the archive's library and its copy of the tests. Three tests stand for all.
# bats test_tags=full
@test "the archive's own tests run from any folder" {
	[ -x bats/bin/bats ] || skip 'bats was not there when the archive was made'
	mv "$ROOT" "$BATS_TEST_TMPDIR/moved"
	cd "$BATS_TEST_TMPDIR/moved"
	run alone SPROF="$PWD/bin/sprof" BUILD="$PWD/build" TARGETS="$PWD/build/tests/targets" TMPDIR="$BATS_TEST_TMPDIR" \
		bats/bin/bats --tap -f 'to the nanosecond|whatever rings lost' tests/gpu
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(grep -c '^ok' <<<"$output")" -eq 3 ]
}
