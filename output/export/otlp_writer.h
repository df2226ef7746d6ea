/*
 * OpenTelemetry's ProfilesData with resources that the caller describes: what a receiver of OTLP
 * takes, where each process is a resource of its own. otlp_fields.h says the version of the schema.
 */
#ifndef SPROF_OTLP_WRITER_H
#define SPROF_OTLP_WRITER_H

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct profile;
struct profile_sample;

struct otlp_attribute {
	const char *key;
	const char *text; /* NULL: the value is `number` */
	uint64_t number;
};

/* Samples of the profile, and what they belong to. */
struct otlp_resource {
	const struct otlp_attribute *attributes;
	size_t nr_attributes;
	struct profile_sample *samples; /* of the profile's threads and stacks */
	size_t nr_samples;
};

/*
 * Appends ProfilesData, which is an ExportProfilesServiceRequest too, not compressed. All resources
 * share the profile's tables, which become the dictionary.
 */
void otlp_write(struct buffer *b, const struct profile *p, const struct otlp_resource *resources,
		size_t nr_resources);

#endif
