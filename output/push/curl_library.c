/* Loads libcurl 7 or 8. Debian's libcurl with GnuTLS has another name and the same functions. */
#include "output/push/curl_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/log.h"

static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

static bool find_functions(void *handle, struct curl_library *l)
{
	const struct {
		const char *name;
		void **function;
	} wanted[] = {
		{ "curl_global_init", (void **)&l->global_init },
		{ "curl_easy_init", (void **)&l->easy_init },
		{ "curl_easy_setopt", (void **)&l->easy_setopt },
		{ "curl_easy_perform", (void **)&l->easy_perform },
		{ "curl_easy_getinfo", (void **)&l->easy_getinfo },
		{ "curl_easy_reset", (void **)&l->easy_reset },
		{ "curl_easy_cleanup", (void **)&l->easy_cleanup },
		{ "curl_easy_strerror", (void **)&l->easy_strerror },
		{ "curl_slist_append", (void **)&l->slist_append },
		{ "curl_slist_free_all", (void **)&l->slist_free_all },
		{ "curl_version_info", (void **)&l->version_info },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		*wanted[i].function = dlsym(handle, wanted[i].name);
		if (!*wanted[i].function)
			return false;
	}
	return true;
}

int curl_library_load(struct curl_library *ret_library)
{
	struct curl_library l;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *handle = dlopen(names[i], RTLD_NOW);

		if (!handle)
			continue;
		if (find_functions(handle, &l) && !l.global_init(CURL_GLOBAL_DEFAULT)) {
			*ret_library = l;
			return 0;
		}
		dlclose(handle);
	}
	log_error(0, "load '%s': it is not installed, or too old", names[0]);
	log_hint("apt-get install libcurl4");
	return -ENOENT;
}
