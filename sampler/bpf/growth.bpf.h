/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Growth of the memory of a process that is in RAM. At each page fault that needed no disk, the
 * kernel's count of the process's pages is read. Once it has grown by enough since the last sample,
 * the stack of one of the next faults, chosen at random, gets all of the growth. So the sum of the
 * samples is the growth, whatever the size of the pages, and each stack gets its share.
 */
#ifndef SPROF_GROWTH_BPF_H
#define SPROF_GROWTH_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sampler/bpf/events.h"
#include "sampler/bpf/task.h"

#define GROWTH_PAGES 16 /* grown since the last sample: then the next one is near */
#define PAGE_BYTES 4096
/*
 * The kernel adds to its count when a CPU has collected 32 pages or more. A sample is taken up to
 * 64 faults after that, so that it does not meet the same fault of a loop every time.
 */
#define GROWTH_SPREAD 63

/* enum mm_counter: file pages are left out. */
#define MM_ANONYMOUS 1
#define MM_SHARED 3

struct growth_state {
	__u64 pages; /* at the last sample, or fewer that were in RAM since */
	__u32 faults_left;
	__u32 is_near; /* a sample is due after that many faults */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MAX_GROWING);
	__type(key, __u32); /* of a process */
	__type(value, struct growth_state);
} growing SEC(".maps");

static __always_inline __u64 no_less_than_0(__s64 pages)
{
	return pages > 0 ? (__u64)pages : 0;
}

/* The indexes are constants, or the size of an element would not be that of the kernel. */
static __always_inline __u64 pages_in_ram(void)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct mm_struct___counters *counters = (void *)mm;
	struct mm_struct___counts *counts = (void *)mm;
	__s64 anonymous = 0, shared = 0;

	if (!mm)
		return 0;
	if (bpf_core_field_exists(counters->rss_stat[MM_ANONYMOUS].count)) {
		anonymous = BPF_CORE_READ(counters, rss_stat[MM_ANONYMOUS].count);
		shared = BPF_CORE_READ(counters, rss_stat[MM_SHARED].count);
	} else if (bpf_core_field_exists(counts->rss_stat.count)) {
		anonymous = BPF_CORE_READ(counts, rss_stat.count[MM_ANONYMOUS].counter);
		shared = BPF_CORE_READ(counts, rss_stat.count[MM_SHARED].counter);
	}
	return no_less_than_0(anonymous) + no_less_than_0(shared);
}

/* Returns the bytes of growth that this fault of a process stands for; 0: it is not sampled. */
static __always_inline __u64 growth_at_fault(__u32 tgid)
{
	struct growth_state *s = bpf_map_lookup_elem(&growing, &tgid), first = { 0 };
	__u64 pages = pages_in_ram(), before;

	if (!s) {
		first.pages = pages;
		bpf_map_update_elem(&growing, &tgid, &first, BPF_NOEXIST);
		return 0;
	}
	if (pages < s->pages)
		s->pages = pages;
	if (pages < s->pages + GROWTH_PAGES)
		return 0;
	if (!s->is_near) {
		s->is_near = 1;
		s->faults_left = bpf_get_prandom_u32() & GROWTH_SPREAD;
	}
	if (s->faults_left) {
		s->faults_left--;
		return 0;
	}
	s->is_near = 0;
	/* Another CPU may be here, too: only one of them gets the growth. */
	before = __sync_lock_test_and_set(&s->pages, pages);
	return pages > before ? (pages - before) * PAGE_BYTES : 0;
}

#endif
