/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/debug_request.h"

#include "base/array.h"
#include "base/build_id.h"
#include "base/cleanup.h"
#include "broker/broker_roots.h"
#include "broker/regular_file.h"
#include "pilotlight/broker_request.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int debug_request_open_path(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	(void)roots;
	if (request->path[0] != '/')
		return -EINVAL;
	return regular_file_open_elf(AT_FDCWD, request->path, REGULAR_FILE_NO_LINKS, ret_fd);
}

static int open_by_build_id(const struct broker_roots *roots, const struct build_id *id,
	const char *ending, int *ret_fd)
{
	char hex[BUILD_ID_HEX_BYTES], name[BUILD_ID_HEX_BYTES + 32], path[PATH_MAX];
	int r;

	(void)build_id_format(id, hex);
	(void)snprintf(name, sizeof(name), ".build-id/%.2s/%s%s", hex, hex + 2, ending);
	r = broker_roots_join(path, roots->debug, name);
	if (r < 0)
		return r;
	return regular_file_open_elf(AT_FDCWD, path, REGULAR_FILE_PLAIN, ret_fd);
}

static int open_by_padded_build_id(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, const char *ending, int *ret_fd)
{
	static const uint8_t usual_sizes[] = { 8, 16, BUILD_ID_BYTES };
	struct build_id id;
	int r = build_id_set(&id, request->build_id, request->build_id_bytes);

	if (r < 0 || id.size < 2)
		return -EINVAL;
	r = open_by_build_id(roots, &id, ending, ret_fd);
	for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(usual_sizes); i++) {
		if (usual_sizes[i] <= request->build_id_bytes)
			continue;
		id.size = usual_sizes[i];
		r = open_by_build_id(roots, &id, ending, ret_fd);
	}
	return r;
}

int debug_request_open_file(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	return open_by_padded_build_id(roots, request, ".debug", ret_fd);
}

int debug_request_open_package(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	int r = open_by_padded_build_id(roots, request, ".debug.dwp", ret_fd);

	return r == -ENOENT ? open_by_padded_build_id(roots, request, ".dwp", ret_fd) : r;
}

static bool is_same_file(int fd, const char *path)
{
	struct stat first, second;

	return fstat(fd, &first) == 0 && stat(path, &second) == 0 &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static bool is_file_name(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int debug_request_open_link(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	/* Only the administrator makes links in the folder of debug files. */
	const struct {
		const char *root, *folder;
		enum regular_file_walk walk;
	} places[] = { { "", "/", REGULAR_FILE_NO_LINKS },
		{ "", "/.debug/", REGULAR_FILE_NO_LINKS },
		{ roots->debug, "/", REGULAR_FILE_PLAIN } };
	const char *binary_path = request->path;
	const char *slash = strrchr(binary_path, '/');
	int r = -ENOENT;

	if (binary_path[0] != '/' || !is_file_name(request->name))
		return -EINVAL;
	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(places); i++) {
		_cleanup_close_ int fd = -1;
		char path[PATH_MAX];
		int length = snprintf(path, sizeof(path), "%s%.*s%s%s", places[i].root,
			(int)(slash - binary_path), binary_path, places[i].folder, request->name);

		if (length < 0 || (size_t)length >= sizeof(path))
			return -ENAMETOOLONG;
		r = regular_file_open_elf(AT_FDCWD, path, places[i].walk, &fd);
		if (r == 0 && is_same_file(fd, binary_path))
			r = -ENOENT;
		if (r == 0)
			*ret_fd = TAKE_FD(fd);
	}
	return r;
}

int debug_request_open_alternate(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd)
{
	static const char folder[] = "/.dwz/";
	const char *found = NULL;
	char below[PATH_MAX];
	int r;

	r = request->build_id_bytes > 0 ? debug_request_open_file(roots, request, ret_fd) : -ENOENT;
	if (r == 0)
		return 0;
	for (const char *next = strstr(request->path, folder); next;
		next = strstr(next + 1, folder))
		found = next;
	if (found && !strstr(found, "/../") &&
		broker_roots_join(below, roots->debug, found + 1) == 0)
		r = regular_file_open_elf(AT_FDCWD, below, REGULAR_FILE_PLAIN, ret_fd);
	if (r < 0 && request->path[0] == '/')
		r = debug_request_open_path(roots, request, ret_fd);
	return r;
}
