import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A server on netty with epoll and one event loop: Netty ADDRESS WAIT-MS [CERTIFICATE KEY].
 *
 * <p>It answers every request as the other servers of cmd/peers do, WAIT-MS milliseconds later.
 */
public final class Netty {
    private static final ByteBuf BODY =
            Unpooled.unreleasableBuffer(
                    Unpooled.directBuffer().writeBytes("Hello, World!".getBytes(StandardCharsets.US_ASCII)));

    public static void main(String[] args) throws Exception {
        if (args.length != 2 && args.length != 4) {
            System.err.println("usage: Netty ADDRESS WAIT-MS [CERTIFICATE KEY]");
            System.exit(2);
        }
        int colon = args[0].lastIndexOf(':');
        long wait = Long.parseLong(args[1]);
        SslContext tls =
                args.length == 2
                        ? null
                        : SslContextBuilder.forServer(new File(args[2]), new File(args[3]))
                                .sslProvider(SslProvider.OPENSSL)
                                .protocols("TLSv1.3")
                                .ciphers(List.of("TLS_AES_128_GCM_SHA256"))
                                .build();
        EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
        new ServerBootstrap()
                .group(loop)
                .channel(EpollServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, 4096)
                .childHandler(
                        new ChannelInitializer<SocketChannel>() {
                            @Override
                            protected void initChannel(SocketChannel channel) {
                                if (tls != null) {
                                    channel.pipeline().addLast(tls.newHandler(channel.alloc()));
                                }
                                channel.pipeline().addLast(new HttpServerCodec(), new Hello(wait));
                            }
                        })
                .bind(args[0].substring(0, colon), Integer.parseInt(args[0].substring(colon + 1)))
                .sync()
                .channel()
                .closeFuture()
                .sync();
    }

    private static final class Hello extends SimpleChannelInboundHandler<HttpObject> {
        private final long wait;

        Hello(long wait) {
            this.wait = wait;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, HttpObject part) {
            if (!(part instanceof HttpRequest)) {
                return;
            }
            if (wait == 0) {
                ctx.write(answer());
                return;
            }
            ctx.executor().schedule(() -> ctx.writeAndFlush(answer()), wait, TimeUnit.MILLISECONDS);
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext ctx) {
            ctx.flush();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }

        private static FullHttpResponse answer() {
            FullHttpResponse answer =
                    new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, BODY.duplicate());
            answer.headers()
                    .set(HttpHeaderNames.CONTENT_TYPE, "text/plain")
                    .setInt(HttpHeaderNames.CONTENT_LENGTH, BODY.readableBytes());
            return answer;
        }
    }
}
