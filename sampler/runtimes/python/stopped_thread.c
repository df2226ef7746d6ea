/*
 * py_read() of core/portable/pyframes.h is one system call per object: a stack of a hundred frames
 * takes less than a millisecond.
 */
#include "sampler/runtimes/python/stopped_thread.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/untrusted/process_memory.h"
#include "core/portable/pycode.h"
#include "sampler/target/process.h"
#include "sampler/runtimes/python/code_objects.h"
#include "sampler/runtimes/python/interpreter.h"

/* The current reader, which py_read() has no argument for. */
static _Thread_local struct python_reader *now;

/* Returns how many bytes, from the first, could be read. */
static size_t read_directly(void *to, size_t size, uint64_t address)
{
	const struct iovec range = { (void *)address, size };
	int64_t n = now->read ? now->read(now->pid, address, to, size)
			      : process_memory_read(now->pid, to, &range, 1);

	return n > 0 ? (size_t)n : 0;
}

static const struct python_block *block_at(uint64_t address)
{
	struct python_block *block =
		&now->blocks[address / PYTHON_BLOCK_SIZE & (PYTHON_BLOCKS - 1)];

	address &= ~(uint64_t)(PYTHON_BLOCK_SIZE - 1);
	if (block->address != address || !block->size) {
		block->address = address;
		block->size = read_directly(block->bytes, PYTHON_BLOCK_SIZE, address);
	}
	return block;
}

static int read_memory(void *to, size_t size, uint64_t address)
{
	size_t at = address & (PYTHON_BLOCK_SIZE - 1);
	const struct python_block *block;

	if (now->blocks && at + size <= PYTHON_BLOCK_SIZE) {
		block = block_at(address);
		if (at + size <= block->size) {
			memcpy(to, block->bytes + at, size);
			return 0;
		}
	}
	/* An earlier part of the block may be unreadable. */
	return read_directly(to, size, address) == size ? 0 : -1;
}

#include "core/portable/pyframes.h"

static __always_inline int py_read(const struct py_walk *w, void *to, __u32 size, __u64 address)
{
	(void)w;
	return read_memory(to, size, address);
}

struct walk {
	const struct py_layout *layout;
	struct python_stopped *to;
	struct python_reader *reader;
	struct py_walk py;
	uint64_t deadline_ns;
};

struct whole_code {
	struct code_record record;
	uint8_t linetable[CODE_MAX_LINETABLE];
};

bool python_find(const struct process *process, struct py_layout *ret_layout, char *why,
		 size_t why_size)
{
	why[0] = '\0';
	for (size_t i = 0; i < process->nr_maps; i++) {
		const struct mapping *m = &process->maps[i];
		enum python_elf kind;
		uint64_t bias;

		if (!python_elf_bias(m, &bias))
			continue;
		kind = python_elf_read(m->code->fd, ret_layout, why, why_size);
		if (kind == PYTHON_ELF_NOT)
			continue;
		if (kind == PYTHON_ELF_UNSUPPORTED)
			return false;
		python_elf_move(ret_layout, bias);
		return true;
	}
	return false;
}

struct python_stopped *python_stopped_new(size_t max_words)
{
	struct python_stopped *s = xcalloc(1, sizeof(*s) + max_words * sizeof(s->words[0]));

	s->max_words = max_words;
	return s;
}

/* Reads a str: its last CODE_NAME_SIZE bytes at most. */
static void read_string(const struct py_layout *l, uint64_t address, struct code_string *to)
{
	uint64_t head[3], size, at, kind;
	bool ascii;

	*to = (struct code_string){ 0 };
	if (read_memory(head, sizeof(head), address + l->string_header) || head[0] >> 28)
		return;
	kind = head[2] >> l->string_kind_shift & 7;
	ascii = head[2] >> (l->string_kind_shift + 4) & 1;
	at = address + (ascii ? l->string_ascii : l->string_compact);
	size = head[0] * kind;
	if (size > CODE_NAME_SIZE) {
		at += size - CODE_NAME_SIZE;
		size = CODE_NAME_SIZE;
		to->cut = 1;
	}
	to->form = (uint8_t)(kind | (ascii ? CODE_STRING_ASCII : 0));
	if (!read_memory(to->text, size, at))
		to->size = (uint16_t)size;
}

/* Adds the current code object to `codes`; returns its number. */
static uint64_t add_code(struct python_reader *reader, const struct py_walk *w)
{
	const struct py_layout *l = reader->layout;
	struct whole_code code = { .record.id = ++reader->next_id & CODE_ID_MASK };
	struct code_record *e = &code.record;
	uint64_t table = py_word(w->object, l->code_linetable), size;

	e->minor = l->minor;
	e->first_line = py_word32(w->object, l->code_firstline);
	read_string(l, py_word(w->object, l->code_name), &e->name);
	read_string(l, py_word(w->object, l->code_filename), &e->file);
	if (read_memory(&size, 8, table + l->bytes_size))
		size = 0;
	e->address = table + l->bytes_data;
	e->linetable_size = size >> 32 ? UINT32_MAX : (uint32_t)size;
	if (size > CODE_MAX_LINETABLE)
		size = CODE_MAX_LINETABLE;
	if (!read_memory(code.linetable, size, e->address))
		e->linetable_copied = (uint32_t)size;
	python_codes_add(reader->codes, (uint64_t)reader->pid, e, sizeof(*e) + e->linetable_copied);
	return e->id;
}

