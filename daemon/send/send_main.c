/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "child/child_request.h"
#include "client/libcurl.h"
#include "client/query_text.h"
#include "sandbox/sandbox.h"
#include "send/clickhouse_requests.h"
#include "send/new_rows.h"
#include "send/parca_batch.h"
#include "send/receiver_answer.h"
#include "send/send_job.h"
#include "send/send_receiver.h"
#include "send/send_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	EXIT_NOT_A_SENDER = 3,
	BODY_BYTES = 64 << 10,	  /* of an answer that are read */
	BODY_BYTES_MAX = 4 << 20, /* beyond this it is cut off */
	TOKEN_BYTES = 4096,
	CONNECT_TIMEOUT_S = 15,
	STATUS_OK = 200,
};

struct sender {
	struct send_request request;
	struct config config;
	struct send_receiver receiver; /* strings are of this struct and of the configuration */
	CURL *curl;
	struct curl_slist *headers;
	char token[TOKEN_BYTES];
	struct send_reply reply;
	struct known_rows *known; /* NULL: all rows are sent */
	/* Of one request. */
	struct query_text target;
	char url[SEND_URL_BYTES + QUERY_TEXT_BYTES], error[CURL_ERROR_SIZE];
	uint64_t end_ns;	      /* of the time for the batch */
	const char *memory;	      /* what is sent; NULL: the batch itself */
	int post_error;		      /* 0: an answer came */
	uint64_t at, end;	      /* of the bytes to send: the next one, and the end */
	uint64_t body_bytes;	      /* received; the first BODY_BYTES of them are kept */
	uint8_t body[BODY_BYTES + 1]; /* with a NUL */
};

__attribute__((format(printf, 3, 4))) static int fail(
	struct sender *sender, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(sender->reply.text, sizeof(sender->reply.text), format, arguments);
	va_end(arguments);
	return error;
}

/* --- what the administrator's files say --- */

/* The sink that the request names; NULL: there is none. The engine chooses no more than that. */
static const struct config_sink *find_sink(const struct sender *sender)
{
	const struct send_request *request = &sender->request;
	const struct config *config = &sender->config;

	for (size_t i = 0; i < config->sink_count; i++)
		if (strcmp(config->sinks[i].name, request->sink) == 0 &&
			strcmp(config->sinks[i].type, request->type) == 0)
			return &config->sinks[i];
	return NULL;
}

static int read_configuration(struct sender *sender)
{
	const char *path = getenv("PILOTLIGHT_CONFIG");
	struct config_problems problems;
	const struct config_sink *sink;
	struct fault fault = { 0 };
	int r;

	if (!path)
		return fail(sender, -ENOENT, "no configuration was given");
	r = config_load(
		path, CONFIG_MUST_EXIST | CONFIG_WITHOUT_GROUPS, &sender->config, &problems);
	if (r < 0)
		return fail(sender, r, "cannot read the configuration: %s", strerror(-r));
	if (problems.all > 0)
		return fail(sender, -EINVAL, "%.150s", problems.texts[0]);
	sink = find_sink(sender);
	if (!sink)
		return fail(sender, -ENOENT,
			"the configuration has no sink '%s' of type '%s': reload it, or run "
			"pilotlightd --check",
			sender->request.sink, sender->request.type);
	r = send_receiver_init(&sender->receiver, sink, getenv("CREDENTIALS_DIRECTORY"), &fault);
	return r < 0 ? fail(sender, r, "%.150s", fault.text[0] ? fault.text : strerror(-r)) : 0;
}

/* The file has one line. A field of HTTP cannot hold controls, or another one would follow it. */
static int read_token(struct sender *sender)
{
	const char *path = sender->receiver.files[SEND_TOKEN];
	_cleanup_close_ int fd = -1;
	ssize_t size;

	if (!path)
		return 0;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, sender->token, sizeof(sender->token));
	if (size < 0)
		return fail(sender, -errno, "cannot read the token of '%.64s': %s", path,
			strerror(errno));
	/* A part of a token would be refused by the receiver, and nothing would tell why. */
	if (size == sizeof(sender->token))
		return fail(sender, -EFBIG, "the token of '%.64s' is longer than %d bytes", path,
			TOKEN_BYTES - 2);
	if (size > 0 && sender->token[size - 1] == '\n')
		size--;
	sender->token[size] = '\0';
	for (ssize_t i = 0; i < size; i++)
		if (sender->token[i] <= ' ' || sender->token[i] > '~')
			size = 0;
	return size > 0 ? 0
			: fail(sender, -EINVAL,
				  "there is no token in '%.64s': write one line of letters, digits "
				  "and punctuation",
				  path);
}

