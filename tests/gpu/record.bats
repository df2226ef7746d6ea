# sprof record --gpu over the fake GPU: from the program to the reports. No rights are needed.

load fake.bash
load ../root/pythons.bash
load ../rights.bash

setup() {
	fake_setup
	cd "$BATS_TEST_TMPDIR"
}

# Kernel time under a stack, from the collapsed stacks of the gpu column.
gpu_ns() {
	"$SPROF" fold --column gpu g.data | awk -v like="$1" '$0 ~ like { s += $NF } END { printf "%d\n", s }'
}

@test "GPU time is under the code that launched it, from _start to the kernel" {
	record_gpu -- "$WORK" mixed:100 deep:5 launch:300
	[ "$(gpu_ns '_start;__libc_start_main;.*main;.*mixed;launch_gemm;.*gemm_kernel')" -eq 100000 ]
	[ "$(gpu_ns 'mixed;launch_relu;.*relu_kernel')" -eq 60000 ]
	[ "$(gpu_ns 'main;.*deeper;deeper;deeper;deeper;deeper;launch_gemm;.*gemm_kernel')" -eq 1000 ]
	[ "$(gpu_ns 'main;.*train;forward;launch_gemm;.*gemm_kernel')" -eq 300000 ]
	# No stack is incomplete.
	[ "$(gpu_ns '\[no unwind rule\]|\[unknown\]')" -eq 0 ]
}

@test "the sum of the flame graph is the sum of what ran, whatever rings lost" {
	record_gpu -- "$WORK" launch:200000
	[ "$(gpu_ns gemm_kernel)" -eq 200000000 ]
	run "$SPROF" report --gpu g.data
	grep -q ' 200000 .* gemm_kernel$' <<<"$output"
}

@test "kernels of a graph are under the code that made their nodes, below the launch of the graph" {
	record_gpu -- "$WORK" graph:20
	[ "$(gpu_ns 'main;.*replay;cuGraphLaunch;.*\[captured in a graph by\].*;main;.*replay;build_graph;.*gemm_kernel')" -eq $((20 * 3600)) ]
	[ "$(gpu_ns 'main;.*replay;cuGraphLaunch;.*\[captured in a graph by\].*;main;.*replay;build_graph;.*relu_kernel')" -eq $((20 * 2400)) ]
	[ "$(gpu_ns gemm_kernel)" -eq $((20 * 3600)) ]
	# A stream is captured, and the graph made executable: its nodes are copies.
	record_gpu -- "$TARGETS/gpu_load" graph:100:50
	[ "$(gpu_ns 'do_graph;.*cuGraphLaunch;.*\[captured in a graph by\].*;do_graph;.*cuLaunchKernel;.*empty')" -gt 0 ]
	[ "$(gpu_ns 'captured in a graph by.*empty')" -eq "$(gpu_ns empty)" ]
	[ "$(gpu_ns empty)" -eq $((100 * 50 * 100)) ]
	time_is_conserved g.data
}

# A buffer that fills while a graph is launched holds kernels of a call that has not returned yet.
# bats test_tags=full
@test "every kernel of every replay is under its launch, also those whose records come before it returns" {
	record_gpu -- "$TARGETS/gpu_load" graph:22000:50
	local ns discarded
	ns=$(gpu_ns 'do_graph;(.*;)?cuGraphLaunch;.*empty')
	[ "$ns" -eq "$(gpu_ns empty)" ]
	# The realistic model discards records on a busy machine where it gets no buffer in time, as CUPTI does, and
	# counts them. Waits and copies are among them.
	discarded=$("$SPROF" report --gpu --json g.data | jq '[.counters[] | select(.name == "activities discarded").value] | add // 0')
	[ "$ns" -le 110000000 ]
	[ "$ns" -ge $((110000000 - discarded * 100)) ]
	"$SPROF" report --gpu --json g.data | jq -e '[.counters[] | select(.name == "activities without a launch" and .value > 0)] == []'
}

