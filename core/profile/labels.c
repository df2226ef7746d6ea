/* Only this file writes the text of labels and takes it apart. */
#include "core/profile/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"

static void add_clean(struct buffer *b, const char *s)
{
	for (; *s; s++)
		buffer_add_char(b, (unsigned char)*s < ' ' ? ' ' : *s);
}

void labels_add(struct buffer *b, const char *key, const char *value, const char *unit)
{
	if (b->size)
		buffer_add_char(b, '\n');
	add_clean(b, key);
	buffer_add_char(b, '=');
	add_clean(b, value);
	if (unit) {
		buffer_add_char(b, '\t');
		add_clean(b, unit);
	}
}

bool labels_next(const char **text, struct label *ret_label)
{
	const char *s = *text, *equals = strchr(s, '='), *end = strchrnul(s, '\n'), *tab;

	if (!*s)
		return false;
	if (!equals || equals > end) /* only in a damaged recording */
		equals = end;
	tab = memchr(s, '\t', (size_t)(end - s));
	*ret_label = (struct label){
		.key = s,
		.key_size = (size_t)(equals - s),
		.value = equals < end ? equals + 1 : end,
		.unit = tab ? tab + 1 : NULL,
		.unit_size = tab ? (size_t)(end - tab - 1) : 0,
	};
	if (!tab || tab < ret_label->value)
		tab = end;
	ret_label->value_size = (size_t)(tab - ret_label->value);
	*text = *end ? end + 1 : end;
	return true;
}

/* Does the sample's thread have this "thread", "pid", "tid" or "host"? False for other keys. */
static bool thread_has(const struct profile *p, const struct profile_sample *s, const char *want)
{
	const struct profile_thread *t;
	char number[32];

	if (s->thread == PROFILE_NONE)
		return false;
	t = &p->threads[s->thread];
	if (!strncmp(want, "thread=", 7))
		return !strcmp(want + 7, profile_str(p, t->comm));
	if (p->has_hosts && !strncmp(want, "host=", 5))
		return !strcmp(want + 5, hosts_name(p, hosts_process(t)));
	snprintf(number, sizeof(number), "pid=%u", t->pid);
	if (!strcmp(want, number))
		return true;
	snprintf(number, sizeof(number), "tid=%u", t->tid);
	return !strcmp(want, number);
}

bool labels_has(const struct profile *p, const struct profile_sample *s, const char *want)
{
	const char *text = profile_str(p, s->labels);
	size_t n = strlen(want);
	struct label l;

	while (labels_next(&text, &l))
		if (n == (size_t)(l.value - l.key) + l.value_size && !memcmp(want, l.key, n))
			return true;
	return thread_has(p, s, want);
}

uint64_t label_number(const struct label *l)
{
	char digits[32] = "";

	memcpy(digits, l->value, l->value_size < sizeof(digits) ? l->value_size : 0);
	return *digits == '-' ? (uint64_t)strtoll(digits, NULL, 10) : strtoull(digits, NULL, 10);
}
