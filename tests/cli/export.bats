# sprof export: every format is read by another program's reader if one is installed, and by tests/cli/readers/sums.py,
# which adds up stack by stack. The sums must equal those of the report exactly.

load go_pprof

GOLDEN=$BATS_TEST_DIRNAME/../golden
READERS=$BATS_TEST_DIRNAME/readers
INPUTS="complete.data killed.data kinds.folded hostile.folded split.folded"

setup() {
	bats_require_minimum_version 1.5.0
	cp "$GOLDEN/recordings/complete.data" "$GOLDEN/recordings/killed.data" "$GOLDEN"/output/*.folded "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
}

# FORMAT FILE COLUMN: compares the sums of a file with those of the report on $input
same_sums() {
	"$SPROF" report --json -n 0 "$input" >report.json 2>/dev/null
	python3 "$READERS/sums.py" report report.json ${3:+"$3"} >want
	[ -s want ]
	python3 "$READERS/sums.py" "$1" "$2" ${3:+"$3"} | diff want -
}

decode() {
	zcat "$1" | protoc --decode perftools.profiles.Profile -I "$READERS" profile.proto
}

# bats test_tags=full
@test "pprof says what the report says, time and samples" {
	for input in $INPUTS; do
		"$SPROF" export -f pprof -o x.pb.gz $input
		decode x.pb.gz >x.txt
		same_sums pprof x.txt
	done
	input=complete.data
	"$SPROF" export -f pprof -o x.pb.gz $input
	decode x.pb.gz >x.txt
	same_sums pprof x.txt samples
	same_sums pprof x.txt cpu
}

# Parca refuses a profile with other ids.
@test "ids in pprof count from 1, in the order of the messages" {
	for comm in make cc1; do
		"$SPROF" export -f pprof --comm=$comm -o x.pb.gz complete.data
		decode x.pb.gz >x.txt
		for table in mapping location function; do
			awk -v table=$table '$0 == table " {" { on = 1 }
				on && $1 == "id:" { n++; on = 0; bad += $2 != n }
				END { exit bad || !n }' x.txt
		done
	done
}

# Parca 0.28.0 crashes where there is none.
@test "pprof always has a type of period" {
	for input in $INPUTS; do
		"$SPROF" export -f pprof -o x.pb.gz $input
		decode x.pb.gz | grep -A2 '^period_type {' | grep -q 'unit: '
	done
}

@test "OpenTelemetry's profiles say what the report says, a profile per column" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	for input in $INPUTS; do
		"$SPROF" export -f otlp -o x.otlp.gz $input
		zcat x.otlp.gz | protoc --decode otlp.ProfilesData -I "$READERS" otlp.proto >x.txt
		same_sums otlp x.txt
	done
	cp "$GOLDEN/import/go/heap.pb.gz" ../heap
	"$SPROF" export -o y.otlp.gz ../heap
	zcat y.otlp.gz | protoc --decode otlp.ProfilesData -I "$READERS" otlp.proto >y.txt
	[ "$(python3 "$READERS/sums.py" otlp y.txt alloc_space | awk '{ n += $1 } END { print n }')" = \
		"$("$SPROF" report --json --column allocated ../heap | jq .bytes)" ]
}

# bats test_tags=full
@test "go tool pprof reads pprof, and its sums are the report's" {
	command -v go >/dev/null || skip "needs go (golang-go)"
	"$SPROF" export -o x.pb.gz complete.data
	"$SPROF" report --json complete.data 2>/dev/null | jq -r '.rows[] | "\(.self_ns)ns \(.total_ns)ns"' | sort >want
	go_pprof -top -nodecount=0 -nodefraction=0 -unit=ns x.pb.gz 2>/dev/null |
		awk 'on { print $1, $4 } / flat  flat%/ { on = 1 }' | sed 's/^0 /0ns /' | sort >got
	diff want got
	go_pprof -raw x.pb.gz 2>/dev/null | grep -q 'thread:\[make\]'
}

@test "speedscope says what the report says" {
	for input in $INPUTS; do
		"$SPROF" export -f speedscope -o x.json $input
		same_sums speedscope x.json
	done
}

# bats test_tags=full
@test "every other format says what the report says" {
	for f in firefox chrome json; do
		for input in $INPUTS; do
			"$SPROF" export -f $f -o x.out $input
			same_sums $f x.out
		done
	done
	# These know threads as roots of stacks, so the report's sums are of functions that are no threads.
	for f in csv tsv collapsed; do
		for input in kinds.folded split.folded hostile.folded; do
			"$SPROF" export -f $f -o x.out $input
			[ $f = collapsed ] && [ $input = hostile.folded ] && continue
			same_sums $f x.out
		done
	done
	"$SPROF" fold hostile.folded >want
	"$SPROF" export -f collapsed hostile.folded | diff want -
}

@test "a thread is the root of its stacks in a table" {
	"$SPROF" export -f csv complete.data | python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
assert [r["kind"] for r in rows if r["depth"] in "01"] == ["thread"] * 3
assert int(rows[0]["total"]) == sum(int(r["self"]) for r in rows) == 400400400
assert int(rows[0]["total_events"]) == 400'
}

@test "callgrind_annotate reads callgrind, self and inclusive, without a warning" {
	printf 'a;b;a;c 5\na;b;a 3\na 2\nb;a;b;a 7\n' >recursive.folded
	for input in kinds.folded split.folded recursive.folded complete.data; do
		"$SPROF" export -f callgrind -o x.callgrind $input
		"$SPROF" report --json -n 0 $input >report.json 2>/dev/null
		python3 "$READERS/sums.py" report report.json >want
		for i in yes no; do
			callgrind_annotate --auto=no --show-percs=no --threshold=100 --inclusive=$i x.callgrind >out.$i 2>err
			[ ! -s err ]
		done
		python3 "$READERS/sums.py" annotate out report.json | diff want -
	done
}

# Compares self and total of every function with the report, and checks that callers add up to the whole.
@test "pstats reads pstats: own and cumulative time, callers, and no invented calls" {
	"$SPROF" export -o x.pstats complete.data
	"$SPROF" report --json -n 0 complete.data >report.json 2>/dev/null
	python3 - <<-'EOF'
		import json, pstats
		stats = pstats.Stats("x.pstats").stats
		rows = [r for r in json.load(open("report.json"))["rows"] if r["kind"] != "thread"]
		want = {r["function"]: (r["self_ns"], r["total_ns"]) for r in rows}
		got = {k[2]: (round(v[2] * 1e9), round(v[3] * 1e9)) for k, v in stats.items()}
		assert got == want, (got, want)
		assert all(v[:2] == (0, 0) for v in stats.values())
		for key, (_, _, own, total, callers) in stats.items():
		    if callers:
		        assert sum(c[2] for c in callers.values()) <= own + 1e-9, key
		        assert max(c[3] for c in callers.values()) <= total + 1e-9, key
		assert any(v[4] for v in stats.values())
	EOF
	run "$SPROF" export -f pstats kinds.folded
	[ "$status" -eq 1 ]
	[ "$output" = "sprof: cannot write 'kinds.folded' as pstats: it holds counts, and the format needs times" ]
}

@test "the format is what the file's name ends in" {
	"$SPROF" export -o x.pb.gz kinds.folded
	[ "$(head -c 2 x.pb.gz | od -An -tx1)" = " 1f 8b" ]
	"$SPROF" export -o x.speedscope.json kinds.folded
	jq -e '.exporter | startswith("sprof@")' x.speedscope.json
	run --separate-stderr "$SPROF" export -o x.what kinds.folded
	[ "$status" -eq 2 ]
	[[ "$stderr" == *"'x.what' does not end as any format: say -f FORMAT"* ]]
	run --separate-stderr "$SPROF" export kinds.folded
	[ "$status" -eq 2 ]
	run --separate-stderr "$SPROF" export -f nope kinds.folded
	[ "$status" -eq 2 ]
}

@test "equal input gives equal files" {
	formats=$("$SPROF" export --help | sed -n '/^Formats:/,/^$/s/^  \([a-z]*\) .*/\1/p')
	[ "$(wc -w <<<"$formats")" -ge 9 ]
	for f in $formats; do
		"$SPROF" export -f $f -o $f.a complete.data
	done
	sleep 1
	for f in $formats; do
		"$SPROF" export -f $f -o $f.b complete.data
		cmp $f.a $f.b
	done
}

