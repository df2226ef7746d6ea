/*
 * Makes frames, which a profile identifies by module and address. A frame without an address gets a
 * module of kind MODULE_NAMED, and the id of a string that spells out its functions takes the place
 * of the address.
 */
#include "output/import/named_frames.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/path.h"
#include "core/profile/profile.h"
#include "output/tree/ranking.h"
#include "output/text/text.h"

/* Bytes of a name in a key; a file can refer to a name of megabytes in each of its frames. */
enum { KEY_NAME_MAX = 4096 };

enum { MAX_DIGITS = 16 }; /* of an address */

/* A Python function belongs to its file, as in a recording. */
static uint32_t module_of(struct profile *p, const struct import_function *f)
{
	struct profile_module m = { .kind = MODULE_PYTHON, .path = f->file, .code_name = f->name };

	if (f->module != PROFILE_NONE || f->kind != FUNCTION_PYTHON || !f->file)
		return f->module;
	m.code_line = f->start_line;
	return profile_module(p, &m);
}

static void set_locations(struct profile *p, uint32_t frame,
			  const struct import_function *functions, size_t nr)
{
	struct profile_location *locations = xcalloc(nr, sizeof(*locations));

	for (size_t i = 0; i < nr; i++) {
		const struct import_function *f = &functions[i];
		const struct profile_function function = {
			.name = f->name,
			.system_name = f->system_name,
			.module = module_of(p, f),
			.file = f->file,
			.start_line = f->start_line,
			.kind = f->kind,
		};

		locations[i] = (struct profile_location){
			.function = profile_function(p, &function),
			.line = f->line,
			.inlined = f->inlined,
		};
	}
	profile_set_locations(p, frame, locations, nr);
	free(locations);
}

static bool same_locations(const struct profile *p, uint32_t frame,
			   const struct import_function *functions, size_t nr)
{
	const struct profile_frame *f = &p->frames[frame];

	if (f->nr_locations != nr)
		return false;
	for (size_t i = 0; i < nr; i++) {
		const struct profile_location *l = &p->locations[f->first_location + i];
		const struct profile_function *function = &p->functions[l->function];

		if (function->name != functions[i].name || function->file != functions[i].file ||
		    function->module != functions[i].module ||
		    function->kind != functions[i].kind ||
		    function->start_line != functions[i].start_line ||
		    function->system_name != functions[i].system_name ||
		    l->line != functions[i].line || l->inlined != functions[i].inlined)
			return false;
	}
	return true;
}

/*
 * Text and not only ids, as profile_copy() takes frames of two profiles with equal keys for one. A
 * name that is cut is told apart by its id.
 */
static void add_to_key(struct buffer *key, const struct profile *p, const struct import_function *f)
{
	const char *name = profile_str(p, f->name);
	size_t size = strnlen(name, KEY_NAME_MAX);

	buffer_add(key, name, size);
	buffer_printf(key, ";%u:%u:%u:%u:%u:%u:%d;", f->system_name, f->file, f->start_line,
		      f->line, f->module, f->kind, f->inlined);
	if (size == KEY_NAME_MAX)
		buffer_printf(key, "%u;", f->name);
}

/* A function of which only the name is known is keyed by it, as profile_named_frame() does. */
static uint32_t key_of(struct profile *p, const struct import_function *f, size_t nr)
{
	struct buffer key = { 0 };
	uint32_t id;

	if (nr == 1 && !f->file && !f->start_line && !f->line && f->system_name == f->name)
		return f->name;
	for (size_t i = 0; i < nr; i++)
		add_to_key(&key, p, &f[i]);
	id = profile_string(p, key.data, key.size);
	buffer_fini(&key);
	return id;
}

uint32_t import_frame(struct profile *p, const struct import_function *functions, size_t nr)
{
	struct profile_module module = { .kind = MODULE_NAMED, .function_kind = functions->kind };
	uint32_t frame;

	if (functions->inlined)
		module.path = profile_cstring(p, "[inlined]");
	else if (functions->module != PROFILE_NONE)
		module.path = p->modules[functions->module].path;
	frame = profile_frame(p, profile_module(p, &module), key_of(p, functions, nr));
	if (!p->frames[frame].nr_locations)
		set_locations(p, frame, functions, nr);
	return frame;
}

uint32_t import_frame_at(struct profile *p, uint32_t module, uint64_t address,
			 const struct import_function *functions, size_t nr)
{
	size_t nr_frames = p->nr_frames;
	uint32_t frame = profile_frame(p, module, address);

	if (frame == nr_frames) /* new */
		set_locations(p, frame, functions, nr);
	else if (!same_locations(p, frame, functions, nr))
		return import_frame(p, functions, nr);
	return frame;
}

uint32_t import_unnamed_frame(struct profile *p, uint32_t module, uint64_t address)
{
	size_t nr_frames = p->nr_frames;
	uint32_t frame;

	if (module == PROFILE_NONE)
		return profile_marker_frame(p, MARKER_UNKNOWN);
	frame = profile_frame(p, module, address);
	if (frame != nr_frames && p->frames[frame].nr_locations)
		return profile_marker_frame(p, MARKER_UNKNOWN); /* another file named it */
	return frame;
}

uint32_t import_stack(struct profile *p, uint32_t *frames, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		uint32_t frame = frames[i];

		frames[i] = frames[nr - 1 - i];
		frames[nr - 1 - i] = frame;
	}
	return profile_stack(p, frames, nr);
}

