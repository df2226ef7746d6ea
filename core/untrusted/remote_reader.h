/*
 * The process that makes reads for remote_read.c, and the memory through which it is asked. A small
 * process, the starter, is forked early and forks the readers, so that a reader that is stuck for
 * ever holds none of the recorder's files or memory, and is no thread that the recorder would wait
 * for when it ends.
 */
#ifndef SPROF_REMOTE_READER_H
#define SPROF_REMOTE_READER_H

#include <stdint.h>
#include <sys/types.h>

#define REMOTE_READERS 32u /* at once, the stuck ones included */
#define REMOTE_END (REMOTE_READERS + 1)
#define REMOTE_DATA (64u << 10)
#define REMOTE_NAME 48

enum remote_request {
	REMOTE_MEMORY,	  /* `size` bytes from `address` */
	REMOTE_FILE,	  /* the beginning of /proc/TARGET/NAME */
	REMOTE_FILE_MORE, /* what follows */
	/*
	 * Several, whose names newlines separate: for each its size as int32_t and its bytes, or
	 * -errno, -EFBIG where there is not enough room for it
	 */
	REMOTE_FILES,
	/* opens /proc/TARGET/NAME with the flags in `size`; `address` numbers the request */
	REMOTE_OPEN,
};

struct remote_slot {
	uint32_t turn; /* odd: a request waits; even: it was answered. A futex */
	uint32_t alive;
	int32_t reader;	  /* process id; 0: not started yet */
	uint32_t request; /* enum remote_request */
	int32_t target;
	uint32_t size;
	uint64_t address;
	char name[REMOTE_NAME];
	int64_t result; /* bytes or -errno */
	uint8_t data[REMOTE_DATA];
};

/* Sleeps while *word is `value`, for timeout_ns at most (0: no limit). */
void remote_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns);
void remote_futex_wake(uint32_t *word);

/*
 * Forks the starter. *ret_commands is a pipe for bytes: the number of a slot starts a reader for
 * it; REMOTE_READERS only marks readers that have ended as not alive; REMOTE_END ends the starter
 * and its readers. *ret_files is a socket to which readers send what they looked up
 * (remote_file_take). Returns its process id or -errno.
 */
pid_t remote_starter_fork(struct remote_slot *slots, int *ret_commands, int *ret_files);

/* Takes the descriptor with that number from the socket, and closes others. -ENOENT: none came. */
int remote_file_take(int files, uint64_t number);

/* Reads memory. Called by readers, and by remote_read() where there are none. */
int64_t remote_read_memory(pid_t pid, uint64_t address, void *to, size_t size);

#endif
