/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/worker_outcome.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

enum { ERRNO_MAX = 4095 };

static enum pilotlight_symbol_failure failure_of_error(int error)
{
	switch (-error) {
	case 0:
		return PILOTLIGHT_SYMBOL_OK;
	case ENODATA:
		return PILOTLIGHT_SYMBOL_NOTHING;
	case ENOEXEC:
	case EBADMSG:
	case EINVAL:
	case EILSEQ:
	case ENOTSUP:
		return PILOTLIGHT_SYMBOL_DAMAGED;
	case EFBIG:
	case E2BIG:
	case EOVERFLOW:
		return PILOTLIGHT_SYMBOL_TOO_BIG;
	case ENOMEM:
		return PILOTLIGHT_SYMBOL_NO_MEMORY;
	case ENOSPC:
	case EDQUOT:
		return PILOTLIGHT_SYMBOL_NO_SPACE;
	default:
		return PILOTLIGHT_SYMBOL_UNREADABLE;
	}
}

static enum pilotlight_symbol_failure failure_of_silence(const struct child_process_end *end)
{
	if (end->has_timed_out || end->signal == SIGXCPU)
		return PILOTLIGHT_SYMBOL_TIMEOUT;
	if (end->signal == SIGXFSZ)
		return PILOTLIGHT_SYMBOL_TOO_BIG;
	if (end->signal == 0 && end->exit_status == WORKER_EXIT_NO_MEMORY)
		return PILOTLIGHT_SYMBOL_NO_MEMORY;
	return PILOTLIGHT_SYMBOL_CRASHED;
}

/* A rank above that of the files would displace better symbols. */
static bool is_report(const struct child_process_end *end,
	const struct pilotlight_symbol_request *request, struct pilotlight_symbol_report *report)
{
	uint8_t rank_max = PILOTLIGHT_SYMBOL_RANK_BINARY;

	if (end->reply_bytes != sizeof(*report))
		return false;
	memcpy(report, end->reply, sizeof(*report));
	if (report->version != PILOTLIGHT_WORKER_VERSION || report->error > 0 ||
		report->error < -ERRNO_MAX || report->has_taken_debug > request->has_debug ||
		report->has_taken_alternate > request->has_alternate)
		return false;
	if (request->has_debug && request->debug_rank > rank_max)
		rank_max = request->debug_rank;
	return report->error != 0 ||
	       (report->rank > PILOTLIGHT_SYMBOL_RANK_NONE && report->rank <= rank_max);
}

void worker_outcome(const struct child_process_end *end,
	const struct pilotlight_symbol_request *request, int output_fd, uint64_t output_bytes_max,
	struct worker_result *ret_result)
{
	struct pilotlight_symbol_report report;
	struct stat stat;

	*ret_result = (struct worker_result){ .cpu_ns = end->cpu_ns };
	if (!is_report(end, request, &report)) {
		ret_result->failure = failure_of_silence(end);
		ret_result->signal = end->signal;
		return;
	}
	ret_result->report = report;
	if (ret_result->cpu_ns < report.cpu_ns)
		ret_result->cpu_ns = report.cpu_ns;
	ret_result->failure = failure_of_error(report.error);
	if (ret_result->failure != PILOTLIGHT_SYMBOL_OK)
		return;
	if (fstat(output_fd, &stat) < 0)
		ret_result->failure = PILOTLIGHT_SYMBOL_UNREADABLE;
	else if ((uint64_t)stat.st_size > output_bytes_max)
		ret_result->failure = PILOTLIGHT_SYMBOL_TOO_BIG;
}
