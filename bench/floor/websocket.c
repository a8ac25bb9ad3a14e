/*
 * An epoll loop that echoes WebSocket messages and checks nothing: it believes
 * every header, knows one handshake, and looks at no limits. What remains is
 * the price of the system calls, of unmasking and of the network, below which
 * no server on this machine can get.
 *
 * One thread, level-triggered: one read for whatever is there, and one write
 * for all messages in it. Sockets of /broadcast are a group, which gets every
 * message that one of them sends; a member with too much unread output is
 * dropped.
 */
#include "listen.h"

#include <stdint.h>

/* The load always sends the key of RFC 6455 1.3. */
static const char switching[] = "HTTP/1.1 101 Switching Protocols\r\n"
				"Upgrade: websocket\r\n"
				"Connection: Upgrade\r\n"
				"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
				"\r\n";

static const char group_line[] = "GET /broadcast ";

enum {
	batch = 64,
	buf_size = 256 << 10,
	most_unread = 4 << 20,
	op_continuation = 0,
	op_close = 8,
	op_ping = 9,
	op_pong = 10,
};

struct bytes {
	unsigned char *p;
	size_t len, cap;
};

struct conn {
	int fd;         /* -1 when it is closed */
	int open;       /* after the handshake */
	int member;     /* its place in members, or -1 */
	unsigned op;    /* of the message whose fragments are in message */
	struct bytes in;      /* the beginning of a frame */
	struct bytes message; /* the fragments so far */
	struct bytes out;     /* what the socket did not take */
	struct conn *next;    /* of the closed ones */
};

static int set;
static unsigned char shared_in[buf_size];
static unsigned char shared_out[2 * buf_size];
static size_t out_len;

static struct conn **members;
static size_t members_len, members_cap;
static struct conn *closed;

/* They mark the events of the two descriptors that are no connections. */
static struct conn listening, input;

static void *allocated(void *p)
{
	if (p == NULL)
		fail("malloc");
	return p;
}

static void append(struct bytes *b, const void *p, size_t n)
{
	if (b->len + n > b->cap) {
		b->cap = b->len + n > 2 * b->cap ? b->len + n : 2 * b->cap;
		b->p = allocated(realloc(b->p, b->cap));
	}
	memcpy(b->p + b->len, p, n);
	b->len += n;
}

static void release(struct bytes *b)
{
	free(b->p);
	*b = (struct bytes){0};
}

static void watch(int how, int fd, struct conn *c, unsigned events)
{
	struct epoll_event ev = {.events = events, .data.ptr = c};

	if (epoll_ctl(set, how, fd, &ev) < 0)
		fail("epoll_ctl");
}

static void accept_all(int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		struct conn *c = allocated(calloc(1, sizeof(*c)));

		c->fd = fd;
		c->member = -1;
		watch(EPOLL_CTL_ADD, fd, c, EPOLLIN);
	}
}

static void join(struct conn *c)
{
	if (members_len == members_cap) {
		members_cap = members_cap ? 2 * members_cap : 1024;
		members = allocated(realloc(members, members_cap * sizeof(*members)));
	}
	c->member = members_len;
	members[members_len++] = c;
}

/* Events of this batch may still point to c, so it is freed after them. */
static void drop(struct conn *c)
{
	if (c->fd < 0)
		return;
	close(c->fd);
	c->fd = -1;
	if (c->member >= 0) {
		members[c->member] = members[--members_len];
		members[c->member]->member = c->member;
	}
	c->next = closed;
	closed = c;
}

static void free_closed(void)
{
	while (closed) {
		struct conn *c = closed;

		closed = c->next;
		release(&c->in);
		release(&c->message);
		release(&c->out);
		free(c);
	}
}

static void send_to(struct conn *c, const unsigned char *p, size_t n)
{
	ssize_t sent = 0;

	if (c->out.len == 0) {
		sent = send(c->fd, p, n, MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN) {
			drop(c);
			return;
		}
		if (sent < 0)
			sent = 0;
		if ((size_t)sent == n)
			return;
		watch(EPOLL_CTL_MOD, c->fd, c, EPOLLOUT);
	}
	append(&c->out, p + sent, n - sent);
	if (c->out.len > most_unread)
		drop(c);
}

static void send_rest(struct conn *c)
{
	ssize_t sent = send(c->fd, c->out.p, c->out.len, MSG_NOSIGNAL);

	if (sent < 0) {
		if (errno != EAGAIN)
			drop(c);
		return;
	}
	c->out.len -= sent;
	if (c->out.len) {
		memmove(c->out.p, c->out.p + sent, c->out.len);
		return;
	}
	release(&c->out);
	watch(EPOLL_CTL_MOD, c->fd, c, EPOLLIN);
}

static void flush_out(struct conn *c)
{
	size_t n = out_len;

	out_len = 0;
	if (n && c->fd >= 0)
		send_to(c, shared_out, n);
}

static size_t put_header(unsigned char *p, unsigned op, size_t len)
{
	p[0] = 0x80 | op;
	if (len < 126) {
		p[1] = len;
		return 2;
	}
	if (len < 65536) {
		p[1] = 126;
		p[2] = len >> 8;
		p[3] = len;
		return 4;
	}
	p[1] = 127;
	for (int i = 0; i < 8; i++)
		p[2 + i] = (uint64_t)len >> (56 - 8 * i);
	return 10;
}

