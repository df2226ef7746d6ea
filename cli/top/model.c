/*
 * An answer is made once a second, and at once when the question changes. Making answers takes at
 * most a two-hundredth of the time: if many samples make it slow, pictures come less often.
 */
#include "cli/top/model.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli/top/thread.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/clock.h"

#define FIRST_NS 300000000ull /* until the first picture */
#define COST_PART 200
#define MAX_MESSAGES 100
#define OWN_NS (2 * NS_PER_S) /* over which sprof's own cost is measured */

struct model {
	struct live *live;
	struct profile *fixed; /* what answers are made of when paused, or of a file */
	struct live_state fixed_state;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* waits by CLOCK_MONOTONIC */
	pthread_t thread;
	bool has_thread, quits;
	struct live_question question;
	bool asked; /* the question changed since the last answer */
	bool news;  /* there is something new to show */
	struct live_answer *answer;
	int wake_fd;
	struct model_status status;
	uint64_t own_since_ns, own_cpu_ns;
	enum model_order order;
	char *order_path;
	char *messages[MAX_MESSAGES];
	size_t nr_messages;
};

void model_wake(struct model *m)
{
	uint64_t one = 1;

	if (write(m->wake_fd, &one, sizeof(one)) < 0)
		return; /* the counter is full: the reader wakes anyway */
}

struct model *model_new(struct live *live, struct profile *fixed,
			const struct live_question *question)
{
	struct model *m = xcalloc(1, sizeof(*m));
	pthread_condattr_t clock;

	m->live = live;
	m->fixed = fixed;
	m->status.state = live ? MODEL_SAMPLING : MODEL_FILE;
	if (fixed) {
		m->fixed_state.span.start_ns = fixed->meta.start_ns;
		m->fixed_state.span.end_ns = fixed->meta.end_ns;
		m->fixed_state.nr_samples_ever = fixed->nr_samples;
	}
	live_question_copy(&m->question, question);
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&m->changed, &clock);
	pthread_condattr_destroy(&clock);
	m->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	m->asked = true;
	m->own_since_ns = monotonic_ns();
	return m;
}

static struct profile *copy_fixed(const struct profile *from)
{
	struct profile *p = profile_new();
	struct profile_meta meta = from->meta;

	live_profile_copy(from, p);
	meta.hostname = profile_cstring(p, profile_str(from, meta.hostname));
	meta.kernel = profile_cstring(p, profile_str(from, meta.kernel));
	meta.command = profile_cstring(p, profile_str(from, meta.command));
	meta.source = profile_cstring(p, profile_str(from, meta.source));
	meta.event = profile_cstring(p, profile_str(from, meta.event));
	meta.version = profile_cstring(p, profile_str(from, meta.version));
	p->meta = meta;
	p->stats = from->stats;
	return p;
}

struct profile *model_copy(struct model *m, struct live_state *ret_state)
{
	struct profile *p = NULL;

	pthread_mutex_lock(&m->lock);
	if (m->fixed) {
		p = copy_fixed(m->fixed);
		*ret_state = m->fixed_state;
	}
	pthread_mutex_unlock(&m->lock);
	return p ? p : live_copy(m->live, ret_state);
}