@test "root gets the GPU data of a program that another user runs" {
	needs_root "run a program as another user"
	local as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	"${as[@]}" test -r "$LD_LIBRARY_PATH/libcuda.so.1" -a -x "$WORK" || skip "the user nobody may not read $BUILD"
	"${as[@]}" sleep 5 3>&- & # without CAP_SYS_PTRACE, as in a container, root may not either
	sleep 0.3
	readlink /proc/$!/root >/dev/null || skip "root may not look at processes of others here"
	record_gpu -- "${as[@]}" "$WORK" launch:300
	[ "$(gpu_ns 'main;.*train;forward;launch_gemm;.*gemm_kernel')" -eq 300000 ]
}

@test "with --gpu off nothing is injected" {
	record_gpu --gpu off -- env
	! grep -e CUDA_INJECTION64_PATH -e NVTX_INJECTION64_PATH <<<"$output" || false
}

@test "another tool that was to be injected is loaded first" {
	CUDA_INJECTION64_PATH=/other/tool.so record_gpu -- env
	grep -qx 'SPROF_CHAIN_CUDA=/other/tool.so' <<<"$output"
	grep -q "^CUDA_INJECTION64_PATH=.*/libsprof-gpu.so$" <<<"$output"
}

@test "with --gpu on a program without GPU work gets a warning" {
	record_gpu --gpu on -- true
	grep -q 'no process has loaded libsprof-gpu.so' <<<"$stderr"
}

@test "launches whose records were lost with the end of the program are counted" {
	local kernels lost
	record_gpu -- "$WORK" launch:100 idle:300 launch:5000 quit
	lost=$(sed -n 's/^sprof: .* ended without its exit handlers .*: \([0-9]*\) launches have no record$/\1/p' <<<"$stderr")
	[ "$lost" -gt 0 ]
	kernels=$(($(gpu_ns gemm_kernel) / 1000))
	[ $((kernels + lost)) -eq 5100 ]
	run "$SPROF" report --gpu g.data
	grep -q "lost: .*$lost launches without a record" <<<"$output"
	record_gpu -- "$WORK" launch:100
	! grep 'no record' <<<"$stderr" || false
}

@test "children that use the GPU are recorded too" {
	record_gpu -- sh -c "'$WORK' launch:100; '$WORK' launch:50"
	[ "$(gpu_ns gemm_kernel)" -eq 150000 ]
}

@test "what a process shared with the recorder is given back when it has ended" {
	local mapped
	record_gpu -- sh -c 'for i in 1 2 3 4 5 6; do "$0" launch:100; done; sleep 1
		grep -cE "memfd:sprof-(gpu|walk-space)" /proc/$PPID/maps || true' "$WORK"
	mapped=$(tail -1 <<<"$output")
	echo "$mapped regions mapped"
	[ "$mapped" -eq 0 ]
	[ "$(gpu_ns gemm_kernel)" -eq 600000 ]
}

@test "a limit on the size of files is named as the reason why there is no GPU data" {
	run --separate-stderr bash -c 'ulimit -f 1000; exec "$0" record -s timer --gpu on -o g.data -- true' "$SPROF"
	echo "$stderr"
	[ "$status" -eq 125 ]
	[[ $stderr == *"cannot wait for GPU data: File too large"*"hint: "*"ulimit -f unlimited"* ]]
}

