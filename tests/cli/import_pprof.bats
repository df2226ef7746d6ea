# Files of pprof, of every writer and in every shape that the format allows. golden/import/README.md says who made them.

load go_pprof

GO=$BATS_TEST_DIRNAME/../golden/import/go
READERS=$BATS_TEST_DIRNAME/readers

setup() {
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_TMPDIR"
}

encode() { # a message in protobuf's text format becomes one in binary
	protoc --encode perftools.profiles.Profile -I "$READERS" profile.proto
}

# The strings, one line each, of a profile whose functions 1, 2, ... are the rest of the arguments.
functions() { # NR_STRINGS_BEFORE NAME...
	local i=0 before=$1 name
	shift
	for name; do
		i=$((i + 1))
		echo "string_table: \"$name\" function { id: $i name: $((before + i - 1)) }"
		echo "location { id: $i line { function_id: $i } }"
	done
}

sum() { # COLUMN FILE
	"$SPROF" info --json "$2" 2>/dev/null | jq ".columns[] | select(.name == \"$1\") | .sum"
}

@test "each of the seven kinds that a Go program writes is read, with its units" {
	[ "$(sum cpu $GO/cpu.pb.gz)" = 1920000000 ]
	[ "$("$SPROF" fold $GO/cpu.pb.gz 2>/dev/null | awk '{ n += $NF } END { print n }')" = 192 ]
	for kind in heap allocs; do
		"$SPROF" info --json $GO/$kind.pb.gz | jq -c '[.columns[] | [.name, .unit]]' >columns
		[ "$(cat columns)" = '[["allocated","bytes"],["allocations","count"],["live","bytes"],["live-objects","count"]]' ]
	done
	[ "$("$SPROF" report --json $GO/heap.pb.gz | jq -r .column)" = live ]
	[ "$("$SPROF" report --json $GO/allocs.pb.gz | jq -r .column)" = allocated ]
	for kind in block mutex; do
		"$SPROF" info --json $GO/$kind.pb.gz | jq -c '[.columns[] | [.name, .unit]]' >columns
		[ "$(cat columns)" = '[["delay","ns"],["contentions","count"]]' ]
	done
	[ "$("$SPROF" fold $GO/goroutine.pb.gz)" = "$(printf '%s 1' "$("$SPROF" fold $GO/goroutine.pb.gz | sed 's/ [0-9]*$//')")" ]
	[ "$(sum count $GO/threadcreate.pb.gz)" -gt 0 ]
}

# bats test_tags=full
@test "sums of Go's profiles are those of go tool pprof, by function and column" {
	command -v go >/dev/null || skip "needs go (golang-go)"
	for of in cpu:cpu:cpu:nanoseconds heap:live:inuse_space:bytes heap:live-objects:inuse_objects:count \
		allocs:allocated:alloc_space:bytes allocs:allocations:alloc_objects:count block:delay:delay:nanoseconds \
		block:contentions:contentions:count mutex:delay:delay:nanoseconds goroutine:count:goroutine:count; do
		IFS=: read -r file column type unit <<<"$of"
		go_pprof -top -unit=$unit -nodecount=1000000 -nodefraction=0 -edgefraction=0 -sample_index=$type \
			$GO/$file.pb.gz 2>/dev/null | sed '1,/flat%/d; s/ (inline)$//; s/ (partial-inline)$//' |
			awk '{ v = $1; c = $4; gsub(/[^0-9]/, "", v); gsub(/[^0-9]/, "", c); $1 = $2 = $3 = $4 = $5 = ""; sub(/^ */, ""); if (c != 0) print v, c, $0 }' |
			sort >want
		"$SPROF" report --json -n 0 --column $column $GO/$file.pb.gz 2>/dev/null |
			jq -r '.rows[] | "\(.self_bytes // .self_ns // .self) \(.total_bytes // .total_ns // .total) \(.function)"' | awk '$2 != 0' | sort >got
		[ "$(wc -l <want)" -gt 0 ]
		diff want got
	done
}

