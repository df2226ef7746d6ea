/* Shares are fractions of the limit, so they do not depend on each other. */
#include "core/rights/memory_shares.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/base/proc_status.h"

#define MIN_RING_BYTES (1u << 20)
#define MAX_RING_BYTES (16u << 20)

void memory_shares_of(uint64_t limit, struct memory_shares *ret)
{
	uint32_t ring = MAX_RING_BYTES;

	while (ring > MIN_RING_BYTES && ring > limit / 12)
		ring /= 2;
	*ret = (struct memory_shares){
		.limit = limit,
		.parser = limit / 5, /* at 60M enough for libcrypto */
		.namer = limit / 6,
		.vocabulary = limit / 8,
		.working = limit / 12,
		.ring_bytes = ring,
	};
}

uint64_t memory_shares_rows(const struct memory_shares *s, uint64_t fixed)
{
	uint64_t others = s->parser + s->namer + s->vocabulary + s->working + fixed;

	return s->limit > others ? s->limit - others : 0;
}

static uint64_t kilobytes(const char *text, const char *name)
{
	const char *value = proc_status_value(text, name);

	return value ? strtoull(value, NULL, 10) << 10 : 0;
}

uint64_t memory_own_bytes(void)
{
	char text[8192];

	if (proc_status_text(getpid(), text, sizeof(text)))
		return 0;
	return kilobytes(text, "RssAnon") + kilobytes(text, "RssShmem");
}

uint64_t memory_data_bytes(void)
{
	char text[8192];

	return proc_status_text(getpid(), text, sizeof(text)) ? 0 : kilobytes(text, "VmData");
}
