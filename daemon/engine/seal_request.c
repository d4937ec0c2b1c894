/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/seal_request.h"

static void forget_future(uint64_t *time_ns, uint64_t now_ns)
{
	if (*time_ns > now_ns)
		*time_ns = 0;
}

void seal_request_add(struct seal_request *request, uint64_t until_ns, uint64_t now_ns)
{
	forget_future(&request->requested_ns, now_ns);
	forget_future(&request->ended_ns, now_ns);
	forget_future(&request->closed_ns, now_ns);
	if (until_ns > now_ns)
		until_ns = now_ns;
	if (until_ns > request->requested_ns)
		request->requested_ns = until_ns;
}

bool seal_request_is_due(const struct seal_request *request)
{
	return request->requested_ns > request->ended_ns;
}

void seal_request_end_window(struct seal_request *request, uint64_t now_ns)
{
	if (request->requested_ns > now_ns)
		request->requested_ns = now_ns;
	request->ended_ns = now_ns;
}

bool seal_request_is_pending(const struct seal_request *request)
{
	return request->requested_ns > request->closed_ns;
}

void seal_request_close_window(struct seal_request *request, uint64_t end_ns)
{
	/* A window that is dropped at once may end after others that are still being written. */
	if (end_ns > request->closed_ns)
		request->closed_ns = end_ns;
}
