# Small files that would take much memory when they are read: the limit follows the size of the file, and the message
# names the file, its size and the limit.
bats_require_minimum_version 1.5.0

setup() {
	bombs=$BUILD/tests/drivers/bombs
	cd "$BATS_TEST_TMPDIR" || return 1
	case $(nm -a "$SPROF" 2>/dev/null) in
	*__asan_init*) skip "the sanitizer takes memory of its own" ;;
	esac
}

# Reads a file that is too large for its size. KIND [COMMAND...]
is_refused() {
	local peak status
	"$bombs" make "$1" "$1"
	[ "$(stat -c %s "$1")" -lt 1000000 ]
	read -r peak status < <("$bombs" peak "$SPROF" "${@:2}" "$1" 2>err >out; cat out)
	echo "$1: $peak MB, status $status, $(cat err)"
	[ "$status" -eq 1 ]
	[ "$peak" -lt 320 ]
	grep -qE "^sprof: cannot read '$1': its [0-9.]+ kB would take more than [0-9]+ MB of memory, the limit for a file of that size here\$" err
	[ "$(wc -l <err)" -eq 1 ]
}

@test "a recording whose chunks are nearly empty and hold millions of samples" {
	is_refused recording fold
	is_refused recording info
}

@test "a recording of that kind that comes through a pipe" {
	local peak status
	"$bombs" make recording recording
	read -r peak status < <("$bombs" peak "$SPROF" fold - < <(cat recording) 2>err)
	echo "$peak MB, status $status, $(cat err)"
	[ "$status" -eq 1 ]
	[ "$peak" -lt 320 ]
	grep -q "^sprof: cannot read 'standard input': its .* would take more than" err
}

@test "a segment of that kind, also where only the end of its folder is looked for" {
	local peak status from
	mkdir folder
	"$bombs" make recording folder/sprof-20231114T221320.000Z.data
	for from in -1h 1s; do
		read -r peak status < <("$bombs" peak "$SPROF" fold --from $from folder 2>err)
		echo "$from: $peak MB, status $status, $(cat err)"
		[ "$status" -eq 1 ]
		[ "$peak" -lt 320 ]
		grep -q "^sprof: cannot read 'folder': its .* would take more than" err
	done
}

@test "pprof that gzip makes small" {
	is_refused pprof fold
}

# bats test_tags=full
@test "collapsed stacks and JSON that gzip makes small" {
	is_refused zeros fold
	is_refused json fold
}

@test "records that perf has compressed" {
	is_refused perf fold
}

@test "the limit is lower where less memory is left" {
	"$bombs" make pprof pprof
	run --separate-stderr bash -c 'ulimit -v 200000; exec "$@"' sh "$SPROF" fold pprof
	echo "$status, $stderr"
	[ "$status" -eq 1 ]
	[[ $stderr == "sprof: cannot read 'pprof': its "*" would take more than "[1-9][0-9]" MB of memory"* ]]
}

# bats test_tags=full
@test "what is large and honest is read" {
	awk 'BEGIN { for (i = 0; i < 300000; i++) print "main;f" i % 1000 ";g" i " 1" }' >stacks
	gzip -k stacks
	"$SPROF" fold stacks >folded
	[ "$(wc -l <folded)" -eq 300000 ]
	"$SPROF" fold stacks.gz | cmp - folded
	cat stacks.gz | "$SPROF" fold - | cmp - folded
}

# Looks names up in an ELF file. KIND MOST_MB
looks_up_in() {
	local peak status
	"$bombs" make "$1" "$1" "$BUILD/tests/targets/shares"
	[ "$1" != elf-sparse ] || truncate -s 1G "$1"
	read -r peak status < <("$bombs" peak "$bombs" names "$1" 2>err)
	echo "$1: $peak MB, status $status, $(cat err)"
	[ "$status" -eq 0 ]
	[ "$peak" -lt "$2" ]
	grep -q "^sprof: warning: '$1'" err
}

# bats test_tags=full
@test "sections of an ELF file that expand to 160 times their size" {
	looks_up_in elf-zlib 100
	looks_up_in elf-zstd 100
	grep -qE "'elf-zstd' of [0-9.]+ MB: names are missing: its section '[a-z_.]+' would take 42 MB of memory, and the limit for a file of that size here is [0-9]+ MB" err
}

@test "tables in the hole of a sparse ELF file" {
	looks_up_in elf-sparse 100
}

# bats test_tags=full
@test "units and attributes of DWARF that take ten times their size in memory" {
	looks_up_in elf-dwarf 200
}
