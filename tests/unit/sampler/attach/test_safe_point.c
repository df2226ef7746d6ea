/*
 * The functions of files that a process has mapped are read in a child without rights. The child
 * says what this process would find; a file that ends it, or a lie, ends the search for a safe
 * point and nothing else.
 */
#include "tests/unit/unit.h"
#include "tests/unit/child.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/sandbox/sandbox.h"
#include "sampler/attach/confined_roles.h"
#include "sampler/attach/safe_point.h"
#include "sampler/inject/reason.h"

/* A sanitizer has children without a limit of memory, and functions of libc of its own. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static struct sandbox *sandbox;

static int set_up(void **state)
{
	(void)state;
	return sandbox_new(&sandbox);
}

static int tear_down(void **state)
{
	(void)state;
	sandbox_free(sandbox);
	return 0;
}

/* The file that holds a function of this process. */
static int open_file_of(const void *function)
{
	Dl_info info;
	int fd;

	assert_true(dladdr(function, &info));
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static int open_libc(void)
{
	return open_file_of(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
}

enum { NAME_FREE = 1, NAME_PLAIN = 6, NAME_STRTAB = 12 };
static const char names[] = "\0free\0plain\0.strtab";

/* Writes an ELF file with an executable segment and a symbol table of `nr` functions. */
static void write_functions(int fd, size_t nr, uint32_t name, uint64_t size)
{
	const size_t text = 4096, strings = sizeof(names);
	const uint64_t symbols_at = text, strings_at = symbols_at + nr * sizeof(Elf64_Sym);
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_shoff = (strings_at + strings + 7) & ~7ull,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	const Elf64_Phdr segment = { .p_type = PT_LOAD,
				     .p_flags = PF_R | PF_X,
				     .p_filesz = text,
				     .p_memsz = text,
				     .p_align = text };
	const Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_type = SHT_SYMTAB,
		  .sh_offset = symbols_at,
		  .sh_size = nr * sizeof(Elf64_Sym),
		  .sh_link = 2,
		  .sh_entsize = sizeof(Elf64_Sym) },
		{ .sh_name = NAME_STRTAB,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = strings_at,
		  .sh_size = strings },
	};
	Elf64_Sym *symbols = calloc(nr, sizeof(*symbols));

	assert_true(fd >= 0 && symbols);
	for (size_t i = 0; i < nr; i++)
		symbols[i] = (Elf64_Sym){
			.st_name = name,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = 1,
			.st_value = i + 1,
			.st_size = size,
		};
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, &segment, sizeof(segment), sizeof(header)), sizeof(segment));
	assert_int_equal(pwrite(fd, symbols, nr * sizeof(*symbols), (off_t)symbols_at),
			 nr * sizeof(*symbols));
	assert_int_equal(pwrite(fd, names, strings, (off_t)strings_at), strings);
	assert_int_equal(pwrite(fd, sections, sizeof(sections), (off_t)header.e_shoff),
			 sizeof(sections));
	free(symbols);
}

static int file_of_functions(size_t nr, uint32_t name, uint64_t size)
{
	int fd = memfd_create("functions", MFD_CLOEXEC);

	write_functions(fd, nr, name, size);
	return fd;
}

static void a_child_finds_what_this_process_finds(void **state)
{
	struct role_reader *reader = role_reader_new(sandbox), *own = role_reader_new(NULL);
	struct module_functions here, there;
	int fds[] = { open_libc(), open_file_of((void *)child_of) };
	int text = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		assert_int_equal(role_reader_read(own, fds[i], &here), 0);
		assert_int_equal(role_reader_read(reader, text, &there), -ENOEXEC);
		assert_int_equal(role_reader_read(reader, fds[i], &there), 0);
		assert_int_equal(there.nr, here.nr);
		for (size_t k = 0; k < here.nr; k++) {
			assert_int_equal(there.ranges[k].start, here.ranges[k].start);
			assert_int_equal(there.ranges[k].end, here.ranges[k].end);
			assert_int_equal(there.ranges[k].role, here.ranges[k].role);
		}
		assert_int_equal(there.is_libc, here.is_libc);
		assert_int_equal(there.has_malloc, here.has_malloc);
		assert_memory_equal(there.needed, here.needed, sizeof(here.needed));
		module_functions_fini(&here);
		module_functions_fini(&there);
		close(fds[i]);
	}
	role_reader_free(own);
	role_reader_free(reader);
	close(text);
}

