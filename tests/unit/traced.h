/*
 * A child under ptrace that can be stopped anywhere, with its registers, the top of its stack and
 * its executable mappings at that moment, for tests that unwind it.
 */
#ifndef SPROF_TESTS_TRACED_H
#define SPROF_TESTS_TRACED_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/portable/walk.h"
#include "sampler/walk/snapshot_unwind.h"

#define TRACED_STACK_SIZE (512u << 10)
#define TRACED_MAX_MAPS 512
#define TRACED_MAX_MODULES 128

struct traced_map {
	uint64_t start, end, file_offset;
	uint64_t module; /* index in modules[] + 1; 0 = no file */
};

struct traced_module {
	uint64_t dev, ino; /* 0, 0: the vdso */
	int fd;
	uint8_t *memory; /* the vdso's bytes */
	size_t size;
};

struct traced {
	pid_t pid;
	struct traced_map maps[TRACED_MAX_MAPS];
	size_t nr_maps;
	struct traced_module modules[TRACED_MAX_MODULES];
	size_t nr_modules;
	uint64_t space; /* counts changes of the mappings */
	/* of the last stop */
	struct walk_regs regs;
	uint64_t stack_start; /* sp less the red zone */
	uint8_t stack[TRACED_STACK_SIZE];
	size_t stack_size;
};

/* Starts argv[0], traced from its first instruction; its output is discarded. */
static inline bool traced_start(struct traced *t, char *const argv[])
{
	char byte = 0;
	int go[2], status;

	memset(t, 0, sizeof(*t));
	if (pipe2(go, O_CLOEXEC))
		return false;
	t->pid = fork();
	if (!t->pid) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		if (read(go[0], &byte, 1) == 1)
			execvp(argv[0], argv);
		_exit(127);
	}
	close(go[0]);
	if (t->pid < 0 || ptrace(PTRACE_SEIZE, t->pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC) ||
	    write(go[1], &byte, 1) != 1)
		return false;
	close(go[1]);
	if (waitpid(t->pid, &status, 0) < 0 || !WIFSTOPPED(status)) /* at exec */
		return false;
	return true;
}

static inline void traced_end(struct traced *t)
{
	if (t->pid > 0) {
		kill(t->pid, SIGKILL);
		waitpid(t->pid, NULL, __WALL);
	}
	for (size_t i = 0; i < t->nr_modules; i++) {
		if (t->modules[i].fd >= 0)
			close(t->modules[i].fd);
		free(t->modules[i].memory);
	}
}

/* Reads bytes of its memory, up to the first unmapped one. */
static inline size_t traced_read(const struct traced *t, uint64_t address, void *buffer,
				 size_t size)
{
	char path[64];
	ssize_t nr;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", t->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	nr = pread(fd, buffer, size, (off_t)address);
	close(fd);
	return nr > 0 ? (size_t)nr : 0;
}

static inline uint64_t traced_vdso(struct traced *t, uint64_t start, uint64_t end)
{
	struct traced_module *m = &t->modules[t->nr_modules];

	for (size_t i = 0; i < t->nr_modules; i++) {
		if (t->modules[i].memory)
			return i + 1;
	}
	m->fd = -1;
	m->size = end - start;
	m->memory = malloc(m->size);
	if (traced_read(t, start, m->memory, m->size) != m->size)
		return 0;
	return ++t->nr_modules;
}

static inline uint64_t traced_file(struct traced *t, const char *path, uint64_t dev, uint64_t ino)
{
	struct traced_module *m = &t->modules[t->nr_modules];

	for (size_t i = 0; i < t->nr_modules; i++) {
		if (t->modules[i].dev == dev && t->modules[i].ino == ino)
			return i + 1;
	}
	if (t->nr_modules == TRACED_MAX_MODULES)
		return 0;
	*m = (struct traced_module){ .dev = dev,
				     .ino = ino,
				     .fd = open(path, O_RDONLY | O_CLOEXEC) };
	if (m->fd < 0)
		return 0;
	return ++t->nr_modules;
}

