/* URLs, labels and requests as bytes; sets of series keep every sample. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/profile/profile.h"
#include "output/push/push_labels.h"
#include "output/push/receiver.h"
#include "output/push/series.h"
#include "output/push/spool.h"

static void a_url_tells_its_receiver(void **state)
{
	static const struct {
		const char *text;
		const struct receiver *receiver; /* NULL: it is refused */
		const char *url;
	} cases[] = {
		{ "http://h:4318", &receiver_otlp, "http://h:4318/v1development/profiles" },
		{ "https://h:4318/", &receiver_otlp, "https://h:4318/v1development/profiles" },
		{ "http://[::1]:4040", &receiver_pyroscope,
		  "http://[::1]:4040/push.v1.PusherService/Push" },
		{ "http://h/a/ingest?b=c", &receiver_pyroscope_ingest, "http://h/a/ingest?b=c" },
		{ "parca+https://h", &receiver_parca, "https://h/api/profiles/writeraw" },
		{ "otlp+http://h:7070/x", &receiver_otlp, "http://h:7070/x" },
		{ "HTTP://h:7070", &receiver_parca, "http://h:7070/api/profiles/writeraw" },
		{ "grpc://h", &receiver_otlp_grpc,
		  "http://h:4317/opentelemetry.proto.collector.profiles.v1development."
		  "ProfilesService/Export" },
		{ "grpcs://[::1]/a?b=c", &receiver_otlp_grpc, "https://[::1]/a?b=c" },
		{ "GRPC://h:1/", &receiver_otlp_grpc,
		  "http://h:1/opentelemetry.proto.collector.profiles.v1development."
		  "ProfilesService/Export" },
		{ "http://h:4317/x", &receiver_otlp_grpc, "http://h:4317/x" },
		{ "otlp-grpc+https://h/x", &receiver_otlp_grpc, "https://h/x" },
		{ "parca+grpc://h", NULL, NULL },
		{ "grpc://", NULL, NULL },
		{ "http://h", NULL, NULL },
		{ "http://h:80", NULL, NULL },
		{ "file:///etc/passwd", NULL, NULL },
		{ "otlp+file:///etc/passwd", NULL, NULL },
		{ "otlp+http://", NULL, NULL },
		{ "otlp+http://a@h", NULL, NULL },
		{ "otlp+http://h:", NULL, NULL },
		{ "otlp+http://h:12a", NULL, NULL },
		{ "otlp+http://h/\r\nX: y", NULL, NULL },
		{ "+http://h:4318", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct push_url url = { 0 };
		char *wrong = push_url_parse(cases[i].text, NULL, &url);

		if (!cases[i].receiver) {
			assert_non_null(wrong);
		} else {
			assert_null(wrong);
			assert_ptr_equal(url.receiver, cases[i].receiver);
			assert_string_equal(url.url, cases[i].url);
		}
		free(wrong);
		push_url_fini(&url);
	}
}

