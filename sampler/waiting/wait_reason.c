/*
 * The innermost function that a table knows decides, except that a page fault, whose handler may
 * wait for a disk or a lock, is a page fault. Names are matched by their beginnings, which have
 * changed little from Linux 5.15 to 6.18.
 */
#include "sampler/waiting/wait_reason.h"

#include "core/base/path.h"
#include "sampler/bpf/events.h"

const char *wait_reason_name(enum wait_reason reason)
{
	static const char *const names[NR_WAIT_REASONS] = {
		[REASON_NONE] = "other wait",
		[REASON_LOCK] = "lock wait",
		[REASON_PIPE] = "pipe wait",
		[REASON_SOCKET] = "socket wait",
		[REASON_DISK] = "disk wait",
		[REASON_SLEEP] = "sleep",
		[REASON_POLL] = "poll wait",
		[REASON_CHILD] = "child wait",
		[REASON_SIGNAL] = "signal wait",
		[REASON_TERMINAL] = "terminal wait",
		[REASON_FILE_LOCK] = "file lock wait",
		[REASON_KERNEL_LOCK] = "kernel lock wait",
		[REASON_PAGE_FAULT] = "page fault",
		[REASON_STOPPED] = "stopped",
		[REASON_PREEMPTED] = "preempted",
		[REASON_NEW_THREAD] = "new thread",
		[REASON_OTHER] = "other wait",
		[REASON_CPU] = "CPU wait",
		[REASON_THROTTLED] = "throttled by its cgroup",
	};

	return names[reason];
}

/* Of two beginnings that fit, the one that stands first counts. */
static const struct {
	const char *prefix;
	uint8_t reason;
} known[] = {
	{ "futex_", REASON_LOCK },
	{ "do_futex", REASON_LOCK },
	{ "anon_pipe_", REASON_PIPE },
	{ "pipe_", REASON_PIPE },
	{ "fifo_open", REASON_PIPE },
	{ "wait_for_partner", REASON_PIPE },
	{ "do_nanosleep", REASON_SLEEP },
	{ "hrtimer_nanosleep", REASON_SLEEP },
	{ "msleep", REASON_SLEEP },
	{ "ep_poll", REASON_POLL },
	{ "do_epoll_wait", REASON_POLL },
	{ "do_poll", REASON_POLL },
	{ "do_sys_poll", REASON_POLL },
	{ "do_select", REASON_POLL },
	{ "core_sys_select", REASON_POLL },
	{ "poll_schedule_timeout", REASON_POLL },
	{ "io_cqring_wait", REASON_POLL },
	{ "eventfd_read", REASON_POLL },
	{ "timerfd_read", REASON_SLEEP },
	{ "signalfd_", REASON_SIGNAL },
	{ "inotify_read", REASON_POLL },
	{ "sk_", REASON_SOCKET },
	{ "__sk", REASON_SOCKET },
	{ "sock_", REASON_SOCKET },
	{ "inet", REASON_SOCKET },
	{ "tcp_", REASON_SOCKET },
	{ "udp", REASON_SOCKET },
	{ "unix_", REASON_SOCKET },
	{ "netlink_", REASON_SOCKET },
	{ "vsock_", REASON_SOCKET },
	{ "do_wait", REASON_CHILD },
	{ "kernel_wait", REASON_CHILD },
	{ "wait_for_vfork", REASON_CHILD },
	{ "ptrace_stop", REASON_STOPPED },
	{ "do_signal_stop", REASON_STOPPED },
	{ "do_sigtimedwait", REASON_SIGNAL },
	{ "sigsuspend", REASON_SIGNAL },
	{ "__do_sys_pause", REASON_SIGNAL },
	{ "__x64_sys_pause", REASON_SIGNAL },
	{ "n_tty_", REASON_TERMINAL },
	{ "tty_", REASON_TERMINAL },
	{ "__do_semtimedop", REASON_LOCK },
	{ "do_semtimedop", REASON_LOCK },
	{ "do_msg", REASON_PIPE },
	{ "do_mq_", REASON_PIPE },
	{ "wq_sleep", REASON_PIPE },
	{ "locks_lock_", REASON_FILE_LOCK },
	{ "flock_lock_", REASON_FILE_LOCK },
	{ "posix_lock_", REASON_FILE_LOCK },
	{ "fcntl_setlk", REASON_FILE_LOCK },
	{ "rwsem_", REASON_KERNEL_LOCK },
	{ "__mutex_lock", REASON_KERNEL_LOCK },
	{ "mutex_lock", REASON_KERNEL_LOCK },
	{ "down_", REASON_KERNEL_LOCK },
	{ "__down", REASON_KERNEL_LOCK },
	{ "percpu_down", REASON_KERNEL_LOCK },
	{ "folio_wait_", REASON_DISK },
	{ "__folio_lock", REASON_DISK },
	{ "wait_on_page_", REASON_DISK },
	{ "__lock_page", REASON_DISK },
	{ "wait_on_buffer", REASON_DISK },
	{ "__wait_on_buffer", REASON_DISK },
	{ "submit_bio_wait", REASON_DISK },
	{ "blk_", REASON_DISK },
	{ "blkdev_", REASON_DISK },
	{ "__blkdev_", REASON_DISK },
	{ "iomap_dio_", REASON_DISK },
	{ "__iomap_dio_", REASON_DISK },
	{ "jbd2_", REASON_DISK },
	{ "ext4_", REASON_DISK },
	{ "xfs_", REASON_DISK },
	{ "xlog_", REASON_DISK },
	{ "btrfs_", REASON_DISK },
	{ "filemap_", REASON_DISK },
	{ "balance_dirty_pages", REASON_DISK },
	{ "wait_for_completion_io", REASON_DISK },
	{ "rq_qos_wait", REASON_DISK },
	{ "handle_mm_fault", REASON_PAGE_FAULT },
	{ "do_user_addr_fault", REASON_PAGE_FAULT },
	{ "exc_page_fault", REASON_PAGE_FAULT },
};

