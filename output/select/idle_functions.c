/*
 * The tables of loops and waits. A new loop must be a function that does no work itself and that
 * waits for nothing but the next piece of it: a handler has frames of its own between the loop and
 * its wait, so its waits do not match.
 */
#include "output/select/idle_functions.h"

#include <regex.h>
#include <stddef.h>
#include <string.h>

#include "core/base/path.h"
#include "core/profile/profile.h"
#include "output/tree/functions.h"
#include "output/tree/python_name.h"

enum {
	POLLS = IDLE_EPOLL | IDLE_POLL,
	QUEUES = IDLE_COND | IDLE_SEM | IDLE_TAKE | IDLE_UV,
	/* A condition variable in Python is the one of the GIL. */
	PYTHON = IDLE_SEM | IDLE_TAKE | POLLS | IDLE_READ,
};

struct named_rule {
	const char *names; /* extended regular expression */
	struct idle_hint hint;
};

static const struct named_rule kernel_rules[] = {
	{ "^(inet_csk_accept|unix_accept|vsock_accept|__sys_accept4|do_accept)",
	  { .waits = IDLE_ACCEPT } },
	{ "^(ep_poll|do_epoll_wait|do_epoll_pwait)", { .waits = IDLE_EPOLL } },
	{ "^(do_sys_poll|do_poll|do_select|core_sys_select|io_cqring_wait)",
	  { .waits = IDLE_POLL } },
	{ "^(sock_recvmsg|sock_read_iter|__sys_recv|anon_pipe_read|pipe_read)",
	  { .waits = IDLE_READ } },
};

/* Of the C library, or of a file without modules. */
static const struct named_rule libc_rules[] = {
	{ "^(__GI_)?_*(libc_)?accept4?$", { .waits = IDLE_ACCEPT } },
	{ "^(__GI_)?_*epoll_p?wait2?$", { .waits = IDLE_EPOLL } },
	{ "^(__GI_)?_*(libc_)?(p?poll|p?select(64)?)$", { .waits = IDLE_POLL } },
	{ "^(__GI_)?_*(libc_)?(read|recv|recvfrom|recvmsg)$", { .waits = IDLE_READ } },
	{ "^(__GI_)?_*pthread_cond_(timed|clock)?wait", { .waits = IDLE_COND } },
	{ "^(__GI_)?_*(new_)?sem_(timed|clock)?wait", { .waits = IDLE_SEM } },
	{ "^_*(GI_)?_*(pthread_(mutex|rwlock|spin|barrier|join|clockjoin|timedjoin|once)|lll_lock_"
	  "wait|"
	  "lll_mutex_lock)",
	  { .waits = IDLE_LOCK } },
};