static void a_pod_is_known_by_its_cgroup(void **state)
{
	static const struct {
		const char *path, *pod;
	} cases[] = {
		{ "/kubepods.slice/kubepods-burstable.slice/"
		  "kubepods-burstable-pod01234567_89ab_cdef_0123_456789abcdef.slice/"
		  "cri-containerd-0123.scope",
		  "01234567-89ab-cdef-0123-456789abcdef" },
		{ "/kubepods/besteffort/pod01234567-89ab-cdef-0123-456789abcdef/0123",
		  "01234567-89ab-cdef-0123-456789abcdef" },
		{ "/../../kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice:cri-containerd:01",
		  "01234567-89ab-cdef-0123-456789abcdef" },
		{ "/kubepods.slice/kubepods-pod0123456789abcdef0123456789abcdef.slice",
		  "0123456789abcdef0123456789abcdef" },
		{ "/kubepods.slice/kubepods-burstable.slice", NULL },
		{ "/kubepods/pod01234567-89ab-cdef-0123-456789abcde", NULL },
		{ "/kubepods/tripod01234567-89ab-cdef-0123-456789abcdef", NULL },
		{ "/user/pod01234567-89ab-cdef-0123-456789abcdef", NULL },
		{ "/kubepods/pod01234567-89ab-cdef-0123-456789abcdef/01/"
		  "kubepods/podffffffff-ffff-ffff-ffff-ffffffffffff/02",
		  "01234567-89ab-cdef-0123-456789abcdef" },
		{ "/my-kubepods/pod01234567-89ab-cdef-0123-456789abcdef/01", NULL },
		{ "/kubepods", NULL },
		{ "kubepodspod", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct push_labels l = { 0 };
		const char *pod;

		push_labels_take_cgroup(&l, cases[i].path);
		pod = push_labels_find(&l, "k8s.pod.uid");
		assert_int_equal(pod != NULL, cases[i].pod != NULL);
		if (pod)
			assert_string_equal(pod, cases[i].pod);
		push_labels_fini(&l);
	}
}

static void labels_of_otel_are_decoded_and_bounded(void **state)
{
	struct push_labels l = { 0 };
	struct buffer many = { 0 };

	(void)state;
	push_labels_take_otel(&l, "service.name=a%2Cb, deployment.environment.name=prod,=x,y,z z=1,"
				  "bad%=1,k=%1,n=\033[31m%0a");
	assert_string_equal(push_labels_find(&l, "service.name"), "a,b");
	assert_string_equal(push_labels_find(&l, "deployment.environment.name"), "prod");
	assert_string_equal(push_labels_find(&l, "k"), "%1");
	assert_string_equal(push_labels_find(&l, "n"), "\\u{1b}[31m\\u{a}");
	assert_int_equal(l.nr, 4);
	for (int i = 0; i < 1000; i++)
		buffer_printf(&many, "key%d=%0900d,", i, i);
	push_labels_take_otel(&l, buffer_cstring(&many));
	assert_int_equal(l.nr, LABELS_MAX);
	for (size_t i = 0; i < l.nr; i++)
		assert_true(strlen(l.list[i].value) <= LABEL_VALUE_MAX);
	buffer_fini(&many);
	push_labels_fini(&l);
}

static void a_short_key_has_no_dots(void **state)
{
	struct buffer b = { 0 };

	(void)state;
	push_label_add_short_key(&b, "service.name");
	push_label_add_short_key(&b, ".k8s.pod-name");
	assert_string_equal(buffer_cstring(&b), "service_name_k8s_pod_name");
	buffer_fini(&b);
}

static void a_request_comes_back_from_bytes(void **state)
{
	struct push_request r = { .receiver = &receiver_parca, .nr_samples = 7, .time_ns = 1 },
			    back;
	struct buffer bytes = { 0 };

	(void)state;
	buffer_add(&r.body, "a\0\nb", 4);
	push_request_encode(&r, &bytes);
	assert_int_equal(push_request_decode(bytes.data, bytes.size, &back), 0);
	assert_ptr_equal(back.receiver, r.receiver);
	assert_int_equal(back.nr_samples, 7);
	assert_null(back.query);
	assert_int_equal(back.body.size, 4);
	assert_memory_equal(back.body.data, "a\0\nb", 4);
	push_request_fini(&back);
	for (size_t size = 0; size < bytes.size - 4; size++)
		assert_int_not_equal(push_request_decode(bytes.data, size, &back), 0);
	push_request_fini(&r);
	buffer_fini(&bytes);
}

enum { NR_PROCESSES = 600, NR_SAMPLES = 5000 };

struct seen {
	uint64_t weight[NR_PROCESSES], samples;
	size_t nr_sets;
	size_t max; /* samples in a set; 0: any number */
};

static int count(void *context, const struct push_set *set)
{
	struct seen *seen = context;

	if (seen->max && set->p->nr_samples > seen->max)
		return -EMSGSIZE;
	seen->nr_sets++;
	for (size_t i = 0; i < set->nr_series; i++) {
		const struct push_series *s = &set->series[i];
		int pid = atoi(push_labels_find(&s->labels, "process.pid"));

		assert_string_equal(push_labels_find(&s->labels, "host.name"), "own");
		for (size_t k = 0; k < s->nr_samples; k++) {
			assert_int_equal(set->p->threads[s->samples[k].thread].pid, pid);
			seen->weight[pid - 1] += s->samples[k].weight;
		}
		seen->samples += s->nr_samples;
	}
	for (size_t i = 0; i < set->p->nr_frames; i++)
		assert_true(set->p->frames[i].nr_locations > 0);
	return 0;
}

static void check_series(size_t max)
{
	struct profile *p = profile_new();
	struct profile_module m = { .kind = MODULE_ELF, .path = profile_cstring(p, "/lib/x.so") };
	struct push_labels own = { 0 };
	uint64_t want[NR_PROCESSES] = { 0 };
	struct seen seen = { .max = max };
	uint32_t module = profile_module(p, &m);

	push_labels_set(&own, "host.name", "own");
	for (uint32_t i = 0; i < NR_SAMPLES; i++) {
		uint32_t pid = i * 7919 % NR_PROCESSES + 1;
		uint32_t frame = profile_frame(p, module, i % 31);
		struct profile_sample s = {
			.weight = i,
			.thread = profile_thread(p, pid, pid, profile_cstring(p, "t")),
			.stack = profile_stack(p, &frame, 1),
		};

		want[pid - 1] += i;
		profile_add_sample(p, &s);
	}
	assert_int_equal(push_series_each(p, &own, count, &seen), 0);
	assert_int_equal(seen.samples, NR_SAMPLES);
	assert_memory_equal(seen.weight, want, sizeof(want));
	assert_true(seen.nr_sets > (max ? NR_SAMPLES / max : 1));
	push_labels_fini(&own);
	profile_free(p);
}

static void series_hold_every_sample_once(void **state)
{
	(void)state;
	check_series(0);
}

static void sets_that_are_too_large_are_halved(void **state)
{
	(void)state;
	check_series(70); /* more than a process has */
	check_series(3);  /* less */
}

static int expect_names(void *context, const struct push_set *set)
{
	const char *const *names = context;

	for (size_t i = 0; i < set->nr_series; i++)
		assert_string_equal(push_labels_find(&set->series[i].labels, "service.name"),
				    names[i]);
	return 0;
}

static void add_thread(struct profile *p, uint32_t pid, uint32_t tid, const char *name,
		       bool has_sample)
{
	const struct profile_sample s = {
		.weight = 1,
		.thread = profile_thread(p, pid, tid, profile_cstring(p, name)),
		.stack = profile_stack(p, NULL, 0),
	};

	if (has_sample)
		profile_add_sample(p, &s);
}

static void a_process_is_called_after_its_main_thread_or_the_first_with_a_name(void **state)
{
	static const char *names[] = { "main", "first", "unknown_service" };
	struct profile *p = profile_new();

	(void)state;
	add_thread(p, 1, 3, "worker", true);
	add_thread(p, 2, 5, "", true);
	add_thread(p, 1, 1, "main", true);
	add_thread(p, 2, 6, "first", true);
	add_thread(p, 1, 1, "renamed", true);
	add_thread(p, 2, 7, "second", true);
	add_thread(p, 9, 9, "", true);
	assert_int_equal(push_series_each(p, NULL, expect_names, names), 0);
	profile_free(p);
}

static int ignore(void *context, const struct push_set *set)
{
	(void)context, (void)set;
	return 0;
}

static uint64_t cost_of_series(uint32_t nr_processes, uint32_t nr_threads)
{
	struct profile *p = profile_new();
	uint64_t start_ns;

	for (uint32_t i = 1; i <= nr_processes; i++)
		add_thread(p, i, i + 1, "sampled", true); /* not the main thread */
	for (uint32_t i = 1; i <= nr_threads; i++)
		add_thread(p, 1u << 22, i, "other", false);
	start_ns = thread_cpu_ns();
	assert_int_equal(push_series_each(p, NULL, ignore, NULL), 0);
	start_ns = thread_cpu_ns() - start_ns;
	profile_free(p);
	return start_ns;
}

/* A user may start thousands of each. */
static void many_processes_beside_many_threads_cost_no_more_than_both(void **state)
{
	uint64_t processes, threads, both;

	(void)state;
	processes = cost_of_series(3000, 0);
	threads = cost_of_series(10, 300000);
	both = cost_of_series(3000, 300000);
	assert_in_range(both, 0, 4 * (processes + threads) + 100000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_url_tells_its_receiver),
		cmocka_unit_test(labels_of_otel_are_decoded_and_bounded),
		cmocka_unit_test(a_pod_is_known_by_its_cgroup),
		cmocka_unit_test(a_short_key_has_no_dots),
		cmocka_unit_test(a_request_comes_back_from_bytes),
		cmocka_unit_test(series_hold_every_sample_once),
		cmocka_unit_test(sets_that_are_too_large_are_halved),
		cmocka_unit_test(
			a_process_is_called_after_its_main_thread_or_the_first_with_a_name),
		cmocka_unit_test(many_processes_beside_many_threads_cost_no_more_than_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
