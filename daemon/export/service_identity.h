/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How receivers tell services, hosts and profiles apart: the name of a service, and an id of each
 * profile that is the same whenever it is made or sent again.
 */
#pragma once

#include "aggregate/profile.h"

#include <stddef.h>
#include <stdint.h>

struct service_identity {
	const char *unit, *container, *pod; /* "": none */
	const char *claims;		    /* labels/process_claims.h; NULL or "": none */
};

enum { SERVICE_NAME_BYTES = 256, PROFILE_ID_BYTES = 16 };

/*
 * The name of a service: its systemd unit without ".service"; else its container, of whose digits
 * the first twelve tell enough; else its pod; else another unit, such as a scope; else
 * what the program claims; else "unknown_service".
 */
void service_identity_name(const struct service_identity *service, char name[SERVICE_NAME_BYTES]);

/*
 * The id of a service's profile: a hash of host, service, source and time, and of `part` if it is
 * in several. `host` may be NULL.
 */
void service_identity_profile_id(const struct profile *profile, const char *host,
	const struct service_identity *service, uint32_t part, uint8_t ret_id[PROFILE_ID_BYTES]);