/* Called between the functions above and a loop. */
static const struct named_rule native_rules[] = {
	/* locks and conditions of libraries */
	{ "^uv_cond_(timed)?wait$", { .waits = IDLE_UV, .through = true } },
	{ "^(uv__?sem_wait|g_cond_wait(_until)?|absl::CondVar::Wait.*|"
	  "std::(_V2::)?condition_variable(_any)?::.*|std::__condvar::.*)$",
	  { .waits = IDLE_COND, .through = true } },
	{ "^(std::sys::.*[Cc]ondvar|std::sync::.*[Cc]ondvar|parking_lot::condvar::|std::thread::"
	  "park)",
	  { .waits = IDLE_COND, .through = true } },
	{ "^parking_lot(_core)?::", { .through = true } },
	{ "^(take_gil|PyEval_(RestoreThread|AcquireThread|AcquireLock)|_PyThreadState_Attach|"
	  "PyGILState_Ensure|new_threadstate)(\\.|$)",
	  { .waits = IDLE_LOCK } },
	{ "^_?queue_SimpleQueue_get(_impl)?(\\.|$)", { .waits = IDLE_TAKE, .through = true } },
	{ "^(_?PyEval_|_?PyObject_|_?PyThread_|_PySemaphore_|_PyParkingLot_|lock_PyThread_|"
	  "method_vectorcall|cfunction_|acquire_timed|do_call_core|select_(e?poll|select)|slot_tp_"
	  ")",
	  { .through = true } },
	/* event loops */
	{ "^(aeApiPoll|g_poll|mio::|g_main_context_|(epoll|poll|select)_dispatch$|epoll_poll$|"
	  "ngx_epoll_process_events$)",
	  { .through = true } },
	{ "^(ae(Main|ProcessEvents)|uv__io_poll|uv_run|event_base_(loop|dispatch)|ev_run|g_main_"
	  "loop_run|"
	  "ngx_process_events_and_timers)$",
	  { .loops = POLLS } },
	{ "^boost::asio::(detail::(epoll_reactor|scheduler|io_uring_service)|io_context|io_service|"
	  "thread_pool)::",
	  { .loops = POLLS | IDLE_COND } },
	{ "^tokio::runtime::.*(park|driver|worker|blocking::pool)",
	  { .loops = POLLS | IDLE_COND } },
	/* Go: a thread without a goroutine. A goroutine that waits has no thread. */
	{ "^runtime\\.(futex|futexsleep|notesleep|notetsleep(_internal)?|futexsleep1|mcall|"
	  "systemstack|"
	  "epollwait|usleep|mPark|stopm|goexit0|park_m|goschedImpl|gosched_m|exitsyscall0|"
	  "notetsleepg)(\\.abi0)?$",
	  { .through = true } },
	{ "^(internal/runtime|runtime/internal)/syscall", { .through = true } },
	{ "^runtime\\.(find[rR]unnable|schedule|sysmon|netpoll|stoplockedm|startlockedm|"
	  "templateThread|mstart1)$|^os/signal\\.",
	  { .loops = IDLE_PARK | POLLS } },
	/* redis */
	{ "^(bioProcessBackgroundJobs|background_thread_entry)$", { .loops = QUEUES } },
	{ "^IOThreadMain$", { .loops = QUEUES | IDLE_LOCK | POLLS } },
	/* PostgreSQL: WaitEventSetWait also waits for rows and peers, so its callers decide. */
	{ "^(WaitEventSetWait(Block)?|WaitLatch(OrSocket)?|secure_read|pq_recvbuf|pq_getbyte|"
	  "pq_startmsgread)$",
	  { .through = true } },
	{ "^(SocketBackend|ReadCommand|PostgresMain|ServerLoop|BackgroundWriterMain|"
	  "CheckpointerMain|"
	  "WalWriterMain|AutoVacLauncherMain|PgArchiverMain|pgarch_MainLoop|SysLoggerMain|"
	  "PgStatCollectorMain|ApplyLauncherMain|WalSummarizerMain|IoWorkerMain)$",
	  { .loops = POLLS } },
	{ "^(Per_thread_connection_handler::block_until_new_connection|"
	  "Mysqld_socket_listener::listen_for_connection_event)",
	  { .loops = POLLS | IDLE_COND } },
	{ "^ngx_thread_pool_cycle$", { .loops = QUEUES } },
	/* node: libuv's and V8's pools */
	{ "^worker$", { .loops = IDLE_UV } },
	{ "^node::(TaskQueue|.*PlatformWorkerThread|.*StartIoThreadMain)", { .loops = QUEUES } },
	/* OpenMP and BLAS between two parallel regions; other barriers end a region. */
	{ "^(gomp_simple_barrier_wait|__kmp_(fork_barrier|.*_release|suspend|flag_|wait))",
	  { .through = true } },
	{ "^(blas_thread_server|gomp_thread_start|__kmp_launch_(thread|worker))$",
	  { .loops = QUEUES } },
	/* PyTorch; what calls backward() waits in Engine::execute, not in thread_init. */
	{ "^torch::autograd::(ReadyQueue::pop|Engine::thread_main)", { .through = true } },
	{ "^(torch::autograd::Engine::thread_init|c10::ThreadPool::main_loop|"
	  "c10d::ProcessGroupNCCL::.*([wW]atchdog|[hH]eartbeat|[lL]oop))",
	  { .loops = QUEUES } },
	{ "([tT]hread_?[pP]ool.*::|(^|_|::)(worker|event|accept|server|dispatch|pool|epoll|reactor)"
	  "_?"
	  "([lL]oop|[tT]hread_[lL]oop)($|\\(|[^a-z])|thread_?pool_(worker|thread|loop|main))",
	  { .loops = POLLS | QUEUES } },
	{ "^(_start|__libc_start_main.*|__libc_start_call_main|__clone3?|clone3?|start_thread|"
	  "execute_native_thread_routine.*|Py_BytesMain|pymain_.*|Py_Run.*|_?PyRun_.*|pyrun_.*|run_"
	  "mod|"
	  "run_eval_code_obj|std::.*|void std::.*|core::ops::.*|pythread_wrapper|thread_run)$",
	  { .starts = true } },
};

