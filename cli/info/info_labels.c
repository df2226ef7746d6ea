/*
 * Collects the labels of all samples. A profile of its own interns keys and whole labels, so that
 * each value of a key counts once however many samples have it.
 */
#include "cli/info/info_labels.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "cli/info/info_label.h"
#include "core/base/buffer.h"
#include "core/profile/labels.h"
#include "core/profile/profile.h"
#include "output/text/text.h"

enum { MAX_KEYS = 1000 };

struct keys {
	struct profile *strings;
	uint32_t of[MAX_KEYS]; /* the keys, as ids in `strings` */
	uint64_t nr_values[MAX_KEYS];
	size_t nr;
};

static void add_label(struct keys *keys, const struct label *l)
{
	size_t known = keys->strings->nr_strings, i = 0;
	uint32_t key;

	profile_string(keys->strings, l->key, (size_t)(l->value - l->key) + l->value_size);
	if (keys->strings->nr_strings == known)
		return;
	key = profile_string(keys->strings, l->key, l->key_size);
	while (i < keys->nr && keys->of[i] != key)
		i++;
	if (i == MAX_KEYS)
		return;
	keys->nr += i == keys->nr;
	keys->of[i] = key;
	keys->nr_values[i]++;
}

static void collect(struct keys *keys, const struct profile *p)
{
	bool *seen = xcalloc(p->nr_strings + 1, sizeof(*seen));
	struct label l;

	*keys = (struct keys){ .strings = profile_new() };
	for (size_t i = 0; i < p->nr_samples; i++) {
		uint32_t labels = p->samples[i].labels;
		const char *text = profile_str(p, labels);

		if (seen[labels])
			continue;
		seen[labels] = true;
		while (labels_next(&text, &l))
			add_label(keys, &l);
	}
	free(seen);
}

void info_labels_text(struct buffer *b, const struct profile *p)
{
	struct keys keys;

	collect(&keys, p);
	for (size_t i = 0; i < keys.nr; i++) {
		const char *key = profile_str(keys.strings, keys.of[i]);

		if (i)
			buffer_add_string(b, ", ");
		else
			info_label(b, "labels");
		text_add_clean(b, key, strlen(key));
		buffer_printf(b, " (%llu value%s)", (unsigned long long)keys.nr_values[i],
			      keys.nr_values[i] == 1 ? "" : "s");
	}
	if (keys.nr)
		buffer_add_char(b, '\n');
	profile_free(keys.strings);
}

void info_labels_json(struct buffer *b, const struct profile *p)
{
	struct keys keys;

	collect(&keys, p);
	buffer_add_string(b, ",\n  \"labels\": [");
	for (size_t i = 0; i < keys.nr; i++) {
		buffer_printf(b, "%s{\"key\": ", i ? ", " : "");
		text_add_json(b, profile_str(keys.strings, keys.of[i]));
		buffer_printf(b, ", \"values\": %llu}", (unsigned long long)keys.nr_values[i]);
	}
	buffer_add_char(b, ']');
	profile_free(keys.strings);
}
