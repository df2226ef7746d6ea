/* A trigger has a sensor for each process or cgroup that it watches. */
#include "cli/triggers/triggers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/triggers/sensor.h"
#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/log.h"
#include "sampler/selection/cgroups.h"

#define LOOK_NS (1000ull * 1000 * 1000)
#define MAX_SENSORS 128 /* reading one takes about 10 us, in each second */
#define MAX_TEXT 400

struct triggers {
	struct sensor sensors[MAX_SENSORS];
	size_t nr;
	bool is_full;
	uint64_t next_ns, nr_fired;
	struct buffer text;
};

static void say_why_not(const struct sensor *s, int err)
{
	struct buffer path = { 0 };

	sensor_add_path(s, &path);
	log_warning("the trigger '%s' cannot work here: %s: %s", s->spec->text,
		    buffer_cstring(&path), strerror(-err));
	if (s->spec->kind == TRIGGER_PRESSURE)
		log_hint("pressure needs a kernel with CONFIG_PSI, and psi=1 on its command line "
			 "where it is off");
	else if (s->cgroup)
		log_hint("cat %s/cgroup.controllers says which controllers this cgroup has",
			 s->cgroup);
	buffer_fini(&path);
}

static void add(struct triggers *t, const struct trigger_spec *spec, pid_t pid, const char *cgroup)
{
	struct sensor *s = &t->sensors[t->nr];
	int err;

	if (t->nr == MAX_SENSORS) {
		if (!t->is_full)
			log_warning("the trigger '%s' does not watch more than %d processes and "
				    "cgroups: a cgroup can stand for many processes",
				    spec->text, MAX_SENSORS);
		t->is_full = true;
		return;
	}
	err = sensor_open(s, spec, pid, cgroup);
	if (!err) {
		t->nr++;
		return;
	}
	say_why_not(s, err);
	sensor_close(s);
}

static void add_named_cgroup(struct triggers *t, const struct trigger_spec *spec)
{
	char *folder;
	int err = cgroup_find(spec->cgroup, &folder);

	if (err) {
		log_warning("the trigger '%s' cannot work here: %s", spec->text,
			    err == -ENOTSUP ? "that is no cgroup of version 2" : strerror(-err));
		return;
	}
	add(t, spec, 0, folder);
	free(folder);
}

/* Pressure and kills are watched for the recorded cgroups, or else for the machine. */
static void add_recorded(struct triggers *t, const struct trigger_spec *spec,
			 const struct triggers_config *c)
{
	bool of_processes = spec->kind == TRIGGER_CPU || spec->kind == TRIGGER_MEMORY;

	for (size_t i = 0; of_processes && i < c->nr_pids; i++)
		add(t, spec, c->pids[i], NULL);
	for (size_t i = 0; i < c->nr_cgroups; i++)
		add(t, spec, 0, c->cgroups[i]);
	if (c->system_wide || (!of_processes && !c->nr_cgroups))
		add(t, spec, 0, NULL);
	else if (!c->nr_pids && !c->nr_cgroups) {
		log_warning("the trigger '%s' cannot work here: the processes of a user are not "
			    "added up",
			    spec->text);
		log_hint("name what to watch: cpu@PID=90%%, or memory@/user.slice=2G of a cgroup");
	}
}

struct triggers *triggers_new(const struct triggers_config *config)
{
	struct triggers *t = xcalloc(1, sizeof(*t));

	for (size_t i = 0; i < config->specs->nr; i++) {
		const struct trigger_spec *spec = &config->specs->list[i];

		if (spec->cgroup)
			add_named_cgroup(t, spec);
		else if (spec->pid)
			add(t, spec, spec->pid, NULL);
		else
			add_recorded(t, spec, config);
	}
	if (t->nr)
		return t;
	triggers_free(t);
	return NULL;
}

void triggers_free(struct triggers *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr; i++)
		sensor_close(&t->sensors[i]);
	buffer_fini(&t->text);
	free(t);
}

/* Says that a cgroup has gone, or that there is one of its path again. */
static void say_change(const struct sensor *s, bool was_watched)
{
	if (!s->cgroup || was_watched == (s->fd >= 0))
		return;
	if (was_watched)
		log_info("the trigger '%s' waits: cgroup '%s' is gone", s->spec->text, s->cgroup);
	else
		log_info("the trigger '%s' watches cgroup '%s' again", s->spec->text, s->cgroup);
}

static bool look(struct sensor *s, uint64_t now_ns)
{
	bool was_watched = s->fd >= 0, fires = sensor_fires(s, now_ns);

	say_change(s, was_watched);
	return fires;
}

const char *triggers_poll(struct triggers *t, uint64_t now_ns)
{
	bool fired = false;

	if (!t || now_ns < t->next_ns)
		return NULL;
	t->next_ns = now_ns + LOOK_NS;
	t->text.size = 0;
	for (size_t i = 0; i < t->nr; i++) {
		struct sensor *s = &t->sensors[i];

		if (!look(s, now_ns))
			continue;
		t->nr_fired++;
		fired = true;
		if (t->text.size > MAX_TEXT)
			continue;
		if (t->text.size)
			buffer_add_string(&t->text, "; ");
		buffer_printf(&t->text, "trigger %s: ", s->spec->text);
		sensor_describe(s, &t->text);
	}
	return fired ? buffer_cstring(&t->text) : NULL;
}

uint64_t triggers_nr_fired(const struct triggers *t)
{
	return t ? t->nr_fired : 0;
}
