/*
 * Reads rings, positions and records as a target could have written them into the memory that it
 * shares.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/timer/targets/timer_region.h"

static volatile uint64_t sum;

static void on_record(void *context, const struct agent_sample *s, const uint64_t *words,
		      size_t nr_words)
{
	(void)context;
	if (s->type == AGENT_SAMPLE && s->nr_frames != nr_words)
		abort();
	if (s->type == AGENT_SNAPSHOT) {
		struct agent_snapshot snapshot;

		if (s->nr_frames > REGION_PYTHON_WORDS)
			abort();
		memcpy(&snapshot, words, sizeof(snapshot));
		if (snapshot.stack_size != (nr_words - sizeof(snapshot) / 8 - s->nr_frames) * 8)
			abort();
	}
	if (s->type == AGENT_CODE && nr_words * 8 < sizeof(struct code_record))
		abort();
	for (size_t i = 0; i < nr_words; i++)
		sum += words[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct timer_region_config config = { .period_ns = 1000000 };
	static struct timer_region region;
	uint32_t ring = 0;
	uint64_t position;

	if (!region.shared && timer_region_new(&config, &region))
		abort();
	for (uint32_t i = 0; i < REGION_NR_RINGS; i++)
		region.shared->rings[i].head = region.tails[i];
	/* Each piece: a length, and that many words after a header, which may be valid or not. */
	while (size >= 10) {
		uint32_t nr = data[0] % 80 + 2, words = (uint32_t)(size - 2) / 8;
		__u64 *to = region.shared->words[ring];

		if (words > nr - 1)
			words = nr - 1;
		position = region.shared->rings[ring].head;
		for (uint32_t i = 0; i < words; i++)
			memcpy((void *)&to[(position + 1 + i) % REGION_RING_WORDS],
			       data + 2 + 8 * i, 8);
		to[position % REGION_RING_WORDS] =
			ring_header(position, data[1] & 1 ? nr : data[1]) | RING_COMMITTED;
		region.shared->rings[ring].head += data[1] & 2 ? nr : data[1] * 300u;
		data += 2 + 8 * words;
		size -= 2 + 8 * words;
		ring = (ring + 1) % REGION_NR_RINGS;
	}
	timer_region_read(&region, on_record, NULL);
	return 0;
}
