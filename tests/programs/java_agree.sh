#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/programs/java_agree.sh [PROGRAM...]
#
# Are the chains of methods of real Java programs those that async-profiler sees in the same instants? Prints a row for
# each program (java_agree.py). Needs root, a JDK of 17 or later, unzip, and Maven, which gets the programs. JAVA_HOME is
# the JDK, AGREE_SECONDS (30) is how long async-profiler looks, every INTERVAL (5ms) of a thread's CPU time, with OPTIONS
# of its own. WARM_SECONDS (60) come before. The JVM, with JVM_OPTIONS, records which methods run at all instructions:
# otherwise async-profiler takes those of the next place that is recorded. tracefs must be mounted. Not part of make check:
# the programs come from the network.
. "$(dirname "$0")/../end_to_end/lib.sh"

src=$root/tests/programs/src
build=$root/build/programs/java
java=${JAVA_HOME:-/usr/lib/jvm/default-java}/bin
jvm_options=(-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints ${JVM_OPTIONS:-})
port=8919
export PILOTLIGHT_SYMBOL_CACHE=$tmp/cache

# get FOLDER ARTIFACT...: with all that they need.
get() {
	local artifact folder=$build/$1

	[ ! -d "$folder" ] || return 0
	mkdir -p "$build/poms"
	{
		echo '<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version><dependencies>'
		for artifact in "${@:2}"; do
			IFS=: read -r group name version classifier <<<"$artifact"
			echo "<dependency><groupId>$group</groupId><artifactId>$name</artifactId><version>$version</version>"
			echo "${classifier:+<classifier>$classifier</classifier>}</dependency>"
		done
		echo '</dependencies></project>'
	} >"$build/poms/$1.xml"
	mvn -q -B -f "$build/poms/$1.xml" dependency:copy-dependencies -DoutputDirectory="$folder"
}

get_all() {
	get profiler tools.profiler:async-profiler:4.1 &&
		get spring org.springframework.boot:spring-boot-starter-web:3.3.4 &&
		get scala org.scala-lang:scala-compiler:2.13.15 org.scala-lang:scala-library:2.13.15:sources || return
	get kotlin org.jetbrains.kotlin:kotlin-compiler-embeddable:2.2.21 com.squareup:kotlinpoet:1.12.0 \
		com.squareup:kotlinpoet:1.12.0:sources || return
	[ -d "$build/kotlinpoet" ] || unzip -q "$build"/kotlin/kotlinpoet-*-sources.jar -d "$build/kotlinpoet" || return
	[ -d "$build/sources" ] || unzip -q "$build"/scala/scala-library-*-sources.jar -d "$build/sources" || return
	profiler=$build/libasyncProfiler.so
	[ -e "$profiler" ] || unzip -qp "$build"/profiler/*.jar linux-x64/libasyncProfiler.so >"$profiler"
}

run_program() {
	local jars=$build/$1/* sources

	case $1 in
	spring)
		"$java/javac" -parameters -cp "$jars" -d "$tmp/spring" "$src/JavaSpring.java" || return
		start "$java/java" -Xmx512m "${jvm_options[@]}" -cp "$tmp/spring:$jars" JavaSpring $port
		;;
	scala)
		"$java/javac" -cp "$jars" -d "$tmp/scala" "$src/JavaScala.java" || return
		mkdir -p "$tmp/classes"
		start "$java/java" -Xmx1g "${jvm_options[@]}" -cp "$tmp/scala:$jars" JavaScala "$tmp/classes" \
			"$build"/sources/scala/collection/immutable/*.scala
		;;
	kotlin)
		"$java/javac" -cp "$jars" -d "$tmp/kotlin" "$src/JavaKotlin.java" || return
		# The newer compiler refuses the annotation of one file.
		mapfile -t sources < <(find "$build/kotlinpoet" -name "*.kt" ! -name JvmAnnotations.kt)
		start "$java/java" -Xmx1g "${jvm_options[@]}" -cp "$tmp/kotlin:$jars" JavaKotlin "$tmp/classes" "${sources[@]}"
		;;
	esac
	watched=${started[-1]}
}

profile() {
	"$java/jcmd" "$watched" JVMTI.agent_load "$profiler" "\"$1\"" >"$tmp/jcmd" && return
	note "$(cat "$tmp/jcmd")"
	return 1
}

compare() {
	run_program "$1" || return
	sleep "${WARM_SECONDS:-60}"
	# Makes the tables and symbols.
	"$pilotlight" record -d 3 -p "$watched" -o "$tmp/first.folded" 2>/dev/null
	start_recording -e signal:signal_deliver/period=1/ -p "$watched" -o "$tmp/$1.folded" || { note "$(cat "$tmp/err")"; return 1; }
	sleep 1
	profile "start,event=ctimer,interval=${INTERVAL:-5ms}${OPTIONS:+,$OPTIONS}" || return
	sleep "${AGREE_SECONDS:-30}"
	profile "stop,collapsed,ann,file=$tmp/$1.collapsed" || return
	kill -INT "$recorder"
	wait "$recorder"
	grep "^ *signal:signal_deliver.*lost" "$tmp/err" >&2
	stop_started
	[ -z "${KEEP:-}" ] || cp "$tmp/$1."{folded,collapsed} "$KEEP"
	"$root/tests/programs/java_agree.py" "$1" "$tmp/$1.folded" "$tmp/$1.collapsed"
}

need_root
need_commands mvn unzip "$java/java"
get_all || exit
[ $# -gt 0 ] || set -- spring scala kotlin
for program; do
	compare "$program" || stop_started
done
