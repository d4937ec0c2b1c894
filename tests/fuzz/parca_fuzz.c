/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile made of the input, written as a batch for Parca and read back: its request is JSON that
 * holds profiles in gzip. Then the input as a batch that is sent: nothing is read beyond its end,
 * whatever the server answers.
 */
#include "export/parca.h"
#include "send/parca_batch.h"
#include "tests/export/parca_reading.h"
#include "tests/fuzz/made_profile.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { OUTPUT_MAX = 4 << 20 };

static void check_profile(void *context, const char *base64, size_t size)
{
	size_t bytes;
	uint8_t *profile = base64_read(base64, size, &bytes);

	(void)context;
	assert(bytes > 2 && profile[0] == 0x1f && profile[1] == 0x8b);
	free(profile);
}

static void write_and_check(const struct profile *profile)
{
	const struct parca_options options = { "host", "host.id=1", NULL, "0102:0,03:ff" };
	struct output_memory memory = { .limit_bytes = OUTPUT_MAX };
	static struct parca_read read;
	static struct output output;
	int r;

	output_init(&output, output_to_memory, &memory);
	r = parca_write(profile, &options, &output);
	if (r == 0)
		r = output_finish(&output);
	assert(r == 0);
	parca_read(&read, memory.bytes, memory.size);
	(void)parca_read_request(read.request, check_profile, NULL);
	free(read.request);
	free(memory.bytes);
	(void)r;
}

/* Any text, which ends with a NUL. */
static const char *post(void *context, const char *path, const char *body, size_t size)
{
	(void)path;
	(void)body;
	(void)size;
	return context;
}

static void send_batch(const uint8_t *bytes, size_t size, const char *answer)
{
	struct pilotlight_parca_binary binary;
	struct parca_batch batch;
	uint64_t at;
	int fd = memfd_create("batch", MFD_CLOEXEC);
	ssize_t n = write(fd, bytes, size);

	assert(n == (ssize_t)size);
	(void)n;
	if (parca_batch_open(&batch, fd, size) == 0) {
		while (parca_batch_next(&batch, &binary, &at) == 0)
			(void)parca_batch_upload(&batch, &binary, at, post, (void *)answer);
		assert(batch.at <= size);
	}
	(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct bytes input = { bytes, bytes + size };
	struct profile *profile = make_profile(&input);
	char *answer = strndup((const char *)bytes, size);

	assert(answer);
	write_and_check(profile);
	profile_free(profile);
	send_batch(bytes, size, answer);
	send_batch(bytes, size, "{\"shouldInitiateUpload\":true,\"uploadId\":\"1\"}");
	free(answer);
	return 0;
}
