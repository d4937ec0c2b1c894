/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses the path of a cgroup into the systemd unit and slice, the container and its runtime, and
 * the Kubernetes pod. It needs nothing but the path, so it also works on history.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the path, borrowed: [text, text + size). Size 0: absent. */
struct path_part {
	const char *text;
	size_t size;
};

struct cgroup_labels {
	struct path_part unit;	    /* verbatim, with escapes: "nginx.service" */
	struct path_part user_unit; /* of a user's systemd, below user@UID.service */
	struct path_part slice;	    /* the innermost slice around the unit: "system.slice" */
	/*
	 * 64 hexadecimal digits (ECS: 32 and a number), or a name (lxc, nspawn, garden, libvirt).
	 */
	struct path_part container;
	struct path_part
		outermost; /* the container around all others, `container` itself if alone */
	/*
	 * "docker", "containerd", "cri-o", "podman", "lxc", "systemd-nspawn", "ecs", "garden",
	 * "buildkit", "libvirt"; NULL: the path does not say.
	 */
	const char *runtime;
	char pod_uid[37]; /* "": none. The drivers' spellings all get dashes; a static pod's has
			     none */
};

/*
 * Parses `path`, which begins with '/' and may hold any bytes. It comes from cgroup v2 or from v1's
 * name=systemd hierarchy. Unit and slice are the host's, as sd_pid_get_unit(3) reports them, even
 * if a container runs its own systemd. Of nested containers, the innermost counts.
 */
void cgroup_path_parse(const char *path, struct cgroup_labels *ret_labels);

/*
 * Is the cgroup below a user's own systemd? That user may make cgroups of any name there, so the
 * path's container and pod are what the user claims.
 */
bool cgroup_path_is_of_user(const struct cgroup_labels *labels);

/*
 * The user who answers for a process of `uid` in this cgroup, as a key of base/user_share.h. A
 * container is one user, whatever uids its root chooses, and whatever containers it runs itself.
 * All below a user's own systemd is that user, who may make cgroups of any name there.
 */
uint64_t cgroup_path_user(uint32_t uid, const char *path);

/*
 * The user of the host who may see a process of `uid` in this cgroup: the uid plus 1. 0: nobody, as
 * the process belongs to a container, or as its cgroup is unknown and may be a container's.
 */
uint32_t cgroup_path_owner(uint32_t uid, const char *path);

/*
 * Decodes systemd's escapes in a unit name ("\x2d"). Truncates the result to `room`, which is at
 * least 1, and ends it with a NUL. Returns the length without the NUL. The bytes need not be UTF-8.
 */
size_t cgroup_unit_unescape(const struct path_part *unit, char *name, size_t room);
