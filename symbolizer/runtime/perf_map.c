/*
 * A map may hold millions of lines, and a profile needs a few hundred of them. So the addresses
 * come first: lines are read from the last to the first, and each address takes the first line that
 * covers it.
 */
#include "symbolizer/runtime/perf_map.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/memory_limit.h"
#include "symbolizer/lookup/address_claim.h"
#include "symbolizer/runtime/runtime_sources.h"
#include "core/untrusted/target_file.h"
#include "core/base/text_file.h"

#define MAP_SIZE_MAX (128u << 20) /* bytes; a million functions */

struct perf_map {
	char *text;
	struct address_claim claim; /* owners are offsets of names in the text */
};

/* Parses a hexadecimal number and the space behind it; NULL where the text is something else. */
static const char *parse_number(const char *s, uint64_t *ret_number)
{
	char *end;

	if (!isxdigit((unsigned char)*s)) /* strtoull() would accept signs and white space */
		return NULL;
	*ret_number = strtoull(s, &end, 16);
	return *end == ' ' ? end + 1 : NULL;
}

/* Parses "start size name"; false where the line is something else. */
static bool parse_line(const char *line, uint64_t *ret_start, uint64_t *ret_size,
		       const char **ret_name)
{
	line = parse_number(line, ret_start);
	if (line)
		line = parse_number(line, ret_size);
	*ret_name = line;
	return line && *line;
}

static void take_line(struct perf_map *m, const char *line)
{
	uint64_t start, size;
	const char *name;

	if (!parse_line(line, &start, &size, &name))
		return;
	address_claim_take(&m->claim, start, size, (uint32_t)(name - m->text));
}

struct perf_map *perf_map_new(char *text, size_t size, const uint64_t *addresses, size_t nr)
{
	struct perf_map *m = xcalloc(1, sizeof(*m));
	char *end = text + size;

	m->text = text;
	address_claim_init(&m->claim, addresses, nr);
	while (end > text) {
		char *newline = memrchr(text, '\n', (size_t)(end - text));
		char *line = newline ? newline + 1 : text;

		take_line(m, line);
		if (!newline)
			break;
		*newline = '\0';
		end = newline;
	}
	return m;
}

void perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	free(map->text);
	address_claim_fini(&map->claim);
	free(map);
}

const char *perf_map_lookup(const struct perf_map *map, uint64_t address)
{
	uint32_t name = address_claim_owner(&map->claim, address);

	return name != ADDRESS_UNCLAIMED ? map->text + name : NULL;
}

int perf_map_open(uint32_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", target_file_pid_inside(pid));
	fd = target_file_open(pid, path);
	if (fd >= 0 || fd == -EPERM)
		return fd;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	return target_file_open_in_our_root(pid, path);
}

static void *source_open(const struct symbol_module *module)
{
	uint64_t limit;
	char *text;
	size_t size;
	int fd = module->perf_map_fd, err;

	if (fd < 0)
		return NULL;
	limit = memory_available() / 8; /* the text is held twice while its buffer grows */
	err = text_file_read(fd, limit < MAP_SIZE_MAX ? limit : MAP_SIZE_MAX, &text, &size);
	if (err) {
		log_error(-err, "read 'perf-%u.map'", module->pid);
		return NULL;
	}
	return perf_map_new(text, size, module->addresses, module->nr_addresses);
}

static bool source_lookup(void *state, uint64_t address, struct symbol_chain *chain)
{
	const char *name = perf_map_lookup(state, address);

	if (!name)
		return false;
	symbol_chain_add(chain)->name = name;
	return true;
}

static void source_close(void *state)
{
	perf_map_free(state);
}

const struct symbol_source perf_map_source = {
	.name = "perf map",
	.kinds = 1u << MODULE_JIT,
	.open = source_open,
	.lookup = source_lookup,
	.close = source_close,
};