@test "--gpu-processes selects the processes, and info says how many are left out" {
	local processes='LOCAL_RANK=0 RANK=8 "$0" launch:1; RANK=0 "$0" launch:20; OMPI_COMM_WORLD_RANK=1 "$0" launch:300
		"$0" launch:4000; export RANK=3; exec "$0" launch:50000'
	record_gpu -- sh -c "$processes" "$WORK"
	[ "$(gpu_ns gemm_kernel)" -eq 54321000 ]
	! "$SPROF" info g.data | grep 'left out: --gpu-processes' || false
	record_gpu --gpu on --gpu-processes rank0 -- sh -c "$processes" "$WORK"
	[ "$(gpu_ns gemm_kernel)" -eq 4020000 ]
	! grep 'no GPU data' <<<"$stderr" || false
	"$SPROF" info g.data | grep -qx 'GPU work of 3 processes is left out: --gpu-processes'
	"$SPROF" info --json g.data | jq -e '.gpu_processes_left_out == 3'
	record_gpu --gpu-processes children -- sh -c "$processes" "$WORK"
	[ "$(gpu_ns gemm_kernel)" -eq 4321000 ]
	"$SPROF" info --json g.data | jq -e '.gpu_processes_left_out == 1'
	run "$SPROF" record --gpu-processes workers -- true
	[ "$status" -eq 2 ]
	run "$SPROF" record --gpu-processes children -p $$
	[ "$status" -eq 2 ]
}

# As torchrun, mpirun and srun: the launcher has no rank; a worker has one from its exec on.
@test "the rank of a worker is found under each launcher's name for it" {
	local launcher='import os, subprocess, sys
for name in sys.argv[2:]:
    for rank in 0, 1:
        subprocess.run([sys.argv[1], "launch:%d" % (1 + 999 * rank)], env={**os.environ, name: str(rank)}, check=True)'
	record_gpu --gpu-processes rank0 -- python3 -c "$launcher" "$WORK" RANK OMPI_COMM_WORLD_RANK SLURM_PROCID
	[ "$(gpu_ns gemm_kernel)" -eq 3000 ]
	"$SPROF" info --json g.data | jq -e '.gpu_processes_left_out == 3'
}

@test "a failure is in the recording as well as on stderr" {
	FAKE_DEVICE_ERROR=100 FAKE_SUBSCRIBE_ERROR=999 record_gpu -- "$WORK" launch:10
	grep -q '^sprof: gpu: no GPU: the driver says' <<<"$stderr"
	run "$SPROF" report --gpu g.data
	grep -q 'no GPU: the driver says' <<<"$output"
}

# bats test_tags=full
@test "a running program in which the library sleeps is attached to, and detached from" {
	CUDA_INJECTION64_PATH=$SPROF_GPU_LIBRARY "$WORK" spin:4000 >out 2>&1 3>&- &
	local pid=$!
	sleep 0.5
	run --separate-stderr timeout 60 "$SPROF" record -s timer --gpu on -p $pid -d 1s -o g.data
	[ "$status" -eq 0 ] || { echo "$stderr"; kill $pid; return 1; }
	wait $pid
	grep -q '^done ' out
	[ "$(gpu_ns 'train;forward;launch_gemm;.*gemm_kernel')" -gt 1000000 ]
}

# Records a program that makes a graph during the first recording: first.data, g.data, and "outside" of any range.
record_graph() { # the libcupti
	local pid recorder data
	rm -f build end said
	: >log
	SPROF_CUPTI=$BUILD/tests/gpu/$1 FAKE_LOG=$PWD/log BUILD_FILE=$PWD/build END_FILE=$PWD/end \
		CUDA_INJECTION64_PATH=$SPROF_GPU_LIBRARY "$TARGETS/gpu_graphs" replays >said 2>&1 3>&- &
	pid=$!
	timeout 20 sh -c "until grep -q libcuda /proc/$pid/maps; do sleep 0.05; done"
	"$SPROF" record -q -s timer --gpu on -p $pid -o first.data 3>&- &
	recorder=$!
	timeout 20 sh -c 'until grep -q cuptiActivityFlushAll log; do sleep 0.05; done' # CUPTI is set up
	touch build
	timeout 20 sh -c 'until grep -q built said; do sleep 0.05; done'
	sleep 0.3
	kill -INT $recorder
	wait $recorder
	"$SPROF" record -q -s timer --gpu on -p $pid -d 1s -o g.data
	"$SPROF" record -q -s timer --gpu on --capture-range cudaProfilerApi -p $pid -d 500ms -o outside
	touch end
	wait $pid
	for data in first g; do
		"$SPROF" fold --column gpu $data.data >$data.kernels
		sed "s/^/$data: /" $data.kernels
		# launches of single kernels are not mixed up with those of the graph
		grep -q ';launch_single;.*gemm_kernel' $data.kernels
		! grep 'launch_single;.*\(build_graph\|relu_kernel\)' $data.kernels || false
	done
}

