# Files of other programs, read by every command. tests/unit/output/export/test_round_trip.c tests round trips.

load go_pprof

GOLDEN=$BATS_TEST_DIRNAME/../golden
CORPUS=$BATS_TEST_DIRNAME/../fuzz/corpus

setup() {
	bats_require_minimum_version 1.5.0
	cp "$GOLDEN/recordings/complete.data" "$GOLDEN"/output/*.folded "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
}

rows() { # the table of a profile, without what names the file
	"$SPROF" report --json -n 0 "$1" 2>/dev/null | jq -c '.samples, .ns, .lost, .frequency, .rows[]'
}

@test "a report of what was exported is the report of the profile" {
	for f in complete.data kinds.folded hostile.folded split.folded; do
		rows $f >want
		[ "$(wc -l <want)" -gt 4 ]
		"$SPROF" export -f pprof -o x.pb.gz $f
		rows x.pb.gz | diff want -
		zcat x.pb.gz >x.pb
		rows x.pb | diff want -
		"$SPROF" export -f speedscope -o x.json $f
		rows x.json | sed '4s/.*/0/' >got # the format knows no frequency, and no losses
		sed '3,4s/.*/0/' want | diff - got
	done
}

@test "the format is told by content, in a file, in a pipe and in gzip" {
	for f in pprof speedscope collapsed; do
		"$SPROF" export -f $f kinds.folded >x
		"$SPROF" fold x >want
		[ -s want ]
		"$SPROF" fold - <x | diff want -
		cat x | "$SPROF" fold - | diff want -
		[ $f = pprof ] || gzip -c x | "$SPROF" fold - | diff want -
	done
	gzip -c complete.data | "$SPROF" fold - 2>/dev/null | diff - <("$SPROF" fold complete.data 2>/dev/null)
}

@test "what perf prints of a recording of its own is read, stacks and inlined functions" {
	perf record -q -e cpu-clock -F 500 --call-graph fp -o p.data -- "$TARGETS/shares_pie" 300 >/dev/null 2>&1 || skip "perf cannot record here"
	perf script -i p.data >p.txt 2>/dev/null
	nr=$(perf script -i p.data -F time 2>/dev/null | grep -c .)
	[ "$nr" -gt 50 ]
	"$SPROF" report --json p.txt | jq -e ".samples == $nr and .column == \"cpu\" and .ns == $nr * 2000000"
	"$SPROF" report --json p.txt | jq -e '.rows | map(select(.module == "shares_pie")) | length >= 3'
	"$SPROF" fold p.txt | grep -q '^shares_pie;'
	perf script -i p.data -F comm,tid,time,event,ip,sym,dso 2>/dev/null >q.txt
	"$SPROF" report --json q.txt | jq -e ".samples == $nr"
	"$SPROF" fold q.txt | diff - <("$SPROF" fold p.txt)
}

@test "perf script: what is inlined, unknown and on one line" {
	[ "$("$SPROF" fold "$CORPUS/perf_script/usual" | paste -sd' ')" = "app name;[unknown];[libx.so.1];outer;inner_[i];ns::f<int>(char const*);asm_sysvec_[k] 1 app name;main 1" ]
	run --separate-stderr "$SPROF" fold "$CORPUS/perf_script/flat"
	[ "$output" = "$(printf 'cc1;memcpy 250000\nswapper;native_write_msr_[k] 1')" ]
	[[ "$stderr" == *"samples left out because their event is not cycles: 1"* ]]
}

@test "perf script: an inlined function without a name" {
	[ "$("$SPROF" fold "$CORPUS/perf_script/nameless")" = "app;main;[empty name]_[i] 1" ]
}

@test "speedscope: events become samples of the time between them" {
	[ "$("$SPROF" fold --time "$CORPUS/speedscope/evented.json" | paste -sd' ')" = 'one;main 3500000 one;main;b 5000000 one;main;é😀\u{a} 1500000' ]
}

