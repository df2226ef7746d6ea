# Reports of other profilers as text: sample of macOS, DTrace, bpftrace, GHC, VTune.

setup() {
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_TMPDIR"
}

refused() { # file, message after the file's name
	run "$SPROF" fold "$1"
	echo "$output"
	[ "$status" -eq 1 ]
	[ "$output" = "sprof: cannot read '$1': $2" ]
}

@test "sample of macOS: what a function has beyond those below it is its own" {
	cat >x.txt <<-'END'
		Analysis of sampling app (pid 42) every 1 millisecond
		Process:         app [42]
		Path:            /opt/my app/bin/app

		Call graph:
		    100 Thread_7001   DispatchQueue_1: com.apple.main-thread  (serial)
		    + 100 start  (in libdyld.dylib) + 1  [0x7fff737cf3d5]
		    +   90 main  (in app) + 41,67  [0x10384b549,0x10384b560]  main.rs:12
		    +   ! 50 a::b(int, char (*)(int)) (.llvm.78)  (in app) + 334  [0x103a0db1e]
		    +   ! : 30 read  (in libsystem_kernel.dylib) + 10  [0x7fff739051ee]
		    +   ! : | 30 ???  (in <unknown binary>)  [0x1234]
		    +   ! 40 -[Pool drain]  (in Foundation) + 9  [0x1]
		    +   10 exit  (in libdyld.dylib) + 2  [0x7fff737cf3d9]
		    25 Thread_7002: worker one
		      25 thread_start  (in libsystem_pthread.dylib) + 13  [0x7fff739c240d]

		Total number in stack (recursive counted multiple, when >=5):
		        5       something  (in app) + 0  [0x1]
	END
	"$SPROF" fold x.txt | diff - <(cat <<-'END'
		com.apple.main-thread;start;exit 10
		com.apple.main-thread;start;main;-[Pool drain] 40
		com.apple.main-thread;start;main;a::b(int, char (*)(int)) (.llvm.78) 20
		com.apple.main-thread;start;main;a::b(int, char (*)(int)) (.llvm.78);read;[unknown] 30
		worker one;thread_start 25
	END
	)
	"$SPROF" report --json -n 0 x.txt | jq -e '.samples == 125 and .command == "/opt/my app/bin/app"'
	"$SPROF" report --json --lines -n 0 x.txt | jq -e '.rows[] | select(.function == "main" and .line == 12) | .file == "main.rs"'
	"$SPROF" report --json -n 0 x.txt | jq -e '.rows[] | select(.function == "read") | .module | endswith("libsystem_kernel.dylib")'
	"$SPROF" info --json x.txt | jq -e '[.threads[].tid] | sort == [7001, 7002]'
	sed 's/^    25 Thread/   25 Thread/' x.txt >odd
	run --separate-stderr "$SPROF" fold odd
	[[ $stderr == *"lines left out because sample does not print such: 1"* ]]
	head -3 x.txt >head
	refused head 'it is a report of sample without a call graph'
	{
		sed -n 1,5p x.txt
		printf '    99999999999999999999 Thread_1\n      5 deep  (in a)\n          5 deeper  (in a)\n'
	} >huge
	refused huge 'it is a report of sample without a call graph'
}

@test "DTrace: stacks and their counts, kernel above user, names with anything in them" {
	cat >x.txt <<-'END'
		CPU     ID                    FUNCTION:NAME
		  8  35077                        :tick-60s

		              zfs`zfs_write+0x475
		              unix`sys_syscall+0x17d

		              libc.so.1`__pwrite+0xa
		              app`<a::B as c::D<E>>::write::{{closure}}::h50e1+0x1621
		              app`operator+(int)+0x12
		              app`main
		                7

		              0x104d08831
		              libjvm.dylib`JavaCalls::call(JavaValue*, Thread*)+0x6ae
		              libjvm.dylib`0x12
		                2

		                4
	END
	run --separate-stderr "$SPROF" fold x.txt
	diff - <(cat <<-'END'
		[libjvm.dylib];JavaCalls::call(JavaValue*, Thread*);[unknown] 2
		main;operator+(int);<a::B as c::D<E>>::write::{{closure}}::h50e1;__pwrite;sys_syscall;zfs_write 7
	END
	) <<<"$output"
	[ -z "$stderr" ]
	"$SPROF" report --json -n 0 x.txt | jq -e '.rows[] | select(.function == "zfs_write") | .module | endswith("zfs")'
	sed 's/^ *7$/ 99999999999999999999/' x.txt >huge
	run --separate-stderr "$SPROF" fold huge
	[ "$output" = '[libjvm.dylib];JavaCalls::call(JavaValue*, Thread*);[unknown] 2' ]
	[[ $stderr == *"lines left out because they are no frame of DTrace: 1"* ]]
	# Stacks of one line each stay collapsed stacks, whatever is in their names.
	printf ' a`b;c 3\n' >folded
	[ "$("$SPROF" fold folded)" = ' a`b;c 3' ]
}

