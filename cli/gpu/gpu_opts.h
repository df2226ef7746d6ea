/* Parsers for the arguments of those options of sprof record that concern the GPU. */
#ifndef SPROF_GPU_OPTS_H
#define SPROF_GPU_OPTS_H

#include <stdbool.h>

#include "cli/gpu/record_gpu.h"

/* Each returns false and does not change `opts` if sprof-record(1) does not describe the text. */
bool record_gpu_parse_mode(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_api(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_kinds(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_overhead(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_timeline(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_capture(const char *text, struct record_gpu_opts *opts);
bool record_gpu_parse_pc_sampling(const char *text, struct record_gpu_opts *opts); /* or NULL */
bool record_gpu_parse_backtrace(const char *text, struct record_gpu_opts *opts);

struct gpu_config;

/*
 * Turns the options into what the library in a target is told. `ret_capture` is
 * gpu_region.capture_name, which is set only if a range is named.
 */
void record_gpu_configure(const struct record_gpu_opts *opts, struct gpu_config *ret,
			  char *ret_capture);

#endif
