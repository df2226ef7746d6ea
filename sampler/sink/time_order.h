/*
 * Puts records from several rings into the order of their times. All CPUs fill rings at once, so a
 * record may become visible a little after a younger one. The reader therefore takes only records
 * that are older than a moment before it last emptied the rings, and leaves the rest for the next
 * round.
 */
#ifndef SPROF_TIME_ORDER_H
#define SPROF_TIME_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct time_order;

struct time_order *time_order_new(void);
void time_order_free(struct time_order *queue);

/*
 * Adds a record and returns its `size` bytes, 8-aligned, which the caller fills before its next
 * call for this queue. `kind` is handed back as it is.
 */
void *time_order_add(struct time_order *queue, uint64_t time_ns, int kind, size_t size);
/* The same with a copy of what the record holds. */
void time_order_push(struct time_order *queue, uint64_t time_ns, int kind, const void *data,
		     size_t size);

/* What the records that wait take, in bytes. */
size_t time_order_bytes(const struct time_order *queue);

/* For how many records there is room; what a burst took is given back after it, by halves. */
size_t time_order_room(const struct time_order *queue);

/*
 * Hands every record older than `before_ns` to fn, oldest first and equal times in the order of
 * pushing, and removes it. `data` is 8-aligned and valid during the callback, which must not push.
 * Returns how many records remain.
 */
size_t time_order_take(struct time_order *queue, uint64_t before_ns,
		       void (*fn)(void *context, int kind, const void *data, size_t size),
		       void *context);

#endif
