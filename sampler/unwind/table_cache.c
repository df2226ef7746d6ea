/*
 * An entry is a file: a header, then the table as a child wrote it (table_file.h). Its name is the
 * build-id and a hash of the rest of the key and of the code that builds tables, so another version
 * of sprof has entries of its own. It is written under a temporary name and then renamed. Reading
 * one sets its time, which says when it was last used.
 */
#include "sampler/unwind/table_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/elf_headers.h"
#include "core/base/full_io.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/rights/cache_folder.h"
#include "core/rights/list_folder.h"
#include "core/rights/safe_open.h"
#include "sampler/unwind/table_code.h" /* TABLE_CODE: a hash of all that makes tables */
#include "sampler/unwind/table_file.h"

#define FORMAT 3
#define SUFFIX ".unwind"
#define SUFFIX_NEW ".new" /* not finished */
#define TABLE_MAX (64u << 20)
#define ENTRIES_MAX 4096
#define LOOKED_AT_MAX 65536   /* files of the folder */
#define NEW_MAX_S 60	      /* nothing takes so long to write */
#define SWEEP_PART 16	      /* of the limit is written before old entries are looked for */
#define FUSE_MAGIC 0x65735546 /* FUSE_SUPER_MAGIC of linux/magic.h, which may lack it */

static const char magic[8] = "sproftab";

struct entry_header {
	char magic[8];
	uint32_t format, build_id_size;
	uint64_t code; /* TABLE_CODE */
	uint8_t build_id[BUILD_ID_MAX];
	uint64_t dev, ino, size_bytes;
	int64_t modified_ns, changed_ns;
	uint64_t debug_dev, debug_ino, debug_size_bytes;
	int64_t debug_changed_ns;
	uint64_t table_bytes;
	uint64_t table_check;	   /* XXH3 of the table */
	char link[DEBUG_NAME_MAX]; /* of the debug file that it lacks, or "" */
	uint64_t check;		   /* XXH3 of the header before it */
};
_Static_assert(sizeof(struct entry_header) == 24 + BUILD_ID_MAX + 96 + DEBUG_NAME_MAX,
	       "no padding");

struct table_cache {
	int folder;
	uint64_t bytes_max;
	uint64_t table_max; /* bytes of a table that is read */
	/* atomic */
	uint32_t nr_read, nr_stored;
	uint64_t bytes_stored; /* since old entries were removed last; at first: never */
};

struct table_cache *table_cache_new(int folder, uint64_t bytes_max)
{
	struct table_cache *c = xcalloc(1, sizeof(*c));

	c->folder = folder;
	c->bytes_max = bytes_max;
	c->table_max = TABLE_MAX;
	c->bytes_stored = bytes_max;
	return c;
}

void table_cache_set_table_max(struct table_cache *c, uint64_t bytes)
{
	if (c && bytes < TABLE_MAX)
		c->table_max = bytes;
}

struct table_cache *table_cache_open(void)
{
	char why[4200];
	int folder = cache_folder_open(why, sizeof(why));

	if (folder >= 0)
		return table_cache_new(folder, TABLE_CACHE_MAX);
	log_debug("unwind tables are not kept: %s", why);
	return NULL;
}

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static bool is_of_fuse(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) || fs.f_type == FUSE_MAGIC;
}

static bool caller_can_read(int fd)
{
	int again = safe_open_trusted(fd, SAFE_OPEN_ELF_MAX);

	if (again >= 0)
		close(again);
	return again >= 0;
}

static void set_inode(struct table_key *key, const struct stat *st)
{
	key->dev = st->st_dev;
	key->ino = st->st_ino;
	key->size_bytes = (uint64_t)st->st_size;
	key->modified_ns = ns_of(&st->st_mtim);
	key->changed_ns = ns_of(&st->st_ctim);
}

/* Only by build-id, because the name in .gnu_debuglink is for a child without rights to read. */
static void set_debug_file(struct table_key *key, struct debug_files *files)
{
	struct debug_names names = { .build_id_size = key->build_id_size };
	struct stat st;
	int fd = -ENOENT;

	memcpy(names.build_id, key->build_id, sizeof(names.build_id));
	for (unsigned int i = 0; files && fd < 0 && fd != -ENODATA; i++)
		fd = files->open(files, &names, i);
	if (fd < 0)
		return;
	if (!fstat(fd, &st)) {
		key->debug_dev = st.st_dev;
		key->debug_ino = st.st_ino;
		key->debug_size_bytes = (uint64_t)st.st_size;
		key->debug_changed_ns = ns_of(&st.st_ctim);
	}
	close(fd);
}

