/*
 * Reads /proc/PID/maps once, and searches the code of the process, libc first, for the sequences of
 * code_sequences.h.
 */
#include "sampler/inject/inject_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/path.h"
#include "core/untrusted/remote_read.h"
#include "sampler/inject/inject.h"
#include "sampler/inject/inject_check.h"
#include "sampler/target/proc_maps.h"
#include "core/base/proc_status.h"
#include "sampler/inject/reason.h"

/* One address in 256 MiB is ours. */
#define ADDRESS_STRIDE (1ull << 28)
#define ADDRESS_MARK 0x5f0f000ull
#define NR_ADDRESSES 16u

#define LOWEST_ADDRESS (1ull << 26)
#define HIGHEST_ADDRESS 0x7ffffffff000ull

#define EXEC_TRIES 5
#define CHUNK (256u << 10)
#define MAX_TEXT (256ull << 20) /* of one mapping; libc has 1.4 MiB */

int inject_process_read(const struct inject_process *p, uint64_t address, void *buffer, size_t size)
{
	return pread(p->mem_fd, buffer, size, (off_t)address) == (ssize_t)size ? 0 : -EFAULT;
}

int inject_process_write(const struct inject_process *p, uint64_t address, const void *bytes,
			 size_t size)
{
	return pwrite(p->mem_fd, bytes, size, (off_t)address) == (ssize_t)size ? 0 : -EFAULT;
}

/*
 * Is the mapping the page of a stub? The address alone proves nothing: what is taken for ours is
 * run and unmapped, so it must also be anonymous memory of that size and those rights, and hold the
 * stub's bytes.
 */
static bool is_stub(const struct inject_process *p, const struct file_mapping *m,
		    const char *rights)
{
	return m->start % ADDRESS_STRIDE == ADDRESS_MARK && m->end - m->start == INJECT_STUB_SIZE &&
	       !strncmp(rights, "r-xp", 4) && !m->ino && !m->path[0] &&
	       inject_process_has_stub(p, m->start);
}

/* Is the mapping of a file that sprof's recorders share with targets? */
static bool is_shared_file(const struct file_mapping *m, const char *rights)
{
	return rights[3] == 's' && (!strcmp(m->path, "/memfd:sprof (deleted)") ||
				    !strcmp(m->path, "/memfd:sprof-rows (deleted)"));
}

bool inject_process_has_stub(const struct inject_process *p, uint64_t address)
{
	const size_t size = (size_t)(inject_stub_end - inject_stub_code);
	uint8_t page[INJECT_STUB_SIZE];

	if (inject_process_read(p, address, page, sizeof(page)) ||
	    memcmp(page, inject_stub_code, size) != 0)
		return false;
	for (size_t i = size; i < sizeof(page); i++)
		if (page[i])
			return false;
	return true;
}

uint64_t inject_process_address(const struct inject_process *p, unsigned int n)
{
	uint64_t middle = p->gap_start + (p->gap_end - p->gap_start) / 2;
	uint64_t address = (middle & ~(ADDRESS_STRIDE - 1)) + ADDRESS_MARK + n * ADDRESS_STRIDE;

	return n < NR_ADDRESSES && address > p->gap_start &&
			       address + 2 * ADDRESS_STRIDE < p->gap_end
		       ? address
		       : 0;
}

/* The sequences that are used: without a restorer the others do its work. */
static int nr_used(const struct inject_process *p)
{
	return p->sequences[INJECT_RESTORER] ? INJECT_RESTORER + 1 : INJECT_NR_SEQUENCES;
}

bool inject_process_is_unchanged(const struct inject_process *p)
{
	for (int i = 0; i < nr_used(p); i++) {
		const struct inject_sequence *sequence = &inject_sequences[i];
		uint8_t there[INJECT_MAX_SEQUENCE];

		if (p->sequences[i] &&
		    (inject_process_read(p, p->sequences[i], there, sequence->size) ||
		     memcmp(there, sequence->code, sequence->size)))
			return false;
	}
	return true;
}

static bool has_all_sequences(const struct inject_process *p)
{
	for (int i = 0; i < INJECT_NR_SEQUENCES; i++)
		if (!p->sequences[i])
			return false;
	return true;
}

/*
 * Chunks overlap, so that no sequence is missed between two. false: the memory cannot be read any
 * more.
 */
static bool search_text(struct inject_process *p, uint8_t *chunk, uint64_t start, uint64_t end)
{
	uint64_t first = start;

	if (end - start > MAX_TEXT)
		end = start + MAX_TEXT;
	for (; start < end && !has_all_sequences(p); start += CHUNK - 16) {
		size_t size = end - start < CHUNK ? (size_t)(end - start) : CHUNK;
		ssize_t n = remote_read(p->thread, start, chunk, size);

		if (n <= 0)
			return start != first;
		for (int i = 0; i < INJECT_NR_SEQUENCES; i++) {
			const uint8_t *at;

			if (p->sequences[i])
				continue;
			at = memmem(chunk, (size_t)n, inject_sequences[i].code,
				    inject_sequences[i].size);
			if (at)
				p->sequences[i] = start + (uint64_t)(at - chunk);
		}
	}
	return true;
}

struct text {
	uint64_t start, end;
	bool is_libc;
};

struct layout {
	struct text *texts;
	size_t nr, capacity;
	uint64_t last_end;
};

