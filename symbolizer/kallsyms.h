/* The kernel's symbol table, /proc/kallsyms: kernel, modules and BPF programs. */
#ifndef SPROF_KALLSYMS_H
#define SPROF_KALLSYMS_H

#include <stdint.h>

struct kallsyms;

/*
 * Reads such a table from fd, and closes fd, on failure too. 0 or -errno; -EPERM where the kernel
 * shows every address as zero, as it does to unprivileged users.
 */
int kallsyms_read(int fd, struct kallsyms **ret_table);
void kallsyms_free(struct kallsyms *table);

/*
 * Returns the function that covers a kernel address, as "name" or "name [module]"; NULL where there
 * is none. Lives as long as the table.
 */
const char *kallsyms_lookup(const struct kallsyms *table, uint64_t address);

#endif
