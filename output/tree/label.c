/*
 * Finds short names and chooses the text of a label. The scanner for short names only matches
 * brackets and looks for "::"; it knows no grammar, and a name that it does not understand stays
 * whole.
 */
#include "output/tree/label.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "output/text/align.h"
#include "output/text/number.h"
#include "output/text/text.h"
#include "output/tree/tree.h"

#define ELLIPSIS "\xe2\x80\xa6"

enum { FEWEST = 8 }; /* columns: a shorter piece of a name says nothing */

struct scan {
	const char *s;
	size_t n, at;
	int depth;	     /* of brackets */
	size_t start;	     /* of the current component */
	size_t cut;	     /* where its arguments begin, 0 = not yet */
	size_t start_before; /* of the component before it */
};

static bool follows(const struct scan *c, const char *word)
{
	size_t m = strlen(word);

	return c->n - c->at >= m && !memcmp(c->s + c->at, word, m);
}

static bool is_word(char ch)
{
	return isalnum((unsigned char)ch) || ch == '_' || ch == '$' || (ch & 0x80);
}

/* Skips "operator" with its symbol or type: <, <<=, (), [], new[], int. */
static void skip_operator(struct scan *c)
{
	c->at += strlen("operator");
	if (follows(c, "()") || follows(c, "[]")) {
		c->at += 2;
		return;
	}
	while (c->at < c->n && strchr("<>=!+-*/%^&|~,", c->s[c->at]))
		c->at++;
	if (c->at < c->n && c->s[c->at] == ' ')
		while (c->at < c->n && c->s[c->at] != '(')
			c->at++;
}

static bool at_operator(const struct scan *c)
{
	return follows(c, "operator") && (!c->at || !is_word(c->s[c->at - 1])) &&
	       (c->at + 8 == c->n || !is_word(c->s[c->at + 8]));
}

static void open_bracket(struct scan *c)
{
	/*
	 * A bracket at the start of a component is its name: (anonymous namespace), <T as X>,
	 * {lambda}
	 */
	if (!c->depth && c->at != c->start && !c->cut)
		c->cut = c->at;
	c->depth++;
	c->at++;
}

/* True if the component ended and a suffix follows: "const", "[clone .cold]". */
static bool at_space(struct scan *c)
{
	if (c->cut && c->s[c->at - 1] == ')')
		return true;
	c->start = c->start_before = ++c->at; /* the text before was the return type */
	c->cut = 0;
	return false;
}

static void scan_component(struct scan *c)
{
	while (c->at < c->n) {
		char ch = c->s[c->at];

		if (!c->depth && at_operator(c)) {
			skip_operator(c);
		} else if (ch == '<' || ch == '(' || ch == '{' || ch == '[') {
			open_bracket(c);
		} else if (ch == '>' || ch == ')' || ch == '}' || ch == ']') {
			c->depth -= c->depth && !(ch == '>' && c->s[c->at - 1] == '-');
			c->at++;
		} else if (!c->depth && follows(c, "::")) {
			c->start_before = c->start;
			c->start = c->at += 2;
			c->cut = 0;
		} else if (ch == ' ' && !c->depth) {
			if (at_space(c))
				return;
		} else {
			c->at++;
		}
	}
}

/* Go and Java spell packages with slashes: github.com/x/y.(*T).Method, java/util/Map.get */
static bool is_path(const char *s, size_t n)
{
	const char *slash = memrchr(s, '/', n);

	if (!slash || slash == s + n - 1 || memmem(s, n, "::", 2) || memmem(s, n, "operator", 8))
		return false;
	while (s < slash && (is_word(*s) || strchr("./-~@", *s)))
		s++;
	return s == slash;
}

size_t label_without_place(const char *s, size_t n)
{
	const char *open = n && s[n - 1] == ')' ? memrchr(s, '(', n) : NULL;

	return open && open > s + 1 && open[-1] == ' ' ? (size_t)(open - 1 - s) : n;
}

void label_short(const char *s, size_t n, uint8_t kind, size_t *ret_start, size_t *ret_size)
{
	struct scan c = { .s = s, .n = n };
	size_t end;

	*ret_start = 0;
	*ret_size = n;
	if (kind == FUNCTION_PYTHON)
		*ret_size = label_without_place(s, n);
	if (!n || s[0] == '[' ||
	    (kind != FUNCTION_NATIVE && kind != FUNCTION_JIT && kind != FUNCTION_GPU))
		return;
	if (is_path(s, n)) {
		const char *slash = memrchr(s, '/', n);

		*ret_start = (size_t)(slash + 1 - s);
		*ret_size = n - *ret_start;
	}
	if (!memmem(s, n, "::", 2) && (!memchr(s, '(', n) || memmem(s, n, ".(*", 3)))
		return;
	scan_component(&c);
	end = c.cut ? c.cut : c.at;
	while (end && s[end - 1] == ' ')
		end--;
	/* "operator()" and "{{closure}}" need the component before to make sense. */
	if (c.start < n && (s[c.start] == '{' || !strncmp(s + c.start, "operator()", 10)))
		c.start = c.start_before;
	if (c.depth || end <= c.start)
		return;
	*ret_start = c.start;
	*ret_size = end - c.start;
}

