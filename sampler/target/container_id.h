/* Which container a process is in, by the path of its cgroup: engines name cgroups after them. */
#ifndef SPROF_CONTAINER_ID_H
#define SPROF_CONTAINER_ID_H

#include <stdbool.h>

#define CONTAINER_ID_SIZE 80
#define CONTAINER_ENGINE_SIZE 24

struct container_id {
	char id[CONTAINER_ID_SIZE]; /* 64 hex digits, or the name that LXC and nspawn give */
	char engine[CONTAINER_ENGINE_SIZE]; /* "docker", "containerd", "cri-o", "podman", ... */
};

/* False if the path names no container. Of nested containers the innermost counts. */
bool container_id_of_cgroup(const char *path, struct container_id *ret_container);

#endif
