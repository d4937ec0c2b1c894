/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks HotSpot's generated code, and finds, proves and copies its methods. The walk
 * needs the library's description before it meets the library, which is behind all methods: once a
 * stack of the process has led through the library, its place is known for the process until
 * another process takes the entry.
 */
#pragma once

#include "runtime_hotspot_scopes.bpf.h"
#include "runtime_hotspot_stub.bpf.h"

enum {
	HOTSPOT_PLACES_SHIFT = 12,
	/* Bytes from a frame's bytecode to its method, which is above: 32 or 40. */
	HOTSPOT_FRAME_APART_MAX = 40,
};

/* The seal covers the rest, so an entry of two halves is that of no process. */
struct process_runtime {
	__u64 seal;
	__u64 at; /* an address in the code of HotSpot's library, of PHP, or of Ruby */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << HOTSPOT_PLACES_SHIFT);
	__type(key, __u32);
	__type(value, struct process_runtime);
} process_runtimes SEC(".maps");

static __always_inline const struct pilotlight_runtime_hotspot *walked_hotspot(
	const struct walker *walker)
{
	__u32 number = walker->walk.hotspot.number;
	const struct pilotlight_runtime *runtime = bpf_map_lookup_elem(&runtimes, &number);

	if (!runtime || runtime->version != PILOTLIGHT_RUNTIME_VERSION ||
		runtime->language != PILOTLIGHT_RUNTIME_HOTSPOT)
		return 0;
	return (const struct pilotlight_runtime_hotspot *)runtime;
}

static __always_inline __u64 process_owner(const struct walker *walker)
{
	return runtime_hash(runtime_hash(walker->mm, walker->process.start_ns),
		(__u64)walker->process.exec_id << 32 | walker->process.tgid);
}

static __always_inline __u64 process_seal(__u64 owner, __u64 at)
{
	return runtime_hash(owner, at) | 1; /* no entry of zeros has a seal */
}

static __always_inline struct process_runtime *find_process_runtime(__u64 owner)
{
	__u32 at = owner >> (64 - HOTSPOT_PLACES_SHIFT);

	return bpf_map_lookup_elem(&process_runtimes, &at);
}

/* These are global functions for the verifier, which checks each once (walker.bpf.h). */

/* From what earlier walks have met. */
__noinline int know_runtime(struct walker *walker)
{
	const struct process_runtime *entry;
	struct walk *walk;
	__u64 owner, at;
	__u32 mapping;

	if (!walker)
		return 0;
	walk = &walker->walk;
	walk->has_asked = 1;
	owner = process_owner(walker);
	entry = find_process_runtime(owner);
	if (!entry)
		return 0;
	at = entry->at;
	if (entry->seal != process_seal(owner, at))
		return 0;
	mapping = walk->mapping;
	if (enter_mapping(walker, at))
		note_runtime(walk, &walk->mappings[number_below(WALK_MAPPINGS, walk->mapping)]);
	walk->mapping = mapping;
	return 1;
}

/* For later walks of the process. */
static __always_inline void remember_runtime(struct walker *walker, __u64 at)
{
	__u64 owner = process_owner(walker);
	struct process_runtime *entry = find_process_runtime(owner);

	if (!entry || entry->seal == process_seal(owner, at) || has_walked_thread_run())
		return;
	entry->at = at;
	entry->seal = process_seal(owner, at);
}

/* What code is at `ip`? Returns enum hotspot_kind. The walk mostly looks for the leaf last, and the
 * leaf's method is looked for next. */
__noinline int find_hotspot(struct walker *walker, __u64 ip)
{
	const struct pilotlight_runtime_hotspot *runtime;
	struct hotspot *known;

	if (!walker)
		return HOTSPOT_NONE;
	known = &walker->runtime.known_hotspot;
	if (ip == known->found_ip)
		return (int)known->found_kind;
	runtime = walked_hotspot(walker);
	if (!runtime)
		return HOTSPOT_NONE;
	known->found_kind =
		hotspot_find(&walker->walk, known, &walker->runtime.hotspot.blob, runtime, ip);
	known->found_ip = ip;
	return (int)known->found_kind;
}

