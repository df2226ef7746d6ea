/* The activity buffers of the fake libcupti.so: requested from the tool, filled, delivered. */
#ifndef SPROF_TESTS_GPU_FAKE_BUFFERS_H
#define SPROF_TESTS_GPU_FAKE_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fake_op;

typedef void (*fake_requested_fn)(uint8_t **, size_t *, size_t *);
typedef void (*fake_completed_fn)(void *, uint32_t, uint8_t *, size_t, size_t);

enum { FAKE_NR_ATTRIBUTES = 10 };

/* NULL twice: no buffers any more; what is in them is gone. */
void fake_buffers_register(fake_requested_fn requested, fake_completed_fn completed);
void fake_buffers_add(const struct fake_op *op);
/* Delivers all buffers, or without `forced` those whose records are all complete. */
void fake_buffers_flush(bool forced);
size_t fake_buffers_take_dropped(void);
/* A session begins: kinds are enabled where none was. */
void fake_buffers_begin_session(void);

/* False if there is no such attribute, or if it has another size. */
bool fake_attribute_get(uint32_t attribute, size_t size, void *value);
bool fake_attribute_set(uint32_t attribute, size_t size, const void *value);

#endif
