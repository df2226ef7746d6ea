/*
 * Looks for an interpreter in the files that a process maps, or in the file of a program. A script
 * is followed to its interpreter; a shell and its like can start anything.
 */
#include "sampler/runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/path.h"
#include "core/portable/pylayout.h"
#include "core/rights/privileges.h"
#include "core/rights/safe_open.h"
#include "sampler/runtimes/python/interpreter.h"
#include "sampler/runtimes/python/stopped_thread.h"
#include "sampler/selection/process_tree.h"
#include "sampler/target/launch.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/proc_maps.h"
#include "sampler/target/process.h"

#define MAX_LOOKS 256	/* at processes */
#define MAX_SCRIPTS 4	/* each the interpreter of the one before, as in the kernel */
#define SCRIPT_LINE 256 /* BINPRM_BUF_SIZE */
#define BLANKS " \t"

static void ignore_file(void *context, struct mapped_file *file)
{
	(void)context;
	(void)file;
}

/* An interpreter that is not supported has no Python frames in any source. */
static bool runs_python(struct file_table *files, pid_t pid)
{
	struct process p = { .pid = pid };
	struct py_layout layout;
	char why[256];
	bool runs = !process_read_maps(&p, files, ignore_file, NULL) &&
		    python_find(&p, &layout, why, sizeof(why));

	process_fini(&p);
	return runs;
}

enum source_runtime runtime_of_processes(const pid_t *pids, size_t nr, bool children,
					 pid_t *ret_pid)
{
	enum source_runtime found = RUNTIME_NONE_SEEN;
	struct file_table *files = file_table_new();
	struct process_tree tree = { 0 };

	for (size_t i = 0; i < nr; i++)
		process_tree_add_root(&tree, pids[i]);
	if (children)
		process_tree_look(&tree);
	for (size_t i = 0; i < tree.nr && i < MAX_LOOKS && found != RUNTIME_PYTHON; i++) {
		if (!runs_python(files, tree.members[i].pid))
			continue;
		found = RUNTIME_PYTHON;
		*ret_pid = tree.members[i].pid;
	}
	process_tree_fini(&tree);
	file_table_free(files);
	return found;
}

/* Programs whose work is to start others. */
static bool starts_others(const char *path)
{
	static const char *const names[] = {
		"sh",	 "bash",    "dash",    "zsh",	  "ksh",       "fish",	   "busybox",
		"env",	 "nice",    "timeout", "nohup",	  "setsid",    "xargs",	   "make",
		"ninja", "taskset", "sudo",    "numactl", "stdbuf",    "parallel", "time",
		"uv",	 "mpirun",  "mpiexec", "srun",	  "catchsegv", "firejail",
	};
	const char *name = path_base_name(path);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* A python3 whose interpreter is in libpython is a small file that looks like any other. */
static bool is_named_python(const char *path)
{
	return !strncmp(path_base_name(path), "python", 6);
}

/*
 * The interpreter of a script, from its first line; with env(1), the program that env runs. NULL:
 * it is no script.
 */
static char *interpreter_of(int fd)
{
	char line[SCRIPT_LINE + 1], *rest = line + 2, *word;
	ssize_t n = pread(fd, line, SCRIPT_LINE, 0);
	bool is_env;

	if (n < 3 || memcmp(line, "#!", 2))
		return NULL;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(rest, BLANKS, &rest);
	is_env = word && !strcmp(path_base_name(word), "env");
	while (is_env && (word = strtok_r(NULL, BLANKS, &rest)))
		if (word[0] != '-' && !strchr(word, '='))
			break;
	return word ? xstrdup(word) : NULL;
}

static int open_file(const char *name, char **ret_path)
{
	int fd;

	if (launch_find(name, ret_path))
		return -1;
	fd = safe_open(*ret_path, SAFE_OPEN_ELF_MAX);
	if (fd < 0)
		free(*ret_path);
	return fd;
}

static enum source_runtime runtime_in_file(int fd, const char *path)
{
	struct py_layout layout;
	char why[256];

	if (python_elf_read(fd, &layout, why, sizeof(why)) == PYTHON_ELF_FOUND ||
	    is_named_python(path))
		return RUNTIME_PYTHON;
	return starts_others(path) ? RUNTIME_MAY_COME : RUNTIME_NONE_SEEN;
}

enum source_runtime runtime_of_program(const char *name)
{
	enum rights before = privileges_use(RIGHTS_OF_CALLER);
	enum source_runtime found = RUNTIME_NONE_SEEN;
	char *wanted = xstrdup(name), *path;
	int fd;

	for (int i = 0; wanted && i < MAX_SCRIPTS; i++) {
		fd = open_file(wanted, &path);
		free(wanted);
		wanted = NULL;
		if (fd < 0)
			break;
		wanted = interpreter_of(fd);
		if (!wanted)
			found = runtime_in_file(fd, path);
		close(fd);
		free(path);
	}
	free(wanted);
	privileges_use(before);
	return found;
}
