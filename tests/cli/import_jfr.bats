# Files of Java Flight Recorder. golden/import/README.md says who made them.

JAVA=$BATS_TEST_DIRNAME/../golden/import/java
READERS=$BATS_TEST_DIRNAME/readers

setup() {
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_TMPDIR"
	export LC_ALL=C
}

jfr_stacks() { # FILE EVENT [FIELD]: what the JDK's own reader finds
	LC_ALL=C.UTF-8 JAVA_TOOL_OPTIONS='-Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8' python3 "$READERS/jfr_sums.py" "$@" | sort
}

@test "JFR: stacks of Java code, native code and allocations, threads and their sums" {
	run --separate-stderr "$SPROF" report --json -n 0 "$JAVA/work.jfr.gz"
	[ "$status" -eq 0 ]
	jq -e '.samples == 29 and .command == "Work 4000"' <<<"$output"
	[[ $stderr == *"samples left out because their event is not jdk.ExecutionSample: 39 (--event NAME chooses another)"* ]]
	jq -e '.rows[] | select(.function == "Work.spin") | .self > 0' <<<"$output"
	"$SPROF" fold --column allocations "$JAVA/work.jfr.gz" | awk '{ n += $NF } END { exit n != 142 }'
	"$SPROF" fold --event jdk.NativeMethodSample "$JAVA/work.jfr.gz" 2>/dev/null >native
	[[ $(cat native) == "waiter;java.lang.Thread.run_[j];"*";sun.nio.ch.Net.accept "* ]]
	"$SPROF" fold "$JAVA/work.jfr.gz" 2>/dev/null | grep -q '^déep 世;\[incomplete: too deep\];Work.recurse_\[j\];'
	"$SPROF" info "$JAVA/work.jfr.gz" 2>/dev/null | grep -q '^recorded .* for 4\.. s'
	run "$SPROF" fold --event cycles "$JAVA/work.jfr.gz"
	[ "$status" -eq 1 ]
	[[ $output == *"it holds 29 of jdk.ExecutionSample and 39 of jdk.NativeMethodSample" ]]
}

# bats test_tags=full
@test "JFR: the same sums as the JDK's jfr print, of one chunk and of two" {
	command -v jfr >/dev/null || skip "needs jfr (a JDK)"
	gzip -dc "$JAVA/work.jfr.gz" >one.jfr
	cat one.jfr one.jfr >two.jfr
	for f in one two; do
		for event in ExecutionSample NativeMethodSample; do
			jfr_stacks $f.jfr jdk.$event >want
			[ -s want ]
			diff want <("$SPROF" fold --event jdk.$event $f.jfr 2>/dev/null | sort)
		done
		jfr_stacks $f.jfr jdk.ObjectAllocationSample weight >want
		diff want <("$SPROF" fold --column allocated $f.jfr 2>/dev/null | sort)
		jfr_stacks $f.jfr jdk.ObjectAllocationSample >want
		diff want <("$SPROF" fold --column allocations $f.jfr 2>/dev/null | sort)
	done
}

# bats test_tags=full
@test "JFR: a file without an end is read up to there, and a damaged one is refused" {
	make() {
		python3 "$READERS/make_jfr.py" "$@" >x.jfr
	}
	make
	[ "$("$SPROF" fold x.jfr)" = 'wörk 😀;a.B.outer_[j];a.B.innér_[j] 1' ]
	[ "$("$SPROF" fold --column allocated x.jfr)" = 'wörk 😀;a.B.outer_[j];a.B.innér_[j] 4096' ]
	make long
	run --separate-stderr "$SPROF" fold x.jfr
	[ "$output" = 'wörk 😀;a.B.outer_[j];a.B.innér_[j] 1' ]
	[ "$stderr" = "sprof: warning: 'x.jfr' is cut off: its last events are missing" ]
	make circle # of names of classes
	[ "$("$SPROF" fold x.jfr)" = 'wörk 😀;outer_[j];inner_[j] 1' ]
	for damage in nested endless wide names frames size ticks; do
		make $damage
		run timeout 10 "$SPROF" fold x.jfr
		echo "$damage: $output"
		[ "$status" -eq 1 ]
		[ "$output" = "sprof: cannot read 'x.jfr': it is a damaged JFR file" ]
	done
	make huge
	run "$SPROF" fold x.jfr
	[ "$output" = "sprof: cannot read 'x.jfr': its sum is too large" ]
	make version
	run "$SPROF" fold x.jfr
	[ "$output" = "sprof: cannot read 'x.jfr': it is a JFR file of a version that sprof does not read" ]
	make metadata
	run "$SPROF" fold x.jfr
	[ "$output" = "sprof: cannot read 'x.jfr': it is a damaged JFR file, or one that was never finished" ]
}

@test "JFR: what chunks may hold without taking bytes is limited for all of them together" {
	copies() { # NR
		for _ in $(seq "$1"); do cat one.jfr; done >many.jfr
	}
	python3 "$READERS/make_jfr.py" >one.jfr
	copies 100
	[ "$("$SPROF" fold many.jfr)" = 'wörk 😀;a.B.outer_[j];a.B.innér_[j] 100' ]
	# One such chunk has 168421 values of no bytes, of a million that a small file may have.
	python3 "$READERS/make_jfr.py" flat >one.jfr
	copies 2
	[ "$("$SPROF" fold many.jfr)" = 'wörk 😀;a.B.outer_[j];a.B.innér_[j] 2' ]
	copies 20
	run "$SPROF" fold many.jfr
	[ "$status" -eq 1 ]
	[ "$output" = "sprof: cannot read 'many.jfr': it is a damaged JFR file" ]
}
