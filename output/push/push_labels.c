/*
 * Sets and finds labels. One table has the long and the short names of the labels that sprof sets
 * itself.
 */
#include "output/push/push_labels.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/clean_text.h"
#include "output/push/percent.h"

static const struct {
	const char *key;   /* by OpenTelemetry's conventions, where they have one */
	const char *typed; /* for --label */
	const char *label; /* of receivers that allow no dots */
} known[] = {
	{ "service.name", "service", "service_name" },
	{ "service.version", "version", "version" },
	{ "host.name", "host", "host" },
	{ "process.pid", "pid", "pid" },
	{ "process.executable.name", "comm", "comm" },
	{ "process.linux.cgroup", "cgroup", "cgroup" },
	{ "container.id", "container", "container" },
	{ "k8s.pod.uid", "pod", "pod" },
	{ "sprof.rank", "rank", "rank" },
};

#define NR_KNOWN (sizeof(known) / sizeof(known[0]))

/* The largest part of clean text that has at most `max` bytes and no part of a character. */
static size_t whole_characters(const char *s, size_t size, size_t max)
{
	if (size <= max)
		return size;
	while (max && ((unsigned char)s[max] & 0xc0) == 0x80)
		max--;
	return max;
}

static char *clean_value(const char *value)
{
	struct buffer b = { 0 };
	char *result;

	text_add_clean(&b, value, strnlen(value, LABEL_VALUE_MAX));
	b.size = whole_characters(b.data, b.size, LABEL_VALUE_MAX);
	result = xstrdup(buffer_cstring(&b));
	buffer_fini(&b);
	return result;
}

static struct push_label *find(const struct push_labels *labels, const char *key)
{
	for (size_t i = 0; i < labels->nr; i++)
		if (!strcmp(labels->list[i].key, key))
			return (struct push_label *)&labels->list[i];
	return NULL;
}

void push_labels_set(struct push_labels *labels, const char *key, const char *value)
{
	struct push_label *l = find(labels, key);

	if (!*value)
		return;
	if (!l && labels->nr == LABELS_MAX) {
		labels->nr_left_out++;
		return;
	}
	if (!l) {
		l = &labels->list[labels->nr++];
		*l = (struct push_label){ .key = xstrdup(key) };
	}
	free(l->value);
	l->value = clean_value(value);
}

void push_labels_fini(struct push_labels *labels)
{
	for (size_t i = 0; i < labels->nr; i++) {
		free(labels->list[i].key);
		free(labels->list[i].value);
	}
	labels->nr = 0;
}

const char *push_labels_find(const struct push_labels *labels, const char *key)
{
	const struct push_label *l = find(labels, key);

	return l ? l->value : NULL;
}

/* Letters, digits, underscores, dots and dashes, a letter or an underscore first. */
static bool key_is_valid(const char *key, size_t size)
{
	if (!size || size > LABEL_KEY_MAX || (!isalpha((unsigned char)*key) && *key != '_'))
		return false;
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)key[i]) && !strchr("_.-", key[i]))
			return false;
	return true;
}

static const char *long_key(const char *typed)
{
	for (size_t i = 0; i < NR_KNOWN; i++)
		if (!strcmp(typed, known[i].typed) || !strcmp(typed, known[i].label))
			return known[i].key;
	return typed;
}

const char *push_labels_take(struct push_labels *labels, const char *text)
{
	const char *equals = strchr(text, '=');
	struct buffer clean = { 0 };
	char *key;
	bool same;

	if (!equals)
		return "it has no '='";
	if (!key_is_valid(text, (size_t)(equals - text)))
		return "its key is not made of letters, digits, '_', '.' and '-', a letter first";
	if (!equals[1])
		return "its value is empty";
	if (strlen(equals + 1) > LABEL_VALUE_MAX)
		return "its value has more than 512 bytes";
	text_add_clean(&clean, equals + 1, strlen(equals + 1));
	same = !strcmp(buffer_cstring(&clean), equals + 1);
	buffer_fini(&clean);
	if (!same)
		return "its value has characters that cannot be shown";
	if (labels->nr == LABELS_MAX)
		return "there are too many labels";
	key = xasprintf("%.*s", (int)(equals - text), text);
	push_labels_set(labels, long_key(key), equals + 1);
	free(key);
	return NULL;
}

static void take_pair(struct push_labels *labels, const char *at, size_t size)
{
	const char *equals = memchr(at, '=', size);
	struct buffer value = { 0 };
	size_t key_size;
	char *key;

	while (size && *at == ' ') {
		at++;
		size--;
	}
	key_size = equals && equals > at ? (size_t)(equals - at) : 0;
	if (!key_is_valid(at, key_size))
		return;
	key = xasprintf("%.*s", (int)key_size, at);
	percent_decode(&value, equals + 1, size - key_size - 1, SIZE_MAX);
	push_labels_set(labels, key, buffer_cstring(&value));
	free(key);
	buffer_fini(&value);
}

void push_labels_take_otel(struct push_labels *labels, const char *text)
{
	for (;;) {
		size_t size = strcspn(text, ",");

		take_pair(labels, text, size);
		if (!text[size])
			return;
		text += size + 1;
	}
}

/*
 * The size of a pod's number: hex digits in five groups with '-' between them, or '_' in names of
 * systemd, where '-' stands for folders; 32 digits for a pod of a node's own files. 0: none.
 */
static size_t pod_uid_size(const char *s)
{
	size_t size = strspn(s, "0123456789abcdef-_"), nr_digits = 0;

	for (size_t i = 0; i < size; i++)
		nr_digits += isxdigit((unsigned char)s[i]) != 0;
	return nr_digits == 32 && (size == 32 || size == 36) ? size : 0;
}

/* The outermost counts: the node made that cgroup, while a pod may make any inside its own. */
static void take_pod(struct push_labels *labels, const char *path)
{
	const char *at = strstr(path, "kubepods");

	while (at && at > path && at[-1] != '/')
		at = strstr(at + 1, "kubepods");
	for (; at && (at = strstr(at, "pod")); at += 3) {
		size_t size = pod_uid_size(at + 3);
		char uid[40];

		if (!size || (at[-1] != '/' && at[-1] != '-'))
			continue;
		for (size_t i = 0; i < size; i++)
			uid[i] = at[3 + i] == '_' ? '-' : at[3 + i];
		uid[size] = '\0';
		push_labels_set(labels, "k8s.pod.uid", uid);
		return;
	}
}

void push_labels_take_cgroup(struct push_labels *labels, const char *path)
{
	push_labels_set(labels, "process.linux.cgroup", path);
	take_pod(labels, path);
}

void push_label_add_short_key(struct buffer *b, const char *key)
{
	for (size_t i = 0; i < NR_KNOWN; i++)
		if (!strcmp(key, known[i].key)) {
			buffer_add_string(b, known[i].label);
			return;
		}
	for (; *key; key++)
		buffer_add_char(b, *key == '.' || *key == '-' ? '_' : *key);
}
