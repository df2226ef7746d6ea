/*
 * Threads build tables of files or of runtime code, each kind from its own requests, so that small
 * runtime code never waits for a large file. The requests of a kind wait in several queues, which
 * take turns: the files of one user, however many, hold up those of another by one file each. What
 * was missed by a walk is at the front of its queue, and queues that begin so come before the
 * others. All threads fill one queue of results.
 */
#include "sampler/walk/table_builder.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/rights/privileges.h"
#include "core/sandbox/sandbox.h"
#include "sampler/unwind/confined_table.h"
#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/table_cache.h"
#include "sampler/unwind/unwind_table.h"
#include "sampler/walk/module_debug_files.h"

#define MAX_WARNINGS 5
#define NR_TURNS 64 /* users whose numbers differ by a multiple of this share a queue */

struct job {
	struct job *next;
	uint32_t index, user;
	int fd;
	const void *image;
	uint8_t *code;
	size_t size; /* of either */
	struct mapped_root root;
	char *path;  /* of the file, in that root; or NULL */
	bool urgent; /* a walk has missed it */
	struct built_table built;
};

struct queue {
	struct job *first, **last;
};

enum kind { KIND_FILES, KIND_CODE, NR_KINDS };

/* The requests of one kind. */
struct requests {
	pthread_cond_t wake;
	struct queue asked[NR_TURNS];
	uint32_t turn; /* the queue whose turn it is */
};

/* Of files two at a time, so that one large file does not delay all others. */
static const enum kind kind_of_thread[] = { KIND_FILES, KIND_FILES, KIND_CODE };
#define NR_THREADS (sizeof(kind_of_thread) / sizeof(kind_of_thread[0]))

struct worker {
	struct table_builder *builder;
	struct requests *requests;
	pthread_t thread;
};

struct table_builder {
	struct requests requests[NR_KINDS];
	struct worker workers[NR_THREADS];
	pthread_mutex_t lock; /* guards the queues, nr_pending and stop */
	pthread_mutex_t one;  /* is held while a table is built, where memory is limited */
	struct queue done;
	size_t nr_pending;
	bool stop;
	int event_fd;
	int stop_fd;		       /* an eventfd, readable once `stop` is set */
	size_t nr_warnings;	       /* given; under the lock */
	const struct sandbox *sandbox; /* NULL: parse in this process */
	struct table_cache *cache;     /* NULL: tables are not kept */
	struct rule_pool *pool;
};

static void push(struct queue *q, struct job *job)
{
	job->next = NULL;
	*q->last = job;
	q->last = &job->next;
}

static void push_front(struct queue *q, struct job *job)
{
	job->next = q->first;
	if (!q->first)
		q->last = &job->next;
	q->first = job;
}

static struct job *pop(struct queue *q)
{
	struct job *job = q->first;

	if (!job)
		return NULL;
	q->first = job->next;
	if (!q->first)
		q->last = &q->first;
	return job;
}

static void free_job(struct table_builder *b, struct job *job)
{
	unwind_table_free(job->built.table);
	rule_pool_release(b->pool, &job->built.claim);
	free(job->code);
	free(job->path);
	free(job);
}

/* A target may map any number of broken files: some warnings are enough. */
static void warn(struct table_builder *b, const struct job *job, const char *reason)
{
	char link[32], path[PATH_MAX] = "code made at run time";
	bool wanted;
	ssize_t n;

	pthread_mutex_lock(&b->lock);
	wanted = b->nr_warnings++ < MAX_WARNINGS;
	pthread_mutex_unlock(&b->lock);
	if (!wanted)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", job->fd);
	n = job->code ? -1 : readlink(link, path, sizeof(path) - 1);
	if (n > 0)
		path[n] = '\0';
	log_warning("no unwind rules of '%s': %s; it is walked by frame pointers", path, reason);
}

static bool is_limited(const struct table_builder *b)
{
	return sandbox_memory_max(b->sandbox);
}

static int build_confined(struct table_builder *b, struct job *job, struct debug_files *files,
			  struct rule_set *rules, int *ret_answer)
{
	const struct table_order order = {
		.fd = job->fd,
		.code = job->code,
		.code_size = job->size,
		.files = files,
		.cancel_fd = b->stop_fd,
	};
	int err = confined_table_build(b->sandbox, &order, rules, &job->built.table, ret_answer);
	const char *reason = err ? sandbox_failure(err) : NULL;

	if (is_limited(b) && (err == -ENOMEM || err == -EFBIG)) {
		job->built.over_memory = true;
		return err;
	}
	job->built.parser_failed = reason;
	if (reason)
		warn(b, job, reason);
	return err;
}

/*
 * A damaged entry of the cache may have added rules, so the set is a new one after it. A table that
 * depends on a file which its key does not name is not kept.
 */
