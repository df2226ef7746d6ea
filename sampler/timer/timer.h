/*
 * Inside the timer source: what its files share. source_timer.c opens and drives it,
 * timer_targets.c keeps the processes, their threads and what they may read, timer_drain.c turns
 * records into samples, timer_python.c does the same for Python frames, rendezvous.c is how a target
 * that loaded libsprof.so finds us, wake.c how one that sleeps hears of us, attach_target.c how
 * we come into one that did not.
 */
#ifndef SPROF_TIMER_H
#define SPROF_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/profile/source.h"
#include "core/portable/frames.h"
#include "sampler/target/mapped_file.h"
#include "sampler/sink/time_order.h"
#include "sampler/target/process.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/sink/stack_ids.h"
#include "sampler/walk/table_builder.h"
#include "sampler/timer/timer_region.h"
#include "sampler/walk/walk_arena.h"

struct attach;
struct inject_reason;
struct snapshot_unwinder;
struct python_codes;
struct python_files;
struct targets;
struct timer_follow;
struct timer_meeting;
struct timer_sleeper;

struct timer_thread {
	pid_t tid;	      /* as the target numbers it */
	pid_t outer;	      /* as we do; another one if it lives in another pid namespace */
	char comm[COMM_SIZE]; /* filled with NUL */
	uint64_t known_ns;    /* since when */
	uint64_t comm_due_ns; /* when the name is to be read again */
	uint32_t last_stack;  /* of its last sample, as the sink names it; PROFILE_NONE: none */
	uint8_t last_gil;     /* of the same: enum profile_gil */
	UT_hash_handle hh;
};

struct timer_number {
	pid_t outer, inner;
};

/* One program in one process: an exec makes another. */
struct timer_process {
	struct timer_process *next;
	struct process maps; /* pid, mappings, epoch */
	struct timer_region region;
	struct attach *attach; /* NULL: it loaded libsprof.so */
	struct timer_thread *threads;
	bool renumbers;		      /* it lives in another pid namespace */
	struct timer_number *numbers; /* of its threads, if so, by ours */
	size_t nr_numbers;
	pid_t *tids; /* that live, sorted, as of the last poll */
	size_t nr_tids, tids_capacity;
	uint64_t next_poll_ns, ended_ns;
	uint64_t program;    /* which it runs, follow.h; 0: not known */
	uint64_t nr_lost;    /* as counted so far */
	uint64_t blocked_ns; /* when threads that block our signal were last looked for */
	bool blocked_said;
	pid_t blocked;	       /* a thread that did when last looked at */
	uint64_t cpu_ns;       /* CPU time of the process as of the last round, */
	uint64_t cpu_start_ns; /* and when it was attached to */
	uint64_t weighed_ns;   /* what its samples stand for */
	uint64_t window_cpu_ns, window_weighed_ns;
	bool process_timer, was_attached;
	uint32_t maps_epoch;	    /* the region's when the mappings were last read */
	struct py_layout python;    /* as published; .runtime 0: it runs none */
	struct python_codes *codes; /* NULL: none was sent */
};

struct source {
	struct timer_meeting *meeting;
	int epoll_fd;
	char *environment[3]; /* of the program to be launched: NAME=VALUE */
	struct timer_region_config config;
	uint64_t names_due_ns; /* when the name of a new process is to be read again */
	uint64_t start_ns;     /* older samples do not count; 0: none does yet */
	pid_t launched;
	bool launched_came;
	bool stopping;
	struct targets *targets;
	bool has_targets;
	struct time_order *queue;
	struct timer_process *processes; /* newest first */
	struct timer_sleeper *sleepers;	 /* that are to be woken */
	struct timer_follow *follow;
	struct file_table *codes;
	struct table_builder *builder;
	struct walk_arena_writer *arena;
	struct python_files *pythons; /* NULL: Python frames are not wanted */
	uint64_t *python_room;	      /* to merge a stack in; made when needed */
	struct snapshot_unwinder *unwinder;
	const struct process *unwinding; /* whose sample it has in hand */
	struct sample_sink out;
	struct stack_ids *keys;
	struct profile_stats stats;
};

/* timer_targets.c */

/*
 * A process that is about to be sampled: its region, its mappings published. The caller hands the
 * region to the target. 0 or -errno.
 */
int timer_add_process(struct source *s, pid_t pid, struct timer_process **ret_process);
/* Forgets one that could not be reached. */
void timer_drop_process(struct source *s, struct timer_process *p);
bool timer_has_ended(const struct timer_process *p);
/* Once in a round: heartbeats, finished tables, threads, mappings, the end of processes. */
void timer_tend(struct source *s);
/* Reads the mappings again and publishes them, unless that was done since. */
void timer_reread(struct source *s, struct timer_process *p, uint64_t since_ns);
/* No handler takes samples any more. */
void timer_stop_processes(struct source *s);
void timer_free_processes(struct source *s);

/* thread_numbers.c */

