/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

enum {
	LINKS_MAX = 40, /* as the kernel has it */
	NAMES_MAX = 16, /* random names that are tried; one of 2^64 is hardly ever taken */
	TEMPORARY_BYTES = sizeof(".pilotlight-0123456789abcdef"),
};

struct output_file {
	char *path;	  /* as it was given, for messages */
	char *target;	  /* what is replaced, cut in two at its last slash; NULL: none */
	const char *name; /* of the target in its folder; NULL: written in place */
	int folder_fd;
	int fd; /* -1: output_file_begin() opens it */
	bool is_borrowed;
	bool is_there; /* and `status` is what was there */
	bool keeps_old, has_old;
	struct stat status;
	char temporary[TEMPORARY_BYTES]; /* a name in the folder, to be removed; empty: none */
	bool holds_signals;		 /* and `mask` is for later */
	sigset_t mask;
};

/* While a file has a temporary name, only SIGKILL may end the program. */
static void hold_signals(struct output_file *file)
{
	sigset_t all;

	(void)sigfillset(&all);
	if (!file->holds_signals)
		(void)sigprocmask(SIG_BLOCK, &all, &file->mask);
	file->holds_signals = true;
}

/* Leaves no temporary name and releases the signals. */
static void tidy(struct output_file *file)
{
	if (file->temporary[0])
		(void)unlinkat(file->folder_fd, file->temporary, 0);
	file->temporary[0] = '\0';
	if (file->holds_signals)
		(void)sigprocmask(SIG_SETMASK, &file->mask, NULL);
	file->holds_signals = false;
}

void output_file_free(struct output_file *file)
{
	if (!file)
		return;
	tidy(file);
	if (file->fd >= 0 && !file->is_borrowed)
		(void)close(file->fd);
	if (file->folder_fd >= 0)
		(void)close(file->folder_fd);
	free(file->target);
	free(file->path);
	free(file);
}

/* --- finding the place ------------------------------------------------------------------------ */

static char *join(const char *first, size_t first_size, const char *second, size_t second_size)
{
	char *joined = malloc(first_size + second_size + 1);

	if (!joined)
		return NULL;
	memcpy(joined, first, first_size);
	memcpy(joined + first_size, second, second_size);
	joined[first_size + second_size] = '\0';
	return joined;
}

/*
 * Follows a dangling link. The kernel follows links to existing files, and guards against links
 * that others plant in folders like /tmp; here only our own user's links are followed.
 */
