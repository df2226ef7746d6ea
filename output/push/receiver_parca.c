/*
 * Parca: the JSON form of profilestore.v1alpha1.WriteRaw, with pprof in base64. Threads are labels
 * of samples, by which Parca can group.
 */
#include "output/push/receiver.h"

#include "core/profile/profile.h"
#include "output/codec/base64.h"
#include "output/push/pprof_parts.h"
#include "output/push/series.h"
#include "output/text/text.h"

static void add_label(struct buffer *b, const char *key, const char *value)
{
	struct buffer name = { 0 };

	push_label_add_short_key(&name, key);
	buffer_add_string(b, "{\"name\":");
	text_add_json(b, buffer_cstring(&name));
	buffer_add_string(b, ",\"value\":");
	text_add_json(b, value);
	buffer_add_string(b, "},");
	buffer_fini(&name);
}

static int add_part(void *context, const struct pprof_part *part)
{
	struct push_request *request = context;
	struct buffer *b = &request->body;

	buffer_add_string(b, b->size ? "," : "{\"series\":[");
	buffer_add_string(b, "{\"labels\":{\"labels\":[");
	for (size_t i = 0; i < part->series->labels.nr; i++)
		add_label(b, part->series->labels.list[i].key, part->series->labels.list[i].value);
	add_label(b, "__name__", part->name);
	b->size--; /* the last comma */
	buffer_add_string(b, "]},\"samples\":[{\"rawProfile\":\"");
	base64_add(b, part->pprof->data, part->pprof->size);
	buffer_add_string(b, "\"}]}");
	request->nr_samples += part->nr_samples;
	return 0;
}

static int make(const struct push_set *set,
		int (*emit)(void *context, struct push_request *request), void *context)
{
	struct push_request request = { .receiver = &receiver_parca,
					.time_ns = set->p->meta.start_realtime_ns };
	int err = pprof_parts_each(set, true, add_part, &request);

	buffer_add_string(&request.body, "]}");
	if (err) {
		push_request_fini(&request);
		return err;
	}
	return emit(context, &request);
}

const struct receiver receiver_parca = {
	.name = "parca",
	.help = "Parca, and Polar Signals Cloud: WriteRaw",
	.path = "/api/profiles/writeraw",
	.port = 7070,
	.headers = { "Content-Type: application/json", NULL },
	.make = make,
};