# bats test_tags=full
@test "pprof of go tool pprof is read, and its default value shown" {
	"$SPROF" export -o x.pb.gz complete.data
	command -v go >/dev/null || skip "needs go (golang-go)"
	go_pprof -proto -output=y.pb.gz x.pb.gz >/dev/null 2>&1
	rows x.pb.gz | sed 's/.*"kind"//' >want # it cuts template arguments off names
	rows y.pb.gz | sed 's/.*"kind"//' | diff want -
}

@test "damaged files are clear errors" {
	"$SPROF" export -f pprof kinds.folded | zcat >x.pb
	head -c 300 x.pb >short.pb
	run --separate-stderr "$SPROF" report short.pb
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot read 'short.pb': it is a damaged pprof file" ]
	gzip -c x.pb | head -c 100 >short.gz
	run --separate-stderr "$SPROF" report short.gz
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot read 'short.gz': its gzip data is damaged or cut off" ]
	"$SPROF" export -f speedscope kinds.folded | head -c 1000 >short.json
	run --separate-stderr "$SPROF" report short.json
	[ "$status" -eq 1 ]
	[[ "$stderr" == "sprof: cannot read 'short.json': it stops being valid JSON at byte "* ]]
	echo '{"shared":{"frames":[{"name":"a"}]},"profiles":[{"samples":[[7]],"weights":[1]}]}' >wrong.json
	run --separate-stderr "$SPROF" report wrong.json
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot read 'wrong.json': a stack refers to a frame that does not exist" ]
	echo '{"shared":{"frames":[{"name":"a"}]},"profiles":[{"samples":[[0]],"weights":[-1]}]}' >wrong.json
	run --separate-stderr "$SPROF" report wrong.json
	[ "$stderr" = "sprof: cannot read 'wrong.json': a weight is negative" ]
	{ printf PERFILE2; head -c 300 /dev/zero; } >perf.data
	run --separate-stderr "$SPROF" report perf.data
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot read 'perf.data': its header is damaged" ]
	gzip -c <(gzip -c x.pb) >twice.gz
	run --separate-stderr "$SPROF" report twice.gz
	[ "$status" -eq 1 ]
}

# OPTIONS...: records with perf record, and compares what sprof reads from the file with what perf script does: the same
# samples, and, unless names of inlined functions differ, the same stacks. A sample in libc, whose names differ, is left out.
agrees_with_perf() {
	perf record -q -o perf.data "$@" >/dev/null 2>perf.err || skip "perf cannot record here: $(head -1 perf.err)"
	"$SPROF" fold perf.data >ours
	perf script -i perf.data 2>/dev/null | "$SPROF" fold - >perfs
	cat ours perfs
	sed -i 's/__libc_start_main_impl_\[i\]/__libc_start_main/; /;main;f1;/!d' ours perfs
	[ "$(awk '{ n += $NF } END { print (n > 20) }' ours)" = 1 ]
	diff <(sed 's/_\[k\].*//' ours | sort) <(sed 's/_\[k\].*//' perfs | sort)
}

@test "perf.data: call chains are as perf script prints them" {
	agrees_with_perf -F 299 -g "$TARGETS/deep32_fp" 300
	run "$SPROF" info perf.data
	echo "$output"
	[[ $output == *'source'*'perf record'*'event'*'cpu-clock'* || $output == *cycles* ]]
	! grep -q '^sprof ' <<<"$output" || false
	grep -q '^perf  *[0-9]' <<<"$output"
	"$SPROF" info --json perf.data | jq -e 'has("sprof") | not'
	[ "perf version $("$SPROF" info --json perf.data | jq -r .perf)" = "$(perf --version)" ]
}

@test "perf.data: copied stacks are unwound as perf unwinds them, compressed ones too" {
	agrees_with_perf -z -F 199 --call-graph dwarf,8192 "$TARGETS/deep32_nofp" 300
	grep -q '_start;.*main;f1;f2;.*;f30;leaf' ours
}

