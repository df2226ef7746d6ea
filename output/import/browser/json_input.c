/*
 * The file is read whole, because the keys of an object come in any order: a reader goes over it as
 * often as it needs to.
 */
#include "output/import/browser/json_input.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/profile/profile.h"

#define MAX_SIZE ((size_t)2 << 30)

int json_input_init(struct json_input *in, FILE *f, const char *name)
{
	int err;

	*in = (struct json_input){ .name = name };
	err = buffer_add_file(&in->data, f, MAX_SIZE);
	if (err) {
		log_error(-err, "read '%s'", name);
		buffer_fini(&in->data);
		return err;
	}
	in->p = profile_new();
	json_input_rewind(in);
	return 0;
}

void json_input_rewind(struct json_input *in)
{
	json_init(&in->json, in->data.data, in->data.size);
}

int json_input_finish(struct json_input *in, const char *format, struct profile **ret_profile)
{
	int err = -EINVAL;

	if (in->problem)
		log_error(0, "read '%s': %s", in->name, in->problem);
	else if (json_failed(&in->json))
		log_error(0, "read '%s': it stops being valid JSON at byte %zu", in->name,
			  (size_t)(in->json.at - in->data.data));
	else if (!in->p->nr_samples)
		log_error(0, "read '%s': it holds no samples (%s)", in->name, format);
	else
		err = 0;
	if (!err) {
		if (!in->p->meta.command)
			in->p->meta.command = profile_cstring(in->p, in->name);
		in->p->meta.source = profile_cstring(in->p, format);
		in->p->stats.nr_samples = in->p->nr_samples;
		*ret_profile = in->p;
	} else {
		profile_free(in->p);
	}
	buffer_fini(&in->data);
	buffer_fini(&in->key);
	buffer_fini(&in->text);
	return err;
}

bool json_input_is(const struct json_input *in, const char *key)
{
	return in->key.size == strlen(key) && !memcmp(in->key.data, key, in->key.size);
}

uint32_t json_input_string(struct json_input *in)
{
	if (json_peek(&in->json) != '"') {
		json_skip(&in->json);
		return 0;
	}
	json_string(&in->json, &in->text);
	return profile_string(in->p, in->text.data, in->text.size);
}

double json_input_number(struct json_input *in, double otherwise)
{
	double number = otherwise;

	if (json_peek(&in->json) != '0')
		json_skip(&in->json);
	else if (!json_number(&in->json, &number))
		return otherwise;
	return number;
}

void json_input_numbers(struct json_input *in, struct json_numbers *n)
{
	n->nr = 0;
	if (json_peek(&in->json) != '[') {
		json_skip(&in->json);
		return;
	}
	json_enter(&in->json, '[');
	while (json_element(&in->json)) {
		n->list = xgrow(n->list, &n->capacity, n->nr + 1, sizeof(*n->list));
		n->list[n->nr++] = json_input_number(in, NAN);
	}
}

void json_numbers_fini(struct json_numbers *n)
{
	free(n->list);
	*n = (struct json_numbers){ 0 };
}

size_t json_numbers_index(const struct json_numbers *n, size_t at, size_t limit)
{
	double number = at < n->nr ? n->list[at] : NAN;

	return number >= 0 && number < (double)limit ? (size_t)number : SIZE_MAX;
}

uint32_t json_u32(double number)
{
	return number >= 0 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

bool json_input_begins(const char *data, size_t size, char bracket)
{
	size_t i = 0;

	while (i < size && data[i] && strchr(" \t\r\n", data[i]))
		i++;
	return i < size && data[i] == bracket;
}
