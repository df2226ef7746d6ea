/*
 * The stack walker in the kernel: finds the mapping and the unwind rule of a pc and steps up, with
 * the lookup and step code of core/portable/walk.h. Functions that loop are global (__noinline, not
 * static): the verifier checks each once instead of once per call, so a walk of any length costs it
 * as much as one step.
 */
#ifndef SPROF_WALKER_BPF_H
#define SPROF_WALKER_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>

#include "core/portable/walk.h"
#include "sampler/bpf/events.h"
#include "sampler/bpf/walk_state.bpf.h"

struct arena_shard {
	__u32 words[ARENA_SHARD_WORDS];
};

struct arena_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct arena_shard)); /* not __type: BTF drops it in inner maps */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, ARENA_MAX_SHARDS);
	__type(key, __u32);
	__array(values, struct arena_inner);
} arena SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WALK_NR_RULES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct walk_rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WALK_MAX_MODULES + WALK_MAX_RUNTIME_TABLES);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct module_entry);
} modules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KNOWN_RULE_SETS);
	__type(key, __u32);
	__type(value, struct known_rules);
} known_rules SEC(".maps");

/* The time that a sample may take, and the part of it for Python frames. The recorder sets them. */
const volatile __u64 walk_ns, python_ns;

/*
 * Grants the sample another slice of its budget. 1: `limit_ns` are over since its beginning, or all
 * slices are spent. Not inline, because all functions of a call chain share 512 bytes of stack.
 */
__noinline int is_over(struct walk_state *st, __u64 limit_ns)
{
	if (!st || !st->budget.nr_slices ||
	    bpf_ktime_get_ns() - st->event.header.time_ns >= limit_ns)
		return 1;
	st->budget.nr_slices--;
	st->budget.left = BUDGET_SLICE;
	return 0;
}

/* Reads user memory, and charges for it. 0, or not 0 where there is nothing. */
static __always_inline long read_user(struct walk_state *st, void *to, __u32 size, __u64 address)
{
	long err = bpf_probe_read_user(to, size, (void *)address);

	budget_charge(&st->budget, err ? COST_READ + COST_FAULT : COST_READ);
	return err;
}

/*
 * Reads a word of the stack that the window does not hold, and moves the window there. 0: it is in
 * st->word.
 */
__noinline int read_far(struct walk_state *st, __u64 address)
{
	if (!st)
		return 1;
	if (!(address & 7)) {
		if (!read_user(st, st->window, WINDOW_SIZE, address)) {
			st->window_base = address;
			st->word = st->window[0];
			return 0;
		}
		st->window_base = -1ull;
	}
	return read_user(st, &st->word, 8, address) != 0;
}

static __always_inline int walk_read(void *context, __u64 address, __u64 *ret)
{
	struct walk_state *st = context;
	__u64 offset = address - st->window_base;

	if ((address & 7) || offset >= WINDOW_SIZE) {
		if (read_far(st, address))
			return 1;
		*ret = st->word;
		return 0;
	}
	*ret = st->window[(offset >> 3) & (WINDOW_SIZE / 8 - 1)];
	return 0;
}

#include "core/portable/walk_step.h"

static __always_inline int walk_read_gregs(void *context, __u64 address, __u64 *unused,
					   const __u64 **ret_gregs)
{
	struct walk_state *st = context;

	(void)unused;
	st->window_base = -1ull;
	*ret_gregs = st->window;
	return read_user(st, st->window, WALK_GREGS * 8, address) != 0;
}

static __always_inline const __u32 *arena_words(__u32 index)
{
	__u32 shard = index >> ARENA_SHARD_SHIFT, zero = 0;
	void *inner = bpf_map_lookup_elem(&arena, &shard);
	struct arena_shard *value;

	if (!inner)
		return NULL;
	value = bpf_map_lookup_elem(inner, &zero);
	return value ? value->words : NULL;
}

/* Makes the mapping that contains pc the current one. 1: found; 0: there is none. */
__noinline int find_map(struct walk_state *st, __u64 pc)
{
	const struct module_entry *m;
	const struct map_entry *e;
	const __u32 *words;
	__u32 first, module, low = 0, high;

	if (!st || !st->nr_maps || st->nr_maps > WALK_MAX_MAPS)
		return 0;
	words = arena_words(st->maps);
	if (!words)
		return 0;
	first = st->maps & ARENA_SHARD_MASK;
	high = st->nr_maps;
	for (int i = 0; i < 14; i++) {
		__u32 middle = (low + high) >> 1, below;

		if (high - low <= 1)
			break;
		e = (void *)&words[(first + middle * MAP_ENTRY_WORDS) & (ARENA_SHARD_MASK & ~7u)];
		/* 1 if it begins at or before pc, without a branch: see walk_search_run() */
		below = (e->start - pc - 1) >> 63;
		__asm__("" : "+r"(below));
		low += (middle - low) * below;
		high = middle + (high - middle) * below;
	}
	e = (void *)&words[(first + low * MAP_ENTRY_WORDS) & (ARENA_SHARD_MASK & ~7u)];
	if (pc < e->start || pc >= e->end)
		return 0;
	module = e->module;
	m = bpf_map_lookup_elem(&modules, &module);
	if (!m)
		return 0;
	st->map_start = e->start;
	st->map_end = e->end;
	st->map_bias = e->bias;
	st->map_table = e->table;
	st->module = *m;
	return 1;
}