IN_GRAPH='\[captured in a graph by\];.*main;.*build_graph;.*_kernel'

# CUPTI 13.0 gives the graph's work wrong ids in the second: which launch it is of cannot be known.
# bats test_tags=full
@test "kernels of a graph keep the code that made it where CUPTI gives wrong ids, and get no launch that is not theirs" {
	export FAKE_REALISTIC=1
	record_graph cuda13/libcupti.so.13
	grep -q "main;.*cuGraphLaunch;.*$IN_GRAPH" first.kernels
	! grep 'launch not seen.*build_graph' first.kernels || false
	! grep 'build_graph\|relu_kernel' g.kernels | grep -v "^gpu_graphs;\[launch not seen\];$IN_GRAPH" || false
	grep -q "^gpu_graphs;\[launch not seen\];$IN_GRAPH" g.kernels
	"$SPROF" report --gpu g.data | grep 'wrong correlation ids: it is shown under the code that captured it'
	"$SPROF" report --gpu --json g.data | jq -e '[.counters[] | select(.name == "activities without a launch").value] | add > 0'
	run "$SPROF" report --gpu outside
	echo "$output"
	grep -q 'it holds no work of a GPU' <<<"$output"
	grep -q 'wrong correlation ids: it is left out, because it may not belong to the time that is collected' <<<"$output"
	record_graph cuda12/libcupti.so.12
	# but for launches that come between CUPTI's two halves, records and callbacks
	[ "$(gpu_ns "main;.*cuGraphLaunch;.*$IN_GRAPH")" -gt "$(gpu_ns 'launch not seen.*build_graph')" ]
	! "$SPROF" report --gpu g.data | grep 'wrong correlation ids' || false
}

# An id of another graph's launch cannot be told from the right one.
@test "a kernel of a graph is never under a call that launches no graph" {
	FAKE_REALISTIC=1 FAKE_WRONG_GRAPH_IDS=1 record_gpu -- "$WORK" launch:1 graph:1 launch:1 graph:1 launch:2 graph:4
	"$SPROF" fold --column gpu g.data >kernels
	cat kernels
	! grep 'train;.*relu_kernel' kernels || false
	[ "$(gpu_ns 'train;forward;launch_gemm;.*gemm_kernel')" -eq 4000 ]
	[ "$(gpu_ns "^gpu_work;\\[launch not seen\\];$IN_GRAPH")" -gt 0 ]
	[ "$(gpu_ns "$IN_GRAPH")" -eq $((6 * 6000)) ]
	"$SPROF" report --gpu g.data | grep 'wrong correlation ids'
}

@test "--gpu on and a process without the library: what to do is said" {
	sleep 30 3>&- &
	local pid=$!
	run --separate-stderr "$SPROF" record -s timer --gpu on -p $pid -d 1s -o g.data
	kill $pid
	[ "$status" -eq 1 ]
	grep -q "it has not loaded CUDA's driver" <<<"$stderr"
	grep -q 'hint: or start it with CUDA_INJECTION64_PATH=' <<<"$stderr"
}

cpu_ns() {
	"$SPROF" info --json g.data | jq '[.columns[] | select(.name == "cpu").sum] | add // 0'
}

