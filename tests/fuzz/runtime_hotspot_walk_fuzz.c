/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps out of generated code, and copies a method, in a made-up JVM that the input damages: first
 * the place of the instruction and whether it is a leaf, then two bytes for a place, one for the
 * change. Reads are bounded, and what is copied must be a sound record.
 */
#include "tests/extract/hotspot_memory.h"

#include "bpf/runtime_hotspot_scopes.bpf.h"
#include "bpf/runtime_hotspot_stub.bpf.h"
#include "symbol/runtime_code.h"

#include <stdlib.h>

enum { DAMAGES_MAX = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The record was full of other bytes before. */
static void check_method(struct hotspot_blob *blob, uint64_t address)
{
	static struct pilotlight_runtime_code record;
	static struct runtime_code code;
	struct hotspot_class classes[HOTSPOT_CLASSES] = { 0 };
	struct hotspot_line_search search;
	struct hotspot_method method;
	struct runtime_step step;

	if (!hotspot_prove(&method, blob, classes, &jvm_runtime, address, &step))
		return;
	memset(&record, 0xff, sizeof(record));
	if (!hotspot_copy_name(&jvm_runtime, &method, blob, &record.name) ||
		!hotspot_copy_class(&jvm_runtime, &method, &record.file))
		return;
	hotspot_copy_source(&jvm_runtime, &method, &record);
	hotspot_copy_lines(&jvm_runtime, &method, blob, &record);
	hotspot_end_text(&record.file);
	hotspot_begin_search(&search, &record);
	while (hotspot_search_lines(&search, &record))
		;
	hotspot_end_lines(&search, &record);
	record.hash = runtime_code_hash(&record);
	if (runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code) < 0)
		abort();
}

/* Callers have lower offsets, so the number of scopes needs no bound here. */
static void check_scopes(struct hotspot_blob *blob, const struct walk *walk)
{
	struct hotspot_scopes scopes;
	uint32_t last = UINT32_MAX;

	hotspot_find_scopes(&scopes, &jvm_runtime, blob, walk->ip, walk->is_exact);
	if (scopes.next != 0 && scopes.place & HOTSPOT_PLACE_BETWEEN)
		hotspot_keep_common(&scopes, jvm_runtime.flags);
	while (scopes.next != 0 && hotspot_next_scope(&scopes, &jvm_runtime)) {
		if (scopes.next >= last)
			abort();
		last = scopes.next;
		check_method(blob, scopes.method);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct walk walk = { .sp = JVM_MEMORY + JVM_STACK,
		.fp = { JVM_MEMORY + JVM_STACK + 320, SAVED_VALUE, 0 } };
	static struct hotspot hotspot;
	static struct hotspot_blob blob;
	enum hotspot_kind kind;
	__u64 fp, method;

	if (size < 3)
		return 0;
	jvm_init();
	hotspot = (struct hotspot){ 0 };
	walk.hotspot.base = JVM_MEMORY;
	walk.is_exact = bytes[2] & 1;
	walk.registers_kind = walk.is_exact ? REGISTERS_PT_REGS : REGISTERS_NONE;
	walk.ip = JVM_MEMORY + JVM_COMPILED + (bytes[0] | (size_t)bytes[1] << 8) % 0x800;
	for (size_t i = 0, at = 3; i < DAMAGES_MAX && at + 3 <= size; i++, at += 3)
		jvm[(bytes[at] | (size_t)bytes[at + 1] << 8) % sizeof(jvm)] ^= bytes[at + 2];
	kind = hotspot_find(&walk, &hotspot, &blob, &jvm_runtime, walk.ip - !walk.is_exact);
	method = kind == HOTSPOT_METHOD ? blob.method : JVM_MEMORY + JVM_METHOD;
	if (kind == HOTSPOT_METHOD)
		check_scopes(&blob, &walk);
	if (kind == HOTSPOT_INTERPRETER)
		(void)hotspot_step_interpreted(&walk, &hotspot, &jvm_runtime, &fp);
	else if (kind != HOTSPOT_NONE &&
		 hotspot_leave(&walk, hotspot_up(&walk, &blob, kind), kind) == HOTSPOT_OTHER)
		(void)hotspot_leave_stub(&walk, &blob);
	check_method(&blob, method);
	(void)hotspot_go_to_carrier(&walk, &hotspot, bytes[2] % HOTSPOT_ENTRY_SEARCH);
	return 0;
}