bool table_cache_key(int fd, struct debug_files *files, struct table_key *ret)
{
	struct table_key key;
	struct elf_headers headers;
	struct elf_source source;
	struct stat st;

	memset(&key, 0, sizeof(key));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || is_of_fuse(fd) || !caller_can_read(fd) ||
	    elf_source_of_file(fd, &source) || elf_headers_read(&source, &headers))
		return false;
	set_inode(&key, &st);
	key.build_id_size = (uint32_t)elf_headers_build_id(&source, &headers, key.build_id);
	elf_headers_fini(&headers);
	if (!key.build_id_size)
		return false;
	set_debug_file(&key, files);
	*ret = key;
	return true;
}

static bool is_unchanged(int fd, const struct table_key *key)
{
	struct table_key now = *key;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	set_inode(&now, &st);
	return !memcmp(&now, key, sizeof(now));
}

/* The header of an entry for this key, but for the table's size, the link and the two checks. */
static struct entry_header header_of(const struct table_key *key)
{
	struct entry_header h = {
		.format = FORMAT,
		.build_id_size = key->build_id_size,
		.code = TABLE_CODE,
		.dev = key->dev,
		.ino = key->ino,
		.size_bytes = key->size_bytes,
		.modified_ns = key->modified_ns,
		.changed_ns = key->changed_ns,
		.debug_dev = key->debug_dev,
		.debug_ino = key->debug_ino,
		.debug_size_bytes = key->debug_size_bytes,
		.debug_changed_ns = key->debug_changed_ns,
	};

	memcpy(h.magic, magic, sizeof(h.magic));
	memcpy(h.build_id, key->build_id, sizeof(h.build_id));
	return h;
}

/* "<build-id>-<hash>.unwind" */
static void name_of(const struct entry_header *h, char name[NAME_MAX + 1])
{
	uint64_t hash = XXH3_64bits(h, offsetof(struct entry_header, table_bytes));
	int at = 0;

	for (uint32_t i = 0; i < h->build_id_size && i < BUILD_ID_MAX; i++)
		at += snprintf(name + at, NAME_MAX - (size_t)at, "%02x", h->build_id[i]);
	snprintf(name + at, NAME_MAX - (size_t)at, "-%016llx" SUFFIX, (unsigned long long)hash);
}

static uint64_t check_of(const struct entry_header *h)
{
	return XXH3_64bits(h, offsetof(struct entry_header, check));
}

