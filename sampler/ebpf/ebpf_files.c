/*
 * An entry of modules[] goes through these states: pending while the builder works, then rows, no
 * rows, over a limit, or copied. A released file has no rows at once; its words in the arena and
 * its rules are given back when its index has rested, and so no walk reads them any more. Its place
 * may have belonged to another file before, so the first thing to do for a new file is to set its
 * entry to pending.
 */
#include "sampler/ebpf/ebpf_files.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/rights/privileges.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sampler/ebpf/arena.h"
#include "sampler/sink/limits.h"
#include "sampler/ebpf/kernel_side.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/proc_maps.h"
#include "sampler/target/process.h"
#include "sampler/target/sideband.h"
#include "sampler/unwind/unwind_table.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/walk/table_builder.h"

/* What unwinding copied stacks may cost: at 0.1 ms each, a twentieth of a CPU. */
#define COPIES_PER_S 500
/* A program that is about to start may map its files so much later. */
#define EXPECT_NS (60ull * 1000 * 1000 * 1000)

/* What a file has of the tables. */
struct published_file {
	struct arena_words words;
	struct rule_claim claim; /* of the rules that its rows name */
	uint64_t nr_wanted;	 /* words that the arena had no room for; 0: it has them */
};

static bool publish_runtime(void *context, uint32_t number, const struct unwind_table *rows)
{
	struct ebpf_files *f = context;
	struct module_entry entry;

	if (arena_add_region(f->kernel->arena, rows, &entry))
		return false;
	f->nr_rows += rows->nr_rows;
	kernel_side_set_module(f->kernel, WALK_MAX_MODULES + number, &entry);
	return true;
}

static void forget_runtime(void *context, uint32_t number, const struct unwind_table *rows)
{
	struct ebpf_files *f = context;
	const struct module_entry entry = f->kernel->modules[WALK_MAX_MODULES + number];

	kernel_side_set_no_rows(f->kernel, WALK_MAX_MODULES + number);
	arena_remove_region(f->kernel->arena, &entry, rows);
}

void ebpf_files_init(struct ebpf_files *f, struct kernel_side *kernel, struct limits *limits,
		     const struct sandbox *sandbox, struct table_cache *cache, bool is_limited)
{
	static const struct runtime_ops ops = { publish_runtime, forget_runtime };

	f->kernel = kernel;
	f->limits = limits;
	f->table = file_table_new();
	file_table_confine(f->table, sandbox);
	file_table_raise_limit();
	f->builder = table_builder_new(kernel->rules, sandbox, cache);
	f->published = xcalloc(WALK_MAX_MODULES, sizeof(*f->published));
	f->is_limited = is_limited;
	user_shares_init(&f->words, kernel_side_arena_words(kernel));
	kernel_side_set_module(kernel, FILE_OVER_LIMIT,
			       &(struct module_entry){ .state = WALK_MODULE_OVER_LIMIT });
	f->runtime = runtime_unwind_new(f->builder, WALK_MAX_MODULES, kernel->rules, &ops, f);
}

void ebpf_files_fini(struct ebpf_files *f)
{
	table_builder_free(f->builder); /* its thread writes the kernel side's rules */
	runtime_unwind_free(f->runtime);
	file_table_free(f->table);
	for (uint32_t i = 0; f->published && i < WALK_MAX_MODULES; i++)
		free(f->published[i].claim.numbers);
	free(f->published);
	user_shares_fini(&f->words);
}

static unsigned int mebibytes(uint64_t words)
{
	return (unsigned int)(words * sizeof(uint32_t) >> 20);
}

bool ebpf_files_take_words(struct ebpf_files *f, uint32_t user, uint64_t nr)
{
	switch (user_shares_take(&f->words, user, nr)) {
	case SHARE_TAKEN: return true;
	case SHARE_USER_FULL:
		limit_hit(f->limits, LIMIT_USER_ROWS,
			  "unwind rows of the files of user %u exceed %u MiB: stacks end in "
			  "further ones",
			  user, mebibytes(f->words.size / 2));
		return false;
	default:
		limit_hit(f->limits, LIMIT_ROWS,
			  "unwind rows exceed %u MiB: stacks end in further files",
			  mebibytes(f->words.size));
		return false;
	}
}

