# Programs that were compiled without unwind tables but with -g have their rules in .debug_frame, in the program or in
# its debug file. No rules can be derived from the code of the target.
load ../kernel

setup() {
	needs_bpf
	command -v objcopy >/dev/null || skip "there is no objcopy"
	export XDG_CACHE_HOME=$BATS_TEST_TMPDIR
	cd "$BATS_TEST_TMPDIR"
	cp "$TARGETS/computed_goto" whole
	# crtbegin.o brings an .eh_frame, but it describes nothing of the program
	readelf -wf whole | grep -q DW_CFA
}

# Percent of the samples of PROGRAM whose stack leads from `main` to `run`; run has a name in each of them.
percent_complete() {
	rm -f "$data"
	"$SPROF" record -o "$data" -F 999 "${@:2}" -- "./$1"
	fold
	echo "$(samples ';main;run') of $(samples ';run')"
	[ "$(samples ';run')" -gt 50 ] || [ "${complete:-}" = none ]
	percent=$(($(samples ';main;run') * 100 / ($(samples "$1") + 1)))
}

# bats test_tags=full
@test "rules of .debug_frame are used" {
	percent_complete whole
	[ "$percent" -ge 90 ]
	percent_complete whole -s timer
	[ "$percent" -ge 90 ]
	objcopy -R .debug_frame whole without
	percent_complete without
	[ "$percent" -lt 10 ]
}

# bats test_tags=full
@test "rules of a separate debug file are used, whichever way it is found" {
	local id
	objcopy --only-keep-debug whole whole.debug
	objcopy -S --add-gnu-debuglink=whole.debug whole linked
	percent_complete linked
	[ "$percent" -ge 90 ]
	mkdir .debug
	mv whole.debug .debug
	percent_complete linked
	[ "$percent" -ge 90 ]
	rm .debug/whole.debug
	complete=none percent_complete linked
	[ "$percent" -lt 10 ]
}

# bats test_tags=full
@test "a debug file that another user owns or can write is not used" {
	objcopy --only-keep-debug whole whole.debug
	objcopy -S --add-gnu-debuglink=whole.debug whole linked
	chown 65534 whole.debug
	percent_complete linked
	[ "$percent" -lt 10 ]
	chown 0 whole.debug
	chmod 666 whole.debug
	percent_complete linked
	[ "$percent" -lt 10 ]
}

# bats test_tags=full
@test "a debug file that appears later is used although the table was kept" {
	local id path
	objcopy -S whole bare
	complete=none percent_complete bare
	[ "$percent" -lt 10 ]
	id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
	[ -n "$id" ] || skip "the linker writes no build-id"
	path=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
	mkdir -p "${path%/*}"
	objcopy --only-keep-debug whole "$path"
	percent_complete bare
	rm -f "$path"
	rmdir -p --ignore-fail-on-non-empty "${path%/*}" || true
	[ "$percent" -ge 90 ]
}
