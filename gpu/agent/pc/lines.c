/*
 * CUPTI reads the line table of the code anew for each question, so answers are remembered: rows of
 * one instruction differ by the reason of the wait.
 */
#include "gpu/agent/pc/lines.h"

#include <string.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/image.h"
#include "gpu/agent/base/report.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/cupti.h"
#include "gpu/agent/pc/cubins.h"
#include "gpu/agent/pc/rows.h"

#define MEMOS 4096u
#define MAX_PATH 4096u

struct memo {
	uint64_t cubin, pc;
	uint32_t function;
	uint32_t state; /* enum gpu_pc_line; 0 = free */
	uint32_t file, line;
};

static struct memo memos[MEMOS];
static uint32_t next_row;

void lines_begin(void)
{
	memset(memos, 0, sizeof(memos));
	next_row = 0;
}

static uint32_t path_of(const struct cupti_source_line *l)
{
	char path[MAX_PATH];
	size_t folder = l->folder && l->file[0] != '/' ? strlen(l->folder) : 0;
	size_t file = strlen(l->file);

	if (!folder || folder + 1 + file > sizeof(path))
		return arena_string(l->file, file);
	memcpy(path, l->folder, folder);
	path[folder] = '/';
	memcpy(path + folder + 1, l->file, file);
	return arena_string(path, folder + 1 + file);
}

/*
 * What CUPTI has allocated. It uses the malloc() that the program has, which need not be the C
 * library's; so its free() is the one that the program finds first.
 */
static void give_back(void *memory)
{
	static void (*free_fn)(void *);
	void *(*symbol_fn)(void *, const char *) =
		free_fn ? NULL : (void *(*)(void *, const char *))image_libc_symbol("dlsym");

	if (symbol_fn)
		free_fn = (void (*)(void *))symbol_fn(NULL /* RTLD_DEFAULT */, "free");
	if (memory && free_fn)
		free_fn(memory);
}

static void ask(struct memo *m)
{
	struct cupti_source_line l = {
		.size = sizeof(l),
		.function_name = arena_text(m->function),
		.pc_offset = m->pc,
	};

	m->state = GPU_PC_LINE_NONE;
	if (!cubins_find(m->cubin, &l.cubin, &l.cubin_bytes)) {
		m->state = GPU_PC_LINE_NO_CODE;
		report_words(GPU_FAIL_PC_LINES, 0,
			     "no source lines of some GPU code: it was loaded before sprof came, "
			     "or is too large to be kept");
		return;
	}
	if (cupti.pc.source_line && !cupti.pc.source_line(&l) && l.line && l.file && l.file[0]) {
		m->file = path_of(&l);
		m->line = l.line;
		m->state = GPU_PC_LINE_KNOWN;
	} else {
		report_words(GPU_FAIL_PC_LINES, 0,
			     "no source lines of some GPU code (hint: build it with nvcc "
			     "-lineinfo)");
	}
	give_back(l.file);
	give_back(l.folder);
}

static void look_up(struct gpu_pc_row *row)
{
	uint64_t h = arena_mix(row->cubin ^ arena_mix(row->pc << 32 | row->function));
	struct memo *m = &memos[h % MEMOS];

	if (!m->state || m->cubin != row->cubin || m->pc != row->pc ||
	    m->function != row->function) {
		*m = (struct memo){
			.cubin = row->cubin,
			.pc = row->pc,
			.function = row->function,
		};
		ask(m);
	}
	row->file = m->file;
	row->line = m->line;
	__atomic_store_n(&row->line_state, m->state, __ATOMIC_RELEASE);
}

void lines_look_up(uint64_t budget_ns)
{
	uint64_t end = clock_now_ns() + budget_ns;
	struct gpu_pc_row *row;

	while ((row = pc_rows_at(next_row)) && clock_now_ns() < end) {
		look_up(row);
		next_row++;
	}
}
