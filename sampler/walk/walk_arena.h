/*
 * The recorder's end of struct walk_arena (core/portable/walk_tables.h): rules and unwind rows in a memfd that
 * every target maps to read. It only grows. And of struct walk_space, a target's mappings.
 */
#ifndef SPROF_WALK_ARENA_H
#define SPROF_WALK_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk_tables.h"

struct mapped_file;
struct process;
struct table_builder;
struct unwind_table;
struct walk_arena_writer;

/* 0 or -errno. */
int walk_arena_new(struct walk_arena_writer **ret_writer);
void walk_arena_free(struct walk_arena_writer *writer); /* NULL is fine */

/* For targets to map; they can neither write it nor change its size. */
int walk_arena_fd(const struct walk_arena_writer *writer);
/* Rules go here before the tables that name them; WALK_NR_RULES of them. */
struct walk_rule *walk_arena_rules(struct walk_arena_writer *writer);

/* The rows of a module; a table of NULL says that it has none. -ENOSPC: full, it has none either. */
int walk_arena_add_table(struct walk_arena_writer *writer, uint32_t module,
			 const struct unwind_table *table);
/* The number is other code's from now on, whose rows are yet to come. */
void walk_arena_reset_module(struct walk_arena_writer *writer, uint32_t module);
/* Code that is new to us, or has a number that was other code's: asks the builder for its rows. */
void walk_arena_add_code(struct walk_arena_writer *writer, struct table_builder *builder,
			 const struct mapped_file *code);
/* The rule at an ELF virtual address; false while the rows are being built. */
bool walk_arena_find_rule(const struct walk_arena_writer *writer, uint32_t module, uint64_t vaddr,
			  struct walk_rule *ret_rule);

/*
 * Writes the mappings of a target into the table of its space that does not count, which then does.
 * `epoch` as struct walk_space has it; *generation is the caller's copy of what is published. Returns
 * how many mappings there was no room for.
 */
size_t walk_space_publish(struct walk_space *space, const struct process *process, uint32_t epoch,
			  uint32_t *generation);

#endif
