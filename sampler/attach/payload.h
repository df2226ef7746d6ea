/*
 * The code that is put into a process that did not load libsprof.so: a flat image that runs at any
 * address. It begins with struct agent_payload (sampler/agent/region.h). The Makefile makes it from
 * sampler/agent/.
 */
#ifndef SPROF_PAYLOAD_H
#define SPROF_PAYLOAD_H

#include <stddef.h>

extern const unsigned char payload_bin[];
extern const size_t payload_bin_size;

/* The payload of allocation hooks (sampler/agent/alloc/alloc_region.h). */
extern const unsigned char alloc_payload_bin[];
extern const size_t alloc_payload_bin_size;

#endif
