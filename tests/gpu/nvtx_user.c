/*
 * A program that uses NVTX through NVTX's own headers; tests/gpu/nvtx.bats compiles it.
 *
 *	nvtx_user N [late:MS]	N steps; with late, one range and a pause before them
 *
 * A step (2 ms) contains a load (1 ms) with a payload, and a forward in the domain "model".
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void spend_us(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	while (nanosleep(&t, &t))
		;
}

static void load(int i)
{
	nvtxEventAttributes_t e = { 0 };

	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_ASCII;
	e.message.ascii = "load";
	e.category = 7;
	e.colorType = NVTX_COLOR_ARGB;
	e.color = 0xff00ff00;
	e.payloadType = NVTX_PAYLOAD_TYPE_INT64;
	e.payload.llValue = i;
	nvtxRangePushEx(&e);
	spend_us(1000);
	nvtxRangePop();
}

static void forward(nvtxDomainHandle_t domain, nvtxStringHandle_t name)
{
	nvtxEventAttributes_t e = { 0 };

	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = name;
	nvtxDomainRangePushEx(domain, &e);
	spend_us(1000);
	nvtxDomainRangePop(domain);
}

static void *end_elsewhere(void *id)
{
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	nvtxDomainHandle_t domain;
	nvtxStringHandle_t name;
	nvtxRangeId_t epoch;
	pthread_t thread;

	if (argc > 2 && !strncmp(argv[2], "late:", 5)) {
		nvtxRangePushA("early");
		nvtxRangePop();
		spend_us(atol(argv[2] + 5) * 1000);
	}
	domain = nvtxDomainCreateA("model");
	name = nvtxDomainRegisterStringA(domain, "forward");
	nvtxNameCategoryA(7, "input");
	nvtxNameOsThreadA(1234, "worker");
	epoch = nvtxRangeStartA("epoch");
	for (int i = 0; i < n; i++) {
		nvtxRangePushW(L"Schritt \u00fc");
		load(i);
		forward(domain, name);
		nvtxRangePop();
	}
	nvtxMarkA("saved");
	if (pthread_create(&thread, NULL, end_elsewhere, &epoch))
		return 1;
	pthread_join(thread, NULL);
	nvtxRangePushA("never ended");
	nvtxDomainDestroy(domain);
	printf("done\n");
	return 0;
}
