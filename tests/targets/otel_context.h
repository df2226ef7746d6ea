// Publishes a process context of OpenTelemetry as an SDK does (OTEP 4719), or wrongly.
#ifndef SPROF_TESTS_OTEL_CONTEXT_H
#define SPROF_TESTS_OTEL_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

struct otel_header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_ns, payload;
};

struct otel_message {
	uint8_t bytes[512];
	size_t size;
};

static inline void otel_add(struct otel_message *m, int field, const void *bytes, size_t size)
{
	m->bytes[m->size++] = (uint8_t)(field << 3 | 2);
	if (size > 127)
		m->bytes[m->size++] = (uint8_t)(size | 128);
	m->bytes[m->size++] = (uint8_t)(size > 127 ? size >> 7 : size);
	memcpy(m->bytes + m->size, bytes, size);
	m->size += size;
}

static inline void otel_attribute(struct otel_message *resource, const char *key, const char *value)
{
	struct otel_message any = { .size = 0 }, pair = { .size = 0 };

	otel_add(&any, 1, value, strlen(value));
	otel_add(&pair, 1, key, strlen(key));
	otel_add(&pair, 2, any.bytes, any.size);
	otel_add(resource, 1, pair.bytes, pair.size);
}

// ProcessContext with these attributes, key and value in turn, NULL at the end.
static inline struct otel_message otel_payload(const char *const *pairs)
{
	struct otel_message resource = { .size = 0 }, context = { .size = 0 };

	for (; *pairs; pairs += 2)
		otel_attribute(&resource, pairs[0], pairs[1]);
	otel_add(&context, 1, resource.bytes, resource.size);
	return context;
}

// Maps a header that is not published yet; `memfd`: it has a name on kernels that name no memory.
static inline struct otel_header *otel_map(bool memfd)
{
	int fd = memfd ? memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
	struct otel_header *h;

	if (fd >= 0 && ftruncate(fd, sizeof(*h)))
		return NULL;
	h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (fd >= 0)
		close(fd);
	if (h == MAP_FAILED)
		return NULL;
	madvise(h, sizeof(*h), MADV_DONTFORK);
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, h, sizeof(*h), "OTEL_CTX");
	return h;
}

static inline void otel_publish(struct otel_header *h, uint32_t version, const void *payload,
				uint32_t size, uint64_t published_ns)
{
	__atomic_store_n(&h->published_ns, 0, __ATOMIC_SEQ_CST);
	memcpy(h->signature, "OTEL_CTX", 8);
	h->version = version;
	h->payload_size = size;
	h->payload = (uintptr_t)payload;
	__atomic_store_n(&h->published_ns, published_ns, __ATOMIC_SEQ_CST);
}

#endif
