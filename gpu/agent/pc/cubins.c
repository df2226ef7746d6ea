/*
 * CUPTI shows device code during a callback only, so it is copied there; its CRC, which takes
 * longer, is made later by the agent's thread. Entries are only added. cubins_end() may come while
 * a callback adds one: whoever takes the address out of the entry frees the copy.
 */
#include "gpu/agent/pc/cubins.h"

#include <string.h>
#include <sys/mman.h>

#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/cupti.h"

#define MAX_CUBINS 1024u
#define MAX_BYTES (64ull << 20) /* the memory is the program's */

struct cubin {
	void *at; /* atomic; NULL: being copied, or freed */
	size_t bytes;
	uint64_t crc;
	bool has_crc;
};

static struct cubin cubins[MAX_CUBINS];
static uint32_t nr_cubins;   /* atomic; may exceed MAX_CUBINS */
static uint64_t nr_bytes;    /* atomic */
static uint32_t is_over = 1; /* atomic */

static uint32_t nr_entries(void)
{
	uint32_t nr = __atomic_load_n(&nr_cubins, __ATOMIC_ACQUIRE);

	return nr < MAX_CUBINS ? nr : MAX_CUBINS;
}

static void free_copy(struct cubin *c)
{
	void *at = __atomic_exchange_n(&c->at, NULL, __ATOMIC_SEQ_CST);

	if (at)
		munmap(at, c->bytes);
}

void cubins_begin(void)
{
	nr_bytes = 0;
	__atomic_store_n(&nr_cubins, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&is_over, 0, __ATOMIC_SEQ_CST);
}

/* Programs load the same code again and again. */
static bool is_known(const struct cupti_module_data *m)
{
	for (uint32_t i = 0; i < nr_entries(); i++) {
		const void *at = __atomic_load_n(&cubins[i].at, __ATOMIC_ACQUIRE);

		if (at && cubins[i].bytes == m->cubin_bytes &&
		    !memcmp(at, m->cubin, m->cubin_bytes))
			return true;
	}
	return false;
}

static struct cubin *new_entry(size_t bytes)
{
	uint64_t all = __atomic_add_fetch(&nr_bytes, bytes, __ATOMIC_RELAXED);
	uint32_t i;

	if (all > MAX_BYTES)
		return NULL;
	i = __atomic_fetch_add(&nr_cubins, 1, __ATOMIC_ACQ_REL);
	if (i < MAX_CUBINS)
		return &cubins[i];
	__atomic_fetch_sub(&nr_cubins, 1, __ATOMIC_RELAXED);
	return NULL;
}

void cubins_take(const struct cupti_module_data *m)
{
	struct cubin *c;
	void *copy;

	if (!m || !m->cubin || !m->cubin_bytes || m->cubin_bytes > MAX_BYTES ||
	    __atomic_load_n(&is_over, __ATOMIC_ACQUIRE) || is_known(m))
		return;
	c = new_entry(m->cubin_bytes);
	copy = c ? agent_map(m->cubin_bytes) : NULL;
	if (!copy) {
		agent_count(GPU_COUNT_PC_CUBINS_LEFT_OUT, 1);
		return;
	}
	memcpy(copy, m->cubin, m->cubin_bytes);
	c->bytes = m->cubin_bytes;
	c->has_crc = false;
	__atomic_store_n(&c->at, copy, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&is_over, __ATOMIC_SEQ_CST))
		free_copy(c);
}

static bool has_crc(struct cubin *c, const void *at, uint64_t crc)
{
	struct cupti_cubin_crc params = {
		.size = sizeof(params),
		.cubin_bytes = c->bytes,
		.cubin = at,
	};

	if (!c->has_crc && !cupti.pc.cubin_crc(&params)) {
		c->crc = params.crc;
		c->has_crc = true;
	}
	return c->has_crc && c->crc == crc;
}

bool cubins_find(uint64_t crc, const void **ret_cubin, size_t *ret_bytes)
{
	for (uint32_t i = 0; cupti.pc.cubin_crc && i < nr_entries(); i++) {
		const void *at = __atomic_load_n(&cubins[i].at, __ATOMIC_ACQUIRE);

		if (!at || !has_crc(&cubins[i], at, crc))
			continue;
		*ret_cubin = at;
		*ret_bytes = cubins[i].bytes;
		return true;
	}
	return false;
}

void cubins_end(void)
{
	__atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < nr_entries(); i++)
		free_copy(&cubins[i]);
}