/* As hotspot_up(). */
__noinline __u32 find_up(struct walker *walker, int kind)
{
	return walker ? hotspot_up(&walker->walk, &walker->runtime.hotspot.blob,
				(enum hotspot_kind)kind)
		      : (__u32)HOTSPOT_NOWHERE;
}

__noinline int leave_frame(struct walker *walker, __u32 up, int kind)
{
	return walker ? hotspot_leave(&walker->walk, up, (enum hotspot_kind)kind)
		      : PILOTLIGHT_WALK_UNSUPPORTED;
}

/* As hotspot_leave_stub(). */
__noinline int leave_stub(struct walker *walker)
{
	return walker ? hotspot_leave_stub(&walker->walk, &walker->runtime.hotspot.blob)
		      : PILOTLIGHT_WALK_UNSUPPORTED;
}

/* A frame of the interpreter has the distance of its frame pointer in `depths`. */
__noinline int step_interpreted(struct walker *walker)
{
	const struct pilotlight_runtime_hotspot *runtime;
	struct walk *walk;
	__u32 at;
	__u64 fp;
	int end;

	if (!walker)
		return PILOTLIGHT_WALK_UNSUPPORTED;
	walk = &walker->walk;
	runtime = walked_hotspot(walker);
	if (!runtime)
		return PILOTLIGHT_WALK_UNSUPPORTED;
	end = hotspot_step_interpreted(walk, &walker->runtime.known_hotspot, runtime, &fp);
	at = walk->record.count - 1;
	if (at < WALK_DEPTHS)
		walk->depths[number_below(WALK_DEPTHS, at)] = fp ? (__u32)(fp - walk->leaf_sp) : 0;
	return end;
}

/* As hotspot_go_to_carrier(). */
__noinline int try_carrier(struct walker *walker, __u32 at)
{
	return walker ? hotspot_go_to_carrier(&walker->walk, &walker->runtime.known_hotspot, at)
		      : PILOTLIGHT_WALK_UNSUPPORTED;
}

__noinline int is_carrier_stub(struct walker *walker)
{
	return walker && hotspot_is_carrier_stub(&walker->walk, &walker->runtime.hotspot.blob);
}

/* Not a function of its own: the BPF stack has no room for one more. */
static __always_inline int go_to_carrier(struct walker *walker)
{
	int end = HOTSPOT_OTHER;

	for (__u32 i = 0; i < HOTSPOT_ENTRY_SEARCH && end == HOTSPOT_OTHER; i++)
		end = try_carrier(walker, i);
	return end == HOTSPOT_OTHER ? PILOTLIGHT_WALK_NO_FUNCTION : end;
}

/* Goes from the last frame, at `where`, to its caller, if it is of HotSpot's generated code. */
__noinline int step_hotspot(struct walker *walker, __u64 where)
{
	struct walk *walk;
	int kind, end;

	if (!walker)
		return HOTSPOT_OTHER;
	walk = &walker->walk;
	kind = find_hotspot(walker, where);
	if (kind == HOTSPOT_INTERPRETER)
		return step_interpreted(walker);
	if (kind == HOTSPOT_NONE)
		return HOTSPOT_OTHER;
	if (!walk->doubt) {
		end = leave_frame(walker, find_up(walker, kind), kind);
		return end == HOTSPOT_OTHER ? leave_stub(walker) : end;
	}
	end = kind == HOTSPOT_STUB && is_carrier_stub(walker) ? go_to_carrier(walker)
							      : PILOTLIGHT_WALK_NO_FUNCTION;
	if (end != WALK_ON)
		walk->record.count--;
	return end;
}

