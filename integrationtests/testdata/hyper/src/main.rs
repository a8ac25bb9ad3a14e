// Requests by way of hyper, without TLS. The argument is the origin of the server. It prints
// the name of each part that has passed.
use http_body_util::{combinators::BoxBody, BodyExt, Empty, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;

type Body = BoxBody<Bytes, Infallible>;

fn empty() -> Body {
    Empty::new().boxed()
}

fn whole(body: Vec<u8>) -> Body {
    Full::new(Bytes::from(body)).boxed()
}

// pieces is a body of unknown length, with trailers if there are any.
fn pieces(body: &[u8], trailers: Option<HeaderMap>) -> Body {
    let mut frames: Vec<Result<Frame<Bytes>, Infallible>> =
        body.chunks(10_000).map(|p| Ok(Frame::data(Bytes::copy_from_slice(p)))).collect();
    frames.extend(trailers.map(|t| Ok(Frame::trailers(t))));
    StreamBody::new(Frames(frames.into_iter())).boxed()
}

struct Frames(std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>);

impl futures_core::Stream for Frames {
    type Item = Result<Frame<Bytes>, Infallible>;
    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.next())
    }
}

struct Client {
    origin: String,
    send: SendRequest<Body>,
}

struct Reply {
    head: Response<()>,
    body: Bytes,
    trailers: HeaderMap,
}

impl Client {
    fn request(&self, method: &str, path: &str, fields: &[(&str, &str)], body: Body) -> Request<Body> {
        let mut r = Request::builder().method(method).uri(format!("{}{}", self.origin, path));
        for (name, value) in fields {
            r = r.header(*name, *value);
        }
        r.body(body).unwrap()
    }

    async fn ask(&self, method: &str, path: &str, fields: &[(&str, &str)], body: Body) -> Reply {
        let request = self.request(method, path, fields, body);
        let (head, body) = self.send.clone().send_request(request).await.unwrap().into_parts();
        assert_eq!(head.status, 200);
        let collected = body.collect().await.unwrap();
        let trailers = collected.trailers().cloned().unwrap_or_default();
        Reply { head: Response::from_parts(head, ()), body: collected.to_bytes(), trailers }
    }

    async fn get(&self, path: &str) -> Bytes {
        self.ask("GET", path, &[], empty()).await.body
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let origin = std::env::args().nth(1).unwrap();
    let address = origin.strip_prefix("http://").unwrap();
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let (send, conn) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let conn = tokio::spawn(conn);
    let c = Client { origin: origin.clone(), send };
    let large: Vec<u8> = (0..1 << 17).flat_map(|i| format!("{:07}\n", i).into_bytes()).collect();
    let size = large.len();

    assert_eq!(c.get("/proto").await, "HTTP/2.0");
    println!("get");

    assert!(c.get(&format!("/text?n={size}")).await == large);
    println!("large");

    assert!(c.get(&format!("/stream?n={size}")).await == large);
    println!("stream");

    assert!(c.ask("POST", "/echo", &[], whole(large.clone())).await.body == large);
    println!("post");

    assert!(c.ask("POST", "/echo/stream", &[], pieces(&large, None)).await.body == large);
    println!("post stream");

    let r = c.ask("HEAD", "/text?n=1000", &[], empty()).await;
    assert!(r.head.headers()["content-length"] == "1000" && r.body.is_empty());
    println!("head");

    let mut sum = HeaderMap::new();
    sum.insert("x-sum", "7".parse().unwrap());
    let r = c.ask("POST", "/trailers", &[("trailer", "x-sum")], pieces(b"abc", Some(sum))).await;
    assert!(r.body == "abc" && r.trailers["x-echoed"] == "7" && !r.head.headers().contains_key("x-echoed"));
    println!("trailers");

    // hyper drops the 103
    assert_eq!(c.get("/hints").await, "hinted");
    println!("hints");

    let mut all = Vec::new();
    for i in 0..100 {
        let request = c.request("GET", &format!("/text?n={}", i * 100), &[], empty());
        all.push(tokio::spawn(c.send.clone().send_request(request)));
    }
    for (i, response) in all.into_iter().enumerate() {
        let body = response.await.unwrap().unwrap().into_body().collect().await.unwrap().to_bytes();
        assert!(body == large[..i * 100]);
    }
    println!("at once");

    let hangs = tokio::spawn(c.send.clone().send_request(c.request("GET", "/hang", &[], empty())));
    assert_eq!(c.get("/hangs").await, "hangs");
    hangs.abort();
    assert_eq!(c.get("/gone").await, "context canceled");
    println!("reset");

    drop(c);
    conn.await.unwrap().unwrap();
    println!("one connection");
}