@test "bpftrace: maps of stacks, the kernel's upon the user's, and the thread's name" {
	cat >x.txt <<-'END'
		Attaching 3 probes...
		^C

		@[
		    __schedule+801
		    do_syscall_64+92
		    entry_SYSCALL_64_after_hwframe+118
		,
		    write+20
		    std::ostream& operator<< <char>(std::ostream&, char const*)+12
		    operator+(int)+7
		    0x55d0c0de
		    main
		, my app, 42]: 17
		@user_first[dd,
		    read+20
		    main+3
		,
		    vfs_read+1
		    asm_sysvec_apic_timer_interrupt+31
		]: 5
		@[
		    ffffffff81000010 do_idle+16 ([kernel.kallsyms])
		    ffffffff81000020 start_secondary+1 ([kernel.kallsyms])
		]: 2
		@[
		    7f0012345678 f(int, char)+16 (/usr/lib/libx.so.1)
		, 7]: 4
		@plain[bash]: 9
		@nothing[
		]: 3
		@us[
		    f+1
		]:
		[4, 8)                 3 |@@@@@@                    |
	END
	run --separate-stderr "$SPROF" fold x.txt
	diff - <(cat <<-'END'
		7;f(int, char) 4
		dd;main;read;asm_sysvec_apic_timer_interrupt_[k];vfs_read_[k] 5
		my app;main;[unknown];operator+(int);std::ostream& operator<< <char>(std::ostream&, char const*);write;entry_SYSCALL_64_after_hwframe_[k];do_syscall_64_[k];__schedule_[k] 17
		start_secondary_[k];do_idle_[k] 2
	END
	) < <(LC_ALL=C sort <<<"$output")
	[[ $stderr == *"keys left out because they hold no stack or no number: 3"* ]]
	"$SPROF" info --json x.txt | jq -e '[.threads[] | [.pid, .name]] == [[42, "my app"], [0, "dd"], [7, "7"]]'
	"$SPROF" report --json -n 0 x.txt 2>/dev/null | jq -e '.rows[] | select(.function == "f(int, char)") | .module | endswith("libx.so.1")'
	sed 's/17$/99999999999999999999/' x.txt >huge
	run --separate-stderr "$SPROF" fold huge
	[ "$(wc -l <<<"$output")" = 3 ]
	printf '@[\n    f+1\n' >cut
	refused cut 'no stack in it has a count (bpftrace)'
}

ghc_report() { # -P: with ticks and bytes
	printf '\tSun Aug 13 10:47 2023 Time and Allocation Profiling Report  (Final)\n\n\t   app +RTS %s -RTS x\n\n' "$1"
	printf '\ttotal time  =        0.20 secs   (200 ticks @ 1000 us, 1 processor)\n'
	printf '\ttotal alloc = 10,000,000 bytes  (excludes profiling overheads)\n\n'
	printf 'COST CENTRE MODULE SRC   %%time %%alloc\n\nrun Main app/Main.hs:6:1-11 50.0 50.0\n\n\n'
	printf '    individual  inherited\n'
	printf 'COST CENTRE  MODULE  SRC   no.     entries  %%time %%alloc   %%time %%alloc%s\n\n' "${2:+  ticks     bytes}"
	printf 'MAIN    MAIN  <built-in>             168  0   0.0   0.1  100.0  100.0%s\n' "${2:+   0  10000}"
	printf ' CAF:x  Main  <no location info>     169  0   0.5   0.0   99.5   99.9%s\n' "${2:+   1  0}"
	printf '  run   Main  app/Main.hs:6:1-11     170  1  50.0  49.9   99.0   99.9%s\n' "${2:+   100  4990000}"
	printf "   go'  Lib   src/Lib.hs:(14,1)-(15,41) 171 9 49.0  50.0   49.0   50.0%s\n" "${2:+   98  5000000}"
	printf ' 你好   Lib   src/Lib.hs:3:1-4       172  1   0.5   0.0    0.5    0.0%s\n' "${2:+   1  0}"
}

