/*
 * /proc/kallsyms has one "address type name [module]" per line, about 120,000 of them, and no
 * sizes: a function ends where the next symbol of any type begins.
 */
#include "symbolizer/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/base/search.h"
#include "symbolizer/symbol_sources.h"
#include "core/base/text_file.h"

#define KALLSYMS_SIZE_MAX (256u << 20)
#define FUNCTION_SIZE_MAX (1u << 20) /* an address further behind a symbol is not in its function */

struct kernel_symbol {
	uint64_t address;
	const char *name; /* into the text */
	char type;	  /* as nm: T, t, W, w are functions */
};

struct kallsyms {
	char *text;
	struct kernel_symbol *symbols;
	size_t nr;
};

static bool is_function(const struct kernel_symbol *s)
{
	return s->type == 't' || s->type == 'T' || s->type == 'w' || s->type == 'W';
}

static unsigned leading_underscores(const char *name)
{
	return (unsigned)strspn(name, "_");
}

/* Sorts by address; of several names of one address the best comes first. */
static int compare_symbols(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

	return ORDER(x->address, y->address)
	       ?: is_function(y) - is_function(x)
	       ?: ORDER(leading_underscores(x->name), leading_underscores(y->name))
	       ?: ORDER(x->type, y->type) /* T before W before t */
	       ?: strcmp(x->name, y->name);
}

/* Parses and cuts one NUL-terminated line. Returns false where it holds no symbol. */
static bool parse_line(char *line, struct kernel_symbol *ret_symbol)
{
	char *end, *tab;

	ret_symbol->address = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return false;
	ret_symbol->type = end[1];
	ret_symbol->name = end + 3;
	/* "name\t[module]" becomes "name [module]". */
	tab = strchr(end + 3, '\t');
	if (tab)
		*tab = ' ';
	return true;
}

static void parse(struct kallsyms *t)
{
	size_t capacity = 0;

	for (char *line = t->text, *next; line; line = next) {
		struct kernel_symbol symbol;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!parse_line(line, &symbol) || !symbol.address)
			continue;
		t->symbols = xgrow(t->symbols, &capacity, t->nr + 1, sizeof(*t->symbols));
		t->symbols[t->nr++] = symbol;
	}
	if (t->nr)
		qsort(t->symbols, t->nr, sizeof(*t->symbols), compare_symbols);
}

int kallsyms_read(int fd, struct kallsyms **ret_table)
{
	struct kallsyms *t = xcalloc(1, sizeof(*t));
	size_t size;
	int err;

	err = text_file_read(fd, KALLSYMS_SIZE_MAX, &t->text, &size);
	if (!err) {
		parse(t);
		err = t->nr ? 0 : -EPERM;
	}
	if (err) {
		kallsyms_free(t);
		return err;
	}
	*ret_table = t;
	return 0;
}

void kallsyms_free(struct kallsyms *table)
{
	if (!table)
		return;
	free(table->symbols);
	free(table->text);
	free(table);
}

const char *kallsyms_lookup(const struct kallsyms *t, uint64_t address)
{
	size_t nr = SEARCH(i, t->nr, t->symbols[i].address <= address);
	uint64_t start;

	if (!nr)
		return NULL;
	start = t->symbols[nr - 1].address;
	if (address - start >= FUNCTION_SIZE_MAX)
		return NULL;
	/* The first symbol of an address has its best name. */
	while (nr > 1 && t->symbols[nr - 2].address == start)
		nr--;
	return is_function(&t->symbols[nr - 1]) ? t->symbols[nr - 1].name : NULL;
}

static void *source_open(const struct symbol_module *module)
{
	struct kallsyms *table = NULL;
	int fd, err;

	if (module->opts->kernel_symbol)
		return NULL; /* kernel_source.c asks for single names, which is cheaper */
	fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : kallsyms_read(fd, &table);
	if (err == -EPERM) {
		log_warning("kernel functions have no names: the kernel hides its addresses");
		log_hint("sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
	} else if (err) {
		log_error(-err, "read '/proc/kallsyms'");
	}
	return table;
}

static bool source_lookup(void *state, uint64_t address, struct symbol_chain *chain)
{
	const char *name = kallsyms_lookup(state, address);

	if (!name)
		return false;
	symbol_chain_add(chain)->name = name;
	return true;
}

static void source_close(void *state)
{
	kallsyms_free(state);
}

const struct symbol_source kallsyms_source = {
	.name = "kallsyms",
	.kinds = 1u << MODULE_KERNEL,
	.open = source_open,
	.lookup = source_lookup,
	.close = source_close,
};
