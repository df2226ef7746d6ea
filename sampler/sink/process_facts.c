/*
 * /proc/PID/cgroup has a line for each hierarchy, "ID:CONTROLLERS:PATH"; that of version 2 is
 * "0::PATH". Where version 1 is in use too, engines may use that alone, so a container is looked
 * for in all lines.
 */
#include "sampler/sink/process_facts.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/proc_status.h"
#include "core/base/text_file.h"
#include "core/profile/source.h"
#include "core/untrusted/job_rank.h"
#include "core/untrusted/process_environment.h"
#include "core/untrusted/remote_read.h"
#include "sampler/sink/process_contexts.h"
#include "sampler/target/container_id.h"
#include "sampler/target/proc_life.h"

#define MAX_KNOWN 16384
#define MAX_CGROUP_FILE (64u << 10)
#define MAX_PASSWD (1u << 20) /* lines */
#define NEW_NS (2000ull * 1000 * 1000)
#define MAX_LOOKS 16 /* into the environment of one process */

struct known {
	pid_t pid, parent;
	uid_t uid;
	char *cgroup;
	struct container_id container;
	bool is_read;  /* the fields above are known, or the parent's */
	bool is_young; /* its fork was seen */
	bool was_new;
	uint64_t age_ns; /* at its first sample; 0: not known */
	bool sampled;	 /* the sink knows it */
	bool has_ended;
	struct job_rank rank;
	bool has_rank;
	char *service, *attributes; /* as in struct fact_resource; NULL: not set */
	uint8_t nr_looks;
	UT_hash_handle hh;
};

struct user {
	uid_t uid;
	char *name;
	UT_hash_handle hh;
};

struct process_facts {
	struct known *known;
	struct user *users; /* of /etc/passwd */
	struct process_contexts *contexts;
	long ticks_per_s;
};

/*
 * Only the file is read: other sources of users (LDAP ...) may take long to answer, and samples
 * wait meanwhile.
 */
static void read_users(struct process_facts *f)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *entry;

	for (int i = 0; file && i < (int)MAX_PASSWD && (entry = fgetpwent(file)); i++) {
		struct user *u;

		HASH_FIND_INT(f->users, &entry->pw_uid, u);
		if (u)
			continue;
		u = xcalloc(1, sizeof(*u));
		u->uid = entry->pw_uid;
		u->name = xstrdup(entry->pw_name);
		HASH_ADD_INT(f->users, uid, u);
	}
	if (file)
		fclose(file);
}

struct process_facts *process_facts_new(void)
{
	struct process_facts *f = xcalloc(1, sizeof(*f));

	f->ticks_per_s = sysconf(_SC_CLK_TCK);
	f->contexts = process_contexts_new();
	read_users(f);
	return f;
}

static void forget(struct process_facts *f, struct known *k)
{
	HASH_DEL(f->known, k);
	free(k->cgroup);
	free(k->service);
	free(k->attributes);
	free(k);
}

static void forget_all(struct process_facts *f)
{
	struct known *k, *next;

	HASH_ITER (hh, f->known, k, next)
		forget(f, k);
}

void process_facts_free(struct process_facts *f)
{
	struct user *u, *next;

	if (!f)
		return;
	forget_all(f);
	process_contexts_free(f->contexts);
	HASH_ITER (hh, f->users, u, next) {
		HASH_DEL(f->users, u);
		free(u->name);
		free(u);
	}
	free(f);
}

void process_facts_forget(struct process_facts *f)
{
	forget_all(f);
}

/* The path of a line; NULL: it has another form. */
static const char *path_of(const char *line)
{
	const char *colon = strchr(line, ':');

	colon = colon ? strchr(colon + 1, ':') : NULL;
	return colon && colon[1] == '/' ? colon + 1 : NULL;
}

static void take_cgroup(struct known *k, const char *path)
{
	free(k->cgroup);
	k->cgroup = xstrdup(path);
}

static void parse_cgroup(struct known *k, char *text)
{
	bool found = false, second = false;
	char *rest, *line;

	free(k->cgroup);
	k->cgroup = NULL;
	k->container = (struct container_id){ 0 };
	for (rest = text; (line = strsep(&rest, "\n"));) {
		const char *at = path_of(line);
		bool is_second = !strncmp(line, "0::", 3);

		if (!at)
			continue;
		if (is_second || (!second && (!k->cgroup || strstr(line, ":name=systemd:"))))
			take_cgroup(k, at);
		second |= is_second;
		if (is_second || !found)
			found |= container_id_of_cgroup(at, &k->container);
	}
}

