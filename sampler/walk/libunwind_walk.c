/*
 * libunwind's remote interface asks for everything by callbacks. For each function it gets a search
 * table of one entry, at an address that no program has: the FDE that our list of functions found.
 *
 * libunwind's cache keeps one rule for each pc, although the rule of a return address is that of
 * the call before it. So each step is a walk of its own that begins where the rule is looked up.
 */
#include "sampler/walk/libunwind_walk.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sampler/walk/libunwind_x86_64.h"
#include "sampler/walk/user_walk.h"

/* Exported by libunwind for perf and others, declared in no header. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_unwind_info, void *arg);

/* The one entry of the search table: {start of the function, its FDE}, relative to the start. */
#define TABLE_ADDRESS 0xfffff00000000000ull
#define WALL_FACTOR 4 /* by which a walk may take longer than its CPU time */

struct libunwind_walk {
	struct libunwind_modules *modules;
	unw_addr_space_t space;
	uint64_t sample_space;			   /* that libunwind's cache is valid for */
	uint64_t limit_ns, start_ns, start_cpu_ns; /* libunwind_walk_limit() */
	/* of the current walk */
	const struct snapshot_sample *sample;
	struct libunwind_regs regs;  /* of the frame that a step leaves */
	struct snapshot_place place; /* of the last address; end 0 = none */
	int32_t table[2];
	uint64_t fault;
};

bool snapshot_sample_read(const struct snapshot_sample *sample, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - sample->stack_start;

	if (offset >= sample->stack_size || sample->stack_size - offset < 8)
		return false;
	memcpy(ret, sample->stack + offset, 8);
	return true;
}

/* Sets the current place to that of an address. false: it is in no readable ELF file. */
static bool go_to(struct libunwind_walk *walk, uint64_t address)
{
	if (address < walk->place.start || address >= walk->place.end) {
		if (!libunwind_modules_find(walk->modules, address, &walk->place)) {
			walk->place.end = 0;
			return false;
		}
	}
	return walk->place.module;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
			  int need_unwind_info, void *arg)
{
	struct libunwind_walk *walk = arg;
	struct snapshot_fde fde;
	unw_dyn_info_t table = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	uint64_t bias;

	if (!go_to(walk, ip))
		return -UNW_ENOINFO;
	bias = walk->place.bias;
	if (!libunwind_module_fde(walk->place.module, ip - bias, &fde))
		return -UNW_ENOINFO;
	walk->table[0] = 0;
	walk->table[1] = (int32_t)(fde.vaddr - fde.start);
	if (fde.start + (uint64_t)(int64_t)walk->table[1] != fde.vaddr)
		return -UNW_ENOINFO; /* more than 2 GiB apart */
	table.start_ip = fde.start + bias;
	table.end_ip = fde.end + bias;
	table.u.rti.segbase = fde.start + bias;
	table.u.rti.table_data = TABLE_ADDRESS;
	table.u.rti.table_len = 1;
	return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, info, need_unwind_info, arg);
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
		      void *arg)
{
	struct libunwind_walk *walk = arg;
	uint64_t read;

	(void)space;
	if (write)
		return -UNW_EINVAL;
	if (address == TABLE_ADDRESS)
		memcpy(&read, walk->table, sizeof(read));
	else if (!snapshot_sample_read(walk->sample, address, &read) &&
		 (!walk->place.module ||
		  !libunwind_modules_read(walk->modules, walk->place.module,
					  address - walk->place.bias, &read))) {
		walk->fault = address;
		return -UNW_EUNSPEC;
	}
	*value = read;
	return 0;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
		      void *arg)
{
	const struct libunwind_regs *regs = &((struct libunwind_walk *)arg)->regs;

	(void)space;
	if (write)
		return -UNW_EINVAL;
	if (number < 0 || number >= LIBUNWIND_NR_REGS || !(regs->known >> number & 1))
		return -UNW_EBADREG;
	*value = regs->value[number];
	return 0;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *arg)
{
	(void)space, (void)info, (void)arg;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address, void *arg)
{
	(void)space, (void)address, (void)arg;
	return -UNW_ENOINFO;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write,
			void *arg)
{
	(void)space, (void)number, (void)value, (void)write, (void)arg;
	return -UNW_EINVAL;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *arg)
{
	(void)space, (void)cursor, (void)arg;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t address, char *name, size_t size,
			 unw_word_t *offset, void *arg)
{
	(void)space, (void)address, (void)name, (void)size, (void)offset, (void)arg;
	return -UNW_EINVAL;
}

struct libunwind_walk *libunwind_walk_new(struct libunwind_modules *modules)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};
	struct libunwind_walk *walk = xcalloc(1, sizeof(*walk));

	walk->modules = modules;
	walk->limit_ns = UINT64_MAX;
	walk->space = unw_create_addr_space(&accessors, 0);
	if (!walk->space) {
		free(walk);
		return NULL;
	}
	unw_set_caching_policy(walk->space, UNW_CACHE_GLOBAL);
	unw_set_cache_size(walk->space, 4096, 0);
	return walk;
}

void libunwind_walk_free(struct libunwind_walk *walk)
{
	if (!walk)
		return;
	unw_destroy_addr_space(walk->space);
	free(walk);
}

/* The registers that the cursor has come to. A lost one is not known. */
static void take_registers(struct libunwind_walk *walk, unw_cursor_t *cursor)
{
	struct libunwind_regs regs = { .known = 0 };

	for (int i = 0; i < LIBUNWIND_NR_REGS; i++) {
		unw_word_t value;

		if (unw_get_reg(cursor, i, &value))
			continue;
		regs.value[i] = value;
		regs.known |= 1u << i;
	}
	walk->regs = regs;
}

