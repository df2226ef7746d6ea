#include "sampler/walk/libunwind_walk.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "sampler/walk/libunwind_x86_64.h"
#include "sampler/walk/user_walk.h"

/* Exported by libunwind for perf and others, declared in no header. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di,
				       unw_proc_info_t *pi, int need_unwind_info, void *arg);

/* Where libunwind reads its search table: an address no program has. It holds one entry, the one it
 * is looking for: {start of the function, place of its FDE}, both relative to the start. */
#define TABLE_ADDRESS 0xfffff00000000000ull

struct libunwind_walk {
	struct libunwind_modules *modules;
	unw_addr_space_t space;
	uint64_t sample_space; /* for which libunwind's cache holds */
	/* the walk in hand */
	const struct snapshot_sample *sample;
	const struct walk_regs *regs; /* at its start */
	struct snapshot_place place;  /* of the last address looked up; end 0 = none */
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

/* Makes the place of an address the current one. false: it is in no ELF file that we can read. */
static bool go_to(struct libunwind_walk *remote, uint64_t address)
{
	if (address < remote->place.start || address >= remote->place.end) {
		if (!libunwind_modules_find(remote->modules, address, &remote->place)) {
			remote->place.end = 0;
			return false;
		}
	}
	return remote->place.module;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info,
			  int need_unwind_info, void *arg)
{
	struct libunwind_walk *remote = arg;
	struct snapshot_fde fde;
	unw_dyn_info_t table = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	uint64_t bias;

	if (!go_to(remote, ip))
		return -UNW_ENOINFO;
	bias = remote->place.bias;
	if (!libunwind_module_fde(remote->place.module, ip - bias, &fde))
		return -UNW_ENOINFO;
	remote->table[0] = 0;
	remote->table[1] = (int32_t)(fde.vaddr - fde.start);
	if (fde.start + (uint64_t)(int64_t)remote->table[1] != fde.vaddr)
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
	struct libunwind_walk *remote = arg;
	uint64_t read;

	(void)space;
	if (write)
		return -UNW_EINVAL;
	if (address == TABLE_ADDRESS)
		memcpy(&read, remote->table, sizeof(read));
	else if (!snapshot_sample_read(remote->sample, address, &read) &&
		 (!remote->place.module ||
		  !libunwind_modules_read(remote->modules, remote->place.module,
					  address - remote->place.bias, &read))) {
		remote->fault = address;
		return -UNW_EUNSPEC;
	}
	*value = read;
	return 0;
}

static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write,
		      void *arg)
{
	const struct walk_regs *regs = ((struct libunwind_walk *)arg)->regs;

	(void)space;
	if (write)
		return -UNW_EINVAL;
	if (!libunwind_register(regs, number, value))
		return -UNW_EBADREG;
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
	struct libunwind_walk *remote = xcalloc(1, sizeof(*remote));

	remote->modules = modules;
	remote->space = unw_create_addr_space(&accessors, 0);
	if (!remote->space) {
		free(remote);
		return NULL;
	}
	unw_set_caching_policy(remote->space, UNW_CACHE_GLOBAL);
	unw_set_cache_size(remote->space, 4096, 0);
	return remote;
}

void libunwind_walk_free(struct libunwind_walk *remote)
{
	if (!remote)
		return;
	unw_destroy_addr_space(remote->space);
	free(remote);
}

/* One step. WALK_OK: *regs are the caller's. */
static enum walk_status step(struct libunwind_walk *remote, unw_cursor_t *cursor,
			     struct walk_regs *regs)
{
	uint64_t lookup = regs->exact ? regs->pc : regs->pc - 1;
	unw_word_t pc, sp, fp;
	struct snapshot_fde fde;
	int is_signal, err;

	/* Without CFI libunwind would guess by rbp. That is the row walker's part. */
	if (!go_to(remote, lookup) ||
	    !libunwind_module_fde(remote->place.module, lookup - remote->place.bias, &fde))
		return WALK_NO_RULE;
	err = unw_step(cursor);
	if (err == 0)
		return WALK_END;
	if (err < 0)
		return err == -UNW_EUNSPEC ? WALK_READ_FAULT : WALK_NO_RULE;
	if (unw_get_reg(cursor, LIBUNWIND_PC, &pc) || unw_get_reg(cursor, LIBUNWIND_SP, &sp))
		return WALK_READ_FAULT;
	if (!pc)
		return WALK_END;
	is_signal = unw_is_signal_frame(cursor) > 0;	/* the frame that was left */
	if (sp < regs->sp + !regs->exact && !is_signal) /* as walk_apply() */
		return WALK_BAD_STACK;
	if (unw_get_reg(cursor, LIBUNWIND_FP, &fp))
		fp = 1; /* lost; nothing believes this one */
	*regs = (struct walk_regs){ .pc = pc, .sp = sp, .fp = fp, .exact = is_signal };
	return WALK_OK;
}

enum walk_status libunwind_walk_run(struct libunwind_walk *remote,
				    const struct snapshot_sample *sample, struct walk_regs *regs,
				    uint64_t *frames, uint64_t *sps, size_t max, size_t *nr)
{
	struct walk_regs start = *regs;
	enum walk_status status = WALK_OK;
	unw_cursor_t cursor;

	if (sample->space != remote->sample_space) {
		unw_flush_cache(remote->space, 0, 0);
		remote->sample_space = sample->space;
	}
	remote->sample = sample;
	remote->regs = &start;
	remote->place.end = 0; /* of another space, perhaps */
	if (!*nr && max) {
		sps[*nr] = regs->sp;
		frames[(*nr)++] = user_walk_frame(regs);
	}
	if (unw_init_remote(&cursor, remote->space, remote))
		return WALK_READ_FAULT;
	while (*nr < max) {
		status = step(remote, &cursor, regs);
		if (status != WALK_OK)
			break;
		sps[*nr] = regs->sp;
		frames[(*nr)++] = user_walk_frame(regs);
	}
	return status;
}

uint64_t libunwind_walk_fault(const struct libunwind_walk *remote)
{
	return remote->fault;
}
