/*
 * The in-target code as it is put into a process that did not load libsprof.so: a flat image that
 * runs wherever it lies. It begins with struct agent_payload (sampler/agent/region.h).
 */
#ifndef SPROF_PAYLOAD_H
#define SPROF_PAYLOAD_H

#include <stddef.h>

extern const unsigned char payload_bin[];
extern const size_t payload_bin_size;

#endif
