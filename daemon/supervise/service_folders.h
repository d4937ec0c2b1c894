/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The service's folders: where the service manager says (systemd.exec(5), STATE_DIRECTORY and the
 * like), or at their usual places without one.
 */
#pragma once

#include "base/fault.h"

#include <limits.h>

enum service_folder {
	SERVICE_FOLDER_CONFIGURATION,
	SERVICE_FOLDER_STATE,
	SERVICE_FOLDER_CACHE,
	SERVICE_FOLDER_RUNTIME,
	SERVICE_FOLDERS,
};

/*
 * Refuses a relative path in the environment: the system's folder was not meant then. Returns 0 or
 * -EINVAL with `fault`. The other functions do not check again.
 */
int service_folders_check(struct fault *fault);

void service_folder_path(enum service_folder folder, char path[PATH_MAX]);

/* Makes a missing folder and its missing parents. Returns 0 or -errno with `fault`. */
int service_folder_make(const char *path, struct fault *fault);

/*
 * Makes the runtime folder, if it is missing, with the group's number on it and on what is made in
 * it: the engine, which has no privileges, makes the socket there. Without such a group it is
 * private. Only for a process that may change groups. Returns 0 or -errno with `fault`.
 */
int service_folders_make_runtime(const char *group, struct fault *fault);
