/*
 * Parses lines. A comm may hold blanks and digits, and so may the rest of the line, so a head is
 * looked for at each blank that a digit follows.
 */
#include "output/import/perf_script_line.h"

#include <ctype.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

struct slice slice_trim(struct slice t)
{
	while (t.n && isspace((unsigned char)t.s[0]))
		t.s++, t.n--;
	while (t.n && isspace((unsigned char)t.s[t.n - 1]))
		t.n--;
	return t;
}

static bool parse_u64(struct slice *t, uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t i = 0;

	for (; i < t->n && i < 19 && isdigit((unsigned char)t->s[i]); i++)
		value = value * 10 + (uint64_t)(t->s[i] - '0');
	if (!i)
		return false;
	*t = (struct slice){ t->s + i, t->n - i };
	*ret_value = value;
	return true;
}

static bool accept(struct slice *t, char c)
{
	if (!t->n || *t->s != c)
		return false;
	*t = (struct slice){ t->s + 1, t->n - 1 };
	return true;
}

static void skip_spaces(struct slice *t)
{
	while (t->n && is_blank(*t->s))
		*t = (struct slice){ t->s + 1, t->n - 1 };
}

/* "1234.567890:"; *t moves only past a whole time. */
static bool parse_time(struct slice *t, uint64_t *ret_ns)
{
	uint64_t seconds, scale = 1000000000, ns = 0;
	struct slice at = *t;

	if (!parse_u64(&at, &seconds) || seconds > UINT32_MAX || !accept(&at, '.'))
		return false;
	while (at.n && isdigit((unsigned char)*at.s)) {
		scale /= 10;
		ns += (uint64_t)(*at.s - '0') * scale;
		accept(&at, *at.s);
	}
	if (!accept(&at, ':'))
		return false;
	*ret_ns = seconds * 1000000000 + ns;
	*t = at;
	return true;
}

/* The colon after the name of an event, which may hold colons itself; NULL: there is none. */
static const char *end_of_event(struct slice t)
{
	for (size_t i = 0; i < t.n; i++)
		if (t.s[i] == ':' && (i + 1 == t.n || is_blank(t.s[i + 1])))
			return t.s + i;
	return NULL;
}

/*
 * Without a time, the line has to go on with a period and an event: "4000000 cycles:u:". It looks
 * no further than the name of the event, because it is called for each number of a line.
 */
static bool begins_event(struct slice t)
{
	uint64_t period;
	size_t n = 0;

	if (parse_u64(&t, &period))
		skip_spaces(&t);
	while (n < t.n && !is_blank(t.s[n]))
		n++;
	return n && isalpha((unsigned char)*t.s) && t.s[n - 1] == ':';
}

/* Parses "pid/tid [cpu] time:" after the comm; tid and cpu may be missing. */
static bool parse_numbers(struct slice t, struct perf_script_head *h)
{
	uint64_t pid, tid, cpu;

	if (!parse_u64(&t, &pid) || pid > UINT32_MAX)
		return false;
	tid = pid;
	if (accept(&t, '/') && (!parse_u64(&t, &tid) || tid > UINT32_MAX))
		return false;
	if (!t.n || !isspace((unsigned char)*t.s))
		return false;
	skip_spaces(&t);
	h->cpu = 0;
	if (accept(&t, '[')) {
		if (!parse_u64(&t, &cpu) || !accept(&t, ']'))
			return false;
		h->cpu = (uint16_t)cpu;
		skip_spaces(&t);
	}
	h->time_ns = 0;
	h->has_time = parse_time(&t, &h->time_ns);
	if (!h->has_time && !begins_event(t))
		return false;
	h->pid = (uint32_t)pid;
	h->tid = (uint32_t)tid;
	h->rest = t;
	return true;
}

/* A comm may hold blanks and digits: it ends at the first blank after which the numbers parse. */
bool perf_script_parse_head(struct slice line, struct perf_script_head *h)
{
	struct slice t;
	const char *colon;

	for (size_t i = 1; i + 1 < line.n; i++) {
		if (!is_blank(line.s[i]) || !isdigit((unsigned char)line.s[i + 1]))
			continue;
		if (!parse_numbers((struct slice){ line.s + i + 1, line.n - i - 1 }, h))
			continue;
		h->comm = slice_trim((struct slice){ line.s, i });
		t = slice_trim(h->rest);
		h->period = 0;
		if (parse_u64(&t, &h->period))
			skip_spaces(&t);
		colon = end_of_event(t);
		h->event = (struct slice){ t.s, colon ? (size_t)(colon - t.s) : t.n };
		h->rest = (struct slice){ t.s + h->event.n, t.n - h->event.n };
		accept(&h->rest, ':');
		h->rest = slice_trim(h->rest);
		return h->comm.n != 0;
	}
	return false;
}

/* Takes the symbol, without its offset, from "symbol+0x1 ". */
static struct slice symbol_of(struct slice t)
{
	size_t n;

	while (t.n && is_blank(t.s[t.n - 1]))
		t.n--;
	for (n = t.n; n && isxdigit((unsigned char)t.s[n - 1]);)
		n--;
	if (n >= 3 && n < t.n && !memcmp(t.s + n - 3, "+0x", 3))
		t.n = n - 3;
	return t;
}

bool perf_script_parse_frame(struct slice line, struct perf_script_frame *f)
{
	struct slice t = line;
	const char *paren;
	size_t n = 0;

	skip_spaces(&t);
	while (n < t.n && isxdigit((unsigned char)t.s[n]))
		n++;
	if (!n || n == t.n || !is_blank(t.s[n]))
		return false;
	f->in_kernel = n == 16 && tolower((unsigned char)*t.s) == 'f';
	t = slice_trim((struct slice){ t.s + n + 1, t.n - n - 1 });
	if (!t.n || t.s[t.n - 1] != ')')
		return false;
	paren = memrchr(t.s, '(', t.n);
	if (paren && paren > t.s && !strncmp(paren, "(deleted)", 9))
		paren = memrchr(t.s, '(', (size_t)(paren - t.s));
	if (!paren)
		return false;
	f->file = (struct slice){ paren + 1, t.n - (size_t)(paren - t.s) - 2 };
	f->symbol = symbol_of((struct slice){ t.s, (size_t)(paren - t.s) });
	return true;
}

bool slice_is(struct slice t, const char *s)
{
	return t.n == strlen(s) && !memcmp(t.s, s, t.n);
}

bool perf_script_is_record(const struct perf_script_head *h)
{
	return h->event.n > 12 && !memcmp(h->event.s, "PERF_RECORD_", 12);
}