/* The unwind rule number for pc, which lies in the current mapping. */
static __always_inline __u32 find_rule(struct walk_state *st, __u64 pc)
{
	const __u32 *words;
	__u64 offset;
	__u32 page, word, index;

	if (!st)
		return WALK_RULE_NONE;
	offset = pc - st->map_bias - st->module.base;
	if (offset >> 32)
		return WALK_RULE_NONE;
	page = (__u32)offset >> WALK_PAGE_SHIFT;
	if (page >= st->module.nr_pages)
		return WALK_RULE_NONE;
	index = st->module.pages + page;
	words = arena_words(index);
	if (!words)
		return WALK_RULE_NONE;
	word = words[index & ARENA_SHARD_MASK];
	if (word & WALK_ONE_RULE)
		return walk_row_rule(word);
	words = arena_words(word);
	if (!words)
		return WALK_RULE_NONE;
	index = word & ARENA_SHARD_MASK;
	word = words[index];
	return walk_search_run(words, index, (word >> 16) & 2047, offset & (WALK_PAGE_SIZE - 1),
			       ARENA_SHARD_MASK);
}

static __always_inline void keep_frame(struct walk_state *st, __u64 frame)
{
	__u32 slot = st->nr_user;

	if (slot >= MAX_LEAF_FRAMES)
		slot = MAX_LEAF_FRAMES + ((slot - MAX_LEAF_FRAMES) & (MAX_ROOT_FRAMES - 1));
	st->frames[(st->event.nr_kernel + slot) & FRAMES_MASK] = frame;
	st->nr_user++;
	st->hash = (st->hash ^ frame) * 0x9fb21c651e98df25ull;
	st->hash ^= st->hash >> 32;
}

/* Keeps the frame that the walk came to as one of the outermost, unless a signal interrupted it. */
static __always_inline void keep_outer(struct walk_state *st)
{
	struct root_frame *to = &st->outer[st->nr_outer & (MAX_JOINED_FRAMES - 1)];

	to->pc = st->regs.pc;
	to->sp = st->regs.sp;
	st->nr_outer = st->regs.exact ? 0 : st->nr_outer + 1;
}

/* Keeps the frames of the current run of Python frames. */
int python_keep_frames(struct walk_state *st);
/* Reads the next run. */
int python_next_run(struct walk_state *st);

/* Finds the rule at pc: st->rule. 0: found; otherwise st->end says why not. */
__noinline int look_up_rule(struct walk_state *st, __u64 pc)
{
	const __u64 *rule;
	__u32 number = WALK_RULE_NONE;

	if (!st)
		return 1;

	budget_charge(&st->budget, COST_LOOKUP);
	if (pc < st->map_start || pc >= st->map_end) {
		budget_charge(&st->budget, COST_LOOKUP);
		if (!find_map(st, pc)) {
			st->end = st->nr_maps ? END_NO_MAP : END_NO_TABLE;
			return 1;
		}
	}
	if (st->module.state == WALK_MODULE_PENDING) {
		st->end = END_PENDING;
		return 1;
	}
	if (st->module.state == WALK_MODULE_COPIED) {
		st->end = END_COPIED;
		return 1;
	}
	if (st->module.state == WALK_MODULE_ROWS)
		number = find_rule(st, pc);
	else if (st->module.state == WALK_MODULE_OVER_LIMIT)
		number = WALK_RULE_OVER_LIMIT;
	rule = bpf_map_lookup_elem(&rules, &number);
	if (!rule)
		return 1;
	st->rule = *rule;
	return 0;
}

static __always_inline int rule_is_known(struct walk_state *st, const struct known_rule *known,
					 __u64 mark)
{
	st->rule = *(const volatile __u64 *)&known->rule;
	return (*(const volatile __u64 *)&known->check ^ st->rule) == mark;
}

/*
 * As look_up_rule(), with the cache of known rules in front. Return addresses are met again and
 * again, pcs of leaves hardly ever. A rule that was found by a map table other than the process's
 * current one is not cached.
 */