void ebpf_files_give_words(struct ebpf_files *f, uint32_t user, uint64_t nr)
{
	user_shares_give(&f->words, user, nr);
}

static void request_table(struct ebpf_files *f, struct mapped_file *file)
{
	const void *vdso;
	size_t size;

	file->lacks_table = file->mapped_again = file->missed_table = false;
	f->published[file->index].nr_wanted = 0;
	file->building = true;
	if (file->kind == MODULE_ELF && file->nr_segments)
		table_builder_request(f->builder, file);
	else if (file->kind == MODULE_VDSO && (vdso = file_table_vdso_image(&size)))
		table_builder_request_memory(f->builder, file->index, vdso, size);
	else {
		file->building = false;
		kernel_side_set_no_rows(f->kernel, file->index);
	}
}

void ebpf_files_add(void *files, struct mapped_file *file)
{
	struct ebpf_files *f = files;

	kernel_side_set_module(f->kernel, file->index,
			       &(struct module_entry){ .state = WALK_MODULE_PENDING });
	if (file->fd == -EMFILE || file->fd == -ENFILE)
		limit_hit(f->limits, LIMIT_OPEN_FILES,
			  "too many open files: further ones are walked by frame pointers and have "
			  "no names (ulimit -n)");
	request_table(f, file);
}

struct mapped_file *ebpf_files_mapped(struct ebpf_files *f, const struct process *p,
				      const struct sideband_record *r)
{
	const struct file_mapping m = {
		.pid = r->pid,
		.user = p->user,
		.start = r->start,
		.end = r->start + r->length,
		.pgoff = r->pgoff,
		.dev = r->dev,
		.ino = r->ino,
		.path = r->path,
	};
	bool is_new = false;
	struct mapped_file *file = mapping_code(f->table, &m, r->pid, &is_new);

	if (is_new)
		ebpf_files_add(f, file);
	else if (file && file->lacks_table)
		request_table(f, file);
	else if (file) /* code that the kernel maps for probes is in no file */
		file->mapped_again = file->building;
	return file;
}

void ebpf_files_expect(void *files, const char *path)
{
	enum rights before = privileges_use(RIGHTS_OF_CALLER); /* the caller named the path */
	struct ebpf_files *f = files;
	char *real = realpath(path, NULL);
	struct file_mapping m = { .pid = getpid(), .path = real };
	struct mapped_file *file = NULL;
	struct stat st;
	bool is_new;

	if (real && !stat(real, &st) && S_ISREG(st.st_mode)) {
		m.dev = st.st_dev;
		m.ino = st.st_ino;
		file = file_table_add(f->table, &m, &is_new);
		file->hold_until_ns = monotonic_ns() + EXPECT_NS;
	}
	privileges_use(before);
	if (file && is_new)
		ebpf_files_add(f, file);
	free(real);
}

static void say_refusal(struct ebpf_files *f, const struct mapped_file *file,
			enum rule_refusal refusal)
{
	switch (refusal) {
	case RULES_GRANTED: break;
	case RULES_OVER_FILE:
		limit_hit(f->limits, LIMIT_FILE_RULES,
			  "'%s' has more than %u distinct unwind rules: stacks end where it needs "
			  "another",
			  file->path, RULES_PER_FILE);
		break;
	case RULES_OVER_USER:
		limit_hit(f->limits, LIMIT_USER_RULES,
			  "the files of user %u have more than %u distinct unwind rules: stacks "
			  "end where they need another",
			  file->user, WALK_MAX_RULES / 2);
		break;
	case RULES_OVER_POOL:
		limit_hit(f->limits, LIMIT_RULES,
			  "more than %u distinct unwind rules: stacks end where another is needed",
			  WALK_MAX_RULES);
		break;
	}
}