@test "the fields of a profile may come in any order, numbers packed or not" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	local types='sample_type { type: 1 unit: 2 } sample_type { type: 3 unit: 4 } period_type { type: 3 unit: 4 } period: 10'
	local strings='string_table: "" string_table: "samples" string_table: "count" string_table: "cpu" string_table: "nanoseconds"'
	{ echo "$types $strings" && functions 5 leaf root; } | encode >rest
	echo 'sample { location_id: [1, 2] value: [3, 30] } time_nanos: 1 comment: 1' | encode >samples
	cat rest samples >usual
	cat samples rest >reversed
	# comment 1 and time, then a sample whose ids and values are each a field of its own
	printf 'h\x01H\x01\x12\x08\x08\x01\x08\x02\x10\x03\x10\x1e' | cat - rest >unpacked
	for f in usual reversed unpacked; do
		[ "$("$SPROF" fold $f)" = "root;leaf 3" ]
		[ "$("$SPROF" fold --time $f)" = "root;leaf 30" ]
		"$SPROF" fold - <$f >from_pipe
		gzip -c $f >$f.gz
		"$SPROF" fold $f.gz | diff - from_pipe
	done
}

@test "values keep their units, and those without a column of their own are named" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	{
		echo 'sample_type { type: 1 unit: 2 } sample_type { type: 3 unit: 4 } sample_type { type: 5 unit: 6 } sample_type { type: 7 unit: 6 }'
		echo 'string_table: "" string_table: "sent" string_table: "kilobytes" string_table: "waited" string_table: "milliseconds"'
		echo 'string_table: "requests" string_table: "count" string_table: "retries" default_sample_type: 3'
		functions 8 main
		echo 'sample { location_id: 1 value: [5, 7, 2, 1] }'
	} | encode >x.pb
	[ "$(sum bytes x.pb)" = 5120 ]
	[ "$(sum time x.pb)" = 7000000 ]
	[ "$(sum count x.pb)" = 2 ]
	run --separate-stderr "$SPROF" report --json x.pb
	[ "$(jq -r .column <<<"$output")" = time ]
	[[ $stderr == *"'x.pb': values left out: retries"* ]]
}

# bats test_tags=full
@test "frames to drop are dropped as go tool pprof drops them" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	{
		echo 'sample_type { type: 1 unit: 2 } string_table: "" string_table: "space" string_table: "bytes"'
		echo 'string_table: "mal.*|start" string_table: "malloc_trim" drop_frames: 3 keep_frames: 4'
		functions 5 'malloc(int)' main start malloc_trim inner
		echo 'sample { location_id: [5, 1, 2, 3] value: 10 } sample { location_id: [4, 2, 3] value: 20 } sample { location_id: [1] value: 5 }'
	} | encode >x.pb
	"$SPROF" fold x.pb | sort >got
	printf 'malloc(int) 5\nstart;main 10\nstart;main;malloc_trim 20\n' | diff - got
	command -v go >/dev/null || skip "needs go (golang-go)"
	[ "$(go_pprof -top -unit=bytes x.pb 2>/dev/null | awk '$NF == "main" { print $1, $4 }')" = "10B 30B" ]
}

@test "names that are not UTF-8 are repaired and counted" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	{ echo 'sample_type { type: 1 unit: 1 } string_table: "" string_table: "count" sample { location_id: 1 value: 4 }' && functions 2 'a\377\300b'; } |
		encode 2>/dev/null >x.pb || true
	[ -s x.pb ] || skip "this protoc does not write such strings"
	run --separate-stderr "$SPROF" fold x.pb
	[ "$output" = $'a\xef\xbf\xbd\xef\xbf\xbdb 4' ]
	[[ $stderr == *"'x.pb': strings that are not UTF-8 were repaired: 1"* ]]
}

@test "labels are kept in recordings and exports, and info lists them" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	labelled_samples | encode >x.pb
	"$SPROF" merge -o x.data x.pb
	"$SPROF" export -f pprof -o x.pb.gz x.data
	for file in x.pb x.data x.pb.gz; do
		[ "$("$SPROF" fold --label key=a $file)" = 'main 10' ]
		[ "$("$SPROF" fold --label key=a=b --label tenant=a $file)" = 'main 200' ]
		[ "$("$SPROF" fold --label size=-5 $file)" = 'main 10' ]
		[ "$("$SPROF" fold --label key=c $file)" = 'main 4' ]
		"$SPROF" info --json $file | jq -e '.labels == [{key: "key", values: 3}, {key: "size", values: 1}, {key: "tenant", values: 1}]'
		"$SPROF" info $file | grep '^labels  *key (3 values), size (1 value), tenant (1 value)$'
	done
	# Samples of one stack with different labels stay apart, and a number keeps its unit.
	zcat x.pb.gz | protoc --decode perftools.profiles.Profile -I "$READERS" profile.proto >text
	[ "$(grep -c '^sample {' text)" = 4 ]
	grep -q 'num_unit: [1-9]' text
	"$SPROF" export -f otlp -o x.otlp.gz x.data
	zcat x.otlp.gz | grep -qa tenant
	"$SPROF" info --json "$BATS_TEST_DIRNAME/../golden/recordings/complete.data" | jq -e '.labels == []'
}

