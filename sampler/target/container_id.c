/*
 * What engines call the cgroup of a container, ID being 64 hex digits:
 *
 *	docker-ID.scope, cri-containerd-ID.scope, crio-ID.scope, libpod-ID.scope	systemd
 *	/docker/ID, /kubepods/burstable/podUID/ID, /libpod_parent/libpod-ID		cgroupfs
 *	.../kubepods-...-podUID.slice:cri-containerd:ID					containerd
 *	lxc.payload.NAME, /lxc/NAME, machine-NAME.scope, systemd-nspawn@NAME.service
 *	/ecs/TASK/ID, where TASK may be all there is: 32 hex digits and a number
 *
 * crio-conmon-ID.scope and libpod-conmon-ID.scope hold the monitor of a container, which runs on
 * the host.
 */
#include "sampler/target/container_id.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define ID_DIGITS 64
#define TASK_DIGITS 32

static size_t hex_digits(const char *s, size_t size)
{
	size_t nr = 0;

	while (nr < size && isxdigit((unsigned char)s[nr]) && !isupper((unsigned char)s[nr]))
		nr++;
	return nr;
}

static void set(struct container_id *c, const char *engine, const char *id, size_t size)
{
	snprintf(c->id, sizeof(c->id), "%.*s", (int)size, id);
	snprintf(c->engine, sizeof(c->engine), "%s", engine);
}

static bool has_part(const char *path, const char *end, const char *part)
{
	const char *at = strstr(path, part);

	return at && at < end;
}

/* The engine of a folder that is called by the number alone: those above it tell. */
static const char *engine_above(const char *path, const char *at)
{
	if (has_part(path, at, "/kubepods"))
		return "kubernetes";
	if (has_part(path, at, "/docker/"))
		return "docker";
	if (has_part(path, at, "/ecs/"))
		return "ecs";
	return has_part(path, at, "libpod") ? "podman" : "container";
}

/* `name` is what stands before the number: "docker-", "crio-", "...slice:cri-containerd:" or "". */
static bool set_by_number(struct container_id *c, const char *path, const char *name, size_t size,
			  const char *id)
{
	static const char *const engines[][2] = {
		{ "cri-containerd", "containerd" },
		{ "crio", "cri-o" },
		{ "libpod", "podman" },
	};
	char engine[CONTAINER_ENGINE_SIZE];
	const char *colon;

	if (!size) {
		set(c, engine_above(path, id), id, ID_DIGITS);
		return true;
	}
	if (name[size - 1] != '-' && name[size - 1] != ':')
		return false;
	size--;
	colon = memrchr(name, ':', size);
	if (colon) {
		size -= (size_t)(colon + 1 - name);
		name = colon + 1;
	}
	if (memmem(name, size, "conmon", 6) || !size)
		return false;
	snprintf(engine, sizeof(engine), "%.*s", (int)size, name);
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (!strcmp(engine, engines[i][0]))
			snprintf(engine, sizeof(engine), "%s", engines[i][1]);
	set(c, engine, id, ID_DIGITS);
	return true;
}

/* One part of the path between slashes, without ".scope" and the like behind it. */
static void take_part(struct container_id *c, bool *found, const char *path, const char *part,
		      size_t size)
{
	static const struct {
		const char *before, *engine;
	} named[] = {
		{ "lxc.payload.", "lxc" },
		{ "systemd-nspawn@", "nspawn" },
		{ "machine-", "nspawn" },
	};
	size_t task = hex_digits(part, size);

	if (size >= ID_DIGITS && hex_digits(part + size - ID_DIGITS, ID_DIGITS) == ID_DIGITS) {
		*found |= set_by_number(c, path, part, size - ID_DIGITS, part + size - ID_DIGITS);
		return;
	}
	if (task == TASK_DIGITS && size > task + 1 && part[task] == '-' &&
	    strspn(part + task + 1, "0123456789") >= size - task - 1) {
		set(c, "ecs", part, size);
		*found = true;
		return;
	}
	if (part - path >= 5 && !strncmp(part - 5, "/lxc/", 5)) {
		set(c, "lxc", part, size);
		*found = true;
		return;
	}
	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		size_t before = strlen(named[i].before);

		/* machine-qemu\x2d1\x2dname.scope is a virtual machine. */
		if (size <= before || strncmp(part, named[i].before, before) ||
		    !strncmp(part, "machine-qemu", 12))
			continue;
		set(c, named[i].engine, part + before, size - before);
		*found = true;
	}
}

bool container_id_of_cgroup(const char *path, struct container_id *ret)
{
	static const char *const suffixes[] = { ".scope", ".service" };
	struct container_id c;
	bool found = false;

	for (const char *part = path; *part;) {
		size_t size = strcspn(part, "/"), name = size;

		for (size_t i = 0; i < 2; i++) {
			size_t suffix = strlen(suffixes[i]);

			if (size > suffix && !strncmp(part + size - suffix, suffixes[i], suffix))
				name = size - suffix;
		}
		if (name)
			take_part(&c, &found, path, part, name);
		part += size + (part[size] == '/');
	}
	if (found)
		*ret = c;
	return found;
}
