/*
 * The processes that /proc shows: what each is called, whose it is, and when it began. What is read
 * here is text of other users' processes: names may hold any byte.
 */
#ifndef SPROF_PROCESS_LIST_H
#define SPROF_PROCESS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/portable/frames.h"

struct listed_process {
	pid_t pid;
	uid_t uid;	/* the real one */
	uint64_t start; /* as proc_life.start */
	char name[COMM_SIZE + 1];
	char *program; /* base name of its executable; "" where that cannot be read */
};

struct process_list {
	struct listed_process *list; /* in the order of /proc: by number */
	size_t nr, capacity;
};

/* Zombies and this process itself are left out. 0 or -errno: /proc cannot be read. */
int process_list_read(struct process_list *ret_list);
void process_list_fini(struct process_list *list);

/*
 * Is that the name of its main thread or of its executable? The kernel cuts the former to 15 bytes,
 * so a longer name fits if its first 15 bytes do and the executable's name cannot be read.
 */
bool process_is_called(const struct listed_process *process, const char *name);

#endif
