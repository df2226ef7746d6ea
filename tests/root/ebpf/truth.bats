# Programs whose true profile is known are profiled: every share must be within 3 sigma of what the
# program measured itself, 99.9 % of the stacks complete, and every chain of callers exact.
# bats file_tags=long
load ../kernel

setup() {
	needs_bpf
}

# ---- started by sprof

@test "shares of 50, 30 and 20 percent are found, and as many samples as CPU time" {
	profile shares 2500
	truth_holds -v hz=999
}

# bats test_tags=full
@test "a static program has its true shares" {
	profile shares_static 2000
	truth_holds
}

# bats test_tags=full
@test "a static position independent program has its true shares" {
	profile shares_static_pie 2000
	truth_holds
}

# bats test_tags=full
@test "a program at a fixed address has its true shares" {
	profile shares_nopie 2000
	truth_holds
}

# bats test_tags=full
@test "a position independent program has its true shares" {
	profile shares_pie 2000
	truth_holds
}

# bats test_tags=full
@test "a stripped program with dynamic symbols has its true shares" {
	profile shares_stripped 2000
	truth_holds
}

# bats test_tags=full
@test "a stripped program has complete stacks of unnamed frames" {
	strip -o "$BATS_TEST_TMPDIR/bare" "$TARGETS/deep32_nofp"
	"$SPROF" record -o "$data" -F 999 -- "$BATS_TEST_TMPDIR/bare" 2000 >"$truth"
	fold
	# The 32 frames from main to the leaf are offsets in the program, so the truth accepts any
	# name.
	sed -i -E 's/;(main|f[0-9]+|leaf_[0-9]+)\b/;*/g' "$truth"
	truth_holds
}

# bats test_tags=full
@test "32 frames without frame pointers are all there" {
	profile deep32_nofp 2000
	truth_holds
}

# bats test_tags=full
@test "32 frames with frame pointers are all there, the caller of the leaf too" {
	profile deep32_fp 3000
	truth_holds
}

# bats test_tags=full
@test "leaf functions without a frame keep their callers" {
	profile leaf 2000
	truth_holds
}

# bats test_tags=full
@test "code that only a DWARF evaluator can leave keeps its callers for as long as it is hot" {
	profile expression 4000
	truth_holds
}

# bats test_tags=full
@test "recursion of 10 frames is exact" {
	profile recursion 1500 10
	truth_holds
}

# bats test_tags=full
@test "recursion of 480 frames is exact" {
	profile recursion 1500 480
	truth_holds
}

# bats test_tags=full
@test "inlined functions are frames, outermost first" {
	profile inlined 2000
	truth_holds
}

@test "eight threads have their names, functions and shares" {
	profile threads8 2000
	truth_holds
}

# bats test_tags=full
@test "libraries that share an address over time are told apart" {
	profile dlopen 2000
	truth_holds
}

# bats test_tags=full
@test "libraries whose functions share an address and have other frames are told apart" {
	profile reused library 1800
	truth_holds
}

# bats test_tags=full
@test "processes that share a number over time, and their addresses, are told apart" {
	profile reused process 1800
	truth_holds
}

# bats test_tags=full
@test "programs that a process becomes by turns, with other frames at one address, are told apart" {
	profile same_place_a 400
	truth_holds
}

@test "children of 20 ms that fork or exec are there with their names and shares" {
	profile forkstorm 60 20
	[ "$(cut -d';' -f1 "$truth" | sort -u | wc -l)" -eq 60 ]
	truth_holds -v other=20
}

# bats test_tags=full
@test "work in a signal handler hangs above what it interrupted" {
	profile signals 2000
	truth_holds
}

# bats test_tags=full
@test "work in a signal handler on another stack hangs above what it interrupted" {
	profile signals 3000 altstack
	truth_holds
}

# bats test_tags=full
@test "PLT stubs and lazy binding are walked through" {
	profile plt 3000
	truth_holds
}

# bats test_tags=full
@test "text replaced by a copy in anonymous memory keeps its names" {
	profile remap 2000 anonymous
	truth_holds
}

# bats test_tags=full
@test "text mapped a second time keeps its names" {
	profile remap 2000 file
	truth_holds
}

# bats test_tags=full
@test "clock readings in the vdso hang below their callers" {
	profile vdso 2000
	truth_holds
}

# bats test_tags=full
@test "system calls show kernel frames below their callers" {
	profile kernel 2000
	truth_holds
	[ "$(awk '/_\[k\] [0-9]+$/ { kernel += $NF } { all += $NF } END { print (kernel > all / 2) }' "$folded")" = 1 ]
}

