/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/http_client.h"

#include "base/clock.h"
#include "base/duration_text.h"
#include "base/utf8.h"
#include "client/libcurl.h"
#include "pilotlight/api.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { ERROR_BYTES = 320, URL_BYTES = 16 << 10 };

struct http_client {
	struct http_client_options options;
	char *socket_path;
	CURL *curl;

	/* The current request. */
	output_function write;
	void *context;
	uint64_t body_bytes;
	int error; /* set by a callback that ended the request */
	char error_text[ERROR_BYTES];
	size_t error_size;
};

const char *http_client_default_socket(void)
{
	const char *path = getenv("PILOTLIGHT_SOCKET");

	return path && *path ? path : "/run/pilotlight/api.sock";
}

static bool is_success(long status)
{
	return status >= 200 && status <= 299;
}

static int pass_on(struct http_client *client, const char *bytes, size_t size)
{
	client->body_bytes += size;
	if (client->options.limit_bytes > 0 && client->body_bytes > client->options.limit_bytes)
		return -E2BIG;
	return client->write(client->context, bytes, size);
}

/* A result other than `size` ends the request. */
static size_t receive_body(char *bytes, size_t one, size_t size, void *context)
{
	struct http_client *client = context;
	size_t room = sizeof(client->error_text) - client->error_size;
	long status = 0;

	(void)one;
	(void)libcurl()->easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
	if (!is_success(status)) {
		size_t part = size < room ? size : room;

		memcpy(client->error_text + client->error_size, bytes, part);
		client->error_size += part;
		return size;
	}
	client->error = pass_on(client, bytes, size);
	return client->error < 0 ? 0 : size;
}

static int report_progress(
	void *context, curl_off_t total, curl_off_t received, curl_off_t to_send, curl_off_t sent)
{
	struct http_client *client = context;

	(void)total;
	(void)received;
	(void)to_send;
	(void)sent;
	if (client->options.progress(client->options.context, client->body_bytes) == 0)
		return 0;
	client->error = -ECANCELED;
	return 1;
}

static int out_of_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "cannot ask pilotlightd: out of memory");
}

