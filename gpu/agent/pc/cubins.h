/* Copies of the device code that the program has loaded, by the checksum that samples carry. */
#ifndef SPROF_GPU_AGENT_CUBINS_H
#define SPROF_GPU_AGENT_CUBINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cupti_module_data;

/* Begins to keep copies. */
void cubins_begin(void);
/* In CUPTI's callback, in the thread that has loaded it. Counts what finds no room. */
void cubins_take(const struct cupti_module_data *module);
/* Code with that CRC, good until cubins_end(). One caller at a time. */
bool cubins_find(uint64_t crc, const void **ret_cubin, size_t *ret_bytes);
/* Frees all copies; no more are made. */
void cubins_end(void);

#endif
