/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/task_sources.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "symbol/elf_image.h"
#include "symbolize/split_file.h"

#include <errno.h>

enum { RETRY_S = 24 * 60 * 60 };

int task_identify(struct symbol_binary *binary, struct symbol_identity *ret_identity)
{
	int fd = binary->fd >= 0 ? binary->fd : binary->debug_fd;

	if (binary->build_id.size == 0 && fd >= 0) {
		struct elf_image image;
		int r = elf_image_read(fd, &image);

		if (r < 0)
			return r;
		binary->build_id = image.build_id;
	}
	return symbol_identity_of_binary(fd, &binary->build_id, ret_identity);
}

static struct symbol_binary binary_of(const struct task *task)
{
	return (struct symbol_binary){
		.build_id = task->build_id,
		.path = task->path,
		.fd = task->fd,
		.debug_fd = task->debug_fd,
		.debug_path = task->debug_path,
	};
}

void task_find_debug_files(
	struct broker *broker, const struct task *task, struct debug_files *ret_files)
{
	struct symbol_binary binary = binary_of(task);

	debug_files_find(broker, &binary, ret_files);
}

void task_take_debug_file(struct broker *broker, const struct task *task, int debug_fd,
	enum pilotlight_symbol_rank rank, struct debug_files *ret_files)
{
	struct symbol_binary binary = binary_of(task);

	debug_files_take(broker, &binary, debug_fd, rank, ret_files);
}

int task_open_split_file(
	struct broker *broker, const struct task *task, const char *path, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r;

	r = split_file_open(
		broker, path, task->path, task->fd >= 0 ? task->fd : task->debug_fd, &fd);
	if (r < 0)
		return r;
	/* Only trusted files contribute to the symbols of a trusted file. */
	if (task->identity.kind != PILOTLIGHT_SYMBOL_OWNED && !file_owner_is_trusted(fd))
		return -EACCES;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Is a file that changed at `changed_s` worth another try? */
static bool is_due(const struct pilotlight_symbol_header *header, int64_t changed_s, bool is_eager)
{
	uint64_t now_s = clock_realtime_ns() / NSEC_PER_SEC;

	return is_eager || changed_s >= (int64_t)header->created_s ||
	       now_s > header->created_s + RETRY_S;
}

bool task_has_better(struct broker *broker, const struct task *task,
	const struct pilotlight_symbol_header *header, bool is_eager)
{
	struct debug_files files;
	bool is_better;

	task_find_debug_files(broker, task, &files);
	is_better = files.debug_fd >= 0 && files.rank > header->rank &&
		    is_due(header, files.changed_s, is_eager);
	if (header->contents & PILOTLIGHT_SYMBOL_LACKS_SPLIT && files.rank >= header->rank &&
		(task->fd >= 0 || files.debug_fd >= 0))
		is_better = is_better || is_due(header, files.package_changed_s, is_eager);
	debug_files_done(&files);
	return is_better;
}
