/*
 * Makes stacks of the constants of a chunk: a trace has frames, leaf first; a frame has a method, a
 * method a class, and both have names. The JVM cuts traces at its limit (stackdepth, 64 frames),
 * and says so.
 */
#include "output/import/java/jfr_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/import/java/jfr_chunk.h"
#include "output/import/named_frames.h"

enum { MAX_FRAMES = 1 << 16 };

/* "java.util.ArrayList.add"; the file has slashes where source code has dots. */
static uint32_t make_method(struct jfr_stacks *s, uint64_t number)
{
	struct jfr_want method[] = { { .word = JFR_TYPE }, { .word = JFR_NAME } };
	struct jfr_want class = { .word = JFR_NAME };
	struct buffer *text = &s->text;

	text->size = 0;
	if (!jfr_read_constant(s->chunk, JFR_POOL_METHODS, number, method, 2))
		return profile_cstring(s->p, "(unknown method)");
	if (method[0].found &&
	    jfr_read_constant(s->chunk, JFR_POOL_CLASSES, method[0].number, &class, 1))
		jfr_add_text(s->chunk, &class, text);
	for (size_t i = 0; i < text->size; i++)
		if (text->data[i] == '/')
			text->data[i] = '.';
	if (text->size)
		buffer_add_char(text, '.');
	jfr_add_text(s->chunk, &method[1], text);
	return profile_cstring(s->p, buffer_cstring(text));
}

static uint32_t method_name(struct jfr_stacks *s, uint64_t number)
{
	bool is_new;
	uint32_t *known = number_map_at(&s->methods, number, &is_new);

	if (is_new)
		*known = make_method(s, number);
	return *known;
}

/* "Interpreted", "JIT compiled" and "Inlined" are one method, and so one kind. */
static uint8_t kind_of(struct jfr_stacks *s, uint64_t frame_type)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} kinds[] = { { "Native", FUNCTION_NATIVE },
		      { "C++", FUNCTION_NATIVE },
		      { "Kernel", FUNCTION_KERNEL } };
	struct jfr_want description = { .word = JFR_DESCRIPTION };
	bool is_new;
	uint32_t *known = number_map_at(&s->kinds, frame_type, &is_new);

	if (!is_new)
		return (uint8_t)*known;
	*known = FUNCTION_JIT;
	s->text.size = 0;
	if (jfr_read_constant(s->chunk, JFR_POOL_FRAME_TYPES, frame_type, &description, 1))
		jfr_add_text(s->chunk, &description, &s->text);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(buffer_cstring(&s->text), kinds[i].name))
			*known = kinds[i].kind;
	return (uint8_t)*known;
}

static uint32_t make_frame(struct jfr_stacks *s, const struct jfr_want *method,
			   const struct jfr_want *line, const struct jfr_want *type)
{
	struct import_function f = { .module = PROFILE_NONE };

	if (!method->found)
		return profile_marker_frame(s->p, MARKER_UNKNOWN);
	f.name = f.system_name = method_name(s, method->number);
	f.kind = type->found ? kind_of(s, type->number) : FUNCTION_JIT;
	f.line = line->found && line->number <= INT32_MAX ? (uint32_t)line->number : 0;
	return import_frame(s->p, &f, 1);
}

static uint32_t make_stack(struct jfr_stacks *s, uint64_t number)
{
	struct jfr_want trace[] = { { .word = JFR_TRUNCATED }, { .word = JFR_FRAMES } };
	struct jfr_types *types = &s->chunk->types;
	const struct jfr_class *class;
	struct cursor at;
	size_t nr = 0;

	if (!jfr_read_constant(s->chunk, JFR_POOL_TRACES, number, trace, 2) || !trace[1].found ||
	    !trace[1].field.is_array || trace[1].field.in_pool)
		return profile_stack(s->p, NULL, 0);
	class = jfr_class(types, trace[1].field.class_id);
	at = trace[1].at;
	for (uint64_t left = jfr_number(&at); left && class && nr < MAX_FRAMES; left--) {
		struct jfr_want frame[] = { { .word = JFR_METHOD_FIELD },
					    { .word = JFR_LINE_NUMBER },
					    { .word = JFR_TYPE } };

		jfr_read(types, &at, class, frame, 3);
		if (at.bad)
			break;
		s->frames = xgrow(s->frames, &s->frames_capacity, nr + 2, sizeof(*s->frames));
		s->frames[nr++] = make_frame(s, &frame[0], &frame[1], &frame[2]);
	}
	if (nr && trace[0].number)
		s->frames[nr++] = profile_marker_frame(s->p, MARKER_TOO_DEEP);
	return import_stack(s->p, s->frames, nr);
}

uint32_t jfr_stack(struct jfr_stacks *s, uint64_t trace)
{
	bool is_new;
	uint32_t *known = number_map_at(&s->traces, trace, &is_new);

	if (is_new)
		*known = make_stack(s, trace);
	return *known;
}

static uint32_t make_thread(struct jfr_stacks *s, uint64_t number)
{
	struct jfr_want thread[] = { { .word = JFR_JAVA_NAME },
				     { .word = JFR_OS_NAME },
				     { .word = JFR_OS_THREAD_ID } };

	s->text.size = 0;
	if (!jfr_read_constant(s->chunk, JFR_POOL_THREADS, number, thread, 3))
		return PROFILE_NONE;
	for (int i = 0; i < 2 && !s->text.size; i++)
		jfr_add_text(s->chunk, &thread[i], &s->text);
	return profile_thread(s->p, s->pid, (uint32_t)thread[2].number,
			      profile_cstring(s->p, buffer_cstring(&s->text)));
}

uint32_t jfr_thread(struct jfr_stacks *s, uint64_t thread)
{
	bool is_new;
	uint32_t *known = number_map_at(&s->threads, thread, &is_new);

	if (is_new)
		*known = make_thread(s, thread);
	return *known;
}

void jfr_stacks_fini(struct jfr_stacks *s)
{
	number_map_fini(&s->methods);
	number_map_fini(&s->traces);
	number_map_fini(&s->threads);
	number_map_fini(&s->kinds);
	buffer_fini(&s->text);
	free(s->frames);
	*s = (struct jfr_stacks){ 0 };
}
