/*
 * Sources: CPython's Modules/_asynciomodule.c (struct _Py_AsyncioModuleDebugOffsets), and of each
 * version Include/internal/pycore_debug_offsets.h and enum _framestate in pycore_frame.h.
 */
#include "sampler/runtimes/python/asyncio.h"

#include <elf.h>
#include <string.h>

#include "core/portable/pylayout.h"
#include "core/untrusted/remote_read.h"
#include "sampler/target/process.h"
#include "sampler/unwind/image.h"

#define NR_ASYNCIO_WORDS 13
#define NR_DEBUG_WORDS 104
#define MAX_SECTIONS 1024

struct version {
	uint8_t minor;
	/* Words of _Py_DebugOffsets. */
	uint8_t object_type, type_name, set_table, set_mask, generator_frame, generator_state;
	uint8_t frame_stack, int_tag, int_digits;
	int8_t created, suspended_from, suspended_until, awaits_from, executing;
	uint8_t awaited_depth;
};

static const struct version versions[] = {
	{ 14, 51, 53, 64, 65, 85, 86, 37, 72, 73, -3, -2, -1, -1, 0, 1 },
	{ 15, 59, 61, 76, 77, 101, 102, 45, 84, 85, 0, 1, 3, 2, 4, 2 },
};

static bool find_section(const struct unwind_image *image, uint64_t *words)
{
	const struct elf_headers *headers = &image->headers;

	for (size_t i = 0; i < headers->nr_sections && i < MAX_SECTIONS; i++) {
		const Elf64_Shdr *s = &headers->sections[i];

		if (s->sh_type == SHT_PROGBITS && s->sh_size == NR_ASYNCIO_WORDS * 8 &&
		    elf_headers_section_is(&image->source, headers, i, ".AsyncioDebug"))
			return !unwind_image_read(image, s->sh_offset, words, NR_ASYNCIO_WORDS * 8);
	}
	return false;
}

static bool file_has_asyncio(int fd, uint64_t *words)
{
	struct unwind_image image;
	bool found;

	if (unwind_image_open(&image, fd))
		return false;
	found = find_section(&image, words);
	unwind_image_close(&image);
	return found;
}

static bool take(const uint64_t *words, unsigned int i, uint64_t limit, uint16_t *ret)
{
	*ret = (uint16_t)words[i];
	return words[i] < limit;
}

static bool fill(struct asyncio_layout *l, const struct version *v, const uint64_t *asyncio,
		 const uint64_t *debug)
{
	l->created = v->created;
	l->suspended_from = v->suspended_from;
	l->suspended_until = v->suspended_until;
	l->awaits = v->awaits_from;
	l->executing = v->executing;
	l->awaited_depth = v->awaited_depth;
	return take(asyncio, 1, 512, &l->task_name) && take(asyncio, 2, 512, &l->awaited_by) &&
	       take(asyncio, 3, 512, &l->is_task) && take(asyncio, 4, 512, &l->awaited_by_is_set) &&
	       take(asyncio, 5, 512, &l->task_coroutine) && take(asyncio, 6, 512, &l->task_node) &&
	       take(asyncio, 11, 65536, &l->running_task) && take(asyncio, 12, 65536, &l->tasks) &&
	       take(debug, v->object_type, 64, &l->object_type) &&
	       take(debug, v->type_name, 256, &l->type_name) &&
	       take(debug, v->set_table, 256, &l->set_table) &&
	       take(debug, v->set_mask, 256, &l->set_mask) &&
	       take(debug, v->generator_frame, 256, &l->generator_frame) &&
	       take(debug, v->generator_state, 256, &l->generator_state) &&
	       take(debug, v->frame_stack, 256, &l->frame_stack) &&
	       take(debug, v->int_tag, 64, &l->int_tag) &&
	       take(debug, v->int_digits, 64, &l->int_digits);
}

bool python_asyncio_find(const struct process *process, const struct py_layout *layout,
			 struct asyncio_layout *ret)
{
	uint64_t asyncio[NR_ASYNCIO_WORDS], debug[NR_DEBUG_WORDS];
	const struct version *v = NULL;
	struct asyncio_layout l;

	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		if (versions[i].minor == layout->minor)
			v = &versions[i];
	for (size_t i = 0; v && i < process->nr_maps; i++) {
		const struct mapped_file *code = process->maps[i].code;

		if (code->kind != MODULE_ELF || !file_has_asyncio(code->fd, asyncio))
			continue;
		if (remote_read(process->pid, layout->runtime, debug, sizeof(debug)) !=
			    sizeof(debug) ||
		    !fill(&l, v, asyncio, debug))
			return false;
		*ret = l;
		return true;
	}
	return false;
}
