# Waits of idle threads are folded away, and waits that a request depends on never are. Each line of
# the files is one stack; tests/root/ebpf/idle.bats has threads that really wait.

setup() {
	cd "$BATS_TEST_TMPDIR"
}

# Prints the stacks of stdin that are still shown, by their weights, which are their line numbers.
shown() { # OPTIONS...
	awk '{ print $0, NR * NR * NR }' >stacks
	"$SPROF" report --tree --json "$@" stacks >json 2>err || return
	jq -r '.samples' json
}

all_of() { awk '{ n += NR * NR * NR } END { print n }' "$1"; }

@test "waits of loops, pools and accept are idle" {
	cat >idle <<-'END'
	_start;main;serve;accept4;do_syscall_64_[k];__sys_accept4_[k];inet_csk_accept_[k];socket wait_[w]
	main;serve;deep;inet_csk_accept_[k];socket wait_[w]
	main;aeMain;aeProcessEvents;aeApiPoll;epoll_wait;do_epoll_wait_[k];poll wait_[w]
	main;uv_run;uv__io_poll;epoll_pwait;do_epoll_wait_[k];poll wait_[w]
	clone3;start_thread;worker;uv_cond_wait;pthread_cond_wait;futex_do_wait_[k];lock wait_[w]
	clone3;start_thread;bioProcessBackgroundJobs;pthread_cond_wait;futex_do_wait_[k];lock wait_[w]
	runtime.mcall;runtime.park_m;runtime.schedule;runtime.findRunnable;runtime.stopm;runtime.notesleep;runtime.futex.abi0;futex_do_wait_[k];lock wait_[w]
	runtime.mstart1;runtime.sysmon;runtime.usleep.abi0;do_nanosleep_[k];sleep_[w]
	PostmasterMain;ServerLoop;WaitEventSetWait;epoll_wait;do_epoll_wait_[k];poll wait_[w]
	PostgresMain;SocketBackend;pq_getbyte;pq_recvbuf;secure_read;WaitEventSetWait;epoll_wait;do_epoll_wait_[k];poll wait_[w]
	clone3;start_thread;_bootstrap (threading.py:1);_bootstrap_inner (threading.py:2);run (threading.py:3);_worker (thread.py:69);_queue_SimpleQueue_get;PyThread_acquire_lock_timed;sem_clockwait;futex_do_wait_[k];lock wait_[w]
	_bootstrap (threading.py:1);run (threading.py:3);take (app.py:9);Queue.get (queue.py:171);Condition.wait (threading.py:320);PyThread_acquire_lock_timed;sem_wait;lock wait_[w]
	<module> (app.py:1);main (app.py:9);BaseServer.serve_forever (socketserver.py:216);_PollLikeSelector.select (selectors.py:402);poll;do_sys_poll_[k];poll wait_[w]
	<module> (app.py:1);BaseEventLoop._run_once (base_events.py:1845);EpollSelector.select (selectors.py:451);epoll_wait;do_epoll_wait_[k];poll wait_[w]
	_start;__libc_start_main;main;epoll_wait;do_epoll_wait_[k];poll wait_[w]
	clone3;start_thread;serve_clients;epoll_wait;ep_poll_[k];poll wait_[w]
	clone3;start_thread;app_worker_loop;pthread_cond_wait;futex_do_wait_[k];lock wait_[w]
	clone3;start_thread;gomp_thread_start;gomp_simple_barrier_wait;sem_wait;lock wait_[w]
	END
	[ "$(shown <idle)" = 0 ]
	grep -q 'waits of idle threads' err
	[ "$(shown --idle <idle)" = "$(all_of idle)" ]
	jq -e '.idle_samples == 0' json
}

