/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "labels/cgroup_path.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ID	     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_2	     "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define TASK	     "0123456789abcdef0123456789abcdef"
#define UID	     "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
#define UID_IN_SLICE "1b4e28ba_2fa1_11d2_883f_0016d3cca427"

struct path_case {
	const char *path;
	const char *unit, *user_unit, *slice, *container, *runtime, *pod_uid; /* NULL: "" */
};

static void assert_part(
	const char *path, const char *what, const struct path_part *part, const char *expected)
{
	if (!expected)
		expected = "";
	if (part->size != strlen(expected) ||
		(part->size > 0 && memcmp(part->text, expected, part->size) != 0))
		fail_msg("%s: %s is '%.*s' and not '%s'", path, what, (int)part->size, part->text,
			expected);
}

static void assert_text(const char *path, const char *what, const char *text, const char *expected)
{
	const struct path_part part = { .text = text, .size = text ? strlen(text) : 0 };

	assert_part(path, what, &part, expected);
}

static void check(const struct path_case *cases, size_t count)
{
	struct cgroup_labels labels;

	for (size_t i = 0; i < count; i++) {
		const char *path = cases[i].path;

		cgroup_path_parse(path, &labels);
		assert_part(path, "unit", &labels.unit, cases[i].unit);
		assert_part(path, "user unit", &labels.user_unit, cases[i].user_unit);
		assert_part(path, "slice", &labels.slice, cases[i].slice);
		assert_part(path, "container", &labels.container, cases[i].container);
		assert_text(path, "runtime", labels.runtime, cases[i].runtime);
		assert_text(path, "pod uid", labels.pod_uid, cases[i].pod_uid);
	}
}

static void units_and_slices(void **state)
{
	static const struct path_case cases[] = {
		{ .path = "/" },
		{ .path = "" },
		{ .path = "//" },
		{ .path = "/init.scope", .unit = "init.scope" },
		{ .path = "/system.slice/nginx.service",
			.unit = "nginx.service",
			.slice = "system.slice" },
		/* What a service makes below itself is the service's. */
		{ .path = "/system.slice/nginx.service/workers.scope/x.service",
			.unit = "nginx.service",
			.slice = "system.slice" },
		{ .path = "/system.slice/system-getty.slice/getty@tty1.service",
			.unit = "getty@tty1.service",
			.slice = "system-getty.slice" },
		{ .path = "/system.slice/foo\\x2dbar.service",
			.unit = "foo\\x2dbar.service",
			.slice = "system.slice" },
		{ .path = "/system.slice/_cgroup.service",
			.unit = "cgroup.service",
			.slice = "system.slice" },
		{ .path = "/system.slice/home-me.mount",
			.unit = "home-me.mount",
			.slice = "system.slice" },
		{ .path = "/user.slice/user-1000.slice/session-2.scope",
			.unit = "session-2.scope",
			.slice = "user-1000.slice" },
		{ .path = "/my.slice", .slice = "my.slice" },
		/* Not systemd's. */
		{ .path = "/mine/system.slice/nginx.service" },
		{ .path = "/system.slice/.service", .slice = "system.slice" },
		{ .path = "/system.slice/a b.service", .slice = "system.slice" },
		{ .path = "/.slice/a.service" },
	};

	check(cases, ARRAY_SIZE(cases));
}

static void units_of_users(void **state)
{
	static const struct path_case cases[] = {
		{ .path = "/user.slice/user-1000.slice/user@1000.service",
			.unit = "user@1000.service",
			.slice = "user-1000.slice" },
		{ .path = "/user.slice/user-1000.slice/user@1000.service/init.scope",
			.unit = "user@1000.service",
			.user_unit = "init.scope",
			.slice = "user-1000.slice" },
		{ .path = "/user.slice/user-1000.slice/user@1000.service/app.slice/"
			  "app-gnome.slice/app-gnome-firefox-4711.scope/child.service",
			.unit = "user@1000.service",
			.user_unit = "app-gnome-firefox-4711.scope",
			.slice = "user-1000.slice" },
		{ .path = "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
			  ".scope/container",
			.unit = "user@1000.service",
			.user_unit = "libpod-" ID ".scope",
			.slice = "user-1000.slice",
			.container = ID,
			.runtime = "podman" },
		{ .path = "/user.slice/user-1000.slice/user@1000.service/mine/a.service",
			.unit = "user@1000.service",
			.slice = "user-1000.slice" },
	};

	check(cases, ARRAY_SIZE(cases));
}

