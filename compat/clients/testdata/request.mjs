// Node's http.request with an agent that keeps one connection.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import http from 'node:http'

const [host, port] = process.argv[2].split(':')
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
const conns = new Set()

function text(n) {
	let out = ''
	for (let i = 0; out.length < n; i++) out += `line ${i}\n`
	return Buffer.from(out.slice(0, n))
}

// ask resolves with the whole answer. send writes the body.
function ask(method, path, { headers, prepare = () => {}, send = req => req.end() } = {}) {
	return new Promise((resolve, reject) => {
		const req = http.request({ host, port, method, path, agent, headers, timeout: 60000 })
		req.on('error', reject)
		req.on('timeout', () => req.destroy(new Error(path + ' takes too long')))
		req.on('response', res => {
			const pieces = []
			res.on('data', piece => pieces.push(piece))
			res.on('error', reject)
			res.on('end', () => {
				if (res.headers['x-conn']) conns.add(res.headers['x-conn'])
				resolve({ res, body: Buffer.concat(pieces), reused: req.reusedSocket })
			})
		})
		prepare(req)
		send(req)
	})
}

for (let i = 0; i < 30; i++) {
	for (const path of ['/text', '/stream']) {
		const { body, reused } = await ask('GET', `${path}?n=${i * 1000}`)
		assert(body.equals(text(i * 1000)), path)
		assert.equal(reused, i > 0 || path === '/stream')
	}
}
console.log('get')

const head = await ask('HEAD', '/text?n=1000')
assert.equal(head.res.headers['content-length'], '1000')
console.log('head')

const sent = randomBytes(1 << 20)
const inPieces = req => {
	for (let i = 0; i < sent.length; i += 10000) req.write(sent.subarray(i, i + 10000))
	req.end()
}
assert((await ask('POST', '/echo', { send: inPieces })).body.equals(sent), 'chunks')
const sized = { 'Content-Length': sent.length }
assert((await ask('POST', '/echo', { headers: sized, send: inPieces })).body.equals(sent), 'length')
console.log('post')

// the body is sent only when the server has asked for it
for (const headers of [{ Expect: '100-continue' }, { Expect: '100-continue', ...sized }]) {
	const { body } = await ask('POST', '/echo', { headers, send: req => {
		req.on('continue', () => inPieces(req))
		req.flushHeaders()
	} })
	assert(body.equals(sent), 'continue')
}
console.log('continue')

const trailed = await ask('POST', '/trailers', { headers: { Trailer: 'X-Sum', TE: 'trailers' }, send: req => {
	req.write('with trailers')
	req.addTrailers({ 'X-Sum': '12345' })
	req.end()
} })
assert.equal(trailed.body.toString(), 'with trailers')
assert.deepEqual({ ...trailed.res.trailers }, { 'x-echoed': '12345' })
console.log('trailers')

const hints = []
const hinted = await ask('GET', '/hints', { prepare: req => req.on('information', info => hints.push(info)) })
assert.equal(hinted.body.toString(), 'hinted')
assert.deepEqual(hints.map(h => [h.statusCode, h.headers.link]), [[103, '</style.css>; rel=preload; as=style']])
console.log('hints')

assert.equal(conns.size, 1)
console.log('one connection')
process.exit(0)