static void plain_functions_are_kept_of_libc_only(void **state)
{
	int libc = open_libc(), other = file_of_functions(10, NAME_PLAIN, 1);
	struct module_functions f;

	(void)state;
	assert_int_equal(module_functions_read(libc, &f), 0);
	assert_true(f.is_libc && f.has_malloc && f.nr > 1000);
	module_functions_fini(&f);
	assert_int_equal(module_functions_read(other, &f), 0);
	assert_false(f.is_libc || f.has_malloc);
	assert_int_equal(f.nr, 0);
	module_functions_fini(&f);
	close(libc);
	close(other);
}

static void a_function_that_goes_round_the_address_space_is_none(void **state)
{
	int fd = file_of_functions(2, NAME_FREE, UINT64_MAX - 1);
	struct role_reader *reader = role_reader_new(sandbox);
	struct module_functions f;

	(void)state;
	assert_int_equal(role_reader_read(reader, fd, &f), 0);
	assert_int_equal(f.nr, 1); /* from 1 to the last address */
	assert_int_equal(module_functions_find(&f, 7), ROLE_FORBIDDEN);
	module_functions_fini(&f);
	role_reader_free(reader);
	close(fd);
}

static void a_file_that_ends_its_reader_costs_the_rest(void **state)
{
	struct role_reader *reader;
	struct module_functions f;
	int libc, hostile;

	(void)state;
	if (SANITIZED)
		skip();
	reader = role_reader_new(sandbox);
	libc = open_libc();
	hostile = file_of_functions(400000, NAME_FREE, 1);
	sandbox_set_memory(sandbox, 16u << 20);
	assert_int_equal(role_reader_read(reader, libc, &f), 0);
	module_functions_fini(&f);
	assert_int_equal(role_reader_read(reader, hostile, &f), -ENOMEM);
	assert_int_equal(role_reader_read(reader, libc, &f), -ENOMEM);
	role_reader_free(reader);
	close(libc);
	close(hostile);
}

