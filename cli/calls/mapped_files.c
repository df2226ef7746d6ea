/*
 * Remembers files by device and inode. /proc and stat(2) can disagree on the device (btrfs,
 * overlayfs), so devices from /proc are inverted: they never equal one of stat(2).
 */
#include "cli/calls/mapped_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/proc_status.h"
#include "core/untrusted/remote_read.h"
#include "sampler/selection/process_user.h"
#include "sampler/target/proc_maps.h"

#define SEEN_MAX (1u << 18)

struct file_id {
	uint64_t dev, ino;
};

struct seen_file {
	struct file_id id;
	UT_hash_handle hh;
};

struct mapped_files {
	struct seen_file *seen; /* (uthash) */
	bool is_full;
};

struct mapped_files *mapped_files_new(void)
{
	return xcalloc(1, sizeof(struct mapped_files));
}

void mapped_files_free(struct mapped_files *f)
{
	struct seen_file *seen, *next;

	if (!f)
		return;
	HASH_ITER (hh, f->seen, seen, next) {
		HASH_DEL(f->seen, seen);
		free(seen);
	}
	free(f);
}

static bool is_seen(const struct mapped_files *f, const struct file_id *id)
{
	struct seen_file *seen;

	HASH_FIND(hh, f->seen, id, sizeof(*id), seen);
	return seen;
}

/* A file beyond the limit counts as seen: users could map new files without end. */
bool mapped_files_add(struct mapped_files *f, uint64_t dev, uint64_t ino)
{
	const struct file_id id = { dev, ino };
	struct seen_file *seen;

	if (is_seen(f, &id))
		return false;
	if (HASH_COUNT(f->seen) >= SEEN_MAX) {
		if (!f->is_full)
			log_warning("calls in further files are not counted: %u files were mapped",
				    SEEN_MAX);
		f->is_full = true;
		return false;
	}
	seen = xcalloc(1, sizeof(*seen));
	seen->id = id;
	HASH_ADD(hh, f->seen, id, sizeof(seen->id), seen);
	return true;
}

void mapped_files_look(struct mapped_files *files, pid_t pid,
		       const struct mapped_files_hooks *hooks)
{
	FILE *f = remote_open(pid, "maps");
	bool user_known = false;
	uint32_t user = 0;
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		struct file_mapping m = { .pid = pid };
		const struct file_id *id;
		bool executable = false;

		if (!proc_maps_parse(line, &m, &executable) || !executable || !m.ino ||
		    m.path[0] != '/')
			continue;
		id = &(struct file_id){ ~m.dev, m.ino };
		if (is_seen(files, id))
			continue;
		user = user_known ? user : process_user(pid, 0);
		user_known = true;
		if (hooks->has_room(hooks->context, user) &&
		    mapped_files_add(files, id->dev, id->ino))
			hooks->take(hooks->context, &m, user);
	}
	free(line);
	if (f)
		fclose(f);
}

void mapped_files_look_at_all(struct mapped_files *files, const struct mapped_files_hooks *hooks)
{
	DIR *processes = proc_processes();
	pid_t pid;

	while ((pid = proc_next(processes)))
		if (pid != getpid())
			mapped_files_look(files, pid, hooks);
	proc_close(processes);
}
