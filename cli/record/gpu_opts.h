/* What the options of sprof record that concern the GPU say. */
#ifndef SPROF_GPU_OPTS_H
#define SPROF_GPU_OPTS_H

#include <stdbool.h>

#include "cli/record/record_gpu.h"

/* Each is false, with `opts` as it was, where the text is none of what the manual page says. */
bool record_gpu_parse_mode(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_timeline(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_capture(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_backtrace(const char *text, struct record_gpu_opts *opts);

#endif
