/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/send_sandbox.h"

#include "base/array.h"
#include "sandbox/network_files.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DESCRIPTORS = 64,
	VARIABLE_FOLDERS_MAX = 4, /* of SSL_CERT_DIR */
	NAMED_FILES = 3,
	FOLDERS_MAX = NETWORK_FILES + NAMED_FILES + VARIABLE_FOLDERS_MAX + 3,
};
#define MEMORY_BYTES (256ULL << 20) /* the batch is read in parts */

struct folders {
	struct sandbox_folder items[FOLDERS_MAX];
	size_t count;
};

static void add(struct folders *folders, const char *path, bool is_written)
{
	if (path && *path && folders->count < FOLDERS_MAX && access(path, F_OK) == 0)
		folders->items[folders->count++] =
			(struct sandbox_folder){ .path = path, .is_written = is_written };
}

/* `list` is cut into words. */
static void add_list(struct folders *folders, char *list)
{
	char *rest = NULL;
	size_t count = 0;

	for (char *path = strtok_r(list, ":", &rest); path && count < VARIABLE_FOLDERS_MAX;
		path = strtok_r(NULL, ":", &rest), count++)
		add(folders, path, false);
}

static int confine(const struct send_receiver *receiver)
{
	const char *folder_list = getenv("SSL_CERT_DIR");
	struct folders folders = { 0 };
	char list[1024];
	int r;

	(void)snprintf(list, sizeof(list), "%s", folder_list ? folder_list : "");
	add(&folders, "/dev/null", true);
	/* random numbers for TLS libraries without getrandom() */
	add(&folders, "/dev/urandom", false);
	for (size_t i = 0; i < NETWORK_FILES; i++)
		add(&folders, network_files[i], false);
	add(&folders, receiver->files[SEND_CA], false);
	add(&folders, receiver->files[SEND_CERTIFICATE], false);
	add(&folders, receiver->files[SEND_KEY], false);
	add(&folders, getenv("SSL_CERT_FILE"), false);
	add_list(&folders, list);
	r = sandbox_confine(folders.items, folders.count);
	/* Without Landlock it can open what its user can. */
	return r == -ENOSYS || r == -EOPNOTSUPP ? 0 : r;
}

int send_sandbox_close_files(const struct send_receiver *receiver)
{
	const struct sandbox_limits limits = {
		.memory_bytes = MEMORY_BYTES,
		.cpu_s = (uint64_t)receiver->timeout_s + 1,
		.descriptors = DESCRIPTORS,
		.has_threads = true,
	};
	int r = sandbox_limit(&limits);

	return r == 0 ? confine(receiver) : r;
}

int send_sandbox_forbid_calls(void)
{
	return sandbox_forbid_sender();
}
