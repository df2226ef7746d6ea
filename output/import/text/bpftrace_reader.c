/*
 * Reads the maps of bpftrace whose keys hold stacks, as it prints them at its end:
 *
 *	@[
 *	    do_syscall_64+92
 *	    entry_SYSCALL_64_after_hwframe+118
 *	,
 *	    write+20
 *	    main+310
 *	, dd]: 17
 *
 * A stack is a frame a line, the leaf first. A key with a kernel's and a user's stack becomes one
 * stack; a word in a key is the name of the thread, and a number its process. The frames of a key
 * are kept until its end, because only its roots tell which stack is the kernel's.
 */
#include "output/import/importer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "output/import/input_file.h"
#include "output/import/named_frames.h"
#include "output/tree/tree.h"

enum { MAX_FRAMES = 1 << 16, MAX_STACKS = 2 };

struct text {
	const char *s;
	size_t n;
};

struct frame {
	uint32_t name; /* string; 0 = unnamed */
	struct text module;
	uint64_t address; /* 0 = unknown */
};

struct stack {
	size_t first, nr; /* frames, leaf first */
	bool kernel;
};

struct reader {
	struct profile *p;
	const char *name;
	/* The key that is read: */
	bool in_key, new_stack;
	struct frame *frames;
	uint32_t *ids; /* of the frames, leaf first: scratch */
	size_t nr_frames, frames_capacity, ids_capacity;
	struct stack stacks[MAX_STACKS];
	size_t nr_stacks;
	struct text comm;
	uint64_t numbers[2]; /* process, thread */
	size_t nr_numbers;
	uint64_t total, nr_left_out;
};

static struct text trim(const char *s, const char *end)
{
	while (s < end && isspace((unsigned char)*s))
		s++;
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	return (struct text){ s, (size_t)(end - s) };
}

static bool starts_with(struct text t, const char *prefix)
{
	size_t n = strlen(prefix);

	return t.n >= n && !memcmp(t.s, prefix, n);
}

/* The value of a key, which stands at the end of its last line: "]: 17". */
static const char *find_value(const char *s, const char *end)
{
	const char *digits = end;

	while (digits > s && isdigit((unsigned char)digits[-1]))
		digits--;
	return digits < end && digits - s >= 3 && !memcmp(digits - 3, "]: ", 3) ? digits : NULL;
}

/* "@[" or "@name["; returns what follows, or NULL. */
static const char *key_begin(const char *s, const char *end)
{
	if (s == end || *s++ != '@')
		return NULL;
	while (s < end && (isalnum((unsigned char)*s) || *s == '_'))
		s++;
	return s < end && *s == '[' ? s + 1 : NULL;
}

/* Functions at the root of kernel stacks, of processes, threads, interrupts and idle CPUs. */
static bool is_kernel_root(struct text t)
{
	static const char *const roots[] = {
		"entry_SYSCALL",   "do_syscall_64",	"ret_from_fork", "asm_",
		"el0t_64_",	   "el0_svc",		"kthread",	 "secondary_startup",
		"do_idle",	   "cpu_startup_entry", "start_kernel",	 "error_entry",
		"__irqentry_text", "vectors",
	};

	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++)
		if (starts_with(t, roots[i]))
			return true;
	return false;
}

/* Cuts " (module)" and "+12" off the end. A C++ name may end like that, without the blank. */
static void cut_name(struct text *t, struct text *ret_module)
{
	const char *open = t->n && t->s[t->n - 1] == ')' ? memrchr(t->s, '(', t->n) : NULL;
	size_t n;

	if (open && open > t->s + 1 && open[-1] == ' ') {
		*ret_module = trim(open + 1, t->s + t->n - 1);
		t->n = trim(t->s, open).n;
	}
	for (n = t->n; n && isdigit((unsigned char)t->s[n - 1]);)
		n--;
	if (n > 1 && n < t->n && t->s[n - 1] == '+')
		t->n = n - 1;
}

