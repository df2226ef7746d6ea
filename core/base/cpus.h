/* The CPUs that are online, for per-CPU events. */
#ifndef SPROF_CPUS_H
#define SPROF_CPUS_H

#include <stddef.h>

/* 0, and an array that the caller frees; or -errno. */
int cpus_online(int **ret_cpus, size_t *ret_nr);
/* The same from the kernel's text ("0-3,8,10-11"). -EINVAL where the text is not such a list. */
int cpus_parse(const char *text, int **ret_cpus, size_t *ret_nr);

#endif