/* --- the transfer --- */

static size_t give_batch(char *to, size_t size, size_t count, void *context)
{
	struct sender *sender = context;
	uint64_t left = sender->end - sender->at;
	size_t room = size * count < left ? size * count : (size_t)left;
	ssize_t n = (ssize_t)room;

	if (sender->memory)
		memcpy(to, sender->memory + sender->at, room);
	else
		n = pread(SEND_BATCH_FD, to, room, (off_t)sender->at);
	if (n < 0 || (n == 0 && left > 0))
		return CURL_READFUNC_ABORT;
	sender->at += (uint64_t)n;
	return (size_t)n;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
	struct sender *sender = context;
	size_t got = size * count;

	if (sender->body_bytes < BODY_BYTES) {
		size_t room = (size_t)(BODY_BYTES - sender->body_bytes);

		memcpy(sender->body + sender->body_bytes, bytes, got < room ? got : room);
	}
	sender->body_bytes += got;
	return sender->body_bytes <= BODY_BYTES_MAX ? got : 0;
}

static bool add_header(struct sender *sender, const char *line)
{
	struct curl_slist *longer = libcurl()->slist_append(sender->headers, line);

	if (!longer)
		return false;
	sender->headers = longer;
	return true;
}

static bool add_headers(struct sender *sender)
{
	const struct send_receiver *receiver = &sender->receiver;
	char secret[TOKEN_BYTES + 32];
	/* Small servers do not know "100 Continue"; each batch would wait a second for it. */
	bool is_whole = add_header(sender, "Expect:");

	for (size_t i = 0; is_whole && i < receiver->header_count; i++)
		is_whole = add_header(sender, receiver->headers[i]);
	if (is_whole && sender->token[0]) {
		(void)snprintf(secret, sizeof(secret), "%s%s",
			receiver->is_clickhouse ? "X-ClickHouse-Key: " : "Authorization: Bearer ",
			sender->token);
		is_whole = add_header(sender, secret);
	}
	return is_whole;
}

static bool set_file(CURL *curl, CURLoption option, const char *path)
{
	return !path || libcurl()->easy_setopt(curl, option, path) == CURLE_OK;
}