/* libc is never unloaded, and has all the sequences. */
static bool is_libc(const char *path)
{
	const char *name = path_base_name(path);

	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5) ||
	       !strncmp(name, "ld-musl-", 8) || !strncmp(name, "libc.musl-", 10);
}

static void see_mapping(struct inject_process *p, struct layout *l, const struct file_mapping *m,
			const char *rights)
{
	if (m->start > l->last_end && m->start < HIGHEST_ADDRESS &&
	    m->start - l->last_end > p->gap_end - p->gap_start) {
		p->gap_start = l->last_end;
		p->gap_end = m->start;
	}
	if (m->end > l->last_end)
		l->last_end = m->end;
	if (!p->ours_start && is_stub(p, m, rights)) {
		p->ours_start = m->start;
		p->ours_end = m->end;
	} else if (p->ours_start && m->start == p->ours_end && is_shared_file(m, rights)) {
		p->ours_end = m->end;
	}
	if (!strcmp(m->path, "[stack]")) {
		p->stack_start = m->start;
		p->stack_end = m->end;
	}
	if (rights[2] == 'x' && rights[3] == 'p' &&
	    mapping_backing(m->path, m->ino) == BACKING_FILE) {
		l->texts = xgrow(l->texts, &l->capacity, l->nr + 1, sizeof(*l->texts));
		l->texts[l->nr++] = (struct text){ m->start, m->end, is_libc(m->path) };
	}
}

static int read_layout(struct inject_process *p, struct layout *l)
{
	FILE *f = remote_open(p->thread, "maps");
	char *line = NULL;
	size_t size = 0;

	if (!f)
		return errno == ENOENT ? -ESRCH : -errno;
	l->last_end = LOWEST_ADDRESS;
	while (getline(&line, &size, f) > 0) {
		struct file_mapping m = { .pid = p->pid };
		bool executable;

		/* A line that can be parsed has four letters of rights behind its first blank. */
		if (proc_maps_parse(line, &m, &executable))
			see_mapping(p, l, &m, strchr(line, ' ') + 1);
	}
	free(line);
	fclose(f);
	return 0;
}

static int search_texts(struct inject_process *p, const struct layout *l)
{
	uint8_t *chunk = xmalloc(CHUNK);
	bool there = l->nr;

	for (int libc = 1; libc >= 0; libc--) {
		for (size_t i = 0; i < l->nr; i++) {
			if (there && l->texts[i].is_libc == libc)
				there = search_text(p, chunk, l->texts[i].start, l->texts[i].end);
		}
	}
	free(chunk);
	return there ? 0 : -ENOEXEC;
}

static int open_memory(struct inject_process *p, enum inject_purpose purpose,
		       struct inject_reason *reason)
{
	int fd = remote_open_file(p->thread, "mem", purpose == INJECT_TO_WRITE ? O_RDWR : O_RDONLY);

	p->mem_fd = fd;
	if (fd >= 0)
		return 0;
	if (fd == -EACCES || fd == -EPERM)
		return inject_check_rights(p->pid, reason);
	return inject_refuse(reason, fd, "", "its memory cannot be opened: %s", strerror(-fd));
}

static int look(struct inject_process *p, struct inject_reason *reason)
{
	struct layout layout = { 0 };
	int err = read_layout(p, &layout);

	if (!err)
		err = search_texts(p, &layout);
	free(layout.texts);
	if (err == -ENOEXEC)
		return inject_refuse(reason, err, "try again",
				     "it is just starting another program");
	if (err)
		return inject_refuse(reason, err, "", "its maps cannot be read: %s",
				     strerror(-err));
	if (!p->sequences[INJECT_SYSCALL_RETURN] ||
	    !(p->sequences[INJECT_RESTORER] || p->sequences[INJECT_POP_RAX]))
		return inject_refuse_entry(
			reason, -ENOTSUP, "",
			"no code was found in it that makes a system call and returns");
	if (!inject_process_address(p, 0))
		return inject_refuse_entry(reason, -ENOTSUP, "",
					   "no stretch of free addresses was found in it");
	if (!p->stack_start)
		return inject_refuse_entry(reason, -ENOTSUP, "",
					   "the stack of its first thread was not found");
	return 0;
}

/* A living thread: /proc shows nothing of the memory of a first thread that has ended. */
static pid_t living_thread(pid_t pid)
{
	struct proc_status status;
	pid_t found = pid, tid;
	DIR *threads;

	if (proc_status_read(pid, &status) || !status.ended)
		return pid;
	threads = proc_threads(pid);
	while (found == pid && (tid = proc_next(threads)))
		found = tid;
	proc_close(threads);
	return found;
}

int inject_process_open(struct inject_process *p, pid_t pid, enum inject_purpose purpose,
			struct inject_reason *reason)
{
	int err = -ENOEXEC;

	for (int tries = 0; tries < EXEC_TRIES && err == -ENOEXEC; tries++) {
		*p = (struct inject_process){ .pid = pid, .mem_fd = -1 };
		*reason = (struct inject_reason){ 0 };
		err = inject_check_status(pid, reason);
		p->thread = err ? pid : living_thread(pid);
		if (!err)
			err = open_memory(p, purpose, reason);
		if (!err)
			err = look(p, reason);
		if (err)
			inject_process_close(p);
	}
	return err;
}

void inject_process_close(struct inject_process *p)
{
	if (p->mem_fd >= 0)
		close(p->mem_fd);
	p->mem_fd = -1;
}
