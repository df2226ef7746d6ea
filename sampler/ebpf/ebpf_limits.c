/*
 * One warning per limit is enough: a program that hits a limit usually hits it thousands of times,
 * and the count in the recording says how often.
 */
#include "sampler/ebpf/ebpf_limits.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/log.h"

void ebpf_limit_hit(struct ebpf_limits *l, enum ebpf_limit limit, const char *format, ...)
{
	va_list ap;
	char text[256];

	l->nr_hits++;
	if (l->warned[limit])
		return;
	l->warned[limit] = true;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	log_warning("%s", text);
}
