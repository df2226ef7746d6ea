/*
 * Loads sampler/bpf/calls.bpf.c and attaches its programs. Native functions get uprobes: all
 * functions of a call in one link where the kernel can do that (6.6), else one link for each.
 * CPython's events are its USDT probes, one link each. A file is named by /proc/PID/fd, so it is
 * the file that is open whatever has become of its path.
 */
#include "sampler/call_counts.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/untrusted/user_shares.h"
#include "sampler/bpf/calls.h"
#include "sampler/bpf/calls.skel.h"
#include "sampler/ebpf/ebpf_probe.h"
#include "sampler/events/percpu_map.h"
#include "sampler/function_returns_x86_64.h"
#include "core/rights/privileges.h"
#include "sampler/probe_safety_x86_64.h"
#include "sampler/runtimes/python/interpreter.h"

struct call_counts {
	struct calls_bpf *skel;
	struct bpf_link **links;
	size_t nr_links, links_capacity;
	bool has_multi; /* the kernel has links of many probes */
	int *fds;	/* of those links */
	size_t nr_fds, fds_capacity;
	uint32_t nr_probes;	   /* native ones */
	struct user_shares shares; /* of these, of all users but the caller */
	struct ring_buffer *ring;  /* of imports */
	call_counts_import_fn *import_fn;
	void *import_context;
	struct ring_buffer *collectives;
	call_counts_collective_fn *collective_fn;
	void *collective_context;
};

/*
 * BPF_TRACE_UPROBE_MULTI and its arguments of BPF_LINK_CREATE: include/uapi/linux/bpf.h of Linux
 * 6.6.
 */
#define TRACE_UPROBE_MULTI 48

struct link_uprobe_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies; /* addresses */
	uint32_t cnt, multi_flags, pid, pad;
};