/* Is it a file that only its owner, the caller, has written? */
static bool is_ours(int fd, struct stat *st)
{
	return !fstat(fd, st) && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	       st->st_nlink == 1 && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int read_header(int fd, struct entry_header *wanted)
{
	struct entry_header h;
	struct stat st;
	int err;

	if (!is_ours(fd, &st))
		return -EBADMSG;
	err = full_read_at(fd, &h, sizeof(h), 0);
	if (err)
		return err;
	if (h.check != check_of(&h) ||
	    memcmp(&h, wanted, offsetof(struct entry_header, table_bytes)) ||
	    h.table_bytes > TABLE_MAX || (uint64_t)st.st_size != sizeof(h) + h.table_bytes ||
	    !h.table_bytes)
		return -EBADMSG;
	*wanted = h;
	return 0;
}

/* Can a debug file be opened by the name that the entry has, which is untrusted? */
static bool has_appeared(const struct entry_header *h, struct debug_files *files)
{
	struct debug_names names = { 0 };
	int fd = -ENOENT;

	memcpy(names.link, h->link, sizeof(names.link) - 1);
	for (unsigned int i = 0; files && names.link[0] && fd < 0 && fd != -ENODATA; i++)
		fd = files->open(files, &names, i);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int read_entry(const struct table_cache *c, int fd, const struct table_key *key,
		      struct debug_files *files, struct rule_set *rules,
		      struct unwind_table **ret_table)
{
	struct entry_header h = header_of(key);
	void *table;
	int err = read_header(fd, &h);

	if (!err && has_appeared(&h, files))
		err = -ESTALE;
	if (!err && h.table_bytes > c->table_max)
		err = -E2BIG;
	if (err)
		return err;
	table = mmap(NULL, h.table_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (table == MAP_FAILED)
		return -errno;
	err = full_read_at(fd, table, h.table_bytes, sizeof(h));
	if (!err && XXH3_64bits(table, h.table_bytes) != h.table_check)
		err = -EBADMSG;
	if (err) {
		munmap(table, h.table_bytes);
		return err;
	}
	return table_file_take(table, h.table_bytes, 0, rules, ret_table);
}

int table_cache_load(struct table_cache *c, const struct table_key *key, struct debug_files *files,
		     struct rule_set *rules, struct unwind_table **ret_table)
{
	const struct entry_header h = header_of(key);
	char name[NAME_MAX + 1];
	int fd, err;

	name_of(&h, name);
	fd = safe_open_in_root_no_link(c->folder, name, sizeof(h) + TABLE_MAX);
	if (fd < 0)
		err = fd == -ELOOP || fd == -EPERM || fd == -EFBIG ? -EBADMSG : fd;
	else
		err = read_entry(c, fd, key, files, rules, ret_table);
	if (err == -EBADMSG) {
		log_debug("the cached unwind table '%s' is damaged: it is built again", name);
		unlinkat(c->folder, name, 0);
	}
	if (!err) {
		futimens(fd, NULL);
		__atomic_add_fetch(&c->nr_read, 1, __ATOMIC_RELAXED);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

struct old_entry {
	int64_t used_ns;
	uint64_t bytes;
	char name[NAME_MAX + 1];
};

static int older_first(const void *a, const void *b)
{
	const struct old_entry *x = a, *y = b;

	return ORDER(x->used_ns, y->used_ns);
}

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), n = strlen(end);

	return length > n && !strcmp(name + length - n, end);
}

/*
 * Takes an entry of the folder; what a recorder that died left unfinished goes at once. A younger
 * unfinished one takes room like the others, and goes if it has to: its writer then keeps nothing.
 */
static bool take_entry(struct table_cache *c, const char *name, struct old_entry *ret)
{
	struct stat st;

	if ((!ends_with(name, SUFFIX) && !ends_with(name, SUFFIX_NEW)) ||
	    fstatat(c->folder, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return false;
	if (ends_with(name, SUFFIX_NEW) && st.st_mtim.tv_sec + NEW_MAX_S < time(NULL)) {
		unlinkat(c->folder, name, 0);
		return false;
	}
	ret->used_ns = ns_of(&st.st_mtim);
	ret->bytes = (uint64_t)st.st_blocks * 512;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	return true;
}

/* Leaves room for that many bytes within the limit. */
static void make_room(struct table_cache *c, uint64_t bytes)
{
	uint64_t limit = c->bytes_max > bytes ? c->bytes_max - bytes : 0;
	DIR *dir = list_folder(c->folder, ".");
	struct old_entry *entries = NULL;
	size_t nr = 0, capacity = 0;
	struct dirent *e;
	uint64_t all = 0;

	if (!dir)
		return;
	for (size_t i = 0; i < LOOKED_AT_MAX && (e = readdir(dir)); i++) {
		entries = xgrow(entries, &capacity, nr + 1, sizeof(*entries));
		if (take_entry(c, e->d_name, &entries[nr]))
			all += entries[nr++].bytes;
	}
	closedir(dir);
	if (nr)
		qsort(entries, nr, sizeof(*entries), older_first);
	for (size_t i = 0; i < nr && (all > limit || nr - i > ENTRIES_MAX); i++) {
		unlinkat(c->folder, entries[i].name, 0);
		all -= entries[i].bytes;
	}
	free(entries);
}

/* Writes the entry under a name of its own first: a reader never sees half of one. */
static int write_entry(struct table_cache *c, const struct entry_header *h, const void *table)
{
	char name[NAME_MAX + 1], temporary[64];
	uint64_t random;
	int fd, err;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(temporary, sizeof(temporary), "%016llx" SUFFIX_NEW, (unsigned long long)random);
	fd = openat(c->folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	err = full_write(fd, h, sizeof(*h));
	if (!err)
		err = full_write(fd, table, h->table_bytes);
	if (close(fd) && !err)
		err = -errno;
	name_of(h, name);
	if (!err && renameat(c->folder, temporary, c->folder, name))
		err = -errno;
	if (err)
		unlinkat(c->folder, temporary, 0);
	return err;
}

void table_cache_store(struct table_cache *c, const struct table_key *key, int fd, int answer,
		       const char link[DEBUG_NAME_MAX])
{
	struct entry_header h = header_of(key);
	struct stat st;
	void *table;
	int err;

	if (fstat(answer, &st) || !st.st_size || st.st_size > TABLE_MAX || !is_unchanged(fd, key))
		return;
	table = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, answer, 0);
	if (table == MAP_FAILED)
		return;
	h.table_bytes = (uint64_t)st.st_size;
	h.table_check = XXH3_64bits(table, h.table_bytes);
	memcpy(h.link, link, sizeof(h.link));
	h.check = check_of(&h);
	/* Before it writes: a recorder that is killed again and again must not fill the disk. */
	if (__atomic_add_fetch(&c->bytes_stored, h.table_bytes, __ATOMIC_RELAXED) >
	    c->bytes_max / SWEEP_PART) {
		__atomic_store_n(&c->bytes_stored, 0, __ATOMIC_RELAXED);
		make_room(c, c->bytes_max / SWEEP_PART + sizeof(h) + h.table_bytes);
	}
	err = write_entry(c, &h, table);
	munmap(table, h.table_bytes);
	if (err)
		log_debug("an unwind table is not kept: %s", strerror(-err));
	else
		__atomic_add_fetch(&c->nr_stored, 1, __ATOMIC_RELAXED);
}

void table_cache_close(struct table_cache *c)
{
	if (!c)
		return;
	log_debug("unwind tables in the cache: %u read, %u written", c->nr_read, c->nr_stored);
	if (c->nr_stored)
		make_room(c, 0);
	close(c->folder);
	free(c);
}