/* "name+12", "0x7f12", or as perf prints it: "ffffffff81a0 name+12 (module)". */
static struct frame parse_frame(struct reader *r, struct text t, bool *ret_kernel)
{
	struct frame f = { 0 };
	char *end;

	errno = 0;
	f.address = strtoull(t.s, &end, 16); /* a NUL ends the line */
	if (errno || end == t.s || (*end && (*end != ' ' || end - t.s < 5)))
		f.address = 0;
	else
		t = trim(end, t.s + t.n);
	cut_name(&t, &f.module);
	*ret_kernel = f.address >> 63 || is_kernel_root(t) || starts_with(f.module, "[kernel");
	if (t.n && !starts_with(t, "[unknown]") && !starts_with(t, "0x"))
		f.name = profile_string(r->p, t.s, t.n);
	return f;
}

static void read_frame(struct reader *r, struct text t)
{
	struct stack *stack;
	bool kernel;

	if (r->new_stack && r->nr_stacks < MAX_STACKS)
		r->stacks[r->nr_stacks++] = (struct stack){ .first = r->nr_frames };
	r->new_stack = false;
	if (!r->nr_stacks || r->nr_frames == MAX_FRAMES)
		return;
	stack = &r->stacks[r->nr_stacks - 1];
	r->frames = xgrow(r->frames, &r->frames_capacity, r->nr_frames + 1, sizeof(*r->frames));
	r->frames[r->nr_frames++] = parse_frame(r, t, &kernel);
	stack->nr++;
	stack->kernel |= kernel;
}

static uint32_t frame_id(struct reader *r, const struct frame *f, bool kernel)
{
	struct import_function function = { .name = f->name, .system_name = f->name };
	char *module = f->module.n ? xasprintf("%.*s", (int)f->module.n, f->module.s) : NULL;

	function.module = import_module(r->p,
					module	 ? module
					: kernel ? "[kernel.kallsyms]"
						 : "",
					"", &function.kind);
	free(module);
	return f->name ? import_frame(r->p, &function, 1)
		       : import_unnamed_frame(r->p, function.module, f->address);
}

static void read_word(struct reader *r, struct text t)
{
	size_t digits = 0;

	while (digits < t.n && isdigit((unsigned char)t.s[digits]))
		digits++;
	if (t.n && digits == t.n && t.n < 10) {
		if (r->nr_numbers < 2)
			r->numbers[r->nr_numbers++] = strtoull(t.s, NULL, 10);
	} else if (t.n && !r->comm.n) {
		r->comm = t;
	}
}

/* The words of a key between its stacks: "123, bash, ". */
static void read_words(struct reader *r, const char *s, const char *end)
{
	while (s < end) {
		const char *comma = memmem(s, (size_t)(end - s), ", ", 2);
		const char *stop = comma ? comma : end;
		struct text word = trim(s, stop);

		while (word.n && word.s[word.n - 1] == ',')
			word.n--;
		read_word(r, word);
		s = comma ? comma + 2 : end;
	}
	r->new_stack = true;
}

static void begin_key(struct reader *r, const char *s, const char *end)
{
	r->nr_left_out += r->in_key;
	r->in_key = true;
	r->nr_frames = r->nr_stacks = r->nr_numbers = 0;
	r->comm = (struct text){ 0 };
	read_words(r, s, end);
}

/* The kernel's frames are nearer to the leaf, whichever stack comes first in the key. */
static uint32_t whole_stack(struct reader *r)
{
	struct stack *a = &r->stacks[0], *b = &r->stacks[1];
	size_t nr = 0;

	if (r->nr_stacks == 2 && b->kernel && !a->kernel) {
		struct stack first = *a;

		*a = *b;
		*b = first;
	} else if (r->nr_stacks == 2 && !b->kernel) {
		a->kernel = true;
	}
	r->ids = xgrow(r->ids, &r->ids_capacity, r->nr_frames + 1, sizeof(*r->ids));
	for (size_t i = 0; i < r->nr_stacks; i++)
		for (size_t j = 0; j < r->stacks[i].nr; j++)
			r->ids[nr++] = frame_id(r, &r->frames[r->stacks[i].first + j],
						r->stacks[i].kernel);
	return import_stack(r->p, r->ids, nr);
}

