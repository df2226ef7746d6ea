/* Parsers for the arguments of those options of sprof record that concern the GPU. */
#ifndef SPROF_GPU_OPTS_H
#define SPROF_GPU_OPTS_H

#include <stdbool.h>

#include "cli/gpu/record_gpu.h"

/*
 * Each returns false, and leaves `opts` as it was, for a text that the manual page does not
 * describe.
 */
bool record_gpu_parse_mode(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_api(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_timeline(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_capture(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_backtrace(const char *text, struct record_gpu_opts *opts);

#endif