static void unmask(unsigned char *to, const unsigned char *from, size_t len, const unsigned char *mask)
{
	uint64_t wide;
	uint32_t narrow;
	size_t i = 0;

	memcpy(&narrow, mask, 4);
	wide = (uint64_t)narrow << 32 | narrow;
	for (; i + 8 <= len; i += 8) {
		uint64_t x;

		memcpy(&x, from + i, 8);
		x ^= wide;
		memcpy(to + i, &x, 8);
	}
	for (; i < len; i++)
		to[i] = from[i] ^ mask[i % 4];
}

/* answer puts a message whose payload is at p, masked unless mask is NULL. */
static void answer(struct conn *c, unsigned op, const unsigned char *p, size_t len, const unsigned char *mask)
{
	unsigned char *to;

	if (out_len + len + 10 > sizeof(shared_out))
		flush_out(c);
	if (c->fd < 0 || len + 10 > sizeof(shared_out)) {
		drop(c);
		return;
	}
	if (c->member >= 0 && op < op_close)
		flush_out(c);
	to = shared_out + out_len;
	to += put_header(to, op, len);
	if (mask)
		unmask(to, p, len, mask);
	else
		memcpy(to, p, len);
	out_len = to + len - shared_out;
	if (c->member >= 0 && op < op_close) {
		size_t n = out_len;

		out_len = 0;
		/* one that is dropped has another in its place */
		for (size_t i = members_len; i-- > 0;)
			send_to(members[i], shared_out, n);
	}
}

static void frame(struct conn *c, unsigned first, const unsigned char *p, size_t len, const unsigned char *mask)
{
	unsigned op = first & 15;

	if (op == op_close) {
		flush_out(c);
		drop(c);
	} else if (op == op_ping) {
		answer(c, op_pong, p, len, mask);
	} else if (op == op_pong) {
		return;
	} else if (op != op_continuation && first & 0x80) {
		answer(c, op, p, len, mask);
	} else {
		size_t at = c->message.len;

		if (op != op_continuation)
			c->op = op;
		append(&c->message, p, len);
		unmask(c->message.p + at, c->message.p + at, len, mask);
		if (first & 0x80) {
			answer(c, c->op, c->message.p, c->message.len, NULL);
			c->message.len = 0;
		}
	}
}

/*
 * frames handles the whole frames at p, and returns their length. need is the
 * length of the next frame, as far as it is known.
 */
static size_t frames(struct conn *c, unsigned char *p, size_t len, size_t *need)
{
	size_t at = 0;

	for (;;) {
		unsigned char *f = p + at;
		size_t left = len - at, head = 6, size;

		*need = 14;
		if (left < 2)
			return at;
		size = f[1] & 127;
		if (size == 126)
			head = 8;
		else if (size == 127)
			head = 14;
		if (left < head)
			return at;
		if (size == 126) {
			size = (size_t)f[2] << 8 | f[3];
		} else if (size == 127) {
			size = 0;
			for (int i = 2; i < 10; i++)
				size = size << 8 | f[i];
		}
		*need = head + size;
		if (left < head + size)
			return at;
		frame(c, f[0], f + head, size, f + head - 4);
		if (c->fd < 0)
			return len;
		at += head + size;
	}
}

static void handshake(struct conn *c)
{
	ssize_t n = read(c->fd, shared_in, buf_size);

	if (n < 4 || memcmp(shared_in + n - 4, "\r\n\r\n", 4) != 0) {
		drop(c);
		return;
	}
	c->open = 1;
	if ((size_t)n >= sizeof(group_line) && memcmp(shared_in, group_line, sizeof(group_line) - 1) == 0)
		join(c);
	send_to(c, (const unsigned char *)switching, sizeof(switching) - 1);
}

static void serve(struct conn *c)
{
	struct bytes b = {shared_in, 0, buf_size};
	size_t used, need;
	ssize_t n;

	if (c->in.len)
		b = c->in;
	n = read(c->fd, b.p + b.len, b.cap - b.len);
	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			drop(c);
		return;
	}
	b.len += n;
	used = frames(c, b.p, b.len, &need);
	flush_out(c);
	if (c->fd < 0)
		return;
	if (used == b.len) {
		release(&c->in);
		return;
	}
	if (need > buf_size) {
		drop(c);
		return;
	}
	if (c->in.len == 0) {
		c->in.cap = need > 512 ? need : 512;
		c->in.p = allocated(malloc(c->in.cap));
	} else if (need > c->in.cap) {
		c->in.cap = need;
		c->in.p = b.p = allocated(realloc(c->in.p, need));
	}
	c->in.len = b.len - used;
	memmove(c->in.p, b.p + used, c->in.len);
}

int main(int argc, char **argv)
{
	const char *addr = "127.0.0.1:8080";
	struct epoll_event events[batch];
	int listener;

	for (int i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], "-addr") == 0)
			addr = argv[i + 1];
	}
	set = epoll_create1(0);
	if (set < 0)
		fail("epoll_create1");
	listener = listen_on(addr);
	watch(EPOLL_CTL_ADD, listener, &listening, EPOLLIN);
	watch(EPOLL_CTL_ADD, STDIN_FILENO, &input, EPOLLIN);
	for (;;) {
		int n = epoll_wait(set, events, batch, -1);

		for (int i = 0; i < n; i++) {
			struct conn *c = events[i].data.ptr;

			if (c == &input)
				return 0;
			if (c == &listening)
				accept_all(listener);
			else if (c->fd < 0)
				continue;
			else if (c->out.len)
				send_rest(c);
			else if (c->open)
				serve(c);
			else
				handshake(c);
		}
		free_closed();
	}
}
