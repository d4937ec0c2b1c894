/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/parca.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "export/service_series.h"
#include "export/symbol_elf.h"
#include "pilotlight/parca_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct batch {
	const struct profile *profile;
	const struct parca_options *options;
	struct pilotlight_parca_binary binaries[PILOTLIGHT_PARCA_BINARIES_MAX];
	uint32_t count;
	struct output_memory elf; /* the files, one after another */
	struct output elf_output;
	struct json json;
};

static void batch_free(struct batch *batch)
{
	if (!batch)
		return;
	free(batch->elf.bytes);
	free(batch);
}
DEFINE_CLEANUP(struct batch, batch_free);

/* --- names --- */

/* When the symbol file of trusted binaries with this build-id was made; 0: there is none. */
static uint64_t symbols_made_s(const struct batch *batch, const struct build_id *id)
{
	const struct symbol_identity identity = symbol_identity_of_build_id(id);
	struct pilotlight_symbol_header header;

	if (!batch->options->symbols ||
		cached_symbol_source_peek(batch->options->symbols, &identity, &header) < 0)
		return 0;
	return header.created_s;
}

static struct pilotlight_parca_binary *add_binary(
	struct batch *batch, const struct build_id *id, uint64_t symbols_s)
{
	struct pilotlight_parca_binary *binary = &batch->binaries[batch->count++];

	*binary = (struct pilotlight_parca_binary){
		.symbols_s = symbols_s,
		.build_id_bytes = id->size,
	};
	memcpy(binary->build_id, id->bytes, sizeof(binary->build_id));
	return binary;
}

static bool has_binary(const struct batch *batch, const struct build_id *id)
{
	for (uint32_t i = 0; i < batch->count; i++)
		if (memcmp(batch->binaries[i].build_id, id->bytes, sizeof(id->bytes)) == 0)
			return true;
	return false;
}

/* Returns the size of the file; 0: there are no names, or they are too large. */
static int add_elf(struct batch *batch, const struct symbol_file *file, uint32_t *ret_bytes)
{
	const size_t before = batch->elf.size;
	int r, error;

	batch->elf.limit_bytes = PILOTLIGHT_PARCA_ELF_BYTES_MAX;
	output_init(&batch->elf_output, output_to_memory, &batch->elf);
	r = symbol_elf_write(file, &batch->elf_output);
	error = output_finish(&batch->elf_output);
	if (r == 0)
		r = error;
	if (r < 0)
		batch->elf.size = before;
	*ret_bytes = (uint32_t)(batch->elf.size - before);
	return r;
}

static int add_late_name(struct batch *batch, const struct build_id *id, uint64_t symbols_s)
{
	const struct symbol_identity identity = symbol_identity_of_build_id(id);
	const uint64_t made_s = symbols_made_s(batch, id);
	const bool is_first = batch->elf.size == 0;
	struct pilotlight_parca_binary *binary;
	const struct symbol_file *file;
	uint32_t bytes;
	int r;

	if (made_s == 0 || made_s == symbols_s || has_binary(batch, id) ||
		batch->count == PILOTLIGHT_PARCA_BINARIES_MAX ||
		cached_symbol_source_find(batch->options->symbols, &identity, &file) < 0)
		return 0;
	r = add_elf(batch, file, &bytes);
	if (r == -ENOMEM)
		return r;
	/* It is the next batch's. */
	if (r == -E2BIG && !is_first)
		return 0;
	binary = add_binary(batch, id, symbol_file_header(file)->created_s);
	binary->elf_bytes = bytes;
	binary->is_named = r != -ENODATA;
	return 0;
}

static int add_late_names(struct batch *batch)
{
	const char *at = batch->options->late_names ? batch->options->late_names : "";
	int r = 0;

	while (r == 0 && *at) {
		char hex[BUILD_ID_HEX_BYTES] = "";
		const size_t size = strcspn(at, ":,");
		struct symbol_identity identity;

		if (size < sizeof(hex))
			memcpy(hex, at, size);
		at += size;
		if (*at != ':' || symbol_identity_parse(hex, &identity) < 0)
			return -EINVAL;
		r = add_late_name(batch, &identity.id, strtoull(at + 1, NULL, 16));
		at += strcspn(at, ",");
		at += *at == ',';
	}
	return r;
}

