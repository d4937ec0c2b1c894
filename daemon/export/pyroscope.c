/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/pyroscope.h"

#include "export/protobuf.h"
#include "export/service_series.h"

#include <string.h>

enum {
	REQUEST_SERIES = 1,
	SERIES_LABEL = 1,
	SERIES_SAMPLE = 2,
	LABEL_PAIR_NAME = 1,
	LABEL_PAIR_VALUE = 2,
	RAW_SAMPLE_PROFILE = 1,
	RAW_SAMPLE_ID = 2,
};

struct request {
	struct protobuf message;
	size_t begin; /* of the series */
	struct output *output;
};

static void begin_series(void *context)
{
	struct request *request = context;

	request->begin = protobuf_begin(&request->message, REQUEST_SERIES);
}

static void put_label(void *context, const char *name, const char *value, size_t size)
{
	struct protobuf *message = &((struct request *)context)->message;
	const size_t begin = protobuf_begin(message, SERIES_LABEL);

	protobuf_bytes(message, LABEL_PAIR_NAME, name, strlen(name));
	protobuf_bytes(message, LABEL_PAIR_VALUE, value, size);
	protobuf_end(message, begin);
}

static void put_profile(void *context, const char *id, const char *bytes, size_t size)
{
	struct protobuf *message = &((struct request *)context)->message;
	const size_t begin = protobuf_begin(message, SERIES_SAMPLE);

	protobuf_bytes(message, RAW_SAMPLE_PROFILE, bytes, size);
	protobuf_bytes(message, RAW_SAMPLE_ID, id, strlen(id));
	protobuf_end(message, begin);
}

static int end_series(void *context)
{
	struct request *request = context;
	struct protobuf *message = &request->message;

	protobuf_end(message, request->begin);
	if (message->error == 0)
		output_write(request->output, message->bytes, message->size);
	protobuf_clear(message);
	return message->error;
}

int pyroscope_write(const struct profile *profile, const char *host, const char *attributes,
	struct output *output)
{
	static const struct service_series_format format = {
		.host_label = "host_name",
		.begin = begin_series,
		.label = put_label,
		.profile = put_profile,
		.end = end_series,
	};
	struct request request = { .output = output };
	int r;

	protobuf_init(&request.message, SERVICE_SERIES_BYTES_MAX);
	r = service_series_write(profile, host, attributes, &format, &request);
	protobuf_done(&request.message);
	return r;
}