/* Makes one link with a probe at each offset. Returns its descriptor or -errno. */
static int link_many(const struct bpf_program *program, const char *path, const uint64_t *offsets,
		     const uint64_t *cookies, size_t nr)
{
	const struct link_uprobe_multi attr = {
		.prog_fd = (uint32_t)bpf_program__fd(program),
		.attach_type = TRACE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.cookies = (uintptr_t)cookies,
		.cnt = (uint32_t)nr,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

/*
 * Does the kernel have links of many probes? It then refuses "/", which is not a regular file, by
 * -EBADF. A kernel without them accepts the program, but refuses the link for another reason.
 */
static bool links_many(const struct call_counts *p)
{
	uint64_t zero = 0;

	return link_many(p->skel->progs.on_call, "/", &zero, &zero, 1) == -EBADF;
}

static void set_multi(struct bpf_program *program, bool multi)
{
	if (multi)
		bpf_program__set_expected_attach_type(program,
						      (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

/* `multi`: the programs are loaded for links of many probes, else for one probe a link. */
static int load(struct call_counts *p, bool system_wide, bool no_children, bool multi)
{
	int err;

	p->skel = calls_bpf__open();
	if (!p->skel)
		return -errno;
	p->skel->rodata->system_wide = system_wide;
	p->skel->rodata->no_children = no_children;
	p->has_multi = multi;
	set_multi(p->skel->progs.on_call, multi);
	set_multi(p->skel->progs.on_collective, multi);
	set_multi(p->skel->progs.on_collective_return, multi);
	err = calls_bpf__load(p->skel);
	if (!err && multi && !links_many(p))
		err = -ENOTSUP;
	if (err) {
		calls_bpf__destroy(p->skel);
		p->skel = NULL;
	}
	return err;
}

static int on_import(void *context, void *data, size_t size)
{
	const struct call_counts *p = context;
	struct import_event e;

	if (size < sizeof(e))
		return 0;
	memcpy(&e, data, sizeof(e));
	e.module[sizeof(e.module) - 1] = '\0';
	p->import_fn(p->import_context, &e);
	return 0;
}

static int on_collective(void *context, void *data, size_t size)
{
	const struct call_counts *p = context;
	struct collective_event e;

	if (size < sizeof(e))
		return 0;
	memcpy(&e, data, sizeof(e));
	p->collective_fn(p->collective_context, &e);
	return 0;
}

int call_counts_new(bool system_wide, bool no_children, struct call_counts **ret_counts)
{
	struct call_counts *p;
	char why[256], hint[256];
	int err;

	if (!ebpf_probe(why, sizeof(why), hint, sizeof(hint))) {
		log_error(0, "count calls: %s", why);
		if (hint[0])
			log_hint("%s", hint);
		return -EPERM;
	}
	if (!privileges_have(CAP_SYS_ADMIN)) {
		log_error(0, "count calls: only root may put a probe into a file "
			     "(CAP_SYS_ADMIN)");
		log_hint("%s", getuid() ? "run it with sudo"
					: "root lacks that here: in a container, start that with "
					  "--cap-add SYS_ADMIN");
		return -EPERM;
	}
	libbpf_set_print(ebpf_print_libbpf);
	p = xcalloc(1, sizeof(*p));
	user_shares_init(&p->shares, MAX_CALL_PROBES);
	err = load(p, system_wide, no_children, true);
	if (err)
		err = load(p, system_wide, no_children, false);
	if (!err) {
		p->skel->links.on_fork = bpf_program__attach(p->skel->progs.on_fork);
		p->skel->links.on_exec = bpf_program__attach(p->skel->progs.on_exec);
		p->skel->links.on_exit = bpf_program__attach(p->skel->progs.on_exit);
		p->ring = ring_buffer__new(bpf_map__fd(p->skel->maps.imports), on_import, p, NULL);
		p->collectives = ring_buffer__new(bpf_map__fd(p->skel->maps.collectives),
						  on_collective, p, NULL);
		if (!p->skel->links.on_fork || !p->skel->links.on_exec || !p->skel->links.on_exit ||
		    !p->ring || !p->collectives)
			err = -errno;
	}
	if (err) {
		log_error(-err, "load the BPF program that counts calls");
		call_counts_free(p);
		return err;
	}
	*ret_counts = p;
	return 0;
}

void call_counts_free(struct call_counts *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nr_links; i++)
		bpf_link__destroy(p->links[i]);
	for (size_t i = 0; i < p->nr_fds; i++)
		close(p->fds[i]);
	free(p->links);
	free(p->fds);
	ring_buffer__free(p->ring);
	ring_buffer__free(p->collectives);
	user_shares_fini(&p->shares);
	calls_bpf__destroy(p->skel);
	free(p);
}

int call_counts_add_process(struct call_counts *p, pid_t pid, bool from_exec)
{
	uint32_t key = (uint32_t)pid, counts = !from_exec;
	int map = bpf_map__fd(p->skel->maps.counted);

	return bpf_map_update_elem(map, &key, &counts, BPF_ANY) ? -errno : 0;
}

pid_t call_counts_next_process(const struct call_counts *p, pid_t pid)
{
	uint32_t key = (uint32_t)pid, next;

	if (bpf_map_get_next_key(bpf_map__fd(p->skel->maps.counted), pid ? &key : NULL, &next))
		return 0;
	return (pid_t)next;
}

uint64_t call_counts_nr_execs(const struct call_counts *p)
{
	return __atomic_load_n(&p->skel->bss->nr_execs, __ATOMIC_RELAXED);
}

/* A path of the file that is open at fd. */
static void name_file(char *path, size_t size, int fd)
{
	snprintf(path, size, "/proc/%d/fd/%d", (int)getpid(), fd);
}

static int keep_link(struct call_counts *p, struct bpf_link *link)
{
	if (!link)
		return -errno;
	p->links = xgrow(p->links, &p->links_capacity, p->nr_links + 1, sizeof(*p->links));
	p->links[p->nr_links++] = link;
	return 0;
}

static bool is_safe(int fd, uint64_t offset)
{
	uint8_t code[PROBE_MAX_INSTRUCTION];
	ssize_t nr = pread(fd, code, sizeof(code), (off_t)offset);

	return nr > 0 && probe_is_safe(code, (size_t)nr);
}

/*
 * Makes probes with the numbers from `first` on. The kernel refuses all if it refuses one: then
 * each half is tried.
 */
static void attach_many(struct call_counts *p, const struct bpf_program *program, const char *path,
			const uint64_t *offsets, size_t nr, uint32_t first, int *ret_probes)
{
	uint64_t *cookies = xcalloc(nr + 1, sizeof(*cookies));
	int fd;

	for (size_t i = 0; i < nr; i++)
		cookies[i] = first + i;
	fd = nr ? link_many(program, path, offsets, cookies, nr) : 0;
	free(cookies);
	if (fd < 0 && nr > 1) {
		attach_many(p, program, path, offsets, nr / 2, first, ret_probes);
		attach_many(p, program, path, offsets + nr / 2, nr - nr / 2,
			    first + (uint32_t)(nr / 2), ret_probes + nr / 2);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		ret_probes[i] = fd < 0 ? fd : (int)(first + i);
	if (!nr || fd < 0)
		return;
	p->fds = xgrow(p->fds, &p->fds_capacity, p->nr_fds + 1, sizeof(*p->fds));
	p->fds[p->nr_fds++] = fd;
}

static void attach_each(struct call_counts *p, const struct bpf_program *program, const char *path,
			const uint64_t *offsets, size_t nr, int *ret_probes)
{
	for (size_t i = 0; i < nr; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = p->nr_probes + i);
		int err = keep_link(
			p, bpf_program__attach_uprobe_opts(program, -1, path, offsets[i], &opts));

		ret_probes[i] = err ? err : (int)(p->nr_probes + i);
	}
}

/* Takes the room of one probe, one of `room`. 0 or -errno. */
static int take_room(struct call_counts *p, uint32_t user, size_t room, int fd, uint64_t offset)
{
	bool is_other = user != CALL_COUNTS_CALLER && user != getuid();

	if (!room)
		return -ENOSPC;
	if (is_other && user_shares_take(&p->shares, user, 1) != SHARE_TAKEN)
		return -EDQUOT;
	if (is_safe(fd, offset))
		return 0;
	if (is_other)
		user_shares_give(&p->shares, user, 1);
	return -EOPNOTSUPP;
}

static void attach(struct call_counts *p, const struct bpf_program *program, int fd, uint32_t user,
		   const uint64_t *offsets, size_t nr, int *ret_probes)
{
	size_t room = MAX_CALL_PROBES - p->nr_probes, most = nr < room ? nr : room, nr_safe = 0;
	uint64_t *safe = xcalloc(most + 1, sizeof(*safe));
	int *probes = xcalloc(most + 1, sizeof(*probes));
	char path[64];

	name_file(path, sizeof(path), fd);
	for (size_t i = 0; i < nr; i++) {
		ret_probes[i] = take_room(p, user, room - nr_safe, fd, offsets[i]);
		if (!ret_probes[i])
			safe[nr_safe++] = offsets[i];
	}
	if (p->has_multi)
		attach_many(p, program, path, safe, nr_safe, p->nr_probes, probes);
	else
		attach_each(p, program, path, safe, nr_safe, probes);
	p->nr_probes += (uint32_t)nr_safe;
	nr_safe = 0;
	for (size_t i = 0; i < nr; i++)
		if (!ret_probes[i])
			ret_probes[i] = probes[nr_safe++];
	free(safe);
	free(probes);
}

void call_counts_attach(struct call_counts *p, int fd, uint32_t user, const uint64_t *offsets,
			size_t nr, int *ret_probes)
{
	attach(p, p->skel->progs.on_call, fd, user, offsets, nr, ret_probes);
}

/* Probes at the returns come first: a call that is seen to begin is to be seen to return. */
int call_counts_attach_collective(struct call_counts *p, int fd, uint32_t user, uint64_t offset,
				  uint64_t size)
{
	uint64_t returns[FUNCTION_MAX_RETURNS];
	int probes[FUNCTION_MAX_RETURNS], probe;
	size_t nr = function_returns_find(fd, offset, size, returns);

	if (!nr)
		return -ENODATA;
	attach(p, p->skel->progs.on_collective_return, fd, user, returns, nr, probes);
	for (size_t i = 0; i < nr; i++)
		if (probes[i] < 0)
			return probes[i];
	attach(p, p->skel->progs.on_collective, fd, user, &offset, 1, &probe);
	return probe;
}

static int attach_usdt(struct call_counts *p, int fd, const struct bpf_program *program,
		       const char *probe)
{
	char path[64];

	name_file(path, sizeof(path), fd);
	return keep_link(p, bpf_program__attach_usdt(program, -1, path, "python", probe, NULL));
}

enum call_counts_python call_counts_attach_python(struct call_counts *p, int fd,
						  enum call_counts_event event)
{
	struct py_layout layout;
	char why[256];
	int err = 0;

	if (python_elf_read(fd, &layout, why, sizeof(why)) != PYTHON_ELF_FOUND)
		return CALL_PROBES_NO_PYTHON;
	switch (event) {
	case CALL_PROBES_FUNCTIONS:
		if (layout.minor == 11)
			return CALL_PROBES_NOT_EACH;
		err = attach_usdt(p, fd, p->skel->progs.on_python_entry, "function__entry");
		break;
	case CALL_PROBES_GC:
		err = attach_usdt(p, fd, p->skel->progs.on_gc_start, "gc__start");
		err = err ? err : attach_usdt(p, fd, p->skel->progs.on_gc_done, "gc__done");
		break;
	case CALL_PROBES_IMPORTS:
		err = attach_usdt(p, fd, p->skel->progs.on_import_start,
				  "import__find__load__start");
		err = err ? err
			  : attach_usdt(p, fd, p->skel->progs.on_import_done,
					"import__find__load__done");
		break;
	case NR_CALL_PROBES_EVENTS: break;
	}
	if (err == -ENOENT)
		return CALL_PROBES_NOT_BUILT_IN;
	if (err)
		log_debug("attach to a probe of Python: %s", strerror(-err));
	return err ? CALL_PROBES_FAILED : CALL_PROBES_PYTHON;
}

void call_counts_start(struct call_counts *p, uint64_t begin_ns, uint64_t end_ns)
{
	p->skel->bss->begin_ns = begin_ns;
	p->skel->bss->end_ns = end_ns;
}

uint64_t call_counts_count(const struct call_counts *p, uint32_t probe)
{
	return percpu_map_sum(bpf_map__fd(p->skel->maps.calls), probe);
}

void call_counts_each_python(const struct call_counts *p, call_counts_fn *fn, void *context)
{
	int map = bpf_map__fd(p->skel->maps.python_calls);
	struct python_call_key key;
	struct python_calls calls;

	for (void *at = NULL; !bpf_map_get_next_key(map, at, &key); at = &key) {
		if (bpf_map_lookup_elem(map, &key, &calls) || !calls.nr)
			continue;
		calls.file[sizeof(calls.file) - 1] = calls.name[sizeof(calls.name) - 1] = '\0';
		fn(context, calls.file, calls.name, key.line > 0 ? (uint32_t)key.line : 0,
		   calls.nr);
	}
}

void call_counts_each_gc(const struct call_counts *p, call_counts_gc_fn *fn, void *context)
{
	int map = bpf_map__fd(p->skel->maps.gc_sums);
	struct gc_key key;
	struct gc_sum sum;

	for (void *at = NULL; !bpf_map_get_next_key(map, at, &key); at = &key)
		if (!bpf_map_lookup_elem(map, &key, &sum))
			fn(context, &key, &sum);
}

void call_counts_read_imports(struct call_counts *p, call_counts_import_fn *fn, void *context)
{
	p->import_fn = fn;
	p->import_context = context;
	ring_buffer__consume(p->ring);
}

void call_counts_read_collectives(struct call_counts *p, call_counts_collective_fn *fn,
				  void *context)
{
	p->collective_fn = fn;
	p->collective_context = context;
	ring_buffer__consume(p->collectives);
}

uint64_t call_counts_nr_collectives_left_out(const struct call_counts *p)
{
	return p->skel->bss->nr_collectives_left_out;
}

uint64_t call_counts_nr_children_left_out(const struct call_counts *p)
{
	return p->skel->bss->nr_children_left_out;
}

uint64_t call_counts_nr_left_out(const struct call_counts *p)
{
	return p->skel->bss->nr_left_out;
}
