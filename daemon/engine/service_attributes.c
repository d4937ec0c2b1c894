/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service_attributes.h"

#include "engine/host_id.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int service_attributes_new(const struct config_sink *sink, char **ret_attributes)
{
	size_t size = sizeof("host.id=") + HOST_ID_BYTES;
	char host[HOST_ID_BYTES], *attributes;
	bool has_host = host_id_read(NULL, host) == 0;

	if (sink->attributes.count == 0 && !has_host) {
		*ret_attributes = NULL;
		return 0;
	}
	for (size_t i = 0; i < sink->attributes.count; i++)
		size += strlen(sink->attributes.items[i]) + 1;
	attributes = malloc(size);
	if (!attributes)
		return -ENOMEM;
	attributes[0] = '\0';
	if (has_host)
		(void)snprintf(attributes, size, "host.id=%s", host);
	for (size_t i = 0; i < sink->attributes.count; i++)
		(void)snprintf(attributes + strlen(attributes), size - strlen(attributes), "%s%s",
			i > 0 || has_host ? "," : "", sink->attributes.items[i]);
	*ret_attributes = attributes;
	return 0;
}
