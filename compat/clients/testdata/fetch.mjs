// Node's fetch.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'

const origin = 'http://' + process.argv[2]

function text(n) {
	let out = ''
	for (let i = 0; out.length < n; i++) out += `line ${i}\n`
	return Buffer.from(out.slice(0, n))
}

async function ask(path, options) {
	const r = await fetch(origin + path, options)
	assert.equal(r.status, 200, path)
	return { r, body: Buffer.from(await r.arrayBuffer()) }
}

for (const n of [0, 1, 1000, 300000]) {
	for (const path of ['/text', '/stream']) {
		const { body } = await ask(`${path}?n=${n}`)
		assert(body.equals(text(n)), path)
	}
}
console.log('get')

for (const coding of ['gzip', 'deflate', 'br']) {
	for (const path of ['/text', '/stream']) {
		const { r, body } = await ask(path + '?n=200000', { headers: { 'Accept-Encoding': coding } })
		assert.equal(r.headers.get('Content-Encoding'), coding)
		assert(body.equals(text(200000)), coding)
	}
}
console.log('codings')

for (const n of [0, 1, 70000, 3 << 20]) {
	const sent = randomBytes(n)
	assert((await ask('/echo', { method: 'POST', body: sent })).body.equals(sent), 'bytes')
	const stream = new ReadableStream({
		start(controller) {
			for (let i = 0; i < n; i += 10000) controller.enqueue(sent.subarray(i, i + 10000))
			controller.close()
		},
	})
	assert((await ask('/echo', { method: 'POST', body: stream, duplex: 'half' })).body.equals(sent), 'stream')
}
console.log('post')

const file = randomBytes(1 << 20)
for (const [part, want] of [['f', file], ['a', Buffer.from('ä&=')]]) {
	const form = new FormData()
	form.append('a', 'ä&=')
	form.append('f', new Blob([file], { type: 'image/png' }), 'f.bin')
	const { r, body } = await ask('/form?part=' + part, { method: 'POST', body: form })
	assert(body.equals(want), part)
	if (part === 'f') assert.equal(r.headers.get('X-File'), 'f.bin image/png')
}
console.log('forms')

const { r } = await ask('/away')
assert(r.redirected)
console.log('redirect')

const many = await Promise.all(Array.from({ length: 100 }, (_, i) => ask(`/text?n=${i}`)))
many.forEach(({ body }, i) => assert(body.equals(text(i))))
console.log('at once')
process.exit(0)
