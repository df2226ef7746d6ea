/* Sealing fails while there is a writable mapping; once it has succeeded, nothing can write. */
#include "core/sandbox/answer_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/full_io.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

int answer_file_new(void)
{
	int fd = memfd_create("sprof-answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : fd;
}

int answer_file_of(const void *data, size_t size)
{
	int fd = answer_file_new(), err;

	if (fd < 0)
		return fd;
	err = full_write(fd, data, size);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int answer_file_map(int fd, uint64_t size_min, uint64_t size_max, void **ret_bytes,
		    uint64_t *ret_size)
{
	struct stat st;
	void *bytes;

	if (fcntl(fd, F_ADD_SEALS, SEALS) && errno != EPERM) /* EPERM: sealed before */
		return -errno;
	if ((fcntl(fd, F_GET_SEALS) & SEALS) != SEALS || fstat(fd, &st))
		return -EBADMSG;
	if ((uint64_t)st.st_size < size_min || (uint64_t)st.st_size > size_max)
		return -EBADMSG;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	*ret_bytes = bytes;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}
