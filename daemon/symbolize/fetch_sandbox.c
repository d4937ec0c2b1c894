/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/fetch_sandbox.h"

#include "base/array.h"
#include "sandbox/network_files.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DESCRIPTORS = 64,
	FILE_URLS_MAX = 8,
	VARIABLE_FOLDERS_MAX = 4, /* of one variable */
	FOLDERS_MAX = 48,
};
#define MEMORY_BYTES (256ULL << 20) /* the file itself goes to the disk */
#define FILE_SCHEME  "file://"

/*
 * Variables that name files of the administrator (broker/child_kind.c). OpenSSL takes a list of
 * folders, divided by ':'.
 */
static const char *const file_variables[] = {
	"SSL_CERT_FILE",
	"SSL_CERT_DIR",
	"DEBUGINFOD_HEADERS_FILE",
};

struct folders {
	struct sandbox_folder items[FOLDERS_MAX];
	size_t count;
};

static void add_folder(struct folders *folders, struct sandbox_folder folder)
{
	_Static_assert(NETWORK_FILES + ARRAY_SIZE(file_variables) * VARIABLE_FOLDERS_MAX +
				       FILE_URLS_MAX + 3 <=
			       FOLDERS_MAX,
		"folders");
	/* A file that this user cannot reach must not end the fetch from other servers. */
	if (folder.path && access(folder.path, F_OK) == 0)
		folders->items[folders->count++] = folder;
}

/* `list` is cut into words. */
static void add_list(struct folders *folders, char *list)
{
	char *rest = NULL;
	size_t count = 0;

	for (char *path = strtok_r(list, ":", &rest); path && count < VARIABLE_FOLDERS_MAX;
		path = strtok_r(NULL, ":", &rest)) {
		add_folder(folders, (struct sandbox_folder){ .path = path });
		count++;
	}
}

/* The folders of servers that are no servers: file:///srv/debuginfo. `urls` is cut into words. */
static void add_file_urls(struct folders *folders, char *urls)
{
	char *rest = NULL;
	size_t count = 0;

	for (char *url = strtok_r(urls, " ", &rest); url && count < FILE_URLS_MAX;
		url = strtok_r(NULL, " ", &rest))
		if (strncmp(url, FILE_SCHEME, strlen(FILE_SCHEME)) == 0) {
			add_folder(folders,
				(struct sandbox_folder){ .path = url + strlen(FILE_SCHEME) });
			count++;
		}
}

static int confine(const struct fetch_request *request)
{
	struct folders folders = { 0 };
	char urls[FETCH_URLS_BYTES], lists[ARRAY_SIZE(file_variables)][PATH_MAX];
	int r;

	/*
	 * libdebuginfod appends "/buildid/...", which libcurl would drop behind one of these: a
	 * hijacked engine could read any file by file:///etc/passwd#.
	 */
	if (strpbrk(request->urls, "#?"))
		return -EINVAL;
	memcpy(urls, request->urls, sizeof(urls));
	add_folder(&folders, (struct sandbox_folder){ .path = ".", .is_written = true });
	add_folder(&folders, (struct sandbox_folder){ .path = "/dev/null", .is_written = true });
	/* random numbers for TLS libraries without getrandom() */
	add_folder(&folders, (struct sandbox_folder){ .path = "/dev/urandom" });
	for (size_t i = 0; i < NETWORK_FILES; i++)
		add_folder(&folders, (struct sandbox_folder){ .path = network_files[i] });
	for (size_t i = 0; i < ARRAY_SIZE(file_variables); i++) {
		const char *list = getenv(file_variables[i]);

		(void)snprintf(lists[i], sizeof(lists[i]), "%s", list ? list : "");
		add_list(&folders, lists[i]);
	}
	add_file_urls(&folders, urls);
	r = sandbox_confine(folders.items, folders.count);
	/* Without Landlock it can open what its user can. */
	return r == -ENOSYS || r == -EOPNOTSUPP ? 0 : r;
}

int fetch_sandbox_close_files(const struct fetch_request *request)
{
	const struct sandbox_limits limits = {
		.memory_bytes = MEMORY_BYTES,
		.file_bytes = request->bytes_max,
		.cpu_s = request->timeout_s,
		.descriptors = DESCRIPTORS,
		.has_threads = true,
	};
	int r = sandbox_limit(&limits);

	/* By the descriptor: the user "nobody" may be unable to reach the folder by its path. */
	if (r == 0 && fchdir(FETCH_FOLDER_FD) < 0)
		r = -errno;
	return r == 0 ? confine(request) : r;
}

int fetch_sandbox_forbid_calls(void)
{
	return sandbox_forbid_fetcher();
}