struct label_name label_name_of(const struct tree_function *f)
{
	struct label_name n = { .text = f->name, .size = strlen(f->name) };

	label_short(n.text, n.size, f->kind, &n.short_start, &n.short_size);
	return n;
}

/* Does a word begin at s[i]? A dot within a number, as in "python3.11", begins none. */
static bool begins_word(const char *s, size_t i)
{
	const char *joins = "_.:/+-";

	return i && strchr(joins, s[i - 1]) && !strchr(joins, s[i]) &&
	       !(s[i - 1] == '.' && isdigit((unsigned char)s[i]));
}

/*
 * Appends "…call_main" for "__libc_start_call_main": names of one program begin alike, and differ
 * at their end. The cut lies between words if that leaves enough.
 */
static void add_end(struct buffer *b, const char *s, size_t n, size_t columns)
{
	size_t start = n - text_tail(s, n, columns - 1);

	for (size_t i = start; i < n; i++) {
		if (begins_word(s, i) && text_columns(s + i, n - i) >= FEWEST) {
			start = i;
			break;
		}
	}
	buffer_add_string(b, ELLIPSIS);
	buffer_add(b, s + start, n - start);
}

void label_add_texts(struct buffer *b, const struct label_name *name,
		     const struct buffer *total_text, const struct buffer *self_text,
		     size_t columns)
{
	const char *short_name = name->text + name->short_start;
	size_t full = text_columns(name->text, name->size);
	size_t short_columns = text_columns(short_name, name->short_size);
	size_t with_total = text_columns(total_text->data, total_text->size);
	size_t with_self = with_total + text_columns(self_text->data, self_text->size);

	if (full + with_self <= columns)
		buffer_add(b, name->text, name->size);
	else if (short_columns <= columns)
		buffer_add(b, short_name, name->short_size);
	else if (columns > FEWEST)
		add_end(b, short_name, name->short_size, columns);
	if (full + with_self <= columns || short_columns + with_total <= columns)
		buffer_add(b, total_text->data, total_text->size);
	if (full + with_self <= columns || short_columns + with_self <= columns)
		buffer_add(b, self_text->data, self_text->size);
}

void label_add(struct buffer *b, const struct label_name *name, uint64_t total, uint64_t self,
	       uint64_t whole, size_t columns)
{
	struct buffer total_text = { 0 }, self_text = { 0 };

	buffer_add_char(&total_text, ' ');
	number_add_percent(&total_text, total, whole);
	if (self) {
		buffer_add_string(&self_text, " \xc2\xb7 self ");
		number_add_percent(&self_text, self, whole);
	}
	label_add_texts(b, name, &total_text, &self_text, columns);
	buffer_fini(&total_text);
	buffer_fini(&self_text);
}

/* Shortens "std::map<int, long>::" to "std::map<…>::", as template arguments say least. */
static void add_without_arguments(struct buffer *b, const char *s, size_t n, const char *mark)
{
	int depth = 0;

	for (size_t i = 0; i < n; i++) {
		bool closes = depth && s[i] == '>' && s[i - 1] != '-';

		if (closes && !--depth)
			buffer_add_string(b, mark);
		if (!depth)
			buffer_add_char(b, s[i]);
		depth += s[i] == '<';
	}
}

/* Appends the scope before the short name, cut to `width` columns. */
static void add_scope(struct buffer *b, const char *s, size_t n, size_t width, bool unicode)
{
	struct buffer brief = { 0 };

	if (text_columns(s, n) > width) {
		add_without_arguments(&brief, s, n, unicode ? ELLIPSIS : "~");
		s = brief.data;
		n = brief.size;
	}
	align_add_cut(b, s, n, width, unicode);
	buffer_fini(&brief);
}

size_t label_add_short(struct buffer *b, const char *s, size_t n, uint8_t kind, size_t width,
		       bool unicode)
{
	size_t start = 0, size = n;

	if (text_columns(s, n) > width)
		label_short(s, n, kind, &start, &size);
	return align_add_cut(b, s + start, size, width, unicode);
}

void label_add_cut(struct buffer *b, const char *s, size_t n, uint8_t kind, size_t width,
		   bool unicode)
{
	size_t start, size, end, used;

	label_short(s, n, kind, &start, &size);
	end = start + size;
	used = text_columns(s + start, size) + (end < n); /* 1 for the mark of a cut */
	if (text_columns(s, n) <= width) {
		buffer_add(b, s, n);
	} else if (used >= width) {
		align_add_cut(b, s + start, size, width, unicode);
	} else {
		size_t from = b->size;

		if (start)
			add_scope(b, s, start, width - used, unicode);
		used += text_columns(b->data + from, b->size - from);
		buffer_add(b, s + start, size);
		buffer_add(b, s + end, text_head(s + end, n - end, width - used));
		buffer_add_string(b, end == n ? "" : unicode ? ELLIPSIS : "~");
	}
}
