/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a sink's settings mean for its type: where it is sent to, and with which headers. */
#pragma once

#include "config/config.h"
#include "send/send_job.h"

struct service_receiver {
	struct send_receiver receiver; /* strings are of this struct and of the configuration */
	char *url;		       /* NULL: it is not sent */
	char *attributes;	       /* with the id of this host; NULL: none */
	const char **headers;
	char version[64];
	char host_id[65]; /* of this host (host_id.h), or its name */
};

/* MaxAge= of a sink; if it is not set, what its type's receivers accept. */
uint64_t service_receiver_max_age(const struct config_sink *sink);

/* What its type's receivers accept in a batch before compression; 0: any size. */
uint64_t service_receiver_plain_bytes_max(const struct config_sink *sink);

/* One for each sink; the configuration must outlive them. Reads the id of this host. Returns 0 or
 * -ENOMEM. */
int service_receivers_new(const struct config *config, struct service_receiver **ret_receivers);
/* `receivers` may be NULL. */
void service_receivers_free(struct service_receiver *receivers);
