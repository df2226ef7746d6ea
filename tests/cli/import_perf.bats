# Files of perf: the text of perf script in all its shapes, and perf.data of other versions and machines.

setup() {
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_TMPDIR"
}

folded() { # FILE...: on one line
	"$SPROF" fold "$@" 2>/dev/null | paste -sd'|'
}

@test "samples of a counter weigh their period; margins are of the number of samples" {
	# At first perf guesses the period: five samples of the ramp-up cost next to nothing.
	for i in 1 2 3 4 5; do
		printf 'app 7 1.00%d: %d cycles:u:\n\t1000 start (app)\n\t2000 main (app)\n\n' $i $i
	done >x.txt
	printf 'app 7 1.%d: 1000000 cycles:u:\n\t3000 work (app)\n\t2000 main (app)\n\n' 1 2 >>x.txt
	[ "$(folded x.txt)" = "app;main;start 15|app;main;work 2000000" ]
	"$SPROF" report --json x.txt >x.json
	jq -e '.column == "events" and .samples == 7 and .events == 2000015 and .event == "cycles:u"' x.json
	jq -e '.rows[] | select(.function == "work") | .self == 2 and .self_events == 2000000 and .self_margin > 1' x.json
	"$SPROF" export -f pprof -o x.pb.gz x.txt
	[ "$("$SPROF" report --json x.pb.gz | jq .events)" = 2000015 ]
}

@test "the event with the most samples is shown, and --event chooses another" {
	{
		printf 'app 7 1.1: 10 page-faults:u:\n\t1 touch (app)\n\n'
		printf 'app 7 1.%d: 250000 cpu-clock:\n\t2 spin (app)\n\n' 2 3
	} >x.txt
	run --separate-stderr "$SPROF" fold x.txt
	[ "$output" = "app;spin 2" ]
	[[ $stderr == *"samples left out because their event is not cpu-clock: 1 (--event NAME"* ]]
	[ "$("$SPROF" report --json x.txt 2>/dev/null | jq -c '[.column, .ns]')" = '["cpu",500000]' ]
	[ "$(folded --event page-faults x.txt)" = "app;touch 10" ]
	[ "$("$SPROF" report --event page-faults --json x.txt 2>/dev/null | jq -r .event)" = page-faults:u ]
	run --separate-stderr "$SPROF" fold --event cycles x.txt
	[ "$status" -eq 1 ]
	[ "$stderr" = "sprof: cannot show event cycles of 'x.txt': it holds only page-faults:u, cpu-clock" ]
	printf 'a;b 3\n' >y.folded
	run --separate-stderr "$SPROF" fold --event cycles y.folded
	[ "$stderr" = "sprof: cannot show event cycles of 'y.folded': it holds only samples of an unknown event" ]
}

@test "speedscope: samples that weigh differently fold by weight" {
	echo '{"shared":{"frames":[{"name":"a"},{"name":"b"},{"name":"c"}]},"profiles":[{"type":"sampled","unit":"milliseconds",
		"samples":[[0],[0,1],[0,2],[0,2],[0,2]],"weights":[5,5,1,1,2]}]}' >x.json
	[ "$(folded x.json)" = "a 5000000|a;b 5000000|a;c 4000000" ]
	[ "$("$SPROF" report --json x.json | jq .samples)" = 5 ]
}