static void add_unnamed(struct batch *batch)
{
	const struct profile *profile = batch->profile;

	for (size_t i = 0; i < profile->locations.count; i++) {
		const struct profile_location *location = &profile->locations.items[i];
		const struct profile_binary *binary = &profile->binaries.items[location->binary];

		if (location->frame_count > 0 || binary->build_id.size == 0 ||
			binary->text_bytes == 0 ||
			(binary->kind != BINARY_EXECUTABLE && binary->kind != BINARY_LIBRARY) ||
			(binary->symbols.id.size > 0 &&
				binary->symbols.kind != PILOTLIGHT_SYMBOL_BUILD_ID) ||
			has_binary(batch, &binary->build_id))
			continue;
		if (batch->count == PILOTLIGHT_PARCA_BINARIES_MAX)
			return;
		(void)add_binary(
			batch, &binary->build_id, symbols_made_s(batch, &binary->build_id));
	}
}

/* --- the request --- */

static void begin_series(void *context)
{
	struct json *json = &((struct batch *)context)->json;

	json_begin_object(json);
	json_key(json, "labels");
	json_begin_object(json);
	json_key(json, "labels");
	json_begin_array(json);
}

static void put_label(void *context, const char *name, const char *value, size_t size)
{
	struct json *json = &((struct batch *)context)->json;

	json_begin_object(json);
	json_member_string(json, "name", name);
	json_key(json, "value");
	json_string_bytes(json, value, size);
	json_end_object(json);
}

static void begin_profiles(void *context)
{
	struct json *json = &((struct batch *)context)->json;

	json_end_array(json);
	json_end_object(json);
	json_key(json, "samples");
	json_begin_array(json);
}

static void put_profile(void *context, const char *id, const char *bytes, size_t size)
{
	struct json *json = &((struct batch *)context)->json;

	(void)id; /* Parca knows none */
	json_begin_object(json);
	json_key(json, "rawProfile");
	json_base64(json, bytes, size);
	json_end_object(json);
}

static int end_series(void *context)
{
	struct json *json = &((struct batch *)context)->json;

	json_end_array(json);
	json_end_object(json);
	return json->output->error;
}

static int write_request(struct batch *batch, struct output *output)
{
	static const struct service_series_format format = {
		.host_label = "node",
		.begin = begin_series,
		.label = put_label,
		.begin_profiles = begin_profiles,
		.profile = put_profile,
		.end = end_series,
	};
	int r;

	json_init(&batch->json, output);
	json_begin_object(&batch->json);
	/* Addresses are vaddrs of the ELF file, not those of a process. */
	json_member_bool(&batch->json, "normalized", true);
	json_key(&batch->json, "series");
	json_begin_array(&batch->json);
	r = service_series_write(
		batch->profile, batch->options->host, batch->options->attributes, &format, batch);
	json_end_array(&batch->json);
	json_end_object(&batch->json);
	return r;
}

int parca_write(
	const struct profile *profile, const struct parca_options *options, struct output *output)
{
	_cleanup_(batch_freep) struct batch *batch = calloc(1, sizeof(*batch));
	struct pilotlight_parca_batch header = {
		.magic = PILOTLIGHT_PARCA_BATCH_MAGIC,
		.version = PILOTLIGHT_PARCA_BATCH_VERSION,
	};
	int r;

	if (!batch)
		return -ENOMEM;
	batch->profile = profile;
	batch->options = options;
	r = add_late_names(batch);
	if (r < 0)
		return r;
	add_unnamed(batch);
	header.binaries = batch->count;
	output_write(output, &header, sizeof(header));
	output_write(output, batch->binaries, batch->count * sizeof(*batch->binaries));
	if (batch->elf.size > 0)
		output_write(output, batch->elf.bytes, batch->elf.size);
	return write_request(batch, output);
}
