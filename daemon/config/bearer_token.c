/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/bearer_token.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* b64token of RFC 6750, "=" only at the end. */
static const char CHARACTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				 "0123456789-._~+/";

static int find_path(const char *name, char path[PATH_MAX], struct fault *fault)
{
	const char *folder = *name == '/' ? "" : getenv("CREDENTIALS_DIRECTORY");
	int size;

	if (!folder)
		return fault_set(fault, -ENOENT,
			"there is no credential '%.200s': add LoadCredential=%.200s:PATH to the "
			"unit, or write an absolute path",
			name, name);
	size = snprintf(path, PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", name);
	return size < PATH_MAX
		       ? 0
		       : fault_set(fault, -ENAMETOOLONG,
				 "the path of '%.200s' is too long: use a shorter one", name);
}

static int check_file(int fd, const char *path, struct fault *fault)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return fault_set(fault, -errno, "cannot check '%.200s': %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return fault_set(fault, -EINVAL,
			"'%.200s' is not a regular file: write the token into one", path);
	if (status.st_mode & (S_IRWXO | S_IWGRP))
		return fault_set(fault, -EPERM,
			"other users may read or change '%.200s': choose a new token, and run "
			"chmod o=,g-w on the file",
			path);
	return 0;
}

/* Returns the number of bytes, at most `size`, or -errno. */
static ssize_t read_bytes(int fd, char *bytes, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t n = read(fd, bytes + used, size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

static int check_token(const char *token, const char *path, struct fault *fault)
{
	size_t size = strlen(token), plain = strspn(token, CHARACTERS);

	if (size < BEARER_TOKEN_LEAST || size >= BEARER_TOKEN_BYTES)
		return fault_set(fault, -EINVAL,
			"the token in '%.200s' has fewer than %d characters, or more than %d: make "
			"one with openssl rand -hex 32",
			path, BEARER_TOKEN_LEAST, BEARER_TOKEN_BYTES - 1);
	if (plain == 0 || plain + strspn(token + plain, "=") != size)
		return fault_set(fault, -EINVAL,
			"the token in '%.200s' has a character that HTTP does not allow in one: "
			"write one line of letters, digits and -._~+/",
			path);
	return 0;
}

int bearer_token_read(const char *name, char token[BEARER_TOKEN_BYTES], struct fault *fault)
{
	char path[PATH_MAX], text[BEARER_TOKEN_BYTES + 2] = "";
	_cleanup_close_ int fd = -1;
	ssize_t size;
	int r = find_path(name, path, fault);

	if (r < 0)
		return r;
	/* A pipe must not block the start. */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return fault_set(fault, -errno,
			"cannot open '%.200s': %s; the service's user must be able to read it",
			path, strerror(errno));
	r = check_file(fd, path, fault);
	if (r < 0)
		return r;
	size = read_bytes(fd, text, sizeof(text) - 1);
	if (size < 0)
		return fault_set(
			fault, (int)size, "cannot read '%.200s': %s", path, strerror((int)-size));
	/* The longest token and a newline fit. */
	if (size > 0 && text[size - 1] == '\n')
		size--;
	/* A NUL would end the token early. */
	if (memchr(text, '\0', (size_t)size))
		size = 0;
	text[size] = '\0';
	r = check_token(text, path, fault);
	if (r < 0)
		return r;
	memcpy(token, text, (size_t)size + 1);
	return 0;
}
