/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/jit/jit_input.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "pilotlight/jitdump.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A function's debug information beyond this is cut. */
enum { BUFFER_BYTES = 4 << 20 };

/* The records between two checks for an interruption; any moderate number will do. */
enum { STEPS = 1 << 20 };

static bool has_magic(int fd)
{
	uint32_t magic;

	return pread(fd, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       (magic == PILOTLIGHT_JITDUMP_MAGIC || magic == PILOTLIGHT_JITDUMP_MAGIC_SWAPPED);
}

int jit_input_open(const char *path, struct jit_input *ret_input, struct fault *fault)
{
	_cleanup_close_ int fd = -1;
	struct stat status;
	int error;

	*ret_input = (struct jit_input){ .path = path, .fd = -1 };
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0) {
		error = -errno;
		return fault_set(fault, error, "cannot open '%s': %s", path, strerror(-error));
	}
	if (!S_ISREG(status.st_mode))
		return fault_set(fault, -EINVAL, "'%s' is no regular file", path);
	ret_input->bytes = (uint64_t)status.st_size;
	ret_input->changed_ns =
		(uint64_t)status.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)status.st_mtim.tv_nsec;
	ret_input->is_jitdump = has_magic(fd);
	ret_input->fd = TAKE_FD(fd);
	return 0;
}

void jit_input_done(struct jit_input *input)
{
	if (input->fd >= 0)
		(void)close(input->fd);
	input->fd = -1;
}

static int check(const char *path, const struct jitdump_reader_state *state, struct fault *fault)
{
	switch (state->fault) {
	case JITDUMP_FAULT_NO_HEADER:
	case JITDUMP_FAULT_NOT_JITDUMP:
	case JITDUMP_FAULT_VERSION:
	case JITDUMP_FAULT_HEADER_SIZE:
		return fault_set(fault, -EBADMSG, "'%s' is no jitdump file that can be read: %s",
			path, jitdump_fault_name(state->fault));
	case JITDUMP_FAULT_READ:
		return fault_set(fault, -EIO, "cannot read '%s' beyond byte %llu", path,
			(unsigned long long)state->fault_offset);
	default:
		return 0;
	}
}

int jit_input_read(struct jit_input *input, struct code_index *index,
	jitdump_record_function function, void *context, struct jitdump_reader_state *ret_state,
	struct fault *fault)
{
	_cleanup_(jitdump_reader_freep) struct jitdump_reader *reader = NULL;
	const struct jitdump_reader_options options = {
		.buffer_bytes = BUFFER_BYTES,
		.path = input->path,
		.latest_ns = UINT64_MAX,
	};
	struct jitdump_reader_state state;
	int64_t left;
	int r;

	if (!input->is_jitdump)
		return fault_set(fault, -EBADMSG, "'%s' is no jitdump file", input->path);
	r = jitdump_reader_new(TAKE_FD(input->fd), &options, &reader);
	if (r < 0)
		return r;
	if (function)
		jitdump_reader_set_watcher(reader, function, context);
	do {
		left = jitdump_reader_run(reader, index, STEPS);
	} while (left == 0);
	if (left < 0)
		return (int)left;
	jitdump_reader_state(reader, &state);
	r = check(input->path, &state, fault);
	if (r == 0)
		*ret_state = state;
	return r;
}