@test "waits that a request depends on are kept" {
	cat >busy <<-'END'
	main;aeMain;aeProcessEvents;readQueryFromClient;call;pthread_cond_wait;futex_do_wait_[k];lock wait_[w]
	main;uv_run;handle;query;epoll_wait;do_epoll_wait_[k];poll wait_[w]
	clone3;start_thread;worker;uv_mutex_lock;pthread_mutex_lock;__lll_lock_wait;lock wait_[w]
	clone3;start_thread;worker;uv_cond_wait;pthread_cond_wait;__pthread_mutex_cond_lock;__lll_lock_wait;lock wait_[w]
	clone3;start_thread;worker;pthread_cond_wait;futex_do_wait_[k];lock wait_[w]
	runtime.mcall;runtime.schedule;runtime.lock2;runtime.futexsleep;runtime.futex.abi0;futex_do_wait_[k];lock wait_[w]
	PostgresMain;exec_simple_query;PortalRun;heap_update;LockTuple;ProcSleep;WaitLatch;WaitEventSetWait;epoll_wait;do_epoll_wait_[k];poll wait_[w]
	PostgresMain;exec_simple_query;PortalRun;DoCopy;pq_getbyte;pq_recvbuf;secure_read;WaitEventSetWait;epoll_wait;do_epoll_wait_[k];poll wait_[w]
	_worker (thread.py:69);_queue_SimpleQueue_get;PyEval_RestoreThread;take_gil;pthread_cond_timedwait;futex_do_wait_[k];lock wait_[w]
	_bootstrap (threading.py:1);run (threading.py:3);_worker (thread.py:83);_WorkItem.run (thread.py:58);fetch (app.py:4);Queue.get (queue.py:171);sem_wait;lock wait_[w]
	<module> (app.py:1);result (app.py:4);Queue.get (queue.py:171);Condition.wait (threading.py:320);sem_wait;lock wait_[w]
	<module> (train.py:1);_MultiProcessingDataLoaderIter._try_get_data (dataloader.py:1133);Queue.get (queues.py:113);ForkingPickler.poll (connection.py:257);poll;do_sys_poll_[k];poll wait_[w]
	_start;__libc_start_main;main;fetch;epoll_wait;do_epoll_wait_[k];poll wait_[w]
	_start;__libc_start_main;main;poll;do_sys_poll_[k];poll wait_[w]
	clone3;start_thread;serve_clients;call_backend;epoll_wait;ep_poll_[k];poll wait_[w]
	clone3;start_thread;app_worker_loop;do_job;pthread_cond_wait;futex_do_wait_[k];lock wait_[w]
	clone3;start_thread;app_worker_loop;pthread_mutex_lock;__lll_lock_wait;lock wait_[w]
	clone3;start_thread;gomp_thread_start;body;gomp_team_barrier_wait;lock wait_[w]
	clone3;start_thread;job;nanosleep;do_nanosleep_[k];sleep_[w]
	main;work;futex_do_wait_[k];lock wait_[w]
	main;accept;compute
	END
	[ "$(shown <busy)" = "$(all_of busy)" ]
	jq -e '.idle_samples == 0 and .idle == 0 and .idle_threads == 0' json
}

@test "--idle-in names loops of the program's own, and their requests are kept" {
	cat >own <<-'END'
	main;my_thread;take_job;pthread_cond_wait;lock wait_[w]
	main;my_thread;run_job;pthread_cond_wait;lock wait_[w]
	main;my_thread;take_job;pthread_mutex_lock;__lll_lock_wait;lock wait_[w]
	END
	[ "$(shown <own)" = 36 ]
	[ "$(shown --idle-in '^take_job$' <own)" = 35 ]
	"$SPROF" report --idle-in '^take_job$' stacks | grep -q 'idle: 1 folded, --idle shows them'
	run "$SPROF" report --idle-in '(' stacks
	[ "$status" -eq 2 ]
	[[ "$output" == *"cannot take '(' for loops"* ]]
}

@test "pictures, lines and differences fold idle waits too; files for other programs hold all" {
	printf 'main;aeMain;epoll_wait;do_epoll_wait_[k];poll wait_[w] 70\nmain;work 30\n' >x
	for command in "flame --no-js" lines "diff x"; do
		"$SPROF" $command x | grep -q 'idle: 70 folded' || echo "$command"
	done
	! "$SPROF" flame --no-js x | grep -q epoll_wait || false
	"$SPROF" flame --no-js --idle x | grep -q epoll_wait
	[ "$("$SPROF" fold x | wc -l)" = 2 ]
	"$SPROF" export -f pprof x -o x.pb.gz
	[ "$("$SPROF" fold x.pb.gz | grep -c epoll_wait)" = 1 ]
}

@test "functions that a filter hides still tell an idle wait, and one for the GIL" {
	cat >hidden.folded <<-'END'
		app;main;aeMain;aeProcessEvents;epoll_wait;do_epoll_wait_[k];poll wait_[w] 40
		app;run (t.py:1);take_gil;futex_do_wait_[k];lock wait_[w] 30
		app;run (t.py:1);work 30
	END
	"$SPROF" report --json --hide 'kind:^(native|kernel)$' hidden.folded >json
	[ "$(jq .idle json)" = 40 ]
	jq -e '[.rows[].function] | index("GIL wait") and (index("poll wait") | not)' json
}
