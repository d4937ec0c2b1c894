/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses the path of a cgroup: the systemd unit and slice, the container and its runtime, the
 * Kubernetes pod. It depends on the path only, so it works on history too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Parts are borrowed from the path, as [text, text + size); size 0: there is none. */
struct path_part {
	const char *text;
	size_t size;
};

struct cgroup_labels {
	struct path_part unit;	    /* as it stands, escapes included: "nginx.service" */
	struct path_part user_unit; /* of a user's own systemd, below user@UID.service */
	struct path_part slice;	    /* the innermost that the unit is in: "system.slice" */
	/* 64 (ECS: 32 and a number) hexadecimal digits, or a name (lxc, nspawn, garden, libvirt).
	 */
	struct path_part container;
	/*
	 * "docker", "containerd", "cri-o", "podman", "lxc", "systemd-nspawn", "ecs", "garden",
	 * "buildkit", "libvirt"; NULL: the path does not say.
	 */
	const char *runtime;
	char pod_uid[37]; /* with dashes, whatever the driver writes; "". A static pod's has none */
};

/*
 * `path` begins with '/': of cgroup v2, or of v1's name=systemd hierarchy. Any bytes will do. Unit
 * and slice are the host's, as systemd has them (sd_pid_get_unit(3)), whatever systemd runs in a
 * container; of containers in each other the innermost counts.
 */
void cgroup_path_parse(const char *path, struct cgroup_labels *ret_labels);

/*
 * Decodes systemd's escapes in a unit name ("\x2d"). The result is cut to `room`, which is at least
 * 1. Ends `name` with a NUL and returns the length without it. The bytes need not be UTF-8.
 */
size_t cgroup_unit_unescape(const struct path_part *unit, char *name, size_t room);
