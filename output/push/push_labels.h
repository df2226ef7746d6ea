/*
 * Labels of what is pushed: which service, host, process it is of. They are kept under the names
 * that OpenTelemetry gives them ("service.name"); receivers whose labels allow no dots get a short
 * name ("service_name").
 */
#ifndef SPROF_PUSH_LABELS_H
#define SPROF_PUSH_LABELS_H

#include <stddef.h>

#define LABEL_KEY_MAX 128   /* bytes */
#define LABEL_VALUE_MAX 512 /* bytes; receivers refuse values of 1024 or 2048 */
#define LABELS_MAX 28	    /* of one process; Pyroscope refuses a series with more than 30 */

struct push_label {
	char *key, *value; /* the value is clean text (core/base/clean_text.h), not "" */
};

struct push_labels {
	struct push_label list[LABELS_MAX];
	size_t nr;
	size_t nr_left_out; /* there was no room for them */
};

/*
 * Sets a label in place of an earlier one of that key. The value is cleaned, and cut off at
 * LABEL_VALUE_MAX; one that is empty changes nothing.
 */
void push_labels_set(struct push_labels *labels, const char *key, const char *value);
void push_labels_fini(struct push_labels *labels);

/*
 * Takes "KEY=VALUE" of a command line; "service", "host" and other short names stand for their long
 * ones. NULL, or why it is no label, as a clause: "its key is empty".
 */
const char *push_labels_take(struct push_labels *labels, const char *text);

/*
 * Takes what OTEL_RESOURCE_ATTRIBUTES holds: "key=value,key=value", percent-encoded. What is not of
 * that form is left out.
 */
void push_labels_take_otel(struct push_labels *labels, const char *text);

/*
 * Takes the path of a cgroup, and the pod of Kubernetes that it is of, as "k8s.pod.uid": both the
 * names of systemd ("kubepods-burstable-pod0a1b_...slice") and folders ("/kubepods/pod0a1b-...").
 */
void push_labels_take_cgroup(struct push_labels *labels, const char *path);

/* The value of that key, or NULL. */
const char *push_labels_find(const struct push_labels *labels, const char *key);

struct buffer;

/* Appends the key for a receiver whose labels have only letters, digits and underscores. */
void push_label_add_short_key(struct buffer *b, const char *key);

#endif
