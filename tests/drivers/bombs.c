/*
 * Small files that ask their reader for much memory, and what a reader takes:
 *
 *	bombs make KIND FILE
 *	bombs peak COMMAND [ARG...]
 *	bombs names FILE
 *
 * The second form runs a command, prints its peak of resident memory in MiB and its status, and
 * passes its error messages on. The third looks names up in an ELF file, as a recorder does at its
 * end. A recording and a perf.data hold zeros, which zstd keeps in a few
 * bytes; the ELF files have compressed sections.
 */
#include <elf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/profile.h"
#include "core/recording/record.h"
#include "output/codec/gzip.h"
#include "symbolizer/symbolizer.h"

#define MB (1u << 20)

static void add_zstd(struct buffer *b, const void *data, size_t size)
{
	size_t bound = ZSTD_compressBound(size);

	b->size += ZSTD_compress(buffer_reserve(b, bound), bound, data, size, 1);
}

/* ---- a recording: one stack without frames, then chunks of samples that are all zeros */

static void add_record(struct buffer *b, uint16_t type, const struct buffer *payload)
{
	struct record_head head = { .type = type, .size = (uint32_t)payload->size };

	buffer_add(b, &head, sizeof(head));
	buffer_add(b, payload->data, payload->size);
}

static void add_chunk(struct buffer *b, uint32_t sequence, const struct buffer *content,
		      struct record_first first, uint64_t first_sample)
{
	struct record_chunk chunk = {
		.kind = RECORD_CHUNK_RECORDS,
		.sequence = sequence,
		.raw_size = (uint32_t)content->size,
		.first = first,
		.first_sample = first_sample,
	};
	struct buffer frame = { 0 };

	memcpy(chunk.magic, RECORD_CHUNK_MAGIC, sizeof(chunk.magic));
	add_zstd(&frame, content->data, content->size);
	chunk.stored_size = (uint32_t)frame.size;
	chunk.check = XXH64(&chunk, offsetof(struct record_chunk, check), 0);
	buffer_add(b, &chunk, sizeof(chunk));
	buffer_add(b, frame.data, frame.size);
	buffer_fini(&frame);
}

static void add_zeros(struct buffer *b, size_t size)
{
	memset(buffer_reserve(b, size), 0, size);
	b->size += size;
}

static void make_recording(struct buffer *b)
{
	struct record_file file = { .version_major = RECORD_VERSION_MAJOR,
				    .header_size = sizeof(file) };
	struct buffer stack = { 0 }, samples = { 0 }, content = { 0 };
	const uint64_t nr = 10 * MB;

	memcpy(file.magic, RECORD_FILE_MAGIC, sizeof(file.magic));
	file.check = XXH64(&file, offsetof(struct record_file, check), 0);
	buffer_add(b, &file, sizeof(file));
	add_zeros(&stack, 2);
	add_record(&content, RECORD_STACKS, &stack);
	add_chunk(b, 0, &content, (struct record_first){ .string = 1 }, 0);
	content.size = 0;
	buffer_add_varint(&samples, nr);
	buffer_add_varint(&samples, 6);
	for (int i = 0; i < 6; i++)
		buffer_add_varint(&samples, nr);
	add_zeros(&samples, 6 * nr);
	add_record(&content, RECORD_SAMPLES, &samples);
	for (uint32_t i = 0; i < 4; i++)
		add_chunk(b, i + 1, &content, (struct record_first){ .string = 1, .stack = 1 },
			  i * nr);
	buffer_fini(&stack);
	buffer_fini(&samples);
	buffer_fini(&content);
}

/* ---- text and protobuf, behind gzip */

static void make_gzip(struct buffer *b, const char *piece, size_t bytes)
{
	struct buffer text = { 0 };

	while (text.size < bytes)
		buffer_add_string(&text, piece);
	gzip_compress(b, text.data, text.size);
	buffer_fini(&text);
}

/* Every string is two bytes here, and a message of its own in memory. */
static void make_pprof(struct buffer *b)
{
	struct buffer plain = { 0 };

	buffer_add(&plain, "\x0a\x04\x08\x01\x10\x02\x32\x00", 8);
	for (size_t i = 0; i < 20 * MB; i++)
		buffer_add(&plain, "\x32", 2);
	gzip_compress(b, plain.data, plain.size);
	buffer_fini(&plain);
}

