/*
 * A hash table by (device, inode), and by user where these two do not tell files apart. A file that
 * was overwritten leaves the hash, so its next mapping gets a new entry, but keeps its index. So
 * does a file that could not be opened, once it opens: those who mapped it before keep an entry
 * without rows and names. The index of a released file rests before it is reused: until then, a
 * walk that is under way and samples that wait may still name it.
 */
#include "sampler/target/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/sandbox/sandbox.h"
#include "core/untrusted/user_shares.h"
#include "sampler/target/kept_files.h"
#include "sampler/target/open_mapped.h"

/* No walk takes so long, and no sample waits so long. */
#define REST_NS (2000ull * 1000 * 1000)

static char over_limit_path[] = "[over a limit]";

struct file_key {
	uint64_t dev, ino; /* runtime code: 0 and the pid; vdso: 0 and UINT64_MAX */
	uint64_t user;	   /* 0: of all users; else one more than the user, see has_twins */
};

struct file_entry {
	struct mapped_file file;
	struct file_key key;
	bool forgotten;	     /* not in by_key */
	uint64_t reclaim_ns; /* released: when its index may be used again; else 0 */
	UT_hash_handle hh;
};

struct file_table {
	struct file_entry *by_key;
	struct file_entry **unused; /* of entries[]; taken before new ones are made */
	size_t nr_unused, unused_capacity;
	struct file_entry **resting; /* released, oldest first */
	size_t first_resting, nr_resting, resting_capacity;
	struct file_entry **entries;
	size_t nr, capacity;
	struct mapped_file over_limit;
	struct kept_files kept;
	struct user_shares shares;
	struct file_refusals refusals;
	struct header_reader reader;
	uint64_t last_number;
	uint32_t nr_added;
};

static const char *reason_of(int err)
{
	const char *reason = sandbox_failure(err);

	return reason ? reason : strerror(-err);
}

int mapped_file_read_elf(struct mapped_file *file)
{
	struct code_headers headers;
	int err = code_headers_read(file->reader, file->user, file->fd, &headers);

	if (err) {
		file->parser_failed = err != -ENOEXEC;
		if (file->parser_failed)
			log_warning("no program headers of '%s': %s; stacks end in its code",
				    file->path ? file->path : "?", reason_of(err));
		return err;
	}
	file->segments = headers.segments;
	file->nr_segments = headers.nr_segments;
	file->build_id_size = (uint8_t)headers.build_id_size;
	memcpy(file->build_id, headers.build_id, sizeof(file->build_id));
	return 0;
}

bool mapped_file_vaddr(const struct mapped_file *file, uint64_t offset, uint64_t *ret_vaddr)
{
	for (size_t i = 0; i < file->nr_segments; i++) {
		const struct code_segment *s = &file->segments[i];

		/* Mappings are whole pages: the first begins before the segment's offset. */
		if (offset >= (s->offset & ~4095ull) &&
		    offset - (s->offset & ~4095ull) < s->size + (s->offset & 4095)) {
			*ret_vaddr = offset - s->offset + s->vaddr;
			return true;
		}
	}
	return false;
}

struct file_table *file_table_new(void)
{
	struct file_table *t = xcalloc(1, sizeof(*t));

	user_shares_init(&t->shares, FILE_OVER_LIMIT);
	t->over_limit = (struct mapped_file){
		.index = FILE_OVER_LIMIT,
		.sink_id = PROFILE_NONE,
		.kind = MODULE_ELF,
		.path = over_limit_path,
		.fd = -ENOENT,
		.over_limit = true,
	};
	return t;
}

void file_table_confine(struct file_table *t, const struct sandbox *sandbox)
{
	t->reader.sandbox = sandbox;
}

void file_table_free(struct file_table *t)
{
	if (!t)
		return;
	header_reader_fini(&t->reader);
	HASH_CLEAR(hh, t->by_key);
	for (size_t i = 0; i < t->nr; i++) {
		struct mapped_file *file = &t->entries[i]->file;

		if (file->fd >= 0)
			close(file->fd);
		free(file->path);
		free(file->segments);
		free(t->entries[i]);
	}
	free(t->entries);
	free(t->unused);
	free(t->resting);
	kept_files_fini(&t->kept);
	user_shares_fini(&t->shares);
	free(t);
}

struct mapped_file *file_table_get(const struct file_table *t, uint32_t index)
{
	if (index == FILE_OVER_LIMIT)
		return (struct mapped_file *)&t->over_limit;
	return &t->entries[index]->file;
}

size_t file_table_size(const struct file_table *t)
{
	return t->nr;
}

