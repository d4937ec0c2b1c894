/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/service_identity.h"

#include "base/hex.h"
#include "labels/process_claims.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const char SERVICE_ENDING[] = ".service";

enum { SHORT_DIGITS = 12, CONTAINER_DIGITS = 32, IDENTITY_BYTES = 4096 };

static bool is_id(const char *text)
{
	size_t digits = 0;

	while (hex_digit(text[digits]) >= 0)
		digits++;
	return digits >= CONTAINER_DIGITS;
}

void service_identity_name(const struct service_identity *service, char name[SERVICE_NAME_BYTES])
{
	const size_t ending = sizeof(SERVICE_ENDING) - 1, size = strlen(service->unit);
	char claimed[CLAIM_BYTES] = "";

	if (service->claims)
		(void)process_claims_get(service->claims, CLAIM_SERVICE, claimed);
	if (size > ending && strcmp(service->unit + size - ending, SERVICE_ENDING) == 0)
		(void)snprintf(
			name, SERVICE_NAME_BYTES, "%.*s", (int)(size - ending), service->unit);
	else if (service->container[0] && is_id(service->container))
		(void)snprintf(name, SERVICE_NAME_BYTES, "container-%.*s", SHORT_DIGITS,
			service->container);
	else if (service->container[0])
		(void)snprintf(name, SERVICE_NAME_BYTES, "%s", service->container);
	else if (service->pod[0])
		(void)snprintf(name, SERVICE_NAME_BYTES, "pod-%s", service->pod);
	else
		(void)snprintf(name, SERVICE_NAME_BYTES, "%s",
			size > 0     ? service->unit
			: claimed[0] ? claimed
				     : "unknown_service");
}

/* Not by hash_bytes(), which differs between processes. */
void service_identity_profile_id(const struct profile *profile, const char *host,
	const struct service_identity *service, uint32_t part, uint8_t ret_id[PROFILE_ID_BYTES])
{
	char identity[IDENTITY_BYTES];
	XXH128_canonical_t id;
	int size = snprintf(identity, sizeof(identity),
		"%s %s %s %s%s %s %" PRIu64 " %" PRIu64 " %" PRIu32, host ? host : "",
		service->unit, service->container, service->pod,
		service->claims ? service->claims : "",
		string_pool_get(&profile->strings, profile->event), profile->start_ns,
		profile->end_ns, part);

	_Static_assert(sizeof(id) == PROFILE_ID_BYTES, "as many as a profile's id has");
	if (size >= (int)sizeof(identity))
		size = sizeof(identity) - 1;
	XXH128_canonicalFromHash(&id, XXH3_128bits(identity, (size_t)size));
	memcpy(ret_id, &id, sizeof(id));
}
