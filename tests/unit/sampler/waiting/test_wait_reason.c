/* sampler/waiting/wait_reason.c: kernel stacks of 5.15 to 6.18 and what they tell. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "sampler/bpf/events.h"
#include "sampler/waiting/wait_reason.h"

#define MAX_STACK 24

struct stack {
	struct wait_hint hints[MAX_STACK];
	size_t nr;
};

/* `names` are separated by blanks, leaf first. */
static struct stack stack_of(const char *names)
{
	struct stack s = { .nr = 0 };
	char name[64];
	int used;

	for (; s.nr < MAX_STACK && sscanf(names, "%63s%n", name, &used) == 1; names += used)
		s.hints[s.nr++] = wait_hint_of(name);
	return s;
}

static void expect(const char *names, uint32_t state, enum wait_reason reason, size_t cut)
{
	struct stack s = stack_of(names);

	assert_string_equal(wait_reason_name(wait_reason_of(s.hints, s.nr, state)),
			    wait_reason_name(reason));
	assert_int_equal(wait_frames_of_switch(s.hints, s.nr), cut);
}

static void the_innermost_known_function_decides(void **state)
{
	(void)state;
	expect("bpf_prog_1_after_switch bpf_trace_run1 __schedule schedule futex_do_wait "
	       "__futex_wait "
	       "futex_wait do_futex __x64_sys_futex do_syscall_64",
	       WAIT_SLEEP, REASON_LOCK, 4);
	expect("__schedule schedule futex_wait_queue_me futex_wait do_futex", WAIT_SLEEP,
	       REASON_LOCK, 2);
	expect("__schedule schedule pipe_read new_sync_read vfs_read", WAIT_SLEEP, REASON_PIPE, 2);
	expect("__schedule schedule anon_pipe_read vfs_read ksys_read", WAIT_SLEEP, REASON_PIPE, 2);
	expect("__schedule schedule do_nanosleep hrtimer_nanosleep common_nsleep", WAIT_SLEEP,
	       REASON_SLEEP, 2);
	expect("__schedule schedule schedule_hrtimeout_range ep_poll do_epoll_wait", WAIT_SLEEP,
	       REASON_POLL, 3);
	expect("__schedule schedule schedule_timeout wait_woken sk_wait_data tcp_recvmsg_locked",
	       WAIT_SLEEP, REASON_SOCKET, 3);
	expect("__schedule schedule schedule_timeout inet_csk_accept inet_accept", WAIT_SLEEP,
	       REASON_SOCKET, 3);
	expect("__schedule schedule io_schedule folio_wait_bit_common filemap_read", WAIT_IO,
	       REASON_DISK, 3);
	expect("__schedule schedule do_wait kernel_wait4 __do_sys_wait4", WAIT_SLEEP, REASON_CHILD,
	       2);
	expect("__schedule schedule schedule_preempt_disabled rwsem_down_write_slowpath down_write "
	       "vm_mmap_pgoff",
	       WAIT_UNINTERRUPTIBLE, REASON_KERNEL_LOCK, 3);
}

static void a_page_fault_is_one_whatever_its_handler_waits_for(void **state)
{
	(void)state;
	expect("__schedule schedule io_schedule folio_wait_bit_common filemap_fault __do_fault "
	       "handle_mm_fault do_user_addr_fault exc_page_fault asm_exc_page_fault",
	       WAIT_IO, REASON_PAGE_FAULT, 3);
}

static void without_a_known_function_the_state_decides(void **state)
{
	(void)state;
	expect("__schedule schedule my_driver_wait vfs_ioctl", WAIT_SLEEP, REASON_OTHER, 2);
	expect("__schedule schedule my_driver_wait vfs_ioctl", WAIT_IO, REASON_DISK, 2);
	expect("", WAIT_SLEEP, REASON_OTHER, 0);
	expect("", WAIT_NEW, REASON_NEW_THREAD, 0);
	expect("__schedule schedule futex_do_wait", WAIT_STOPPED, REASON_STOPPED, 2);
	expect("__schedule schedule exit_to_user_mode_loop", WAIT_THROTTLED, REASON_THROTTLED, 3);
}

static void the_stack_of_a_waker_begins_at_what_it_did(void **state)
{
	struct stack own = stack_of("try_to_wake_up wake_up_q futex_wake do_futex"),
		     timer = stack_of("bpf_trace_run1 try_to_wake_up hrtimer_wakeup "
				      "__hrtimer_run_queues sysvec_apic_timer_interrupt "
				      "asm_sysvec_apic_timer_interrupt do_syscall_64");

	(void)state;
	assert_int_equal(wait_frames_of_waking(own.hints, own.nr), 2);
	assert_int_equal(wait_frames_of_interrupt(own.hints, own.nr), 0);
	assert_int_equal(wait_frames_of_waking(timer.hints, timer.nr), 2);
	assert_int_equal(wait_frames_of_interrupt(timer.hints, timer.nr), 5);
}

static void the_way_of_an_interrupt_to_the_switch_is_cut(void **state)
{
	(void)state;
	expect("__schedule schedule irqentry_exit_to_user_mode asm_sysvec_apic_timer_interrupt",
	       WAIT_PREEMPTED, REASON_PREEMPTED, 4);
	expect("__schedule preempt_schedule_irq irqentry_exit asm_sysvec_apic_timer_interrupt "
	       "copy_page do_cow_fault",
	       WAIT_PREEMPTED, REASON_PREEMPTED, 4);
	/* an interrupt to the own CPU, by which the wait is sampled, comes before the switch */
	expect("on_self_interrupt __traceiter_irq_work_entry __sysvec_irq_work sysvec_irq_work "
	       "asm_sysvec_irq_work finish_task_switch.isra.0 __schedule schedule do_nanosleep",
	       WAIT_SLEEP, REASON_SLEEP, 8);
}

static void a_stack_without_a_switch_is_not_cut(void **state)
{
	(void)state;
	expect("do_exit do_group_exit", WAIT_SLEEP, REASON_OTHER, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_known_function_decides),
		cmocka_unit_test(a_page_fault_is_one_whatever_its_handler_waits_for),
		cmocka_unit_test(without_a_known_function_the_state_decides),
		cmocka_unit_test(the_stack_of_a_waker_begins_at_what_it_did),
		cmocka_unit_test(the_way_of_an_interrupt_to_the_switch_is_cut),
		cmocka_unit_test(a_stack_without_a_switch_is_not_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