@test "perf script: no time, tabs, records, and kernel code wherever its file lies" {
	printf 'app\t7/8\tcpu-clock:\n\t\tffffffff81000010\tdo_idle+0x10\t(/usr/lib/debug/boot/vmlinux-6.1.0)\n\t\t401000\tmain\t(/bin/app)\n\n' >x.txt
	[ "$(folded x.txt)" = "app;main;do_idle_[k] 1" ]
	{
		echo 'app     7/7     [001]     1.000: PERF_RECORD_MMAP2 7/7: [0x400000(0x1000) @ 0 08:01 5 0]: r-xp /bin/app'
		echo 'app     7/7     [001]     1.100: 100 cpu-clock: '
		printf '\tffffffffc0401000 ext4_read+0x10 ([ext4])\n\tffffffff81000010 entry (/root/build/vmlinux)\n\t401000 main+0x5 (/bin/app)\n\n'
		echo 'app     7/7     [001]     1.200: PERF_RECORD_EXIT(7:7):(1:1)'
		echo 'app     7/7     [001]     1.300: PERF_RECORD_LOST lost 4'
	} >y.txt
	run --separate-stderr "$SPROF" fold y.txt
	[ "$output" = "app;main;entry_[k];ext4_read_[k] 1" ]
	[ -z "$stderr" ]
	printf 'a 1 7 3 cycles:u:\n\t1 f (x)\n\n' >z.txt # the comm is "a 1"
	[ "$(folded z.txt)" = "a 1;f 3" ]
}

@test "perf script: runtime code in files of perf inject, and inlined functions of Java" {
	{
		printf 'java 7 1.1: 100 cpu-clock:\n'
		printf '\t7f01 Lcom/a;::run->Lcom/b;::go->Lcom/c;::at (/tmp/perf-7.map)\n'
		printf '\t7f02 Interp (/home/u/.debug/jit/java-jit-x/jitted-7-12.so)\n'
		printf '\t7f03 operator->(Ptr) (/usr/lib/libx.so)\n\n'
	} >x.txt
	[ "$(folded x.txt)" = "java;operator->(Ptr);Interp_[j];Lcom/a:::run_[j];Lcom/b:::go_[j];Lcom/c:::at_[j] 1" ]
}

@test "perf script: a line of numbers, of arrows, or with a long file is read in linear time" {
	python3 - <<-'END'
		sample = 'a 1 1.000000: 1 cycles:\n\t1 f (x)\n\n'
		frame = 'java 7 1.1: 100 cpu-clock:\n\t1 a%s (/tmp/perf-%s.map)\n\n'
		open('numbers', 'w').write(sample + 'b' + ' 1' * 2000000 + '\n')
		open('arrows', 'w').write(frame % ('->a' * 1000000, '7'))
		open('file', 'w').write(frame % ('->a' * 65000, '7' * 4000000))
	END
	for f in numbers arrows file; do
		(
			ulimit -t 10
			exec "$SPROF" fold $f >$f.folded 2>$f.err
		)
	done
	[ "$(cat numbers.folded)" = "a;f 1" ]
	grep 'perf script does not print such: 1, first line 4' numbers.err
	# Of the stack, 65536 frames are kept; the comm is before them.
	[ "$(tr ';' '\n' <arrows.folded | wc -l)" -eq 65537 ]
	[ "$(tr ';' '\n' <file.folded | wc -l)" -eq 65002 ]
}

@test "perf script: Rust's legacy names are shown as they were written" {
	{
		printf 'app 7 1.1: 100 cpu-clock:\n'
		printf '\t1 _$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..Drop$GT$::drop::h0123456789abcdef (app)\n'
		printf '\t2 std::rt::lang_start::h0123456789abcdef (app)\n\t3 ns::h01234 (app)\n\n'
	} >x.txt
	[ "$(folded x.txt)" = "app;ns::h01234;std::rt::lang_start;<alloc::vec::Vec<T> as core::ops::Drop>::drop 1" ]
}

@test "collapsed stacks of py-spy: functions without a line, Cython, native ones" {
	printf 'main (app.py);go (fast.pyx:7);<listcomp> (app.py:4);malloc (libc.so.6) 3\n' >x.folded
	"$SPROF" report --json -n 0 x.folded | jq -r '.rows[] | "\(.kind) \(.function)"' | sort >kinds
	printf 'native malloc (libc.so.6)\npython <listcomp> (app.py:4)\npython go (fast.pyx:7)\npython main (app.py)\n' | diff - kinds
}

