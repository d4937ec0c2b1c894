#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the unwind tables of real binaries, rule by rule, with llvm-dwarfdump and readelf (unwind_oracle.py).
# Some binaries are Debian's, others are built here.
# Runs beside others: it judges answers about files.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
here=$(dirname "${BASH_SOURCE[0]}")
sources=$root/tests/data/symbols_oracle
archives=$root/build/release/lib
subjects=$tmp/subjects

# subject NAME BINARY [DEBUG]
subject() {
	local name=$1 binary=$2

	if [ ! -e "$binary" ]; then
		printf '%s\tskip\tno %s\n' "$name" "${binary:-such file}" >>"$subjects"
		return
	fi
	shift
	(
		IFS=$'\t'
		printf '%s\t%s\n' "$name" "$*" >>"$subjects"
	)
}

# library NAME: prints the path of a shared library of this machine.
library() {
	ldconfig -p | awk -v name="$1" '$1 == name && /x86-64|AArch64/ { print $NF; exit }'
}

list_debian() {
	subject cc1plus "$(gcc -print-prog-name=cc1plus)"
	subject libc "$(library libc.so.6)"
	subject ld.so "$(library "ld-linux-$(uname -m | tr _ -).so.2")"
	subject libcrypto "$(library libcrypto.so.3)"
	subject libstdc++ "$(library libstdc++.so.6)"
	subject libgcc_s "$(library libgcc_s.so.1)"
	subject libgcrypt "$(library libgcrypt.so.20)"
	subject python3 "$(realpath /usr/bin/python3)"
	subject bash /bin/bash
	subject sqlite3 "$(library libsqlite3.so.0)"
	subject 'libc, aarch64' /usr/aarch64-linux-gnu/lib/libc.so.6
	subject 'ld.so, aarch64' /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1
}

dump_vdso() {
	python3 - "$tmp/vdso" <<-'END'
		import sys
		with open("/proc/self/maps") as maps:
		    span = next((line.split()[0] for line in maps if line.endswith("[vdso]\n")), None)
		if span:
		    start, end = (int(address, 16) for address in span.split("-"))
		    with open("/proc/self/mem", "rb") as memory, open(sys.argv[1], "wb") as copy:
		        memory.seek(start)
		        copy.write(memory.read(end - start))
	END
}

# Functions with rare frames: of dynamic size, aligned, with many saved registers, and with a return in the middle.
write_program() {
	cat >"$tmp/frames.c" <<-'END'
		extern int leaf(int *);
		extern void sink(const void *);
		int late(int n) { int a[n]; sink(a); return leaf(a); }
		int aligned(int n) { int a[64] __attribute__((aligned(64))); sink(a); return leaf(a) + n; }
		int early(int n) { if (n < 3) return n; int b[2] = { n, n }; sink(b);
			return early(leaf(b)) + early(leaf(b + 1)) * n; }
		int leaf(int *p) { return *p + 1; }
		void sink(const void *p) { (void)p; __asm__ volatile("" ::: "memory"); }
		int main(void) { return late(5) + aligned(6) + early(7); }
	END
}

build_programs() {
	local clang=(clang --target=aarch64-linux-gnu -O2 -fuse-ld=lld -nostdlib -shared -fPIC)

	g++ -O2 -std=c++20 "$sources/program.cc" -o "$tmp/cxx" 2>"$tmp/log"
	clang++ -O2 -std=c++20 -fuse-ld=lld -fno-omit-frame-pointer "$sources/program.cc" \
		-o "$tmp/cxx_lld" 2>"$tmp/log"
	! has rustc || rustc --edition 2021 -O "$sources/program.rs" -o "$tmp/rust" 2>"$tmp/log"
	"${clang[@]}" -fasynchronous-unwind-tables "$tmp/frames.c" -o "$tmp/arm" 2>"$tmp/log"
	"${clang[@]}" -fasynchronous-unwind-tables -mbranch-protection=standard "$tmp/frames.c" \
		-o "$tmp/arm_signed" 2>"$tmp/log"
	gcc -O2 -g -fno-asynchronous-unwind-tables -no-pie -Wl,--build-id=sha1 "$tmp/frames.c" \
		-o "$tmp/frames" 2>"$tmp/log" &&
		objcopy --only-keep-debug "$tmp/frames" "$tmp/frames.debug" &&
		strip -o "$tmp/stripped" "$tmp/frames"
	gcc -O2 -g -fno-asynchronous-unwind-tables -static "$tmp/frames.c" -o "$tmp/static" \
		2>"$tmp/log"
}

list_made_here() {
	subject vdso "$tmp/vdso"
	subject 'C++' "$tmp/cxx"
	subject 'C++, clang, lld, frame pointers' "$tmp/cxx_lld"
	subject Rust "$tmp/rust"
	subject 'C, aarch64' "$tmp/arm"
	subject 'C, aarch64, signed return addresses' "$tmp/arm_signed"
	subject 'C, .debug_frame, not PIE' "$tmp/frames"
	subject 'C, .debug_frame of a debug file' "$tmp/stripped" "$tmp/frames.debug"
	subject 'C, .debug_frame, static' "$tmp/static"
}

need_commands python3 gcc g++ clang readelf objcopy
for dwarfdump in llvm-dwarfdump-14 llvm-dwarfdump ''; do
	! has "$dwarfdump" || break
done
[ -n "$dwarfdump" ] || skip_all 'no llvm-dwarfdump'
for archive in extract dwarf symbol base; do
	[ -e "$archives/$archive.a" ] || { echo "Bail out! no $archives/$archive.a: make"; exit 1; }
done

gcc -std=gnu17 -O2 -D_GNU_SOURCE -iquote "$root/daemon" -iquote "$root/include" \
	"$here/unwind_oracle_rows.c" "$archives"/{extract,dwarf,symbol,base}.a \
	-lxxhash -lz -ldw -lelf -llzma -l:libiberty.a -lmd -lm -o "$tmp/rows" ||
	{ echo "Bail out! unwind_oracle_rows.c does not compile"; exit 1; }
write_program
build_programs
dump_vdso
list_debian
list_made_here
PYTHONDONTWRITEBYTECODE=1 python3 "$here/unwind_oracle.py" "$subjects" "$tmp/rows" "$dwarfdump"
