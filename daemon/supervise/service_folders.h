/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The service's folders. The service manager names them in the environment (STATE_DIRECTORY and
 * others, systemd.exec(5)); without it they have their default paths.
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
 * Refuses relative paths in the environment. Such a path asks for a folder other than the system's,
 * so the default is no substitute. Returns 0, or -EINVAL with `fault`. The other functions do not
 * check again.
 */
int service_folders_check(struct fault *fault);

void service_folder_path(enum service_folder folder, char path[PATH_MAX]);

/* Makes a missing folder and its missing parents. Returns 0 or -errno with `fault`. */
int service_folder_make(const char *path, struct fault *fault);

/*
 * Makes the runtime folder if it is missing. A new folder, and the files made in it, belong to
 * `group`, since the unprivileged engine makes its socket there. If there is no such group, only
 * the owner can use the folder. The caller must be able to change groups. Returns 0, or -errno with
 * `fault`.
 */
int service_folders_make_runtime(const char *group, struct fault *fault);