static const struct path_case of_runtimes[] = {
	{ .path = "/docker/" ID, .container = ID, .runtime = "docker" },
	{ .path = "/docker/" ID "/system.slice/nginx.service",
		.container = ID,
		.runtime = "docker" },
	{ .path = "/system.slice/docker-" ID ".scope",
		.unit = "docker-" ID ".scope",
		.slice = "system.slice",
		.container = ID,
		.runtime = "docker" },
	{ .path = "/system.slice/nerdctl-" ID ".scope",
		.unit = "nerdctl-" ID ".scope",
		.slice = "system.slice",
		.container = ID,
		.runtime = "containerd" },
	{ .path = "/system.slice/other-" ID ".scope",
		.unit = "other-" ID ".scope",
		.slice = "system.slice",
		.container = ID },
	{ .path = "/k8s.io/" ID, .container = ID, .runtime = "containerd" },
	{ .path = "/actions_job/" ID, .container = ID },
	{ .path = "/libpod_parent/libpod-" ID, .container = ID, .runtime = "podman" },
	{ .path = "/machine.slice/libpod-" ID ".scope/container",
		.unit = "libpod-" ID ".scope",
		.slice = "machine.slice",
		.container = ID,
		.runtime = "podman" },
	/* The runtime's own process, beside its container. */
	{ .path = "/machine.slice/libpod-conmon-" ID ".scope",
		.unit = "libpod-conmon-" ID ".scope",
		.slice = "machine.slice" },
	{ .path = "/libpod_parent/conmon" },
	{ .path = "/buildkit/k1nzpaz1kmzgb2tq1xkgljeqy",
		.container = "k1nzpaz1kmzgb2tq1xkgljeqy",
		.runtime = "buildkit" },
	{ .path = "/docker/buildkit/k1nzpaz1kmzgb2tq1xkgljeqy",
		.container = "k1nzpaz1kmzgb2tq1xkgljeqy",
		.runtime = "buildkit" },
	{ .path = "/system.slice:buildkit:k1nzpaz1kmzgb2tq1xkgljeqy",
		.container = "k1nzpaz1kmzgb2tq1xkgljeqy",
		.runtime = "buildkit" },
	{ .path = "/garden/8fe1bb3d-4d4c-4b5a-5a6b-2d0f",
		.container = "8fe1bb3d-4d4c-4b5a-5a6b-2d0f",
		.runtime = "garden" },
	{ .path = "/system.slice/garden.service/garden/good/8fe1bb3d-4d4c",
		.unit = "garden.service",
		.slice = "system.slice",
		.container = "8fe1bb3d-4d4c",
		.runtime = "garden" },
	{ .path = "/ecs/" TASK "/" ID, .container = ID, .runtime = "ecs" },
	{ .path = "/ecs/cluster/" TASK "/" ID, .container = ID, .runtime = "ecs" },
	{ .path = "/ecs/" TASK "/" TASK "-3054012820",
		.container = TASK "-3054012820",
		.runtime = "ecs" },
	{ .path = "/ecs/" TASK },
	{ .path = "/ecs/" TASK "/" TASK "-" },
	{ .path = "/ecs/" TASK "/" TASK "-1x" },
	{ .path = "/ecstasks.slice/ecstasks-" TASK ".slice/docker-" ID ".scope",
		.unit = "docker-" ID ".scope",
		.slice = "ecstasks-" TASK ".slice",
		.container = ID,
		.runtime = "docker" },
	/* Nearly one. */
	{ .path = "/docker/" TASK },
	{ .path = "/docker/" ID "0" },
	{ .path = "/system.slice/docker-x" TASK TASK ".scope",
		.unit = "docker-x" TASK TASK ".scope",
		.slice = "system.slice" },
	{ .path = "/docker-" ID_2 "g" },
	{ .path = "/-" ID },
	{ .path = "/" TASK },
	{ .path = "/a:b" },
	{ .path = "/a:docker:" },
	{ .path = "/::" },
};

