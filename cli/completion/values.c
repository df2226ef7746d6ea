/* Tells what an option's value is by the word that --help shows for it: FILE, PID, "self|total". */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "cli/completion/completion.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/profile/event_name.h"
#include "output/export/exporter.h"
#include "core/profile/source.h"

static void add_word(struct buffer *words, const char *word)
{
	if (words->size)
		buffer_add_char(words, ' ');
	buffer_add_string(words, word);
}

static void add_sources(struct buffer *words)
{
	add_word(words, "auto");
	for (size_t i = 0; source_table[i]; i++)
		add_word(words, source_table[i]->name);
}

static void add_events(struct buffer *words)
{
	buffer_add_string(words, "auto cpu-clock");
	for (size_t i = 0; i < nr_event_numbers; i++)
		add_word(words, event_numbers[i].name);
}

static void add_columns(struct buffer *words)
{
	for (size_t i = 0; i < NR_COLUMNS; i++)
		if (!column_is_event(i))
			add_word(words, column_table[i].name);
	for (size_t i = 0; i < nr_event_numbers; i++)
		add_word(words, event_numbers[i].name);
}

static bool is_list(const char *arg)
{
	bool bar = false;

	for (; *arg; arg++) {
		if (!islower((unsigned char)*arg) && !isdigit((unsigned char)*arg) && *arg != '|' &&
		    *arg != '-')
			return false;
		bar = bar || *arg == '|';
	}
	return bar;
}

static void add_list(struct buffer *words, const char *arg)
{
	for (; *arg; arg++)
		buffer_add_char(words, *arg == '|' ? ' ' : *arg);
}

enum completion_value completion_value_of(const struct option_facts *option, struct buffer *words)
{
	const char *arg = option->arg ? option->arg : "";

	if (!strcmp(arg, "FILE") || !strcmp(arg, "OUT") || !strcmp(arg, "DIR"))
		return COMPLETE_FILE;
	if (!strncmp(arg, "PID", 3))
		return COMPLETE_PROCESS;
	if (is_list(arg))
		add_list(words, arg);
	else if (!strcmp(arg, "COLUMN"))
		add_columns(words);
	else if (!strncmp(arg, "EVENT", 5))
		add_events(words);
	else if (!strcmp(arg, "FORMAT"))
		for (const struct exporter *const *e = exporter_table; *e; e++)
			add_word(words, (*e)->name);
	else if (!strcmp(arg, "SOURCE"))
		add_sources(words);
	else
		return COMPLETE_NOTHING;
	return COMPLETE_WORDS;
}

void completion_add_help(struct buffer *b, const char *help)
{
	size_t end = strcspn(help, ";:(");
	const char *stop = strstr(help, ". ");

	if (stop && (size_t)(stop - help) < end)
		end = (size_t)(stop - help);
	while (end && help[end - 1] == ' ')
		end--;
	buffer_add(b, help, end);
}
