/*
 * Unwind rows for which --max-memory leaves no room: the file's rules are given back, and its table
 * is asked for again only when its user has room for it. Maps of the kernel are memfds here.
 */
// BUILD: -Wl,--wrap=bpf_map_create -Wl,--wrap=bpf_map_update_elem
// BUILD: -Wl,--wrap=kernel_side_allow_copies -Wl,--wrap=table_builder_request
// BUILD: -Wl,--wrap=rule_pool_adopt -Wl,--wrap=rule_pool_release
#include "tests/unit/unit.h"

#include <bpf/bpf.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/portable/walk.h"
#include "sampler/ebpf/arena.h"
#include "sampler/ebpf/ebpf_files.h"
#include "sampler/ebpf/kernel_side.h"
#include "sampler/sink/limits.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/process.h"
#include "sampler/target/sideband.h"
#include "sampler/unwind/rule_pool.h"
#include "sampler/walk/table_builder.h"

#define USER 1000
#define NR_SHARDS 16

static uint32_t nr_claimed;  /* rules that tables hold; atomic: builders claim them */
static uint32_t nr_requests; /* for tables */

int __wrap_bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size,
			  __u32 value_size, __u32 max_entries,
			  const struct bpf_map_create_opts *opts);
int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags);
void __wrap_kernel_side_allow_copies(struct kernel_side *k, int32_t nr, int32_t max);
void __real_table_builder_request(struct table_builder *b, const struct mapped_file *file);
void __wrap_table_builder_request(struct table_builder *b, const struct mapped_file *file);
enum rule_refusal __real_rule_pool_adopt(struct rule_pool *pool, uint32_t user,
					 struct rule_set *set, struct unwind_table *table,
					 struct rule_claim *ret_claim);
enum rule_refusal __wrap_rule_pool_adopt(struct rule_pool *pool, uint32_t user,
					 struct rule_set *set, struct unwind_table *table,
					 struct rule_claim *ret_claim);
void __real_rule_pool_release(struct rule_pool *pool, struct rule_claim *claim);
void __wrap_rule_pool_release(struct rule_pool *pool, struct rule_claim *claim);

int __wrap_bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size,
			  __u32 value_size, __u32 max_entries,
			  const struct bpf_map_create_opts *opts)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	(void)type;
	(void)name;
	(void)key_size;
	(void)opts;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)value_size * max_entries), 0);
	return fd;
}

int __wrap_bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	(void)fd;
	(void)key;
	(void)value;
	(void)flags;
	return 0;
}

void __wrap_kernel_side_allow_copies(struct kernel_side *k, int32_t nr, int32_t max)
{
	(void)k;
	(void)nr;
	(void)max;
}

void __wrap_table_builder_request(struct table_builder *b, const struct mapped_file *file)
{
	nr_requests++;
	__real_table_builder_request(b, file);
}

enum rule_refusal __wrap_rule_pool_adopt(struct rule_pool *pool, uint32_t user,
					 struct rule_set *set, struct unwind_table *table,
					 struct rule_claim *ret_claim)
{
	enum rule_refusal result = __real_rule_pool_adopt(pool, user, set, table, ret_claim);

	__atomic_add_fetch(&nr_claimed, ret_claim->nr, __ATOMIC_RELAXED);
	return result;
}

void __wrap_rule_pool_release(struct rule_pool *pool, struct rule_claim *claim)
{
	__atomic_sub_fetch(&nr_claimed, claim->nr, __ATOMIC_RELAXED);
	__real_rule_pool_release(pool, claim);
}

static uint32_t rules_held(void)
{
	return __atomic_load_n(&nr_claimed, __ATOMIC_RELAXED);
}

/* A process that maps this program, and an arena of which its user may have half. */
struct fixture {
	struct kernel_side kernel;
	struct limits limits;
	struct ebpf_files files;
	struct process process;
	struct sideband_record record;
	char path[PATH_MAX];
	uint64_t share; /* words: all that the user may have but one */
};