@test "a label can be that of the sample's thread, in any recording" {
	cp "$BATS_TEST_DIRNAME/../golden/recordings/complete.data" .
	for key in pid tid; do
		value=$("$SPROF" info --json complete.data | jq ".threads[0].$key")
		diff <("$SPROF" fold --label $key=$value complete.data) <("$SPROF" fold $([ $key = pid ] && echo --pid || echo --thread) $value complete.data)
	done
	name=$("$SPROF" info --json complete.data | jq -r '.threads[].name | select(test("^[a-z0-9]+$"))' | head -1)
	[ -n "$("$SPROF" fold --label "thread=$name" complete.data)" ]
	[ -z "$("$SPROF" fold --label "thread=$name-not" complete.data 2>/dev/null)" ]
}

labelled_samples() {
	echo 'sample_type { type: 1 unit: 2 } string_table: "" string_table: "space" string_table: "bytes"'
	echo 'string_table: "key" string_table: "a" string_table: "a=b" string_table: "size" string_table: "tenant"'
	functions 8 main other
	echo 'string_table: "c"'
	echo 'sample { location_id: 1 value: 10 label { key: 3 str: 4 } label { key: 6 num: -5 num_unit: 2 } }'
	echo 'sample { location_id: 1 value: 200 label { key: 3 str: 5 } label { key: 7 str: 4 } }'
	echo 'sample { location_id: 1 value: 4 label { key: 3 str: 10 } } sample { location_id: 2 value: 3000 }'
}

@test "samples are filtered by labels, by all that are given" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	labelled_samples | encode >x.pb
	[ "$("$SPROF" fold --label key=a x.pb 2>/dev/null)" = 'main 10' ]
	[ "$("$SPROF" fold --label key=a=b x.pb 2>/dev/null)" = 'main 200' ]
	[ "$("$SPROF" fold --label key=a=b --label tenant=a x.pb 2>/dev/null)" = 'main 200' ]
	[ "$("$SPROF" fold --label size=-5 x.pb 2>/dev/null)" = 'main 10' ]
	[ -z "$("$SPROF" fold --label key=a --label tenant=a x.pb 2>/dev/null)" ]
	run --separate-stderr "$SPROF" report --label key=a x.pb
	echo "$output"
	[[ $output == *", 3 filtered out (100%)"* ]]
	run --separate-stderr "$SPROF" fold --label key=b x.pb
	[[ $stderr == *"no sample of 'x.pb' is left after filtering"* ]]
	run "$SPROF" fold --label key x.pb
	[ "$status" -eq 2 ]
	[[ $output == *"a label is KEY=VALUE, not 'key'"* ]]
	cp "$BATS_TEST_DIRNAME"/../golden/output/kinds.folded .
	run "$SPROF" fold --label a=b kinds.folded
	[ "$status" -eq 1 ]
	[ "$output" = "sprof: cannot filter 'kinds.folded': it holds no labels" ]
}

@test "lists of labels that differ in anything stay apart" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	{
		echo 'sample_type { type: 1 unit: 1 } string_table: "" string_table: "count" string_table: "a" string_table: "b"'
		echo 'string_table: "1" string_table: "bytes"'
		functions 6 main
		echo 'sample { location_id: 1 value: 1 label { key: 2 num: 1 } } sample { location_id: 1 value: 20 label { key: 2 num: 4294967297 } }'
		echo 'sample { location_id: 1 value: 300 label { key: 2 str: 4 } } sample { location_id: 1 value: 4000 label { key: 2 num: 1 num_unit: 5 } }'
		echo 'sample { location_id: 1 value: 50000 label { key: 2 num: 1 } label { key: 3 num: 1 } }'
		echo 'sample { location_id: 1 value: 600000 label { key: 3 num: 1 } label { key: 2 num: 1 } }'
	} | encode >x.pb
	[ "$("$SPROF" fold --label a=1 x.pb 2>/dev/null)" = 'main 654301' ]
	[ "$("$SPROF" fold --label a=4294967297 x.pb 2>/dev/null)" = 'main 20' ]
	[ "$("$SPROF" fold --label b=1 x.pb 2>/dev/null)" = 'main 650000' ]
	"$SPROF" export -f pprof -o y.pb.gz x.pb
	[ "$(zcat y.pb.gz | protoc --decode perftools.profiles.Profile -I "$READERS" profile.proto | grep -c '^sample {')" = 6 ]
}