@test "perf.data: a pipe of perf record is read, and one that was cut off says so" {
	perf record -q -o - -F 299 -g "$TARGETS/deep32_fp" 200 2>perf.err >pipe || skip "perf cannot record here"
	"$SPROF" fold - <pipe | grep -q '^deep32_fp;.*main;f1;f2;.*leaf_60 [1-9]'
	head -c $(($(wc -c <pipe) - 5)) pipe >cut
	run --separate-stderr "$SPROF" fold cut
	[ "$status" -eq 0 ]
	[[ $stderr == *"'cut': 1 of its records are damaged and left out"* ]]
}

@test "a file that is mostly no collapsed stacks is an error, not a picture of its scraps" {
	run --separate-stderr "$SPROF" flame /bin/ls
	[ "$status" -eq 1 ]
	[ -z "$output" ]
	[[ $stderr == "sprof: cannot read '/bin/ls': "* ]]
	printf 'x\ny\nz\na;b 3\n' >mostly
	run "$SPROF" fold mostly
	[ "$output" = "sprof: cannot read 'mostly': only 1 of its 4 lines are collapsed stacks (a;b;c 12)" ]
}

refused() { # what it is, file
	local command
	for command in fold report 'flame -o flame.svg' info; do
		run --separate-stderr "$SPROF" $command "$2"
		echo "$command: $status '$stderr'"
		[ "$status" -eq 1 ]
		[ -z "$output" ]
		[ "${stderr_lines[0]}" = "sprof: cannot read '$2': it is $1" ]
	done
	[ ! -e flame.svg ]
}

@test "a file of a format that is not read is refused with the name of the format" {
	echo 'print()' >p.py
	python3 -m cProfile -o x.prof p.py >/dev/null
	refused "a file of Python's cProfile, which holds no stacks" x.prof
	"$SPROF" flame -o x.svg kinds.folded
	head -c 5 x.svg
	refused "$([ "$(head -c 5 x.svg)" = '<?xml' ] && echo 'an XML document' || echo 'an SVG picture')" x.svg
	echo '<!DOCTYPE html><title>x 1' >x.html
	refused 'an HTML page' x.html
	printf '{\n "line": 12\n}\n' >x.json
	refused 'JSON of an unknown format' x.json
	printf '[\n {"line": 12 }\n, 12\n]\n' >y.json
	refused 'JSON of an unknown format' y.json
	printf 'a;b 12\nc\0d 4\n' >nul
	refused 'binary data of an unknown format' nul
	gzip -c x.json | gzip >twice
	refused 'gzip data inside gzip data' twice
	# Names may begin with brackets.
	printf '[unknown];{closure} 4\n{closure};x 3\n' >names
	[ "$("$SPROF" fold names | paste -sd' ')" = '[unknown];{closure} 4 {closure};x 3' ]
}

@test "each format that is known by its first bytes and not read is refused by its name" {
	local bytes what
	while IFS='|' read -r bytes what; do
		printf '%b' "$bytes" >file
		head -c 300 /dev/zero >>file
		refused "$what" file
	done <<-'END'
		\0177ELF|a program or a library (ELF)
		\x28\xb5\x2f\xfd|zstd data
		\xfd7zXZ|xz data
		BZh9|bzip2 data
		PK\0003\0004|a ZIP archive
		SQLite format 3|an SQLite database
		gmon\0001|a gmon.out file of gprof, which holds no stacks
		\x89PNG|a PNG picture
		%PDF-1.5|a PDF document
		<?xml version="1.0"?><trace-toc/>|an XML document
		<svg>|an SVG picture
		<html>|an HTML page
		\0001\0002\0003|binary data of an unknown format
	END
	tar -cf file --format=ustar kinds.folded
	refused 'a tar archive' file
	refused 'a program or a library (ELF)' "$(command -v bash)"
}
