/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks HotSpot's generated code, and adds its methods to a stack that has been walked. The walk
 * needs the library's description before it meets the library, which is behind all methods: once a
 * stack of the process has led through the library, its place is known for the process until
 * another process takes the entry.
 */
#pragma once

#include "runtime_hotspot_seen.bpf.h"

enum { HOTSPOT_PLACES_SHIFT = 12, HOTSPOT_SEEN_EPOCH_SHIFT = RUNTIME_EPOCH_SHIFT - 1 };

/* The seal covers the rest, so an entry of two halves is that of no process. */
struct process_hotspot {
	__u64 seal;
	__u64 at; /* an address in the library's code */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << HOTSPOT_PLACES_SHIFT);
	__type(key, __u32);
	__type(value, struct process_hotspot);
} process_hotspots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << HOTSPOT_SEEN_SHIFT);
	__type(key, __u32);
	__type(value, struct hotspot_seen);
} seen_frames SEC(".maps");

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

static __always_inline __u64 hotspot_owner(const struct walker *walker)
{
	return runtime_hash(runtime_hash(walker->mm, walker->process.start_ns),
		(__u64)walker->process.exec_id << 32 | walker->process.tgid);
}

static __always_inline __u64 hotspot_seal(__u64 owner, __u64 at)
{
	return runtime_hash(owner, at) | 1; /* no entry of zeros has a seal */
}

static __always_inline struct process_hotspot *find_process_hotspot(__u64 owner)
{
	__u32 at = owner >> (64 - HOTSPOT_PLACES_SHIFT);

	return bpf_map_lookup_elem(&process_hotspots, &at);
}

/* These are global functions for the verifier, which checks each once (walker.bpf.h). */

/* From what earlier walks have met. */
__noinline int know_hotspot(struct walker *walker)
{
	const struct process_hotspot *entry;
	struct walk *walk;
	__u64 owner, at;
	__u32 mapping;

	if (!walker)
		return 0;
	walk = &walker->walk;
	walk->has_asked = 1;
	owner = hotspot_owner(walker);
	entry = find_process_hotspot(owner);
	if (!entry)
		return 0;
	at = entry->at;
	if (entry->seal != hotspot_seal(owner, at))
		return 0;
	mapping = walk->mapping;
	if (enter_mapping(walker, at))
		note_runtime(walk, &walk->mappings[number_below(WALK_MAPPINGS, walk->mapping)]);
	walk->mapping = mapping;
	return 1;
}

/* For later walks of the process. */
static __always_inline void remember_hotspot(struct walker *walker)
{
	__u64 owner = hotspot_owner(walker), at = walker->walk.hotspot_at;
	struct process_hotspot *entry = find_process_hotspot(owner);

	if (!entry || entry->seal == hotspot_seal(owner, at))
		return;
	entry->at = at;
	entry->seal = hotspot_seal(owner, at);
}

/* What code is at `ip`? Returns enum hotspot_kind. */
__noinline int find_hotspot(struct walker *walker, __u64 ip)
{
	const struct pilotlight_runtime_hotspot *runtime;

	if (!walker)
		return HOTSPOT_NONE;
	runtime = walked_hotspot(walker);
	return runtime ? (int)hotspot_find(&walker->walk, &walker->runtime.known_hotspot,
				 &walker->runtime.hotspot.blob, runtime, ip)
		       : HOTSPOT_NONE;
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
	end = hotspot_step_interpreted(walk, runtime, &fp);
	at = walk->record.count - 1;
	if (at < WALK_DEPTHS)
		walk->depths[number_below(WALK_DEPTHS, at)] = fp ? (__u32)(fp - walk->leaf_sp) : 0;
	return end;
}

/* Goes from the last frame, at `where`, to its caller, if it is of HotSpot's generated code. */
__noinline int step_hotspot(struct walker *walker, __u64 where)
{
	struct walk *walk;
	int kind;

	if (!walker)
		return HOTSPOT_OTHER;
	walk = &walker->walk;
	kind = find_hotspot(walker, where);
	if (kind == HOTSPOT_INTERPRETER)
		return step_interpreted(walker);
	if (kind == HOTSPOT_NONE)
		return HOTSPOT_OTHER;
	/* Such as where virtual threads return to: their callers are elsewhere. */
	if (walk->is_doubtful) {
		walk->record.count--;
		return PILOTLIGHT_WALK_NO_FUNCTION;
	}
	return leave_frame(walker, find_up(walker, kind), kind);
}

