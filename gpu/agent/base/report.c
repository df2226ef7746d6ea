/* A line goes out with one write(2), so that it does not mix with the target's own output. */
#include "gpu/agent/base/report.h"

#include <string.h>
#include <unistd.h>

#include "gpu/agent/base/clock.h"
#include "gpu/agent/base/state.h"

static uint64_t reported; /* atomic: a bit per failure code */

void text_add(struct text *text, const char *s)
{
	while (*s && text->length < sizeof(text->bytes) - 1)
		text->bytes[text->length++] = *s++;
	text->bytes[text->length] = 0;
}

void text_add_number(struct text *text, uint64_t n)
{
	char digits[21];
	int at = sizeof(digits) - 1;

	digits[at] = 0;
	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	text_add(text, digits + at);
}

static void write_line(const struct text *text)
{
	static const char prefix[] = "sprof: gpu: ";
	char line[sizeof(prefix) + sizeof(text->bytes) + 1];
	size_t length = sizeof(prefix) - 1;
	ssize_t n;

	memcpy(line, prefix, length);
	memcpy(line + length, text->bytes, text->length);
	length += text->length;
	line[length++] = '\n';
	n = write(STDERR_FILENO, line, length);
	(void)n; /* if stderr is closed, the recording still has the entry */
}

void report_in_child(void)
{
	__atomic_store_n(&reported, 0, __ATOMIC_RELEASE);
}

void report_forget(void)
{
	struct gpu_region *r = agent.region;

	for (uint32_t i = 0; i < GPU_MAX_FAILURES; i++)
		__atomic_store_n(&r->failures[i].code, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&r->nr_failures, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&reported, 0, __ATOMIC_RELEASE);
}

static void count_again(struct gpu_region *r, uint32_t code)
{
	uint32_t nr = __atomic_load_n(&r->nr_failures, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < nr && i < GPU_MAX_FAILURES; i++)
		if (r->failures[i].code == code)
			__atomic_fetch_add(&r->failures[i].count, 1, __ATOMIC_RELAXED);
}

void report(uint32_t code, uint32_t cupti_error, const struct text *text)
{
	uint64_t bit = 1ull << (code & 63);
	struct gpu_region *r = agent.region;
	uint32_t i;

	if (__atomic_fetch_or(&reported, bit, __ATOMIC_ACQ_REL) & bit) {
		if (r)
			count_again(r, code);
		return;
	}
	write_line(text);
	if (!r)
		return;
	i = __atomic_fetch_add(&r->nr_failures, 1, __ATOMIC_ACQ_REL);
	if (i >= GPU_MAX_FAILURES)
		return;
	r->failures[i].cupti_error = cupti_error;
	r->failures[i].time_ns = clock_now_ns();
	r->failures[i].count = 1;
	memcpy(r->failures[i].text, text->bytes, text->length + 1);
	__atomic_store_n(&r->failures[i].code, code, __ATOMIC_RELEASE);
}

void report_words(uint32_t code, uint32_t cupti_error, const char *words)
{
	struct text text = { .length = 0 };

	text_add(&text, words);
	report(code, cupti_error, &text);
}
