/* Codes may come from a hostile file, so a number need not be a signal. */
#include "core/profile/process_end.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LAST_SIGNAL 64

static const char *signal_text(uint64_t number)
{
	return number && number <= LAST_SIGNAL ? strsignal((int)number) : "no signal";
}

const char *process_end_text(const struct fact_process_end *end, char buf[PROCESS_END_TEXT])
{
	switch (end->how) {
	case PROCESS_END_EXIT:
		snprintf(buf, PROCESS_END_TEXT, "exited with status %" PRIu64, end->code);
		break;
	case PROCESS_END_SIGNAL:
		snprintf(buf, PROCESS_END_TEXT, "was killed by signal %" PRIu64 " (%s)", end->code,
			 signal_text(end->code));
		break;
	case PROCESS_END_NO_MEMORY:
		snprintf(buf, PROCESS_END_TEXT, "was killed by the kernel for lack of memory");
		break;
	default: snprintf(buf, PROCESS_END_TEXT, "ended"); break;
	}
	return buf;
}