static uint64_t cpu_ns_of_all_threads(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void measure_own(struct model *m)
{
	uint64_t now = monotonic_ns(), cpu;

	if (m->own_cpu_ns && now - m->own_since_ns < OWN_NS)
		return;
	cpu = cpu_ns_of_all_threads();
	if (m->own_cpu_ns)
		m->status.own_percent =
			100.0 * (double)(cpu - m->own_cpu_ns) / (double)(now - m->own_since_ns);
	m->own_cpu_ns = cpu;
	m->own_since_ns = now;
}

static void make_answer(struct model *m)
{
	struct live_question question;
	struct live_answer *a, *old;
	struct live_state state;

	pthread_mutex_lock(&m->lock);
	live_question_copy(&question, &m->question);
	m->asked = m->news = false;
	measure_own(m);
	pthread_mutex_unlock(&m->lock);
	a = live_answer_new(&question, model_copy(m, &state), &state);
	a->state = state;
	live_question_fini(&question);
	pthread_mutex_lock(&m->lock);
	old = m->answer;
	m->answer = a;
	pthread_mutex_unlock(&m->lock);
	live_answer_free(old);
	model_wake(m);
}

/* Returns false when the thread must end. */
static bool wait_for_work(struct model *m, uint64_t next_ns)
{
	struct timespec until = { (time_t)(next_ns / NS_PER_S), (long)(next_ns % NS_PER_S) };
	bool goes_on;

	pthread_mutex_lock(&m->lock);
	while (!m->quits && !m->asked) {
		if (!m->news) /* a new answer would be the same */
			pthread_cond_wait(&m->changed, &m->lock);
		else if (pthread_cond_timedwait(&m->changed, &m->lock, &until) == ETIMEDOUT)
			break;
	}
	goes_on = !m->quits;
	pthread_mutex_unlock(&m->lock);
	return goes_on;
}

static void *make_answers(void *context)
{
	struct model *m = context;
	uint64_t next_ns = monotonic_ns() + FIRST_NS;

	while (wait_for_work(m, next_ns)) {
		uint64_t start_ns = thread_cpu_ns(), cost_ns;

		make_answer(m);
		cost_ns = (thread_cpu_ns() - start_ns) * COST_PART;
		next_ns = monotonic_ns() + (cost_ns > NS_PER_S ? cost_ns : NS_PER_S);
	}
	return NULL;
}

int model_start(struct model *m)
{
	int err = thread_start(&m->thread, make_answers, m, false);

	m->has_thread = !err;
	return err;
}

void model_free(struct model *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	m->quits = true;
	pthread_cond_signal(&m->changed);
	pthread_mutex_unlock(&m->lock);
	if (m->has_thread)
		pthread_join(m->thread, NULL);
	live_answer_free(m->answer);
	profile_free(m->fixed);
	live_question_fini(&m->question);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	close(m->wake_fd);
	for (size_t i = 0; i < m->nr_messages; i++)
		free(m->messages[i]);
	free(m->order_path);
	free(m);
}

int model_wake_fd(const struct model *m)
{
	return m->wake_fd;
}

void model_clear_wake(struct model *m)
{
	uint64_t nr;

	if (read(m->wake_fd, &nr, sizeof(nr)) < 0)
		return; /* nothing to clear */
}

void model_ask(struct model *m, const struct live_question *question)
{
	pthread_mutex_lock(&m->lock);
	live_question_fini(&m->question);
	live_question_copy(&m->question, question);
	m->asked = true;
	pthread_cond_signal(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

struct live_answer *model_take(struct model *m)
{
	struct live_answer *a;

	pthread_mutex_lock(&m->lock);
	a = m->answer;
	m->answer = NULL;
	pthread_mutex_unlock(&m->lock);
	return a;
}

void model_pause(struct model *m, bool paused)
{
	struct profile *now = NULL;
	struct live_state state;

	if (!m->live)
		return;
	if (paused)
		now = live_copy(m->live, &state);
	pthread_mutex_lock(&m->lock);
	profile_free(m->fixed);
	m->fixed = now;
	if (now)
		m->fixed_state = state;
	m->status.paused = paused;
	m->asked = true;
	pthread_cond_signal(&m->changed);
	pthread_mutex_unlock(&m->lock);
}

void model_status(struct model *m, struct model_status *ret)
{
	pthread_mutex_lock(&m->lock);
	*ret = m->status;
	pthread_mutex_unlock(&m->lock);
}

void model_order(struct model *m, enum model_order order, const char *path)
{
	pthread_mutex_lock(&m->lock);
	free(m->order_path);
	m->order = order;
	m->order_path = path ? xstrdup(path) : NULL;
	pthread_mutex_unlock(&m->lock);
}

enum model_order model_take_order(struct model *m, char **ret_path)
{
	enum model_order order;

	pthread_mutex_lock(&m->lock);
	order = m->order;
	*ret_path = m->order_path;
	m->order = ORDER_NONE;
	m->order_path = NULL;
	pthread_mutex_unlock(&m->lock);
	return order;
}

void model_set_state(struct model *m, enum model_state state)
{
	pthread_mutex_lock(&m->lock);
	m->status.state = state;
	m->asked = true;
	pthread_cond_signal(&m->changed);
	pthread_mutex_unlock(&m->lock);
	model_wake(m);
}

void model_say(struct model *m, const char *line)
{
	pthread_mutex_lock(&m->lock);
	snprintf(m->status.text, sizeof(m->status.text), "%s", line);
	m->status.text_ns = monotonic_ns();
	if (m->nr_messages < MAX_MESSAGES)
		m->messages[m->nr_messages++] = xstrdup(line);
	pthread_mutex_unlock(&m->lock);
	model_wake(m);
}

void model_has_news(struct model *m)
{
	pthread_mutex_lock(&m->lock);
	if (!m->news && !m->status.paused) {
		m->news = true;
		pthread_cond_signal(&m->changed);
	}
	pthread_mutex_unlock(&m->lock);
}

void model_add_messages(struct model *m, struct buffer *b)
{
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->nr_messages; i++)
		buffer_printf(b, "%s\n", m->messages[i]);
	pthread_mutex_unlock(&m->lock);
}