static __always_inline int take_rule(struct walk_state *st, __u64 pc)
{
	__u64 mark = (pc ^ st->table * 0xd6e8feb86659fd93ull) * 0x9fb21c651e98df25ull | 1;
	__u32 at = mark >> 40 & (KNOWN_RULE_SETS - 1);
	struct known_rules *set;
	struct known_rule *way;

	if (st->regs.exact || !st->table)
		return look_up_rule(st, pc);
	set = bpf_map_lookup_elem(&known_rules, &at);
	if (!set)
		return 1;
	st->path[st->nr_path++ & (PATH_STEPS - 1)] = at;
	if (rule_is_known(st, &set->ways[0], mark) || rule_is_known(st, &set->ways[1], mark) ||
	    rule_is_known(st, &set->ways[2], mark) || rule_is_known(st, &set->ways[3], mark))
		return 0;
	if (look_up_rule(st, pc))
		return 1;
	if (st->map_table == st->table) {
		way = &set->ways[(mark ^ st->event.header.time_ns) >> 4 & (KNOWN_RULE_WAYS - 1)];
		*(volatile __u64 *)&way->rule = st->rule;
		*(volatile __u64 *)&way->check = mark ^ st->rule;
	}
	return 0;
}

/* Reads the next few sets of known rules, from st->low on. 1: there are no more. */
__noinline int fetch_next_rules(struct walk_state *st)
{
	__u64 sum = 0;

	if (!st)
		return 1;
	for (__u32 i = 0; i < FETCHED_AT_ONCE; i++) {
		__u32 at = st->path[(st->low + i) & (PATH_STEPS - 1)];
		const struct known_rules *set = bpf_map_lookup_elem(&known_rules, &at);

		if (!set)
			return 1;
		/* both ends: a set may span two cache lines */
		sum += set->ways[0].check + set->ways[KNOWN_RULE_WAYS - 1].rule;
	}
	st->word = sum; /* or the compiler would leave the reads out */
	st->low += FETCHED_AT_ONCE;
	return st->low >= st->nr_path;
}

/*
 * Brings the sets of known rules that the last walk read into the CPU's cache, all at once and not
 * line after line: much of two stacks is the same.
 */
static __always_inline void fetch_known_rules(struct walk_state *st)
{
	st->low = 0;
	for (__u32 i = 0; i < PATH_STEPS / FETCHED_AT_ONCE; i++)
		if (fetch_next_rules(st))
			break;
}

/* Goes one frame up. 0: go on; otherwise st->end says why the walk ends. */
static __always_inline int step_up(struct walk_state *st, __u64 pc)
{
	enum walk_status status;

	if (take_rule(st, pc))
		return 1;
	status = walk_apply((const struct walk_rule *)&st->rule, &st->regs, st);
	if (status == WALK_OK)
		return 0;
	st->end = walk_end_of(status);
	return 1;
}

/*
 * Goes one frame up and keeps the frame it leaves, or the Python frames that this one ran. 0: go
 * on.
 */
__noinline int step(struct walk_state *st)
{
	__u64 pc, sp, frame;
	int over;

	if (!st)
		return 1;
	budget_charge(&st->budget, COST_STEP);
	if (st->budget.left < 0 && is_over(st, st->limit_ns)) {
		st->end = END_TOO_LONG;
		return 1;
	}
	pc = st->regs.exact ? st->regs.pc : st->regs.pc - 1;
	frame = st->regs.exact ? st->regs.pc | FRAME_EXACT : st->regs.pc;
	sp = st->regs.sp;
	over = step_up(st, pc);
	if (st->climbs) {
		if (!over)
			keep_outer(st);
		return over;
	}
	if (py_run_is_at(&st->py, pc, sp, st->regs.sp)) {
		st->nr_outer = 0;
		python_keep_frames(st);
		python_next_run(st);
	} else {
		keep_frame(st, frame);
	}
	if (st->nr_user >= DEEP && !over)
		keep_outer(st);
	return over;
}

/* Takes a batch of steps. Nested loops keep the verifier's backlog of branches short. */
__noinline int walk_batch(struct walk_state *st)
{
	if (!st)
		return 1;
	for (int i = 0; i < STEPS_PER_BATCH; i++)
		if (step(st))
			return 1;
	return 0;
}

/* Walks until st->limit_ns are over, or the walk ends: st->end says why. */
static __always_inline void walk_batches(struct walk_state *st)
{
	st->end = END_TOO_DEEP;
	for (int i = 0; i < MAX_STEPS / STEPS_PER_BATCH; i++)
		if (walk_batch(st))
			break;
}

/* Begins the walk, and walks for half of the time at most. */
static __always_inline void walk_user(struct walk_state *st)
{
	__u64 now = st->event.header.time_ns;

	if (st->table && st->path_table == st->table && now - st->path_ns > STAYS_CACHED_NS)
		fetch_known_rules(st);
	st->path_table = st->table;
	st->path_ns = now;
	st->nr_path = 0;
	st->nr_outer = 0;
	st->climbs = 0;
	st->limit_ns = walk_ns / 2;
	walk_batches(st);
}

#endif
