/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that the tests of capture's messages share. */
#pragma once

#include "capture/capture.h"
#include "pilotlight/capture_message.h"
#include "tests/harness/descriptors.h"

#include <stdint.h>
#include <string.h>

/* A well-formed request; of PILOTLIGHT_CAPTURE_OPEN with settings that are good. */
static inline struct pilotlight_capture_request request_of(uint32_t operation)
{
	struct pilotlight_capture_request request;

	memset(&request, 0, sizeof(request));
	request.version = PILOTLIGHT_CAPTURE_VERSION;
	request.operation = operation;
	request.number = 7;
	if (operation == PILOTLIGHT_CAPTURE_OPEN) {
		request.rate_hz = 99;
		request.map_budget_bytes = 4 << 20;
		request.wants_kernel = 1;
		request.sources = 1 << PILOTLIGHT_SOURCE_CPU;
	}
	return request;
}
