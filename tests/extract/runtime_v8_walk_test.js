// SPDX-License-Identifier: GPL-2.0-or-later
// Calls functions of all kinds, and runs in the last one until it is killed. Before, it tells their names and on which
// lines they begin, innermost first.
'use strict';
const { writeSync } = require('node:fs');
const told = ['spin 9', 'method 19', 'arrow 23', 'list 24', 'größe 25', 'Δ 28',
	'holder.assigned 32', 'Base 36', 'many 40', '(anonymous) 1'];

function spin() {
	let sum = 0;

	writeSync(1, told.join('\n') + '\nend\n');
	for (;;) {
		for (let i = 0; i < 1e6; i++)
			sum = (Math.imul(sum, 31) + i) | 0;
	}
}
class Shape {
	method() {
		return spin() + 1;
	}
}
const arrow = () => new Shape().method() + 1;
const list = [() => arrow() + 1];
function größe() {
	return list[0]() + 1;
}
function Δ() {
	return größe() + 1;
}
const holder = {};
holder.assigned = function () {
	return Δ() + 1;
};
class Base {
	constructor() {
		this.value = holder.assigned() + 1;
	}
}
function many() {
	// More variables than V8 keeps in the scope itself.
	const [
		v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, v17, v18,
		v19, v20, v21, v22, v23, v24, v25, v26, v27, v28, v29, v30, v31, v32, v33, v34, v35,
		v36, v37, v38, v39, v40, v41, v42, v43, v44, v45, v46, v47, v48, v49, v50, v51, v52,
		v53, v54, v55, v56, v57, v58, v59, v60, v61, v62, v63, v64, v65, v66, v67, v68, v69,
		v70, v71, v72, v73, v74, v75, v76, v77, v78, v79
	] = told;
	const closure = () => [
		v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, v17, v18,
		v19, v20, v21, v22, v23, v24, v25, v26, v27, v28, v29, v30, v31, v32, v33, v34, v35,
		v36, v37, v38, v39, v40, v41, v42, v43, v44, v45, v46, v47, v48, v49, v50, v51, v52,
		v53, v54, v55, v56, v57, v58, v59, v60, v61, v62, v63, v64, v65, v66, v67, v68, v69,
		v70, v71, v72, v73, v74, v75, v76, v77, v78, v79
	];

	return new Base().value + closure().length;
}
console.log(many());