# bats test_tags=full
@test "realigned, alloca and variable length frames are walked through" {
	profile realign 2000
	truth_holds
}

# bats test_tags=full
@test "assembly without call frame information is walked through" {
	profile nocfi 2000
	truth_holds
	# sprof is there too where a sample fell between fork and exec
	"$SPROF" info --json "$data" |
		jq -e '.derived_rules | map(select(.path | endswith("/build/sprof") | not)) |
			length == 1 and .[0].functions >= 5 and (.[0].path | endswith("/nocfi"))'
	"$SPROF" info "$data" | grep -A2 '^Unwind rules read from machine code' | grep -q '100% .*/nocfi$'
}

# bats test_tags=full
@test "a process that execs itself four times has all its stages" {
	profile exec_chain 2500
	truth_holds
}

# bats test_tags=full
@test "children of vfork and posix_spawn are there" {
	profile spawn 3000
	truth_holds
}

# bats test_tags=full
@test "JIT code with frame pointers is walked through and named by its map" {
	profile jit 2000
	grep -l jit_inner /tmp/perf-*.map | xargs rm
	truth_holds
}

# bats test_tags=full
@test "operators say that the stacks below them rest on rules from machine code" {
	profile operator 1500
	truth_holds
	"$SPROF" report --op "$data" | tail -3 >"$BATS_TEST_TMPDIR/got"
	grep -qE '^ *(9[0-9]|100)% .* linear$' "$BATS_TEST_TMPDIR/got"
	grep -qE '^Unwind rules read from machine code: operator \([0-9]+ functions\)' "$BATS_TEST_TMPDIR/got"
	"$SPROF" report --op --json "$data" | jq -e '.rows | length == 1'
	profile shares 500
	run "$SPROF" report "$data"
	[[ $output != *"machine code"* ]]
}

# Samples taken before the code was examined, and between a change and the first stack that shows
# it, are marked.
# bats test_tags=full
@test "code made at run time without frame pointers is walked through, and again when it has changed" {
	profile jit_frames 3000
	truth_holds -v broken=60
	[ "$(samples decoy)" = 0 ]
	"$SPROF" info --json "$data" | jq -e '.derived_rules | any(.path == "[jit]" and .functions == 2)'
}

# bats test_tags=full
@test "code made at run time that changes all the time has no wrong callers" {
	profile jit_frames 3000 150
	[ "$(samples decoy)" = 0 ]
	[ "$(samples 'narrow;.*of_wide')" = 0 ]
	[ "$(samples 'wide;.*of_narrow')" = 0 ]
	[ "$(samples 'main;(narrow|wide);')" -gt 50 ]
}

# bats test_tags=full
@test "code that goes to and fro in step with the recorder is found out" {
	profile jit_frames 3000 50
	# Undetected it would be a third of the samples; a few come before it is detected, in the
	# first half second.
	[ "$(samples decoy)" -lt 300 ]
}

# bats test_tags=full
@test "C++ templates, virtual calls and exceptions have their names and shares" {
	profile cxx 2000
	truth_holds
}

# bats test_tags=full
@test "thousands of different stacks are all kept" {
	profile unique 3000
	truth_holds
	[ "$(awk '/;bottom [0-9]+$/ { n += $NF; lines++ } END { print (lines > 0.95 * n) }' "$folded")" = 1 ]
}

# bats test_tags=full
@test "a program in step with the sampling rate still has its true shares" {
	profile resonance 4000 999
	truth_holds
}

# ---- deep recursion: repeated frames are counted. If frames are missing, the root and the leaf are
# there, and a marker is where they are missing. The first samples of a thread may have no root: it
# takes some to find that of thousands of frames.

both_ends_are_there() { # DEPTH PERCENT: of the samples that have a root at least
	profile recursion 1500 "$1"
	awk -v percent="$2" '
		/;bottom [0-9]+$/ {
			n += $NF
			if (/;_start;.*;main;recurse;\[1 frame repeated [0-9]+-[0-9]+ times\];recurse;(.*;recurse;)?bottom [0-9]+$/)
				good += $NF
			else if (/;\[incomplete: too long to walk\];recurse;.*;recurse;bottom [0-9]+$/)
				late += $NF
		}
		END {
			printf "%d of %d have root and leaf, %d have no root\n", good, n, late
			exit !(n > 1000 && good + late >= 0.999 * n && good >= percent / 100 * n)
		}
	' "$folded"
}

