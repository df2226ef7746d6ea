/*
 * What an ordinary user can do to fill the tables of a recorder that samples the whole system. It
 * makes ELF files in memory (memfd) whose function spin() uses the CPU, and maps them executable.
 *
 *	hostile_files many NUMBER MS	NUMBER files at once; then runs one of them for MS
 *	hostile_files rules NUMBER MS	NUMBER files whose unwind rules all differ, likewise
 *	hostile_files churn MS		one file after the other, each unmapped after it has run
 *	hostile_files build NUMBER DIR	NUMBER programs in DIR, each run once and then deleted
 *
 * It prints "ready" when all files are mapped, or what was done.
 */
#include "tests/targets/work.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT 0x200u /* file offset and address of the code */
#define MAX_ROWS 20000u

/* mov ecx, edi; 1: dec ecx; jnz 1b; ret */
static const uint8_t spin_code[] = { 0x89, 0xf9, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };

struct image {
	uint8_t bytes[TEXT + 8 * MAX_ROWS + 0x1000];
	size_t size, eh_frame, eh_frame_size;
};

static void put(struct image *m, const void *bytes, size_t size)
{
	memcpy(m->bytes + m->size, bytes, size);
	m->size += size;
}

static void put_byte(struct image *m, uint8_t byte)
{
	put(m, &byte, 1);
}

static void put_word(struct image *m, uint32_t word)
{
	put(m, &word, sizeof(word));
}

static void put_uleb(struct image *m, uint64_t value)
{
	for (; value > 127; value >>= 7)
		put_byte(m, (uint8_t)(value | 128));
	put_byte(m, (uint8_t)value);
}

/* Ends an entry of .eh_frame that begins at `start`: fills it up and writes its length. */
static void end_entry(struct image *m, size_t start)
{
	uint32_t length;

	while ((m->size - start) % 8 != 4)
		put_byte(m, 0); /* DW_CFA_nop */
	length = (uint32_t)(m->size - start);
	memcpy(m->bytes + start - 4, &length, sizeof(length));
}

/*
 * A rule for each byte of the code: the CFA is at sp + 8, and the place of rbp another in each rule
 * from `first` on.
 */
static void put_eh_frame(struct image *m, uint32_t nr_rows, uint32_t first)
{
	/* version 1, "zR", code 1, data -8, ra 16; pcrel sdata4; CFA = rsp + 8; ra at CFA - 8 */
	static const uint8_t cie[] = { 0,    0,	 0, 0,	  1,	'z', 'R', 0,	1,
				       0x78, 16, 1, 0x1b, 0x0c, 7,   8,	  0x90, 1 };
	size_t start;

	m->eh_frame = m->size;
	put_word(m, 0);
	start = m->size;
	put(m, cie, sizeof(cie));
	end_entry(m, start);
	put_word(m, 0);
	start = m->size;
	put_word(m, (uint32_t)(start - m->eh_frame));
	put_word(m, TEXT - (uint32_t)m->size);
	put_word(m, nr_rows + (uint32_t)sizeof(spin_code));
	put_byte(m, 0);
	for (uint32_t i = 0; i < nr_rows; i++) {
		put_byte(m, 0x86); /* DW_CFA_offset rbp */
		put_uleb(m, 2 + (first + i) % 4094);
		put_byte(m, 0x0e); /* DW_CFA_def_cfa_offset */
		put_uleb(m, 8 * (1 + (first + i) / 4094));
		put_byte(m, 0x41); /* DW_CFA_advance_loc 1 */
	}
	put_byte(m, 0x0e);
	put_byte(m, 8);
	end_entry(m, start);
	put_word(m, 0);
	m->eh_frame_size = m->size - m->eh_frame;
}

static void put_sections(struct image *m)
{
	static const char names[] = "\0.text\0.eh_frame\0.shstrtab";
	size_t at = m->size;
	Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		  .sh_addr = TEXT,
		  .sh_offset = TEXT,
		  .sh_size = m->eh_frame - TEXT },
		{ .sh_name = 7,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC,
		  .sh_addr = m->eh_frame,
		  .sh_offset = m->eh_frame,
		  .sh_size = m->eh_frame_size },
		{ .sh_name = 17, .sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = sizeof(names) },
	};
	Elf64_Ehdr *ehdr = (void *)m->bytes;

	put(m, names, sizeof(names));
	m->size = (m->size + 7) & ~7ul;
	ehdr->e_shoff = m->size;
	ehdr->e_shentsize = sizeof(Elf64_Shdr);
	ehdr->e_shnum = 4;
	ehdr->e_shstrndx = 3;
	put(m, sections, sizeof(sections));
}