static void read_cgroup(struct known *k)
{
	char text[2048], path[64], *all;
	size_t size;
	int fd;

	if (proc_text(text, sizeof(text), "/proc/%d/cgroup", (int)k->pid))
		return;
	if (strlen(text) < sizeof(text) - 1) {
		parse_cgroup(k, text);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)k->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || text_file_read(fd, MAX_CGROUP_FILE, &all, &size))
		return;
	parse_cgroup(k, all);
	free(all);
}

static uint64_t age_ns(const struct process_facts *f, uint64_t start_ticks)
{
	uint64_t start = start_ticks * (1000000000u / (uint64_t)f->ticks_per_s);
	uint64_t now = (uint64_t)boottime_ns();

	return now > start ? now - start : 0;
}

/* false: it has ended. */
static bool read_process(const struct process_facts *f, struct known *k)
{
	struct proc_life life;
	bool has_life = proc_life_read(k->pid, &life);
	char text[8192];
	const char *uid, *parent;

	if (proc_status_text(k->pid, text, sizeof(text)))
		return false;
	uid = proc_status_value(text, "Uid");
	parent = proc_status_value(text, "PPid");
	if (!uid || !parent)
		return false;
	k->uid = (uid_t)strtoul(uid, NULL, 10);
	k->parent = atoi(parent);
	k->age_ns = has_life ? age_ns(f, life.start) : 0; /* 0: reads of it do not return */
	k->was_new = k->age_ns < NEW_NS;
	k->is_read = true;
	read_cgroup(k);
	return true;
}

static void tell(const struct process_facts *f, struct sink *sink, const struct known *k)
{
	struct fact_process row = {
		.pid = (uint64_t)k->pid,
		.parent = (uint64_t)k->parent,
		.uid = k->uid,
		.cgroup = sink_cstring(sink, k->cgroup ? k->cgroup : ""),
		.container = sink_cstring(sink, k->container.id),
		.engine = sink_cstring(sink, k->container.engine),
	};
	struct user *u;

	HASH_FIND_INT(f->users, &k->uid, u);
	row.user = sink_cstring(sink, u ? u->name : "");
	sink->fact(sink, FACT_PROCESS, &row);
}

/* A rank is told again where it has changed: a rank may start a job of its own. */
static void look_up_rank(struct sink *sink, struct known *k, const struct process_environment *e)
{
	struct job_rank r;

	if (!job_rank_of_environment(e, &r))
		return;
	if (k->has_rank && r.rank == k->rank.rank && r.nr_ranks == k->rank.nr_ranks)
		return;
	k->has_rank = true;
	k->rank = r;
	sink->fact(sink, FACT_RANK,
		   &(struct fact_rank){ .pid = (uint64_t)k->pid,
					.rank = r.rank,
					.local_rank = r.local_rank,
					.nr_ranks = r.nr_ranks });
}

/* Takes a variable; true: it is another one than before. */
static bool take_variable(char **known, const struct process_environment *e, const char *name)
{
	const char *value = process_environment_find(e, name);
	char *text = value ? strndup(value, FACT_RESOURCE_MAX) : NULL;
	bool changed = text && *text && (!*known || strcmp(*known, text));

	if (!changed) {
		free(text);
		return false;
	}
	free(*known);
	*known = text;
	return true;
}

/* What the process has published replaces what its environment says, as SDKs have read that. */
static void tell_resource(const struct process_facts *f, struct sink *sink, const struct known *k)
{
	const char *service = k->service ? k->service : "", *own, *published;
	const char *attributes = k->attributes ? k->attributes : "";
	struct buffer both = { 0 };

	if (process_contexts_find(f->contexts, k->pid, &own, &published)) {
		service = *own ? own : service;
		if (strlen(attributes) + 1 + strlen(published) <= FACT_RESOURCE_MAX)
			buffer_printf(&both, "%s%s", attributes, *attributes ? "," : "");
		buffer_add_string(&both, published);
		attributes = buffer_cstring(&both);
	}
	sink->fact(sink, FACT_RESOURCE,
		   &(struct fact_resource){
			   .pid = (uint64_t)k->pid,
			   .service = sink_cstring(sink, service),
			   .attributes = sink_cstring(sink, attributes),
		   });
	buffer_fini(&both);
}

