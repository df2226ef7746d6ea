// Calls a dozen functions once each. plt.c loads it again and again, so the dynamic linker must
// look up every symbol each time.
// BUILD: -fno-builtin -Wl,-z,lazy
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

unsigned bind_a_dozen(void)
{
	char text[64] = "17";

	return (unsigned)(atoi(text) + atol(text) + isalnum(text[0]) + abs(-17) +
			  strcasecmp(text, "x") + (strpbrk(text, "z") != NULL) +
			  (strcasestr(text, "y") != NULL) + (strtoul(text, NULL, 10) > 3) +
			  (strverscmp(text, "16") > 0) + (strspn(text, "1") > 0) +
			  (strcspn(text, "9") > 0) + (memmem(text, 2, "8", 1) != NULL));
}
