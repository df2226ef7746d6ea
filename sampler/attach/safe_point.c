/*
 * Copies the stack of a stopped thread, unwinds the copy when the thread runs again or stands
 * still, and asks of each frame which function it is in. A leaf that waits for an event may be in
 * functions of libc without a name.
 */
#include "sampler/attach/safe_point.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/base/alloc.h"
#include "core/base/path.h"
#include "core/portable/frames.h"
#include "core/sandbox/sandbox.h"
#include "core/untrusted/remote_read.h"
#include "sampler/inject/ptrace_thread.h"
#include "sampler/inject/reason.h"
#include "sampler/walk/confined/confined_walk.h"
#include "sampler/walk/snapshot_lookup.h"
#include "sampler/target/proc_maps.h"
#include "sampler/target/process.h"
#include "sampler/target/registers_x86_64.h"
#include "sampler/attach/confined_roles.h"
#include "sampler/attach/critical_functions.h"
#include "sampler/attach/x86_64/waiting_calls.h"
#include "sampler/inject/x86_64/registers.h"

#define MAX_STACK (512u << 10)
#define PAGE 4096u
#define MAX_FRAMES 1024u
#define NR_ROOT_FRAMES 3u /* frames of libc that lie below main(), or below a thread's function */

struct safe_point {
	struct file_table *files;
	struct process process;
	struct module_functions *functions; /* by index of the file */
	size_t nr;
	bool has_other_allocator;
	struct confined_walk *walk;
	uint8_t *stack;
	struct snapshot_sample sample;
	struct user_regs_struct regs;
	char why[160];
};

static bool find_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	const struct safe_point *s = context;

	return snapshot_find_mapping(&s->process, address, ret);
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	const struct safe_point *s = context;

	return snapshot_open_module(s->files, module, ret);
}

static void ignore_file(void *context, struct mapped_file *file)
{
	(void)context;
	(void)file;
}

static bool is_loader(const struct mapped_file *file)
{
	return file->path && !strncmp(path_base_name(file->path), "ld-linux", 8);
}

static int refuse_file(const struct mapped_file *file, int err, struct inject_reason *reason)
{
	const char *why =
		err == -EFBIG ? "its process has too many functions" : sandbox_failure(err);

	return inject_refuse(reason, err, "start it with the library",
			     "the functions of '%.80s' are not known: %s",
			     file->path ? file->path : "?", why ? why : strerror(-err));
}

static int read_symbols(struct safe_point *s, const struct sandbox *sandbox,
			struct inject_reason *reason)
{
	struct role_reader *reader = role_reader_new(sandbox);
	int err = 0;

	s->nr = file_table_size(s->files);
	s->functions = xcalloc(s->nr + 1, sizeof(*s->functions));
	for (size_t i = 0; i < s->nr && !err; i++) {
		const struct mapped_file *file = file_table_get(s->files, (uint32_t)i);

		if (!file || file->fd < 0 || file->kind != MODULE_ELF)
			continue;
		/* Without its headers its functions are not found by their addresses. */
		err = file->parser_failed ? -EBADMSG
					  : role_reader_read(reader, file->fd, &s->functions[i]);
		if (err == -ENOEXEC)
			err = 0;
		else if (err)
			refuse_file(file, err, reason);
		if (s->functions[i].has_malloc && !s->functions[i].is_libc && !is_loader(file))
			s->has_other_allocator = true;
	}
	role_reader_free(reader);
	return err;
}

int safe_point_new(pid_t pid, const struct sandbox *sandbox, struct safe_point **ret,
		   struct inject_reason *reason)
{
	static const struct snapshot_ops ops = { .find_mapping = find_mapping,
						 .open_module = open_module };
	struct safe_point *s = xcalloc(1, sizeof(*s));
	int err;

