/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/send_receiver.h"

#include "base/array.h"
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct protocol {
	const char *type, *path;
	const char *headers[SEND_TYPE_HEADERS_MAX];
	const char *version;	  /* the name of a header; NULL: none */
	uint64_t plain_bytes_max; /* of a batch, which is gzip; 0: any */
	uint64_t age_ns_max; /* the default of MaxAge, since receivers refuse older ones; 0: none */
	bool is_clickhouse, is_parca;
} protocols[] = {
	{ "otlp", "/v1development/profiles",
		{ "Content-Type: application/x-protobuf", "Content-Encoding: gzip" },
		/* the Collector's max_request_body_size, which holds after decompression, too */
		"OTLP-Profiles-Development-Version", 20 << 20, 0, false, false },
	{ "pyroscope", "/push.v1.PusherService/Push",
		{ "Content-Type: application/proto", "Connect-Protocol-Version: 1" }, NULL, 0,
		3600ULL * NSEC_PER_SEC, false, false },
	{ "parca", "/api", { "Content-Type: application/json" }, NULL, 0, 0, false, true },
	{ "clickhouse", "", { "Content-Encoding: gzip" }, NULL, 0, 0, true, false },
};

static const struct protocol *find_protocol(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++)
		if (strcmp(protocols[i].type, type) == 0)
			return &protocols[i];
	return NULL;
}

uint64_t send_receiver_timeout_ns(const struct config_sink *sink)
{
	return find_protocol(sink->type) ? sink->timeout_ns : 0;
}

uint64_t send_receiver_max_age(const struct config_sink *sink)
{
	const struct protocol *protocol = find_protocol(sink->type);

	if (!protocol || protocol->age_ns_max == 0 || config_sink_is_set(sink, "MaxAge"))
		return sink->max_age_ns;
	return protocol->age_ns_max;
}

uint64_t send_receiver_plain_bytes_max(const struct config_sink *sink)
{
	const struct protocol *protocol = find_protocol(sink->type);

	return protocol ? protocol->plain_bytes_max : 0;
}

static int set_url(const struct config_sink *sink, const char *path, struct send_receiver *receiver)
{
	size_t size = strlen(sink->url);

	while (size > 0 && sink->url[size - 1] == '/')
		size--;
	if (asprintf(&receiver->url, "%.*s%s", (int)size, sink->url, path) < 0) {
		receiver->url = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void set_headers(const struct config_sink *sink, const struct protocol *protocol,
	struct send_receiver *receiver)
{
	size_t count = 0;

	for (size_t i = 0; i < SEND_TYPE_HEADERS_MAX && protocol->headers[i]; i++)
		receiver->headers[count++] = protocol->headers[i];
	/* Receivers before this header ignore it; later ones refuse a version they do not know. */
	if (protocol->version && sink->profiles_version > 0) {
		(void)snprintf(receiver->version, sizeof(receiver->version), "%s: %" PRIu64,
			protocol->version, sink->profiles_version);
		receiver->headers[count++] = receiver->version;
	}
	for (size_t i = 0; i < sink->headers.count; i++)
		receiver->headers[count++] = sink->headers.items[i];
	receiver->header_count = count;
}

static int set_file(const char *name, const char *credentials, char **path, struct fault *fault)
{
	if (!*name)
		return 0;
	if (*name == '/') {
		*path = strdup(name);
		return *path ? 0 : -ENOMEM;
	}
	if (!credentials)
		return fault_set(fault, -ENOENT,
			"there is no credential '%.64s' in pilotlight-send@.service", name);
	if (asprintf(path, "%s/%s", credentials, name) >= 0)
		return 0;
	*path = NULL;
	return -ENOMEM;
}

int send_receiver_init(struct send_receiver *receiver, const struct config_sink *sink,
	const char *credentials, struct fault *fault)
{
	const struct protocol *protocol = find_protocol(sink->type);
	const char *const names[SEND_FILES] = {
		[SEND_CA] = sink->ca_file,
		[SEND_CERTIFICATE] = sink->certificate_file,
		[SEND_KEY] = sink->key_file,
		[SEND_TOKEN] = sink->token_file,
	};
	int r;

	*receiver = (struct send_receiver){ .timeout_s = (long)(sink->timeout_ns / NSEC_PER_SEC) };
	if (!protocol)
		return -ENOTSUP;
	receiver->is_clickhouse = protocol->is_clickhouse;
	receiver->is_parca = protocol->is_parca;
	set_headers(sink, protocol, receiver);
	r = set_url(sink, protocol->path, receiver);
	for (size_t i = 0; r == 0 && i < SEND_FILES; i++)
		r = set_file(names[i], credentials, &receiver->files[i], fault);
	if (r < 0)
		send_receiver_done(receiver);
	return r;
}

void send_receiver_done(struct send_receiver *receiver)
{
	free(receiver->url);
	for (size_t i = 0; i < SEND_FILES; i++)
		free(receiver->files[i]);
	*receiver = (struct send_receiver){ 0 };
}
