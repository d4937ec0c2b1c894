/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/unwinding_files.h"

#include "process/process_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_vdso(const struct pilotlight_file_key *key)
{
	static const struct pilotlight_file_key vdso;

	return memcmp(key, &vdso, sizeof(vdso)) == 0;
}

/* Is it the file that the sampler saw? Compares size and modification time. */
static bool is_file(int fd, const struct pilotlight_file_key *key)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (uint64_t)status.st_size == key->size_bytes &&
	       status.st_mtim.tv_sec == key->modified_s &&
	       (uint32_t)status.st_mtim.tv_nsec == key->modified_ns;
}

static bool has_build_id(int fd, const struct build_id *id)
{
	struct elf_image image;

	return elf_image_read(fd, &image) == 0 && build_id_equal(&image.build_id, id);
}

static bool is_no_elf(int fd)
{
	struct elf_image image;

	return fd >= 0 && elf_image_read(fd, &image) == -ENOEXEC;
}

/*
 * Opens the file of a request as the process has it mapped, or by its path if the process is gone.
 * Fails rather than open another file: its table would be used for as long as the key is known.
 * Returns -EMEDIUMTYPE if it is shared memory without a file. The broker hands out no file that is
 * not ELF: -ENOEXEC. That proves nothing about the requested file, as the process may map another
 * one at that address by now.
 */
static int open_requested(const struct unwinding_files *files,
	const struct pilotlight_file_key *key, const struct pilotlight_walk_request *request,
	const struct process_mapping *mapping, int *ret_fd)
{
	const struct broker_process process = {
		.pid = (pid_t)request->process.tgid,
		.start_ns = request->process.start_ns,
	};
	struct mapped_file file;
	int fd = -1, r;

	process_table_file(files->processes, mapping->file, &file);
	if (!file.is_regular)
		return -EMEDIUMTYPE;
	r = broker_open_mapping(
		files->broker, &process, request->start, request->end, file.path, &fd);
	if (r == 0 && is_file(fd, key)) {
		*ret_fd = fd;
		return 0;
	}
	if (r == 0)
		(void)close(fd);
	/* The file system does not answer: do not wait for it twice. */
	if (r == -ETIMEDOUT)
		return r;
	r = broker_open_path(files->broker, file.path, &fd);
	if (r < 0)
		return r;
	if (!is_file(fd, key)) {
		(void)close(fd);
		return -ESTALE;
	}
	*ret_fd = fd;
	return 0;
}

/*
 * Adds the requested mapping to the table if its record was lost, as when others map so often that
 * the buffer is full. The process must have the file mapped there still.
 */
static bool learn_mapping(const struct unwinding_files *files,
	const struct pilotlight_file_key *key, const struct pilotlight_walk_request *request)
{
	const struct broker_process process = {
		.pid = (pid_t)request->process.tgid,
		.start_ns = request->process.start_ns,
	};
	const struct process_mapping mapping = {
		.start = request->start, .end = request->end, .offset = request->offset
	};
	_cleanup_close_ int fd = -1;

	return broker_open_mapping(
		       files->broker, &process, request->start, request->end, NULL, &fd) == 0 &&
	       is_file(fd, key) &&
	       process_scan_mapping(
		       files->processes, process.pid, request->time_ns, &mapping, fd) == 0;
}

static bool find_requested(const struct unwinding_files *files,
	const struct pilotlight_walk_request *request, struct process_mapping *ret_mapping)
{
	return process_table_find(files->processes, (pid_t)request->process.tgid, request->time_ns,
		request->start, ret_mapping);
}

static int duplicate_file(const struct binary *binary, int *ret_fd)
{
	int fd = binary->fd < 0 ? -1 : fcntl(binary->fd, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return -ENOENT;
	*ret_fd = fd;
	return 0;
}

int unwinding_files_identify(const struct unwinding_files *files,
	const struct pilotlight_file_key *key, const struct pilotlight_walk_request *request,
	uint32_t *ret_binary, int *ret_fd)
{
	const struct broker_process process = {
		.pid = (pid_t)request->process.tgid,
		.start_ns = request->process.start_ns,
	};
	_cleanup_close_ int fd = -1;
	struct process_mapping mapping;
	struct binary binary;
	uint32_t id;
	int r;

	if (!find_requested(files, request, &mapping) &&
		!(learn_mapping(files, key, request) && find_requested(files, request, &mapping)))
		return -ESRCH;
	if (!is_vdso(key)) {
		r = open_requested(files, key, request, &mapping, &fd);
		if (r < 0)
			return r;
	}
	r = binary_table_find_mapping(files->binaries, &process, request->time_ns, &mapping, &id);
	if (r < 0)
		return r;
	binary_table_get(files->binaries, id, &binary);
	if (!binary.image && is_no_elf(fd))
		return -EMEDIUMTYPE;
	if (is_vdso(key)) {
		r = duplicate_file(&binary, &fd);
		if (r < 0)
			return r;
	} else if (binary.build_id.size > 0 && !has_build_id(fd, &binary.build_id)) {
		return -ESTALE;
	}
	*ret_binary = id;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int unwinding_files_identity(
	const struct binary *binary, int fd, struct symbol_identity *ret_identity)
{
	return fd < 0 ? -ENOENT : symbol_identity_of_binary(fd, &binary->build_id, ret_identity);
}

/* Are the contents the same? By identity, or if that is not known, by size and time. */
static bool is_of(const struct walk_file *file, const struct binary *binary, int fd)
{
	struct symbol_identity identity;

	if (file->identity.id.size == 0)
		return is_vdso(&file->key) || is_file(fd, &file->key);
	if (binary->build_id.size > 0 && !has_build_id(fd, &binary->build_id))
		return false;
	return unwinding_files_identity(binary, fd, &identity) == 0 &&
	       symbol_identity_equal(&identity, &file->identity);
}

int unwinding_files_open_again(const struct unwinding_files *files, const struct walk_file *file,
	const struct binary *binary)
{
	_cleanup_close_ int fd = -1;

	(void)duplicate_file(binary, &fd);
	if (fd >= 0 && is_of(file, binary, fd))
		return TAKE_FD(fd);
	if (fd >= 0)
		(void)close(TAKE_FD(fd));
	if (binary->path[0] != '/' || broker_open_path(files->broker, binary->path, &fd) < 0)
		return -1;
	return is_of(file, binary, fd) ? TAKE_FD(fd) : -1;
}
