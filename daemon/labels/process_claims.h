/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program claims of itself by OpenTelemetry's process context
 * (pilotlight/process_context.h): the attributes of its resource that name a service. Anyone may
 * claim anything, so claims never stand for a unit, a container or a pod. service.instance.id is
 * left out: it is another one for each process, whose number and start are known.
 *
 * Claims are a text: "NAME,NAMESPACE,ENVIRONMENT" without commas at its end, so "" if there are
 * none. In each, ',' is "%2C" and '%' is "%25".
 */
#pragma once

#include <stddef.h>

enum process_claim { CLAIM_SERVICE, CLAIM_NAMESPACE, CLAIM_ENVIRONMENT, CLAIM_COUNT };

enum {
	CLAIM_BYTES = 100,			      /* of one; longer ones are cut */
	CLAIMS_BYTES = CLAIM_COUNT * 3 * CLAIM_BYTES, /* the string pool keeps 1 KiB */
};

/* "service.name" */
const char *process_claim_attribute(enum process_claim claim);

/* Reads a payload, and writes the claims as valid UTF-8. Returns 0 or -EBADMSG. */
int process_claims_read(const void *payload, size_t size, char text[CLAIMS_BYTES]);

/* Copies a claim from such a text; "": there is none. Returns `claimed`. */
const char *process_claims_get(
	const char *text, enum process_claim claim, char claimed[CLAIM_BYTES]);
