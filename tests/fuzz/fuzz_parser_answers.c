/*
 * What a child that parses untrusted files may send, if a file has taken it over. The first byte
 * says what the rest is: the file of an unwind table, the names of a module's addresses, the
 * functions of a file by their roles, or the messages by which the child asks for files. Whatever
 * comes, a table must not lead a lookup out of it, locations must name functions that exist, and
 * the recorder must stop asking. In the other direction, what goes into a file must come out of it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "core/sandbox/answer_file.h"
#include "core/sandbox/message.h"
#include "sampler/attach/confined_roles.h"
#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/table_file.h"
#include "sampler/unwind/unwind_table.h"
#include "symbolizer/lookup/file_requests.h"
#include "symbolizer/module_names.h"
#include "symbolizer/names_answer.h"
#include "tests/unit/table_form.h"

enum { NR_FRAMES = 8, NR_MESSAGES_MAX = 64 };

/* A table that was accepted is written and read again: it must be the same. */
static void write_again(const struct unwind_table *table, uint64_t code_size,
			const struct rule_set *rules)
{
	struct rule_set *set = rule_set_new();
	struct unwind_table *back;
	int fd = answer_file_new();

	if (table_file_write(fd, table, rules) || table_file_read(fd, code_size, set, &back) ||
	    back->nr_words != table->nr_words || back->base != table->base)
		abort();
	unwind_table_free(back);
	rule_set_free(set);
	close(fd);
}

static void take_table(const uint8_t *data, size_t size, uint64_t code_size)
{
	struct rule_set *rules = rule_set_new();
	int fd = answer_file_of(data, size);
	struct unwind_table *table;

	if (fd < 0)
		abort();
	if (!table_file_read(fd, code_size, rules, &table)) {
		if (!table_is_sound(table, rules))
			abort();
		for (uint32_t i = 0; i < table->nr_functions; i++)
			if (table->functions[i].end > code_size)
				abort();
		write_again(table, code_size, rules);
		unwind_table_free(table);
	}
	close(fd);
	rule_set_free(rules);
}

static void take_names(const uint8_t *data, size_t size)
{
	struct profile_module module = { .kind = MODULE_ELF };
	struct profile *p = profile_new();
	struct wanted_name wants[NR_FRAMES];
	size_t named = 0;
	uint32_t id;

	module.path = profile_cstring(p, "/bin/fuzz");
	id = profile_module(p, &module);
	for (uint32_t i = 0; i < NR_FRAMES; i++)
		wants[i] = (struct wanted_name){ id, profile_frame(p, id, i), i };
	if (!names_answer_read(data, size, p, FUNCTION_NATIVE, wants, NR_FRAMES, size % 2,
			       &named) &&
	    p->nr_frames == NR_FRAMES) {
		struct buffer again = { 0 };
		struct profile *q = profile_new();

		/* The same frames have the same names once more. */
		names_answer_write(&again, p, NR_FRAMES);
		module.path = profile_cstring(q, "/bin/fuzz");
		id = profile_module(q, &module);
		for (uint32_t i = 0; i < NR_FRAMES; i++)
			wants[i] = (struct wanted_name){ id, profile_frame(q, id, i), i };
		if (names_answer_read((uint8_t *)again.data, again.size, q, FUNCTION_NATIVE, wants,
				      NR_FRAMES, false, &named) ||
		    q->nr_locations != p->nr_locations)
			abort();
		profile_free(q);
		buffer_fini(&again);
	}
	if (named > NR_FRAMES)
		abort();
	for (size_t i = 0; i < p->nr_locations; i++)
		if (p->locations[i].function >= p->nr_functions)
			abort();
	profile_free(p);
}

static void take_roles(const uint8_t *data, size_t size)
{
	struct role_answer answer;
	struct module_functions f;
	void *functions;

	if (size < sizeof(answer))
		return;
	memcpy(&answer, data, sizeof(answer));
	size -= sizeof(answer);
	functions = malloc(size + 1);
	memcpy(functions, data + sizeof(answer), size);
	if (!role_answer_take(&answer, functions, size, &f)) {
		for (size_t i = 0; i < f.nr; i++)
			if (module_functions_find(&f, f.ranges[i].start) == ROLE_UNNAMED)
				abort();
		module_functions_fini(&f);
	}
	free(functions);
}

/* Each message begins with two bytes, its length. */
static void take_requests(const uint8_t *data, size_t size)
{
	const struct symbolizer_opts opts = { .debug_dir = "/nonexistent" };
	struct file_server server = { .opts = &opts, .path = "/f", .root = -1, .own_root = -1 };
	int sockets[2];

	if (message_pair(sockets))
		abort();
	for (int i = 0; i < NR_MESSAGES_MAX && size >= 2; i++) {
		size_t length = data[0] | (size_t)data[1] << 8;

		data += 2;
		size -= 2;
		length = length < size ? length : size;
		if (length && send(sockets[1], data, length, MSG_DONTWAIT) < 0)
			break;
		data += length;
		size -= length;
	}
	shutdown(sockets[1], SHUT_WR);
	file_server_run(&server, sockets[0]);
	file_server_fini(&server);
	close(sockets[0]);
	close(sockets[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	log_set_level(LOG_QUIET);
	if (!size)
		return 0;
	switch (data[0] % 5) {
	case 0: take_table(data + 1, size - 1, 0); break;
	case 1: take_table(data + 1, size - 1, 4096); break;
	case 2: take_names(data + 1, size - 1); break;
	case 3: take_roles(data + 1, size - 1); break;
	default: take_requests(data + 1, size - 1); break;
	}
	return 0;
}