@test "--help lists every format within 80 columns" {
	"$SPROF" export --help >help
	grep -q '^  pprof  *\.pb\.gz ' help
	grep -q '^  speedscope ' help
	[ "$(wc -L <help)" -le 80 ]
	[ "$(grep -cE '^  sprof ' help)" -eq 3 ]
}

@test "every format is written of nothing, and of stacks that are hidden" {
	for format in collapsed pprof speedscope firefox chrome torch otlp callgrind pstats json csv tsv; do
		"$SPROF" export -f $format --from 10h complete.data >nothing
		"$SPROF" export -f $format --hide . complete.data >hidden
		case $format in speedscope | firefox | chrome | torch | json) jq . nothing hidden >/dev/null ;; esac
	done
}

@test "help has a line for each format, and none is broken at the left edge" {
	"$SPROF" export --help | sed -n '/^Formats:/,/^$/p' >formats
	[ "$(grep -c '^  [a-z]' formats)" = 12 ]
	[ "$(grep -c '^[^ ]' formats)" = 1 ]
	run "$SPROF" export -f pprofs complete.data
	[ "$status" -eq 2 ]
	[[ $output == *"there is no format 'pprofs', only collapsed, pprof, "* ]]
}

@test "the program of an export is the one that was recorded, not sprof that started it" {
	{
		echo 'sample_type { type: 1 unit: 2 } string_table: "" string_table: "cpu" string_table: "nanoseconds" string_table: "main"'
		echo 'string_table: "/usr/bin/sprof" string_table: "/opt/app" string_table: "thread" string_table: "sprof" string_table: "app"'
		echo 'string_table: "pid" string_table: "tid" mapping { id: 1 memory_limit: 4096 filename: 4 } mapping { id: 2 memory_limit: 4096 filename: 5 }'
		echo 'function { id: 1 name: 3 } location { id: 1 mapping_id: 1 address: 16 line { function_id: 1 } }'
		echo 'location { id: 2 mapping_id: 2 address: 16 line { function_id: 1 } }'
		labels='label { key: 9 num: 7 } label { key: 10 num: 7 }'
		echo "sample { location_id: 1 value: 5 label { key: 6 str: 7 } $labels }"
		echo "sample { location_id: 2 value: 90 label { key: 6 str: 8 } $labels } sample { location_id: 2 value: 90 label { key: 6 str: 8 } $labels }"
	} | protoc --encode perftools.profiles.Profile -I "$READERS" profile.proto >x.pb
	"$SPROF" export -f pprof -o y.pb.gz x.pb
	decode y.pb.gz >y.txt
	name=$(awk '/^mapping/ { m = 1 } m && /filename:/ { print $2; exit }' y.txt)
	[ "$(grep '^string_table' y.txt | sed -n "$((name + 1))p")" = 'string_table: "/opt/app"' ]
	"$SPROF" export -f chrome x.pb | jq -r '.traceEvents[] | select(.name == "process_name") | .args.name' | sort -u >names
	[ "$(cat names)" = app ]
	"$SPROF" export -f firefox x.pb >x.json
	jq -e '.threads[.meta.initialSelectedThreads[0]] | .name == "app" and .processName == "app" and .samples.threadCPUDelta == [90, 90]' x.json
	jq -e '.meta.sampleUnits.threadCPUDelta == "ns" and all(.threads[]; .processName == "app")' x.json
}

