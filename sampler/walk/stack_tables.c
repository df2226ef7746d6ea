/*
 * The kernel tells the stack pointer of a thread that waits, not of one that runs. Of the first
 * thread it also tells where the stack ends: there are the frames that stay longest.
 */
#include "sampler/walk/stack_tables.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/order.h"
#include "core/base/proc_status.h"
#include "core/untrusted/remote_read.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/proc_life.h"
#include "sampler/target/process.h"
#include "sampler/walk/table_builder.h"

#define STACK_WORDS 4096 /* 32 KiB */
#define MAX_FILES 128

struct file_count {
	uint32_t index, nr;
};

struct scan {
	const struct process *process;
	struct file_count files[MAX_FILES];
	size_t nr_files;
};

static void count_address(struct scan *s, uint64_t address)
{
	const struct mapping *m = process_find(s->process, address);
	size_t i = 0;

	if (!m || m->code->kind != MODULE_ELF || m->code->over_limit)
		return;
	while (i < s->nr_files && s->files[i].index != m->code->index)
		i++;
	if (i == MAX_FILES)
		return;
	if (i == s->nr_files)
		s->files[s->nr_files++] = (struct file_count){ .index = m->code->index };
	s->files[i].nr++;
}

static void count_stack(struct scan *s, uint64_t start)
{
	uint64_t words[STACK_WORDS];
	ssize_t n = remote_read(s->process->pid, start & ~7ull, words, sizeof(words));

	for (ssize_t i = 0; i < n / 8; i++)
		count_address(s, words[i]);
}

/*
 * "NUMBER ARGUMENT... SP PC" or "-1 SP PC" of a thread that waits; "running". Returns 0 where the
 * stack pointer is not known.
 */
static uint64_t stack_pointer(pid_t tid, uint64_t *ret_pc)
{
	char line[256] = "", *last, *before;
	FILE *f = remote_open(tid, "syscall");

	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	last = strrchr(line, ' ');
	if (!last)
		return 0;
	*ret_pc = strtoull(last, NULL, 16);
	*last = '\0';
	before = strrchr(line, ' ');
	return before ? strtoull(before, NULL, 16) : 0;
}

static void count_thread(struct scan *s, pid_t tid)
{
	uint64_t pc, sp = stack_pointer(tid, &pc);
	struct proc_life life;

	if (sp) {
		count_address(s, pc);
		count_stack(s, sp);
	} else if (tid == s->process->pid && proc_life_read(tid, &life) &&
		   life.stack_end > STACK_WORDS * 8) {
		count_stack(s, life.stack_end - STACK_WORDS * 8);
	}
}

static int fewer_first(const void *a, const void *b)
{
	const struct file_count *x = a, *y = b;

	return ORDER(x->nr, y->nr);
}

size_t stack_tables_first(const struct process *p, struct table_builder *builder, size_t max)
{
	struct scan s = { .process = p };
	DIR *threads = proc_threads(p->pid);
	size_t nr = 0;
	pid_t tid;

	for (; nr < max && (tid = proc_next(threads)); nr++)
		count_thread(&s, tid);
	proc_close(threads);
	qsort(s.files, s.nr_files, sizeof(s.files[0]), fewer_first);
	for (size_t i = 0; i < s.nr_files; i++) /* the last comes first */
		table_builder_hurry(builder, s.files[i].index);
	return nr;
}