static void containers_of_runtimes(void **state)
{
	check(of_runtimes, ARRAY_SIZE(of_runtimes));
}

static void containers_with_names(void **state)
{
	static const struct path_case cases[] = {
		{ .path = "/lxc/web", .container = "web", .runtime = "lxc" },
		{ .path = "/lxc.payload.web/system.slice/nginx.service",
			.container = "web",
			.runtime = "lxc" },
		{ .path = "/lxc.payload/web", .container = "web", .runtime = "lxc" },
		{ .path = "/lxc.monitor.web" },
		{ .path = "/lxc.payload." },
		{ .path = "/machine.slice/machine-my\\x2dbox.scope/payload",
			.unit = "machine-my\\x2dbox.scope",
			.slice = "machine.slice",
			.container = "my\\x2dbox",
			.runtime = "systemd-nspawn" },
		{ .path = "/machine.slice/systemd-nspawn@box.service/payload/init.scope",
			.unit = "systemd-nspawn@box.service",
			.slice = "machine.slice",
			.container = "box",
			.runtime = "systemd-nspawn" },
		{ .path = "/machine.slice/systemd-nspawn@.service",
			.unit = "systemd-nspawn@.service",
			.slice = "machine.slice" },
		{ .path = "/machine.slice/machine-qemu\\x2d3\\x2dfedora.scope/libvirt",
			.unit = "machine-qemu\\x2d3\\x2dfedora.scope",
			.slice = "machine.slice",
			.container = "qemu\\x2d3\\x2dfedora",
			.runtime = "libvirt" },
		{ .path = "/machine.slice/machine-.scope",
			.unit = "machine-.scope",
			.slice = "machine.slice" },
	};

	check(cases, ARRAY_SIZE(cases));
}

static void pods_of_kubernetes(void **state)
{
	static const struct path_case cases[] = {
		{ .path = "/kubepods.slice/kubepods-burstable.slice/"
			  "kubepods-burstable-pod" UID_IN_SLICE ".slice/cri-containerd-" ID
			  ".scope",
			.unit = "cri-containerd-" ID ".scope",
			.slice = "kubepods-burstable-pod" UID_IN_SLICE ".slice",
			.container = ID,
			.runtime = "containerd",
			.pod_uid = UID },
		{ .path = "/kubepods.slice/kubepods-pod" UID_IN_SLICE ".slice/crio-" ID ".scope",
			.unit = "crio-" ID ".scope",
			.slice = "kubepods-pod" UID_IN_SLICE ".slice",
			.container = ID,
			.runtime = "cri-o",
			.pod_uid = UID },
		{ .path = "/kubepods.slice/kubepods-pod" UID_IN_SLICE ".slice/crio-conmon-" ID
			  ".scope",
			.unit = "crio-conmon-" ID ".scope",
			.slice = "kubepods-pod" UID_IN_SLICE ".slice",
			.pod_uid = UID },
		{ .path = "/kubepods/besteffort/pod" UID "/" ID, .container = ID, .pod_uid = UID },
		{ .path = "/kubepods/pod" UID, .pod_uid = UID },
		{ .path = "/kubepods/burstable/pod" TASK "/crio-" ID,
			.container = ID,
			.runtime = "cri-o",
			.pod_uid = TASK },
		{ .path = "/mine/pod" TASK },
		{ .path = "/mine/tripod" UID },
		{ .path = "/kubepods/pod1b4e28ba-2fa1-11d2-883f_0016d3cca42g" },
		{ .path = "/kubepods/pod1b4e28ba22fa1-11d2-883f-0016d3cca427" },
		{ .path = "/system.slice/containerd.service/kubepods-burstable-pod" UID_IN_SLICE
			  ".slice:cri-containerd:" ID,
			.unit = "containerd.service",
			.slice = "system.slice",
			.container = ID,
			.runtime = "containerd",
			.pod_uid = UID },
		{ .path = "/kubepods-pod" UID_IN_SLICE ".slice:other:" ID,
			.container = ID,
			.pod_uid = UID },
	};

	check(cases, ARRAY_SIZE(cases));
}