/* An empty entry with its index. The user has a share of the table, so there is one. */
static struct file_entry *take_entry(struct file_table *t)
{
	struct file_entry *e;

	if (t->nr_unused) {
		e = t->unused[--t->nr_unused];
		*e = (struct file_entry){ .file.index = e->file.index };
		return e;
	}
	e = xcalloc(1, sizeof(*e));
	e->file.index = (uint32_t)t->nr;
	t->entries = xgrow(t->entries, &t->capacity, t->nr + 1, sizeof(*t->entries));
	t->entries[t->nr++] = e;
	return e;
}

static bool take_share(struct file_table *t, uint32_t user)
{
	enum share_result result = user_shares_take(&t->shares, user, 1);

	if (result == SHARE_USER_FULL && !t->refusals.nr_user_full++)
		t->refusals.user = user;
	if (result == SHARE_FULL)
		t->refusals.nr_full++;
	return result == SHARE_TAKEN;
}

int file_table_open_module(const struct file_table *t, uint32_t sink_id)
{
	const struct kept_file *kept;
	int fd;

	for (size_t i = 0; i < t->nr; i++) {
		const struct mapped_file *file = &t->entries[i]->file;

		if (file->sink_id != sink_id)
			continue;
		if (file->fd < 0)
			return -ENOENT;
		fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : fd;
	}
	kept = kept_files_find(&t->kept, sink_id);
	if (!kept)
		return -ENOENT;
	fd = fcntl(kept->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

int file_table_open_root(const struct file_table *t, uint32_t sink_id, size_t *ret_prefix)
{
	const struct kept_file *kept;

	for (size_t i = 0; i < t->nr; i++) {
		const struct mapped_file *file = &t->entries[i]->file;

		if (file->sink_id != sink_id)
			continue;
		*ret_prefix = file->root.prefix;
		return mapped_root_open(&file->root, file->path);
	}
	kept = kept_files_find(&t->kept, sink_id);
	if (!kept)
		return -ENOENT;
	*ret_prefix = kept->root.prefix;
	return mapped_root_open(&kept->root, kept->path);
}

void file_table_turn(struct file_table *t, bool forget)
{
	kept_files_fini(&t->kept);
	for (size_t i = 0; forget && i < t->nr; i++)
		t->entries[i]->file.sink_id = PROFILE_NONE;
}

/* Finds or makes the entry of a key. Of a new one, only the key and the user are filled. */
static struct mapped_file *get(struct file_table *t, const struct file_key *key, uint32_t user,
			       bool *ret_new)
{
	struct file_entry *e;

	*ret_new = false;
	HASH_FIND(hh, t->by_key, key, sizeof(*key), e);
	if (e)
		return &e->file;
	if (!take_share(t, user))
		return &t->over_limit;
	e = take_entry(t);
	e->key = *key;
	e->file.user = user;
	e->file.reader = &t->reader;
	e->file.number = ++t->last_number;
	t->nr_added++;
	e->file.sink_id = PROFILE_NONE;
	e->file.dev = key->dev;
	e->file.ino = key->ino;
	e->file.fd = -ENOENT;
	HASH_ADD(hh, t->by_key, key, sizeof(*key), e);
	*ret_new = true;
	return &e->file;
}

/* The next mapping with this key gets a new entry. */
static void forget_key(struct file_table *t, struct mapped_file *file)
{
	struct file_entry *e = t->entries[file->index];

	if (!e->forgotten)
		HASH_DEL(t->by_key, e);
	e->forgotten = true;
}

bool mapped_file_is_overwritten(const struct mapped_file *file)
{
	struct mapped_file now = {
		.fd = file->fd,
		.path = file->path,
		.user = file->user,
		.reader = file->reader,
	};
	struct stat st;
	bool same;

	if (file->fd < 0 || fstat(file->fd, &st))
		return false;
	if (st.st_mtim.tv_sec == file->changed.tv_sec &&
	    st.st_mtim.tv_nsec == file->changed.tv_nsec && (uint64_t)st.st_size == file->size_bytes)
		return false;
	mapped_file_read_elf(&now); /* the same build-id: only its time changed */
	same = now.build_id_size && now.build_id_size == file->build_id_size &&
	       !memcmp(now.build_id, file->build_id, now.build_id_size);
	free(now.segments);
	return !same;
}

/* Does a mapping with the key of an entry need one of its own? */
static bool needs_new_entry(struct mapped_file *file, const struct file_mapping *m)
{
	if (file->over_limit || file->kind != MODULE_ELF)
		return false;
	return file->fd < 0 ? mapped_file_needs_retry(file, m) : mapped_file_is_overwritten(file);
}

struct mapped_file *file_table_add(struct file_table *t, const struct file_mapping *m,
				   bool *ret_new)
{
	struct file_key key = { .dev = m->dev, .ino = m->ino };
	struct mapped_file *file = get(t, &key, m->user, ret_new);

	if (!*ret_new && file->has_twins && file->user != m->user) {
		key.user = (uint64_t)m->user + 1;
		file = get(t, &key, m->user, ret_new);
	}
	if (!*ret_new && needs_new_entry(file, m)) {
		forget_key(t, file);
		file = get(t, &key, m->user, ret_new);
	}
	if (*ret_new) {
		mapped_file_open(file, m);
		mapped_file_read_elf(file);
	}
	return file;
}

static void become_runtime_code(struct mapped_file *file, pid_t process)
{
	free(file->path);
	file->kind = MODULE_JIT;
	file->path = xstrdup("[jit]");
	file->pid = process;
}

struct mapped_file *file_table_add_memfd(struct file_table *t, const struct file_mapping *m,
					 pid_t process, bool *ret_new)
{
	struct mapped_file *file = file_table_add(t, m, ret_new);

	if (!*ret_new || file->nr_segments)
		return file;
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	become_runtime_code(file, process);
	return file;
}

struct mapped_file *file_table_add_runtime(struct file_table *t, pid_t pid, uint32_t user,
					   bool *ret_new)
{
	struct mapped_file *file =
		get(t, &(struct file_key){ .ino = (uint64_t)pid }, user, ret_new);

	if (*ret_new)
		become_runtime_code(file, pid);
	return file;
}

struct mapped_file *file_table_add_vdso(struct file_table *t, bool *ret_new)
{
	struct mapped_file *file = get(t, &(struct file_key){ .ino = UINT64_MAX }, 0, ret_new);

	if (*ret_new) {
		file->kind = MODULE_VDSO;
		file->path = xstrdup("[vdso]");
	}
	return file;
}

void file_table_release(struct file_table *t, struct mapped_file *file, uint64_t now)
{
	struct file_entry *e = t->entries[file->index];

	forget_key(t, file);
	if (file->fd >= 0 && file->sink_id != PROFILE_NONE) {
		kept_files_add(&t->kept, (struct kept_file){
						 .sink_id = file->sink_id,
						 .user = file->user,
						 .fd = file->fd,
						 .root = file->root,
						 .path = file->path,
					 });
	} else {
		if (file->fd >= 0)
			close(file->fd);
		free(file->path);
	}
	file->fd = -ENOENT;
	file->sink_id = PROFILE_NONE;
	file->path = NULL;
	free(file->segments);
	file->segments = NULL;
	file->nr_segments = 0;
	e->reclaim_ns = now + REST_NS;
	t->resting =
		xgrow(t->resting, &t->resting_capacity, t->nr_resting + 1, sizeof(*t->resting));
	t->resting[t->nr_resting++] = e;
}

bool file_table_reclaim(struct file_table *t, uint64_t now, uint32_t *ret_index)
{
	struct file_entry *e;

	if (t->first_resting == t->nr_resting) {
		t->first_resting = t->nr_resting = 0;
		return false;
	}
	e = t->resting[t->first_resting];
	if (now < e->reclaim_ns)
		return false;
	t->first_resting++;
	user_shares_give(&t->shares, e->file.user, 1);
	t->unused = xgrow(t->unused, &t->unused_capacity, t->nr_unused + 1, sizeof(*t->unused));
	t->unused[t->nr_unused++] = e;
	*ret_index = e->file.index;
	return true;
}

bool file_table_is_released(const struct file_table *t, uint32_t index)
{
	return t->entries[index]->reclaim_ns;
}

struct file_refusals file_table_refusals(const struct file_table *t)
{
	struct file_refusals refusals = t->refusals;

	refusals.nr_names_lost = t->kept.nr_dropped;
	return refusals;
}

uint32_t file_table_nr_added(struct file_table *t)
{
	uint32_t nr = t->nr_added;

	t->nr_added = 0;
	return nr;
}

void file_table_check_kept(struct file_table *t)
{
	kept_files_check(&t->kept);
}

const void *file_table_vdso_image(size_t *ret_size)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

	/* Its section headers end the file. */
	if (ehdr)
		*ret_size = ehdr->e_shoff + (size_t)ehdr->e_shentsize * ehdr->e_shnum;
	return ehdr;
}

void file_table_raise_limit(void)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_NOFILE, &r) && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}
