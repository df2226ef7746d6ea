/*
 * symbolize FILE <ADDRESSES: names link-time addresses of an ELF file with sprof's symbolizer, in
 * the output format of addr2line -a -f -i -C, so that it can be compared with addr2line and
 * llvm-symbolizer on the same list.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "core/base/elf_file.h"
#include "symbolizer/symbolizer.h"

struct address {
	uint64_t vaddr;
	uint32_t frame;
};

/* The inverse of elf_image_vaddr(): a frame holds an offset in the file. */
static uint64_t file_offset(const struct elf_image *image, uint64_t vaddr)
{
	for (size_t i = 0; i < image->nr_segments; i++) {
		const Elf64_Phdr *s = &image->segments[i];

		if (s->p_type == PT_LOAD && vaddr >= s->p_vaddr && vaddr - s->p_vaddr < s->p_filesz)
			return vaddr - s->p_vaddr + s->p_offset;
	}
	return vaddr;
}

static struct address *read_addresses(struct profile *p, uint32_t module,
				      const struct elf_image *image, size_t *ret_nr)
{
	struct address *addresses = NULL;
	size_t nr = 0, capacity = 0;
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t vaddr = strtoull(line, NULL, 16);

		addresses = xgrow(addresses, &capacity, nr + 1, sizeof(*addresses));
		addresses[nr].vaddr = vaddr;
		addresses[nr++].frame = profile_frame(p, module, file_offset(image, vaddr));
	}
	*ret_nr = nr;
	return addresses;
}

static void print_address(const struct profile *p, const struct address *a)
{
	const struct profile_frame *f = &p->frames[a->frame];

	printf("0x%016" PRIx64 "\n", a->vaddr);
	for (uint32_t left = f->nr_locations; left--;) {
		const struct profile_location *l = &p->locations[f->first_location + left];
		const struct profile_function *function = &p->functions[l->function];
		const char *file = profile_str(p, function->file);

		fputs(profile_str(p, function->name), stdout);
		fputc('\n', stdout);
		fputs(*file ? file : "??", stdout);
		printf(":%u\n", l->line);
	}
	if (!f->nr_locations)
		printf("??\n??:0\n");
}

int main(int argc, char **argv)
{
	struct profile_module module = { .kind = MODULE_ELF };
	struct symbolizer_stats stats;
	struct address *addresses;
	struct elf_image *image;
	struct profile *p;
	struct stat st;
	size_t nr;

	if (argc != 2) {
		fprintf(stderr, "usage: symbolize FILE <ADDRESSES\n");
		return 2;
	}
	if (stat(argv[1], &st) || elf_image_open(open(argv[1], O_RDONLY | O_CLOEXEC), &image)) {
		fprintf(stderr, "symbolize: cannot open '%s': not a readable ELF file\n", argv[1]);
		return 1;
	}
	p = profile_new();
	module.path = profile_cstring(p, argv[1]);
	module.dev = st.st_dev;
	module.ino = st.st_ino;
	if (image->build_id_size) {
		module.build_id_size = (uint8_t)image->build_id_size;
		memcpy(module.build_id, image->build_id, image->build_id_size);
	}
	addresses = read_addresses(p, profile_module(p, &module), image, &nr);
	elf_image_close(image);
	symbolizer_run(p, NULL, &stats);
	for (size_t i = 0; i < nr; i++)
		print_address(p, &addresses[i]);
	free(addresses);
	profile_free(p);
	return 0;
}