/* One step. WALK_OK: *regs and walk->regs are the caller's. */
static enum walk_status step(struct libunwind_walk *walk, struct walk_regs *regs)
{
	uint64_t lookup = user_walk_pc(regs);
	unw_cursor_t cursor;
	unw_word_t pc, sp, fp;
	struct snapshot_fde fde;
	int is_signal, err;

	/* Without CFI libunwind would guess by rbp; the row walker does that better. */
	if (!go_to(walk, lookup) ||
	    !libunwind_module_fde(walk->place.module, lookup - walk->place.bias, &fde))
		return WALK_NO_RULE;
	walk->regs.value[LIBUNWIND_PC] = lookup;
	if (unw_init_remote(&cursor, walk->space, walk))
		return WALK_READ_FAULT;
	err = unw_step(&cursor);
	if (err == 0)
		return WALK_END;
	if (err < 0)
		return err == -UNW_EUNSPEC ? WALK_READ_FAULT : WALK_NO_RULE;
	if (unw_get_reg(&cursor, LIBUNWIND_PC, &pc) || unw_get_reg(&cursor, LIBUNWIND_SP, &sp))
		return WALK_READ_FAULT;
	if (!pc)
		return WALK_END;
	is_signal = unw_is_signal_frame(&cursor) > 0;	/* of the frame below */
	if (sp < regs->sp + !regs->exact && !is_signal) /* as walk_apply() */
		return WALK_BAD_STACK;
	if (unw_get_reg(&cursor, LIBUNWIND_FP, &fp))
		fp = 1; /* lost: misaligned, so no walker uses it */
	take_registers(walk, &cursor);
	*regs = (struct walk_regs){ .pc = pc, .sp = sp, .fp = fp, .exact = is_signal };
	return WALK_OK;
}

void libunwind_walk_limit(struct libunwind_walk *walk, uint64_t cpu_ns)
{
	walk->limit_ns = cpu_ns;
	walk->start_ns = monotonic_ns();
	walk->start_cpu_ns = thread_cpu_ns();
}

/* Asks for the CPU time, which is a system call, only where it can be over. */
static bool is_over(const struct libunwind_walk *walk)
{
	uint64_t elapsed_ns = monotonic_ns() - walk->start_ns;

	return elapsed_ns >= walk->limit_ns &&
	       (elapsed_ns / WALL_FACTOR >= walk->limit_ns ||
		thread_cpu_ns() - walk->start_cpu_ns >= walk->limit_ns);
}

enum walk_status libunwind_walk_run(struct libunwind_walk *walk,
				    const struct snapshot_sample *sample, struct walk_regs *regs,
				    uint64_t *frames, uint64_t *sps, size_t max, size_t *nr)
{
	enum walk_status status = WALK_OK;

	if (sample->space != walk->sample_space) {
		unw_flush_cache(walk->space, 0, 0);
		walk->sample_space = sample->space;
	}
	walk->sample = sample;
	libunwind_regs_start(&walk->regs, regs);
	walk->place.end = 0; /* it may be of another space */
	if (!*nr && max) {
		sps[*nr] = regs->sp;
		frames[(*nr)++] = user_walk_frame(regs);
	}
	while (*nr < max) {
		if (is_over(walk))
			return WALK_TOO_LONG;
		status = step(walk, regs);
		if (status != WALK_OK)
			break;
		sps[*nr] = regs->sp;
		frames[(*nr)++] = user_walk_frame(regs);
	}
	return status;
}

static bool read_stack(void *context, uint64_t address, uint64_t *ret)
{
	struct libunwind_walk *walk = context;

	walk->fault = address;
	return snapshot_sample_read(walk->sample, address, ret);
}

static bool no_rule(void *context, uint64_t address, struct walk_rule *ret)
{
	(void)context, (void)address;
	*ret = (struct walk_rule){ .cfa = WALK_CFA_NONE };
	return true;
}

/* Leaves the frame where libunwind ended by its frame pointer, and has libunwind go on. */
static bool cross(struct libunwind_walk *walk, struct snapshot_turn *t, struct walk_regs *regs,
		  size_t *nr)
{
	static const struct user_walk_ops ops = { read_stack, no_rule };
	uint64_t lookup = user_walk_pc(regs);
	struct snapshot_fde fde;

	if (t->status != WALK_NO_RULE || !t->pending || *nr >= t->max || !go_to(walk, lookup) ||
	    walk->place.key != t->module ||
	    libunwind_module_fde(walk->place.module, lookup - walk->place.bias, &fde))
		return false;
	t->status = user_walk(&ops, walk, regs, t->frames, t->sps, *nr + 1, nr);
	if (t->status != WALK_OK)
		return false;
	t->status = libunwind_walk_run(walk, walk->sample, regs, t->frames, t->sps, t->max, nr);
	return true;
}

void libunwind_walk_turn(struct libunwind_walk *walk, const struct snapshot_sample *sample,
			 struct snapshot_turn *t)
{
	struct walk_regs regs = sample->regs;
	size_t nr = 0;

	t->status = libunwind_walk_run(walk, sample, &regs, t->frames, t->sps, t->max, &nr);
	t->from_leaf = nr > t->nr;
	if (!t->from_leaf) {
		regs = t->regs;
		nr = 1; /* its frame is there already */
		t->status = libunwind_walk_run(walk, sample, &regs, t->frames, t->sps, t->max, &nr);
	}
	while (cross(walk, t, &regs, &nr))
		;
	if (!t->from_leaf) {
		nr--;
		memmove(t->frames, t->frames + 1, nr * sizeof(*t->frames));
		memmove(t->sps, t->sps + 1, nr * sizeof(*t->sps));
	}
	t->regs = regs;
	t->nr_found = nr;
	t->fault = walk->fault;
}