	s->process.pid = pid;
	s->files = file_table_new();
	file_table_confine(s->files, sandbox);
	s->stack = xmalloc(MAX_STACK);
	s->walk = confined_walk_new(&ops, s, sandbox);
	err = process_read_maps(&s->process, s->files, ignore_file, NULL);
	if (err)
		inject_refuse(reason, err, "", "its maps cannot be read: %s", strerror(-err));
	else
		err = read_symbols(s, sandbox, reason);
	if (err) {
		safe_point_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

void safe_point_free(struct safe_point *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nr; i++)
		module_functions_fini(&s->functions[i]);
	free(s->functions);
	confined_walk_free(s->walk);
	process_fini(&s->process);
	file_table_free(s->files);
	free(s->stack);
	free(s);
}

/* The functions of the ELF file behind a mapping; NULL: they were not read. */
static const struct module_functions *functions_of(const struct safe_point *s,
						   const struct mapping *m)
{
	return m->code->kind == MODULE_ELF && m->code->index < s->nr ? &s->functions[m->code->index]
								     : NULL;
}

static uint64_t bias_of(const struct mapping *m)
{
	uint64_t vaddr;

	return mapped_file_vaddr(m->code, m->pgoff, &vaddr) ? m->start - vaddr : 0;
}

uint64_t safe_point_function(const struct safe_point *s, enum needed_function which)
{
	for (size_t i = 0; i < s->process.nr_maps; i++) {
		const struct mapping *m = &s->process.maps[i];
		const struct module_functions *f = functions_of(s, m);
		const struct mapping *at;
		uint64_t address;

		if (!f || !f->needed[which] || !bias_of(m))
			continue;
		address = bias_of(m) + f->needed[which];
		at = process_find(&s->process, address);
		if (at && at->code == m->code) /* the file may say anything */
			return address;
	}
	return 0;
}

void safe_point_take(struct safe_point *s, const struct inject_thread *thread)
{
	const struct user_regs_struct *r = &thread->state.regs;
	ssize_t n = remote_read(s->process.pid, inject_regs_sp(r), s->stack, MAX_STACK);

	s->regs = *r;
	s->sample = (struct snapshot_sample){
		.regs = registers_of_ptrace(r),
		.stack = s->stack,
		.stack_start = inject_regs_sp(r),
		.stack_size = n > 0 ? (size_t)n : 0,
	};
}

static bool reject(struct safe_point *s, const char *why)
{
	snprintf(s->why, sizeof(s->why), "%s", why);
	return false;
}

struct judged_frame {
	bool in_libc, in_loader;
	enum function_role role;
};

static struct judged_frame look_at(const struct safe_point *s, uint64_t frame)
{
	uint64_t pc = (frame & ~FRAME_EXACT) - !(frame & FRAME_EXACT);
	const struct mapping *m = process_find(&s->process, pc);
	const struct module_functions *f = m ? functions_of(s, m) : NULL;
	struct judged_frame j = { false, false, ROLE_PLAIN };

	if (!f)
		return j;
	j.in_libc = f->is_libc;
	j.in_loader = is_loader(m->code);
	j.role = module_functions_find(f, pc - bias_of(m));
	return j;
}

/*
 * Does the thread wait? frames[*ret_end] is the first frame, counted from the leaf, that is not
 * libc's.
 */
static bool leaf_waits(const struct safe_point *s, const uint64_t *frames, size_t nr,
		       size_t *ret_end)
{
	bool in_wait = attach_waits(&s->regs);
	size_t i;

	for (i = 0; i < nr; i++) {
		struct judged_frame j = look_at(s, frames[i]);

		if (!j.in_libc)
			break;
		if (j.role == ROLE_WAITS && inject_regs_syscall(&s->regs) == SYS_futex)
			in_wait = true;
	}
	*ret_end = i;
	return in_wait;
}

bool safe_point_judge(struct safe_point *s)
{
	uint64_t frames[MAX_FRAMES];
	struct snapshot_result r = confined_walk_run(s->walk, &s->sample, frames, MAX_FRAMES);
	size_t leaf_end;
	bool in_wait;

	s->why[0] = '\0';
	if (confined_walk_error(s->walk))
		return reject(s, "a stack that was not walked: the process that walks it failed");
	if (r.marker >= 0 || r.gap || !r.nr)
		return reject(s, "a stack that could not be walked to its root");
	in_wait = leaf_waits(s, frames, r.nr, &leaf_end);
	if (s->has_other_allocator && !in_wait)
		return reject(s, "a program with an allocator of its own, at work");
	for (size_t i = 0; i < r.nr; i++) {
		struct judged_frame j = look_at(s, frames[i]);
		bool at_root = i + NR_ROOT_FRAMES >= r.nr;

		if (j.role == ROLE_FORBIDDEN && !at_root)
			return reject(s, "inside the allocator, the loader or fork");
		if (j.in_loader && !at_root)
			return reject(s, "inside the loader");
		if (i && frames[i] & FRAME_EXACT)
			return reject(s, "inside a signal handler");
		if (j.in_libc && j.role == ROLE_UNNAMED && !at_root && !(in_wait && i < leaf_end))
			return reject(s, "inside a function of libc that has no name");
	}
	return true;
}

const char *safe_point_why(const struct safe_point *s)
{
	return s->why;
}