# Readers of traces take "kernel" for work of a GPU.
@test "frames of the Linux kernel have a category of their own in trace events" {
	"$SPROF" export -f chrome -o x.json kinds.folded
	jq -e '[.traceEvents[] | select(.cat == "linux-kernel")] | length > 0' x.json
	jq -e '[.traceEvents[] | select(.cat == "kernel")] == []' x.json
}

@test "a file whose name ends in .gz is gzipped, once" {
	for name in x.trace.json x.speedscope.json x.profile.json x.json x.callgrind x.folded x.tsv; do
		"$SPROF" export -o $name complete.data
		"$SPROF" export -o $name.gz complete.data
		gzip -dc $name.gz | cmp - $name
		[ "$(stat -c %s $name.gz)" -lt "$(stat -c %s $name)" ]
	done
	"$SPROF" export -f chrome -o y.gz complete.data
	cmp y.gz x.trace.json.gz
	"$SPROF" export -o x.pb.gz complete.data
	"$SPROF" export -f pprof -o y.pb complete.data
	cmp x.pb.gz y.pb
	[ "$("$SPROF" report --json x.trace.json.gz 2>/dev/null | jq .ns)" = "$("$SPROF" report --json complete.data | jq .ns)" ]
	run "$SPROF" export -o x.gz complete.data
	[ "$status" -eq 2 ]
	[[ $output == *"'x.gz' does not end as any format"* ]]
	run "$SPROF" export -o .gz complete.data
	[ "$status" -eq 2 ]
}
