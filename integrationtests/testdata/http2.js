// Requests of Node's client for HTTP/2. The argument is the origin of the server. It
// prints the name of each part that has passed.
'use strict'
const assert = require('assert')
const http2 = require('http2')

const origin = process.argv[2]
const session = http2.connect(origin, { rejectUnauthorized: false })
session.on('error', err => { throw err })
setTimeout(() => { throw new Error('too slow') }, 300000).unref()

let text = ''
for (let i = 0; text.length < 1 << 20; i++) text += String(i).padStart(7, '0') + '\n'
const large = Buffer.from(text.slice(0, 1 << 20))

// ask sends a request, which write completes.
function ask(fields, write, options) {
	return new Promise((resolve, reject) => {
		const req = session.request(fields, options)
		const reply = { hints: [], trailers: {} }
		const pieces = []
		req.on('headers', h => reply.hints.push(h))
		req.on('response', h => { reply.fields = h })
		req.on('trailers', h => { reply.trailers = h })
		req.on('data', piece => pieces.push(piece))
		req.on('end', () => { reply.body = Buffer.concat(pieces) })
		req.on('close', () => resolve(reply))
		req.on('error', reject)
		write(req)
	})
}

const get = path => ask({ ':path': path }, req => req.end())

async function main() {
	let r = await get('/proto')
	assert.strictEqual(r.fields[':status'], 200)
	assert.strictEqual(String(r.body), 'HTTP/2.0')
	console.log('get')

	r = await get('/text?n=' + large.length)
	assert.strictEqual(r.fields['content-length'], String(large.length))
	assert(r.body.equals(large))
	console.log('large')

	r = await get('/stream?n=' + large.length)
	assert.strictEqual(r.fields['content-length'], undefined)
	assert(r.body.equals(large))
	console.log('stream')

	r = await ask({ ':path': '/echo', ':method': 'POST', 'content-length': large.length }, req => req.end(large))
	assert(r.body.equals(large))
	console.log('post')

	r = await ask({ ':path': '/echo/stream', ':method': 'POST' }, req => {
		let i = 0
		const more = () => i < 16 ? req.write(large.subarray(i << 16, ++i << 16), more) : req.end()
		more()
	})
	assert(r.body.equals(large))
	console.log('post stream')

	r = await ask({ ':path': '/text?n=1000', ':method': 'HEAD' }, req => req.end())
	assert.strictEqual(r.fields['content-length'], '1000')
	assert.strictEqual(r.body.length, 0)
	console.log('head')

	r = await ask({ ':path': '/trailers', ':method': 'POST', trailer: 'x-sum' }, req => {
		req.on('wantTrailers', () => req.sendTrailers({ 'x-sum': '7' }))
		req.end('abc')
	}, { waitForTrailers: true })
	assert.strictEqual(String(r.body), 'abc')
	assert.strictEqual(r.fields['x-echoed'], undefined)
	assert.strictEqual(r.trailers['x-echoed'], '7')
	console.log('trailers')

	r = await get('/hints')
	assert.strictEqual(r.hints.length, 1)
	assert.strictEqual(r.hints[0][':status'], 103)
	assert.strictEqual(r.hints[0].link, '</style.css>; rel=preload; as=style')
	assert.strictEqual(String(r.body), 'hinted')
	console.log('hints')

	r = await ask({ ':path': '/echo', ':method': 'POST', expect: '100-continue' }, req => req.on('continue', () => req.end(large)))
	assert(r.body.equals(large))
	console.log('continue')

	// each piece is sent when the one before has come back
	await new Promise((resolve, reject) => {
		const req = session.request({ ':path': '/echo/stream', ':method': 'POST' })
		let i = 0
		req.on('data', piece => {
			assert.strictEqual(String(piece), 'piece ' + i)
			i++ < 20 ? req.write('piece ' + i) : req.end()
		})
		req.on('end', resolve)
		req.on('error', reject)
		req.write('piece 0')
	})
	console.log('duplex')

	const all = []
	for (let i = 0; i < 100; i++) {
		const body = large.subarray(i * 8, i * 8 + i * 100)
		all.push(ask({ ':path': i % 2 ? '/echo' : '/echo/stream', ':method': 'POST' }, req => req.end(body)).then(r => assert(r.body.equals(body))))
	}
	await Promise.all(all)
	console.log('at once')

	await new Promise(resolve => {
		const req = session.request({ ':path': '/hang' })
		req.on('close', resolve)
		req.end()
		get('/hangs').then(() => req.close(http2.constants.NGHTTP2_CANCEL))
	})
	r = await get('/gone')
	assert.strictEqual(String(r.body), 'context canceled')
	console.log('reset')

	await new Promise(resolve => session.close(resolve))
	console.log('one connection')
}

main().catch(err => { console.error(err); process.exit(1) })
