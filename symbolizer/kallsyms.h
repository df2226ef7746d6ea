/* The kernel's own symbol table, /proc/kallsyms: kernel, modules and BPF programs. */
#ifndef SPROF_KALLSYMS_H
#define SPROF_KALLSYMS_H

#include <stdint.h>

struct kallsyms;

/*
 * Reads such a table from fd (closed in any case). -EPERM where the kernel shows every address as
 * zero, as it does to those who may not know where it lies.
 */
int kallsyms_read(int fd, struct kallsyms **ret_table);
void kallsyms_free(struct kallsyms *table);

/*
 * The function that covers a kernel address: "name", or "name [module]"; NULL where none does.
 * Lives as long as the table.
 */
const char *kallsyms_lookup(const struct kallsyms *table, uint64_t address);

#endif