/* ---- perf.data as perf record -o - writes it: compressed records of compressed records' size */

static void make_perf_data(struct buffer *b)
{
	const uint64_t header_size = 16;
	const size_t nr = 8 * MB, room = 60000;
	struct perf_event_header empty = { .type = PERF_RECORD_LOST, .size = sizeof(empty) };
	struct buffer events = { 0 }, frame = { 0 };
	struct {
		struct perf_event_header header;
		struct perf_event_attr attr;
	} attr = { .header = { .type = 64, .size = sizeof(attr) },
		   .attr = { .size = sizeof(attr.attr), .sample_period = 1 } };

	buffer_add(b, "PERFILE2", 8);
	buffer_add(b, &header_size, sizeof(header_size));
	buffer_add(b, &attr, sizeof(attr));
	for (size_t i = 0; i < nr; i++)
		buffer_add(&events, &empty, sizeof(empty));
	for (int i = 0; i < 8; i++)
		add_zstd(&frame, events.data, events.size);
	for (size_t at = 0; at < frame.size; at += room) {
		size_t size = frame.size - at < room ? frame.size - at : room;
		struct perf_event_header h = { .type = 81, .size = (uint16_t)(sizeof(h) + size) };

		buffer_add(b, &h, sizeof(h));
		buffer_add(b, frame.data + at, size);
	}
	buffer_fini(&events);
	buffer_fini(&frame);
}

struct content {
	const char *name;
	uint32_t type;
	const char *pattern; /* repeated; NULL: the content is a hole of the file */
	size_t pattern_size, size;
};

/* Appends a compressed section, with bytes at its end that do not compress: a share of its size. */
static void add_section(struct buffer *b, Elf64_Shdr *header, const struct content *c, bool zstd,
			size_t share)
{
	Elf64_Chdr chdr = { .ch_type = zstd ? 2 : ELFCOMPRESS_ZLIB, .ch_size = c->size };
	uLongf size = compressBound(c->size);
	char *bytes = xmalloc(c->size);

	*header = (Elf64_Shdr){ .sh_type = c->type,
				.sh_offset = 100 * MB,
				.sh_size = c->size,
				.sh_link = c->type == SHT_SYMTAB ? 2 : 0 };
	if (!c->pattern) {
		free(bytes);
		return;
	}
	for (size_t i = 0; i < c->size; i++)
		bytes[i] = c->pattern[i % c->pattern_size];
	for (size_t i = 0; i < c->size / share; i++)
		bytes[c->size - 1 - i] = (char)rand();
	header->sh_flags = SHF_COMPRESSED;
	header->sh_offset = b->size;
	buffer_add(b, &chdr, sizeof(chdr));
	if (zstd) {
		add_zstd(b, bytes, c->size);
	} else {
		compress2((Bytef *)buffer_reserve(b, size), &size, (Bytef *)bytes, c->size, 1);
		b->size += size;
	}
	header->sh_size = b->size - header->sh_offset;
	free(bytes);
}

/* Replaces the sections of an ELF file. */
static void make_elf(struct buffer *b, const char *program, const struct content *contents, int nr,
		     bool zstd, size_t share)
{
	Elf64_Shdr headers[16] = { 0 }, *last = &headers[nr + 1];
	FILE *f = fopen(program, "re");
	Elf64_Ehdr ehdr;

	if (!f || buffer_add_file(b, f, 64 * MB))
		exit(1);
	fclose(f);
	memcpy(&ehdr, b->data, sizeof(ehdr));
	for (int i = 0; i < nr; i++)
		add_section(b, &headers[i + 1], &contents[i], zstd, share);
	*last = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = b->size };
	buffer_add_char(b, 0);
	for (int i = 0; i < nr; i++) {
		headers[i + 1].sh_name = (uint32_t)(b->size - last->sh_offset);
		buffer_add(b, contents[i].name, strlen(contents[i].name) + 1);
	}
	last->sh_size = b->size - last->sh_offset;
	ehdr.e_shoff = b->size;
	ehdr.e_shnum = (uint16_t)(nr + 2);
	ehdr.e_shstrndx = (uint16_t)(nr + 1);
	ehdr.e_shentsize = sizeof(Elf64_Shdr);
	buffer_add(b, headers, (size_t)(nr + 2) * sizeof(headers[0]));
	memcpy(b->data, &ehdr, sizeof(ehdr));
}

