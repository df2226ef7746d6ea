/* A failure: one line on stderr, and one entry in the region. */
#ifndef SPROF_GPU_AGENT_REPORT_H
#define SPROF_GPU_AGENT_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* A line being put together in a fixed buffer; what does not fit is cut. */
struct text {
	char bytes[232];
	size_t length;
};

void text_add(struct text *text, const char *s);
void text_add_number(struct text *text, uint64_t n);

/*
 * Says it and records it; a code said before is only counted. `cupti_error` 0 where no function of
 * CUPTI failed. From any thread.
 */
void report(uint32_t code, uint32_t cupti_error, const struct text *text);
void report_words(uint32_t code, uint32_t cupti_error, const char *words);
/* What was said is said again, and recorded again. */
void report_forget(void);

#endif
