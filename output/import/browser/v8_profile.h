/*
 * The CPU profile of V8: nodes of a call tree, the node of each sample, and the time between
 * samples. A .cpuprofile file holds one; Chrome's traces hold it in chunks.
 */
#ifndef SPROF_V8_PROFILE_H
#define SPROF_V8_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "output/import/browser/json_input.h"

struct v8_node {
	double id, parent;     /* 0 = none */
	uint32_t name, url;    /* strings */
	uint32_t line;	       /* 0 = unknown */
	uint32_t frame, stack; /* + 1; 0 = not made yet */
	struct v8_node *above; /* the parent, once all nodes are read; NULL = none */
};

/* Which node is whose child, by ids, where a file lists children. */
struct v8_links {
	double *parents, *children;
	size_t nr, parents_capacity, children_capacity;
};

struct v8_profile {
	struct v8_node *nodes;
	size_t nr_nodes, nodes_capacity;
	struct v8_links links;
	struct json_numbers samples; /* ids of nodes */
	struct json_numbers deltas;  /* us from the sample before to each */
	double start_us, end_us;     /* 0 = unknown */
	uint32_t thread;	     /* id, or PROFILE_NONE */
};

/* Reads the object that is next, and adds its nodes, samples and times to those that are there. */
void v8_profile_read(struct json_input *in, struct v8_profile *v);
/* Takes the value of the key that was read last if it is one of times, which traces keep apart. */
void v8_profile_read_time(struct json_input *in, struct v8_profile *v);

/* Adds the samples to the profile, as wall-clock time. */
void v8_profile_add_samples(struct json_input *in, struct v8_profile *v);
void v8_profile_fini(struct v8_profile *v);

#endif
