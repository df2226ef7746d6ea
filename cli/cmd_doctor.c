/* sprof doctor: which sources work here, why the others do not, and what mends it. */
#include "cli/cmd_doctor.h"

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/host_facts.h"
#include "core/buffer.h"
#include "core/source.h"
#include "output/text.h"

enum { KEY_JSON = 256 };

#define VERSION 1 /* of the JSON object */

/* A source's own words about this host. */
struct finding {
	bool ok;
	char why[256], hint[256]; /* "" if ok; no hint where nothing mends it */
};

static const struct argp_option options[] = {
	{ "json", KEY_JSON, NULL, 0, "print one JSON object, for programs", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	switch (key) {
	case KEY_JSON: *json = true; return 0;
	case ARGP_KEY_ARG: argp_error(state, "nothing is expected here, not '%s'", arg); return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Say which ways to take samples work here, why the others do not, and what mends it."
	       "\vExamples:\n"
	       "  sprof doctor\n"
	       "  sudo sprof doctor\n"
	       "  sprof doctor --json | jq .sources\n",
};

static struct finding examine(const struct source_ops *ops)
{
	struct finding f = { .ok = false };

	f.ok = ops->probe(f.why, sizeof(f.why), f.hint, sizeof(f.hint));
	if (f.ok)
		f.why[0] = f.hint[0] = '\0';
	return f;
}

/* Returns whether any source works. */
static bool print_text(struct buffer *b)
{
	bool any = false;
	char value[256];

	for (size_t i = 0; source_table[i]; i++) {
		const struct finding f = examine(source_table[i]);

		any |= f.ok;
		buffer_printf(b, "%-6s %s\n", source_table[i]->name, f.ok ? "OK" : f.why);
		if (f.hint[0])
			buffer_printf(b, "       mend: %s\n", f.hint);
	}
	buffer_add_char(b, '\n');
	for (const struct host_fact *fact = host_facts; fact->key; fact++) {
		fact->read(value, sizeof(value));
		buffer_printf(b, "%-28s", fact->name);
		text_add_clean(b, value, strlen(value));
		buffer_add_char(b, '\n');
	}
	return any;
}

static void add_member(struct buffer *b, const char *key, const char *value)
{
	text_add_json(b, key);
	buffer_add_char(b, ':');
	text_add_json(b, value);
}

/* As print_text(). */
static bool print_json(struct buffer *b)
{
	bool any = false;
	char value[256];

	buffer_printf(b, "{\"version\":%d,\"sources\":[", VERSION);
	for (size_t i = 0; source_table[i]; i++) {
		const struct finding f = examine(source_table[i]);

		any |= f.ok;
		buffer_add_string(b, i ? ",{" : "{");
		add_member(b, "name", source_table[i]->name);
		buffer_printf(b, ",\"ok\":%s,", f.ok ? "true" : "false");
		add_member(b, "reason", f.why);
		buffer_add_char(b, ',');
		add_member(b, "mend", f.hint);
		buffer_add_char(b, '}');
	}
	buffer_add_string(b, "],\"facts\":{");
	for (const struct host_fact *fact = host_facts; fact->key; fact++) {
		fact->read(value, sizeof(value));
		if (fact != host_facts)
			buffer_add_char(b, ',');
		add_member(b, fact->key, value);
	}
	buffer_add_string(b, "}}\n");
	return any;
}

static int doctor_main(int argc, char **argv)
{
	struct buffer b = { 0 };
	bool json = false, any;

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &json);
	any = json ? print_json(&b) : print_text(&b);
	fwrite(b.data, 1, b.size, stdout);
	buffer_fini(&b);
	return any ? 0 : 1;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.help = "say which ways to take samples work here, and what mends the others",
	.main = doctor_main,
};