static bool set_up(struct http_client *client)
{
	typeof(curl_easy_setopt) *set = libcurl()->easy_setopt;
	CURL *curl = client->curl;

	/* A library without zlib refuses, and bodies come as they are. */
	if (client->options.accepts_gzip)
		(void)set(curl, CURLOPT_ACCEPT_ENCODING, "gzip");
	return set(curl, CURLOPT_UNIX_SOCKET_PATH, client->socket_path) == CURLE_OK &&
	       set(curl, CURLOPT_PROTOCOLS_STR, "http") == CURLE_OK &&
	       set(curl, CURLOPT_USERAGENT, "pilotlight/" PILOTLIGHT_VERSION) == CURLE_OK &&
	       /* Ignore a proxy from the environment: it cannot reach this socket. */
	       set(curl, CURLOPT_PROXY, "") == CURLE_OK &&
	       set(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       set(curl, CURLOPT_PATH_AS_IS, 1L) == CURLE_OK &&
	       set(curl, CURLOPT_TIMEOUT, (long)client->options.timeout_s) == CURLE_OK &&
	       set(curl, CURLOPT_WRITEFUNCTION, receive_body) == CURLE_OK &&
	       set(curl, CURLOPT_WRITEDATA, client) == CURLE_OK &&
	       set(curl, CURLOPT_XFERINFOFUNCTION, report_progress) == CURLE_OK &&
	       set(curl, CURLOPT_XFERINFODATA, client) == CURLE_OK &&
	       set(curl, CURLOPT_NOPROGRESS, client->options.progress ? 0L : 1L) == CURLE_OK;
}

int http_client_new(const struct http_client_options *options, struct http_client **ret_client,
	struct fault *fault)
{
	_cleanup_(http_client_freep) struct http_client *client = NULL;
	int r = libcurl_load(fault);

	if (r < 0)
		return r;
	client = calloc(1, sizeof(*client));
	if (!client)
		return out_of_memory(fault);
	client->options = *options;
	client->socket_path = strdup(options->socket_path);
	client->options.socket_path = client->socket_path;
	client->curl = libcurl()->easy_init();
	if (!client->socket_path || !client->curl || !set_up(client))
		return out_of_memory(fault);
	*ret_client = TAKE_PTR(client);
	return 0;
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	libcurl()->easy_cleanup(client->curl);
	free(client->socket_path);
	free(client);
}

static int explain_connection(const struct http_client *client, struct fault *fault)
{
	const char *path = client->socket_path;
	struct stat status;
	long error = 0;

	(void)libcurl()->easy_getinfo(client->curl, CURLINFO_OS_ERRNO, &error);
	switch (error) {
	case ENOENT:
		return fault_set(fault, -ENOENT,
			"no socket at '%s': is pilotlightd running? systemctl start pilotlightd",
			path);
	case ECONNREFUSED:
		/* The kernel returns this for files other than sockets, too. */
		if (stat(path, &status) == 0 && !S_ISSOCK(status.st_mode))
			return fault_set(fault, -ENOTSOCK,
				"'%s' is not a socket: try /run/pilotlight/api.sock", path);
		return fault_set(fault, -ECONNREFUSED,
			"connection to '%s' refused: is pilotlightd running? systemctl start "
			"pilotlightd",
			path);
	case EACCES:
	case EPERM:
		return fault_set(fault, -EACCES,
			"no permission to connect to '%s': only root and members of the group "
			"pilotlight may; run adduser USER pilotlight, and log in again",
			path);
	default:
		return fault_set(fault, error > 0 ? (int)-error : -EPROTO,
			"cannot connect to '%s': %s", path,
			error > 0 ? strerror((int)error) : "unknown error");
	}
}

static int explain_own(const struct http_client *client, struct fault *fault)
{
	if (client->error == -E2BIG && client->options.limit_bytes > 0)
		return fault_set(fault, -E2BIG,
			"the answer of pilotlightd is larger than %llu bytes: ask for less",
			(unsigned long long)client->options.limit_bytes);
	if (client->error == -ECANCELED)
		return fault_set(fault, -ECANCELED, "interrupted");
	return fault_set(fault, client->error, "cannot store the answer of pilotlightd: %s",
		strerror(-client->error));
}

static int explain(const struct http_client *client, CURLcode code, struct fault *fault)
{
	if (client->error < 0)
		return explain_own(client, fault);
	switch (code) {
	case CURLE_COULDNT_CONNECT:
		return explain_connection(client, fault);
	case CURLE_OPERATION_TIMEDOUT:
		return fault_set(fault, -ETIMEDOUT,
			"no answer from pilotlightd on '%s' within %u s: see journalctl -u "
			"pilotlightd",
			client->socket_path, client->options.timeout_s);
	case CURLE_OUT_OF_MEMORY:
		return out_of_memory(fault);
	default:
		return fault_set(fault, -EPROTO,
			"invalid or incomplete answer on '%s': %s; is it pilotlightd's socket?",
			client->socket_path, libcurl()->easy_strerror(code));
	}
}

static int explain_status(const struct http_client *client, unsigned status, struct fault *fault)
{
	char text[UTF8_CLEAN_BYTES];
	size_t size = client->error_size;

	while (size > 0 && strchr("\r\n ", client->error_text[size - 1]))
		size--;
	(void)utf8_clean(text, client->error_text, size);
	return fault_set(fault, -EREMOTEIO, "pilotlightd answers %u: %.400s", status,
		*text ? text : "no reason given");
}

/* Reads a decimal and returns billionths, of seconds ns; 0 if it is missing or invalid. */
static uint64_t read_billionths(const struct http_client *client, const char *name)
{
	struct curl_header *field;
	struct decimal seconds;
	const char *at;
	uint64_t ns = 0;

	if (libcurl()->easy_header(client->curl, name, 0, CURLH_HEADER, -1, &field) != CURLHE_OK)
		return 0;
	at = field->value;
	if (!decimal_parse(&at, &seconds) || *at || !decimal_add(&ns, &seconds, NSEC_PER_SEC))
		return 0;
	return ns;
}

static void fill_reply(const struct http_client *client, struct http_reply *reply)
{
	long status = 0;

	(void)libcurl()->easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
	*reply = (struct http_reply){
		.status = (unsigned)status,
		.covered_ns = read_billionths(client, PILOTLIGHT_FIELD_COVERED),
		.period_ns = read_billionths(client, PILOTLIGHT_FIELD_PERIOD),
		.increase = read_billionths(client, PILOTLIGHT_FIELD_INCREASE),
	};
}

/* `method` NULL: GET. */
static int request(struct http_client *client, const char *method, const char *target,
	output_function write, void *context, struct http_reply *ret_reply, struct fault *fault)
{
	_cleanup_free_ char *url = malloc(URL_BYTES);
	struct http_reply reply;
	CURLcode code;

	if (strlen(client->socket_path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return fault_set(fault, -ENAMETOOLONG,
			"socket path '%.200s' is too long: use a shorter one", client->socket_path);
	if (!url)
		return out_of_memory(fault);
	if (snprintf(url, URL_BYTES, "http://localhost%s", target) >= URL_BYTES)
		return fault_set(fault, -E2BIG, "the request is too long: select less at once");
	client->write = write;
	client->context = context;
	client->body_bytes = client->error_size = 0;
	client->error = 0;
	code = libcurl()->easy_setopt(client->curl, CURLOPT_URL, url);
	if (code == CURLE_OK)
		code = libcurl()->easy_setopt(client->curl, CURLOPT_CUSTOMREQUEST, method);
	if (code == CURLE_OK)
		code = libcurl()->easy_perform(client->curl);
	if (code != CURLE_OK)
		return explain(client, code, fault);
	fill_reply(client, &reply);
	*ret_reply = reply;
	return is_success(reply.status) ? 0 : explain_status(client, reply.status, fault);
}

int http_client_get(struct http_client *client, const char *target, output_function write,
	void *context, struct http_reply *ret_reply, struct fault *fault)
{
	return request(client, NULL, target, write, context, ret_reply, fault);
}

int http_client_post(struct http_client *client, const char *target, output_function write,
	void *context, struct http_reply *ret_reply, struct fault *fault)
{
	return request(client, "POST", target, write, context, ret_reply, fault);
}
