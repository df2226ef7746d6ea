/*
 * Gives every function of a file's symbol tables a role by its name, from short lists. The
 * allocator, the loader and fork hold locks that dlopen(3) needs; functions in which threads wait
 * for each other hold none. What is only in .symtab and in no list is left out: exported names
 * suffice to tell code with a name from code without.
 */
#include "sampler/attach/critical_functions.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/elf_file.h"
#include "core/base/order.h"
#include "core/base/search.h"

#define MAX_SYMBOLS 4000000u

/* Each entry is a whole name or, if it ends in '*', the beginning of one. */
static const char *const forbidden[] = {
	"malloc*",
	"free",
	"cfree",
	"calloc",
	"realloc*",
	"memalign",
	"valloc",
	"pvalloc",
	"posix_memalign",
	"aligned_alloc",
	"mallinfo*",
	"mallopt",
	"_Zn*",
	"_Zd*",
	"__libc_malloc*",
	"__libc_free*",
	"__libc_calloc",
	"__libc_realloc",
	"__libc_memalign",
	"dl*",
	"_dl_*",
	"__libc_dl*",
	"__tls_get_addr",
	"fork",
	"_Fork",
	"vfork",
	"__libc_fork",
	"clone",
	"posix_spawn*",
	"exit",
	"_exit",
	"pthread_exit",
	"abort",
	"__cxa_finalize",
	"__call_tls_dtors",
};

static const char *const waiting[] = {
	"pthread_cond_*",	"__pthread_cond_*",	"pthread_join", "pthread_timedjoin_np",
	"pthread_clockjoin_np", "pthread_barrier_wait", "sem_wait",	"sem_timedwait",
	"sem_clockwait",
};

static const char *const needed[NR_NEEDED_FUNCTIONS] = {
	[NEEDED_DLOPEN] = "dlopen",
	[NEEDED_DLERROR] = "dlerror",
	[NEEDED_DLSYM] = "dlsym",
	[NEEDED_ERRNO] = "__errno_location",
};

static bool matches(const char *const *list, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++) {
		size_t length = strcspn(list[i], "*");

		if (!strncmp(list[i], name, length) && (list[i][length] || !name[length]))
			return true;
	}
	return false;
}

#define MATCHES(list, name) matches(list, sizeof(list) / sizeof(*(list)), name)

static void add_symbol(struct module_functions *f, const Elf64_Sym *symbol, const char *name,
		       bool exported)
{
	int type = ELF64_ST_TYPE(symbol->st_info);
	enum function_role role = exported ? ROLE_PLAIN : ROLE_UNNAMED;
	uint64_t end = symbol->st_value + (symbol->st_size ? symbol->st_size : 1);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol->st_shndx == SHN_UNDEF ||
	    !symbol->st_value)
		return;
	if (!strcmp(name, "malloc"))
		f->has_malloc = true;
	if (!strcmp(name, "__libc_start_main"))
		f->is_libc = true;
	for (size_t i = 0; i < NR_NEEDED_FUNCTIONS; i++)
		if (!strcmp(name, needed[i]))
			f->needed[i] = symbol->st_value;
	if (!strcmp(name, "__libc_dlopen_mode") && !f->needed[NEEDED_DLOPEN])
		f->needed[NEEDED_DLOPEN] = symbol->st_value;
	if (MATCHES(forbidden, name))
		role = ROLE_FORBIDDEN;
	else if (MATCHES(waiting, name))
		role = ROLE_WAITS;
	if (role == ROLE_UNNAMED)
		return;
	if (end <= symbol->st_value)
		return; /* beyond the last address */
	f->ranges = xgrow(f->ranges, &f->capacity, f->nr + 1, sizeof(*f->ranges));
	f->ranges[f->nr++] = (struct function_range){ symbol->st_value, end, role };
}

static void read_section(struct elf_image *image, struct elf_section *section,
			 struct module_functions *f)
{
	struct elf_symbol_table table;
	const char *name;
	Elf64_Sym symbol;

	if (!elf_symbol_table_read(image, section, &table) || table.nr > MAX_SYMBOLS)
		return;
	for (size_t i = 0; i < table.nr; i++)
		if (elf_symbol_table_get(&table, i, &symbol, &name))
			add_symbol(f, &symbol, name, section->type == SHT_DYNSYM);
}

/* Only in libc does it matter whether a function has a name. */
static void drop_plain(struct module_functions *f)
{
	size_t nr = 0;

	for (size_t i = 0; i < f->nr; i++)
		if (f->ranges[i].role != ROLE_PLAIN)
			f->ranges[nr++] = f->ranges[i];
	f->nr = nr;
}

static int compare(const void *a, const void *b)
{
	const struct function_range *x = a, *y = b;

	return ORDER(x->start, y->start) ?: (int)y->role - (int)x->role;
}

int module_functions_read(int fd, struct module_functions *ret)
{
	struct elf_image *image;
	int err = elf_image_open_borrowed(fd, &image);

	*ret = (struct module_functions){ 0 };
	if (err)
		return err;
	for (size_t i = 0; i < image->nr_sections; i++) {
		struct elf_section *section = &image->sections[i];

		if (section->type == SHT_DYNSYM || section->type == SHT_SYMTAB)
			read_section(image, section, ret);
	}
	elf_image_close(image);
	if (!ret->is_libc)
		drop_plain(ret);
	if (ret->nr)
		qsort(ret->ranges, ret->nr, sizeof(*ret->ranges), compare);
	return 0;
}

void module_functions_fini(struct module_functions *f)
{
	free(f->ranges);
	*f = (struct module_functions){ 0 };
}

enum function_role module_functions_find(const struct module_functions *f, uint64_t vaddr)
{
	enum function_role found = ROLE_UNNAMED;
	size_t nr = SEARCH(i, f->nr, f->ranges[i].start <= vaddr);

	/* A function can have several names: the most restrictive role counts. */
	for (size_t i = nr; i-- > 0 && nr - i < 16;) {
		if (vaddr < f->ranges[i].end && f->ranges[i].role > found)
			found = f->ranges[i].role;
	}
	return found;
}
