/*
 * libcurl, found with dlopen() when something is to be pushed. sprof does not depend on it: the
 * other commands would load it, and thirty libraries with it, for nothing.
 */
#ifndef SPROF_CURL_LIBRARY_H
#define SPROF_CURL_LIBRARY_H

#include <curl/curl.h>

struct curl_library {
	CURLcode (*global_init)(long flags);
	CURL *(*easy_init)(void);
	CURLcode (*easy_setopt)(CURL *handle, CURLoption option, ...);
	CURLcode (*easy_perform)(CURL *handle);
	CURLcode (*easy_getinfo)(CURL *handle, CURLINFO info, ...);
	void (*easy_reset)(CURL *handle);
	void (*easy_cleanup)(CURL *handle);
	const char *(*easy_strerror)(CURLcode code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
	curl_version_info_data *(*version_info)(CURLversion age);
};

/* 0 or -ENOENT, reported. The library stays loaded. */
int curl_library_load(struct curl_library *ret_library);

#endif