/* Does a process have another number for itself than we have? */
bool timer_numbers_differ(pid_t pid);
/* Turns p->tids from our numbers into its own, in no order. */
void timer_renumber(struct timer_process *p);
/* Our number of one of its threads. */
pid_t timer_outer(const struct timer_process *p, pid_t tid);

/* threads.c */

/* A thread, its name up to date. */
struct timer_thread *timer_thread(struct timer_process *p, pid_t tid);
/* Reads the name of a new process again. When that is due the next time; UINT64_MAX: it has the name it keeps. */
uint64_t timer_tend_name(struct timer_process *p, uint64_t now_ns);
void timer_forget_threads(struct timer_process *p);
/* Asks for a timer for each thread there is. */
void timer_want_threads(struct source *s, struct timer_process *p);
/* The same now and then, and deletes those of threads that are gone; or the process has ended. */
void timer_poll_threads(struct source *s, struct timer_process *p, uint64_t now_ns);
/* Is the thread on a CPU, or about to be? Then a signal breaks into no system call that waits. */
bool timer_is_running(pid_t pid, pid_t tid);

/* attach_target.c */

/*
 * Samples a process that runs already: wakes the library in it, or else puts the code into it. 0, or
 * -errno, reported.
 */
int timer_attach(struct source *s, pid_t pid);
/* Puts the code into it. 0, or -errno and the reason. */
int timer_attach_code(struct source *s, pid_t pid, struct inject_reason *reason);
/* Leaves it as it was. */
void timer_detach(struct timer_process *p);

/* missed_time.c */

/* CPU time of a process; 0: not known. */
uint64_t timer_cpu_ns(pid_t pid);
/* From now on. */
void timer_missed_begin(struct timer_process *p);
/* Once in a round. */
void timer_missed_tend(const struct source *s, struct timer_process *p);
/* Says what is missing. */
void timer_missed_end(const struct source *s);

/* wake.c */

/* Has it libsprof.so in it? */
bool timer_wake_has_library(pid_t pid);
/* And does that listen? */
bool timer_wake_is_possible(pid_t pid);
/*
 * Wakes it. 1: it has come. 0: it will come when it is seen to run. -EBUSY: it is another recorder's;
 * -ETIMEDOUT: it does not answer.
 */
int timer_wake(struct source *s, pid_t pid);
/* The same without waiting for it, or a word. */
void timer_wake_begin(struct source *s, pid_t pid);
/* Once in a round: those that have not come yet. */
void timer_wake_tend(struct source *s);
/* Was it asked to come? */
bool timer_wake_expects(const struct source *s, pid_t pid);
/* It has come. */
void timer_wake_done(struct source *s, pid_t pid);
/* Those that were not begun in silence. */
void timer_wake_visit(const struct source *s, void (*visit)(const struct source *s, pid_t pid));
/* It has another recorder. */
void timer_wake_is_busy(struct source *s, pid_t pid);
/* Those that never came are said. */
void timer_wake_end(struct source *s);
void timer_wake_free(struct source *s);
/*
 * Of a process that was sampled, no more is wanted: has it look, that it may sleep again. Until then a thread
 * that is fit for it is waited for.
 */
void timer_wake_hush(const struct timer_process *p, uint64_t until_ns);

/* timer_drain.c */

/* Takes what the rings hold, and handles what is older than before_ns. */
void timer_read_samples(struct source *s, uint64_t before_ns);

/* timer_python.c */

/* Looks for an interpreter among the mappings; to be called before they are published. */
void timer_find_python(struct source *s, struct timer_process *p);
/* Takes a record of a code object: `nr_words` words that the target wrote. */
void timer_add_code(struct timer_process *p, const uint64_t *words, size_t nr_words);
/* Has every Python frame among these words a code object that is known? */
bool timer_knows_codes(const struct timer_process *p, const uint64_t *words, size_t nr);
/*
 * The native frames of a snapshot, of which timer_python_room() holds TIMER_MAX_NATIVE, and the Python
 * frames that came with it become one stack: MAX_USER_FRAMES at most into `frames`, w->nr_user and
 * w->gap. `sps` may be NULL: then there are native frames only.
 */
#define TIMER_MAX_NATIVE 4096 /* more than a snapshot of any but a runaway recursion's has */
uint64_t *timer_python_room(struct source *s);
void timer_merge_python(struct source *s, const struct timer_process *p, const uint64_t *sps,
			const uint64_t *words, size_t nr_words, uint64_t *frames, struct walked *w);

/* rendezvous.c */

/* Opens the socket that targets come to. 0 or -errno. */
int timer_meeting_new(struct timer_meeting **ret_meeting);
void timer_meeting_free(struct timer_meeting *meeting); /* NULL is fine */
/* What a target finds it by. */
uint64_t timer_meeting_name(const struct timer_meeting *meeting);
/* 0 or -errno. */
int timer_meeting_add_to_epoll(const struct timer_meeting *meeting, int epoll_fd);
/* Lets in who is waiting, and takes the samples of those that ask for it. */
void timer_meeting_serve(struct timer_meeting *meeting, struct source *s);

#endif
