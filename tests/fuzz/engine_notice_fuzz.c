/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forged engine notices, and the messages that the service manager would get for them. */
#include "base/utf8.h"
#include "supervise/engine_notice.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pilotlight_notice notice;
	char clean[UTF8_CLEAN_BYTES];

	if (engine_notice_check(bytes, size) < 0)
		return 0;
	memcpy(&notice, bytes, sizeof(notice));
	assert(strlen(notice.text) < sizeof(notice.text));
	/* One line, so that it is one assignment. */
	(void)utf8_clean(clean, notice.text, strlen(notice.text));
	assert(!strchr(clean, '\n'));
	return 0;
}
