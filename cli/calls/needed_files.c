/*
 * Follows a program to the files that it will map: a script leads to its interpreter, and a program
 * to the dynamic linker in its PT_INTERP, which is asked to list the libraries.
 */
#include "cli/calls/needed_files.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/rights/privileges.h"
#include "sampler/target/launch.h"
#include "core/base/elf_file.h"
#include "core/rights/safe_open.h"
#include "sampler/target/exec_environment.h"

#define MAX_SCRIPTS 4 /* most scripts that may lead to each other, as in Linux */

/*
 * The interpreter of "#!/usr/bin/python3 -u" or "#!/usr/bin/env python3", which the caller frees;
 * NULL where the file is not a script.
 */
static char *script_interpreter(const char *path)
{
	char line[PATH_MAX + 2] = "", *at, *word, *next, *found = NULL;
	int fd = safe_open(path, UINT64_MAX);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 2 || line[0] != '#' || line[1] != '!')
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	at = line + 2;
	word = strtok_r(at, " \t\n", &next);
	if (word && strlen(word) >= 4 && !strcmp(word + strlen(word) - 4, "/env"))
		word = strtok_r(NULL, " \t\n", &next);
	return word && !launch_find(word, &found) ? found : NULL;
}

/* The dynamic linker that a program names, which the caller frees; NULL: it names none. */
static char *dynamic_linker(const char *path)
{
	struct elf_image *image = NULL;
	int fd = safe_open(path, SAFE_OPEN_ELF_MAX);
	char *linker = NULL;

	if (fd < 0 || elf_image_open(fd, &image))
		return NULL;
	for (size_t i = 0; i < image->nr_segments && !linker; i++) {
		const Elf64_Phdr *s = &image->segments[i];

		if (s->p_type != PT_INTERP || !s->p_filesz || s->p_filesz > PATH_MAX)
			continue;
		linker = xcalloc(s->p_filesz + 1, 1);
		if (elf_source_read(&image->source, s->p_offset, linker, s->p_filesz)) {
			free(linker);
			linker = NULL;
		}
	}
	elf_image_close(image);
	return linker;
}

/* Starts a program. Its output can be read from the result; -1: it could not be started. */
static int start_linker(const char *linker, const char *program, pid_t *ret_pid)
{
	char *argv[] = { (char *)linker, (char *)"--list", (char *)program, NULL };
	posix_spawn_file_actions_t actions;
	char **environment;
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	environment = exec_environment(); /* so that it finds what the program will find */
	err = posix_spawn(ret_pid, linker, &actions, NULL, argv,
			  environment ? environment : environ);
	free(environment);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (err)
		close(ends[0]);
	return err ? -1 : ends[0];
}

/*
 * Reads a line of the linker's list: " libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f...)"
 * or " /lib64/ld-linux-x86-64.so.2 (0x...)".
 */
static void read_line(char *line, void (*fn)(void *context, const char *path), void *context)
{
	char *arrow = strstr(line, "=> "), *path = arrow ? arrow + 3 : line + strspn(line, " \t");
	char *end = strstr(path, " (0x");

	if (!end || *path != '/')
		return;
	*end = '\0';
	fn(context, path);
}

static void list_libraries(const char *program, void (*fn)(void *context, const char *path),
			   void *context)
{
	char *linker = dynamic_linker(program), *line = NULL;
	size_t size = 0;
	pid_t pid;
	FILE *f;
	int fd;

	fd = linker ? start_linker(linker, program, &pid) : -1;
	f = fd < 0 ? NULL : fdopen(fd, "r");
	while (f && getline(&line, &size, f) > 0)
		read_line(line, fn, context);
	if (f) {
		fclose(f);
		waitpid(pid, NULL, 0);
	}
	free(line);
	free(linker);
}

void needed_files(const char *name, void (*fn)(void *context, const char *path), void *context)
{
	enum rights before = privileges_use(RIGHTS_OF_CALLER);
	char *path = NULL, *interpreter;

	launch_find(name, &path);
	for (int i = 0; path && i < MAX_SCRIPTS && (interpreter = script_interpreter(path)); i++) {
		free(path);
		path = interpreter;
	}
	if (path) {
		fn(context, path);
		list_libraries(path, fn, context);
	}
	free(path);
	privileges_use(before);
}
