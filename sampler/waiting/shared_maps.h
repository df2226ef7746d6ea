/* BPF objects that are loaded beside the main one, with its maps in place of their own. */
#ifndef SPROF_SHARED_MAPS_H
#define SPROF_SHARED_MAPS_H

struct bpf_object;

/* The maps that all programs that walk stacks must have in common. 0 or -errno. */
int shared_maps_of_walks(struct bpf_object *to, const struct bpf_object *from);
/* One map; `from` is loaded, `to` is not. 0 or -errno. */
int shared_map(struct bpf_object *to, const struct bpf_object *from, const char *name);

#endif
