/* sprof report --annotate: shows the samples of a function by source line and by instruction. */
#ifndef SPROF_REPORT_ANNOTATE_H
#define SPROF_REPORT_ANNOTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options/terminal.h"
#include "output/tree/ranking.h"

struct buffer;
struct pattern;
struct view;

struct report_annotate_opts {
	const struct pattern *pattern; /* which functions */
	enum ranking_key key;
	uint32_t max_functions; /* 0 = all functions, and every place that they were inlined into */
	bool json;
	struct terminal terminal;
	const char *input; /* for messages */
};

/* Returns 0, or -ENODATA, reported, if no sample lies in such a function. */
int report_annotate(struct buffer *b, const struct view *v, const struct report_annotate_opts *o);

#endif