bool import_is_unnamed(const char *module_base, const char *name)
{
	size_t n = strnlen(module_base, PATH_MAX), digits;

	if (!n || n == PATH_MAX || strncmp(name, module_base, n) || strncmp(name + n, "+0x", 3))
		return false;
	digits = strnlen(name + n + 3, MAX_DIGITS + 1);
	return digits && digits <= MAX_DIGITS && strspn(name + n + 3, "0123456789abcdef") == digits;
}

uint8_t import_kind(const char *name)
{
	uint8_t kind = 0;

	while (kind < NR_FUNCTION_KINDS && strcmp(name, ranking_kind_name(kind)))
		kind++;
	return kind;
}

/* FUNCTION_PYTHON for "[python]" and so on; NR_FUNCTION_KINDS if it is not of that form. */
static uint8_t bracketed_kind(const char *path)
{
	size_t n = strlen(path);
	char name[16];

	if (n < 3 || n - 2 >= sizeof(name) || path[0] != '[' || path[n - 1] != ']')
		return NR_FUNCTION_KINDS;
	memcpy(name, path + 1, n - 2);
	name[n - 2] = '\0';
	return import_kind(name);
}

static bool is_kernel(const char *path)
{
	const char *base = path_base_name(path);
	size_t n = strlen(path);

	return !strncmp(path, "[kernel", 7) || !strncmp(path, "[guest.kernel", 13) ||
	       !strcmp(base, "vmlinux") || !strncmp(base, "vmlinux-", 8) ||
	       (n > 3 && !strcmp(path + n - 3, ".ko")) ||
	       (n > 6 && (!strcmp(path + n - 6, ".ko.xz") || !strcmp(path + n - 6, ".ko.gz")));
}

/* Does the path stand for runtime code? The pid is 0 if the path does not say it. */
static bool is_runtime_code(const char *path, uint32_t *ret_pid)
{
	const char *base = path_base_name(path), *digits = NULL;

	if (!strncmp(path, "[jit:", 5))
		digits = path + 5;
	else if (!strncmp(base, "jitted-", 7)) /* a file that perf inject --jit made */
		digits = base + 7;
	else if (!strncmp(path, "/tmp/perf-", 10))
		digits = path + 10;
	*ret_pid = digits ? (uint32_t)strtoul(digits, NULL, 10) : 0;
	return digits || !strcmp(path, "[jit]") || !strcmp(path, "//anon");
}

static void parse_build_id(struct profile_module *m, const char *hex)
{
	size_t n = strlen(hex);
	uint8_t bytes[BUILD_ID_MAX];

	if (n % 2 || n / 2 > BUILD_ID_MAX || strspn(hex, "0123456789abcdefABCDEF") != n)
		return;
	for (size_t i = 0; i < n; i += 2) {
		const char digits[3] = { hex[i], hex[i + 1], '\0' };

		bytes[i / 2] = (uint8_t)strtoul(digits, NULL, 16);
	}
	memcpy(m->build_id, bytes, n / 2);
	m->build_id_size = (uint8_t)(n / 2);
}

static uint32_t add_module(struct profile *p, const char *path, const char *build_id_hex,
			   uint64_t dev, uint64_t ino, uint8_t *ret_kind)
{
	struct profile_module m = { .kind = MODULE_ELF };
	uint8_t kind = bracketed_kind(path);

	*ret_kind = FUNCTION_NATIVE;
	if (is_kernel(path)) {
		m.kind = MODULE_KERNEL;
		*ret_kind = FUNCTION_KERNEL;
	} else if (is_runtime_code(path, &m.pid)) {
		m.kind = MODULE_JIT;
		*ret_kind = FUNCTION_JIT;
		path = "[jit]";
	} else if (kind != NR_FUNCTION_KINDS) {
		*ret_kind = kind;
		return PROFILE_NONE;
	} else if (!strcmp(path, "[vdso]")) {
		m.kind = MODULE_VDSO;
	} else if (!*path || !strcmp(path, "[inlined]") || !strcmp(path, "inlined")) {
		return PROFILE_NONE;
	}
	m.path = profile_cstring(p, path);
	parse_build_id(&m, build_id_hex);
	if (m.kind == MODULE_ELF) {
		m.dev = dev;
		m.ino = ino;
	}
	return profile_module(p, &m);
}

uint32_t import_module(struct profile *p, const char *path, const char *build_id_hex,
		       uint8_t *ret_kind)
{
	return add_module(p, path, build_id_hex, 0, 0, ret_kind);
}

struct import_module import_modules_find(struct import_modules *modules, struct profile *p,
					 uint32_t path, uint32_t build_id)
{
	struct import_module m = { .base = "" };
	bool is_new;
	uint32_t *at = number_map_at(&modules->by_path, (uint64_t)path << 32 | build_id, &is_new);

	if (!is_new)
		return modules->list[*at];
	m.id = import_module(p, profile_str(p, path), profile_str(p, build_id), &m.kind);
	if (m.id != PROFILE_NONE)
		m.base = path_base_name(profile_str(p, p->modules[m.id].path));
	*at = (uint32_t)modules->nr;
	modules->list =
		xgrow(modules->list, &modules->capacity, modules->nr + 1, sizeof(*modules->list));
	modules->list[modules->nr++] = m;
	return m;
}

void import_modules_fini(struct import_modules *modules)
{
	number_map_fini(&modules->by_path);
	free(modules->list);
	*modules = (struct import_modules){ 0 };
}

uint32_t import_file(struct profile *p, const char *path, uint64_t dev, uint64_t ino)
{
	uint8_t kind;

	return add_module(p, path, "", dev, ino, &kind);
}
