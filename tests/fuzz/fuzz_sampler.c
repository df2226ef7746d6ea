/*
 * Reads what a target can influence and the recorder reads: a side-band record, a line of
 * /proc/PID/maps, the text of /proc/PID/status, a list of CPUs, an ELF file. The first byte
 * chooses.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "sampler/target/mapped_file.h"
#include "core/base/cpus.h"
#include "sampler/target/proc_maps.h"
#include "core/base/proc_status.h"
#include "sampler/target/sideband.h"

static void read_sideband(const uint8_t *data, size_t size)
{
	uint8_t *exact = xmalloc(size ? size : 1);
	struct sideband_record r;

	memcpy(exact, data, size);
	if (sideband_parse(exact, size, &r) && r.type == SIDEBAND_MMAP &&
	    strlen(r.path) + sizeof(r.time_ns) > size)
		abort();
	free(exact);
}

static void read_maps_line(char *text)
{
	struct file_mapping m;
	bool executable;

	if (!proc_maps_parse(text, &m, &executable))
		return;
	if (m.end <= m.start || strchr(m.path, '\n'))
		abort();
	mapping_backing(m.path, m.ino);
}

static void read_cpus(const char *text)
{
	int *cpus;
	size_t nr;

	if (cpus_parse(text, &cpus, &nr))
		return;
	if (!nr || nr > 65536)
		abort();
	free(cpus);
}

static void read_elf(const uint8_t *data, size_t size)
{
	struct mapped_file code = { .fd = memfd_create("fuzz", MFD_CLOEXEC) };
	uint64_t vaddr;

	if (code.fd < 0 || write(code.fd, data, size) != (ssize_t)size)
		abort();
	if (mapped_file_read_elf(&code) == 0)
		for (size_t i = 0; i < code.nr_segments; i++)
			mapped_file_vaddr(&code, code.segments[i].offset, &vaddr);
	if (code.build_id_size > BUILD_ID_MAX)
		abort();
	free(code.segments);
	close(code.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proc_status status;
	char *text;

	if (!size)
		return 0;
	text = xmalloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	switch (data[0] % 5) {
	case 0: read_sideband(data + 1, size - 1); break;
	case 1: read_maps_line(text); break;
	case 2: proc_status_parse(text, &status); break;
	case 3: read_cpus(text); break;
	case 4: read_elf(data + 1, size - 1); break;
	}
	free(text);
	return 0;
}
