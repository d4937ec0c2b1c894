/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "send/parca_batch.h"

#include "base/build_id.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	UPLOAD_ID_BYTES = 64,
	HASH_BYTES = 40,
	CHUNK_BYTES = 96 << 10,
	BODY_BYTES_MAX = PILOTLIGHT_PARCA_ELF_BYTES_MAX * 2,
};

struct upload {
	const struct pilotlight_parca_binary *binary;
	char build_id[BUILD_ID_HEX_BYTES], hash[HASH_BYTES], id[UPLOAD_ID_BYTES];
	struct output_memory body;
	struct output output;
	struct json json;
	parca_post post;
	void *context;
};

static void upload_free(struct upload *upload)
{
	if (!upload)
		return;
	free(upload->body.bytes);
	free(upload);
}
DEFINE_CLEANUP(struct upload, upload_free);

/* Reads all or nothing. */
static int read_at(int fd, uint64_t at, void *to, size_t size)
{
	ssize_t n = pread(fd, to, size, (off_t)at);

	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EBADMSG;
}

int parca_batch_open(struct parca_batch *batch, int fd, uint64_t bytes)
{
	struct pilotlight_parca_batch header;
	int r;

	if (bytes < sizeof(header))
		return -EBADMSG;
	r = read_at(fd, 0, &header, sizeof(header));
	if (r < 0)
		return r;
	*batch = (struct parca_batch){
		.fd = fd,
		.bytes = bytes,
		.at = sizeof(header) +
		      header.binaries * (uint64_t)sizeof(struct pilotlight_parca_binary),
		.binaries = header.binaries,
	};
	return header.magic == PILOTLIGHT_PARCA_BATCH_MAGIC &&
			       header.version == PILOTLIGHT_PARCA_BATCH_VERSION &&
			       header.binaries <= PILOTLIGHT_PARCA_BINARIES_MAX &&
			       batch->at <= bytes
		       ? 0
		       : -EBADMSG;
}

int parca_batch_next(
	struct parca_batch *batch, struct pilotlight_parca_binary *ret_binary, uint64_t *ret_at)
{
	struct pilotlight_parca_binary binary;

	while (batch->next < batch->binaries) {
		const uint64_t at = sizeof(struct pilotlight_parca_batch) +
				    batch->next * (uint64_t)sizeof(binary);
		int r = read_at(batch->fd, at, &binary, sizeof(binary));

		if (r < 0)
			return r;
		if (binary.elf_bytes > batch->bytes - batch->at ||
			binary.elf_bytes > PILOTLIGHT_PARCA_ELF_BYTES_MAX)
			return -EBADMSG;
		batch->next++;
		if (!binary.is_named)
			continue;
		*ret_binary = binary;
		*ret_at = batch->at;
		batch->at += binary.elf_bytes;
		return 0;
	}
	return -ENOENT;
}

/* --- the requests --- */

static void begin_body(struct upload *upload)
{
	upload->body.size = 0;
	upload->body.limit_bytes = BODY_BYTES_MAX;
	output_init(&upload->output, output_to_memory, &upload->body);
	json_init(&upload->json, &upload->output);
	json_begin_object(&upload->json);
}

static const char *post_body(struct upload *upload, const char *path)
{
	json_end_object(&upload->json);
	if (output_finish(&upload->output) < 0)
		return NULL;
	return upload->post(upload->context, path, upload->body.bytes, upload->body.size);
}

static void put_identity(struct upload *upload)
{
	json_member_string(&upload->json, "buildId", upload->build_id);
	json_member_string(&upload->json, "buildIdType", "BUILD_ID_TYPE_GNU");
	json_member_string(&upload->json, "hash", upload->hash);
}

static void put_upload_id(struct upload *upload)
{
	json_member_string(&upload->json, "buildId", upload->build_id);
	json_member_string(&upload->json, "uploadId", upload->id);
}

/* Finds a member of an answer in JSON, wherever it is; "": it has none. */
static const char *value_of(const char *answer, const char *quoted_key)
{
	const char *at = strstr(answer, quoted_key);

	if (!at)
		return "";
	at += strlen(quoted_key);
	return at + strspn(at, " :");
}

/* Returns -EALREADY if the server wants no names, as it has better ones or will have. */
static int ask(struct upload *upload)
{
	const char *answer;

	begin_body(upload);
	put_identity(upload);
	answer = post_body(upload, "/shouldinitiateupload");
	if (!answer)
		return -EIO;
	if (strncmp(value_of(answer, "\"shouldInitiateUpload\""), "true", strlen("true")) == 0)
		return 0;
	/* Of another host, or of an attempt that broke off: then the names never come. */
	return strstr(answer, "in-progress") ? -EIO : -EALREADY;
}

static int initiate(struct upload *upload)
{
	char size[24];
	const char *answer, *id;
	size_t length;

	begin_body(upload);
	put_identity(upload);
	(void)snprintf(size, sizeof(size), "%" PRIu32, upload->binary->elf_bytes);
	json_member_string(&upload->json, "size", size);
	answer = post_body(upload, "/initiateupload");
	id = answer ? value_of(answer, "\"uploadId\"") : "";
	length = *id == '"' ? strcspn(id + 1, "\"") : 0;
	if (length == 0 || length >= sizeof(upload->id))
		return -EIO;
	(void)snprintf(upload->id, sizeof(upload->id), "%.*s", (int)length, id + 1);
	return 0;
}

/* A stream of messages: what is uploaded, then its bytes. */
static int send_file(struct upload *upload, const struct parca_batch *batch, uint64_t at)
{
	const uint64_t end = at + upload->binary->elf_bytes;
	_cleanup_free_ uint8_t *chunk = malloc(CHUNK_BYTES);

	if (!chunk)
		return -ENOMEM;
	begin_body(upload);
	json_key(&upload->json, "info");
	json_begin_object(&upload->json);
	put_upload_id(upload);
	json_end_object(&upload->json);
	while (at < end) {
		const size_t size = end - at < CHUNK_BYTES ? (size_t)(end - at) : CHUNK_BYTES;

		if (read_at(batch->fd, at, chunk, size) < 0)
			return -EIO;
		at += size;
		json_end_object(&upload->json);
		json_end_line(&upload->json);
		json_begin_object(&upload->json);
		json_key(&upload->json, "chunkData");
		json_base64(&upload->json, chunk, size);
	}
	return post_body(upload, "/upload") ? 0 : -EIO;
}

static int finish(struct upload *upload)
{
	begin_body(upload);
	put_upload_id(upload);
	return post_body(upload, "/markuploadfinished") ? 0 : -EIO;
}

bool parca_batch_upload(const struct parca_batch *batch,
	const struct pilotlight_parca_binary *binary, uint64_t at, parca_post post, void *context)
{
	_cleanup_(upload_freep) struct upload *upload = calloc(1, sizeof(*upload));
	struct build_id id;
	int r;

	if (!upload || binary->elf_bytes == 0 ||
		build_id_set(&id, binary->build_id, binary->build_id_bytes) < 0)
		return false;
	upload->binary = binary;
	upload->post = post;
	upload->context = context;
	(void)build_id_format(&id, upload->build_id);
	/* Of what it is made, as the server only compares it with that of a file that is no ELF. */
	(void)snprintf(upload->hash, sizeof(upload->hash), "%" PRIx64 "-%" PRIx32,
		binary->symbols_s, binary->elf_bytes);
	r = ask(upload);
	if (r < 0)
		return r == -EALREADY;
	r = initiate(upload);
	if (r == 0)
		r = send_file(upload, batch, at);
	if (r == 0)
		r = finish(upload);
	return r == 0;
}