static void the_innermost_container_counts(void **state)
{
	static const struct path_case cases[] = {
		{ .path = "/docker/" ID "/docker/" ID_2, .container = ID_2, .runtime = "docker" },
		{ .path = "/docker/" ID "/kubelet.slice/kubelet-kubepods.slice/"
			  "kubelet-kubepods-pod" UID_IN_SLICE ".slice/cri-containerd-" ID_2
			  ".scope",
			.container = ID_2,
			.runtime = "containerd",
			.pod_uid = UID },
		{ .path = "/lxc/outer/lxc/inner", .container = "inner", .runtime = "lxc" },
		{ .path = "/kubepods/pod" UID "/" ID "/docker/" ID_2,
			.container = ID_2,
			.runtime = "docker",
			.pod_uid = UID },
		/* One that does not say of what runtime it is has not its parent's. */
		{ .path = "/docker/" ID "/x/" ID_2, .container = ID_2 },
	};

	check(cases, ARRAY_SIZE(cases));
}

/* Names of the kernel's greatest length, and of anything, in memory of exactly their size. */
static void any_bytes_will_do(void **state)
{
	enum { SIZE = 4096 };
	static const char pieces[] = "/a-:.slice\\x2d\xff\x01pod";
	struct cgroup_labels labels;
	char *path = malloc(SIZE);

	assert_non_null(path);
	for (size_t first = 0; first < sizeof(pieces) - 1; first++) {
		memset(path, pieces[first], SIZE);
		path[SIZE - 1] = '\0';
		cgroup_path_parse(path, &labels);
		assert_int_equal(labels.unit.size, 0);
		assert_int_equal(labels.container.size, 0);
	}
	memcpy(path + SIZE - 9, ".service", 9);
	cgroup_path_parse(path, &labels);
	assert_int_equal(labels.unit.size, 0);
	free(path);
}

static void unescape(const char *text, size_t room, const char *expected)
{
	const struct path_part unit = { .text = text, .size = strlen(text) };
	char name[64];

	memset(name, '#', sizeof(name));
	assert_int_equal(cgroup_unit_unescape(&unit, name, room), strlen(expected));
	assert_string_equal(name, expected);
}

static void escapes_are_undone(void **state)
{
	unescape("nginx.service", 64, "nginx.service");
	unescape("foo\\x2dbar\\x20\\x7E.service", 64, "foo-bar ~.service");
	unescape("\\x2d", 64, "-");
	unescape("\\x2", 64, "\\x2");
	unescape("\\x2g\\", 64, "\\x2g\\");
	unescape("a\\x00b", 64, "a\\x00b");
	unescape("", 64, "");
	unescape("nginx", 4, "ngi");
	unescape("\\x2d\\x2d", 2, "-");
	unescape("nginx", 1, "");
}