/* An ELF file with spin() at its last bytes of code, behind nr_rows bytes that never run. */
static void make_image(struct image *m, uint32_t nr_rows, uint32_t first)
{
	Elf64_Ehdr ehdr = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
	};
	Elf64_Phdr load = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = 4096 };

	memset(m->bytes, 0, TEXT);
	memcpy(m->bytes, &ehdr, sizeof(ehdr));
	memset(m->bytes + TEXT, 0x90, nr_rows);
	m->size = TEXT + nr_rows;
	put(m, spin_code, sizeof(spin_code));
	m->size = (m->size + 7) & ~7ul;
	put_eh_frame(m, nr_rows, first);
	put_sections(m);
	load.p_filesz = load.p_memsz = m->size;
	memcpy(m->bytes + sizeof(ehdr), &load, sizeof(load));
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void *map_image(const struct image *m)
{
	int fd = memfd_create("hostile", MFD_CLOEXEC);
	void *at;

	if (fd < 0 || write(fd, m->bytes, m->size) != (ssize_t)m->size)
		fail("memfd");
	at = mmap(NULL, m->size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		fail("mmap");
	close(fd);
	return at;
}

/* Runs spin() of a mapped image. */
NOIPA static void run_image(const void *at, uint32_t nr_rows, uint32_t turns)
{
	((void (*)(uint32_t))((uintptr_t)at + TEXT + nr_rows))(turns);
	NO_TAIL_CALL();
}

/* Then it runs file number `run`. */
static int map_many(uint32_t nr, uint32_t nr_rows, uint32_t run, uint64_t ms)
{
	static struct image m;
	uint64_t end = cpu_ns() + ms * 1000000;
	void *at = NULL;

	for (uint32_t i = 0; i < nr; i++) {
		void *image;

		make_image(&m, nr_rows, i * nr_rows);
		image = map_image(&m);
		if (i <= run)
			at = image;
	}
	puts("ready");
	fflush(stdout);
	for (end += cpu_ns(); cpu_ns() < end;)
		run_image(at, nr_rows, 1000000);
	return 0;
}

static int churn(uint64_t ms)
{
	static struct image m;
	uint64_t end = cpu_ns() + ms * 1000000;
	uint32_t nr = 0;

	make_image(&m, 1, 0);
	for (; cpu_ns() < end; nr++) {
		void *at = map_image(&m);

		run_image(at, 1, 20000);
		/* The place is not used again, so that no later mapping shows that it is free. */
		if (mmap(at, m.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
		    at)
			fail("mmap");
	}
	printf("%u files\n", nr);
	return 0;
}

/* Copies this program to `path`, with a byte of its own at the end. */
static void copy_self(const char *path, uint32_t number)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat st;

	if (from < 0 || to < 0 || fstat(from, &st))
		fail(path);
	while (st.st_size > 0) {
		ssize_t n = sendfile(to, from, NULL, (size_t)st.st_size);

		if (n <= 0)
			fail(path);
		st.st_size -= n;
	}
	if (write(to, &number, sizeof(number)) != sizeof(number))
		fail(path);
	close(from);
	close(to);
}

static int build(uint32_t nr, const char *dir)
{
	char path[4096];
	int status;

	for (uint32_t i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/program-%u-%d", dir, i, (int)getpid());
		copy_self(path, i);
		if (!fork()) {
			execl(path, path, "many", "1", "2", NULL);
			_exit(127);
		}
		wait(&status);
		unlink(path);
		if (status)
			return 1;
	}
	printf("%u programs\n", nr);
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t nr = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
	uint64_t ms = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000;

	if (argc > 3 && !strcmp(argv[1], "many"))
		/* Of 17000, that in the middle is beyond the first 8192 from either end. */
		return map_many(nr, 1, nr / 2, ms);
	if (argc > 3 && !strcmp(argv[1], "rules"))
		return map_many(nr, MAX_ROWS, nr * 3 / 5, ms);
	if (argc > 2 && !strcmp(argv[1], "churn"))
		return churn(nr);
	if (argc > 3 && !strcmp(argv[1], "build"))
		return build(nr, argv[3]);
	return 2;
}
