/* BPF objects that are loaded beside the main one, with its maps in place of their own. */
#ifndef SPROF_SHARED_MAPS_H
#define SPROF_SHARED_MAPS_H

struct bpf_object;

/*
 * Copies what all programs that walk stacks are told of the recording: from the constants of the
 * main skeleton to those of another, which is a type of its own.
 */
#define SHARED_SETTINGS(to, from)                                                                  \
	do {                                                                                       \
		(to)->system_wide = (from)->system_wide;                                           \
		(to)->callers_only = (from)->callers_only;                                         \
		(to)->caller_uid = (from)->caller_uid;                                             \
		(to)->caller_gid = (from)->caller_gid;                                             \
		(to)->caller_capabilities = (from)->caller_capabilities;                           \
		(to)->walk_ns = (from)->walk_ns;                                                   \
		(to)->python_ns = (from)->python_ns;                                               \
	} while (0)

/* The maps that all programs that walk stacks must have in common. 0 or -errno. */
int shared_maps_of_walks(struct bpf_object *to, const struct bpf_object *from);
/* One map; `from` is loaded, `to` is not. 0 or -errno. */
int shared_map(struct bpf_object *to, const struct bpf_object *from, const char *name);

#endif