# bats test_tags=full
@test "recursion of 600 frames is complete and counted" {
	both_ends_are_there 600 99.9
	[ "$(samples ';main;recurse;\\[1 frame repeated 512-1023 times\\];recurse;bottom ')" -gt 1000 ]
	[ "$("$SPROF" report --json "$data" | jq '.incomplete < 3')" = true ]
}

# bats test_tags=full
@test "recursion of 3500 frames is complete" {
	profile recursion 1500 3500
	awk '/;main;recurse;\[1 frame repeated 2048-4095 times\];recurse;bottom / { n += $NF } END { print n; exit !(n > 500) }' "$folded"
}

# bats test_tags=full
@test "recursion of 20000 frames keeps root and leaf and says what is missing" {
	both_ends_are_there 20000 80
	[ "$(samples ';\\[incomplete: frames left out\\];recurse;')" -gt 800 ]
	[ "$("$SPROF" report --json "$data" | jq '.incomplete > 1000')" = true ]
}

# In one of the two callers, the frames of the other one's stack lie in a buffer that is not written.
# bats test_tags=full
@test "the root of a deep stack is that of the caller that runs" {
	profile deep_callers 2000 20000
	awk '
		/;bottom_(near|far) / {
			n += $NF
			if (/;\[incomplete: frames left out\];/) joined += $NF
			if (/;call_far;.*;bottom_near / || /;call_near;.*;bottom_far /) wrong += $NF
		}
		END { printf "%d joined, %d wrong of %d\n", joined, wrong, n; exit !(n > 1000 && joined > 300 && wrong <= 0.01 * n) }
	' "$folded"
}

# ---- attached to while they run

# bats test_tags=full
@test "attached to: shares of 50, 30 and 20 percent" {
	profile_running shares 2500
	truth_holds
}

# bats test_tags=full
@test "attached to: 32 frames without frame pointers" {
	profile_running deep32_nofp 2500
	truth_holds
}

# bats test_tags=full
@test "attached to: eight threads that run already have their names" {
	profile_running threads8 7000
	truth_holds
}

# bats test_tags=full
@test "attached to: libraries loaded before and after" {
	profile_running dlopen 2500
	truth_holds
}

# bats test_tags=full
@test "attached to: signal handlers" {
	# To its end: a handler's share of the CPU beside other programs differs from one second to
	# the next.
	"$TARGETS/signals" 2500 >"$truth" 3>&- &
	sleep 0.3
	"$SPROF" record -o "$data" -F 999 -p $!
	wait $!
	fold
	truth_holds
}

# bats test_tags=full
@test "attached to: text replaced by anonymous memory before the profiler came" {
	profile_running remap 2500 anonymous
	truth_holds
}

# bats test_tags=full
@test "attached to: a static program" {
	profile_running shares_static 2500
	truth_holds
}

# bats test_tags=full
@test "attached to: JIT code" {
	profile_running jit 2500
	grep -l jit_inner /tmp/perf-*.map | xargs rm
	truth_holds
}

# bats test_tags=full
@test "attached to: a program whose file has been deleted keeps its names" {
	cp "$TARGETS/deep32_nofp" "$BATS_TEST_TMPDIR/deep32_nofp"
	TARGETS=$BATS_TEST_TMPDIR
	"$TARGETS/deep32_nofp" 2500 >"$truth" 3>&- &
	sleep 0.3
	rm "$TARGETS/deep32_nofp"
	"$SPROF" record -o "$data" -F 999 -d 1s -p $!
	wait $!
	fold
	truth_holds
}

# bats test_tags=full
@test "two processes attached to at once are both there" {
	: >"$truth"
	"$TARGETS/shares" 2500 >>"$truth" 3>&- &
	local first=$!
	"$TARGETS/leaf" 2500 >>"$truth" 3>&- &
	"$SPROF" record -o "$data" -F 999 -d 1s -p $first,$!
	wait $first $!
	fold
	tests/root/shares <(grep ^shares "$truth") <(grep ^shares "$folded")
	tests/root/shares <(grep ^leaf "$truth") <(grep ^leaf "$folded")
}

# bats test_tags=full
@test "the whole machine has the shares of one program in it" {
	"$TARGETS/deep32_nofp" 2500 >"$truth" 3>&- &
	sleep 0.3
	"$SPROF" record -o "$data" -F 999 -d 1500ms -a
	wait $!
	fold
	tests/root/shares "$truth" <(grep ^deep32_nofp "$folded")
}

# ---- ends

@test "a program that exits at once gives its status and no error" {
	run "$SPROF" record -o "$data" -- "$TARGETS/exits_at_once"
	[ "$status" -eq 7 ]
	[[ $output != *cannot* ]]
}