/*
 * Does the file get words of the arena for its table? Where memory is limited, one file may have
 * half of what there is.
 */
static bool take_words(struct ebpf_files *f, const struct mapped_file *file, uint64_t nr)
{
	uint64_t max = f->is_limited ? f->words.size / 2 : f->words.size / 4;

	if (f->is_limited)
		return nr <= max && user_shares_take(&f->words, file->user, nr) == SHARE_TAKEN;
	if (nr <= max)
		return ebpf_files_take_words(f, file->user, nr);
	limit_hit(f->limits, LIMIT_FILE_ROWS,
		  "the unwind rows of '%s' exceed %u MiB: stacks end in its code", file->path,
		  mebibytes(max));
	return false;
}

/* Puts the table into the arena. false: there is no room, and nothing was taken. */
static bool add_rows(struct ebpf_files *f, const struct mapped_file *file,
		     const struct unwind_table *table, struct module_entry *ret)
{
	struct arena_words *words = &f->published[file->index].words;
	uint64_t nr = (uint64_t)table->nr_pages + table->nr_words;

	if (!take_words(f, file, nr))
		return false;
	if (arena_add_table(f->kernel->arena, table, ret, words)) {
		ebpf_files_give_words(f, file->user, nr);
		if (f->is_limited)
			return false;
		limit_hit(f->limits, LIMIT_MEMORY,
			  "no more memory for unwind rows: stacks end in further files");
		return false;
	}
	/* The table may take a little more than it has words; only that much was asked for. */
	words->charged = (uint32_t)nr;
	return true;
}

/* Memory is limited, and the file gets no rows: stacks through it are copied. */
static void set_copied(struct ebpf_files *f, const struct mapped_file *file, uint64_t nr_wanted)
{
	f->published[file->index].nr_wanted = nr_wanted;
	limit_hit(f->limits, LIMIT_OWN_MEMORY,
		  "the unwind rows of '%s' take more than --max-memory leaves: stacks through such "
		  "files are copied",
		  file->path);
	kernel_side_set_module(f->kernel, file->index,
			       &(struct module_entry){ .state = WALK_MODULE_COPIED });
}

static void publish_table(struct ebpf_files *f, struct built_table *built)
{
	struct mapped_file *file = file_table_get(f->table, built->index);
	const struct unwind_table *table = built->table;
	struct module_entry entry = { .state = WALK_MODULE_OVER_LIMIT };

	file->building = false;
	if (built->over_memory) {
		set_copied(f, file, UINT64_MAX);
		return;
	}
	if (!table) {
		kernel_side_set_no_rows(f->kernel, built->index);
		return;
	}
	say_refusal(f, file, built->refusal);
	if (add_rows(f, file, table, &entry)) {
		f->published[built->index].claim = built->claim;
		f->nr_rows += table->nr_rows;
		file->nr_derived_functions = table->nr_derived_functions;
	} else {
		table_builder_release(f->builder, &built->claim); /* no row names its rules */
		if (f->is_limited) {
			set_copied(f, file, (uint64_t)table->nr_pages + table->nr_words);
			return;
		}
	}
	kernel_side_set_module(f->kernel, built->index, &entry);
}

/* Its state stays "pending", so that stacks through it are copied if it is mapped again. */
static void take_dropped(struct ebpf_files *f, struct mapped_file *file)
{
	file->building = false;
	file->lacks_table = true;
	if (file->mapped_again)
		request_table(f, file);
}

static void allow_copies(struct ebpf_files *f, uint64_t now_ns)
{
	uint64_t passed = now_ns - f->allowed_ns;
	uint64_t nr = passed < NS_PER_S ? passed * COPIES_PER_S / NS_PER_S : COPIES_PER_S;

	if (!f->is_limited || !nr)
		return;
	kernel_side_allow_copies(f->kernel, (int32_t)nr, COPIES_PER_S);
	/* a part of a copy stays for the next time */
	f->allowed_ns = passed < NS_PER_S ? f->allowed_ns + nr * NS_PER_S / COPIES_PER_S : now_ns;
}