/* The method that runs in a frame of the interpreter, and its bytecode. */
static __always_inline __u64 read_interpreted(struct walker *walker,
	const struct pilotlight_runtime_hotspot *runtime, __u32 at, __u64 *bytecode)
{
	__u64 depth = walker->walk.depths[number_below(WALK_DEPTHS, at)], method = 0, fp,
	      register_13;

	*bytecode = 0;
	/* Where a method is entered, it is in rbx. */
	if (depth == 0)
		return at == 0 && can_read_own_pt_regs(&method, 1, PT_REGS_RBX) ? method : 0;
	fp = walker->walk.leaf_sp + depth;
	if (!can_copy_user(&method, sizeof(method), fp + (__s64)runtime->frame_method_at) ||
		!can_copy_user(bytecode, sizeof(*bytecode), fp + (__s64)runtime->frame_bytecode_at))
		return 0;
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
	return runtime && hotspot_prove(&state->hotspot.method, &state->hotspot.blob, runtime,
				  address, &state->step);
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
	       hotspot_prove(&state->hotspot.method, &state->hotspot.blob, runtime,
		       state->hotspot.scopes.method, &state->step) &&
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

__noinline int hash_method(__u32 entry)
{
	struct runtime_copier *copier = bpf_map_lookup_elem(&runtime_copiers, &entry);

	if (!copier)
		return 0;
	copier->record.code.hash = runtime_code_hash(&copier->record.code);
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
	if (!(is_stub ? copy_stub(walker, entry) : copy_method_parts(walker, entry)) ||
		!hash_method(entry))
		return 0;
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
		append_placed_frame(walker, code, walker->runtime.step.unit, place);
	return code != 0;
}

/* Adds the method of the next scope, and with that of the compiled method ends the group. Returns
 * 1 if there are more, 0 at the end, and -1 if the scopes make no sense or cannot be shown. */
__noinline int step_scope(struct walker *walker, __u32 at, __u32 entry)
{
	const struct hotspot_scopes *scopes;
	int is_last;

	if (!walker || !prove_scope(walker))
		return -1;
	scopes = &walker->runtime.hotspot.scopes;
	is_last = scopes->next == 0;
	if ((is_last && scopes->method != walker->runtime.hotspot.blob.method) ||
		!append_method(walker, entry, is_last ? at : PILOTLIGHT_RUNTIME_PLACE_UNKNOWN))
		return -1;
	return !is_last;
}

/*
 * What a native frame runs is known until its code changes: but not if it is an interrupted
 * instruction, which is another one each time, and while methods of it could not be added.
 */
enum added { ADDED_NOTHING, ADDED_SOME, ADDED_ALL };

/* Adds the methods of a compiled method: all, or that one alone. */
static __always_inline enum added add_scopes(struct walker *walker, __u32 at, __u32 entry)
{
	struct pilotlight_ring_walk *record = &walker->walk.record;
	int has_scopes = walker->runtime.hotspot.scopes.next != 0, more = has_scopes ? 1 : -1;
	__u64 hash = record->hash;
	__u16 count = record->runtime_count;

	for (__u32 i = 0; i < HOTSPOT_SCOPES_MAX && more > 0; i++)
		more = step_scope(walker, at, entry);
	if (more == 0)
		return ADDED_ALL;
	record->hash = hash;
	record->runtime_count = count;
	if (!prove_method(walker, walker->runtime.hotspot.blob.method) ||
		!append_method(walker, entry, at))
		return ADDED_NOTHING;
	return has_scopes ? ADDED_SOME : ADDED_ALL;
}

/* Identifies the process, for half of an epoch that begins at a time of the frame's own: then its
 * methods are sent again if their epochs have ended. */
static __always_inline __u64 seen_owner(const struct walker *walker, __u64 frame)
{
	__u64 time = walker->runtime.begin_ns +
		     (runtime_hash(0, frame) >> (64 - HOTSPOT_SEEN_EPOCH_SHIFT));

	return runtime_hash(walker->runtime.owner,
		(__u64)runtime_generation << 32 | time >> HOTSPOT_SEEN_EPOCH_SHIFT);
}

/* The entry of the native frame; NULL: it has none. */
static __always_inline struct hotspot_seen *find_seen(
	__u64 owner, const struct walker *walker, __u64 frame)
{
	__u32 place = hotspot_seen_place(owner, frame);

	if (frame & PILOTLIGHT_FRAME_EXACT ||
		hotspot_is_interpreter(&walker->runtime.known_hotspot, frame))
		return 0;
	return bpf_map_lookup_elem(&seen_frames, &place);
}

/* Notes the methods of a native frame, which have been added behind the first `before`. */
__noinline int note_seen(struct walker *walker, __u32 at, __u32 before)
{
	const struct pilotlight_runtime_hotspot *runtime;
	struct hotspot_seen *seen, *entry;
	__u64 frame, owner, identity;
	__u32 count;

	if (!walker)
		return 0;
	runtime = walked_hotspot(walker);
	frame = walker->walk.frames[number_below(WALK_DEPTHS, at)];
	owner = seen_owner(walker, frame);
	entry = find_seen(owner, walker, frame);
	count = walker->walk.record.runtime_count - before;
	seen = &walker->runtime.hotspot.seen;
	seen->block = walker->runtime.hotspot.blob.begin;
	if (!runtime || !entry || count > HOTSPOT_SEEN_METHODS ||
		!hotspot_read_identity(&walker->walk, runtime, seen->block, owner, &identity))
		return 0;
	seen->count = count;
	for (__u32 i = 0; i < HOTSPOT_SEEN_METHODS; i++) {
		const __u64 *words = runtime_words(&walker->walk, before + i);

		seen->codes[i] = i < count ? words[0] : 0;
		seen->units[i] = i < count ? (__u32)words[1] : 0;
	}
	seen->seal = hotspot_seen_seal(seen, frame, identity);
	*entry = *seen;
	return 1;
}

/* Adds the methods of a native frame that was seen before. Returns 0 if it was not, or if its code
 * is another one now. */
__noinline int add_seen(struct walker *walker, __u32 at)
{
	const struct pilotlight_runtime_hotspot *runtime;
	const struct hotspot_seen *entry;
	struct hotspot_seen *seen;
	__u64 frame, owner, identity;

	if (!walker)
		return 0;
	runtime = walked_hotspot(walker);
	frame = walker->walk.frames[number_below(WALK_DEPTHS, at)];
	owner = seen_owner(walker, frame);
	entry = find_seen(owner, walker, frame);
	if (!runtime || !entry)
		return 0;
	seen = &walker->runtime.hotspot.seen;
	*seen = *entry;
	if (seen->count == 0 ||
		!hotspot_read_identity(&walker->walk, runtime, seen->block, owner, &identity) ||
		seen->seal != hotspot_seen_seal(seen, frame, identity) ||
		walker->walk.record.runtime_count + seen->count > PILOTLIGHT_RUNTIME_FRAMES_MAX)
		return 0;
	for (__u32 i = 0; i < HOTSPOT_SEEN_METHODS && i < seen->count; i++)
		append_placed_frame(walker, seen->codes[i], (__s32)seen->units[i],
			i + 1 == seen->count ? at : PILOTLIGHT_RUNTIME_PLACE_UNKNOWN);
	return 1;
}

/* Adds the methods of one native frame. */
__noinline int step_method(struct walker *walker, __u32 at, __u32 entry)
{
	enum added added = ADDED_NOTHING;
	__u32 before;
	int found;

	if (!walker)
		return 0;
	before = walker->walk.record.runtime_count;
	found = find_method(walker, at);
	if (found == METHOD_PROVED)
		return append_method(walker, entry, at);
	if (found == METHOD_STUB && append_method(walker, entry, at))
		added = ADDED_ALL;
	if (found == METHOD_COMPILED)
		added = add_scopes(walker, at, entry);
	if (added == ADDED_ALL)
		note_seen(walker, at, before);
	return added != ADDED_NOTHING;
}

__noinline int add_methods(struct walker *walker, __u32 entry)
{
	struct pilotlight_ring_walk *record;

	if (!walker)
		return 0;
	remember_hotspot(walker);
	if (walker->walk.hotspot_is_new)
		forget_walks(&walker->walk);
	walker->walk.hotspot_is_new = 0;
	if (!walker->walk.has_jit)
		return 0;
	begin_state(walker);
	record = &walker->walk.record;
	record->runtime_end = PILOTLIGHT_RUNTIME_ROOT;
	for (__u32 i = 0; i < WALK_DEPTHS && i < record->count; i++) {
		if (walker->walk.frames[i] >> PILOTLIGHT_FRAME_KIND_SHIFT !=
				PILOTLIGHT_FRAME_ADDRESS ||
			add_seen(walker, i))
			continue;
		if (walk_clock_ns() - walker->runtime.begin_ns > RUNTIME_NS_MAX) {
			record->runtime_end = PILOTLIGHT_RUNTIME_DEEP;
			break;
		}
		step_method(walker, i, entry);
	}
	if (record->runtime_count == 0) {
		record->runtime_end = PILOTLIGHT_RUNTIME_NOT_WALKED;
		return 0;
	}
	record->runtime_file = walker->walk.hotspot.file_id;
	record->runtime_language = PILOTLIGHT_RUNTIME_HOTSPOT;
	record->hash = hash_next(record->hash, record->runtime_end);
	return 1;
}
