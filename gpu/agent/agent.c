/*
 * The entry points, which CUDA and NVTX call after loading the agent, and the agent's one thread.
 * The thread sleeps in poll(2) until a recorder comes, and obeys the `control` word of the region.
 */
#include <errno.h>
#ifdef __SANITIZE_THREAD__
#include <pthread.h>
#endif
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/image.h"
#include "gpu/agent/base/lock.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/base/thread.h"
#include "gpu/agent/collect.h"
#include "gpu/agent/cupti/cupti.h"
#include "gpu/agent/link.h"
#include "gpu/agent/nvtx/nvtx.h"
#include "gpu/agent/prepare.h"

#define EXPORT __attribute__((visibility("default")))
#define TICK_MS 20
#define FIRST_CONTROL_MS 5000 /* how long a launched target waits for the first `control` */
#define SECOND_NS 1000000000ull
#define RETRY_NS (5 * SECOND_NS)
#define DEFAULT_FLUSH_MS 200

typedef int (*init_cuda_fn)(void);
typedef int (*init_nvtx_fn)(nvtx_get_table);
typedef int (*create_fn)(unsigned long *, const void *, void *(*)(void *), void *);

static uint32_t begun;	  /* atomic: a thread has begun to set us up */
static uint32_t ready;	  /* atomic: and has finished */
static uint32_t has_cuda; /* atomic: CUDA has loaded us */
static int connection = -1;

static void begin_in_child(void);

EXPORT int InitializeInjection(void);
EXPORT int InitializeInjectionNvtx2(nvtx_get_table get_table);
EXPORT int sprof_gpu_attach(void);

static uint32_t wanted(void)
{
	return __atomic_load_n(&agent.region->control, __ATOMIC_ACQUIRE);
}

/* Sets `control` when there is no recorder to do it. */
static void want(enum gpu_control control)
{
	__atomic_store_n(&agent.region->control, control, __ATOMIC_RELEASE);
}

/* Does what the recorder wants. False if the lock could not be had: try again. */
static bool obey(void)
{
	uint32_t control;

	if (!agent_lock())
		return false;
	control = wanted();
	if (control == GPU_CONTROL_ACTIVE) {
		collect_start(__atomic_load_n(&has_cuda, __ATOMIC_ACQUIRE));
		if (agent_wants(GPU_WANT_NVTX))
			nvtx_adopt();
	} else {
		collect_stop();
	}
	agent_unlock();
	return true;
}

static void hang_up(void)
{
	want(GPU_CONTROL_DETACH);
	obey();
	link_hang_up(connection);
	connection = -1;
}

/* Every TICK_MS while collecting. */
static void tick(void)
{
	static uint64_t flushed, calibrated, retried, seen, flushed_at;
	uint64_t now = clock_now_ns(), calls;
	uint32_t ms = agent.region->config.flush_ms;

	if (!agent_lock())
		return;
	collect_retry_early();
	collect_govern();
	calls = thread_nr_launches();
	/* when launches pause, too: the program may be about to end at once */
	if ((calls == seen && calls != flushed_at) ||
	    now - flushed >= (ms ? ms : DEFAULT_FLUSH_MS) * 1000000ull) {
		flushed = now;
		flushed_at = calls;
		collect_flush();
		thread_publish_counts();
	}
	seen = calls;
	if (now - calibrated >= SECOND_NS) {
		calibrated = now;
		clock_calibrate();
		thread_reclaim();
		collect_watch();
		if (agent_wants(GPU_WANT_NVTX))
			nvtx_adopt();
	}
	if (now - retried >= RETRY_NS) {
		retried = now;
		collect_retry();
	}
	agent_unlock();
}

static bool is_collecting(void)
{
	return __atomic_load_n(&agent.collecting, __ATOMIC_ACQUIRE);
}

static void serve(void)
{
	bool behind = false;

	while (connection >= 0) {
		int change = link_wait(connection, is_collecting() || behind ? TICK_MS : -1);

		if (change < 0) {
			hang_up();
		} else if (change || behind) {
			behind = !obey();
			if (!behind && wanted() == GPU_CONTROL_DETACH)
				hang_up();
		} else if (is_collecting()) {
			tick();
		}
	}
}

static int send_hello(void)
{
	if (__atomic_load_n(&has_cuda, __ATOMIC_ACQUIRE) && agent_lock()) {
		cupti_map();
		agent_unlock();
	}
	return link_send_region(connection);
}

/* For a recorder that attaches to a running process. */
static void wait_for_recorder(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	if (poll(&p, 1, -1) <= 0)
		return;
	connection = link_accept(listener);
	if (connection < 0)
		return;
	want(GPU_CONTROL_DORMANT);
	agent_forget();
	if (send_hello()) {
		close(connection);
		connection = -1;
	}
}

static void *worker(void *arg)
{
	int listener;

	(void)arg;
	serve();
	listener = link_listen();
	while (listener >= 0) {
		wait_for_recorder(listener);
		serve();
	}
	return NULL;
}

/* With all signals blocked: no handler of the target may run on our thread. */
static int start_worker(void)
{
#ifdef __SANITIZE_THREAD__
	/* the sanitizer's own, so that it sees the thread start */
	create_fn create = (create_fn)pthread_create;
#else
	create_fn create = (create_fn)image_libc_symbol("pthread_create");
#endif
	int (*detach)(unsigned long) = (int (*)(unsigned long))image_libc_symbol("pthread_detach");
	sigset_t all, old;
	unsigned long thread;
	int err;

	if (!create)
		return -ENOSYS;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	err = create(&thread, NULL, worker, NULL);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (!err && detach)
		detach(thread);
	return -err;
}

static void at_exit(void)
{
	if (!agent.alive || !*agent.alive || !agent_lock())
		return;
	collect_at_exit();
	agent_unlock();
}

