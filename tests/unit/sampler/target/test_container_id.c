/* sampler/target/container_id.c: cgroup paths as engines make them. */
#include "tests/unit/unit.h"

#include <string.h>

#include "sampler/target/container_id.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void engines_are_known_by_their_cgroups(void **state)
{
	static const struct {
		const char *path, *engine, *id;
	} cases[] = {
		{ "/system.slice/docker-" ID ".scope", "docker", ID },
		{ "/docker/" ID, "docker", ID },
		{ "/../docker-" ID ".scope", "docker", ID },
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/"
		  "cri-containerd-" ID ".scope",
		  "containerd", ID },
		{ "/system.slice/containerd.service/"
		  "kubepods-besteffort-pod12.slice:cri-containerd:" ID,
		  "containerd", ID },
		{ "/kubepods.slice/kubepods-pod12.slice/crio-" ID ".scope", "cri-o", ID },
		{ "/kubepods.slice/kubepods-pod12.slice/crio-" ID ".scope/container", "cri-o", ID },
		{ "/kubepods/burstable/pod12/" ID, "kubernetes", ID },
		{ "/machine.slice/libpod-" ID ".scope", "podman", ID },
		{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		  ".scope/container",
		  "podman", ID },
		{ "/libpod_parent/libpod-" ID, "podman", ID },
		{ "/system.slice/nerdctl-" ID ".scope", "nerdctl", ID },
		{ "/docker/" ID "/docker/" OTHER, "docker", OTHER },
		{ "/docker/" ID "/init.scope", "docker", ID },
		{ "/ecs/task/" ID, "ecs", ID },
		{ "/ecs/0123456789abcdef0123456789abcdef-1234567890", "ecs",
		  "0123456789abcdef0123456789abcdef-1234567890" },
		{ "/lxc/web", "lxc", "web" },
		{ "/lxc.payload.web/system.slice/cron.service", "lxc", "web" },
		{ "/machine.slice/machine-web.scope", "nspawn", "web" },
		{ "/machine.slice/systemd-nspawn@web.service/payload", "nspawn", "web" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct container_id c;

		assert_true(container_id_of_cgroup(cases[i].path, &c));
		assert_string_equal(c.engine, cases[i].engine);
		assert_string_equal(c.id, cases[i].id);
	}
}

static void other_cgroups_are_no_containers(void **state)
{
	static const char *const paths[] = {
		"",
		"/",
		"//",
		"/system.slice/postgresql@15-main.service",
		"/user.slice/user-1000.slice/session-3.scope",
		"/machine.slice/libpod-conmon-" ID ".scope",
		"/kubepods.slice/kubepods-pod12.slice/crio-conmon-" ID ".scope",
		"/kubepods.slice/kubepods-pod12.slice",
		"/machine.slice/machine-qemu\\x2d1\\x2dweb.scope",
		"/docker/0123456789abcdef",
		"/process_api/1f26442d2086d061020539bdf62ff669",
		"/x" ID,
		"/DOCKER-0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF.scope",
		"/lxc",
		"/lxc/",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct container_id c = { .id = "untouched" };

		assert_false(container_id_of_cgroup(paths[i], &c));
		assert_string_equal(c.id, "untouched");
	}
}

static void a_long_name_is_cut(void **state)
{
	char path[4096] = "/lxc/";
	struct container_id c;

	(void)state;
	memset(path + 5, 'n', sizeof(path) - 6);
	path[sizeof(path) - 1] = '\0';
	assert_true(container_id_of_cgroup(path, &c));
	assert_int_equal(strlen(c.id), CONTAINER_ID_SIZE - 1);
	memset(path, 'e', sizeof(path) - 1);
	memcpy(path + 2000, "-" ID, 1 + 64 + 1);
	assert_true(container_id_of_cgroup(path, &c));
	assert_int_equal(strlen(c.engine), CONTAINER_ENGINE_SIZE - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engines_are_known_by_their_cgroups),
		cmocka_unit_test(other_cgroups_are_no_containers),
		cmocka_unit_test(a_long_name_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
