# sprof report --hints: each hint on stacks that prove it, and on stacks that nearly do.

setup() {
	bats_require_minimum_version 1.5.0
	cd "$BATS_TEST_TMPDIR"
}

hints() { # STACKS...: the codes of the hints, in their order
	printf '%s\n' "$@" >x.folded
	"$SPROF" report --hints --json x.folded | jq -r '.rows[].code' | paste -sd' '
}

@test "waiting for a DataLoader's workers, not the workers themselves" {
	local get='train (t.py:1);_MultiProcessingDataLoaderIter._try_get_data (dataloader.py:1100)'
	[ "$(hints "$get;poll_[k] 300" 'train (t.py:1) 700')" = data-wait ]
	[ "$(hints "$get;poll_[k] 100" 'train (t.py:1) 900')" = "" ]
	[ "$(hints "_worker_loop (worker.py:2);$get;poll_[k] 300" 'train (t.py:1) 700')" = "" ]
	[ "$(hints 'train (t.py:1);_try_get_data (queue.py:1) 300' 'train (t.py:1) 700')" = "" ]
}

@test "waiting for the GIL, by the frames that wait for it, not for another lock" {
	[ "$(hints 'run (t.py:1);PyEval_RestoreThread;take_gil;futex_do_wait_[k];lock wait_[w] 300' 'run (t.py:1) 700')" = gil-wait ]
	[ "$(hints 'run (t.py:1);take_gil;pthread_cond_timedwait;lock wait_[w] 300' 'run (t.py:1) 700')" = gil-wait ]
	[ "$(hints 'run (t.py:1);PyThread_acquire_lock_timed;sem_wait;lock wait_[w] 300' 'run (t.py:1) 700')" = "" ]
	[ "$(hints 'run (t.py:1);take_gil;lock wait_[w] 60' 'run (t.py:1) 940')" = "" ]
}

@test "loading data in the main thread, not in a worker" {
	[ "$(hints 'train (t.py:1);_MapDatasetFetcher.fetch (fetch.py:40);decode 300' 'train (t.py:1) 700')" = data-main ]
	[ "$(hints '_worker_loop (worker.py:2);_MapDatasetFetcher.fetch (fetch.py:40);decode 300' 'train (t.py:1) 700')" = "" ]
	[ "$(hints 'train (t.py:1);_MapDatasetFetcher.fetch (fetch.py:40);decode 50' 'train (t.py:1) 950')" = "" ]
}

@test "waiting for the GPU, for one number or for all" {
	[ "$(hints 'train (t.py:1);at::_ops::_local_scalar_dense::call(x);cudaStreamSynchronize 200' 'train (t.py:1) 800')" = sync-item ]
	[ "$(hints 'train (t.py:1);cudaDeviceSynchronize;sched_yield_[k] 200' 'train (t.py:1) 800')" = sync ]
	[ "$(hints 'train (t.py:1);at::_ops::_local_scalar_dense::call(x) 200' 'train (t.py:1) 800')" = "" ]
	[ "$(hints 'main;cudaStreamSynchronize 200' 'main 800')" = "" ]
	[ "$(hints 'train (t.py:1);cudaStreamSynchronize 50' 'train (t.py:1) 950')" = "" ]
}

@test "copies: of the host's time, and of the GPU's" {
	[ "$(hints 'train (t.py:1);cudaMemcpyAsync;memcpy 200' 'train (t.py:1) 800')" = copy-host ]
	[ "$(hints 'train (t.py:1);cudaMemcpyAsyncDone;memcpy 200' 'train (t.py:1) 800')" = "" ]
	[ "$(hints 'train (t.py:1);[copy host to device]_[g] 200' 'train (t.py:1);gemm_[g] 800')" = copy-device ]
	[ "$(hints 'train (t.py:1);[copy device to host]_[g] 200' 'train (t.py:1);gemm_[g] 800')" = "" ]
}

