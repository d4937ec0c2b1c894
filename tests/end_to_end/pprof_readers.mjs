// SPDX-License-Identifier: GPL-2.0-or-later
// node pprof_readers.mjs pprof|speedscope MODULES FILE
//
// pprof: decodes FILE with pprof-format, follows every index, encodes it again and compares; prints
// the sums of both values and the number of samples.
// speedscope: opens FILE with speedscope's own importer; prints the unit and the total, then each
// frame with its own and its total weight.
// MODULES is npm's folder with both. Errors are thrown.

import assert from 'node:assert'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import vm from 'node:vm'
import zlib from 'node:zlib'

const [what, modules, file] = process.argv.slice(2)
const require = createRequire(path.resolve(modules, 'index.js'))

function checkPprof() {
	const { Profile } = require('pprof-format')
	const plain = zlib.gunzipSync(fs.readFileSync(file))
	const profile = Profile.decode(plain)
	const strings = profile.stringTable.strings
	const string = index => {
		assert(Number(index) < strings.length, `string ${index} of ${strings.length}`)
		return strings[Number(index)]
	}
	const sequential = (table, name) => {
		table.forEach((item, i) => assert.strictEqual(Number(item.id), i + 1, `${name} ids`))
		return id => {
			assert(id >= 1 && Number(id) <= table.length, `${name} ${id} of ${table.length}`)
			return table[Number(id) - 1]
		}
	}

	assert.strictEqual(strings[0], '')
	assert.strictEqual(new Set(strings).size, strings.length, 'strings are distinct')
	assert.deepStrictEqual(
		profile.sampleType.map(type => [string(type.type), string(type.unit)]),
		[['samples', 'count'], ['cpu', 'nanoseconds']])
	assert.strictEqual(string(profile.defaultSampleType), 'cpu')

	const mapping = sequential(profile.mapping, 'mapping')
	const location = sequential(profile.location, 'location')
	const func = sequential(profile.function, 'function')
	for (const { filename, buildId } of profile.mapping) {
		assert(string(filename) !== '')
		assert.match(string(buildId), /^([0-9a-f]{2}){0,20}$/)
	}
	for (const { name, systemName, filename } of profile.function)
		[name, systemName, filename].forEach(string)
	for (const { mappingId, line } of profile.location) {
		if (Number(mappingId) !== 0)
			mapping(mappingId)
		for (const { functionId } of line)
			func(functionId)
		assert(line.length > 0 || !mapping(mappingId).hasFunctions)
	}

	const sums = [0n, 0n]
	for (const { locationId, value, label } of profile.sample) {
		assert(locationId.length > 0)
		locationId.forEach(location)
		assert.strictEqual(value.length, 2)
		value.forEach((v, i) => { assert(v > 0); sums[i] += BigInt(v) })
		for (const { key, str, num } of label) {
			const isText = !['pid', 'tid'].includes(string(key))
			assert(!isText || ['comm', 'executable', 'cgroup', 'unit', 'container'].includes(string(key)))
			assert(isText ? string(str) !== '' && Number(num) === 0 : Number(str) === 0)
		}
	}
	profile.comment.forEach(string)

	const encoded = profile.encode()
	assert.strictEqual(encoded.length, plain.length, 'encoded again it is as long')
	assert.deepStrictEqual(Profile.decode(encoded), profile)
	console.log(`samples ${sums[0]} cpu ${sums[1]} distinct ${profile.sample.length}`)
}

// The package has only the browser's bundle. A hook in its text exports the importer before the page would
// start, in a context with the minimum of a browser.
function speedscopeImporter() {
	const folder = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist/release')
	const bundle = fs.readdirSync(folder).find(name => /^speedscope-.*\.js$/.test(name))
	const start = /var (\w+)=Promise\.resolve\(\)\.then\(\(\)=>\((\w+)\(\),(\w+)\)\);\1\.then/
	const source = fs.readFileSync(path.join(folder, bundle), 'utf8')
	const found = source.match(start)
	assert(found, 'speedscope has another structure')
	const nothing = () => new Proxy(function () {}, {
		get: (_, key) => key === Symbol.toPrimitive ? () => '' : nothing(),
		set: () => true,
		apply: nothing,
		construct: nothing,
	})
	const context = {
		console: { log() {}, warn() {}, error: console.error },
		TextDecoder, TextEncoder, Buffer, URL, Blob, Response, ReadableStream, DecompressionStream,
		Uint8Array, DataView, Promise, JSON, Math, Date, Map, Set,
		atob, btoa, setTimeout, clearTimeout, performance,
		navigator: { userAgent: 'node', platform: 'node' },
		location: { hash: '', protocol: 'file:' },
		document: nothing(), localStorage: nothing(),
	}
	context.window = context.self = context.globalThis = context
	vm.createContext(context)
	try {
		vm.runInContext(source.replace(start,
			() => `globalThis.importer=(${found[2]}(),${found[3]});throw new Error("stop");${found[0]}`),
		context)
	} catch (error) {
		if (error.message !== 'stop')
			throw error
	}
	return { importer: context.importer, context }
}

async function openInSpeedscope() {
	const { importer, context } = speedscopeImporter()
	const bytes = fs.readFileSync(file)
	// The importer requires an ArrayBuffer of its own context.
	const buffer = vm.runInContext('size => new ArrayBuffer(size)', context)(bytes.length)
	new Uint8Array(buffer).set(bytes)
	const group = await importer.importProfilesFromArrayBuffer(path.basename(file), buffer)
	assert(group, 'speedscope does not take it')
	assert.strictEqual(group.profiles.length, 1)
	const [profile] = group.profiles
	console.log(`total ${profile.getTotalWeight()} ${profile.getWeightUnit()}`)
	profile.forEachFrame(frame =>
		console.log(`${frame.getSelfWeight()} ${frame.getTotalWeight()} ${frame.name}`))
}

await { pprof: checkPprof, speedscope: openInSpeedscope }[what]()
