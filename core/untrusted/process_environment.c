/* The limit is above that of exec(2), so no environment that a process started with is cut. */
#include "core/untrusted/process_environment.h"

#include <string.h>

#include "core/untrusted/remote_read.h"

#define MAX_ENVIRONMENT (4u << 20) /* bytes */

bool process_environment_read(pid_t pid, struct process_environment *ret_environment)
{
	struct process_environment e = { 0 };

	if (remote_file(pid, "environ", MAX_ENVIRONMENT, &e.text)) {
		buffer_fini(&e.text);
		return false;
	}
	buffer_add_char(&e.text, '\0'); /* ends text that was cut off */
	*ret_environment = e;
	return true;
}

void process_environment_fini(struct process_environment *e)
{
	buffer_fini(&e->text);
}

const char *process_environment_find(const struct process_environment *e, const char *name)
{
	size_t length = strlen(name);
	const char *end = e->text.data + e->text.size;

	for (const char *at = e->text.data; at < end; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
	return NULL;
}
