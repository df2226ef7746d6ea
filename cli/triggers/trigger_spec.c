/* One item is parsed from left to right: the kind, what it is about, the limit, the span. */
#include "cli/triggers/trigger_spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options/byte_size.h"
#include "cli/options/duration.h"
#include "cli/options/whole_number.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"

#define CPU_FOR_NS (10000 * NS_PER_MS)
#define PRESSURE_FOR_NS (2000 * NS_PER_MS) /* the kernel lets every user watch multiples of 2 s */
#define MIN_PRESSURE_NS (500 * NS_PER_MS)  /* the least that the kernel takes */
#define MAX_PRESSURE_NS (10000 * NS_PER_MS)
#define MAX_FOR_NS (3600 * 1000 * NS_PER_MS)

static const char *const pressure_names[NR_PRESSURES] = { "cpu", "io", "memory" };

const char *pressure_name(enum pressure pressure)
{
	return pressure_names[pressure];
}

/* Cuts the text at the first `at` and returns what follows it; NULL if there is none. */
static char *cut(char *text, char at)
{
	char *end = strchr(text, at);

	if (end)
		*end++ = '\0';
	return end;
}

static bool parse_number(const char *text, const char *unit, double *ret_value)
{
	char *end;

	errno = 0;
	*ret_value = strtod(text, &end);
	return !errno && end != text && !strcmp(end, unit) && *ret_value > 0;
}

/* Parses a percentage up to `max` into ppm. */
static bool parse_percent(const char *text, double max, uint64_t *ret_ppm)
{
	double percent;

	if (!parse_number(text, "%", &percent) || percent > max)
		return false;
	*ret_ppm = (uint64_t)(percent * 10000 + 0.5);
	return *ret_ppm > 0;
}

static const char *parse_span(const char *text, struct trigger_spec *s)
{
	if (!text)
		return NULL;
	s->for_ns = duration_parse(text);
	if (!s->for_ns || s->for_ns > MAX_FOR_NS)
		return "the text behind the last colon is no time such as 30s, up to 1h";
	return NULL;
}

static const char *parse_pressure(char *text, struct trigger_spec *s)
{
	char *rest = cut(text, ':'), *span;
	size_t i = 0;

	while (i < NR_PRESSURES && strcmp(text, pressure_names[i]))
		i++;
	if (i == NR_PRESSURES)
		return "pressure is that of cpu, io or memory: psi=memory:some:20%";
	s->pressure = (enum pressure)i;
	s->for_ns = PRESSURE_FOR_NS;
	s->full = rest && !strncmp(rest, "full:", 5);
	if (rest && (s->full || !strncmp(rest, "some:", 5)))
		rest += 5;
	span = rest ? cut(rest, ':') : NULL;
	if (!rest || !parse_percent(rest, 100, &s->limit))
		return "pressure needs a limit in percent of the time: psi=memory:some:20%";
	if (span && parse_span(span, s))
		return parse_span(span, s);
	if (s->for_ns < MIN_PRESSURE_NS || s->for_ns > MAX_PRESSURE_NS)
		return "pressure is watched over a time between 500ms and 10s";
	return NULL;
}

static const char *parse_limit(char *text, struct trigger_spec *s)
{
	char *span;

	if (s->kind == TRIGGER_PRESSURE)
		return text ? parse_pressure(text, s)
			    : "pressure needs a limit: psi=memory:some:20%";
	if (s->kind == TRIGGER_OOM)
		return text ? "oom has no limit: each time that the kernel kills counts" : NULL;
	span = text ? cut(text, ':') : NULL;
	s->for_ns = s->kind == TRIGGER_CPU ? CPU_FOR_NS : 0;
	if (s->kind == TRIGGER_CPU && (!text || !parse_percent(text, 1e6, &s->limit)))
		return "cpu needs a limit in percent of one CPU: cpu=90%:30s";
	if (s->kind == TRIGGER_MEMORY)
		s->limit = text ? byte_size_parse(text) : 0;
	if (s->kind == TRIGGER_MEMORY && !s->limit)
		return "memory needs a size such as 500M or 2G: memory=2G";
	return parse_span(span, s);
}

static const char *parse_what(char *text, struct trigger_spec *s)
{
	uint64_t pid;

	if (!text)
		return NULL;
	if (text[0] == '/') {
		s->cgroup = xstrdup(text);
		return NULL;
	}
	if (!whole_number_parse(text, INT32_MAX, &pid) || !pid)
		return "behind @ is neither a process number nor the path of a cgroup";
	s->pid = (pid_t)pid;
	return s->kind == TRIGGER_CPU || s->kind == TRIGGER_MEMORY
		       ? NULL
		       : "pressure and kills are those of a cgroup or of the machine, not of a "
			 "process";
}

static const char *parse_item(char *text, struct trigger_spec *s)
{
	static const char *const kinds[] = { "cpu", "memory", "psi", "oom" };
	char *limit = cut(text, '='), *what = cut(text, '@');
	const char *wrong;
	size_t i = 0;

	while (i < sizeof(kinds) / sizeof(*kinds) && strcmp(text, kinds[i]))
		i++;
	if (i == sizeof(kinds) / sizeof(*kinds))
		return "a trigger is cpu=90%:30s, memory=2G, psi=memory:some:20% or oom";
	s->kind = (enum trigger_kind)i;
	wrong = parse_what(what, s);
	return wrong ? wrong : parse_limit(limit, s);
}

const char *trigger_specs_add(struct trigger_specs *specs, const char *text)
{
	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ",");
		struct trigger_spec *s = &specs->list[specs->nr];
		const char *wrong;
		char *item;

		if (specs->nr == MAX_TRIGGERS)
			return "there are more than 16 triggers";
		item = xasprintf("%.*s", (int)length, at);
		*s = (struct trigger_spec){ .text = xstrdup(item) };
		specs->nr++;
		wrong = parse_item(item, s);
		free(item);
		if (wrong)
			return wrong;
		at += length;
		if (!*at)
			return NULL;
	}
}

void trigger_specs_fini(struct trigger_specs *specs)
{
	for (size_t i = 0; i < specs->nr; i++) {
		free(specs->list[i].text);
		free(specs->list[i].cgroup);
	}
	specs->nr = 0;
}
