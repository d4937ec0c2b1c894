/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/clickhouse_client.h"

#include "base/array.h"
#include "base/utf8.h"
#include "client/libcurl.h"
#include "client/query_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	URL_BYTES = 2048,
	CONNECT_TIMEOUT_S = 15,
	REFUSAL_BYTES = 512, /* of what a server says that refuses */
	STATUS_OK = 200,
	STATUS_UNAUTHORIZED = 401,
	STATUS_FORBIDDEN = 403,
};

/* Rows are bytes, so the parts of a form need a boundary that is in none by chance. */
#define BOUNDARY "pilotlight-6b0c4e1f0f6d4d2a9d1c7a55"

struct clickhouse_client {
	CURL *curl;
	struct curl_slist *form; /* headers of a request with a table, and of one without */
	struct curl_slist *plain;
	char url[URL_BYTES];
	size_t answer_bytes_max;

	/* The current request. */
	struct clickhouse_answer answer;
	int error; /* of receive() */
	char refusal[REFUSAL_BYTES];
	size_t refusal_size;
	char error_text[CURL_ERROR_SIZE];
};

static int out_of_memory(struct fault *fault)
{
	return fault_set(fault, -ENOMEM, "cannot ask ClickHouse: out of memory");
}

int clickhouse_answer_append(
	struct clickhouse_answer *answer, const void *bytes, size_t size, size_t limit)
{
	int r = ARRAY_RESERVE(answer->bytes, &answer->capacity, answer->size + size, limit);

	if (r < 0)
		return r;
	memcpy(answer->bytes + answer->size, bytes, size);
	answer->size += size;
	return 0;
}

/* --- the client --- */

static bool is_url(const char *url)
{
	const char *host = strstr(url, "://");

	return (strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0) && host[3] &&
	       host[3] != '/' && !strpbrk(url, "?#@ \"\\^`{|}");
}

static bool set_text(CURL *curl, CURLoption option, const char *text)
{
	return !text || !*text || libcurl()->easy_setopt(curl, option, text) == CURLE_OK;
}

static size_t receive(char *bytes, size_t one, size_t size, void *context)
{
	struct clickhouse_client *client = context;
	size_t room = sizeof(client->refusal) - client->refusal_size;
	long status = 0;

	(void)one;
	(void)libcurl()->easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != STATUS_OK) {
		memcpy(client->refusal + client->refusal_size, bytes, size < room ? size : room);
		client->refusal_size += size < room ? size : room;
		return size;
	}
	client->error =
		clickhouse_answer_append(&client->answer, bytes, size, client->answer_bytes_max);
	return client->error < 0 ? 0 : size;
}

