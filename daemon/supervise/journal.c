/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/journal.h"

#include "base/log.h"
#include "supervise/libsystemd.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	FIXED_FIELDS = 5, /* MESSAGE, PRIORITY, SYSLOG_IDENTIFIER, PILOTLIGHT_ROLE, MESSAGE_ID */
	FIELD_BYTES = 256,
};

static const char *role_name;

static size_t put(struct iovec *field, char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static size_t put(struct iovec *field, char *text, size_t size, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(text, size, format, arguments);
	va_end(arguments);
	if (n < 0)
		return 0;
	*field = (struct iovec){ text, (size_t)n < size ? (size_t)n : size - 1 };
	return 1;
}

static int send_to_journal(const struct log_event *event, const char *text)
{
	char message[LOG_TEXT_BYTES + 16], fixed[FIXED_FIELDS - 1][FIELD_BYTES];
	char extra[LOG_FIELDS_MAX][FIELD_BYTES];
	struct iovec fields[FIXED_FIELDS + LOG_FIELDS_MAX];
	size_t n = 0;

	n += put(&fields[n], message, sizeof(message), "MESSAGE=%s", text);
	n += put(&fields[n], fixed[0], FIELD_BYTES, "PRIORITY=%d", (int)event->level);
	n += put(&fields[n], fixed[1], FIELD_BYTES, "SYSLOG_IDENTIFIER=pilotlightd");
	n += put(&fields[n], fixed[2], FIELD_BYTES, "PILOTLIGHT_ROLE=%s", role_name);
	if (event->id)
		n += put(&fields[n], fixed[3], FIELD_BYTES, "MESSAGE_ID=%s", event->id);
	for (size_t i = 0; i < event->field_count && i < LOG_FIELDS_MAX; i++)
		n += put(&fields[n], extra[i], FIELD_BYTES, "PILOTLIGHT_%s=%s",
			event->fields[i].name, event->fields[i].value);
	return libsystemd()->journal_sendv(fields, (int)n) == 0;
}

bool journal_has_stream(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uint64_t device, inode;
	struct stat status;

	return stream && sscanf(stream, "%" SCNu64 ":%" SCNu64, &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &status) == 0 && status.st_dev == device &&
	       status.st_ino == inode;
}

void journal_begin(const char *role)
{
	struct fault fault = { 0 };

	if (!journal_has_stream())
		return;
	if (libsystemd_load(&fault) < 0) {
		log_warning("%s; messages go to the journal without their fields", fault.text);
		return;
	}
	role_name = role;
	log_set_sink(send_to_journal);
}
