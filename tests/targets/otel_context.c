// Publishes a process context of OpenTelemetry as MODE says, and works: otel_context MS MODE...
// "late" publishes it when SIGUSR1 comes.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/targets/otel_context.h"
#include "tests/targets/work.h"

static const char *const attributes[] = {
	"service.name",
	"published shop",
	"service.version",
	"1,2=3%",
	"deployment.environment.name",
	"prod\033[31m",
	"process.pid",
	"1",
	"team",
	"blue",
	NULL,
};

static volatile sig_atomic_t asked;

static void on_signal(int signal)
{
	(void)signal;
	asked = 1;
}

NOIPA void leaf(void)
{
	BURN(30);
}

static void publish(const char *mode)
{
	static struct otel_message m;
	struct otel_header *h = otel_map(strcmp(mode, "anonymous") != 0);
	static char large[1 << 20];

	m = otel_payload(attributes);
	if (!strcmp(mode, "unready"))
		memcpy(h->signature, "OTEL_CTX", 8), h->version = 2;
	else if (!strcmp(mode, "version"))
		otel_publish(h, 3, m.bytes, (uint32_t)m.size, 1);
	else if (!strcmp(mode, "large"))
		otel_publish(h, 2, large, UINT32_MAX, 1);
	else if (!strcmp(mode, "nowhere"))
		otel_publish(h, 2, (void *)(uintptr_t)-4096, 100, 1);
	else if (!strcmp(mode, "garbage"))
		otel_publish(h, 2, memset(large, 0xff, sizeof(large)), 60000, 1);
	else if (!strcmp(mode, "protected"))
		mprotect(h, sizeof(*h), PROT_NONE);
	else if (!strcmp(mode, "unsigned")) /* a name alone is nothing */
		otel_publish(h, 2, m.bytes, (uint32_t)m.size, 1), h->signature[0] = 'X';
	else
		otel_publish(h, 2, m.bytes, (uint32_t)m.size, 1);
}

int main(int argc, char **argv)
{
	uint64_t budget = budget_ns(argc, argv), own = 0;

	signal(SIGUSR1, on_signal);
	for (int i = 2; i < argc; i++)
		if (strcmp(argv[i], "late") != 0)
			publish(argv[i]);
	while (own < budget) {
		TIMED(own, leaf());
		if (asked) {
			asked = 0;
			publish("late");
		}
	}
	truth(own, "main;leaf");
	return 0;
}
