/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service_receiver.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "engine/host_id.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADERS_MAX = 4 };

static const struct protocol {
	const char *type, *path;
	const char *headers[HEADERS_MAX];
	const char *version;	  /* the name of a header; NULL: none */
	uint64_t plain_bytes_max; /* of a batch, which is gzip; 0: any */
	uint64_t age_ns_max; /* the default of MaxAge, since receivers refuse older ones; 0: none */
	bool is_clickhouse;
} protocols[] = {
	{ "otlp", "/v1development/profiles",
		{ "Content-Type: application/x-protobuf", "Content-Encoding: gzip" },
		/* the Collector's max_request_body_size, which holds after decompression, too */
		"OTLP-Profiles-Development-Version", 20 << 20, 0, false },
	{ "pyroscope", "/push.v1.PusherService/Push",
		{ "Content-Type: application/proto", "Connect-Protocol-Version: 1" }, NULL, 0,
		3600ULL * NSEC_PER_SEC, false },
	{ "clickhouse", "", { "Content-Encoding: gzip" }, NULL, 0, 0, true },
};

static const struct protocol *find_protocol(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++)
		if (strcmp(protocols[i].type, type) == 0)
			return &protocols[i];
	return NULL;
}

static int set_url(
	const struct config_sink *sink, const char *path, struct service_receiver *receiver)
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

static int set_headers(const struct config_sink *sink, const struct protocol *protocol,
	struct service_receiver *receiver)
{
	size_t count = 0;

	receiver->headers =
		calloc(sink->headers.count + HEADERS_MAX + 1, sizeof(*receiver->headers));
	if (!receiver->headers)
		return -ENOMEM;
	for (size_t i = 0; i < HEADERS_MAX && protocol->headers[i]; i++)
		receiver->headers[count++] = protocol->headers[i];
	/* Receivers before this header ignore it; later ones refuse a version they do not know. */
	if (protocol->version && sink->profiles_version > 0) {
		(void)snprintf(receiver->version, sizeof(receiver->version), "%s: %" PRIu64,
			protocol->version, sink->profiles_version);
		receiver->headers[count++] = receiver->version;
	}
	for (size_t i = 0; i < sink->headers.count; i++)
		receiver->headers[count++] = sink->headers.items[i];
	receiver->receiver.headers = receiver->headers;
	receiver->receiver.header_count = count;
	return 0;
}

static int set_attributes(const struct config_sink *sink, struct service_receiver *receiver)
{
	size_t size = sizeof("host.id=") + HOST_ID_BYTES;
	char host[HOST_ID_BYTES];
	bool has_host = host_id_read(NULL, host) == 0;

	if (sink->attributes.count == 0 && !has_host)
		return 0;
	for (size_t i = 0; i < sink->attributes.count; i++)
		size += strlen(sink->attributes.items[i]) + 1;
	receiver->attributes = malloc(size);
	if (!receiver->attributes)
		return -ENOMEM;
	receiver->attributes[0] = '\0';
	if (has_host)
		(void)snprintf(receiver->attributes, size, "host.id=%s", host);
	for (size_t i = 0; i < sink->attributes.count; i++)
		(void)snprintf(receiver->attributes + strlen(receiver->attributes),
			size - strlen(receiver->attributes), "%s%s", i > 0 || has_host ? "," : "",
			sink->attributes.items[i]);
	return 0;
}

static int set_up(const struct config_sink *sink, struct service_receiver *receiver)
{
	const struct protocol *protocol = find_protocol(sink->type);
	int r;

	if (!protocol)
		return 0;
	receiver->receiver = (struct send_receiver){
		.ca_file = sink->ca_file,
		.certificate_file = sink->certificate_file,
		.key_file = sink->key_file,
		.token_file = sink->token_file,
		.timeout_ns = sink->timeout_ns,
		.is_clickhouse = protocol->is_clickhouse,
	};
	r = set_url(sink, protocol->path, receiver);
	if (r == 0)
		r = set_headers(sink, protocol, receiver);
	if (r == 0)
		r = set_attributes(sink, receiver);
	receiver->receiver.url = receiver->url;
	return r;
}

/* Draws of hosts need an id that is not that of others. */
static void set_host(struct service_receiver *receiver)
{
	if (host_id_read(NULL, receiver->host_id) < 0)
		(void)gethostname(receiver->host_id, sizeof(receiver->host_id) - 1);
}

uint64_t service_receiver_max_age(const struct config_sink *sink)
{
	const struct protocol *protocol = find_protocol(sink->type);

	if (!protocol || protocol->age_ns_max == 0 || config_sink_is_set(sink, "MaxAge"))
		return sink->max_age_ns;
	return protocol->age_ns_max;
}

uint64_t service_receiver_plain_bytes_max(const struct config_sink *sink)
{
	const struct protocol *protocol = find_protocol(sink->type);

	return protocol ? protocol->plain_bytes_max : 0;
}

int service_receivers_new(const struct config *config, struct service_receiver **ret_receivers)
{
	struct service_receiver *receivers = calloc(CONFIG_SINKS_MAX, sizeof(*receivers));
	int r = receivers ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < config->sink_count; i++) {
		r = set_up(&config->sinks[i], &receivers[i]);
		set_host(&receivers[i]);
	}
	if (r < 0) {
		service_receivers_free(receivers);
		return r;
	}
	*ret_receivers = receivers;
	return 0;
}

void service_receivers_free(struct service_receiver *receivers)
{
	for (size_t i = 0; receivers && i < CONFIG_SINKS_MAX; i++) {
		free(receivers[i].url);
		free(receivers[i].attributes);
		free(receivers[i].headers);
	}
	free(receivers);
}
