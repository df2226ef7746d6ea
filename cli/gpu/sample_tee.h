/*
 * A sink that passes everything on to another one, shows CPU samples to an observer on the way, and
 * says that some samples are not wanted.
 */
#ifndef SPROF_SAMPLE_TEE_H
#define SPROF_SAMPLE_TEE_H

#include <stdbool.h>
#include <stdint.h>

struct sample_tee;
struct sink;

typedef void sample_tee_fn(void *context, uint32_t pid, uint32_t tid, uint64_t time_ns,
			   uint32_t stack);

/* Is a sample of that process and time wanted? */
typedef bool sample_tee_wants(void *context, uint32_t pid, uint64_t time_ns);

/* Each of the two hooks may be NULL. */
struct sample_tee *sample_tee_new(struct sink *to, sample_tee_fn *fn, sample_tee_wants *wants,
				  void *context);
void sample_tee_free(struct sample_tee *tee); /* NULL is fine */
/* The sink of the tee; its ids are those of the sink behind it. */
struct sink *sample_tee_sink(struct sample_tee *tee);

#endif
