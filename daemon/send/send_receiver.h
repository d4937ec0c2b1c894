/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sink's settings mean for its type: where it is sent to, and with which headers. */
#pragma once

#include "base/fault.h"
#include "config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum send_file { SEND_CA, SEND_CERTIFICATE, SEND_KEY, SEND_TOKEN, SEND_FILES };

enum { SEND_URL_BYTES = 4096 }; /* a line of the configuration */
enum { SEND_TYPE_HEADERS_MAX = 4, SEND_HEADERS_MAX = SEND_TYPE_HEADERS_MAX + 1 + CONFIG_LIST_MAX };

struct send_receiver {
	char *url;
	char *files[SEND_FILES];	       /* paths; NULL: none */
	const char *headers[SEND_HEADERS_MAX]; /* "Name: value" */
	size_t header_count;
	char version[64];
	long timeout_s;	    /* of one batch */
	bool is_clickhouse; /* batches are several requests, and the token is a password */
	bool is_parca;	    /* the same, to paths below `url` */
};

/* How long sending a batch of this sink may take; 0: its type is not sent. */
uint64_t send_receiver_timeout_ns(const struct config_sink *sink);

/* MaxAge= of a sink; if it is not set, what its type's receivers accept. */
uint64_t send_receiver_max_age(const struct config_sink *sink);

/* What its type's receivers accept in a batch before compression; 0: any size. */
uint64_t send_receiver_plain_bytes_max(const struct config_sink *sink);

/*
 * The receiver of a sink, which must outlive it. Files without a slash are credentials in the
 * folder `credentials` (systemd.exec(5)); NULL: there is none. Returns 0; -ENOTSUP its type is not
 * sent; -ENOENT with `fault`; or -ENOMEM.
 */
int send_receiver_init(struct send_receiver *receiver, const struct config_sink *sink,
	const char *credentials, struct fault *fault);
void send_receiver_done(struct send_receiver *receiver);