/* Sections of zeros: each is within 200 times its stored size. */
static void make_elf_zeros(struct buffer *b, const char *program, bool zstd)
{
	static const struct content contents[] = {
		{ ".symtab", SHT_SYMTAB, "", 1, 40 * MB },
		{ ".strtab", SHT_STRTAB, "", 1, 40 * MB },
		{ ".debug_info", SHT_PROGBITS, "", 1, 40 * MB },
		{ ".debug_abbrev", SHT_PROGBITS, "", 1, 40 * MB },
		{ ".debug_str", SHT_PROGBITS, "", 1, 40 * MB },
		{ ".debug_line", SHT_PROGBITS, "", 1, 40 * MB },
	};

	make_elf(b, program, contents, 6, zstd, 160);
}

/* Tables that lie in the hole of a sparse file: the caller makes it 1 GiB long. */
static void make_elf_sparse(struct buffer *b, const char *program)
{
	static const struct content contents[] = {
		{ ".symtab", SHT_SYMTAB, NULL, 0, 400 * MB },
		{ ".strtab", SHT_STRTAB, NULL, 0, 400 * MB },
		{ ".debug_info", SHT_PROGBITS, NULL, 0, 900 * MB },
		{ ".debug_str", SHT_PROGBITS, NULL, 0, 900 * MB },
	};

	make_elf(b, program, contents, 4, false, 1);
}

/* Units of 12 bytes, and one entry whose attributes never end: each takes much more in memory. */
static void make_elf_dwarf(struct buffer *b, const char *program)
{
	static const struct content contents[] = {
		{ ".debug_info", SHT_PROGBITS, "\x08\0\0\0\x04\0\0\0\0\0\x08\x01", 12, 24 * MB },
		{ ".debug_abbrev", SHT_PROGBITS, "\x01\x11\x01\x01\x11\x01", 6, 24 * MB },
	};

	make_elf(b, program, contents, 2, false, 30);
}

static int make(const char *kind, const char *path, const char *program)
{
	struct buffer b = { 0 };
	FILE *f = fopen(path, "wbe");

	if (!strcmp(kind, "recording"))
		make_recording(&b);
	else if (!strcmp(kind, "zeros"))
		make_gzip(&b, "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", 400 * MB);
	else if (!strcmp(kind, "json"))
		make_gzip(&b, "{\"shared\":{\"frames\":[{},{},{},{},{},{},{},{},{}", 300 * MB);
	else if (!strcmp(kind, "pprof"))
		make_pprof(&b);
	else if (!strcmp(kind, "perf"))
		make_perf_data(&b);
	else if (!strcmp(kind, "elf-zlib") && program)
		make_elf_zeros(&b, program, false);
	else if (!strcmp(kind, "elf-zstd") && program)
		make_elf_zeros(&b, program, true);
	else if (!strcmp(kind, "elf-sparse") && program)
		make_elf_sparse(&b, program);
	else if (!strcmp(kind, "elf-dwarf") && program)
		make_elf_dwarf(&b, program);
	else
		return 2;
	if (!f || fwrite(b.data, 1, b.size, f) != b.size || fclose(f))
		return 1;
	buffer_fini(&b);
	return 0;
}

static int peak(char **command)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (!pid) {
		execvp(*command, command);
		_exit(127);
	}
	if (wait4(pid, &status, 0, &usage) != pid)
		return 1;
	printf("%ld %d\n", usage.ru_maxrss >> 10,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	return 0;
}

static int names(const char *path)
{
	struct profile_module module = { .kind = MODULE_ELF };
	struct profile *p = profile_new();
	struct symbolizer_stats stats;
	struct stat st;
	uint32_t id;

	if (stat(path, &st))
		return 1;
	module.path = profile_cstring(p, path);
	module.dev = st.st_dev;
	module.ino = st.st_ino;
	id = profile_module(p, &module);
	for (uint64_t at = 0; at < 65536; at += 64)
		profile_frame(p, id, at);
	symbolizer_run(p, NULL, &stats);
	profile_free(p);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "make"))
		return make(argv[2], argv[3], argv[4]);
	if (argc > 2 && !strcmp(argv[1], "peak"))
		return peak(argv + 2);
	if (argc > 2 && !strcmp(argv[1], "names"))
		return names(argv[2]);
	return 2;
}