static int build_or_load(struct table_builder *b, struct job *job, struct module_debug_files *debug,
			 struct rule_set **rules)
{
	struct debug_files *files = &debug->files;
	struct table_key key;
	int answer, err;

	if (!b->cache || job->code || !table_cache_key(job->fd, files, &key))
		return build_confined(b, job, files, *rules, NULL);
	err = table_cache_load(b->cache, &key, files, *rules, &job->built.table);
	job->built.over_memory = err == -E2BIG;
	if (!err || err == -E2BIG)
		return err;
	rule_set_free(*rules);
	*rules = rule_set_new();
	err = build_confined(b, job, files, *rules, &answer);
	if (err)
		return err;
	if (!debug->by_link)
		table_cache_store(b->cache, &key, job->fd, answer, debug->link);
	close(answer);
	return 0;
}

/* The image in memory is the kernel's own, the vdso. */
static void build(struct table_builder *b, struct job *job)
{
	struct rule_set *rules = rule_set_new();
	struct built_table *built = &job->built;
	struct module_debug_files files;
	int err;

	if (is_limited(b))
		pthread_mutex_lock(&b->one);
	module_debug_files_init(&files, job->fd, &job->root, job->path);
	if (b->sandbox && !job->image)
		err = build_or_load(b, job, &files, &rules);
	else if (job->code)
		err = unwind_table_build_code(job->code, job->size, rules, &built->table);
	else if (job->image)
		err = unwind_table_build_memory(job->image, job->size, rules, &built->table);
	else
		err = unwind_table_build(job->fd, &files.files, rules, &built->table);
	if (err)
		built->table = NULL;
	else
		built->refusal =
			rule_pool_adopt(b->pool, job->user, rules, built->table, &built->claim);
	rule_set_free(rules);
	if (is_limited(b))
		pthread_mutex_unlock(&b->one);
}

/* Pops the next job of the queues, which take turns; `urgent`: only if it is urgent. */
static struct job *take_turn(struct requests *r, bool urgent)
{
	for (int i = 0; i < NR_TURNS; i++) {
		struct queue *q = &r->asked[r->turn];

		r->turn = (r->turn + 1) % NR_TURNS;
		if (q->first && (q->first->urgent || !urgent))
			return pop(q);
	}
	return NULL;
}

static struct job *next_job(struct requests *r)
{
	struct job *job = take_turn(r, true);

	return job ? job : take_turn(r, false);
}