@test "of several comments with one key the last one counts" {
	command -v protoc >/dev/null || skip "needs protoc (protobuf-compiler)"
	{
		echo 'sample_type { type: 1 unit: 1 } string_table: "" string_table: "count" string_table: "command=one" string_table: "event=e"'
		echo 'string_table: "command=two" comment: [2, 3, 4] sample { location_id: 1 value: 1 }'
		functions 5 main
	} | encode >x.pb
	[ "$("$SPROF" info --json x.pb | jq -r '.command, .event' | paste -sd' ')" = 'two e' ]
}

# bats test_tags=full
@test "a label keeps the samples that go tool pprof -tagfocus keeps" {
	command -v go >/dev/null || skip "needs go (golang-go)"
	value=$(go_pprof -tags $GO/cpu.pb.gz 2>/dev/null | awk '/^ *request:/ { in_key = 1; next } in_key && NF { print $NF; exit }')
	[ -n "$value" ]
	go_pprof -top -unit=nanoseconds -nodecount=1000000 -nodefraction=0 -edgefraction=0 -sample_index=cpu -tagfocus="request=^$value\$" \
		$GO/cpu.pb.gz 2>/dev/null | sed '1,/flat%/d' | awk '{ gsub(/[^0-9]/, "", $1); n += $1 } END { print n }' >want
	[ "$(cat want)" -gt 0 ]
	"$SPROF" report --json -n 0 --label request=$value $GO/cpu.pb.gz 2>/dev/null | jq .ns | diff want -
}

@test "columns of an imported profile survive an export, and pprof's names choose them" {
	"$SPROF" export -f pprof -o x.pb.gz $GO/heap.pb.gz
	for column in allocated allocations live live-objects; do
		diff <("$SPROF" fold --column $column $GO/heap.pb.gz) <("$SPROF" fold --column $column x.pb.gz)
	done
	diff <("$SPROF" fold --column alloc_space x.pb.gz) <("$SPROF" fold --column allocated x.pb.gz)
	[ "$("$SPROF" report --json x.pb.gz | jq -r .column)" = live ]
}

# ---- the formats before protobuf

@test "text that a Go program writes holds the same stacks as its protobuf" {
	for kind in heap block mutex goroutine threadcreate; do
		[ -n "$(sum "$("$SPROF" report --json $GO/$kind.txt | jq -r .column)" $GO/$kind.txt)" ]
	done
	# The dump of each was taken at another moment, so only what main did is equal, and sizes are to the byte.
	for column in live live-objects allocated allocations; do
		for file in heap.txt heap.pb.gz; do
			"$SPROF" report --json -n 0 --column $column $GO/$file |
				jq -c '.rows[] | select(.function == "main.allocate") | [.self, .self_bytes]' >$file
		done
		[ -s heap.txt ]
		diff heap.txt heap.pb.gz
	done
	"$SPROF" fold $GO/mutex.txt | grep -q '^main.contend.func1;sync.(\*Mutex).Unlock [1-9]'
}

@test "heap and CPU profiles of gperftools: sums, units, and files" {
	local g=$GO/../gperftools
	[ "$("$SPROF" report --json $g/work.heap | jq -c '[.column, .bytes, .samples]')" = '["live",2560000,256]' ]
	[ "$("$SPROF" report --json --column allocated $g/work.heap | jq -c '[.bytes, .samples]')" = '[2585600,512]' ]
	[ "$("$SPROF" report --json $g/work.cpu | jq -c '[.column, .ns, .samples, .frequency]')" = '["cpu",950000000,95,100]' ]
	"$SPROF" report --json -n 0 $g/work.cpu | jq -e '.rows[] | select(.function == "[work]" and .self == 94)'
	head -c 200 $g/work.cpu >cut
	run --separate-stderr "$SPROF" fold cut
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot read 'cut': it is a damaged CPU profile of gperftools" ]
}

@test "addresses are named with the files of this machine, if those are the same ones" {
	local program=$TARGETS/shares_pie ino main
	main=$(nm "$program" | awk '$3 == "main" { print $1 }')
	for ino in $(stat -c %i "$program") 1; do
		{
			echo 'heap profile: 1: 8 [1: 8] @ heapprofile'
			printf '1: 8 [1: 8] @ 0x%x\n\nMAPPED_LIBRARIES:\n' $((0x400000 + 0x$main + 5))
			printf '00400000-00500000 r-xp 00000000 00:00 %d   %s\n' $ino "$program"
		} >heap.$ino
	done
	[ "$("$SPROF" fold "heap.$(stat -c %i "$program")")" = "main 8" ]
	[ "$("$SPROF" fold heap.1)" = "[shares_pie] 8" ]
}

