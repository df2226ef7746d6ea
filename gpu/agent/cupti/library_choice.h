/* Chooses which file of libcupti is loaded where the program has mapped none. */
#ifndef SPROF_GPU_AGENT_LIBRARY_CHOICE_H
#define SPROF_GPU_AGENT_LIBRARY_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#define LIBRARY_PATH_BYTES 1024

/*
 * The newest libcupti that the driver takes. driver_version: of cuDriverGetVersion(), 12020 is CUDA
 * 12.2; 0 = unknown, any will do. False: none was found.
 */
bool library_choose(uint32_t driver_version, char ret_path[LIBRARY_PATH_BYTES]);

#endif
