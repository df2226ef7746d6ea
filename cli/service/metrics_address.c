/* The port is what follows the last colon, or the whole text. */
#include "cli/service/metrics_address.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/options/whole_number.h"

bool metrics_address_parse(const char *text, struct metrics_address *ret)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
	size_t length = colon ? (size_t)(colon - text) : 0;
	uint64_t number;
	in_port_t port;

	memset(ret, 0, sizeof(*ret)); /* an initializer leaves bytes of a union as they were */
	if (!whole_number_parse(colon ? colon + 1 : text, UINT16_MAX, &number) ||
	    length >= sizeof(host))
		return false;
	port = htons((uint16_t)number);
	if (length) {
		memcpy(host, text, length);
		host[length] = '\0';
	}
	if (!strcmp(host, "localhost"))
		snprintf(host, sizeof(host), "127.0.0.1");
	if (host[0] == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		ret->v6.sin6_family = AF_INET6;
		ret->v6.sin6_port = port;
		ret->size = sizeof(ret->v6);
		return inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1;
	}
	ret->v4.sin_family = AF_INET;
	ret->v4.sin_port = port;
	ret->size = sizeof(ret->v4);
	return inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1;
}