@test "threads that wait for each other, in user space or in the kernel, not those that work" {
	[ "$(hints 'start_thread;gomp_team_barrier_wait_end 300' 'start_thread;work 700')" = threads ]
	[ "$(hints 'start_thread;blas_thread_server;sched_yield;do_sched_yield_[k] 300' 'start_thread;work 700')" = threads ]
	[ "$(hints 'main;dgemm_;exec_blas 300' 'start_thread;work 700')" = threads ]
	[ "$(hints 'main;dgemm_;exec_blas;inner_thread;dgemm_kernel 300' 'start_thread;work 700')" = "" ]
	[ "$(hints 'start_thread;blas_thread_server;gemm_kernel 300' 'start_thread;work 700')" = "" ]
	[ "$(hints 'start_thread;gomp_team_barrier_wait_end 150' 'start_thread;work 850')" = "" ]
}

@test "waits in functions of the kernel or of libc are no barriers of OpenMP" {
	[ "$(hints 'run (t.py:1);pthread_cond_wait;futex_wait_[k];lock wait_[w] 300' 'run (t.py:1) 700')" = "" ]
	[ "$(hints 'run (t.py:1);__lll_lock_wait;futex_wait;futex_wait_[k];lock wait_[w] 300' 'run (t.py:1) 700')" = "" ]
	[ "$(hints 'main;wait4;do_wait_[k];child wait_[w] 300' 'main 700')" = "" ]
}

@test "imports that take most, and start-up that is merely part of it" {
	local import='<module> (t.py:1);_find_and_load (<frozen importlib._bootstrap>:1176)'
	[ "$(hints "$import 400" 'train (t.py:1) 600')" = imports ]
	[ "$(hints "$import 100" 'train (t.py:1) 900')" = warm-up ]
	[ "$(hints "$import 50" 'train (t.py:1) 950')" = "" ]
	[ "$(hints 'train (t.py:1);nvrtcCompileProgram 100' 'train (t.py:1) 900')" = warm-up ]
	[ "$(hints 'train (t.py:1);_find_and_load (mine.py:1176) 400' 'train (t.py:1) 600')" = "" ]
}

@test "garbage collection" {
	[ "$(hints 'train (t.py:1);gc_collect_main 100' 'train (t.py:1) 900')" = gc ]
	[ "$(hints 'train (t.py:1);gc_collect_main 50' 'train (t.py:1) 950')" = "" ]
	[ "$(hints 'train (t.py:1);gc_collect_mainly 100' 'train (t.py:1) 900')" = "" ]
}

@test "few samples prove nothing, however large their share" {
	[ "$(hints 'train (t.py:1);cudaDeviceSynchronize 29')" = "" ]
	[ "$(hints 'train (t.py:1);cudaDeviceSynchronize 30')" = sync ]
}

@test "a hint says how much, how sure, where in the program, and what to do; the largest first" {
	printf '%s\n' 'main (t.py:1);train (t.py:9);to (tensor.py:4);cudaDeviceSynchronize 300' \
		'main (t.py:1);load (l.py:3);_find_and_load (<frozen importlib._bootstrap>:1176) 450' 'main (t.py:1) 250' >x.folded
	"$SPROF" report --hints x.folded | sed '1,/^$/d' >got
	diff - got <<-'END'
	45% +- 3.1% of the samples: importing modules
	  evidence: 450 of 1000; 100% of it below load (l.py:3)
	  remedy: sprof imports says which; record for longer, or attach with -p, to see the program itself

	30% +- 2.8% of the samples: waiting for the GPU
	  evidence: 300 of 1000; 100% of it below to (tensor.py:4)
	  remedy: .cpu(), .numpy(), print(tensor) and synchronize() wait for all that was launched: do it once per N steps, or copy with non_blocking=True
	END
	echo 'main (t.py:1) 1000' >x.folded
	[ "$("$SPROF" report --hints x.folded | tail -1)" = "no problem found that these samples can prove" ]
	# Filters and other tables of the samples are as everywhere.
	run "$SPROF" report --hints --phases x.folded
	[ "$status" -eq 2 ]
}
