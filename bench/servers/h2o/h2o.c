/*
 * A server on libh2o with its own event loop, on one thread:
 *
 *   h2o ADDRESS WAIT-MS [CERTIFICATE KEY]
 *
 * It answers every request as the other servers of cmd/peers do, WAIT-MS milliseconds later.
 */
#define H2O_USE_EPOLL 1
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <h2o.h>

static h2o_globalconf_t config;
static h2o_context_t context;
static h2o_accept_ctx_t accepting;
static h2o_timeout_t delay;
static int wait_ms;

struct waiting {
	h2o_timeout_entry_t entry;
	h2o_req_t *req;
};

static void answer(h2o_req_t *req)
{
	static h2o_generator_t generator = {NULL, NULL};
	h2o_iovec_t body = h2o_strdup(&req->pool, H2O_STRLIT("Hello, World!"));
	req->res.status = 200;
	req->res.reason = "OK";
	req->res.content_length = body.len;
	h2o_add_header(&req->pool, &req->res.headers, H2O_TOKEN_CONTENT_TYPE, NULL, H2O_STRLIT("text/plain"));
	h2o_start_response(req, &generator);
	h2o_send(req, &body, 1, H2O_SEND_STATE_FINAL);
}

static void on_timeout(h2o_timeout_entry_t *entry)
{
	answer(H2O_STRUCT_FROM_MEMBER(struct waiting, entry, entry)->req);
}

/* The pool of a request disposes of what it waits for if its client disconnects. */
static void on_dispose(void *p)
{
	h2o_timeout_unlink(&((struct waiting *)p)->entry);
}

static int on_req(h2o_handler_t *self, h2o_req_t *req)
{
	(void)self;
	if (wait_ms == 0) {
		answer(req);
		return 0;
	}
	struct waiting *w = h2o_mem_alloc_shared(&req->pool, sizeof(*w), on_dispose);
	memset(w, 0, sizeof(*w));
	w->entry.cb = on_timeout;
	w->req = req;
	h2o_timeout_link(context.loop, &delay, &w->entry);
	return 0;
}

static void on_accept(h2o_socket_t *listener, const char *err)
{
	h2o_socket_t *sock;
	if (err != NULL)
		return;
	while ((sock = h2o_evloop_socket_accept(listener)) != NULL)
		h2o_accept(&accepting, sock);
}

static int bound(const char *text)
{
	struct sockaddr_in addr = {.sin_family = AF_INET};
	char host[64];
	const char *colon = strrchr(text, ':');
	int fd, on = 1;
	if (colon == NULL || (size_t)(colon - text) >= sizeof(host))
		return -1;
	memcpy(host, text, colon - text);
	host[colon - text] = 0;
	addr.sin_port = htons(atoi(colon + 1));
	if (inet_pton(AF_INET, host, &addr.sin_addr) != 1 || (fd = socket(AF_INET, SOCK_STREAM, 0)) < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0 || listen(fd, 4096) != 0)
		return -1;
	return fd;
}

static SSL_CTX *tls(const char *cert, const char *key)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
	if (SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256") != 1 ||
	    SSL_CTX_use_certificate_chain_file(ctx, cert) != 1 ||
	    SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
		return NULL;
	return ctx;
}

int main(int argc, char **argv)
{
	h2o_hostconf_t *host;
	h2o_handler_t *handler;
	int fd;
	if (argc != 3 && argc != 5) {
		fprintf(stderr, "usage: h2o ADDRESS WAIT-MS [CERTIFICATE KEY]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	wait_ms = atoi(argv[2]);
	h2o_config_init(&config);
	host = h2o_config_register_host(&config, h2o_iovec_init(H2O_STRLIT("default")), 65535);
	handler = h2o_create_handler(h2o_config_register_path(host, "/", 0), sizeof(*handler));
	handler->on_req = on_req;
	h2o_context_init(&context, h2o_evloop_create(), &config);
	/* The clock of the loop is behind by up to a millisecond. */
	h2o_timeout_init(context.loop, &delay, wait_ms + 1);
	accepting.ctx = &context;
	accepting.hosts = config.hosts;
	if (argc == 5 && (accepting.ssl_ctx = tls(argv[3], argv[4])) == NULL) {
		fprintf(stderr, "h2o: the certificate is not usable\n");
		return 1;
	}
	if ((fd = bound(argv[1])) < 0) {
		perror("h2o");
		return 1;
	}
	h2o_socket_read_start(h2o_evloop_socket_create(context.loop, fd, H2O_SOCKET_FLAG_DONT_READ), on_accept);
	while (h2o_evloop_run(context.loop, INT32_MAX) == 0)
		;
	return 1;
}