@test "code without unwind information does not take the name of the function before it" {
	cat >x.c <<-'END'
		int described(int a) { return a * 3 + 1; }
		__asm__(".text\nbare: nop\n.skip 256, 0x90\nret\n");
		int main(int argc, char **argv) { (void)argv; return described(argc); }
	END
	${CC:-cc} -O1 -fno-toplevel-reorder -o x x.c
	nm x | awk '$3 == "described" || $3 == "bare" { print $3, $1 }' >symbols
	described=$((0x$(awk '/described/ { print $2 }' symbols))) bare=$((0x$(awk '/bare/ { print $2 }' symbols)))
	[ $bare -gt $described ]
	strip -s x
	{
		echo 'heap profile: 3: 24 [3: 24] @ heapprofile'
		printf '1: 8 [1: 8] @ 0x%x\n' $((0x400000 + described + 2)) $((0x400000 + bare + 100))
		printf '\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 %d   %s\n' "$(stat -c %i x)" "$PWD/x"
	} >x.heap
	[ "$("$SPROF" fold x.heap | sort)" = "$(printf '[x] 8\nx+0x%x 8' $described)" ]
}

# bats test_tags=full
@test "pprof's old formats: the mapping of an address is found at once, in any order of the mappings" {
	python3 - >maps.heap <<-'END'
		print('heap profile: 1: 1 [1: 1] @ heapprofile')
		for i in range(20000):
		    print('1: 1 [1: 1] @', ' '.join('%x' % (0x7f0000000010 + (i * 40 + j) % 60000 * 4096) for j in range(40)))
		print('MAPPED_LIBRARIES:')
		for i in range(60000, -1, -1):
		    print('%x-%x r-xp 00000000 08:01 %d /lib%d' % (0x7f0000000000 + i * 4096, 0x7f0000001000 + i * 4096, i + 1, i))
	END
	(
		ulimit -t 10
		exec "$SPROF" fold maps.heap >stacks 2>/dev/null
	)
	grep -q '\[lib39\];\[lib38\];' stacks
}

@test "a string that very many entries refer to is looked at once" {
	local of
	python3 - <<-'END'
		def number(n):
		    out = b''
		    while n > 127:
		        out += bytes([n & 127 | 128])
		        n >>= 7
		    return out + bytes([n])
		def field(i, value):
		    if isinstance(value, int):
		        return number(i << 3) + number(value)
		    return number(i << 3 | 2) + number(len(value)) + value
		def write(name, parts):
		    open(name, 'wb').write(head + b''.join(parts))
		long, ids = b'x' * 1000000, range(1, 200001)
		strings = [b'', b'samples', b'count', b'key', b'pid', long, b'/' + long, b'command=' + long, b'0' * 1000000, b'x.*y']
		head = field(1, field(1, 1) + field(2, 2)) + b''.join(field(6, s) for s in strings)
		function, location = field(5, field(1, 1) + field(2, 5)), field(4, field(1, 1) + field(4, field(1, 1)))
		samples = [field(2, field(1, i) + field(2, 1)) for i in ids]
		# each function has a location, which asks for its frames to be dropped or not
		write('functions.pb', [field(5, field(1, i) + field(2, 5)) + field(4, field(1, i) + field(4, field(1, i) + field(2, 7))) for i in ids] + samples + [field(7, 9)])
		write('mappings.pb', [field(3, field(1, i) + field(2, i * 4096) + field(5, 6)) + field(4, field(1, i) + field(2, i) + field(3, i * 4096 + 1)) for i in ids] + samples)
		label = field(3, field(1, 3) + field(2, 5)) + field(3, field(1, 4) + field(2, 8))
		write('labels.pb', [function, location] + [field(2, field(1, 1) + field(2, 1) + label)] * len(ids))
		write('comments.pb', [function, location, samples[0], field(13, number(7) * len(ids))])
	END
	for of in functions mappings labels comments; do
		echo $of
		(
			ulimit -t 10
			exec "$SPROF" info --json $of.pb >$of.json
		)
	done
	jq -e '.labels == [{key: "key", values: 1}]' labels.json
	jq -e '.command | length == 1000000' comments.json
}
