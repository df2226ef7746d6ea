/*
 * A page without a row inside it needs only its page word; the first row inside a page begins its
 * run.
 */
#include "sampler/unwind/row_writer.h"

#include "core/base/alloc.h"

void row_writer_begin(struct row_writer *writer, struct unwind_table *table, uint64_t start,
		      uint64_t end)
{
	*writer = (struct row_writer){ .table = table, .rule = WALK_RULE_NONE };
	table->base = start & ~(uint64_t)(WALK_PAGE_SIZE - 1);
	table->nr_pages = (uint32_t)((end - table->base + WALK_PAGE_SIZE - 1) >> WALK_PAGE_SHIFT);
	table->pages = xcalloc(table->nr_pages, sizeof(*table->pages));
}

/* Finishes all pages before `page` and starts that one. */
static void go_to_page(struct row_writer *writer, uint32_t page)
{
	struct unwind_table *table = writer->table;

	if (writer->has_run) {
		table->words[writer->run] |= (table->nr_words - writer->run) << 16;
		table->pages[writer->page] = writer->run;
	} else if (writer->page < page) {
		table->pages[writer->page] = WALK_ONE_RULE | writer->page_rule;
	}
	for (uint32_t i = writer->page + 1; i < page; i++)
		table->pages[i] = WALK_ONE_RULE | writer->rule;
	writer->page = page;
	writer->has_run = false;
	writer->page_rule = writer->rule;
}

static void append_word(struct row_writer *writer, uint32_t word)
{
	struct unwind_table *table = writer->table;

	if (table->nr_words == writer->words_capacity)
		table->words = xgrow(table->words, &writer->words_capacity, table->nr_words + 1,
				     sizeof(*table->words));
	table->words[table->nr_words++] = word;
}

void row_writer_add(struct row_writer *writer, uint64_t vaddr, uint32_t rule)
{
	struct unwind_table *table = writer->table;
	uint32_t offset = (uint32_t)(vaddr - table->base);
	uint32_t page = offset >> WALK_PAGE_SHIFT, low = offset & (WALK_PAGE_SIZE - 1);

	if (rule == writer->rule)
		return;
	if (page != writer->page)
		go_to_page(writer, page);
	writer->rule = rule;
	table->nr_rows++;
	if (!low) {
		writer->page_rule = rule;
		return;
	}
	if (!writer->has_run) {
		writer->has_run = true;
		writer->run = table->nr_words;
		append_word(writer, writer->page_rule);
	} else if (table->words[table->nr_words - 1] >> 16 == low) {
		table->nr_words--; /* the row that ended the range before */
		table->nr_rows--;
	}
	append_word(writer, low << 16 | rule);
}

void row_writer_end(struct row_writer *writer)
{
	struct unwind_table *table = writer->table;

	go_to_page(writer, table->nr_pages);
	table->words = xreallocarray(table->words, table->nr_words, sizeof(*table->words));
}

uint32_t unwind_table_find(const struct unwind_table *table, uint64_t vaddr)
{
	uint64_t page = (vaddr - table->base) >> WALK_PAGE_SHIFT;
	uint32_t word;

	if (page >= table->nr_pages)
		return WALK_RULE_NONE;
	word = table->pages[page];
	if (word & WALK_ONE_RULE)
		return walk_row_rule(word);
	return walk_search_run(table->words, word, table->words[word] >> 16,
			       (uint32_t)vaddr & (WALK_PAGE_SIZE - 1), UINT32_MAX);
}