static int follow_links(const char *path, char **ret_target)
{
	_cleanup_free_ char *target = strdup(path);
	char text[PATH_MAX];

	if (!target)
		return -ENOMEM;
	for (int i = 0; i < LINKS_MAX; i++) {
		_cleanup_close_ int fd = openat(AT_FDCWD, target, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		const char *slash = strrchr(target, '/');
		struct stat status = { 0 };
		ssize_t size;
		char *next;

		if ((fd < 0 && errno != ENOENT) || (fd >= 0 && fstat(fd, &status) < 0))
			return -errno;
		if (!S_ISLNK(status.st_mode)) {
			*ret_target = TAKE_PTR(target);
			return 0;
		}
		if (status.st_uid != geteuid())
			return -EACCES;
		size = readlinkat(fd, "", text, sizeof(text));
		if (size < 0)
			return -errno;
		if (size == sizeof(text))
			return -ENAMETOOLONG;
		next = join(target, slash && text[0] != '/' ? (size_t)(slash - target) + 1 : 0,
			text, (size_t)size);
		if (!next)
			return -ENOMEM;
		free(target);
		target = next;
	}
	return -ELOOP;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * The name of an open file, without links. `ret_target` is NULL if the file was deleted, or cannot
 * be replaced by rename(), such as a mount point.
 */
static int find_name(int fd, const struct stat *status, char **ret_target)
{
	char link[64], text[PATH_MAX];
	struct statx mounted = { 0 };
	struct stat named;
	ssize_t size;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, text, sizeof(text));
	if (size < 0 || size == sizeof(text))
		return 0;
	text[size] = '\0';
	if (stat(text, &named) < 0 || !is_same_file(&named, status))
		return 0;
	if (statx(fd, "", AT_EMPTY_PATH, 0, &mounted) == 0 &&
		(mounted.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return 0;
	*ret_target = strdup(text);
	return *ret_target ? 0 : -ENOMEM;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Only the owner may read a replacement until it has the old file's mode. */
static mode_t first_mode(const struct output_file *file)
{
	return file->is_there ? 0600 : 0666;
}

static int choose_temporary(struct output_file *file)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EIO;
	(void)snprintf(file->temporary, sizeof(file->temporary), ".pilotlight-%016" PRIx64, number);
	return 0;
}

static int create_named(struct output_file *file)
{
	int r = -EEXIST;

	hold_signals(file);
	for (int i = 0; i < NAMES_MAX && r == -EEXIST; i++) {
		r = choose_temporary(file);
		if (r < 0)
			break;
		file->fd = openat(file->folder_fd, file->temporary,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, first_mode(file));
		r = file->fd < 0 ? -errno : 0;
	}
	if (r < 0)
		file->temporary[0] = '\0';
	return r;
}

/* Without O_TMPFILE, this file only tests that one can be created; begin() makes another. */
static int create(struct output_file *file)
{
	int r;

	file->fd = openat(file->folder_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, first_mode(file));
	if (file->fd >= 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != EISDIR)
		return -errno;
	r = create_named(file);
	if (r == 0)
		(void)close(TAKE_FD(file->fd));
	tidy(file);
	return r;
}

/* Takes `target`. */
static int open_beside(struct output_file *file, char *target)
{
	char *slash = strrchr(target, '/');
	const char *folder = slash ? target : ".";

	file->target = target;
	file->name = slash ? slash + 1 : target;
	if (file->name[0] == '\0')
		return -EISDIR;
	if (slash == target)
		folder = "/";
	else if (slash)
		*slash = '\0';
	file->folder_fd = openat(AT_FDCWD, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return file->folder_fd < 0 ? -errno : create(file);
}

static int open_in_place(struct output_file *file)
{
	file->fd = openat(AT_FDCWD, file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return file->fd < 0 ? -errno : 0;
}

/* Is the file open as standard output or error? It must then be written in place. */
static bool is_stream(const struct stat *status, int fd)
{
	struct stat stream;

	return fstat(fd, &stream) == 0 && is_same_file(&stream, status);
}

static int open_existing(struct output_file *file, int fd)
{
	_cleanup_free_ char *target = NULL;
	int r;

	if (fstat(fd, &file->status) < 0)
		return -errno;
	file->is_there = true;
	if (S_ISDIR(file->status.st_mode))
		return -EISDIR;
	for (int stream = STDOUT_FILENO; stream <= STDERR_FILENO; stream++) {
		/* If a standard stream was closed, `fd` has its number. */
		if (stream == fd || !is_stream(&file->status, stream))
			continue;
		file->fd = stream;
		file->is_borrowed = true;
		return 0;
	}
	if (faccessat(AT_FDCWD, file->path, W_OK, AT_EACCESS) < 0)
		return -errno;
	if (S_ISFIFO(file->status.st_mode))
		return 0;
	if (!S_ISREG(file->status.st_mode))
		return open_in_place(file);
	r = find_name(fd, &file->status, &target);
	if (r < 0)
		return r;
	return target ? open_beside(file, TAKE_PTR(target)) : open_in_place(file);
}

static int open_path(struct output_file *file)
{
	_cleanup_close_ int fd = openat(AT_FDCWD, file->path, O_PATH | O_CLOEXEC);
	char *target;
	int r;

	if (fd >= 0)
		return open_existing(file, fd);
	if (errno != ENOENT)
		return -errno;
	r = follow_links(file->path, &target);
	return r < 0 ? r : open_beside(file, target);
}

static int fail(const struct output_file *file, int error, struct fault *fault)
{
	return fault_set(fault, error, "cannot write '%s': %s; %sname another place with -o",
		file->path, strerror(-error),
		error == -ENOSPC || error == -EDQUOT ? "free some room, or " : "");
}

int output_file_open(const char *path, struct output_file **ret_file, struct fault *fault)
{
	_cleanup_(output_file_freep) struct output_file *file = calloc(1, sizeof(*file));
	int r = 0;

	if (!file)
		return fault_set(fault, -ENOMEM, "out of memory");
	file->fd = file->folder_fd = -1;
	file->path = strdup(path);
	if (!file->path)
		return fault_set(fault, -ENOMEM, "out of memory");
	if (strcmp(path, "-") == 0) {
		file->fd = STDOUT_FILENO;
		file->is_borrowed = true;
	} else {
		r = open_path(file);
	}
	if (r < 0)
		return fail(file, r, fault);
	*ret_file = TAKE_PTR(file);
	return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

int output_file_begin(struct output_file *file, int *ret_fd, struct fault *fault)
{
	int r = 0;

	if (file->fd < 0)
		r = file->name ? create_named(file) : open_in_place(file);
	else if (file->is_there && S_ISREG(file->status.st_mode) && !file->name &&
		 !file->is_borrowed)
		r = ftruncate(file->fd, 0) < 0 ? -errno : 0;
	if (r < 0)
		return fail(file, r, fault);
	*ret_fd = file->fd;
	return 0;
}

/* Some file systems report that they are full only when a descriptor is closed; a duplicate will
 * do. */
static int flush(int fd)
{
	int other = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return other < 0 || close(other) < 0 ? -errno : 0;
}

static void keep_owner_and_mode(const struct output_file *file)
{
	(void)!fchown(file->fd, (uid_t)-1, file->status.st_gid);
	(void)!fchown(file->fd, file->status.st_uid, (gid_t)-1);
	(void)fchmod(file->fd, file->status.st_mode & 0777);
}

/* Links an unnamed file to its name if that is free, else to a temporary name. */
static int give_name(struct output_file *file)
{
	char link[64];
	int r;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	hold_signals(file);
	if (linkat(AT_FDCWD, link, file->folder_fd, file->name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	r = -errno;
	for (int i = 0; i < NAMES_MAX && r == -EEXIST; i++) {
		r = choose_temporary(file);
		if (r == 0 && linkat(AT_FDCWD, link, file->folder_fd, file->temporary,
				      AT_SYMLINK_FOLLOW) < 0)
			r = -errno;
	}
	if (r < 0)
		file->temporary[0] = '\0';
	return r;
}

/* For a moment there is no file of the name. */
static int keep_old(struct output_file *file)
{
	char old[NAME_MAX + 1];

	if (!file->keeps_old)
		return 0;
	if (snprintf(old, sizeof(old), "%s.old", file->name) >= (int)sizeof(old))
		return -ENAMETOOLONG;
	if (renameat(file->folder_fd, file->name, file->folder_fd, old) < 0)
		return errno == ENOENT ? 0 : -errno;
	file->has_old = true;
	return 0;
}

static int publish(struct output_file *file)
{
	int r = 0;

	if (file->is_there)
		keep_owner_and_mode(file);
	if (!file->temporary[0])
		r = give_name(file);
	if (r < 0 || !file->temporary[0])
		return r;
	r = keep_old(file);
	if (r < 0)
		return r;
	if (renameat(file->folder_fd, file->temporary, file->folder_fd, file->name) < 0)
		return -errno;
	file->temporary[0] = '\0';
	return 0;
}

void output_file_keep_old(struct output_file *file)
{
	file->keeps_old = true;
}

void output_file_report(const struct output_file *file, const char *path)
{
	(void)fprintf(stderr, "written to %s", path);
	if (file->has_old)
		(void)fprintf(stderr, "; the one before is %s.old now", path);
	(void)fputc('\n', stderr);
}

int output_file_commit(struct output_file *file, int error, struct fault *fault)
{
	if (error == 0)
		error = flush(file->fd);
	if (error == 0 && file->name)
		error = publish(file);
	tidy(file);
	return error < 0 ? fail(file, error, fault) : 0;
}
