/*
 * Puts records from several rings into one order of time. Rings are filled by all CPUs at once, so
 * a record may become visible a little after a younger one: the reader takes only what is older
 * than a moment before the rings were last emptied, and leaves the rest for the next round.
 */
#ifndef SPROF_TIME_ORDER_H
#define SPROF_TIME_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct time_order;

struct time_order *time_order_new(void);
void time_order_free(struct time_order *queue);

/* Copies a record in. `kind` is the caller's. */
void time_order_push(struct time_order *queue, uint64_t time_ns, int kind, const void *data,
		     size_t size);

/*
 * Hands over every record older than `before_ns`, oldest first, equal times in the order of
 * pushing, and forgets it. The data pointer is 8-aligned and valid during the callback, which must
 * not push. Returns how many records stay.
 */
size_t time_order_take(struct time_order *queue, uint64_t before_ns,
		       void (*fn)(void *context, int kind, const void *data, size_t size),
		       void *context);

#endif