@test "perf.data: of several events the one with the most samples, or the one that is named" {
	perf record -q -F 499 -e page-faults,cpu-clock -g -o perf.data -- "$TARGETS/deep32_fp" 200 2>perf.err >/dev/null ||
		skip "perf cannot record here: $(head -1 perf.err)"
	[ "$("$SPROF" report --json perf.data 2>/dev/null | jq -r .event)" = cpu-clock ]
	run --separate-stderr "$SPROF" report --json --event page-faults perf.data
	[ "$(jq -r '.event + " " + .column' <<<"$output")" = "page-faults events" ]
	faults=$(perf script -i perf.data -F event,period 2>/dev/null | awk '/page-faults/ { n += $1 } END { print n }')
	[ "$(jq .events <<<"$output")" = "$faults" ]
	run --separate-stderr "$SPROF" report --event cycles perf.data
	[ "$stderr" = "sprof: cannot show event cycles of 'perf.data': it holds no such event" ]
}

# What perf from 6.16 on writes: each compressed record says its size, and is filled up with zeros.
@test "perf.data: compressed records of newer versions of perf" {
	perf record -q -z -F 499 -g -o old.data -- "$TARGETS/deep32_fp" 200 2>perf.err >/dev/null ||
		skip "perf cannot record here: $(head -1 perf.err)"
	python3 - <<-'END'
		import struct
		data = open('old.data', 'rb').read()
		offset, size = struct.unpack_from('<QQ', data, 40)
		at, records, nr = offset, b'', 0
		while at < offset + size:
		    kind, misc, n = struct.unpack_from('<IHH', data, at)
		    body = data[at + 8:at + n]
		    if kind == 81:
		        padding = -len(body) % 8
		        nr += 1
		        records += struct.pack('<IHHQ', 83, misc, 16 + len(body) + padding, len(body)) + body + bytes(padding)
		    else:
		        records += data[at:at + n]
		    at += n
		assert nr
		header = bytearray(data[:offset])
		struct.pack_into('<Q', header, 48, len(records))
		# The sections of features follow the records: their offsets move.
		rest = bytearray(data[offset + size:])
		features = sum(bin(b).count('1') for b in data[72:104])
		for i in range(features):
		    old, = struct.unpack_from('<Q', rest, 16 * i)
		    struct.pack_into('<Q', rest, 16 * i, old + len(records) - size)
		open('new.data', 'wb').write(bytes(header) + records + bytes(rest))
	END
	run --separate-stderr "$SPROF" fold new.data
	[ "$status" -eq 0 ]
	[[ $stderr != *damaged* ]]
	diff <("$SPROF" fold old.data 2>/dev/null) <(echo "$output")
}

# bats test_tags=full
@test "perf.data of aarch64: frames of the kernel's chains, copies of stacks are counted" {
	perf record -q -F 499 -g -o x86.data -- "$TARGETS/deep32_fp" 200 2>perf.err >/dev/null ||
		skip "perf cannot record here: $(head -1 perf.err)"
	grep -q x86_64 x86.data
	LC_ALL=C perl -0pe 's/x86_64\0/aarch64/g' x86.data >arm.data
	cmp -s x86.data arm.data && false
	[ "$("$SPROF" fold x86.data 2>/dev/null | awk '{ n += $NF } END { print n }')" = "$("$SPROF" fold arm.data 2>/dev/null | awk '{ n += $NF } END { print n }')" ]
	"$SPROF" fold arm.data 2>/dev/null | grep -q 'main;f1;f2'
	perf record -q -F 499 --call-graph dwarf,1024 -o x86.data -- "$TARGETS/deep32_fp" 100 2>/dev/null >/dev/null
	LC_ALL=C perl -0pe 's/x86_64\0/aarch64/g' x86.data >arm.data
	run --separate-stderr "$SPROF" fold arm.data
	[ "$status" -eq 0 ]
	[[ $stderr == *"samples have stack copies of another architecture, which cannot be unwound here"* ]]
}
