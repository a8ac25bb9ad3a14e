const id = name => document.getElementById(name)
let user = null
let events = null

// request calls the API. It returns what the response has, or throws its error.
async function request(method, path, body) {
	const options = {method}
	if (body instanceof FormData) {
		options.body = body
	} else if (body) {
		options.body = JSON.stringify(body)
		options.headers = {'Content-Type': 'application/json'}
	}
	const response = await fetch('/api/' + path, options)
	const value = response.status === 204 ? null : await response.json()
	if (response.status === 401) {
		show(null)
	}
	if (!response.ok) {
		throw new Error(value.error)
	}
	return value
}

// show shows the page for a user, or the form to log in if that is null.
function show(next) {
	user = next
	id('login').hidden = user !== null
	id('logout').hidden = id('add').hidden = user === null
	id('name').textContent = user
	id('notes').replaceChildren()
	events?.close()
	events = user === null ? null : listen()
}

// listen receives what changes. The list is requested when the stream is there, also after
// it was interrupted, so that no change is missed. Changes that come before the list are
// shown after it, since the list may be older.
function listen() {
	const source = new EventSource('/api/events')
	let early = []
	const on = (kind, apply) => source.addEventListener(kind, event => {
		const change = () => apply(JSON.parse(event.data))
		early ? early.push(change) : change()
	})
	on('saved', put)
	on('removed', note => id('note' + note.id)?.remove())
	source.addEventListener('open', () => attempt(async () => {
		early = []
		const notes = await request('GET', 'notes')
		if (source !== events) {
			return
		}
		id('notes').replaceChildren()
		notes.forEach(put)
		early.forEach(change => change())
		early = null
	}))
	return source
}

// put shows a note in the place that its id says, with the latest at the top.
function put(note) {
	id('note' + note.id)?.remove()
	const item = document.createElement('li')
	item.id = 'note' + note.id
	item.dataset.id = note.id
	const author = document.createElement('b')
	author.textContent = note.author
	// textContent, never innerHTML: the text is that of a stranger
	item.append(author, note.text)
	if (note.picture) {
		const picture = document.createElement('img')
		picture.alt = ''
		picture.src = `/api/notes/${note.id}/picture?${note.picture}`
		item.append(picture)
	}
	if (note.author === user) {
		const button = document.createElement('button')
		button.textContent = 'remove'
		button.onclick = () => attempt(() => request('DELETE', 'notes/' + note.id))
		item.append(' ', button)
	}
	const below = [...id('notes').children].find(other => Number(other.dataset.id) < note.id)
	id('notes').insertBefore(item, below ?? null)
}

// attempt runs a function, and shows its error.
async function attempt(run) {
	id('error').textContent = ''
	try {
		return await run()
	} catch (error) {
		id('error').textContent = error.message
	}
}

function onSubmit(name, run) {
	id(name).addEventListener('submit', event => {
		event.preventDefault()
		attempt(() => run(event.target))
	})
}

onSubmit('login', async form => show((await request('POST', 'session', {name: form.elements.name.value})).name))

onSubmit('logout', async () => {
	await request('DELETE', 'session')
	show(null)
})

onSubmit('add', async form => {
	const note = await request('POST', 'notes', {text: form.elements.text.value})
	const picture = form.elements.picture.files[0]
	form.reset()
	if (picture) {
		const body = new FormData()
		body.append('picture', picture)
		await request('POST', `notes/${note.id}/picture`, body)
	}
})

// a session may be left from before
request('GET', 'session').then(session => show(session.name), () => show(null))
