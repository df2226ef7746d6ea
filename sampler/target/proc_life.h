/*
 * What /proc says of the life of a process: whether it runs, has ended or has become another
 * program, and the CPU time that it has used. Each function reads /proc anew; a process id may have
 * been given to another process meanwhile.
 */
#ifndef SPROF_PROC_LIFE_H
#define SPROF_PROC_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/portable/frames.h"

struct proc_life {
	char state; /* the letter of /proc/PID/stat: 'R', 'S', 'Z', ... */
	uint64_t
		start; /* when it began, in clock ticks: tells processes of the same number apart */
	uint64_t program;   /* as proc_life_program() */
	uint64_t stack_end; /* of the first thread's stack, where its outermost frames are */
	char name[COMM_SIZE + 1];
};

/* false: there is no such process. */
bool proc_life_read(pid_t pid, struct proc_life *ret_life);
/* A number for the program that a process runs now; exec(2) changes it. 0: not known. */
uint64_t proc_life_program(pid_t pid);
/* Has the last thread of the process ended? Also true for a zombie. */
bool proc_life_has_ended(pid_t pid);
/* 0: not known. */
pid_t proc_life_parent(pid_t pid);
/* Calls `add` with each child of the process, where the kernel lists them. */
void proc_life_children(pid_t pid, void (*add)(void *context, pid_t child), void *context);
/* CPU time of the process, of its threads that have ended too; 0: not known. */
uint64_t proc_life_cpu_ns(pid_t pid);
/* Is the thread on a CPU or runnable? Then a signal interrupts no system call that waits. */
bool proc_life_is_running(pid_t pid, pid_t tid);

#endif