# bats test_tags=full
@test "with a capture range only what is launched in it is recorded, with its CPU samples" {
	record_gpu --capture-range cudaProfilerApi -- "$WORK" launch:100 profiler launch:50 spin:500 profiler launch:10
	[ "$(gpu_ns gemm_kernel)" -eq 2000 ]
	[ "$(gpu_ns 'main;.*launch_gemm')" -eq 2000 ]
	"$SPROF" report --gpu --json g.data | jq -e '[.counters[] | select(.name == "activities outside the capture range").value] | add > 160'
	[ "$(cpu_ns)" -lt 400000000 ]
	record_gpu --capture-range cudaProfilerApi -- "$WORK" mixed:3000 captured:300 spin:500
	local ns=$(cpu_ns)
	[ "$ns" -gt 0 ] && [ "$ns" -lt 600000000 ]
	"$SPROF" fold --column gpu g.data | grep gemm_kernel >kernels
	! grep -v 'captured;' kernels || false
	"$SPROF" report --gpu --json g.data | jq -e '.devices[0] | .busy_ns + .idle_ns == .wall_ns'
}

# bats test_tags=full
@test "recording stops at the end of the range, and the program runs on" {
	record_gpu --capture-range cudaProfilerApi --stop-on-range-end -- "$WORK" launch:100 profiler launch:50 profiler launch:10
	grep -q '^done ' <<<"$output"
	[ "$(gpu_ns gemm_kernel)" -eq 1000 ]
	CUDA_INJECTION64_PATH=$SPROF_GPU_LIBRARY "$WORK" idle:2000 captured:200 idle:60000 >out 2>&1 3>&- &
	local pid=$!
	sleep 0.5
	run --separate-stderr timeout 60 "$SPROF" record -s timer -p $pid -o g.data --capture-range cudaProfilerApi --stop-on-range-end
	kill -0 $pid
	kill $pid
	[ "$status" -eq 0 ]
	[ "$(gpu_ns 'captured;.*gemm_kernel')" -gt 0 ]
}

# bats test_tags=full
@test "recording begins after a delay, and its duration counts from there" {
	record_gpu --delay 1s -d 500ms -- "$WORK" spin:3000
	# Of half a second out of three; each launch counts twice in what the program prints.
	local calls=$(sed -n 's/^done //p' <<<"$output")
	"$SPROF" report --gpu --json g.data | jq -e --argjson n "$calls" '[.rows[].calls] | add > 0 and add < $n / 4'
	[ "$(cpu_ns)" -gt 0 ] && [ "$(cpu_ns)" -lt 1200000000 ]
}

@test "calls get stacks by kind and by how long they take" {
	record_gpu --cuda-backtrace sync -- "$WORK" mixed:20
	[ "$(gpu_ns 'mixed;')" -eq 0 ]
	[ "$(gpu_ns gemm_kernel)" -eq 20000 ]
	record_gpu --cuda-backtrace kernel,sync -- "$WORK" mixed:20
	[ "$(gpu_ns 'mixed;launch_gemm')" -eq 20000 ]
	[ "$(gpu_ns 'mixed;.*copy')" -eq 0 ]
	record_gpu --cuda-backtrace all:10s -- "$WORK" mixed:20
	[ "$(gpu_ns 'mixed;')" -eq 0 ]
	"$SPROF" report --gpu --json g.data | jq -e '[.counters[] | select(.name == "calls too short for a stack").value] == [121]'
}

@test "what an option of these cannot mean is said" {
	local options=('--capture-range main' '--capture-range nvtx:' '--stop-on-range-end' '--cuda-backtrace kernels'
		'--cuda-backtrace kernel:' '--cuda-backtrace kernel:1h' '--cuda-backtrace ,' '--gpu off --capture-range cudaProfilerApi'
		'--delay soon')
	for option in "${options[@]}"; do
		run "$SPROF" record $option -- true
		[ "$status" -eq 2 ] || { echo "$option: $output"; return 1; }
	done
}

