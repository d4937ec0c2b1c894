/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a receiver's answer to a batch. All of it is hostile (I8): lengths are checked, and texts
 * are made fit to be shown.
 */
#pragma once

#include "send/send_request.h"

#include <stddef.h>
#include <stdint.h>

/* Waits that receivers ask for are cut to this. */
enum { RECEIVER_RETRY_AFTER_MAX_S = 3600 };

/*
 * Retry-After of RFC 9110: a number of seconds, or a date, which counts from the receiver's `date`,
 * the field Date: this host's clock may be wrong. Without that it counts from `now_s`
 * (CLOCK_REALTIME). Returns how long to wait; 0: no valid value, or a date in the past.
 */
uint32_t receiver_answer_retry_after(const char *value, const char *date, uint64_t now_s);

/*
 * Reads the body. That of a success may be an ExportProfilesServiceResponse of OpenTelemetry, with
 * the number of profiles that were rejected; that of a failure a google.rpc.Status. Bodies of other
 * types than protobuf are texts. What is no such message counts as empty.
 */
void receiver_answer_read(unsigned status, const char *content_type, const uint8_t *body,
	size_t size, uint64_t *ret_rejected, char text[SEND_TEXT_BYTES]);

/* Copies what can be shown in one line, cut to the room. */
void receiver_answer_clean(const char *bytes, size_t size, char text[SEND_TEXT_BYTES]);