static bool set_up(struct clickhouse_client *client, const struct clickhouse_server *server,
	unsigned timeout_s)
{
	typeof(curl_easy_setopt) *set = libcurl()->easy_setopt;
	CURL *curl = client->curl;

	return set(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
	       set(curl, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
	       set(curl, CURLOPT_USERAGENT, "pilotlight/" PILOTLIGHT_VERSION) == CURLE_OK &&
	       set(curl, CURLOPT_ACCEPT_ENCODING, "gzip") == CURLE_OK &&
	       set(curl, CURLOPT_POST, 1L) == CURLE_OK &&
	       set(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       set(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S) == CURLE_OK &&
	       set(curl, CURLOPT_TIMEOUT, (long)timeout_s) == CURLE_OK &&
	       set(curl, CURLOPT_WRITEFUNCTION, receive) == CURLE_OK &&
	       set(curl, CURLOPT_WRITEDATA, client) == CURLE_OK &&
	       set(curl, CURLOPT_ERRORBUFFER, client->error_text) == CURLE_OK &&
	       set_text(curl, CURLOPT_USERNAME, server->user) &&
	       set_text(curl, CURLOPT_PASSWORD, server->password) &&
	       set_text(curl, CURLOPT_CAINFO, server->ca_file) &&
	       set_text(curl, CURLOPT_SSLCERT, server->certificate_file) &&
	       set_text(curl, CURLOPT_SSLKEY, server->key_file);
}

int clickhouse_client_new(const struct clickhouse_server *server, size_t answer_bytes_max,
	unsigned timeout_s, struct clickhouse_client **ret_client, struct fault *fault)
{
	_cleanup_(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	size_t size = strlen(server->url);
	int r;

	if (!is_url(server->url) || size >= URL_BYTES)
		return fault_set(fault, -EINVAL,
			"'%.100s' is no URL of a ClickHouse server; write http://HOST:8123 or "
			"https://HOST:8443, without user and password",
			server->url);
	r = libcurl_load(fault);
	if (r < 0)
		return r;
	client = calloc(1, sizeof(*client));
	if (!client)
		return out_of_memory(fault);
	client->answer_bytes_max = answer_bytes_max;
	while (server->url[size - 1] == '/')
		size--;
	memcpy(client->url, server->url, size);
	client->curl = libcurl()->easy_init();
	client->form = libcurl()->slist_append(
		NULL, "Content-Type: multipart/form-data; boundary=" BOUNDARY);
	client->plain = libcurl()->slist_append(NULL, "Content-Type: text/plain");
	if (!client->curl || !client->form || !client->plain || !set_up(client, server, timeout_s))
		return out_of_memory(fault);
	*ret_client = TAKE_PTR(client);
	return 0;
}

void clickhouse_client_free(struct clickhouse_client *client)
{
	if (!client)
		return;
	libcurl()->easy_cleanup(client->curl);
	libcurl()->slist_free_all(client->form);
	libcurl()->slist_free_all(client->plain);
	clickhouse_answer_done(&client->answer);
	free(client);
}

/* --- a query --- */

struct request {
	struct query_text target;
	char *body; /* owned; NULL: no table is sent */
	size_t size;
};

/* The columns of a table are a parameter, and its rows are a file of a form. */
static int add_table(struct request *request, const struct clickhouse_table *table)
{
	static const char before[] =
		"--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"%s\"; "
		"filename=\"%s\"\r\n"
		"Content-Type: application/octet-stream\r\n\r\n";
	static const char after[] = "\r\n--" BOUNDARY "--\r\n";
	char name[64];
	int size;

	(void)snprintf(name, sizeof(name), "%s_structure", table->name);
	query_text_add(&request->target, name, table->columns);
	(void)snprintf(name, sizeof(name), "%s_format", table->name);
	query_text_add(&request->target, name, "RowBinary");
	request->body = malloc(sizeof(before) + 2 * sizeof(name) + table->bytes + sizeof(after));
	if (!request->body)
		return -ENOMEM;
	size = sprintf(request->body, before, table->name, table->name);
	memcpy(request->body + size, table->rows, table->bytes);
	memcpy(request->body + size + table->bytes, after, sizeof(after) - 1);
	request->size = (size_t)size + table->bytes + sizeof(after) - 1;
	return 0;
}

static int explain_transfer(
	const struct clickhouse_client *client, CURLcode code, struct fault *fault)
{
	char clean[UTF8_CLEAN_BYTES];
	const char *why =
		client->error_text[0] ? client->error_text : libcurl()->easy_strerror(code);

	if (client->error == -E2BIG)
		return fault_set(fault, -E2BIG,
			"the answer of ClickHouse at %s is larger than %zu MiB; select less time, "
			"or fewer hosts",
			client->url, client->answer_bytes_max >> 20);
	if (client->error < 0 || code == CURLE_OUT_OF_MEMORY)
		return out_of_memory(fault);
	(void)utf8_clean(clean, why, strlen(why));
	if (code == CURLE_OPERATION_TIMEDOUT)
		return fault_set(fault, -ETIMEDOUT,
			"ClickHouse at %s does not answer: %s; select less time, or look at its "
			"system.processes",
			client->url, clean);
	return fault_set(fault, -EIO,
		"cannot ask ClickHouse at %s: %s; check the URL, and --ca-file for TLS",
		client->url, clean);
}

static int explain_refusal(const struct clickhouse_client *client, long status, struct fault *fault)
{
	char clean[UTF8_CLEAN_BYTES];
	const char *remedy = "";

	(void)utf8_clean(clean, client->refusal, client->refusal_size);
	/* 516, 192 to 194: authentication; 60, 81: no such table, no such database. */
	if (status == STATUS_UNAUTHORIZED || status == STATUS_FORBIDDEN ||
		strstr(clean, "Code: 516") || strstr(clean, "Code: 19"))
		remedy = "; give --user and --password-file";
	else if (strstr(clean, "Code: 60") || strstr(clean, "Code: 81"))
		remedy = "; `pilotlight fleet init` makes the tables";
	return fault_set(fault, -EREMOTEIO, "ClickHouse at %s answers %ld: %.250s%s", client->url,
		status, *clean ? clean : "no reason given", remedy);
}

static int perform(struct clickhouse_client *client, const char *target, const char *body,
	size_t size, struct fault *fault)
{
	typeof(curl_easy_setopt) *set = libcurl()->easy_setopt;
	_cleanup_free_ char *url = NULL;
	long status = 0;
	CURLcode code;

	if (asprintf(&url, "%s%s", client->url, target) < 0) {
		url = NULL;
		return out_of_memory(fault);
	}
	client->error = 0;
	client->refusal_size = 0;
	client->error_text[0] = '\0';
	code = set(client->curl, CURLOPT_URL, url);
	if (code == CURLE_OK)
		code = set(client->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	if (code == CURLE_OK)
		code = set(client->curl, CURLOPT_POSTFIELDS, body);
	if (code == CURLE_OK)
		code = libcurl()->easy_perform(client->curl);
	if (code != CURLE_OK)
		return explain_transfer(client, code, fault);
	(void)libcurl()->easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
	return status == STATUS_OK ? 0 : explain_refusal(client, status, fault);
}

/* Without a query in the target, the body is the query. */
static int ask(struct clickhouse_client *client, struct request *request, const char *body,
	size_t size, struct fault *fault)
{
	const char *target;

	if (query_text_finish(&request->target, &target) < 0)
		return fault_set(fault, -E2BIG, "the query is too long; select less at once");
	if (libcurl()->easy_setopt(client->curl, CURLOPT_HTTPHEADER,
		    request->body ? client->form : client->plain) != CURLE_OK)
		return out_of_memory(fault);
	clickhouse_answer_done(&client->answer);
	return perform(client, target, body, size, fault);
}

int clickhouse_client_query(struct clickhouse_client *client, const char *sql,
	const struct clickhouse_table *table, struct clickhouse_answer *ret_answer,
	struct fault *fault)
{
	_cleanup_free_ struct request *request = calloc(1, sizeof(*request));
	_cleanup_free_ char *body = NULL;
	int r = 0;

	if (!request)
		return out_of_memory(fault);
	query_text_init(&request->target, "/");
	/* Otherwise an error may follow rows, as text. */
	query_text_add(&request->target, "wait_end_of_query", "1");
	query_text_add(&request->target, "enable_http_compression", "1");
	if (table) {
		query_text_add(&request->target, "query", sql);
		r = add_table(request, table);
		body = request->body;
	}
	if (r < 0)
		return out_of_memory(fault);
	r = ask(client, request, body ? body : sql, body ? request->size : strlen(sql), fault);
	if (r < 0)
		return r;
	*ret_answer = client->answer;
	client->answer = (struct clickhouse_answer){ 0 };
	return 0;
}

int clickhouse_client_insert(struct clickhouse_client *client, const char *sql, const void *rows,
	size_t bytes, struct fault *fault)
{
	_cleanup_free_ struct request *request = calloc(1, sizeof(*request));

	if (!request)
		return out_of_memory(fault);
	query_text_init(&request->target, "/");
	query_text_add(&request->target, "query", sql);
	/* Otherwise a Distributed table has not sent the rows yet. */
	query_text_add(&request->target, "insert_distributed_sync", "1");
	return ask(client, request, rows, bytes, fault);
}
