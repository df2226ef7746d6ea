/*
 * When there are too many, the oldest file of the user with the most of them goes, so that nobody
 * loses names because of somebody else's files.
 */
#include "sampler/target/kept_files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void drop(struct kept_files *k, size_t i)
{
	k->nr_dropped += k->files[i].deleted;
	close(k->files[i].fd);
	free(k->files[i].path);
	memmove(&k->files[i], &k->files[i + 1], (k->nr - i - 1) * sizeof(k->files[0]));
	k->nr--;
}

static size_t count_of(const struct kept_files *k, uint32_t user, bool deleted_only)
{
	size_t nr = 0;

	for (size_t i = 0; i < k->nr; i++)
		nr += k->files[i].user == user && (!deleted_only || k->files[i].deleted);
	return nr;
}

/* Drops the oldest file, or the oldest deleted one, of the user that has the most of them. */
static void drop_one(struct kept_files *k, bool deleted_only)
{
	size_t most = 0, victim = 0;
	uint32_t last_user = 0;

	for (size_t i = 0; i < k->nr; i++) {
		const struct kept_file *file = &k->files[i];
		size_t nr;

		if ((deleted_only && !file->deleted) || (most && file->user == last_user))
			continue;
		last_user = file->user;
		nr = count_of(k, file->user, deleted_only);
		if (nr > most) {
			most = nr;
			victim = i;
		}
	}
	drop(k, victim);
}

static void look(struct kept_file *file)
{
	struct stat st;

	if (fstat(file->fd, &st))
		return;
	file->deleted = !st.st_nlink;
	file->size_bytes = (uint64_t)st.st_blocks * 512;
}

static bool has_too_many_deleted(const struct kept_files *k)
{
	uint64_t bytes = 0;
	size_t nr = 0;

	for (size_t i = 0; i < k->nr; i++) {
		nr += k->files[i].deleted;
		bytes += k->files[i].deleted ? k->files[i].size_bytes : 0;
	}
	return nr > KEPT_DELETED_MAX || bytes > KEPT_DELETED_BYTES;
}

void kept_files_add(struct kept_files *k, struct kept_file added)
{
	struct kept_file *file;

	if (kept_files_find(k, added.sink_id)) {
		close(added.fd);
		free(added.path);
		return;
	}
	if (k->nr == KEPT_FILES_MAX)
		drop_one(k, false);
	file = &k->files[k->nr++];
	*file = added;
	look(file);
	while (file->deleted && has_too_many_deleted(k))
		drop_one(k, true);
}

void kept_files_check(struct kept_files *k)
{
	for (size_t i = 0; i < k->nr; i++)
		look(&k->files[i]);
	while (has_too_many_deleted(k))
		drop_one(k, true);
}

const struct kept_file *kept_files_find(const struct kept_files *k, uint32_t sink_id)
{
	for (size_t i = 0; i < k->nr; i++)
		if (k->files[i].sink_id == sink_id)
			return &k->files[i];
	return NULL;
}

void kept_files_fini(struct kept_files *k)
{
	for (size_t i = 0; i < k->nr; i++) {
		close(k->files[i].fd);
		free(k->files[i].path);
	}
	k->nr = 0;
}
