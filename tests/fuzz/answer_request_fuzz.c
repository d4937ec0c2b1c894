/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Request parameters: pairs of NUL-terminated strings. The first byte says whether the request is
 * for a difference. Every request gets a complete reply of clean text; without a history, none
 * succeeds.
 */
#include "answer/answer.h"

#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct answer_request *request = calloc(1, sizeof(*request));
	struct answer_reply reply;
	const char *text = reply.text;

	if (!request)
		abort();
	request->version = ANSWER_VERSION;
	request->kind = size > 0 && bytes[0] % 2 == 1 ? ANSWER_DIFFERENCE : ANSWER_PROFILE;
	request->owner = size > 0 && bytes[0] & 2 ? 1001 : 0;
	if (size > 0 && bytes[0] & 4 && request->owner == 0)
		request->kind = bytes[0] & 8 ? ANSWER_INCIDENTS : ANSWER_TIMELINE;
	else if (size > 0 && bytes[0] & 16)
		request->kind = ANSWER_HEATMAP;
	request->scope = request->owner ? ANSWER_OWN : ANSWER_ALL;
	request->now_ns = UINT64_C(1795260896000000000);
	request->memory_max = 1 << 20;
	if (size > 0) {
		request->parameters_bytes = (uint32_t)(size - 1);
		memcpy(request->parameters, bytes + 1,
			size - 1 < sizeof(request->parameters) ? size - 1
							       : sizeof(request->parameters));
	}
	answer_make(request, -1, &reply);
	assert(reply.version == ANSWER_VERSION && reply.bytes == 0);
	assert(reply.status == 400 || reply.status == 503);
	assert(memchr(text, '\0', sizeof(reply.text)) && text[0]);
	for (size_t step; *text; text += step) {
		step = utf8_sequence(text, strlen(text));
		assert(step > 0 && (unsigned char)*text >= ' ');
	}
	free(request);
	return 0;
}
