/*
 * Builds unwind tables off the hot path: a thread that takes files in the order they were asked for, and
 * one for code that lies in no file. An eventfd says when a table is ready.
 */
#ifndef SPROF_TABLE_BUILDER_H
#define SPROF_TABLE_BUILDER_H

#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"

struct table_builder;
struct unwind_table;

/*
 * `rules` is where the kernel side reads rules from (room for max_rules): the thread appends new
 * rules there before the table that names them is handed out.
 */
struct table_builder *table_builder_new(struct walk_rule *rules, size_t max_rules);
/* Waits for the tables in hand, drops the rest. NULL is fine. */
void table_builder_free(struct table_builder *builder);

/*
 * Asks for the table of the ELF file behind fd, which must stay open;
 * `index` comes back with the result.
 */
void table_builder_request(struct table_builder *builder, uint32_t index, int fd);
/* The vdso: the table of an image in this process, which must stay. */
void table_builder_request_memory(struct table_builder *builder, uint32_t index, const void *image,
				  size_t size);

/*
 * Code that lies in no file (unwind_table_build_code()): `code`, on the heap, is the builder's from now on.
 * It is small, and does not wait for a file in hand, which may take a second.
 */
void table_builder_request_code(struct table_builder *builder, uint32_t index, uint8_t *code,
				size_t size);

int table_builder_event_fd(const struct table_builder *builder);

/*
 * Takes a finished table; false when none is ready. *ret_table is the caller's, or NULL where the
 * file has no usable call frame information.
 */
int table_builder_take(struct table_builder *builder, uint32_t *ret_index,
		       struct unwind_table **ret_table);
/* Requests that have not been taken yet. */
size_t table_builder_nr_pending(struct table_builder *builder);

#endif