static bool set_up(struct sender *sender)
{
	typeof(curl_easy_setopt) *set = libcurl()->easy_setopt;
	const struct send_receiver *receiver = &sender->receiver;
	CURL *curl = sender->curl;

	return add_headers(sender) && set(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
	       set(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) == CURLE_OK &&
	       set(curl, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2) == CURLE_OK &&
	       set(curl, CURLOPT_USERAGENT, "pilotlight/" PILOTLIGHT_VERSION) == CURLE_OK &&
	       set(curl, CURLOPT_HTTPHEADER, sender->headers) == CURLE_OK &&
	       set(curl, CURLOPT_POST, 1L) == CURLE_OK &&
	       set(curl, CURLOPT_READFUNCTION, give_batch) == CURLE_OK &&
	       set(curl, CURLOPT_READDATA, sender) == CURLE_OK &&
	       set(curl, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK &&
	       set(curl, CURLOPT_WRITEDATA, sender) == CURLE_OK &&
	       set(curl, CURLOPT_ERRORBUFFER, sender->error) == CURLE_OK &&
	       set(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       set(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S) == CURLE_OK &&
	       set_file(curl, CURLOPT_CAINFO, receiver->files[SEND_CA]) &&
	       set_file(curl, CURLOPT_SSLCERT, receiver->files[SEND_CERTIFICATE]) &&
	       set_file(curl, CURLOPT_SSLKEY, receiver->files[SEND_KEY]);
}

static const char *header_of(const struct sender *sender, const char *name)
{
	struct curl_header *field;

	return libcurl()->easy_header(sender->curl, name, 0, CURLH_HEADER, -1, &field) == CURLHE_OK
		       ? field->value
		       : "";
}

/* Was the transfer's answer complete, or at least said before its connection broke? */
static bool has_answer(const struct sender *sender, CURLcode code, long status, uint64_t bytes)
{
	curl_off_t sent = 0;

	if (status < 200 || status > 599)
		return false;
	if (code == CURLE_OK)
		return true;
	/* A receiver may refuse a batch before it has read all of it. */
	(void)libcurl()->easy_getinfo(sender->curl, CURLINFO_SIZE_UPLOAD_T, &sent);
	return status >= 300 || (uint64_t)sent == bytes;
}

/* At least 1: 0 is any time. */
static long left_ms(const struct sender *sender)
{
	const uint64_t now_ns = clock_monotonic_ns();

	return now_ns < sender->end_ns
		       ? (long)((sender->end_ns - now_ns) / (NSEC_PER_SEC / 1000)) + 1
		       : 1;
}

/* Sends `bytes` of the batch, or of the memory, from `at` on. */
static int transfer(struct sender *sender, const char *url, uint64_t at, uint64_t bytes)
{
	typeof(curl_easy_setopt) *set = libcurl()->easy_setopt;
	struct send_reply *reply = &sender->reply;
	CURLcode code;
	long status = 0;

	sender->at = at;
	sender->end = at + bytes;
	sender->body_bytes = 0;
	if (set(sender->curl, CURLOPT_URL, url) != CURLE_OK ||
		set(sender->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes) != CURLE_OK ||
		set(sender->curl, CURLOPT_TIMEOUT_MS, left_ms(sender)) != CURLE_OK)
		return fail(sender, -EINVAL, "libcurl does not take the Url= of this sink");
	code = libcurl()->easy_perform(sender->curl);
	(void)libcurl()->easy_getinfo(sender->curl, CURLINFO_RESPONSE_CODE, &status);
	if (code == CURLE_OK && (status < 200 || status > 599))
		return fail(sender, -EPROTO, "it answers %ld, which is no status of HTTP", status);
	if (!has_answer(sender, code, status, bytes)) {
		const char *why = sender->error[0] ? sender->error : libcurl()->easy_strerror(code);

		receiver_answer_clean(why, strlen(why), reply->text);
		return code == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT : -EIO;
	}
	reply->sent_bytes += bytes;
	reply->status = (uint32_t)status;
	reply->retry_after_s = receiver_answer_retry_after(
		header_of(sender, "Retry-After"), header_of(sender, "Date"), (uint64_t)time(NULL));
	receiver_answer_read((unsigned)status, header_of(sender, "Content-Type"), sender->body,
		sender->body_bytes < BODY_BYTES ? (size_t)sender->body_bytes : BODY_BYTES,
		&reply->rejected, reply->text);
	return 0;
}

/* --- ClickHouse --- */

static bool has_succeeded(const struct sender *sender)
{
	return sender->reply.status >= 200 && sender->reply.status < 300;
}

static int send_request(struct sender *sender, const struct clickhouse_requests *requests,
	const struct clickhouse_request *request)
{
	/* gzip of no bytes, since the headers announce gzip. */
	static const char nothing[20] = { 0x1f, (char)0x8b, 8, [9] = 3, 3 };
	char question[CLICKHOUSE_QUESTION_BYTES];
	const char *target;
	int r = 0;

	query_text_init(&sender->target, "/");
	if (request->query) {
		/* Of a cluster, whose shards have the rows before the answer comes, and not some
		 * time later. */
		query_text_add(&sender->target, "insert_distributed_sync", "1");
		query_text_add(&sender->target, "query", request->query);
	} else {
		r = clickhouse_requests_question(requests, request, question);
		query_text_add(&sender->target, "query", r == 0 ? question : "");
	}
	if (r == 0)
		r = query_text_finish(&sender->target, &target);
	if (r < 0)
		return fail(sender, -EBADMSG, "the batch is damaged");
	(void)snprintf(sender->url, sizeof(sender->url), "%s%s", sender->receiver.url, target);
	if (request->query)
		return transfer(sender, sender->url, request->body_at, request->body_bytes);
	sender->memory = nothing;
	r = transfer(sender, sender->url, 0, sizeof(nothing));
	sender->memory = NULL;
	return r;
}

/* An insert without the rows that the receiver has. */
static int send_new_rows(struct sender *sender, const struct clickhouse_requests *requests,
	const struct clickhouse_request *request)
{
	_cleanup_(new_rows_done) struct new_rows rows = { 0 };
	struct clickhouse_request of_memory = *request;
	int r = new_rows_take(&rows, request, SEND_BATCH_FD, sender->receiver.url, sender->known);

	if (r < 0)
		return send_request(sender, requests, request);
	if (rows.count == 0)
		return 0;
	of_memory.body_at = 0;
	of_memory.body_bytes = rows.body.size;
	sender->memory = rows.body.bytes;
	r = send_request(sender, requests, &of_memory);
	sender->memory = NULL;
	if (r == 0 && has_succeeded(sender))
		new_rows_note(&rows, sender->known);
	return r;
}

/* The answer to the question is a number. */
static int read_number(struct sender *sender, bool *ret_is_zero)
{
	const size_t digits = strspn((const char *)sender->body, "0123456789");

	if (sender->body_bytes >= BODY_BYTES || digits == 0 ||
		digits + (sender->body[digits] == '\n') != sender->body_bytes)
		return fail(
			sender, -EPROTO, "the answer to a query is no number: is it ClickHouse?");
	*ret_is_zero = strspn((const char *)sender->body, "0") == digits;
	return 0;
}

/* Ends at the first request that fails: what was inserted before it is harmless, and comes again.
 */
static int send_requests(struct sender *sender)
{
	struct clickhouse_requests requests;
	struct clickhouse_request request;
	bool is_missing = true;
	int r = clickhouse_requests_open(&requests, SEND_BATCH_FD, sender->request.bytes);

	sender->reply.status = STATUS_OK;
	while (r == 0 && is_missing && has_succeeded(sender)) {
		r = clickhouse_requests_next(&requests, &request);
		if (r < 0 || request.body_bytes == 0 ||
			(requests.count == 1 && !sender->request.may_be_there))
			continue;
		memset(sender->body, 0, sizeof(sender->body));
		r = sender->known && request.insert > CLICKHOUSE_IDENTITY &&
				    request.insert <= CLICKHOUSE_STACKS
			    ? send_new_rows(sender, &requests, &request)
			    : send_request(sender, &requests, &request);
		if (r == 0 && requests.count == 1 && has_succeeded(sender))
			r = read_number(sender, &is_missing);
	}
	/* It may come back without its tables. */
	if (sender->known && ((r < 0 && r != -ENOENT) || !has_succeeded(sender)))
		known_rows_forget(sender->known);
	if (r == -EBADMSG && !sender->reply.text[0])
		(void)fail(sender, r, "the batch is damaged");
	return r == -ENOENT ? 0 : r;
}

/* --- Parca --- */

static void set_path(struct sender *sender, const char *path)
{
	(void)snprintf(sender->url, sizeof(sender->url), "%s%s", sender->receiver.url, path);
}

static const char *post(void *context, const char *path, const char *body, size_t size)
{
	struct sender *sender = context;

	set_path(sender, path);
	memset(sender->body, 0, sizeof(sender->body));
	sender->memory = body;
	sender->post_error = transfer(sender, sender->url, 0, size);
	sender->memory = NULL;
	return sender->post_error == 0 && has_succeeded(sender) ? (const char *)sender->body : NULL;
}

/* Names come first: what followed the series could make them come again, and count twice. Names
 * that are refused do not hold the batch up. */
static int send_series(struct sender *sender)
{
	struct pilotlight_parca_binary binary;
	struct parca_batch batch;
	char refusal[SEND_TEXT_BYTES] = "it gives no reason";
	uint64_t at, lost = 0;
	int r = parca_batch_open(&batch, SEND_BATCH_FD, sender->request.bytes);

	while (r == 0) {
		r = parca_batch_next(&batch, &binary, &at);
		if (r == 0 && !parca_batch_upload(&batch, &binary, at, post, sender)) {
			if (sender->post_error < 0)
				return sender->post_error;
			if (lost++ == 0 && sender->reply.text[0])
				memcpy(refusal, sender->reply.text, sizeof(refusal));
		}
	}
	if (r != -ENOENT)
		return fail(sender, r, "the batch is damaged");
	sender->reply.text[0] = '\0';
	set_path(sender, "/profiles/writeraw");
	r = transfer(sender, sender->url, batch.at, batch.bytes - batch.at);
	sender->reply.rejected = lost;
	if (r == 0 && lost > 0 && has_succeeded(sender))
		memcpy(sender->reply.text, refusal, sizeof(refusal));
	return r;
}

static int perform(struct sender *sender)
{
	if (!set_up(sender))
		return fail(sender, -EINVAL, "libcurl does not take the settings of this sink");
	sender->end_ns = clock_monotonic_ns() + (uint64_t)sender->receiver.timeout_s * NSEC_PER_SEC;
	if (sender->receiver.is_clickhouse)
		return send_requests(sender);
	if (sender->receiver.is_parca)
		return send_series(sender);
	return transfer(sender, sender->receiver.url, 0, sender->request.bytes);
}

/* --- */

static int receive_request(struct send_request *ret_request)
{
	int r = child_request_receive(ret_request, sizeof(*ret_request));

	if (r < 0)
		return r;
	return ret_request->version == SEND_VERSION &&
			       memchr(ret_request->sink, '\0', sizeof(ret_request->sink)) &&
			       memchr(ret_request->type, '\0', sizeof(ret_request->type))
		       ? 0
		       : -EPROTO;
}

/* Before the request is received: the sender may have fewer privileges than the process that
 * started this one. A unit kills all its processes when the first has ended. */
static int give_up_privileges(bool is_in_service)
{
	int r = sandbox_drop_privileges(SANDBOX_ROOT_FAILS);

	return r == 0 && !is_in_service ? sandbox_die_with_parent(SEND_SOCKET_FD) : r;
}

/* Everything that needs more than the sandbox permits comes before it. */
static int work(struct sender *sender)
{
	struct fault fault = { 0 };
	int r = libcurl_load(&fault);

	if (r < 0)
		return fail(sender, r, "%.150s", fault.text);
	sender->curl = libcurl()->easy_init();
	if (!sender->curl)
		return fail(sender, -ENOMEM, "libcurl does not start");
	(void)known_rows_map(SEND_KNOWN_FD, &sender->known);
	r = read_configuration(sender);
	if (r == 0)
		r = read_token(sender);
	if (r < 0)
		return r;
	r = send_sandbox_close_files(&sender->receiver);
	if (r == 0)
		r = send_sandbox_forbid_calls();
	if (r < 0)
		return fail(sender, r, "the sender's sandbox failed: %s", strerror(-r));
	return perform(sender);
}

int send_main(int argc, char **argv)
{
	struct sender *sender = calloc(1, sizeof(*sender));
	int r;

	/* Otherwise the name is that of /proc/self/exe. */
	(void)prctl(PR_SET_NAME, "sink-send", 0, 0, 0);
	/* A write to a closed connection fails with EPIPE instead. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (!sender)
		return EXIT_NOT_A_SENDER;
	r = give_up_privileges(argc > 1 && strcmp(argv[1], "--in-service") == 0);
	if (r < 0)
		(void)fail(sender, r,
			"root without CAP_SETUID and CAP_SETGID cannot start a "
			"process without privileges");
	else if (receive_request(&sender->request) < 0)
		return EXIT_NOT_A_SENDER;
	else
		r = work(sender);
	sender->reply.version = SEND_VERSION;
	sender->reply.error = r;
	if (send(SEND_SOCKET_FD, &sender->reply, sizeof(sender->reply), MSG_NOSIGNAL) < 0)
		return EXIT_NOT_A_SENDER;
	/* Neither libcurl's memory nor its threads are worth waiting for. */
	_exit(EXIT_SUCCESS);
}
