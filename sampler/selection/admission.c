/*
 * A process id is given anew after its process has ended, so each target is known with the time of
 * its start, and a connection whose process has ended is refused (SO_PEERPIDFD, Linux 6.5).
 */
#include "sampler/selection/admission.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/hash_table.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/untrusted/remote_read.h"
#include "sampler/target/proc_life.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define MAX_TARGETS 65536u
#define MAX_GENERATIONS 64
#define MAX_ENVIRONMENT (256u << 10) /* bytes of it that are searched */
#define NR_USERS 64u
#define MAX_REFUSALS 64u /* of a user, in a second */

struct known_target {
	pid_t pid;
	uint64_t start; /* as proc_life.start */
	UT_hash_handle hh;
};

struct refused_user {
	uid_t uid;
	uint32_t nr;
	uint64_t since_ns;
};

struct admission {
	struct known_target *targets;
	struct refused_user users[NR_USERS]; /* by the user's number */
	uint64_t nr_refused;
	char ticket[64];
};

struct admission *admission_new(const char *variable)
{
	struct admission *a = xcalloc(1, sizeof(*a));
	uint64_t random[2];

	/* Without a secret, no orphan is known by it. */
	if (getrandom(random, sizeof(random), 0) == sizeof(random))
		snprintf(a->ticket, sizeof(a->ticket), "%s=%016" PRIx64 "%016" PRIx64, variable,
			 random[0], random[1]);
	return a;
}

void admission_free(struct admission *a)
{
	struct known_target *t, *next;

	if (!a)
		return;
	HASH_ITER (hh, a->targets, t, next) {
		HASH_DEL(a->targets, t);
		free(t);
	}
	free(a);
}

const char *admission_ticket(const struct admission *a)
{
	return a->ticket;
}

void admission_add(struct admission *a, pid_t pid)
{
	struct known_target *t;
	struct proc_life life;

	if (!proc_life_read(pid, &life))
		return;
	HASH_FIND_INT(a->targets, &pid, t);
	if (!t && HASH_COUNT(a->targets) < MAX_TARGETS) {
		t = xcalloc(1, sizeof(*t));
		t->pid = pid;
		HASH_ADD_INT(a->targets, pid, t);
	}
	if (t)
		t->start = life.start;
}

static bool is_target(const struct admission *a, pid_t pid)
{
	struct known_target *t;
	struct proc_life life;

	HASH_FIND_INT(a->targets, &pid, t);
	return t && proc_life_read(pid, &life) && life.start == t->start;
}

static bool descends(const struct admission *a, pid_t pid)
{
	for (int i = 0; i < MAX_GENERATIONS && pid > 1; i++) {
		if (is_target(a, pid))
			return true;
		pid = proc_life_parent(pid);
	}
	return false;
}

static bool has_ticket(const struct admission *a, pid_t pid)
{
	size_t length = strlen(a->ticket), left = MAX_ENVIRONMENT, size = 0;
	FILE *f = length ? remote_open(pid, "environ") : NULL;
	char *variable = NULL;
	bool found = false;
	ssize_t n;

	while (f && !found && (n = getdelim(&variable, &size, '\0', f)) > 0 && (size_t)n < left) {
		found = !strcmp(variable, a->ticket);
		left -= (size_t)n;
	}
	free(variable);
	if (f)
		fclose(f);
	return found;
}

/* The process that has connected, held by the kernel; -1: it does not tell. */
static int open_peer(int socket)
{
	socklen_t size = sizeof(int);
	int fd = -1;

	return getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) ? -1 : fd;
}

static bool has_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&p, 1, 0) != 0;
}

static bool is_known(struct admission *a, int socket, pid_t pid)
{
	int pidfd = open_peer(socket);
	bool known = descends(a, pid) || has_ticket(a, pid);

	/* While it lives, its number has been given to no other process. */
	known = known && !has_ended(pidfd);
	if (known)
		admission_add(a, pid);
	if (pidfd >= 0)
		close(pidfd);
	return known;
}

void admission_count_refusal(struct admission *a)
{
	a->nr_refused++;
}

bool admission_admits(struct admission *a, int socket, pid_t pid, uid_t uid)
{
	struct refused_user *user = &a->users[uid % NR_USERS];
	uint64_t now = monotonic_ns();

	if (user->uid != uid || now - user->since_ns > NS_PER_S)
		*user = (struct refused_user){ .uid = uid, .since_ns = now };
	if (pid > 0 && user->nr < MAX_REFUSALS && is_known(a, socket, pid))
		return true;
	user->nr++;
	a->nr_refused++;
	return false;
}

uint64_t admission_report(const struct admission *a, const char *what)
{
	if (a->nr_refused)
		log_warning("refused %" PRIu64 " connection%s %s, from processes that are not "
			    "recorded",
			    a->nr_refused, a->nr_refused == 1 ? "" : "s", what);
	return a->nr_refused;
}
