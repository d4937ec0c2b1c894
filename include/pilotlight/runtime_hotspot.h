/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * The description of HotSpot, the JVM of OpenJDK, in place of a struct pilotlight_runtime. HotSpot
 * keeps its generated code in heaps. A map of segments leads from an address to the block that it
 * belongs to, and so to a blob: a compiled method, the interpreter, or some stub. A compiled method
 * says how large its frames are, so it needs no frame pointer. It also has the debug information
 * that HotSpot needs to go back to the interpreter: which methods the compiler has put into each
 * other at an instruction, and their bytecodes (PcDesc and ScopeDesc in HotSpot's sources). Frames
 * of the interpreter keep the frame pointer; the method is beside it.
 *
 * Places and `…_at` are as in pilotlight/runtime.h.
 */
#pragma once

#include "pilotlight/runtime.h"

enum {
	PILOTLIGHT_HOTSPOT_BLOCK_MAX = 512, /* bytes of a block up to the last of a blob's fields */
	PILOTLIGHT_HOTSPOT_CONST_MAX = 64,  /* the same of the constant part of a method */
};

/* Bits of pilotlight_runtime_hotspot.flags. */
enum {
	/* heaps_place has a heap, and not an array of them (to JDK 8). */
	PILOTLIGHT_HOTSPOT_ONE_HEAP = 1 << 0,
	/* A blob's code is at an offset of 4 bytes, and not at an address. */
	PILOTLIGHT_HOTSPOT_CODE_OFFSET = 1 << 1,
	PILOTLIGHT_HOTSPOT_SHORT_COMPLETE = 1 << 2, /* blob_complete has 2 bytes, and not 4 */
	/* No byte of a compressed number is 0 (from JDK 20 on). */
	PILOTLIGHT_HOTSPOT_NO_ZEROS = 1 << 3,
	/* The scopes are at an address of 8 bytes, and not at an offset (JDK 9 to 22). */
	PILOTLIGHT_HOTSPOT_SCOPES_ADDRESS = 1 << 4,
	/* The offset of the metadata has 2 bytes, and not 4, and begins at the blob's data (JDK 23
	 * and 24). */
	PILOTLIGHT_HOTSPOT_SHORT_METADATA = 1 << 5,
	PILOTLIGHT_HOTSPOT_FLAGS = (1 << 6) - 1,
};

struct pilotlight_runtime_hotspot {
	__u16 version; /* PILOTLIGHT_RUNTIME_VERSION */
	__u8 language; /* PILOTLIGHT_RUNTIME_HOTSPOT */
	__u8 flags;
	__u32 release;	   /* the major version; 0: not known */
	__s64 heaps_place; /* points to the array of heaps, or to the heap */
	/* From the frame pointer of the interpreter's frames. */
	__s16 frame_method_at, frame_bytecode_at, frame_sender_at;
	__u16 array_length_at; /* 4 bytes */
	__u16 array_data_at;
	/* The lowest and the highest address that a heap, or its map, may have. */
	__u16 heap_memory_at;
	__u16 heap_map_at;
	__u16 heap_shift_at;	/* of a segment; 4 bytes */
	__u16 block_used_at;	/* 1 byte: 0 or 1 */
	__u16 block_bytes;	/* the blob is behind */
	__u16 blob_name_at;	/* points to a C string */
	__u16 blob_size_at;	/* these have 4 bytes */
	__u16 blob_frame_at;	/* words of a frame */
	__u16 blob_complete_at; /* from where on in the code the frame is complete */
	__u16 blob_code_at;
	__u16 blob_method_at;  /* of a compiled method */
	__u16 method_const_at; /* the constant part of the method */
	__u16 const_pool_at;   /* the constant pool */
	__u16 const_size_at;   /* 4 bytes: words of the constant part */
	__u16 const_flags_at;  /* 2 bytes: the lowest bit says that there are lines */
	__u16 const_code_at;   /* 2 bytes: bytes of bytecode, which is behind the constant part */
	__u16 const_name_at;   /* 2 bytes each: indexes in the pool */
	__u16 const_signature_at;
	__u16 const_bytes;
	__u16 pool_class_at;
	__u16 pool_bytes;      /* the symbols are behind */
	__u16 pool_source_at;  /* 2 bytes: an index; NONE: */
	__u16 class_source_at; /* the same of the class */
	__u16 class_pool_at;   /* the proof: it leads back to the pool */
	__u16 class_name_at;
	__u16 symbol_length_at; /* 2 bytes */
	__u16 symbol_text_at;
	/*
	 * Of a compiled method, from its blob: the offsets of its tables, 4 bytes each. NONE: the
	 * compiled method alone is known.
	 */
	__u16 scopes_base_at; /* points to where these offsets begin; NONE: at the blob */
	__u16 scopes_pcs_at;  /* an array, sorted by instruction, that leads to the scopes */
	__u16 scopes_pcs_end_at;
	__u16 scopes_data_at;
	__u16 metadata_base_at; /* points to where the next begins; NONE: at the blob */
	__u16 metadata_at;	/* pointers to methods, which scopes name by their index */
	__u16 data_at;		/* of SHORT_METADATA: the offset of the blob's data; else NONE */
	__u16 blob_number_at; /* of a compiled method: a number of 4 bytes that no other one gets */
};
_Static_assert(sizeof(struct pilotlight_runtime_hotspot) == 96, "padding");
_Static_assert(sizeof(struct pilotlight_runtime_hotspot) <= sizeof(struct pilotlight_runtime),
	"it takes its place");

/* The table of a method's record: this, and as much of its compressed table of lines, up to the 0
 * that ends it. The record's name is the method's with its signature, its file is the class. */
enum { PILOTLIGHT_HOTSPOT_SOURCE_MAX = 64, PILOTLIGHT_HOTSPOT_LINES_MAX = 512 };
struct pilotlight_hotspot_table {
	__u8 source[PILOTLIGHT_HOTSPOT_SOURCE_MAX]; /* the name of the source file, and zeros */
	__u8 source_bytes;
	/* Lines are read from here on. */
	__u8 has_no_zeros; /* PILOTLIGHT_HOTSPOT_NO_ZEROS */
	__u8 reserved[6];
};
_Static_assert(sizeof(struct pilotlight_hotspot_table) == 72, "padding");