static const struct {
	const char *prefix;
	uint8_t part;
} switching[] = {
	{ "__schedule", SWITCH_ITSELF },	  { "schedule", SWITCH_ITSELF },
	{ "preempt_schedule", SWITCH_ITSELF },	  { "io_schedule", SWITCH_ITSELF },
	{ "__cond_resched", SWITCH_ITSELF },	  { "dynamic_cond_resched", SWITCH_ENTRY },
	{ "raw_irqentry_exit", SWITCH_ENTRY },	  { "irqentry_exit", SWITCH_ENTRY },
	{ "exit_to_user_mode", SWITCH_ENTRY },	  { "prepare_exit_to_usermode", SWITCH_ENTRY },
	{ "asm_sysvec_", SWITCH_ENTRY },	  { "sysvec_", SWITCH_ENTRY },
	{ "asm_common_interrupt", SWITCH_ENTRY }, { "common_interrupt", SWITCH_ENTRY },
};

/* From the tracepoint to the function that has a name for what it does. */
static const char *const waking[] = {
	"try_to_wake_up",
	"ttwu_",
	"wake_up_process",
	"wake_up_state",
	"wake_up_q",
	"default_wake_function",
	"autoremove_wake_function",
	"woken_wake_function",
	"__wake_up",
	"bpf_trace_run",
	"__traceiter_",
	"__bpf_trace_",
	"bpf_prog_",
	"bpf_trampoline_",
	"bpf_get_stack",
};

struct wait_hint wait_hint_of(const char *symbol)
{
	struct wait_hint hint = { 0 };

	for (size_t i = 0; i < sizeof(waking) / sizeof(*waking); i++)
		hint.wakes |= begins_with(symbol, waking[i]);
	for (size_t i = 0; i < sizeof(switching) / sizeof(*switching); i++)
		if (!hint.of_switch && begins_with(symbol, switching[i].prefix))
			hint.of_switch = switching[i].part;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && !hint.reason; i++)
		if (begins_with(symbol, known[i].prefix))
			hint.reason = known[i].reason;
	return hint;
}

size_t wait_frames_of_switch(const struct wait_hint *hints, size_t nr)
{
	size_t i = 0;

	while (i < nr && hints[i].of_switch != SWITCH_ITSELF)
		i++;
	if (i == nr)
		return 0; /* a stack of another form: nothing is cut */
	while (i < nr && hints[i].of_switch)
		i++;
	return i;
}

size_t wait_frames_of_waking(const struct wait_hint *hints, size_t nr)
{
	size_t i = 0;

	while (i < nr && hints[i].wakes)
		i++;
	return i < nr ? i : 0;
}

size_t wait_frames_of_interrupt(const struct wait_hint *hints, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (hints[i].of_switch == SWITCH_ENTRY)
			return i + 1;
	return 0;
}

enum wait_reason wait_reason_of(const struct wait_hint *hints, size_t nr, uint32_t state)
{
	enum wait_reason reason = REASON_NONE;

	if (state == WAIT_NEW)
		return REASON_NEW_THREAD;
	if (state == WAIT_PREEMPTED)
		return REASON_PREEMPTED;
	if (state == WAIT_THROTTLED)
		return REASON_THROTTLED;
	if (state == WAIT_STOPPED)
		return REASON_STOPPED;
	for (size_t i = wait_frames_of_switch(hints, nr); i < nr; i++) {
		if (hints[i].reason == REASON_PAGE_FAULT)
			return REASON_PAGE_FAULT;
		if (!reason)
			reason = hints[i].reason;
	}
	if (reason)
		return reason;
	return state == WAIT_IO ? REASON_DISK : REASON_OTHER;
}
