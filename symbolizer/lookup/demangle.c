/*
 * Demangling through libiberty, with limits: names come from untrusted files, and a few bytes of
 * mangled name can stand for gigabytes of text. The text is therefore taken through libiberty's
 * callback, which leaves with longjmp() when the limit is reached; the demanglers keep everything
 * on the stack, so nothing leaks.
 *
 * libiberty refuses names of more than 1024 bytes, lest they overflow the stack. C++ templates
 * produce longer ones; those are demangled on a large stack of their own.
 */
#include "symbolizer/lookup/demangle.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <libiberty/demangle.h>

#include "core/base/alloc.h"

#define SHORT_MAX 1024		   /* bytes that libiberty accepts on any stack */
#define MANGLED_MAX (16 * 1024)	   /* longer names are shown mangled */
#define DEMANGLED_MAX (256 * 1024) /* and so are names whose text becomes longer */
#define STACK_PER_BYTE 4096	   /* for each byte of the name: a generous recursive descent */

struct text {
	const char *mangled;
	int options;
	char *data;
	size_t length, capacity;
	jmp_buf too_long;
	bool done;
};

static void append(const char *part, size_t length, void *opaque)
{
	struct text *text = opaque;

	if (length > DEMANGLED_MAX - text->length)
		longjmp(text->too_long, 1);
	text->data = xgrow(text->data, &text->capacity, text->length + length + 1, 1);
	memcpy(text->data + text->length, part, length);
	text->length += length;
	text->data[text->length] = '\0';
}

static void *demangle_text(void *argument)
{
	struct text *text = argument;

	if (setjmp(text->too_long))
		return NULL;
	if (rust_demangle_callback(text->mangled, text->options, append, text) && text->length) {
		text->done = true;
		return NULL;
	}
	text->length = 0;
	text->done = cplus_demangle_v3_callback(text->mangled, text->options, append, text) &&
		     text->length;
	return NULL;
}

static void demangle_on_large_stack(struct text *text, size_t length)
{
	pthread_attr_t attributes;
	pthread_t thread;

	text->options |= DMGL_NO_RECURSE_LIMIT;
	pthread_attr_init(&attributes);
	/* Only the part that the recursion touches takes memory. */
	if (!pthread_attr_setstacksize(&attributes, length * STACK_PER_BYTE) &&
	    !pthread_create(&thread, &attributes, demangle_text, text))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

/* Returns NULL where the name is not mangled. */
static char *demangle_plain(const char *name)
{
	struct text text = { .mangled = name, .options = DMGL_PARAMS | DMGL_ANSI };
	size_t length = strlen(name);

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	if (length < SHORT_MAX)
		demangle_text(&text);
	else
		demangle_on_large_stack(&text, length);
	if (text.done)
		return text.data;
	free(text.data);
	return NULL;
}

char *demangle(const char *name)
{
	const char *at = strchr(name, '@');
	char *plain, *readable;

	if (strnlen(name, MANGLED_MAX) == MANGLED_MAX)
		return NULL;
	if (!at || at == name)
		return demangle_plain(name);
	/* foo@@VERSION is shown as foo; foo@plt, which sprof itself made, keeps its suffix. */
	plain = xstrdup(name);
	plain[at - name] = '\0';
	readable = demangle_plain(plain);
	if (!strcmp(at, "@plt")) {
		free(plain);
		plain = readable ? xasprintf("%s@plt", readable) : NULL;
		free(readable);
		return plain;
	}
	if (!readable)
		return plain;
	free(plain);
	return readable;
}
