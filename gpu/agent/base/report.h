/*
 * Failures: each is one line on the target's stderr and one entry in the region, once per code;
 * repetitions are only counted.
 */
#ifndef SPROF_GPU_AGENT_REPORT_H
#define SPROF_GPU_AGENT_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* A line built in a fixed buffer; what does not fit is cut off. */
struct text {
	char bytes[232];
	size_t length;
};

void text_add(struct text *text, const char *s);
void text_add_number(struct text *text, uint64_t n);

/*
 * Reports a failure (enum gpu_failure_code), from any thread. cupti_error: 0 if no CUPTI call
 * failed.
 */
void report(uint32_t code, uint32_t cupti_error, const struct text *text);
void report_words(uint32_t code, uint32_t cupti_error, const char *words);
/* In a forked child, which has reported nothing yet. */
void report_in_child(void);
/* For the next recorder: every code is reported again. */
void report_forget(void);

#endif
