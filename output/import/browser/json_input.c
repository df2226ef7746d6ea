/*
 * Reads the file whole, because the keys of an object come in any order: a reader goes over it as
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
#include "output/import/input_file.h"

int json_input_init(struct json_input *in, FILE *f, const char *name)
{
	int err;

	*in = (struct json_input){ .name = name };
	err = import_read_all(f, name, &in->data);
	if (err) {
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
	else if (!in->p->nr_samples && !in->may_be_empty)
		log_error(0, "read '%s': it holds no samples (%s)", in->name, format);
	else
		err = 0;
	import_describe(in->p, in->name, format);
	buffer_fini(&in->data);
	buffer_fini(&in->key);
	buffer_fini(&in->text);
	return import_end(in->p, err, ret_profile);
}

bool json_input_enter(struct json_input *in, char bracket)
{
	if (json_peek(&in->json) != bracket) {
		json_skip(&in->json);
		return false;
	}
	return json_enter(&in->json, bracket);
}

bool json_input_key(struct json_input *in)
{
	return json_key(&in->json, &in->key);
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

uint32_t json_input_u32(struct json_input *in)
{
	return json_u32(json_input_number(in, 0));
}

void json_input_numbers(struct json_input *in, struct json_numbers *n)
{
	n->nr = 0;
	if (!json_input_enter(in, '['))
		return;
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