static void a_container_is_a_user_of_its_own(void **state)
{
	static const char docker[] =
		"/docker/"
		"4ad1e6a0f0e1d2c3b4a5968778695a4b3c2d1e0f4ad1e6a0f0e1d2c3b4a59687";
	char other[sizeof(docker)], rootless[256], own[256], nested[256];

	memcpy(other, docker, sizeof(other));
	other[sizeof(other) - 2] = '0';
	assert_int_equal(cgroup_path_user(0, ""), 0);
	assert_int_equal(cgroup_path_user(0, "/system.slice/cron.service"), 0);
	assert_int_equal(cgroup_path_user(1000, docker), cgroup_path_user(0, docker));
	assert_int_equal(
		cgroup_path_user(1000, "/user.slice/user-1000.slice/session-1.scope"), 1000);
	/* Users choose the names below their own systemd. */
	(void)snprintf(rootless, sizeof(rootless),
		"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-%s.scope",
		strrchr(docker, '/') + 1);
	assert_int_equal(cgroup_path_user(1000, rootless), 1000);
	/* A user may make cgroups below their systemd, with the name of a container, too. */
	(void)snprintf(own, sizeof(own),
		"/user.slice/user-1000.slice/user@1000.service/mine/docker-%s.scope", ID);
	assert_int_equal(cgroup_path_user(1000, own), 1000);
	/* So may a container. */
	(void)snprintf(nested, sizeof(nested), "%s/system.slice/docker-%s.scope", docker, ID_2);
	assert_int_equal(cgroup_path_user(0, nested), cgroup_path_user(0, docker));
	(void)snprintf(nested, sizeof(nested), "/machine.slice/machine-a.scope/payload/%s", ID_2);
	assert_int_equal(cgroup_path_user(0, nested),
		cgroup_path_user(0, "/machine.slice/machine-a.scope/payload/init.scope"));
	assert_int_not_equal(cgroup_path_user(0, docker), 0);
	assert_int_equal((uint32_t)cgroup_path_user(0, docker), 0);
	assert_int_equal(cgroup_path_user(0, docker), cgroup_path_user(0, docker));
	assert_int_not_equal(cgroup_path_user(0, docker), cgroup_path_user(0, other));
}

/* In doubt nobody may see a process. */
static void a_process_of_the_host_has_an_owner(void **state)
{
	static const char container[] =
		"/system.slice/docker-"
		"4f1c64e1c3ee8b3c0d8d7b6a0f0a6d1e2c3b4a59687766554433221100ffeedd.scope";
	static const char rootless[] =
		"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-"
		"4f1c64e1c3ee8b3c0d8d7b6a0f0a6d1e2c3b4a59687766554433221100ffeedd.scope";

	/* A container names the cgroups in it, and cannot pass for a user's systemd. */
	static const char nested[] =
		"/system.slice/docker-"
		"4f1c64e1c3ee8b3c0d8d7b6a0f0a6d1e2c3b4a59687766554433221100ffeedd.scope"
		"/user.slice/user-1000.slice/user@1000.service/app.slice/app.service";
	static const char unmanaged[] =
		"/docker/4f1c64e1c3ee8b3c0d8d7b6a0f0a6d1e2c3b4a59687766554433221100ffeedd"
		"/user.slice/user-1000.slice/user@1000.service/app.slice/app.service";

	assert_int_equal(cgroup_path_owner(1000, nested), 0);
	assert_int_equal(cgroup_path_owner(1000, unmanaged), 0);
	assert_int_equal(cgroup_path_owner(0, "/"), 1);
	assert_int_equal(cgroup_path_owner(0, "/system.slice/cron.service"), 1);
	assert_int_equal(cgroup_path_owner(1000, "/user.slice/user-1000.slice"), 1001);
	assert_int_equal(cgroup_path_owner(1000, rootless), 1001);
	assert_int_equal(cgroup_path_owner(1000, container), 0);
	assert_int_equal(cgroup_path_owner(0, container), 0);
	assert_int_equal(cgroup_path_owner(1000, ""), 0);
	assert_int_equal(cgroup_path_owner(0, "not a path"), 0);
	assert_int_equal(cgroup_path_owner(UINT32_MAX - 1, "/"), UINT32_MAX);
	assert_int_equal(cgroup_path_owner(UINT32_MAX, "/"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_and_slices),
		cmocka_unit_test(units_of_users),
		cmocka_unit_test(containers_of_runtimes),
		cmocka_unit_test(containers_with_names),
		cmocka_unit_test(pods_of_kubernetes),
		cmocka_unit_test(the_innermost_container_counts),
		cmocka_unit_test(any_bytes_will_do),
		cmocka_unit_test(escapes_are_undone),
		cmocka_unit_test(a_container_is_a_user_of_its_own),
		cmocka_unit_test(a_process_of_the_host_has_an_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