/* The method that runs in a frame of the interpreter, and its bytecode. */
static __always_inline __u64 read_interpreted(struct walker *walker,
	const struct pilotlight_runtime_hotspot *runtime, __u32 at, __u64 *bytecode)
{
	__u64 depth = walker->walk.depths[number_below(WALK_DEPTHS, at)], method = 0, fp,
	      register_13;
	__u32 apart = (__u32)(runtime->frame_method_at - runtime->frame_bytecode_at);
	struct hotspot_blob *blob = &walker->runtime.hotspot.blob;

	*bytecode = 0;
	if (depth == 0 || (at == 0 && hotspot_enters(runtime, depth)))
		return at == 0 && can_read_own_pt_regs(&method, 1, PT_REGS_RBX) ? method : 0;
	fp = walker->walk.leaf_sp + depth;
	/* One read for both. */
	if (apart > HOTSPOT_FRAME_APART_MAX ||
		!can_read_own_user(blob->words, HOTSPOT_FRAME_APART_MAX / HOTSPOT_WORD + 1,
			fp + (__s64)runtime->frame_bytecode_at))
		return 0;
	method = hotspot_word(blob, apart);
	*bytecode = hotspot_word(blob, 0);
	if (at == 0 && walker->walk.frames[0] & PILOTLIGHT_FRAME_EXACT &&
		can_read_own_pt_regs(&register_13, 1, PT_REGS_R13))
		*bytecode = register_13;
	return method;
}

enum found_method {
	METHOD_NONE,
	METHOD_PROVED,
	METHOD_STUB,	 /* which is known by its name */
	METHOD_COMPILED, /* `blob` and `scopes` tell which methods run there */
};

/* Proves the method at `address`, which is at an unknown bytecode. */
__noinline int prove_method(struct walker *walker, __u64 address)
{
	const struct pilotlight_runtime_hotspot *runtime;
	struct runtime_state *state;

	if (!walker)
		return 0;
	state = &walker->runtime;
	state->step.unit = -1;
	runtime = walked_hotspot(walker);
	return runtime && hotspot_prove(&state->hotspot.method, &state->hotspot.blob,
				  state->hotspot.classes, runtime, address, &state->step);
}

/* Finds the method of a native frame. Returns enum found_method. */
__noinline int find_method(struct walker *walker, __u32 at)
{
	const struct pilotlight_runtime_hotspot *runtime;
	struct runtime_state *state;
	__u64 frame, method, bytecode;
	int kind, is_exact;

	if (!walker)
		return METHOD_NONE;
	state = &walker->runtime;
	runtime = walked_hotspot(walker);
	if (!runtime)
		return METHOD_NONE;
	frame = walker->walk.frames[number_below(WALK_DEPTHS, at)];
	is_exact = !!(frame & PILOTLIGHT_FRAME_EXACT);
	frame &= PILOTLIGHT_FRAME_ADDRESS_MASK;
	kind = find_hotspot(walker, frame - !is_exact);
	state->known_hotspot.found_ip = 0; /* proofs take the blob's place */
	if (kind == HOTSPOT_METHOD) {
		hotspot_find_scopes(
			&state->hotspot.scopes, runtime, &state->hotspot.blob, frame, is_exact);
		return METHOD_COMPILED;
	}
	if (kind == HOTSPOT_STUB) {
		state->step.code = state->hotspot.blob.name;
		state->step.check = state->hotspot.blob.name_text;
		state->step.unit = -1;
		return METHOD_STUB;
	}
	if (kind != HOTSPOT_INTERPRETER)
		return METHOD_NONE;
	method = read_interpreted(walker, runtime, at, &bytecode);
	if (!prove_method(walker, method))
		return METHOD_NONE;
	state->step.unit =
		hotspot_unit(&state->hotspot.method, &state->hotspot.blob, runtime, bytecode);
	return METHOD_PROVED;
}

