/*
 * Writes what walks inside targets read (core/portable/walk_tables.h): struct walk_arena, the rules
 * and unwind rows in a memfd that every target maps read-only and that only grows; and struct
 * walk_space, the mappings of one target.
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

/* The memfd, the writer's. Targets can map it but neither write it nor change its size. */
int walk_arena_fd(const struct walk_arena_writer *writer);
/* The WALK_NR_RULES places of rules; a rule must be there before a table names it. */
struct walk_rule *walk_arena_rules(struct walk_arena_writer *writer);

/* Adds a module's rows; NULL: it has none. -ENOSPC: the arena is full, so it has none either. */
int walk_arena_add_table(struct walk_arena_writer *writer, uint32_t module,
			 const struct unwind_table *table);
/* The number belongs to another file from now on, whose rows are still to come. */
void walk_arena_reset_module(struct walk_arena_writer *writer, uint32_t module);
/* Nothing maps the module any more: walks that begin from now on find no rows of it. */
void walk_arena_hide_module(struct walk_arena_writer *writer, uint32_t module);
/* No walk reads the module's rows any more: their place is used again. */
void walk_arena_remove_module(struct walk_arena_writer *writer, uint32_t module);
/*
 * For a file that is new or has a number of an earlier one: asks the builder for its rows. false:
 * it has none, and the builder was not asked.
 */
bool walk_arena_add_file(struct walk_arena_writer *writer, struct table_builder *builder,
			 const struct mapped_file *file);
/* The rule at an ELF virtual address; false while the rows are being built. */
bool walk_arena_find_rule(const struct walk_arena_writer *writer, uint32_t module, uint64_t vaddr,
			  struct walk_rule *ret_rule);

/*
 * Writes the mappings of a target into the table of its space that is not in use, and makes that
 * one the table in use. `epoch` is that of struct walk_space; *generation is the caller's copy of
 * the published one. Returns how many mappings did not fit.
 */
size_t walk_space_publish(struct walk_space *space, const struct process *process, uint32_t epoch,
			  uint32_t *generation);

#endif
