/*
 * An epoll loop that answers every request and understands none: what remains
 * is the price of the system calls and of the network, below which no server
 * on this machine can get.
 *
 * One thread, edge-triggered, one read and one write for whatever is there. A
 * request ends where four bytes in a row are CR LF CR LF; a request that is cut
 * between two reads is not counted on, since the load it is measured with does
 * not do that.
 */
#include "listen.h"

static const char answer[] = "HTTP/1.1 200 OK\r\n"
			     "Server: floor\r\n"
			     "Date: Tue, 15 Nov 1994 08:12:31 GMT\r\n"
			     "Content-Type: text/plain\r\n"
			     "Content-Length: 13\r\n"
			     "\r\n"
			     "Hello, World!";

static const char last_answer[] = "HTTP/1.1 200 OK\r\n"
				  "Server: floor\r\n"
				  "Date: Tue, 15 Nov 1994 08:12:31 GMT\r\n"
				  "Content-Type: text/plain\r\n"
				  "Content-Length: 13\r\n"
				  "Connection: close\r\n"
				  "\r\n"
				  "Hello, World!";

enum { answer_size = sizeof(answer) - 1, batch = 64, in_size = 65536, most = 256 };

static char in[in_size];
static char out[most * answer_size];

static void watch(int set, int fd, unsigned events)
{
	struct epoll_event ev = {.events = events, .data.fd = fd};

	if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &ev) < 0)
		fail("epoll_ctl");
}

static void accept_all(int set, int listener)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0)
		watch(set, fd, EPOLLIN | EPOLLRDHUP | EPOLLET);
}

static void serve(int fd)
{
	ssize_t n = read(fd, in, sizeof(in));
	int requests = 0;
	int close_it = 0;

	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			close(fd);
		return;
	}
	for (const char *p = in, *end = in + n; (p = memmem(p, end - p, "\r\n\r\n", 4)); p += 4)
		if (++requests == most)
			break;
	if (memmem(in, n, "Connection: close", 17) != NULL) {
		/* the load sends such a request by itself */
		n = write(fd, last_answer, sizeof(last_answer) - 1);
		close_it = 1;
	} else if (requests && write(fd, out, requests * answer_size) < 0) {
		close_it = 1;
	}
	if (close_it)
		close(fd);
}

int main(int argc, char **argv)
{
	const char *addr = "127.0.0.1:8080";
	struct epoll_event events[batch];
	int set = epoll_create1(0);

	for (int i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], "-addr") == 0)
			addr = argv[i + 1];
	}
	for (int i = 0; i < most; i++)
		memcpy(out + i * answer_size, answer, answer_size);
	int listener = listen_on(addr);
	watch(set, listener, EPOLLIN);
	watch(set, STDIN_FILENO, EPOLLIN);
	for (;;) {
		int n = epoll_wait(set, events, batch, -1);

		for (int i = 0; i < n; i++) {
			if (events[i].data.fd == STDIN_FILENO)
				return 0;
			if (events[i].data.fd == listener)
				accept_all(set, listener);
			else
				serve(events[i].data.fd);
		}
	}
}