/* Proves the method of the next scope. Returns 0 if the scope makes no sense. */
__noinline int prove_scope(struct walker *walker)
{
	const struct pilotlight_runtime_hotspot *runtime;
	struct runtime_state *state;

	if (!walker)
		return 0;
	state = &walker->runtime;
	runtime = walked_hotspot(walker);
	return runtime && hotspot_next_scope(&state->hotspot.scopes, runtime) &&
	       hotspot_prove(&state->hotspot.method, &state->hotspot.blob, state->hotspot.classes,
		       runtime, state->hotspot.scopes.method, &state->step) &&
	       hotspot_scope_unit(
		       &state->hotspot.scopes, &state->hotspot.blob, runtime, &state->step.unit);
}

enum method_part { METHOD_NAME, METHOD_CLASS, METHOD_SOURCE, METHOD_LINES };

__noinline int copy_method_part(struct walker *walker, __u32 entry, int part)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	const struct pilotlight_runtime_hotspot *runtime;
	const struct hotspot_method *method;
	const struct hotspot_blob *blob;

	if (!walker || !copier)
		return 0;
	runtime = walked_hotspot(walker);
	if (!runtime)
		return 0;
	method = &walker->runtime.hotspot.method;
	blob = &walker->runtime.hotspot.blob;
	switch (part) {
	case METHOD_NAME:
		return hotspot_copy_name(runtime, method, blob, &copier->record.code.name);
	case METHOD_CLASS:
		return hotspot_copy_class(runtime, method, &copier->record.code.file);
	case METHOD_SOURCE:
		hotspot_copy_source(runtime, method, &copier->record.code);
		return 1;
	default:
		hotspot_copy_lines(runtime, method, blob, &copier->record.code);
		return 1;
	}
}

__noinline int end_method(__u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);

	if (!copier)
		return 0;
	hotspot_end_text(&copier->record.code.file);
	hotspot_begin_search(&copier->lines, &copier->record.code);
	return copier->record.code.file.bytes != 0;
}

__noinline int search_lines(__u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);

	return copier && hotspot_search_lines(&copier->lines, &copier->record.code);
}

__noinline int end_lines(__u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);

	if (!copier)
		return 0;
	hotspot_end_lines(&copier->lines, &copier->record.code);
	return 1;
}

__noinline int copy_stub(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);

	return walker && copier &&
	       hotspot_copy_stub(&walker->runtime.hotspot.blob, &copier->record.code);
}

static __always_inline int copy_method_parts(struct walker *walker, __u32 entry)
{
	if (!copy_method_part(walker, entry, METHOD_NAME) ||
		!copy_method_part(walker, entry, METHOD_CLASS) ||
		!copy_method_part(walker, entry, METHOD_SOURCE) ||
		!copy_method_part(walker, entry, METHOD_LINES) || !end_method(entry))
		return 0;
	for (__u32 i = 0; i < PILOTLIGHT_HOTSPOT_LINES_MAX; i += HOTSPOT_LINES_PART)
		if (!search_lines(entry))
			break;
	return end_lines(entry);
}

/* The identity of the method that was found, from a copy; 0: it cannot be copied now. */
__noinline __u64 copy_method(struct walker *walker, __u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);
	int is_stub;

	if (!walker || !copier || !take_copy(walker, copier))
		return 0;
	is_stub = walker->runtime.step.code == walker->runtime.hotspot.blob.name;
	if (!(is_stub ? copy_stub(walker, entry) : copy_method_parts(walker, entry)))
		return 0;
	copier->record.code.hash = runtime_code_hash(&copier->record.code);
	return keep_copy(walker, copier);
}

/* Adds the method that was proved. Returns 0 if it cannot be named now, or there is no room. */
static __always_inline int append_method(struct walker *walker, __u32 entry, __u32 place)
{
	__u64 code;

	if (walker->walk.record.runtime_count >= PILOTLIGHT_RUNTIME_FRAMES_MAX)
		return 0;
	if (!is_known_code(walker, &code))
		code = copy_method(walker, entry);
	if (code)
		put_placed_frame(walker, code, walker->runtime.step.unit, place);
	return code != 0;
}