static void look_up_resource(const struct process_facts *f, struct sink *sink, struct known *k,
			     const struct process_environment *e)
{
	bool service = take_variable(&k->service, e, "OTEL_SERVICE_NAME");
	bool attributes = take_variable(&k->attributes, e, "OTEL_RESOURCE_ATTRIBUTES");

	if (service || attributes)
		tell_resource(f, sink, k);
}

static void look_into_environment(const struct process_facts *f, struct sink *sink, struct known *k)
{
	struct process_environment e;

	if (k->nr_looks == MAX_LOOKS)
		return;
	k->nr_looks++;
	if (!process_environment_read(k->pid, &e))
		return;
	look_up_rank(sink, k, &e);
	look_up_resource(f, sink, k, &e);
	process_environment_fini(&e);
}

static struct known *find(struct process_facts *f, pid_t pid)
{
	struct known *k;

	HASH_FIND_INT(f->known, &pid, k);
	return k;
}

static struct known *add(struct process_facts *f, pid_t pid)
{
	struct known *k;

	if (HASH_COUNT(f->known) >= MAX_KNOWN)
		forget_all(f);
	k = xcalloc(1, sizeof(*k));
	k->pid = pid;
	HASH_ADD_INT(f->known, pid, k);
	return k;
}

/* A process is sampled for the first time. */
static void meet(struct process_facts *f, struct sink *sink, struct known *k)
{
	bool looks = !k->is_young && process_contexts_may_look(f->contexts, k->pid);

	k->sampled = true;
	remote_files_begin(k->pid, looks ? "stat\nenviron\nmaps" : "stat\nenviron");
	read_process(f, k);
	if (k->is_read)
		tell(f, sink, k);
	if (process_contexts_add(f->contexts, k->pid, k->age_ns))
		tell_resource(f, sink, k);
	look_into_environment(f, sink, k);
	/* One that is new has not published yet: it is looked at a little later. */
	if (looks && !k->was_new && process_contexts_look(f->contexts, k->pid))
		tell_resource(f, sink, k);
	remote_files_end();
}

void process_facts_sampled(struct process_facts *f, struct sink *sink, pid_t pid)
{
	struct known *k = find(f, pid);

	if (k && k->sampled) {
		if (k->nr_looks < MAX_LOOKS) /* another program may run in it */
			process_contexts_add(f->contexts, pid, 0);
		look_into_environment(f, sink, k);
		return;
	}
	k = k ? k : add(f, pid);
	meet(f, sink, k);
}

struct telling {
	struct process_facts *facts;
	struct sink *sink;
};

static void tell_context(void *context, pid_t pid)
{
	const struct telling *t = context;
	const struct known *k = find(t->facts, pid);

	if (k && k->sampled)
		tell_resource(t->facts, t->sink, k);
}

void process_facts_poll(struct process_facts *f, struct sink *sink)
{
	process_contexts_poll(f->contexts, tell_context, &(struct telling){ f, sink });
}

void process_facts_forked(struct process_facts *f, pid_t parent, pid_t child)
{
	struct known *from, *k = find(f, child);

	if (k)
		forget(f, k);
	process_contexts_forget(f->contexts, child);
	k = add(f, child);
	k->is_young = true;
	from = find(f, parent);
	if (!from || !from->is_read)
		return;
	k->parent = parent;
	k->uid = from->uid;
	k->cgroup = from->cgroup ? xstrdup(from->cgroup) : NULL;
	k->container = from->container;
	k->is_read = true;
}

void process_facts_ended(struct process_facts *f, pid_t pid)
{
	struct known *k = find(f, pid);

	if (k)
		k->has_ended = true;
}

void process_facts_forget_ended(struct process_facts *f, pid_t pid)
{
	struct known *k = find(f, pid);

	if (k && !k->has_ended)
		return;
	/* Contexts outlast process_facts_forget(), so they may know the process alone. */
	process_contexts_forget(f->contexts, pid);
	if (k)
		forget(f, k);
}

size_t process_facts_nr_contexts(const struct process_facts *f)
{
	return process_contexts_nr(f->contexts);
}

void process_facts_end(struct process_facts *f, struct sink *sink)
{
	struct known *k, *next;

	HASH_ITER (hh, f->known, k, next)
		if (k->sampled && k->was_new && read_process(f, k))
			tell(f, sink, k);
	process_contexts_end(f->contexts, tell_context, &(struct telling){ f, sink });
}