static void *work(void *context)
{
	struct worker *worker = context;
	struct table_builder *b = worker->builder;

	privileges_drop(); /* its files are open already */
	pthread_mutex_lock(&b->lock);
	while (!b->stop) {
		struct job *job = next_job(worker->requests);
		uint64_t one = 1;

		if (!job) {
			pthread_cond_wait(&worker->requests->wake, &b->lock);
			continue;
		}
		pthread_mutex_unlock(&b->lock);
		build(b, job);
		pthread_mutex_lock(&b->lock);
		push(&b->done, job);
		if (write(b->event_fd, &one, sizeof(one)) < 0)
			continue; /* the counter is full, so the eventfd is readable already */
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static void requests_init(struct requests *r)
{
	for (int i = 0; i < NR_TURNS; i++)
		r->asked[i].last = &r->asked[i].first;
	pthread_cond_init(&r->wake, NULL);
}

static void start(struct table_builder *b, struct worker *worker, enum kind kind)
{
	int err;

	worker->builder = b;
	worker->requests = &b->requests[kind];
	err = pthread_create(&worker->thread, NULL, work, worker);
	if (!err)
		return;
	/* As without memory. No target is attached to yet. */
	log_error(err, "start a thread that builds unwind tables");
	exit(EXIT_FAILURE);
}

struct table_builder *table_builder_new(struct walk_rule *rules, const struct sandbox *sandbox,
					struct table_cache *cache)
{
	struct table_builder *b = xcalloc(1, sizeof(*b));
	sigset_t all, old;

	b->pool = rule_pool_new(rules);
	b->done.last = &b->done.first;
	b->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b->sandbox = sandbox;
	b->cache = cache;
	pthread_mutex_init(&b->lock, NULL);
	pthread_mutex_init(&b->one, NULL);
	/* Only the main thread handles signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (int i = 0; i < NR_KINDS; i++)
		requests_init(&b->requests[i]);
	for (size_t i = 0; i < NR_THREADS; i++)
		start(b, &b->workers[i], kind_of_thread[i]);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return b;
}

void table_builder_free(struct table_builder *b)
{
	uint64_t one = 1;
	struct job *job;

	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	if (write(b->stop_fd, &one, sizeof(one)) < 0)
		abort(); /* it is 0, so there is room */
	for (int i = 0; i < NR_KINDS; i++)
		pthread_cond_broadcast(&b->requests[i].wake);
	pthread_mutex_unlock(&b->lock);
	for (size_t i = 0; i < NR_THREADS; i++)
		pthread_join(b->workers[i].thread, NULL);
	for (int i = 0; i < NR_KINDS; i++) {
		while ((job = next_job(&b->requests[i])))
			free_job(b, job);
		pthread_cond_destroy(&b->requests[i].wake);
	}
	while ((job = pop(&b->done)))
		free_job(b, job);
	rule_pool_free(b->pool);
	close(b->event_fd);
	close(b->stop_fd);
	pthread_mutex_destroy(&b->lock);
	pthread_mutex_destroy(&b->one);
	free(b);
}

static void request(struct table_builder *b, const struct job *asked)
{
	struct requests *r = &b->requests[asked->code ? KIND_CODE : KIND_FILES];
	struct job *job = xmalloc(sizeof(*job));

	*job = *asked;
	pthread_mutex_lock(&b->lock);
	push(&r->asked[job->user % NR_TURNS], job);
	b->nr_pending++;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&b->lock);
}

void table_builder_request(struct table_builder *b, const struct mapped_file *file)
{
	request(b, &(struct job){
			   .index = file->index,
			   .user = file->user,
			   .fd = file->fd,
			   .root = file->root,
			   .path = file->path ? xstrdup(file->path) : NULL,
		   });
}

void table_builder_request_memory(struct table_builder *b, uint32_t index, const void *image,
				  size_t size)
{
	request(b, &(struct job){ .index = index, .fd = -1, .image = image, .size = size });
}

void table_builder_request_code(struct table_builder *b, uint32_t index, uint32_t user,
				uint8_t *code, size_t size)
{
	request(b, &(struct job){
			   .index = index, .user = user, .fd = -1, .code = code, .size = size });
}

/* Moves the job of that index to the front of its queue. false: it is not there. */
static bool hurry(struct queue *q, uint32_t index)
{
	struct job **at = &q->first, *job;

	while (*at && (*at)->index != index)
		at = &(*at)->next;
	job = *at;
	if (!job)
		return false;
	*at = job->next;
	if (!job->next)
		q->last = at;
	job->urgent = true;
	push_front(q, job);
	return true;
}

void table_builder_hurry(struct table_builder *b, uint32_t index)
{
	pthread_mutex_lock(&b->lock);
	for (int i = 0; i < NR_TURNS; i++)
		if (hurry(&b->requests[KIND_FILES].asked[i], index))
			break;
	pthread_mutex_unlock(&b->lock);
}

int table_builder_event_fd(const struct table_builder *b)
{
	return b->event_fd;
}

/* Removes the unwanted jobs of a queue; each has its answer at once, which is empty. */
static void drop_jobs(struct table_builder *b, struct queue *q,
		      bool (*is_wanted)(void *context, uint32_t index), void *context)
{
	struct queue kept = { .last = &kept.first };
	struct job *job;

	while ((job = pop(q))) {
		bool wanted = job->code || job->image || is_wanted(context, job->index);

		job->built.dropped = !wanted;
		push(wanted ? &kept : &b->done, job);
	}
	q->last = &q->first;
	while ((job = pop(&kept)))
		push(q, job);
}

void table_builder_drop(struct table_builder *b, bool (*is_wanted)(void *context, uint32_t index),
			void *context)
{
	pthread_mutex_lock(&b->lock);
	for (int i = 0; i < NR_TURNS; i++)
		drop_jobs(b, &b->requests[KIND_FILES].asked[i], is_wanted, context);
	pthread_mutex_unlock(&b->lock);
}

bool table_builder_take(struct table_builder *b, struct built_table *ret)
{
	struct job *job;
	uint64_t count;

	pthread_mutex_lock(&b->lock);
	job = pop(&b->done);
	if (job)
		b->nr_pending--;
	else if (read(b->event_fd, &count, sizeof(count)) < 0)
		count = 0; /* it was 0 already */
	pthread_mutex_unlock(&b->lock);
	if (!job)
		return false;
	*ret = job->built;
	ret->index = job->index;
	job->built = (struct built_table){ 0 };
	free_job(b, job);
	return true;
}

void table_builder_release(struct table_builder *b, struct rule_claim *claim)
{
	rule_pool_release(b->pool, claim);
}

bool table_builder_wait(struct table_builder *b, uint64_t until_ns)
{
	struct pollfd ready = { b->event_fd, POLLIN, 0 };
	uint64_t now = monotonic_ns();

	return now < until_ns && table_builder_nr_pending(b) &&
	       poll(&ready, 1, (int)((until_ns - now) / 1000000) + 1) > 0;
}

size_t table_builder_nr_pending(struct table_builder *b)
{
	size_t nr;

	pthread_mutex_lock(&b->lock);
	nr = b->nr_pending;
	pthread_mutex_unlock(&b->lock);
	return nr;
}
