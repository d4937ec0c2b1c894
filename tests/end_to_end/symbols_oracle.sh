#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares functions, inlined calls and source lines of many real binaries with llvm-symbolizer and
# eu-addr2line, at ADDRESSES (4000) random addresses of each binary (symbols_oracle.py). Some binaries are Debian's. The
# others are built here, one for each way to build and to store debug information.
# Runs beside others: it judges answers about files.
# Runs early: it takes minutes.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
here=$(dirname "${BASH_SOURCE[0]}")
sources=$root/tests/data/symbols_oracle
subjects=$tmp/subjects

# first PROGRAM...: prints the first of them that is installed.
first() {
	local program

	for program; do
		type -P "$program" && return
	done
	return 1
}

# --- the list ----------------------------------------------------------------------------------

# complaint LOG: prints the first message of a program, if any.
complaint() {
	[ ! -s "$1" ] || printf ': %s' "$(head -n 1 "$1" | tr '\t' ' ')"
}

# subject NAME BINARY [ORACLE [BY [OPTION...]]]: see symbols_oracle.py.
subject() {
	local name=$1 binary=$2 oracle=${3:-$2} by=${4:-chains}

	if [ ! -e "$binary" ] || [ ! -e "$oracle" ]; then
		without "$name" "no ${binary:-such file}$(complaint "$binary.log")"
		return
	fi
	printf '%s\t%s\t%s\t%s' "$name" "$binary" "$oracle" "$by" >>"$subjects"
	shift $(($# < 4 ? $# : 4))
	[ $# = 0 ] || printf '\t%s' "$@" >>"$subjects"
	echo >>"$subjects"
}

# without NAME WHY
without() {
	printf '%s\tskip\t%s\n' "$1" "$2" >>"$subjects"
}

# library NAME: prints the path of a shared library of this machine.
library() {
	ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }'
}

# --- Debian's binaries -----------------------------------------------------------------------------

# split_subject NAME BINARY: finds the debug file by build-id. llvm-symbolizer does not use the debug file's symbol
# table, so it gets a file merged from both.
split_subject() {
	local id debug whole

	whole=$tmp/whole-$(basename "${2:-none}")
	id=$(readelf -n "$2" 2>/dev/null | awk '/Build ID:/ { print $NF }')
	debug=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
	if [ -z "$id" ] || [ ! -e "$debug" ]; then
		without "$1" "no debug file of ${2:-it}"
	elif eu-unstrip -o "$whole" "$2" "$debug" 2>"$tmp/unstrip.log"; then
		subject "$1" "$2" "$whole"
	else
		without "$1" "eu-unstrip fails$(complaint "$tmp/unstrip.log")"
	fi
}

# Binaries from the packages in packages.mk.
list_debian_with_lines() {
	split_subject 'libc, libc6-dbg' "$(library libc.so.6)"
	split_subject 'libm, libc6-dbg' "$(library libm.so.6)"
	split_subject 'ld.so, libc6-dbg' "$(library ld-linux-x86-64.so.2)"
	split_subject 'libbfd, libbinutils-dbg, dwz' \
		"$(echo /usr/lib/x86_64-linux-gnu/libbfd-*-system.so)"
	split_subject 'libgprofng, libgprofng0-dbg, dwz' "$(library libgprofng.so.0)"
	subject 'libstdc++, debug' "$(echo /usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6.*[0-9])"
	subject pilotlight "$pilotlight"
}

# Mostly stripped, so only names are compared.
list_debian_with_names() {
	local program

	subject libLLVM-14 "$(library libLLVM-14.so.1)" '' functions
	subject libcrypto "$(library libcrypto.so.3)" '' functions
	subject cc1 "$(gcc -print-prog-name=cc1)" '' functions
	for program in bash python3 perl node git sqlite3 clang-14; do
		if program_path=$(first "/usr/bin/$program"); then
			subject "$program" "$(realpath "$program_path")" '' functions
		else
			without "$program" "no /usr/bin/$program"
		fi
	done
}

# --- built here --------------------------------------------------------------------------------

# compile NAME COMMAND...: compiles to $tmp/NAME in the background.
compile() {
	local name=$1

	shift
	("$@" -o "$tmp/$name.new" 2>"$tmp/$name.log" && mv "$tmp/$name.new" "$tmp/$name") &
	[ "$(jobs -rp | wc -l)" -lt "$cpu_count" ] || wait -n
}

# Debian's Go has a compiled standard library.
build_go() {
	env -u GOROOT GO111MODULE=off GOFLAGS= GOTOOLCHAIN=local GOCACHE="$tmp/go-cache" \
		/usr/bin/go build "$@" "$sources/program.go"
}

# build_split COMPILER FLAG... -o FILE: builds with a split DWARF file beside the output.
build_split() {
	local file=${*: -1}
	local object=${file%.new}.o

	"${@:1:$#-2}" -gsplit-dwarf -c "$sources/program.cc" -o "$object" && "$1" "$object" -o "$file"
}

# One variant of each compiler has the whole program.
compile_split_programs() {
	local flags kind version

	for kind in split packed; do
		for version in 4 5; do
			flags=(-std=c++20 -O2 -DBRIEF)
			[ $kind$version != packed5 ] || flags=(-std=c++20 -O2)
			compile "gcc_$kind$version" build_split g++ "${flags[@]}" "-gdwarf-$version"
			compile "clang_$kind$version" build_split clang++ "${flags[@]}" \
				"-gdwarf-$version" -ffunction-sections
		done
	done
}

compile_programs() {
	local c=("$root"/daemon/{base,render,export}/*.c)
	local c_flags=(-std=gnu17 -D_GNU_SOURCE '-DPILOTLIGHT_VERSION="0"' -O2 -fPIC -shared -iquote "$root/daemon"
		-iquote "$root/include")
	local rust_flags=(--edition 2021 -O -g "$sources/program.rs")
	local cxx_flags=(-std=c++20 -O2 "$sources/program.cc")

	cd "$root" || exit 1
	compile gcc5 g++ "${cxx_flags[@]}" -gdwarf-5
	compile clang5 clang++ "${cxx_flags[@]}" -gdwarf-5
	compile gcc4 g++ "${cxx_flags[@]}" -gdwarf-4 -no-pie -fno-pie
	compile clang4 clang++ "${cxx_flags[@]}" -gdwarf-4 -fuse-ld=lld -ffunction-sections \
		-Wl,--gc-sections,--build-id=sha1
	compile gcc_c4 gcc "${c_flags[@]}" -gdwarf-4 "${c[@]}"
	compile gcc_lto gcc "${c_flags[@]}" -gdwarf-5 -flto "${c[@]}"
	compile clang_c5 clang "${c_flags[@]}" -gdwarf-5 "${c[@]}"
	! has rustc || compile rust rustc "${rust_flags[@]}" -C symbol-mangling-version=v0
	# Some versions mangle names this way by default, others need -Z.
	! has rustc || RUSTC_BOOTSTRAP=1 compile rust_legacy rustc "${rust_flags[@]}" \
		-Z unstable-options -C symbol-mangling-version=legacy
	[ ! -x /usr/bin/go ] || compile go build_go
	compile_split_programs
	wait
}

# package NAME TOOL: packs the split files and removes them, so that only the package remains.
package() {
	local program=$tmp/$1

	shift
	[ -n "$1" ] || return
	# llvm-dwp of LLVM 14 never ends for some files from gcc.
	timeout 20 "$@" -e "$program" -o "$program.dwp" 2>"$tmp/package.log" &&
		[ -s "$program.dwp" ] || rm -f "$program.dwp"
	rm -f "$program.dwo"
}

package_programs() {
	local gnu llvm

	gnu=$(type -P dwp) llvm=$(first llvm-dwp-14 llvm-dwp)
	package gcc_packed4 "$gnu"
	package clang_packed4 "$llvm"
	package gcc_packed5 "$llvm"
	package clang_packed5 "$llvm"
}

# packed_subject NAME FILE
packed_subject() {
	if [ -e "$2" ] && [ ! -e "$2.dwp" ]; then
		without "$1" 'no dwp can make its package'
	else
		subject "$1" "$2"
	fi
}

# The compiled programs with their debug information in another place or form.
transform_programs() {
	mkdir -p "$tmp/link/.debug" "$tmp/data" "$tmp/multi"
	objcopy --only-keep-debug "$tmp/gcc5" "$tmp/link/.debug/linked.debug"
	objcopy --strip-all --remove-section=.note.gnu.build-id "$tmp/gcc5" "$tmp/link/linked"
	(cd "$tmp/link/.debug" && objcopy --add-gnu-debuglink=linked.debug ../linked)

	strip -o "$tmp/stripped" "$tmp/clang5"
	objcopy --only-keep-debug "$tmp/clang5" "$tmp/clang5.debug"

	nm -fp --defined-only "$tmp/gcc_c4" | awk '$2 ~ /[tT]/ { print $1 }' | sort >"$tmp/keep"
	objcopy --only-keep-debug "$tmp/gcc_c4" "$tmp/data/mini"
	objcopy -S --remove-section=.comment --keep-symbols="$tmp/keep" "$tmp/data/mini"
	xz -kf "$tmp/data/mini"
	objcopy -S --add-section .gnu_debugdata="$tmp/data/mini.xz" "$tmp/gcc_c4" "$tmp/data/program"
	strip -g -o "$tmp/data/names" "$tmp/gcc_c4"

	objcopy --compress-debug-sections=zlib "$tmp/gcc4" "$tmp/compressed"
	objcopy --compress-debug-sections=zlib-gnu "$tmp/gcc_c4" "$tmp/compressed_gnu"

	! has dwz || ! cp "$tmp/gcc5" "$tmp/gcc_lto" "$tmp/multi" ||
		(cd "$tmp/multi" && dwz -m common -M common gcc5 gcc_lto) 2>"$tmp/dwz.log"
}

list_made_here() {
	subject 'C++, gcc, DWARF 5' "$tmp/gcc5"
	subject 'C++, gcc, DWARF 4, not PIE' "$tmp/gcc4"
	subject 'C++, clang, DWARF 5' "$tmp/clang5"
	subject 'C++, clang, DWARF 4, lld' "$tmp/clang4"
	subject 'C, gcc, DWARF 4' "$tmp/gcc_c4"
	subject 'C, gcc, DWARF 5, LTO' "$tmp/gcc_lto"
	subject 'C, clang, DWARF 5' "$tmp/clang_c5"
	subject 'Rust, v0 names' "$tmp/rust"
	subject 'Rust, legacy names' "$tmp/rust_legacy"
	subject 'Go' "$tmp/go"
	subject 'by .gnu_debuglink' "$tmp/link/linked" "$tmp/gcc5"
	subject 'by --debug' "$tmp/stripped" "$tmp/clang5" chains --debug "$tmp/clang5.debug"
	subject '.gnu_debugdata' "$tmp/data/program" "$tmp/data/names" functions
	subject 'compressed, zlib' "$tmp/compressed"
	subject 'compressed, .zdebug' "$tmp/compressed_gnu" "$tmp/gcc_c4"
	subject 'split, gcc, DWARF 4' "$tmp/gcc_split4"
	subject 'split, gcc, DWARF 5' "$tmp/gcc_split5"
	subject 'split, clang, DWARF 4' "$tmp/clang_split4"
	subject 'split, clang, DWARF 5' "$tmp/clang_split5"
	packed_subject 'split, .dwp, gcc, DWARF 4' "$tmp/gcc_packed4"
	packed_subject 'split, .dwp, gcc, DWARF 5' "$tmp/gcc_packed5"
	packed_subject 'split, .dwp, clang, DWARF 4' "$tmp/clang_packed4"
	packed_subject 'split, .dwp, clang, DWARF 5' "$tmp/clang_packed5"
	if has dwz; then
		subject 'dwz -m, C++' "$tmp/multi/gcc5" "$tmp/gcc5"
		subject 'dwz -m, C, LTO' "$tmp/multi/gcc_lto" "$tmp/gcc_lto"
	else
		without 'dwz -m' 'no dwz'
	fi
}

need_commands python3 eu-addr2line c++filt nm objcopy readelf gcc g++ clang++ xz
symbolizer=$(first llvm-symbolizer-14 llvm-symbolizer) || skip_all 'no llvm-symbolizer'
[ -x "$pilotlight" ] || { echo "Bail out! no $pilotlight: make"; exit 1; }

compile_programs
transform_programs
package_programs
list_debian_with_lines
list_debian_with_names
list_made_here
PYTHONDONTWRITEBYTECODE=1 python3 "$here/symbols_oracle.py" "$subjects" "$tmp" "$pilotlight" \
	"$symbolizer"
