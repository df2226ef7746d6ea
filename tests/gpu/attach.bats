# sprof record -p of programs that use CUDA and were started without libsprof-gpu.so: it is loaded into them while they
# run, over the fake GPU. STRESS=1: as often as the time limit of a test allows.

load fake.bash
load ../rights

setup() {
	fake_setup
	cd "$BATS_TEST_TMPDIR"
	target=''
	needs_attach
	needs_no_filter # with one, it is not known what the library would be allowed
	export END_FILE=$BATS_TEST_TMPDIR/end
}

teardown() {
	[ -z "$target" ] || kill -9 "$target" 2>/dev/null || true
	check_recordings_left
}

# Starts a program that uses the GPU until ends_well is called.
start() { # COMMAND...
	rm -f "$END_FILE"
	"$@" >said 2>&1 3>&- &
	target=$!
	for _ in $(seq 100); do
		grep -q libcuda /proc/$target/maps && break
		sleep 0.05
	done
	sleep 0.2
}

ends_well() {
	touch "$END_FILE"
	wait "$target"
	target=''
	grep -q '^done ' said
	! grep -v -e '^done ' -e '^sprof: gpu: detached' said || false
}

attach() { # options
	run --separate-stderr timeout 60 "$SPROF" record -v -s timer -o g.data "$@" -p "$target" -d 300ms
	[ "$status" -eq 0 ] || { echo "$output"; echo "$stderr"; return 1; }
}

refused() { # WHY
	run --separate-stderr timeout 60 "$SPROF" record -s timer -o g.data --gpu on -p "$target" -d 300ms
	echo "$stderr"
	[ "$status" -eq 1 ]
	grep -q "^sprof: cannot collect GPU data of process $target: $1" <<<"$stderr"
	run --separate-stderr timeout 60 "$SPROF" record -s timer -o g.data -p "$target" -d 300ms
	[ "$status" -eq 0 ]
	grep -q "^sprof: warning: no GPU data of process $target: $1" <<<"$stderr"
}

# The default of --gpu is to collect what there is.
@test "a program that does not use CUDA is recorded without a word about GPU data" {
	"$TARGETS/shares" 60000 >/dev/null 2>&1 3>&- &
	target=$!
	sleep 0.3
	for source in auto timer; do
		run --separate-stderr timeout 60 "$SPROF" record -s $source -o g.data -p "$target" -d 300ms
		echo "$stderr"
		[ "$status" -eq 0 ]
		[[ $stderr != *GPU* ]]
	done
	run --separate-stderr timeout 60 "$SPROF" record -s timer --gpu on -o g.data -p "$target" -d 300ms
	[[ $stderr == *"cannot collect GPU data of process $target: it has not loaded CUDA's driver"* ]]
}

calls() {
	"$SPROF" report --gpu --json g.data | jq '[.rows[].calls] | add // 0'
}

# The same, and then a line says how long the recorder and the target may have waited for a CPU.
attach_on_busy_machine() {
	run --separate-stderr timeout 60 python3 "$BATS_TEST_DIRNAME/cpu_waits.py" "$target" \
		"$SPROF" record -v -s timer -o g.data --gpu on -p "$target" -d 300ms
	[ "$status" -eq 0 ] || { echo "$output"; echo "$stderr"; return 1; }
}

# From the lines about stops and waits: the number of stops, the median and the longest, in ms, and the median and the
# longest of what other programs on these CPUs cannot explain.
stops() {
	awk '/ was stopped for / { sub(/.* was stopped for /, ""); ms = $1 }
		/^waited / { print ms, (ms > $2 ? ms - $2 : 0) }' "$1" >stops
	sort -n stops | awk '{ ms[NR] = $1 } END { printf "%s %s %s ", NR, ms[int((NR + 1) / 2)], ms[NR] }'
	sort -nk 2 stops | awk '{ ms[NR] = $2 } END { print ms[int((NR + 1) / 2)], ms[NR] }'
}

@test "a program that already uses the GPU gets the library and stays unharmed" {
	start "$WORK" storm:4
	attach
	[ "$(calls)" -gt 100 ]
	# every frame is one of the program's
	"$SPROF" fold --column gpu g.data >kernels
	grep -q 'work;train;forward;launch_gemm;.*gemm_kernel' kernels
	! grep -v -e 'work;train;forward;launch_gemm;.*gemm_kernel' -e '\[launch not seen\];gemm_kernel' kernels || false
	# the stub and its stack are gone; the library stays
	! grep '^[0-9a-f]*5f0f000-' /proc/$target/maps || false
	grep -q libsprof-gpu /proc/$target/maps
	ends_well
}

@test "kernels of a program that was attached to are sampled inside, in its old context, and again at the next attach" {
	start "$WORK" code:lines storm:2
	for _ in 1 2; do
		attach --gpu on --pc-sampling
		"$SPROF" report --stalls --json g.data >stalls
		# code that was loaded before has no lines, and the shares of the reasons are the fake's
		jq -e '.samples > 1000 and .without_line == .samples and ([.rows[].kernel] | unique == ["gemm_kernel"])' stalls
		jq -e '.samples as $all | [.rows[] | select(.stall == "long_scoreboard").samples] | add == $all * 5 / 8' stalls
	done
	touch "$END_FILE"
	wait "$target"
	target=''
	grep -q '^done ' said
	! grep -v -e '^done ' -e 'no source lines of some GPU code' said || false
}

