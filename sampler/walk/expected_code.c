/* A stack of one frame says where a sample would have landed. */
#include "sampler/walk/expected_code.h"

#include <stddef.h>

#include "core/portable/frames.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/target/process.h"
#include "sampler/walk/runtime_unwind.h"

#define MAX_EXPECTED 64 /* mappings of a process */

void expected_code_note(struct runtime_unwind *u, struct process *p, uint64_t now)
{
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_maps && nr < MAX_EXPECTED; i++) {
		const struct mapping *m = &p->maps[i];
		const uint64_t frame = m->start | FRAME_EXACT;
		struct walked w = { .user = &frame, .nr_user = 1, .marker = -1 };

		if (m->code->kind != MODULE_JIT || m->end - m->start > RUNTIME_REGION_MAX)
			continue;
		runtime_unwind_check(u, p, now, p->epoch, &w);
		nr++;
	}
}

void expected_code_end(struct process *p)
{
	p->runtime.nr_fruitless = 0;
	p->runtime.next_look_ns = 0;
}
