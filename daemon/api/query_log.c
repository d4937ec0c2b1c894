/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/query_log.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "supervise/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINES_A_PERIOD = 10 };

#define PERIOD_NS (60ULL * NSEC_PER_SEC)

/* Returns NULL if the quota is used up, else the end of the line to log. */
static const char *use_quota(struct query_log_quota *quota)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - quota->since_ns >= PERIOD_NS)
		*quota = (struct query_log_quota){ .since_ns = now_ns };
	if (quota->logged == LINES_A_PERIOD)
		return NULL;
	quota->logged++;
	return quota->logged == LINES_A_PERIOD ? "; no more such messages for a minute" : "";
}

void query_log_answer(struct query_log *log, const char *path, const struct http_peer *peer,
	unsigned status, uint64_t bytes)
{
	char peer_name[HTTP_PEER_TEXT_BYTES], uid[16], pid[16], status_text[16], bytes_text[24];
	const char *more = use_quota(&log->answers[http_peer_is_guest(peer)]);
	const struct log_field fields[] = {
		{ "PATH", path },
		{ "STATUS", status_text },
		{ "BYTES", bytes_text },
		{ "PEER", peer->address },
		/* Unix sockets only; TCP has no credentials. */
		{ "PEER_UID", uid },
		{ "PEER_PID", pid },
	};
	const struct log_event event = {
		.level = LOG_LEVEL_INFO,
		.id = JOURNAL_ANSWERED,
		.fields = fields,
		.field_count = peer->is_local ? ARRAY_SIZE(fields) : ARRAY_SIZE(fields) - 2,
	};

	if (!more)
		return;
	(void)snprintf(uid, sizeof(uid), "%u", (unsigned)peer->uid);
	(void)snprintf(pid, sizeof(pid), "%d", (int)peer->pid);
	(void)snprintf(status_text, sizeof(status_text), "%u", status);
	(void)snprintf(bytes_text, sizeof(bytes_text), "%" PRIu64, bytes);
	log_event(&event, "'%s' answered to %s with status %u, %" PRIu64 " bytes%s", path,
		http_peer_text(peer, peer_name), status, bytes, more);
}

void query_log_refusal(struct query_log *log, const char *path, const struct http_peer *peer,
	unsigned status, const char *reason)
{
	char clean[UTF8_CLEAN_BYTES], peer_name[HTTP_PEER_TEXT_BYTES];
	const char *more = use_quota(&log->refusals[http_peer_is_guest(peer)]);

	if (!more)
		return;
	(void)utf8_clean(clean, reason, strlen(reason));
	log_info("'%s' refused to %s with status %u: %s%s", path, http_peer_text(peer, peer_name),
		status, clean, more);
}
