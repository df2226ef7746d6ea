/*
 * One function per NVTX call; most convert their arguments to a range_event and call range.c.
 * While nothing is recorded a function costs one load and one branch. Functions that return
 * handles (domains, registered strings) always work, as the handles may be used later.
 */
#include "gpu/agent/nvtx/nvtx.h"

#include <string.h>

#include "gpu/agent/base/arena.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/nvtx/nvtx_names.h"
#include "gpu/agent/nvtx/range.h"

/* A domain handle is the address of its entry. NULL and unknown handles are the default domain. */
struct domain {
	uint32_t name;
};
#define MAX_DOMAINS 256u

static struct domain domains[MAX_DOMAINS];
static uint32_t nr_domains; /* atomic */

static uint32_t domain_name(const struct domain *d)
{
	return d >= domains && d < domains + MAX_DOMAINS ? d->name : 0;
}

/* The handle of a registered string is its string id; 1, which is not an id, stands for "". */
static uint32_t registered(const void *handle)
{
	uint64_t id = (uintptr_t)handle;

	return id > 1 && id < agent.region->strings.used / 8 ? (uint32_t)id : 0;
}

static struct range_event event_of(const struct domain *domain, const struct nvtx_event *e)
{
	struct range_event r = { .domain = domain_name(domain) };

	if (!e || e->size < sizeof(*e))
		return r;
	r.category = e->category;
	r.color = e->color_type == NVTX_COLOR_ARGB ? e->color : 0;
	if (e->payload_type > 0 && e->payload_type <= GPU_PAYLOAD_FLOAT) {
		r.payload_type = (uint8_t)e->payload_type;
		r.payload = e->payload_type >= GPU_PAYLOAD_U32 ? (uint32_t)e->payload : e->payload;
	}
	switch (e->message_type) {
	case NVTX_MESSAGE_ASCII: r.name = arena_cstring(e->message); break;
	case NVTX_MESSAGE_WIDE: r.name = arena_wide_string(e->message); break;
	case NVTX_MESSAGE_REGISTERED: r.name = registered(e->message); break;
	default: break;
	}
	return r;
}

static __attribute__((noinline, cold)) bool begin_in_child(void)
{
	if (!*agent.alive && agent.in_child)
		agent.in_child();
	return agent_collects();
}

static struct thread *recording_thread(void)
{
	struct thread *t;

	if (!agent_collects() && !begin_in_child())
		return NULL;
	if (!agent_wants(GPU_WANT_NVTX))
		return NULL;
	t = thread_self();
	if (t)
		thread_count(t, THREAD_NVTX_CALLS, 1);
	return t;
}

static void domain_mark_ex(const struct domain *domain, const struct nvtx_event *e)
{
	struct thread *t = recording_thread();

	if (t) {
		const struct range_event r = event_of(domain, e);

		range_mark(t, &r);
	}
}

static uint64_t domain_start_ex(const struct domain *domain, const struct nvtx_event *e)
{
	struct thread *t = recording_thread();
	struct range_event r;

	if (!t)
		return 0;
	r = event_of(domain, e);
	return range_start(t, &r);
}

static void domain_end(const struct domain *domain, uint64_t id)
{
	(void)domain;
	/* 0: it began while nothing was recorded */
	if (id && recording_thread())
		range_end(id);
}

static int domain_push_ex(const struct domain *domain, const struct nvtx_event *e)
{
	struct thread *t = recording_thread();
	struct range_event r;

	if (!t)
		return NVTX_NO_PUSH_POP_TRACKING;
	r = event_of(domain, e);
	return range_push(t, &r);
}

static int domain_pop(const struct domain *domain)
{
	struct thread *t = recording_thread();

	return t ? range_pop(t, domain_name(domain)) : NVTX_NO_PUSH_POP_TRACKING;
}

static void mark_ex(const struct nvtx_event *e)
{
	domain_mark_ex(NULL, e);
}

static void mark_a(const char *text)
{
	struct thread *t = recording_thread();
	const struct range_event e = { .name = t ? arena_cstring(text) : 0 };

	if (t)
		range_mark(t, &e);
}

static void mark_w(const wchar_t *text)
{
	struct thread *t = recording_thread();
	const struct range_event e = { .name = t ? arena_wide_string(text) : 0 };

	if (t)
		range_mark(t, &e);
}

static uint64_t start_ex(const struct nvtx_event *e)
{
	return domain_start_ex(NULL, e);
}

static uint64_t start_a(const char *text)
{
	struct thread *t = recording_thread();
	const struct range_event e = { .name = t ? arena_cstring(text) : 0 };

	return t ? range_start(t, &e) : 0;
}

static uint64_t start_w(const wchar_t *text)
{
	struct thread *t = recording_thread();
	const struct range_event e = { .name = t ? arena_wide_string(text) : 0 };

	return t ? range_start(t, &e) : 0;
}

static void end(uint64_t id)
{
	domain_end(NULL, id);
}

static int push_ex(const struct nvtx_event *e)
{
	return domain_push_ex(NULL, e);
}

static int push_a(const char *text)
{
	struct thread *t = recording_thread();
	const struct range_event e = { .name = t ? arena_cstring(text) : 0 };

	return t ? range_push(t, &e) : NVTX_NO_PUSH_POP_TRACKING;
}

static int push_w(const wchar_t *text)
{
	struct thread *t = recording_thread();
	const struct range_event e = { .name = t ? arena_wide_string(text) : 0 };

	return t ? range_push(t, &e) : NVTX_NO_PUSH_POP_TRACKING;
}

