/* Asks the terminal and the environment. */
#include "cli/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static size_t columns_of(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return 80;
}

struct terminal terminal_of(const char *output)
{
	bool terminal = isatty(STDOUT_FILENO) && (!output || !strcmp(output, "-"));
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	setlocale(LC_CTYPE, "");
	return (struct terminal){
		.columns = terminal ? columns_of() : 0,
		.unicode = terminal && !strcmp(nl_langinfo(CODESET), "UTF-8"),
		.color = terminal && (!no_color || !*no_color) && term && strcmp(term, "dumb"),
	};
}