# Not a benchmark (the machine may be busy), but what would make each launch cost microseconds is seen. The clock's
# own price is in the figures: a virtual machine may take 60 ns to read it, four times here.
# bats test_tags=full
@test "a launch costs less than a microsecond, walked or repeated" {
	record_gpu -- "$TARGETS/gpu_cost" 5
	awk '/^(walked|repeated) / { n++; if ($2 >= 1000) exit 1 } END { exit n != 2 }' <<<"$output"
}

# From launch to launch anything may be as before: the walk takes from the last stack what it can.
@test "the stack of every launch on a random way through a program is that of libunwind" {
	local depth same lost
	for depth in 3 40 90; do
		record_gpu -- "$TARGETS/gpu_paths" 4000 $depth $depth
		read -r _ same _ lost _ <<<"$(grep '^same ' <<<"$output")"
		echo "$depth: $output"
		[ "$((same + lost))" -eq 4000 ] && [ "$lost" -lt 400 ]
	done
}

launches_by_python() {
	record_gpu -- "$1" "$BATS_TEST_DIRNAME/../targets/gpu_python.py" 100
	local top='main \(gpu_python.py:[0-9]+\);(.*;)?train \(gpu_python.py:[0-9]+\);'
	[ "$(gpu_ns "$top(.*;)?forward \\(gpu_python.py:[0-9]+\\);(.*;)?launch \\(gpu_python.py:[0-9]+\\);.*;gemm_kernel")" -eq 300000 ]
	[ "$(gpu_ns "$top(.*;)?backward \\(gpu_python.py:[0-9]+\\);(.*;)?launch \\(.*;gemm_kernel")" -eq 100000 ]
	[ "$(gpu_ns "$top(.*;)?by_sort \\(gpu_python.py:[0-9]+\\);.*<lambda> \\(.*launch \\(.*;gemm_kernel")" -eq 100000 ]
	# every function that no longer exists has its own name and file
	for i in 000 017 049; do
		[ "$(gpu_ns "$top(.*;)?made_$i \\($i.py:1\\);")" -eq 1000 ]
	done
}

@test "GPU time is under the Python functions that launched it, also under deleted ones" {
	each_python eval 'launches_by_python "$python"'
}

@test "with --no-python GPU time is under the interpreter's own functions" {
	record_gpu --no-python -- /usr/bin/python3 "$BATS_TEST_DIRNAME/../targets/gpu_python.py" 100
	[ "$(gpu_ns 'gpu_python.py')" -eq 0 ]
	[ "$(gpu_ns '_PyEval_EvalFrameDefault;.*gemm_kernel')" -eq 550000 ]
}

launch_is_clean() {
	record_gpu -- "$python" user.py
	"$SPROF" fold --collapse-noise --column gpu g.data >got
	cat got
	grep -Eq 'user.py:1\);Net.__call__ \(user.py:7\);Net.forward \(user.py:8\);cuLaunchKernel;.*gemm_\[g\] 1000$' got
	[ "$(grep -Eic 'py_?eval|pyobject|pymain|libffi|ctypes|python3\.[0-9]+\+0x' got)" -eq 0 ]
}

# A stripped Python names none of them; other versions name all of them.
@test "--collapse-noise leaves no frame of the interpreter in the stack of a launch" {
	cat >user.py <<-'END'
		import ctypes, functools
		cuda = ctypes.CDLL("libcuda.so.1")
		cuda.cuInit(0)
		kernel = ctypes.c_void_p()
		cuda.cuModuleGetFunction(ctypes.byref(kernel), None, b"gemm")
		class Net:
		    def __call__(self): return self.forward()
		    def forward(self): cuda.cuLaunchKernel(kernel, 10, 1, 1, 1, 1, 1, 0, None, None, None)
		functools.partial(Net())()
	END
	each_python launch_is_clean
}
