/*
 * A cgroup lists its processes in cgroup.procs; a user's are found by reading the status of every
 * process. A number that is known may have been given to another process, so the time when a
 * process began is remembered with it.
 */
#include "sampler/selection/members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/number_map.h"
#include "core/base/proc_status.h"
#include "core/profile/source.h"
#include "sampler/selection/cgroups.h"
#include "sampler/target/proc_life.h"

#define ROUND_NS (100ull * 1000 * 1000)
#define ROUND_SHARE 50 /* looking takes at most a fiftieth of a CPU */
#define MAX_SEEN 65536

struct members {
	char **cgroups; /* folders */
	size_t nr_cgroups;
	uid_t user;		/* without cgroups */
	struct number_map seen; /* by pid: when it began, the low bits */
	uint64_t next_ns;
	/* during a look */
	int (*add)(void *context, pid_t pid);
	void *context;
	size_t nr_added, nr_failed;
	int first_error;
	pid_t failed;
};

struct members *members_new(const struct source_config *config)
{
	struct members *m;

	if (!config->nr_cgroups && !config->by_user)
		return NULL;
	m = xcalloc(1, sizeof(*m));
	m->user = config->user;
	m->cgroups = xcalloc(config->nr_cgroups + 1, sizeof(*m->cgroups));
	for (; m->nr_cgroups < config->nr_cgroups; m->nr_cgroups++)
		m->cgroups[m->nr_cgroups] = xstrdup(config->cgroups[m->nr_cgroups]);
	return m;
}

void members_free(struct members *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nr_cgroups; i++)
		free(m->cgroups[i]);
	free(m->cgroups);
	number_map_fini(&m->seen);
	free(m);
}

static void add_member(void *context, pid_t pid)
{
	struct members *m = context;
	struct proc_life life;
	uint32_t *start;
	bool is_new;
	int err;

	if (pid == getpid() || !proc_life_read(pid, &life) || life.state == 'Z' ||
	    life.state == 'X')
		return;
	if (m->seen.nr >= MAX_SEEN)
		number_map_fini(&m->seen);
	start = number_map_at(&m->seen, (uint64_t)pid, &is_new);
	if (!is_new && *start == (uint32_t)life.start)
		return;
	*start = (uint32_t)life.start;
	err = m->add(m->context, pid);
	m->nr_added += !err;
	if (!err || err == -ESRCH)
		return;
	if (!m->nr_failed++) {
		m->first_error = err;
		m->failed = pid;
	}
}

static bool is_of_user(pid_t pid, uid_t user)
{
	char text[8192];
	const char *uid;

	if (proc_status_text(pid, text, sizeof(text)))
		return false;
	uid = proc_status_value(text, "Uid");
	return uid && (uid_t)strtoul(uid, NULL, 10) == user;
}

static void visit_user(struct members *m)
{
	DIR *processes = proc_processes();
	pid_t pid;

	while ((pid = proc_next(processes)))
		if (is_of_user(pid, m->user))
			add_member(m, pid);
	proc_close(processes);
}

static void look(struct members *m, int (*add)(void *context, pid_t pid), void *context)
{
	uint64_t before = thread_cpu_ns(), took;

	m->add = add;
	m->context = context;
	m->nr_added = m->nr_failed = 0;
	for (size_t i = 0; i < m->nr_cgroups; i++)
		cgroup_visit(m->cgroups[i], add_member, m);
	if (!m->nr_cgroups)
		visit_user(m);
	if (m->nr_failed)
		log_warning("%zu process%s %s not sampled, such as %d: %s", m->nr_failed,
			    m->nr_failed == 1 ? "" : "es", m->nr_failed == 1 ? "is" : "are",
			    (int)m->failed, strerror(-m->first_error));
	took = thread_cpu_ns() - before;
	m->next_ns =
		monotonic_ns() + (took * ROUND_SHARE > ROUND_NS ? took * ROUND_SHARE : ROUND_NS);
}

void members_begin(struct members *m, int (*add)(void *context, pid_t pid), void *context)
{
	look(m, add, context);
	log_info("%zu process%s belong%s to the %s now; later ones are sampled too", m->nr_added,
		 m->nr_added == 1 ? "" : "es", m->nr_added == 1 ? "s" : "",
		 !m->nr_cgroups	      ? "user"
		 : m->nr_cgroups == 1 ? "cgroup"
				      : "cgroups");
}

void members_poll(struct members *m, int (*add)(void *context, pid_t pid), void *context)
{
	if (m && monotonic_ns() >= m->next_ns)
		look(m, add, context);
}

bool members_live(const struct members *m)
{
	bool live = !m || !m->nr_cgroups;

	for (size_t i = 0; !live && i < m->nr_cgroups; i++)
		live = cgroup_exists(m->cgroups[i]);
	return live;
}
