# sprof merge. tests/unit/core/profile/test_copy.c tests what it adds up.

GOLDEN=$BATS_TEST_DIRNAME/../golden

setup() {
	bats_require_minimum_version 1.5.0
	cp "$GOLDEN/recordings/complete.data" "$GOLDEN/recordings/killed.data" "$GOLDEN"/output/*.folded "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
}

@test "a recording merged with itself is twice the recording" {
	"$SPROF" merge complete.data complete.data -o both.data 2>/dev/null
	"$SPROF" fold complete.data 2>/dev/null >one
	"$SPROF" fold both.data 2>/dev/null | awk '{ $NF /= 2; print }' | diff one -
	"$SPROF" report --json both.data 2>/dev/null | jq -e '.samples == 800 and .lost == 10 and .ns == 800800800 and .command == "make -j8" and .frequency == 999'
	"$SPROF" info both.data | grep -q '^host *host$'
}

@test "one recording merged is that recording" {
	"$SPROF" merge complete.data -o same.data 2>/dev/null
	for f in complete.data same.data; do
		"$SPROF" export -f json $f 2>/dev/null | jq -c '.functions, .threads, .samples.time_ns, .samples.weight, .start_realtime_ns, .lost' >$f.json
	done
	diff complete.data.json same.data.json
}

@test "the origin is a root above the threads, if asked for" {
	"$SPROF" merge --origin complete.data killed.data -o m.data 2>/dev/null
	"$SPROF" report --tree -n 0 --min 0 m.data 2>/dev/null | grep -oE '\+ (complete|killed).data$' | sort | diff - <(printf '+ complete.data\n+ killed.data\n')
	"$SPROF" fold m.data 2>/dev/null | sed -n 's/^complete.data;//p' | diff - <("$SPROF" fold complete.data 2>/dev/null)
	"$SPROF" merge --origin=host complete.data -o h.data 2>/dev/null
	"$SPROF" fold h.data 2>/dev/null | sed 's/^host;//' | diff - <("$SPROF" fold complete.data 2>/dev/null)
	"$SPROF" merge --origin=command complete.data -f collapsed 2>/dev/null | grep -q '^make -j8;make;'
	"$SPROF" report --json --focus '^killed' m.data 2>/dev/null | jq -e .samples==200
}

@test "what is known of processes is kept, where the files agree" {
	local by file
	cp "$GOLDEN/recordings/processes.data" .
	"$SPROF" merge processes.data processes.data complete.data -o m.data 2>log
	cat log
	! grep 'another process' log || false
	for by in user cgroup container process; do
		"$SPROF" report --by $by --json processes.data | jq -c '[.rows[] | [.function, .self * 2]] | sort' >all
		"$SPROF" report --by $by --json m.data | jq -c '[.rows[] | [.function, .self]] | sort' >merged
		# complete.data knows nothing of its processes.
		for file in all merged; do
			jq -c '.[] | select(.[0] | test("not known|make|cc1") | not)' $file >$file.known
		done
		diff all.known merged.known
		[ "$(wc -l <merged.known)" -gt 1 ]
	done
	# A file of the same processes that knows nothing of them: they may be others.
	"$SPROF" export -o others.pb.gz processes.data 2>/dev/null
	run --separate-stderr "$SPROF" merge processes.data others.pb.gz -o m.data
	echo "$stderr"
	[[ $stderr == *"'others.pb.gz': 4 of its processes have the number of another process: what they belong to is not known"* ]]
	"$SPROF" report --by user --json m.data | jq -e '[.rows[].function] == ["[not known]"]'
}

@test "formats of other programs go in and come out" {
	"$SPROF" merge kinds.folded split.folded -o x.folded
	"$SPROF" fold x.folded | diff - <(cat kinds.folded split.folded | "$SPROF" fold -)
	"$SPROF" export -o k.pb.gz kinds.folded
	"$SPROF" merge k.pb.gz split.folded -f collapsed | diff - x.folded
	"$SPROF" merge kinds.folded split.folded -o x.data
	"$SPROF" fold x.data | diff - x.folded
}

@test "samples are in order of time" {
	"$SPROF" merge killed.data complete.data -o m.data 2>/dev/null
	"$SPROF" export -f json m.data 2>/dev/null | jq -e '.samples.time_ns | . == sort and length == 600'
	"$SPROF" export -f json m.data 2>/dev/null | jq -e '.start_ns <= .samples.time_ns[0] and .end_ns >= .samples.time_ns[-1]'
}

@test "wrong lines and unreadable files are errors" {
	for args in "" "kinds.folded" "kinds.folded -o x.data --origin=moon" "kinds.folded -f nope"; do
		run "$SPROF" merge $args
		[ "$status" -eq 2 ]
	done
	run --separate-stderr "$SPROF" merge kinds.folded nothing.data -o x.data
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot open 'nothing.data': No such file or directory" ]
	[ ! -e x.data ]
	run --separate-stderr "$SPROF" merge kinds.folded -o nowhere/x.data
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot write 'nowhere/x.data': No such file or directory" ]
}

@test "an output that can be no recording is refused at once" {
	mkfifo fifo
	ln -s target link
	for name in fifo link; do
		run --separate-stderr timeout 20 "$SPROF" merge complete.data -o $name
		[ "$status" -eq 1 ]
		[[ $stderr == *"sprof: cannot write '$name': it is "* ]]
	done
	[[ $stderr == *"it is a symbolic link"* ]]
	[ -p fifo ] && [ ! -e target ]
}