/* `function` NULL: every function of the file. */
static const struct python_rule {
	const char *file, *function;
	struct idle_hint hint;
} python_rules[] = {
	{ "queue.py", "get", { .waits = IDLE_TAKE, .through = true } },
	{ "threading.py", "wait", { .through = true } },
	{ "selectors.py", "select", { .through = true } },
	{ "socket.py", "accept", { .waits = IDLE_ACCEPT, .through = true } },
	{ "multiprocessing/queues.py", "get", { .waits = IDLE_TAKE, .through = true } },
	{ "multiprocessing/queues.py", "_feed", { .loops = PYTHON } },
	{ "multiprocessing/connection.py", NULL, { .through = true } },
	{ "multiprocessing/synchronize.py", NULL, { .through = true } },
	{ "multiprocessing/pool.py", "worker", { .loops = PYTHON } },
	{ "multiprocessing/pool.py", "_handle_tasks", { .loops = PYTHON } },
	{ "multiprocessing/pool.py", "_handle_results", { .loops = PYTHON } },
	{ "multiprocessing/pool.py", "_wait_for_updates", { .loops = PYTHON } },
	{ "concurrent/futures/thread.py", "_worker", { .loops = PYTHON } },
	{ "concurrent/futures/process.py", "_process_worker", { .loops = PYTHON } },
	{ "concurrent/futures/process.py", "wait_result_broken_or_wakeup", { .loops = PYTHON } },
	{ "socketserver.py", "serve_forever", { .loops = PYTHON } },
	{ "asyncio/base_events.py", "_run_once", { .loops = PYTHON } },
	{ "gunicorn/workers/sync.py", "wait", { .loops = PYTHON } },
	{ "gunicorn/arbiter.py", "sleep", { .loops = PYTHON } },
	{ "waitress/task.py", "handler_thread", { .loops = PYTHON } },
	{ "kombu/asynchronous/hub.py", "create_loop", { .loops = PYTHON } },
	{ "logging/handlers.py", "_monitor", { .loops = PYTHON } },
	{ "tqdm/_monitor.py", "run", { .loops = PYTHON } },
	{ "torch/utils/data/_utils/worker.py", "_worker_loop", { .loops = PYTHON } },
	{ "torch/utils/data/_utils/pin_memory.py", "do_one_step", { .loops = PYTHON } },
	{ "threading.py", "_bootstrap", { .starts = true, .threads = true } },
	{ "threading.py", "_bootstrap_inner", { .starts = true, .threads = true } },
	{ "threading.py", "run", { .starts = true, .threads = true } },
};

static bool is_libc(const char *module)
{
	return begins_with(module, "libc.so") || begins_with(module, "libc-") ||
	       begins_with(module, "libpthread") || begins_with(module, "libc.musl");
}

/* The interpreter and what of its library waits. */
static bool is_python(const char *module)
{
	static const char *const names[] = { "python3", "libpython3", "_queue.",	 "select.",
					     "_socket", "_asyncio",   "_multiprocessing" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (begins_with(module, names[i]))
			return true;
	return false;
}

static bool matches(const char *expression, const char *name)
{
	regex_t regex;
	bool fits;

	if (regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB))
		return false;
	fits = !regexec(&regex, name, 0, NULL, 0);
	regfree(&regex);
	return fits;
}

static struct idle_hint first_match(const struct named_rule *rules, size_t nr, const char *name,
				    struct idle_hint otherwise)
{
	for (size_t i = 0; i < nr; i++)
		if (matches(rules[i].names, name))
			return rules[i].hint;
	return otherwise;
}

#define FIRST_MATCH(rules, name, otherwise)                                                        \
	first_match(rules, sizeof(rules) / sizeof(*(rules)), name, otherwise)

static struct idle_hint hint_of_native(const struct tree_function *f)
{
	const struct idle_hint through = { .through = true };
	const struct idle_hint python = { .through = true, .starts = true };
	const struct idle_hint none = { 0 };
	struct idle_hint hint;

	if (!*f->module || is_libc(f->module)) {
		hint = FIRST_MATCH(libc_rules, f->name, none);
		if (hint.waits) {
			hint.through = true;
			return hint;
		}
	}
	hint = FIRST_MATCH(native_rules, f->name, none);
	if (begins_with(f->name, "runtime.futex") || begins_with(f->name, "runtime.usleep"))
		hint.waits = IDLE_PARK;
	if (hint.waits || hint.loops || hint.through || hint.starts)
		return hint;
	if (is_libc(f->module))
		return through;
	if (is_python(f->module))
		return python;
	/* Their internal functions have no names where they are stripped. */
	if (f->kind == FUNCTION_UNKNOWN &&
	    (!strcmp(f->module, "postgres") || begins_with(f->module, "redis-") ||
	     begins_with(f->module, "valkey-")))
		return through;
	if (f->kind == FUNCTION_UNKNOWN && begins_with(f->module, "libjemalloc.so"))
		hint.loops = QUEUES;
	return hint;
}

static struct idle_hint hint_of_python(const struct tree_function *f)
{
	for (size_t i = 0; i < sizeof(python_rules) / sizeof(*python_rules); i++) {
		const struct python_rule *rule = &python_rules[i];

		if (python_file_is(f->file, rule->file) &&
		    (!rule->function || python_name_is(f->name, rule->function)))
			return rule->hint;
	}
	return (struct idle_hint){ 0 };
}

struct idle_hint idle_hint_of(const struct tree_function *f)
{
	struct idle_hint hint = { 0 };

	switch (f->kind) {
	case FUNCTION_KERNEL:
		hint = FIRST_MATCH(kernel_rules, f->name, hint);
		hint.through = true;
		return hint;
	case FUNCTION_PYTHON: return hint_of_python(f);
	case FUNCTION_NATIVE:
	case FUNCTION_UNKNOWN: return hint_of_native(f);
	default: return hint;
	}
}