/* A process without a name is called by its number. */
static uint32_t thread_of(struct reader *r)
{
	uint32_t pid = r->nr_numbers ? (uint32_t)r->numbers[0] : 0;
	uint32_t tid = r->nr_numbers > 1 ? (uint32_t)r->numbers[1] : 0;
	char number[16];

	if (!r->comm.n && !r->nr_numbers)
		return PROFILE_NONE;
	snprintf(number, sizeof(number), "%u", pid);
	return profile_thread(r->p, pid, tid,
			      r->comm.n ? profile_string(r->p, r->comm.s, r->comm.n)
					: profile_cstring(r->p, number));
}

static void end_key(struct reader *r, const char *value)
{
	struct profile_sample s = { .thread = PROFILE_NONE, .column = COLUMN_COUNT };

	r->in_key = false;
	s.weight = strlen(value) < 20 ? strtoull(value, NULL, 10) : TREE_MAX_TOTAL;
	if (!r->nr_frames || s.weight >= TREE_MAX_TOTAL - r->total) {
		r->nr_left_out++;
		return;
	}
	if (!s.weight)
		return;
	r->total += s.weight;
	s.thread = thread_of(r);
	s.stack = whole_stack(r);
	profile_add_sample(r->p, &s);
}

static bool read_line(void *reader, char *line)
{
	struct reader *r = reader;
	const char *end = line + strlen(line), *key, *value;
	struct text t = trim(line, end);

	end = t.s + t.n;
	key = key_begin(line, end);
	if (!t.n)
		return true;
	if (key && !find_value(key, end)) {
		begin_key(r, key, end);
	} else if (!r->in_key) {
		r->nr_left_out += key != NULL;
	} else if (isspace((unsigned char)*line)) {
		read_frame(r, t);
	} else if (*line == ',' || *line == ']') {
		value = find_value(line, end);
		read_words(r, line + (*line == ','), value ? value - 3 : end);
		if (value)
			end_key(r, value);
	} else {
		r->in_key = false; /* a histogram, or the output of another probe */
		r->nr_left_out++;
	}
	return true;
}

static int finish(struct reader *r)
{
	if (!r->p->nr_samples) {
		log_error(0, "read '%s': no stack in it has a count (bpftrace)", r->name);
		return -EINVAL;
	}
	import_left_out(r->name, "keys left out because they hold no stack or no number",
			r->nr_left_out + r->in_key);
	import_describe(r->p, r->name, "bpftrace");
	return 0;
}

static int bpftrace_read(FILE *f, const char *name, const struct import_opts *opts,
			 struct profile **ret_profile)
{
	struct reader r = { .p = profile_new(), .name = name };
	int err = import_text(f, name, read_line, &r, &r.nr_left_out);

	(void)opts;
	if (!err)
		err = finish(&r);
	free(r.frames);
	free(r.ids);
	return import_end(r.p, err, ret_profile);
}

/* A key begins without a value, and the next line is a frame. */
static bool bpftrace_is(const char *data, size_t size)
{
	const char *end = data + size;
	bool in_key = false;

	if (memchr(data, '\0', size))
		return false;
	while (data < end) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));
		const char *stop = newline ? newline : end, *key = key_begin(data, stop);

		if (in_key && stop > data && isspace((unsigned char)*data) && trim(data, stop).n)
			return true;
		if (key)
			in_key = !find_value(key, key + trim(key, stop).n);
		data = newline ? newline + 1 : end;
	}
	return false;
}

const struct importer import_bpftrace = {
	.name = "bpftrace",
	.is = bpftrace_is,
	.read = bpftrace_read,
};