# bats test_tags=full, stress
@test "each recording has only what happened during it" {
	local nr=3 sum=0 n done begin
	[ -z "${STRESS-}" ] || nr=90
	start "$WORK" storm:4
	attach --gpu on
	local mapped=$(wc -l </proc/$target/maps) files=$(ls /proc/$target/fd | wc -l)
	for _ in $(seq $nr); do
		begin=$(date +%s%N)
		attach --gpu on
		n=$(calls)
		[ "$n" -gt 0 ]
		sum=$((sum + n))
		"$SPROF" report --gpu --json g.data | jq -e --argjson all $(($(date +%s%N) - begin)) \
			'.devices[0] | .wall_ns < $all and .busy_ns + .idle_ns == .wall_ns'
	done
	# the unwind rows of the recorder before the last may still be mapped
	[ "$(wc -l </proc/$target/maps)" -le $((mapped + 4)) ]
	[ "$(ls /proc/$target/fd | wc -l)" -le "$files" ]
	touch "$END_FILE"
	wait "$target"
	done=$(sed -n 's/^done //p' said)
	[ "$sum" -lt $((done / 2)) ]
	target=''
}

# bats test_tags=full, stress
@test "many programs get the library under load, and each stops only for a moment" {
	local nr=5
	[ -z "${STRESS-}" ] || nr=120
	for i in $(seq $nr); do
		start "$WORK" storm:$((1 + i % 8))
		attach_on_busy_machine
		echo "$stderr" >>stood
		ends_well
	done
	read -r n median longest own_median own_longest <<<"$(stops stood)"
	echo "$n loads: median $median ms, longest $longest ms; without waits for a CPU $own_median ms, $own_longest ms"
	[ -z "${STRESS-}" ] || echo "# $n loads: median $median ms, longest $longest ms" >&3
	[ "$n" -eq "$nr" ]
	awk -v ms="$own_median" 'BEGIN { exit !(ms < 20) }'
}

# bats test_tags=full, stress
@test "the recorder may die at any moment" {
	local nr=8 # "dead" is not a whole recording: its sums need not agree
	[ -z "${STRESS-}" ] || nr=90
	for i in $(seq $nr); do
		start "$WORK" storm:4
		timeout -s KILL "0.0$((RANDOM % 10))$((1 + RANDOM % 9))" "$SPROF" record -q -s ebpf -o dead --gpu on -p "$target" || true
		sleep 0.3
		kill -0 "$target"
		attach --gpu on
		[ "$(calls)" -gt 0 ]
		ends_well
	done
}

@test "a Python program gets the library too" {
	start python3 "$BATS_TEST_DIRNAME/../targets/gpu_python.py" 20000000
	attach --gpu on
	"$SPROF" fold --column gpu g.data | grep -q 'main (gpu_python.py:[0-9]*);.*gemm_kernel'
	kill "$target"
}

# bats test_tags=full
@test "reasons not to load the library are given before anything is touched" {
	start sleep 60
	run --separate-stderr "$SPROF" record -s timer -o g.data --gpu on -p "$target" -d 300ms
	[ "$status" -eq 1 ]
	grep -q 'it has not loaded CUDA.s driver, libcuda.so' <<<"$stderr"
	grep -q 'hint: or start it with CUDA_INJECTION64_PATH=' <<<"$stderr"
	attach
	! grep 'GPU' <<<"$stderr" || false
	kill "$target"
	needs_unshare -m
	needs_unshare -n
	start unshare -m sh -c "mount --bind /dev/null '$SPROF_GPU_LIBRARY' && exec '$WORK' storm:2"
	refused "'.*libsprof-gpu.so' is not there for it: its mounts are others"
	ends_well
	start unshare -n "$WORK" storm:2
	refused 'it is in another network namespace'
	ends_well
}

@test "a program under a seccomp filter is refused" {
	needs_root "read a seccomp filter"
	start python3 -c "
import ctypes, struct, time
cuda = ctypes.CDLL('libcuda.so.1')
allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 1, ctypes.addressof(allow)))
libc = ctypes.CDLL(None)
assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, program, 0, 0)
print('done 0', flush=True)
time.sleep(60)"
	for _ in $(seq 100); do
		grep -q done said && break
		sleep 0.05
	done
	refused "a seccomp filter decides over its system calls"
	kill "$target"
}

@test "doctor says whether the GPU work of a process can be recorded" {
	sleep 30 3>&- &
	local pid=$!
	[ "$("$SPROF" doctor -p $pid --json | jq -r '.process.gpu | .ok, .reason' | paste -sd' ')" = \
		'false CUDA is not in use: no libcuda.so is mapped' ]
	kill $pid
	CUDA_INJECTION64_PATH=$SPROF_GPU_LIBRARY "$WORK" spin:20000 >/dev/null 3>&- &
	pid=$!
	sleep 1
	run "$SPROF" doctor -p $pid
	kill $pid
	echo "$output"
	grep -q '^gpu    OK: libsprof-gpu.so is loaded; no libcupti is mapped' <<<"$output"
}
