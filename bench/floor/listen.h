/*
 * The common part of the loops. Like the other servers of the socket benchmarks
 * they print "ready ADDRESS" and end when their standard input does; they know
 * the flag -addr and ignore all others.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int listen_on(const char *addr)
{
	int one = 1;
	char host[64] = "";
	int port = 0;
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (sscanf(addr, "%63[^:]:%d", host, &port) != 2 || inet_pton(AF_INET, host, &at.sin_addr) != 1) {
		fprintf(stderr, "floor: not an address: %s\n", addr);
		exit(2);
	}
	at.sin_port = htons(port);
	if (fd < 0)
		fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		fail("bind");
	if (listen(fd, 4096) < 0 || getsockname(fd, (struct sockaddr *)&at, &size) < 0)
		fail("listen");
	printf("ready %s:%d\n", host, ntohs(at.sin_port));
	fflush(stdout);
	return fd;
}
