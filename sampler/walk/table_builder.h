/*
 * Builds unwind tables in the background: one thread takes files in the order of the requests,
 * another takes runtime code. An eventfd becomes readable when a table is ready.
 */
#ifndef SPROF_TABLE_BUILDER_H
#define SPROF_TABLE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"

struct sandbox;
struct table_builder;
struct unwind_table;

/*
 * `rules` has room for max_rules and is where walkers read rules: the builder appends new ones
 * there before it hands out a table that names them. Files and code are parsed in children of
 * `sandbox`, which must outlive the builder; NULL: in this process.
 */
struct table_builder *table_builder_new(struct walk_rule *rules, size_t max_rules,
					const struct sandbox *sandbox);
/* Gives up the tables that are being built and all other requests. NULL is fine. */
void table_builder_free(struct table_builder *builder);

/*
 * Asks for the table of the ELF file behind fd, which must stay open. `index` comes back with the
 * result.
 */
void table_builder_request(struct table_builder *builder, uint32_t index, int fd);
/* The same for an ELF image in this process (the vdso), which must stay mapped. */
void table_builder_request_memory(struct table_builder *builder, uint32_t index, const void *image,
				  size_t size);

/*
 * The same for runtime code (unwind_table_build_code()). `code` is on the heap and the builder's
 * from now on. It does not wait for files, which may take a second each.
 */
void table_builder_request_code(struct table_builder *builder, uint32_t index, uint8_t *code,
				size_t size);

int table_builder_event_fd(const struct table_builder *builder);

/* A finished request. */
struct built_table {
	uint32_t index;
	struct unwind_table *table; /* the taker's; NULL where nothing could be built */
	bool parser_failed;	    /* because the process that parses died or took too long */
};

/* Takes a finished request; false when none is ready. */
bool table_builder_take(struct table_builder *builder, struct built_table *ret);
/* Requests whose results have not been taken yet. */
size_t table_builder_nr_pending(struct table_builder *builder);

#endif