void ebpf_files_poll(struct ebpf_files *f, uint64_t now_ns)
{
	struct built_table built;

	while (table_builder_take(f->builder, &built)) {
		if (built.index >= WALK_MAX_MODULES) {
			runtime_unwind_take(f->runtime, &built);
			continue;
		}
		if (built.dropped) {
			take_dropped(f, file_table_get(f->table, built.index));
			continue;
		}
		file_table_get(f->table, built.index)->parser_failed |= built.parser_failed;
		publish_table(f, &built);
		unwind_table_free(built.table);
	}
	runtime_unwind_tidy(f->runtime, now_ns);
	allow_copies(f, now_ns);
}

bool ebpf_files_await_next(struct ebpf_files *f, uint64_t until_ns)
{
	if (!table_builder_wait(f->builder, until_ns))
		return false;
	ebpf_files_poll(f, monotonic_ns());
	return true;
}

void ebpf_files_await(struct ebpf_files *f, uint64_t until_ns)
{
	while (ebpf_files_await_next(f, until_ns))
		;
}

static void on_release(void *context, struct mapped_file *file)
{
	struct ebpf_files *f = context;

	kernel_side_set_no_rows(f->kernel, file->index);
	if (f->on_release)
		f->on_release(f->context, file);
}

/*
 * There is room: files that did not find any are asked for when the mapped ones are marked. Not
 * those of a user whose share is full: their tables would be built in vain.
 */
static void ask_again(struct ebpf_files *f)
{
	uint64_t room = f->words.size - f->words.used;

	for (uint32_t i = 0; i < file_table_size(f->table); i++) {
		struct mapped_file *file = file_table_get(f->table, i);
		uint64_t nr = f->published[i].nr_wanted;

		if (nr && nr <= room / 2 &&
		    user_shares_check(&f->words, file->user, nr) == SHARE_TAKEN)
			file->lacks_table = true;
	}
}

static void reclaim(struct ebpf_files *f, uint32_t index)
{
	struct published_file *published = &f->published[index];

	arena_remove_words(f->kernel->arena, published->words);
	ebpf_files_give_words(f, file_table_get(f->table, index)->user, published->words.charged);
	table_builder_release(f->builder, &published->claim);
	*published = (struct published_file){ 0 };
	if (f->is_limited)
		ask_again(f);
}

static bool is_mapped(void *context, uint32_t index)
{
	const struct ebpf_files *f = context;
	const struct mapped_file *file = file_table_get(f->table, index);

	return file->mark == f->release.round || file->hold_until_ns;
}

void ebpf_files_release(struct ebpf_files *f, const struct process *processes, uint64_t now)
{
	uint32_t index;

	while (file_table_reclaim(f->table, now, &index))
		reclaim(f, index);
	if (!file_release_begin(&f->release, f->table, now))
		return;
	for (const struct process *p = processes; p; p = p->hh.next)
		file_release_mark(&f->release, p);
	for (uint32_t i = 0; i < file_table_size(f->table); i++) {
		struct mapped_file *file = file_table_get(f->table, i);

		if (file->lacks_table && file->mark == f->release.round)
			request_table(f, file);
	}
	table_builder_drop(f->builder, is_mapped, f);
	file_release_end(&f->release, f->table, now, on_release, f);
}

bool ebpf_files_find_rule(const struct ebpf_files *f, uint64_t module, uint64_t vaddr,
			  struct walk_rule *ret)
{
	const struct module_entry *m = &f->kernel->modules[module - 1];

	if (m->state == WALK_MODULE_PENDING || m->state == WALK_MODULE_COPIED)
		return false;
	*ret = (struct walk_rule){ .cfa = WALK_CFA_NONE };
	if (m->state == WALK_MODULE_OVER_LIMIT)
		ret->cfa = WALK_CFA_OVER_LIMIT;
	if (m->state == WALK_MODULE_ROWS)
		*ret = f->kernel->rules[arena_find_rule(f->kernel->arena, m, vaddr)];
	return true;
}