static int set_up(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	struct stat st;

	*state = f;
	nr_requests = nr_claimed = 0;
	f->kernel.modules = xcalloc(NR_MODULE_ENTRIES, sizeof(*f->kernel.modules));
	f->kernel.rules = xcalloc(WALK_NR_RULES, sizeof(*f->kernel.rules));
	f->kernel.max_shards = NR_SHARDS;
	f->kernel.arena = arena_new(-1, NR_SHARDS);
	ebpf_files_init(&f->files, &f->kernel, &f->limits, NULL, NULL, true);
	f->share = f->files.words.size / 2 - 1;
	assert_non_null(realpath("/proc/self/exe", f->path));
	assert_int_equal(stat(f->path, &st), 0);
	f->process = (struct process){ .pid = getpid(), .user = USER };
	f->record = (struct sideband_record){
		.type = SIDEBAND_MMAP,
		.pid = getpid(),
		.start = 0x1000,
		.length = 0x1000,
		.dev = st.st_dev,
		.ino = st.st_ino,
		.path = f->path,
	};
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	ebpf_files_fini(&f->files);
	limits_fini(&f->limits);
	arena_free(f->kernel.arena);
	free(f->kernel.modules);
	free(f->kernel.rules);
	process_fini(&f->process);
	free(f);
	return 0;
}

static void await_tables(struct fixture *f)
{
	ebpf_files_await(&f->files, monotonic_ns() + 60 * NS_PER_S);
}

/* Maps the file into the process, and has its table built. */
static struct mapped_file *map_file(struct fixture *f)
{
	struct mapped_file *file = ebpf_files_mapped(&f->files, &f->process, &f->record);
	const struct mapping m = {
		.start = f->record.start,
		.end = f->record.start + f->record.length,
		.code = file,
	};

	assert_true(file->fd >= 0);
	process_map(&f->process, &m);
	await_tables(f);
	return file;
}

static void fill_share(struct fixture *f)
{
	assert_int_equal(user_shares_take(&f->files.words, USER, f->share), SHARE_TAKEN);
}

static uint32_t state_of(const struct fixture *f, const struct mapped_file *file)
{
	return f->kernel.modules[file->index].state;
}

/* Another file has rested, and so files without rows may find room. */
static void reclaim_another(struct fixture *f, uint64_t now_ns)
{
	bool is_new;
	struct mapped_file *other = file_table_add_runtime(f->files.table, 1, USER, &is_new);

	assert_true(is_new);
	file_table_release(f->files.table, other, now_ns - 10 * NS_PER_S);
	ebpf_files_release(&f->files, &f->process, now_ns);
	await_tables(f);
}

static void a_file_without_room_holds_no_rules(void **state)
{
	struct fixture *f = *state;
	struct mapped_file *file;

	fill_share(f);
	file = map_file(f);
	assert_int_equal(state_of(f, file), WALK_MODULE_COPIED);
	assert_int_equal(rules_held(), 0);
	user_shares_give(&f->files.words, USER, f->share);
	reclaim_another(f, 20 * NS_PER_S);
	assert_int_equal(nr_requests, 2);
	assert_int_equal(state_of(f, file), WALK_MODULE_ROWS);
	assert_int_not_equal(rules_held(), 0);
	process_unmap_all(&f->process);
	ebpf_files_release(&f->files, &f->process, 40 * NS_PER_S);
	assert_int_equal(state_of(f, file), WALK_MODULE_NO_ROWS);
	assert_int_not_equal(rules_held(), 0); /* a walk may still read its rows */
	ebpf_files_release(&f->files, &f->process, 60 * NS_PER_S);
	assert_int_equal(rules_held(), 0);
	assert_int_equal(f->files.words.used, 0);
}

static void a_table_is_not_built_again_while_its_user_has_no_room(void **state)
{
	struct fixture *f = *state;
	struct mapped_file *file;

	fill_share(f);
	file = map_file(f);
	assert_int_equal(nr_requests, 1);
	for (uint64_t i = 1; i <= 5; i++)
		reclaim_another(f, i * 20 * NS_PER_S);
	map_file(f);
	assert_int_equal(nr_requests, 1);
	assert_int_equal(state_of(f, file), WALK_MODULE_COPIED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_without_room_holds_no_rules, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_table_is_not_built_again_while_its_user_has_no_room, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