static int pop(void)
{
	return domain_pop(NULL);
}

static void domain_category_a(const struct domain *domain, uint32_t id, const char *name)
{
	if (*agent.alive)
		nvtx_name(GPU_NAME_CATEGORY, id, arena_cstring(name), domain_name(domain));
}

static void domain_category_w(const struct domain *domain, uint32_t id, const wchar_t *name)
{
	if (*agent.alive)
		nvtx_name(GPU_NAME_CATEGORY, id, arena_wide_string(name), domain_name(domain));
}

static void category_a(uint32_t id, const char *name)
{
	domain_category_a(NULL, id, name);
}

static void category_w(uint32_t id, const wchar_t *name)
{
	domain_category_w(NULL, id, name);
}

static const void *register_string_a(const struct domain *domain, const char *s)
{
	uint32_t id = *agent.alive ? arena_cstring(s) : 0;

	(void)domain;
	return (const void *)(uintptr_t)(id ? id : 1);
}

static const void *register_string_w(const struct domain *domain, const wchar_t *s)
{
	uint32_t id = *agent.alive ? arena_wide_string(s) : 0;

	(void)domain;
	return (const void *)(uintptr_t)(id ? id : 1);
}

static struct domain *create_domain(uint32_t name)
{
	uint32_t nr = __atomic_load_n(&nr_domains, __ATOMIC_ACQUIRE), i;

	for (i = 0; i < nr && i < MAX_DOMAINS; i++)
		if (domains[i].name == name)
			return &domains[i];
	i = __atomic_fetch_add(&nr_domains, 1, __ATOMIC_ACQ_REL);
	if (i >= MAX_DOMAINS)
		return NULL;
	domains[i].name = name;
	return &domains[i];
}

static struct domain *create_a(const char *name)
{
	return *agent.alive ? create_domain(arena_cstring(name)) : NULL;
}

static struct domain *create_w(const wchar_t *name)
{
	return *agent.alive ? create_domain(arena_wide_string(name)) : NULL;
}

/* One function pointer type for all, as in NVTX's tables. */
#define SLOT(function) ((nvtx_slot)(function))

static const struct {
	uint8_t module, place;
	nvtx_slot function;
} functions[] = {
	{ NVTX_MODULE_CORE, NVTX_MARK_EX, SLOT(mark_ex) },
	{ NVTX_MODULE_CORE, NVTX_MARK_A, SLOT(mark_a) },
	{ NVTX_MODULE_CORE, NVTX_MARK_W, SLOT(mark_w) },
	{ NVTX_MODULE_CORE, NVTX_RANGE_START_EX, SLOT(start_ex) },
	{ NVTX_MODULE_CORE, NVTX_RANGE_START_A, SLOT(start_a) },
	{ NVTX_MODULE_CORE, NVTX_RANGE_START_W, SLOT(start_w) },
	{ NVTX_MODULE_CORE, NVTX_RANGE_END, SLOT(end) },
	{ NVTX_MODULE_CORE, NVTX_RANGE_PUSH_EX, SLOT(push_ex) },
	{ NVTX_MODULE_CORE, NVTX_RANGE_PUSH_A, SLOT(push_a) },
	{ NVTX_MODULE_CORE, NVTX_RANGE_PUSH_W, SLOT(push_w) },
	{ NVTX_MODULE_CORE, NVTX_RANGE_POP, SLOT(pop) },
	{ NVTX_MODULE_CORE, NVTX_NAME_CATEGORY_A, SLOT(category_a) },
	{ NVTX_MODULE_CORE, NVTX_NAME_CATEGORY_W, SLOT(category_w) },
	{ NVTX_MODULE_CORE2, NVTX_DOMAIN_MARK_EX, SLOT(domain_mark_ex) },
	{ NVTX_MODULE_CORE2, NVTX_DOMAIN_RANGE_START_EX, SLOT(domain_start_ex) },
	{ NVTX_MODULE_CORE2, NVTX_DOMAIN_RANGE_END, SLOT(domain_end) },
	{ NVTX_MODULE_CORE2, NVTX_DOMAIN_RANGE_PUSH_EX, SLOT(domain_push_ex) },
	{ NVTX_MODULE_CORE2, NVTX_DOMAIN_RANGE_POP, SLOT(domain_pop) },
	{ NVTX_MODULE_CORE2, NVTX_DOMAIN_NAME_CATEGORY_A, SLOT(domain_category_a) },
	{ NVTX_MODULE_CORE2, NVTX_DOMAIN_NAME_CATEGORY_W, SLOT(domain_category_w) },
	{ NVTX_MODULE_CORE2, NVTX_DOMAIN_REGISTER_STRING_A, SLOT(register_string_a) },
	{ NVTX_MODULE_CORE2, NVTX_DOMAIN_REGISTER_STRING_W, SLOT(register_string_w) },
	{ NVTX_MODULE_CORE2, NVTX_DOMAIN_CREATE_A, SLOT(create_a) },
	{ NVTX_MODULE_CORE2, NVTX_DOMAIN_CREATE_W, SLOT(create_w) },
};

bool nvtx_install(const struct nvtx_callbacks *callbacks, bool looking)
{
	uint32_t nr_names;
	const struct nvtx_names *names = nvtx_names(&nr_names);
	bool any = false;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		any |= nvtx_set_slot(callbacks, functions[i].module, functions[i].place,
				     functions[i].function, looking);
	for (uint32_t i = 0; i < nr_names; i++)
		nvtx_set_slot(callbacks, names[i].module, names[i].place, names[i].function,
			      looking);
	return any;
}