static void a_child_that_dies_is_not_asked_again(void **state)
{
	struct role_reader *reader = role_reader_new(sandbox);
	struct module_functions f;
	int libc = open_libc();
	pid_t child;

	(void)state;
	assert_int_equal(role_reader_read(reader, libc, &f), 0);
	module_functions_fini(&f);
	child = child_of(child_of(getpid()));
	assert_true(child > 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(role_reader_read(reader, libc, &f), -ECHILD);
	assert_int_equal(role_reader_read(reader, libc, &f), -ECHILD);
	role_reader_free(reader);
	close(libc);
}

static void what_a_child_may_not_say_is_refused(void **state)
{
	const struct function_range good[] = { { 1, 9, ROLE_FORBIDDEN },
					       { 1, 2, ROLE_WAITS },
					       { 5, 6, ROLE_PLAIN } };
	const struct function_range bad[][2] = {
		{ { 5, 6, ROLE_WAITS }, { 4, 5, ROLE_WAITS } }, /* not in order */
		{ { 5, 5, ROLE_WAITS }, { 6, 7, ROLE_WAITS } }, /* no bytes */
		{ { 5, 6, ROLE_WAITS }, { 6, 5, ROLE_WAITS } },
		{ { 5, 6, ROLE_UNNAMED }, { 6, 7, ROLE_WAITS } },
		{ { 5, 6, (enum function_role)(ROLE_FORBIDDEN + 1) }, { 6, 7, ROLE_WAITS } },
	};
	struct role_answer answer = { .flags = ROLES_ARE_LIBC, .nr = 3 };
	struct module_functions f;

	(void)state;
	assert_int_equal(role_answer_take(&answer, good, sizeof(good), &f), 0);
	assert_int_equal(f.nr, 3);
	assert_true(f.is_libc && !f.has_malloc);
	module_functions_fini(&f);
	assert_int_equal(role_answer_take(&answer, good, sizeof(good) - 1, &f), -EBADMSG);
	answer.nr = UINT64_MAX / sizeof(*good) + 2;
	assert_int_equal(role_answer_take(&answer, good, sizeof(*good), &f), -EBADMSG);
	answer.nr = 3;
	answer.flags = 4;
	assert_int_equal(role_answer_take(&answer, good, sizeof(good), &f), -EBADMSG);
	answer = (struct role_answer){ .nr = 2 };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(role_answer_take(&answer, bad[i], sizeof(bad[i]), &f), -EBADMSG);
	answer.err = -ENOEXEC;
	assert_int_equal(role_answer_take(&answer, NULL, 0, &f), -ENOEXEC);
	answer.err = 1;
	assert_int_equal(role_answer_take(&answer, NULL, 0, &f), -EBADMSG);
	answer.err = -EAGAIN;
	assert_int_equal(role_answer_take(&answer, NULL, 0, &f), -EBADMSG);
}

static void functions_of_this_process_are_found_where_they_are(void **state)
{
	const struct sandbox *const readers[] = { sandbox, NULL };
	struct inject_reason reason = { 0 };
	struct safe_point *point;

	(void)state;
	if (SANITIZED)
		skip();
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(safe_point_new(getpid(), readers[i], &point, &reason), 0);
		assert_int_equal(safe_point_function(point, NEEDED_DLOPEN),
				 (uintptr_t)dlsym(RTLD_DEFAULT, "dlopen"));
		assert_int_equal(safe_point_function(point, NEEDED_ERRNO),
				 (uintptr_t)dlsym(RTLD_DEFAULT, "__errno_location"));
		safe_point_free(point);
	}
}

static void a_hostile_file_ends_the_search_and_is_named(void **state)
{
	struct inject_reason reason = { 0 };
	/* A file with a path, because nothing else that is mapped can be opened in a container. */
	char path[] = "/tmp/hostile.XXXXXX";
	struct safe_point *point;
	int hostile;
	void *code;

	(void)state;
	if (SANITIZED)
		skip();
	hostile = mkstemp(path);
	write_functions(hostile, 400000, NAME_FREE, 1);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, hostile, 0);
	assert_true(code != MAP_FAILED);
	sandbox_set_memory(sandbox, 16u << 20);
	assert_int_equal(safe_point_new(getpid(), sandbox, &point, &reason), -ENOMEM);
	assert_non_null(strstr(reason.why, "hostile"));
	assert_non_null(strstr(reason.why, "reading it takes too much memory"));
	munmap(code, 4096);
	close(hostile);
	unlink(path);
	assert_int_equal(safe_point_new(getpid(), sandbox, &point, &reason), 0);
	safe_point_free(point);
}

static void without_children_nothing_is_read(void **state)
{
	struct inject_reason reason = { 0 };
	pid_t starter = child_of(getpid());
	struct safe_point *point;
	siginfo_t ended;

	(void)state;
	assert_int_equal(kill(starter, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)starter, &ended, WEXITED | WNOWAIT), 0);
	assert_true(safe_point_new(getpid(), sandbox, &point, &reason) < 0);
	assert_non_null(strstr(reason.why, "are not known"));
}

#define WITH_CHILDREN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CHILDREN(a_child_finds_what_this_process_finds),
		cmocka_unit_test(plain_functions_are_kept_of_libc_only),
		WITH_CHILDREN(a_function_that_goes_round_the_address_space_is_none),
		WITH_CHILDREN(a_file_that_ends_its_reader_costs_the_rest),
		WITH_CHILDREN(a_child_that_dies_is_not_asked_again),
		cmocka_unit_test(what_a_child_may_not_say_is_refused),
		WITH_CHILDREN(functions_of_this_process_are_found_where_they_are),
		WITH_CHILDREN(a_hostile_file_ends_the_search_and_is_named),
		WITH_CHILDREN(without_children_nothing_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