@test "GHC: the tree of cost centres, as ticks and bytes or as shares of them" {
	ghc_report -P yes >exact.prof
	ghc_report -p >percent.prof
	cat >want <<-'END'
		MAIN.MAIN;Lib.你好 1
		MAIN.MAIN;Main.CAF:x 1
		MAIN.MAIN;Main.CAF:x;Main.run 100
		MAIN.MAIN;Main.CAF:x;Main.run;Lib.go' 98
	END
	for f in exact percent; do
		run --separate-stderr "$SPROF" fold $f.prof
		sort want | diff - <(sort <<<"$output")
		case $f in
		exact) [ -z "$stderr" ] ;;
		percent) [[ $stderr == *"it has percentages only, so times and bytes are rounded (+RTS -P prints them)" ]] ;;
		esac
		"$SPROF" fold --column allocated $f.prof 2>/dev/null | awk '{ n += $NF } END { exit n != 10000000 }'
		"$SPROF" report --json -n 0 $f.prof 2>/dev/null |
			jq -e '.ns == 200000000 and .samples == 200 and (.rows[] | select(.function == "Lib.go'\''") | .file == "src/Lib.hs" and .line == 14)'
	done
	run --separate-stderr "$SPROF" report --column allocated exact.prof
	[ -z "$stderr" ]
	[[ $output == *"an unknown number of allocations, 0 lost"* ]]
	sed 's/ 4990000$/ 1e30/; s/ 5000000$/ 99999999999999999999999/' exact.prof >huge.prof
	run --separate-stderr "$SPROF" fold huge.prof
	[[ $stderr == *"lines left out because GHC does not print such: 2"* ]]
	head -14 exact.prof >head.prof
	refused head.prof 'it is a report of GHC without costs in a tree'
}

@test "VTune: the call tree or the functions of a CSV report, its columns in any order" {
	cat >x.csv <<-'END'
		Function Stack,CPU Time:Total,Module,CPU Time:Self,Source File
		Total,100.0%,[Unknown],0.0,
		 start,100.0%,libc.so.6,0.0,
		  main,100.0%,app,0.25,main.c
		   "f<int, ""x"">::g(a, b)",50.0%,app,1.5s,
		    [Unknown stack frame(s)],1.0%,[Unknown],0.001,
		   h,25.0%,app,0.25,
		 other,1.0%,app,0.000000001,
	END
	"$SPROF" fold --time x.csv | diff - <(cat <<-'END'
		other 1
		start;main 250000000
		start;main;f<int, "x">::g(a, b) 1500000000
		start;main;f<int, "x">::g(a, b);[unknown] 1000000
		start;main;h 250000000
	END
	)
	"$SPROF" report --json -n 0 x.csv | jq -e '.rows[] | select(.function == "main") | .module | endswith("app")'
	sed 's/,/\t/g' <<<$'Function,CPU Time,Module\nhot,2.5,app\n cold,0.5,libc.so.6' >flat.tsv
	[ "$("$SPROF" fold --time flat.tsv | paste -sd' ')" = 'cold 500000000 hot 2500000000' ]
	cat >stacks.csv <<-'END'
		Function,Function Stack,CPU Time,Module,Function (Full),Source File,Start Address
		hot,,5.5s,app,hot(int),a.c,0x1
		,near,3.0s,app,near,a.c,0x2
		,main,0s,app,main,a.c,0x3
		,far,2.0s,app,far,a.c,0x4
		,main,0s,app,main,a.c,0x3
		cold,,0.25s,libc.so.6,cold,,0x5
	END
	"$SPROF" fold --time stacks.csv | sort | diff - <(cat <<-'END'
		cold 250000000
		hot 500000000
		main;far;hot 2000000000
		main;near;hot 3000000000
	END
	)
	sed '2d; s/5[.]5s/nan/' stacks.csv >odd.csv
	run --separate-stderr "$SPROF" fold --time odd.csv
	[ "$status" -eq 1 ]
	sed 's/^   h/         h/' x.csv >deep.csv
	run --separate-stderr "$SPROF" fold deep.csv
	[[ $stderr == *"rows left out because VTune does not write such: "* ]]
	sed 's/CPU Time:Self/CPU Time:Spin/' x.csv >none.csv
	refused none.csv 'it has no column "CPU Time:Self" (VTune)'
	sed 's/,0\.25,/,1e300,/; s/,1\.5s,/,nan,/; s/0\.001/-1/; s/0\.000000001/x/' x.csv >huge.csv
	refused huge.csv 'no row in it has a CPU time (VTune)'
}