/* The word of the current frame, whose code object has been read. */
static uint64_t frame_word(struct python_reader *reader, const struct py_walk *w)
{
	struct known_code *known = &reader->known[w->code >> 5 & (PYTHON_KNOWN_CODES - 1)];
	uint64_t position = py_read_position(reader->layout, w) >> 1;

	if (position > CODE_POSITION_MASK)
		position = 0;
	if (known->address != w->code)
		*known = (struct known_code){ w->code, add_code(reader, w) };
	return FRAME_PYTHON | known->id << CODE_POSITION_BITS | position;
}

static void add_word(struct walk *k, uint64_t word)
{
	struct python_runs *runs = &k->to->runs;

	if (runs->nr == k->to->max_words) {
		k->py.broken = 1;
		k->py.frame = 0;
		return;
	}
	k->to->words[runs->nr++] = word;
}

static bool is_late(const struct walk *k)
{
	return monotonic_ns() > k->deadline_ns;
}

/* Adds the frame at py.frame and moves to the next one. false: the run is over. */
static bool add_frame(struct walk *k)
{
	const struct py_layout *l = k->layout;
	struct py_walk *w = &k->py;
	bool last;

	if (!w->frame)
		return false;
	if (is_late(k) || py_read_frame(l, w))
		goto broken;
	last = py_is_last(l, w);
	if (py_is_shim(l, w)) {
		w->frame = py_word(w->words, l->frame_previous);
		return false;
	}
	if (py_read_code(l, w))
		goto broken;
	add_word(k, frame_word(k->reader, w));
	if (w->broken)
		return false;
	w->frame = py_word(w->words, l->frame_previous);
	return !last;
broken:
	w->frame = 0;
	w->broken = 1;
	return false;
}

/* Finds the end of the run that begins at `from`; py.scan is then the frame after it. */
static bool find_run_end(struct walk *k, uint64_t from)
{
	k->py.scan = from;
	for (unsigned int i = 0; i < PY_MAX_RUN && !(i % 64 == 63 && is_late(k)); i++) {
		int found = py_scan_step(k->layout, &k->py);

		if (found)
			return found > 0;
	}
	return false;
}

static void fail(struct walk *k)
{
	k->py.frame = 0;
	k->py.broken = 1;
}

/* Sets py.frame and py.boundary to those of the next run. */
static void next_run(struct walk *k)
{
	const struct py_layout *l = k->layout;
	struct py_walk *w = &k->py;

	w->boundary = 0;
	if (!w->frame || w->broken)
		return;
	if (l->chain == PY_CHAIN_CFRAME1 || l->chain == PY_CHAIN_CFRAME) {
		w->boundary = w->cframe;
		if (py_read(w, &w->cframe, 8, w->cframe + l->cframe_previous))
			w->cframe = 0;
	} else if (l->chain == PY_CHAIN_SHIM) {
		for (int i = 0; i < 4 && w->frame; i++) {
			if (!find_run_end(k, w->frame)) {
				fail(k);
				return;
			}
			if (w->boundary != w->frame)
				return;
			w->frame = w->scan; /* the call has no frame yet */
		}
	}
}

/*
 * Finds the first run where there are CFrames. For a few instructions after a call of the eval loop
 * the innermost CFrame is linked but not filled: then the one before it is used.
 */
static bool enter_cframe(struct walk *k)
{
	__u64 frame, previous, next, unused;
	struct py_walk *w = &k->py;

	if (py_read_cframe(k->layout, w, &frame, &previous))
		return false;
	w->boundary = w->cframe;
	w->frame = frame;
	w->cframe = previous;
	if (!frame) /* the CFrame of the thread state, without frames */
		return !previous;
	return find_run_end(k, frame) && !py_read_cframe(k->layout, w, &next, &unused) &&
	       next == w->scan;
}

static void begin(struct walk *k, uint64_t thread_pointer)
{
	if (py_begin(k->layout, &k->py, thread_pointer))
		return;
	if (k->layout->chain != PY_CHAIN_CFRAME)
		next_run(k);
	else if (!enter_cframe(k) && !enter_cframe(k))
		fail(k);
}

void python_stopped_walk(struct python_stopped *stopped, struct python_reader *reader,
			 uint64_t thread_pointer, uint64_t deadline_ns)
{
	const struct py_layout *layout = reader->layout;
	struct walk k = {
		.layout = layout,
		.to = stopped,
		.reader = reader,
		.deadline_ns = deadline_ns,
	};

	now = reader;
	/* Since the last stop a code object may have been freed and its address reused. */
	if (!reader->keeps)
		memset(reader->known, 0, sizeof(reader->known));
	stopped->runs = (struct python_runs){
		.words = stopped->words,
		.eval_start = layout->eval_start,
		.eval_size = layout->eval_end - layout->eval_start,
	};
	begin(&k, thread_pointer);
	stopped->thread_state = k.py.thread;
	while (k.py.frame) {
		add_word(&k, k.py.boundary);
		while (add_frame(&k))
			;
		next_run(&k);
	}
	stopped->broken = k.py.broken;
}

int python_reader_read(struct python_reader *reader, void *to, size_t size, uint64_t address)
{
	now = reader;
	return read_memory(to, size, address);
}

void python_reader_string(struct python_reader *reader, uint64_t address, struct code_string *to)
{
	now = reader;
	read_string(reader->layout, address, to);
}

bool python_reader_frame(struct python_reader *reader, uint64_t frame, uint64_t *ret_word)
{
	struct py_walk w = { .frame = frame };

	now = reader;
	if (py_read_frame(reader->layout, &w) || py_read_code(reader->layout, &w))
		return false;
	*ret_word = frame_word(reader, &w);
	return true;
}
