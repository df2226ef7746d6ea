/* Memory that is shared with a process that may be hostile cannot be taken away from us. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/untrusted/shared_memory.h"

#define SIZE 65536u

static void file_that_was_made_keeps_its_size(void **state)
{
	size_t size;
	void *at, *again;
	int fd;

	(void)state;
	assert_int_equal(shared_memory_new("test", SIZE, SHARED_MEMORY_WRITE, &fd, &at), 0);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 2 * SIZE), -1);
	/* Nor can it be sealed against writing, which would stop the recorder. */
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_int_equal(shared_memory_map(fd, 1, SIZE, &size, &again), 0);
	assert_int_equal(size, SIZE);
	((char *)at)[SIZE - 1] = 'x';
	assert_int_equal(((char *)again)[SIZE - 1], 'x');
	shared_memory_unmap(again, SIZE);
	shared_memory_unmap(at, SIZE);
	close(fd);
}

static void file_to_be_read_has_no_other_writable_mapping(void **state)
{
	void *at;
	int fd;

	(void)state;
	assert_int_equal(shared_memory_new("test", SIZE, SHARED_MEMORY_READ, &fd, &at), 0);
	if (!(fcntl(fd, F_GET_SEALS) & 0x10))
		skip(); /* before Linux 5.1 */
	assert_ptr_equal(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	((char *)at)[0] = 'x';
	shared_memory_unmap(at, SIZE);
	close(fd);
}

static void file_that_can_shrink_is_refused(void **state)
{
	int plain = memfd_create("test", MFD_CLOEXEC), disk = open("/proc/self/exe", O_RDONLY),
	    pipes[2];
	int sealable = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t size;
	void *at;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(ftruncate(plain, SIZE) | ftruncate(sealable, SIZE), 0);
	assert_int_equal(shared_memory_map(plain, 1, SIZE, &size, &at), -EPERM);
	assert_int_equal(shared_memory_map(sealable, 1, SIZE, &size, &at), -EPERM);
	assert_int_equal(shared_memory_map(disk, 1, SIZE, &size, &at), -EPERM);
	assert_int_equal(shared_memory_map(pipes[0], 1, SIZE, &size, &at), -EPERM);
	assert_int_equal(fcntl(sealable, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(shared_memory_map(sealable, 1, SIZE - 1, &size, &at), -EPROTO);
	assert_int_equal(shared_memory_map(sealable, SIZE + 1, 2 * SIZE, &size, &at), -EPROTO);
	assert_int_equal(shared_memory_map(sealable, SIZE, SIZE, &size, &at), 0);
	shared_memory_unmap(at, size);
	close(pipes[0]);
	close(pipes[1]);
	close(sealable);
	close(plain);
	close(disk);
}

static void missing_page_reads_as_zeros(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	volatile char *at;

	(void)state;
	assert_int_equal(ftruncate(fd, SIZE), 0);
	at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_int_equal(shared_memory_guard((void *)at, SIZE), 0);
	at[0] = at[SIZE - 1] = 'x';
	assert_false(shared_memory_is_lost((void *)at));
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(at[SIZE - 1], 0);
	assert_int_equal(at[0], 0);
	at[SIZE - 1] = 'y';
	assert_int_equal(at[SIZE - 1], 'y');
	assert_true(shared_memory_is_lost((void *)at));
	shared_memory_unmap((void *)at, SIZE);
	assert_false(shared_memory_is_lost((void *)at));
	close(fd);
}

static void missing_page_elsewhere_ends_the_process(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC), status;
	volatile char *at;
	char page[4096];
	pid_t child;

	(void)state;
	assert_int_equal(ftruncate(fd, SIZE), 0);
	at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	child = fork();
	if (!child) {
		shared_memory_guard(page, sizeof(page));
		_exit(at[0]);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	munmap((void *)at, SIZE);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_that_was_made_keeps_its_size),
		cmocka_unit_test(file_to_be_read_has_no_other_writable_mapping),
		cmocka_unit_test(file_that_can_shrink_is_refused),
		cmocka_unit_test(missing_page_reads_as_zeros),
		cmocka_unit_test(missing_page_elsewhere_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