/* As link_wait(), until `control` may have changed: unwind rows may come first. */
static int wait_for_control(void)
{
	uint64_t now = clock_now_ns(), end = now + FIRST_CONTROL_MS * 1000000ull;
	int change = 0;

	for (; !change && now < end; now = clock_now_ns())
		change = link_wait(connection, (int)((end - now) / 1000000) + 1);
	return change;
}

/*
 * Waits for the recorder that launched us, so that the program's first calls are seen. A process
 * that was not launched by a recorder does not wait.
 */
static void connect_to_launcher(void)
{
	connection = link_connect();
	if (connection < 0)
		return;
	if (send_hello() || wait_for_control() < 0) {
		close(connection);
		connection = -1;
		return;
	}
	obey();
}

static bool prepare(bool launched)
{
	static bool has_handler;

	if (agent.alive && !*agent.alive ? agent_prepare_in_child() : agent_prepare())
		return false;
	if (!has_handler)
		atexit(at_exit);
	has_handler = true; /* a forked child inherits it */
	if (launched)
		connect_to_launcher();
	return true;
}

/* Once per process, by the first caller; other callers wait. False if nothing can be recorded. */
static bool set_up(bool launched)
{
	if (__atomic_exchange_n(&begun, 1, __ATOMIC_ACQ_REL)) {
		for (int i = 0; i < 20000 && !__atomic_load_n(&ready, __ATOMIC_ACQUIRE); i++)
			agent_pause_us(200);
		return agent.region && *agent.alive;
	}
	agent.in_child = begin_in_child;
	if (prepare(launched) && start_worker())
		report_words(GPU_FAIL_THREAD, 0,
			     "cannot start a thread: GPU data is read only when buffers are full");
	__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
	return agent.region != NULL;
}

static bool is_packet_socket(int fd)
{
	int type = 0;
	socklen_t size = sizeof(type);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) && type == SOCK_SEQPACKET;
}

/*
 * In a forked child whose parent used NVTX but not CUDA: sets up anew, with a recorder's connection
 * of its own. If the parent had started CUDA, the child cannot use it, and nothing is recorded.
 */
static void begin_in_child(void)
{
	static uint32_t owner; /* atomic: the last child that got here */
	uint32_t pid = (uint32_t)getpid();

	if (!agent.alive || *agent.alive || __atomic_load_n(&has_cuda, __ATOMIC_ACQUIRE) ||
	    __atomic_exchange_n(&owner, pid, __ATOMIC_ACQ_REL) == pid)
		return;
	/* the parent's; the child may have closed it and opened another file */
	if (connection >= 0 && is_packet_socket(connection))
		close(connection);
	connection = -1;
	__atomic_store_n(&ready, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&begun, 0, __ATOMIC_RELEASE);
	set_up(true);
}

/* The function of the library that the variable named before sprof set it. */
static void *chained(const char *variable, const char *symbol)
{
	void *(*open_fn)(const char *, int) =
		(void *(*)(const char *, int))image_libc_symbol("dlopen");
	void *(*symbol_fn)(void *, const char *) =
		(void *(*)(void *, const char *))image_libc_symbol("dlsym");
	const char *path = getenv(variable);
	void *library;

	if (!path || !*path || !open_fn || !symbol_fn)
		return NULL;
	library = open_fn(path, 2 /* RTLD_NOW */);
	return library ? symbol_fn(library, symbol) : NULL;
}

/* Called by libcuda in cuInit(), after loading what CUDA_INJECTION64_PATH names. */
EXPORT int InitializeInjection(void)
{
	init_cuda_fn before = (init_cuda_fn)chained(GPU_ENV_CHAIN_CUDA, "InitializeInjection");
	int result = before ? before() : 1;

	begin_in_child();
	__atomic_store_n(&has_cuda, 1, __ATOMIC_RELEASE);
	if (set_up(true) && wanted() == GPU_CONTROL_ACTIVE)
		obey();
	return result;
}

/*
 * Called in a thread that the recorder has stopped, if CUDA started without us: from here on we
 * listen. 0; -EBUSY; -ENOMEM, reported; or -ECHILD: this is a forked child, which has the library
 * but not its thread.
 */
EXPORT int sprof_gpu_attach(void)
{
	if (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) && !__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		return -EBUSY; /* a thread is setting us up, perhaps this very one */
	__atomic_store_n(&has_cuda, 1, __ATOMIC_RELEASE);
	if (set_up(false))
		return 0;
	return agent.alive && !*agent.alive ? -ECHILD : -ENOMEM;
}

/*
 * Called by each copy of NVTX at its first use, after loading what NVTX_INJECTION64_PATH names. 0
 * means that there is no tool.
 */
EXPORT int InitializeInjectionNvtx2(nvtx_get_table get_table)
{
	const struct nvtx_callbacks *callbacks = get_table(NVTX_TABLE_CALLBACKS);
	init_nvtx_fn before = (init_nvtx_fn)chained(GPU_ENV_CHAIN_NVTX, "InitializeInjectionNvtx2");
	const struct nvtx_version *version = get_table(NVTX_TABLE_VERSION);
	int result = before ? before(get_table) : 0;

	begin_in_child();
	if (!set_up(true) || !callbacks || callbacks->struct_size < sizeof(*callbacks))
		return result;
	if (version && version->struct_size >= sizeof(*version) && version->set_tool_version)
		version->set_tool_version(NVTX_VERSION);
	if (result) { /* its functions are in place, and NVTX has room for one tool */
		report_words(GPU_FAIL_NVTX_TAKEN, 0, "another tool records NVTX: no ranges");
		return result;
	}
	return nvtx_install(callbacks, true);
}