static inline bool traced_read_maps(struct traced *t)
{
	static struct traced_map maps[TRACED_MAX_MAPS];
	char path[4096], line[4352];
	size_t nr = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", t->pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (nr < TRACED_MAX_MAPS && fgets(line, sizeof(line), f)) {
		unsigned long start, end, offset, ino;
		unsigned int major, minor;
		char flags[5];

		path[0] = '\0';
		if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %4095[^\n]", &start, &end, flags,
			   &offset, &major, &minor, &ino, path) < 7 ||
		    flags[2] != 'x')
			continue;
		maps[nr] = (struct traced_map){ start, end, offset, 0 };
		if (!strcmp(path, "[vdso]"))
			maps[nr].module = traced_vdso(t, start, end);
		else if (ino)
			maps[nr].module = traced_file(t, path, makedev(major, minor), ino);
		nr++;
	}
	fclose(f);
	if (nr != t->nr_maps || memcmp(maps, t->maps, nr * sizeof(*maps)))
		t->space++;
	memcpy(t->maps, maps, nr * sizeof(*maps));
	t->nr_maps = nr;
	return true;
}

static inline const struct traced_map *traced_find_map(const struct traced *t, uint64_t address)
{
	for (size_t i = 0; i < t->nr_maps; i++) {
		if (address >= t->maps[i].start && address < t->maps[i].end)
			return &t->maps[i];
	}
	return NULL;
}

/* Hooks of struct snapshot_ops; the context is a struct traced, or begins with one. */
static inline bool traced_find_mapping(void *context, uint64_t address,
				       struct snapshot_mapping *ret)
{
	const struct traced_map *map = traced_find_map(context, address);

	if (map)
		*ret = (struct snapshot_mapping){
			.start = map->start,
			.end = map->end,
			.file_offset = map->file_offset,
			.module = map->module,
		};
	return map;
}

static inline bool traced_open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	const struct traced_module *m = &((struct traced *)context)->modules[module - 1];

	*ret = (struct snapshot_file){ .fd = m->fd, .memory = m->memory, .size = m->size };
	return true;
}

/* Captures everything from the stopped child. */
static inline bool traced_capture(struct traced *t)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, t->pid, 0, &r) || !traced_read_maps(t))
		return false;
	t->regs = (struct walk_regs){
		.pc = r.rip,
		.sp = r.rsp,
		.fp = r.rbp,
		.exact = 1,
		.leaf_regs = 1,
		.gpr = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10,
			 r.r11, r.r12, r.r13, r.r14, r.r15 },
	};
	t->stack_start = r.rsp - 128;
	t->stack_size = traced_read(t, t->stack_start, t->stack, TRACED_STACK_SIZE);
	return true;
}

/* The last capture; its bytes stay in *t. */
static inline struct snapshot_sample traced_sample(const struct traced *t)
{
	return (struct snapshot_sample){
		.regs = t->regs,
		.stack = t->stack,
		.stack_start = t->stack_start,
		.stack_size = t->stack_size,
		.space = t->space,
	};
}

/*
 * Waits for the child's next stop and delivers signals that arrive. Returns false if it has ended.
 * `request` continues it after a signal (PTRACE_CONT, or PTRACE_SINGLESTEP to stop at the handler's
 * start).
 */
static inline bool traced_wait(struct traced *t, int request)
{
	int status;

	for (;;) {
		if (waitpid(t->pid, &status, __WALL) < 0 || !WIFSTOPPED(status)) {
			t->pid = -1;
			return false;
		}
		if (status >> 16 || WSTOPSIG(status) == SIGTRAP)
			return true;
		if (ptrace((enum __ptrace_request)request, t->pid, 0, WSTOPSIG(status)))
			return false;
	}
}

/* Lets the child run for a while, then stops it at whatever point it has reached. */
static inline bool traced_run(struct traced *t, unsigned int us)
{
	if (ptrace(PTRACE_CONT, t->pid, 0, 0))
		return false;
	usleep(us);
	if (ptrace(PTRACE_INTERRUPT, t->pid, 0, 0))
		return traced_wait(t, PTRACE_CONT);
	return traced_wait(t, PTRACE_CONT);
}

static inline bool traced_step(struct traced *t)
{
	return !ptrace(PTRACE_SINGLESTEP, t->pid, 0, 0) && traced_wait(t, PTRACE_SINGLESTEP);
}

#endif
