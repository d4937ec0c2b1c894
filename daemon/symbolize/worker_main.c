/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/clock.h"
#include "child/child_request.h"
#include "dwarf/dwarf_split_files.h"
#include "extract/code_instruction.h"
#include "extract/extraction.h"
#include "extract/unwind_extraction.h"
#include "sandbox/sandbox.h"
#include "symbolize/split_channel.h"
#include "symbolize/worker_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Not 1: that means libiberty ran out of memory (worker_outcome.h). */
enum { EXIT_NOT_A_WORKER = 3 };

#define STACK_BYTES (16ULL << 20) /* four times the need of demangling */

/*
 * The limit of the address space. Each array in the scratch file reserves the file's whole length,
 * and the binary's files are mapped. It bounds the page tables, which no other limit counts.
 */
enum { ADDRESS_SHARES = 64 };
#define ADDRESS_BYTES_MIN (64ULL << 30)

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Are all files open that the request claims? */
static bool has_files(const struct pilotlight_symbol_request *request)
{
	const struct {
		bool is_claimed;
		int fd;
	} files[] = {
		{ true, PILOTLIGHT_WORKER_OUTPUT_FD },
		{ true, PILOTLIGHT_WORKER_SCRATCH_FD },
		{ request->has_binary, PILOTLIGHT_WORKER_BINARY_FD },
		{ request->has_debug, PILOTLIGHT_WORKER_DEBUG_FD },
		{ request->has_alternate, PILOTLIGHT_WORKER_ALTERNATE_FD },
		{ request->has_package, PILOTLIGHT_WORKER_PACKAGE_FD },
		{ request->has_split_files, PILOTLIGHT_WORKER_SPLIT_FD },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (files[i].is_claimed && !is_open(files[i].fd))
			return false;
	return true;
}

static int receive_request(struct pilotlight_symbol_request *ret_request)
{
	struct pilotlight_symbol_request request;
	int r = child_request_receive(&request, sizeof(request));

	if (r < 0)
		return r;
	if (request.version != PILOTLIGHT_WORKER_VERSION ||
		!(request.has_binary || request.has_debug) ||
		memchr(request.origin, '\0', sizeof(request.origin)) == NULL)
		return -EPROTO;
	if (!has_files(&request))
		return -EBADF;
	*ret_request = request;
	return 0;
}

/* Before the request is received: the sender may have fewer privileges than the process that
 * started this one. */
static int give_up_privileges(void)
{
	int r = sandbox_drop_privileges(SANDBOX_ROOT_STAYS);

	return r == 0 ? sandbox_die_with_parent(PILOTLIGHT_WORKER_SOCKET_FD) : r;
}

static int enter_sandbox(const struct pilotlight_symbol_request *request)
{
	const uint64_t shares_max = (UINT64_MAX - ADDRESS_BYTES_MIN) / ADDRESS_SHARES;
	const uint64_t scratch_bytes = request->scratch_bytes_max;
	const struct sandbox_limits limits = {
		.memory_bytes = request->memory_bytes_max,
		.address_bytes =
			ADDRESS_BYTES_MIN +
			ADDRESS_SHARES * (scratch_bytes < shares_max ? scratch_bytes : shares_max),
		.file_bytes = scratch_bytes,
		.stack_bytes = STACK_BYTES,
		.cpu_s = request->cpu_s_max,
		.descriptors = request->has_split_files ? PILOTLIGHT_WORKER_FDS_MAX : 1,
	};
	int r = sandbox_limit(&limits);

	return r == 0 ? sandbox_forbid_calls() : r;
}

/* The owner must not wait for the disk. Only a lack of space is reported as such; other errors do
 * not come from the binary. */
static int sync_output(void)
{
	if (fdatasync(PILOTLIGHT_WORKER_OUTPUT_FD) == 0)
		return 0;
	return errno == ENOSPC || errno == EDQUOT ? -errno : -EIO;
}

static int work(const struct pilotlight_symbol_request *request,
	struct pilotlight_symbol_report *ret_report)
{
	const struct dwarf_split_opener split_opener = { .open = split_channel_ask };
	const struct extraction_files files = {
		.binary_fd = request->has_binary ? PILOTLIGHT_WORKER_BINARY_FD : -1,
		.debug_fd = request->has_debug ? PILOTLIGHT_WORKER_DEBUG_FD : -1,
		.alternate_fd = request->has_alternate ? PILOTLIGHT_WORKER_ALTERNATE_FD : -1,
		.package_fd = request->has_package ? PILOTLIGHT_WORKER_PACKAGE_FD : -1,
		.scratch_fd = PILOTLIGHT_WORKER_SCRATCH_FD,
		.output_fd = PILOTLIGHT_WORKER_OUTPUT_FD,
		.split_opener = request->has_split_files ? &split_opener : NULL,
	};
	int r;

	/* Without it nothing is inferred. Behind the sandbox's door no file can be opened. */
	(void)code_instruction_load(NULL);
	r = enter_sandbox(request);
	if (r == 0)
		r = request->product == PILOTLIGHT_PRODUCT_UNWIND
			    ? unwind_extraction_run(&files, request, ret_report)
			    : extraction_run(&files, request, ret_report);
	return r == 0 ? sync_output() : r;
}

int worker_main(int argc, char **argv)
{
	struct pilotlight_symbol_request request;
	struct pilotlight_symbol_report report = { 0 };
	int r;

	(void)argc;
	(void)argv;
	/* Otherwise the name is that of /proc/self/exe. */
	(void)prctl(PR_SET_NAME, "symbol-worker", 0, 0, 0);
	/* A write beyond the file size limit fails with EFBIG instead. */
	(void)signal(SIGXFSZ, SIG_IGN);
	r = give_up_privileges();
	if (r == 0) {
		if (receive_request(&request) < 0)
			return EXIT_NOT_A_WORKER;
		r = work(&request, &report);
	}
	report.version = PILOTLIGHT_WORKER_VERSION;
	report.error = r;
	report.cpu_ns = clock_process_cpu_ns();
	if (send(PILOTLIGHT_WORKER_SOCKET_FD, &report, sizeof(report), MSG_NOSIGNAL) < 0)
		return EXIT_NOT_A_WORKER;
	/* Skips cleaning up memory. */
	_exit(EXIT_SUCCESS);
}
