//! A client, which prints a line for each response.

use std::future::poll_fn;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::client::{RequestStream, SendRequest};
use h3::error::StreamError;
use h3_quinn::{BidiStream, OpenStreams};
use http::{HeaderMap, Request, Response};
use quinn::crypto::rustls::QuicClientConfig;
use rustls::pki_types::CertificateDer;

use crate::Result;

type Sender = SendRequest<OpenStreams, Bytes>;
type Stream = RequestStream<BidiStream<Bytes>, Bytes>;

pub async fn run(port: u16, certificate: &str) -> Result<()> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(certificate)?))?;
    let mut tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let mut endpoint = quinn::Endpoint::client("127.0.0.1:0".parse()?)?;
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?)));
    let quic = endpoint.connect(format!("127.0.0.1:{port}").parse()?, "localhost")?.await?;
    let (mut driver, mut sender) = h3::client::new(h3_quinn::Connection::new(quic)).await?;
    let driver = tokio::spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });

    for i in 0..20 {
        let (head, content, _) = exchange(&mut sender, "GET", &format!("/{i}"), Bytes::new(), None).await?;
        println!("get {} {}", head.status().as_u16(), String::from_utf8(content)?);
    }
    let (head, content, _) = exchange(&mut sender, "POST", "/post", vec![b'x'; 300_000].into(), None).await?;
    println!("post {} {}", head.status().as_u16(), content.len());
    let mut fields = HeaderMap::new();
    fields.insert("x-sum", "17".parse()?);
    let (head, content, trailers) = exchange(&mut sender, "POST", "/trailers", "abc".into(), Some(fields)).await?;
    let after = trailers.as_ref().and_then(|t| t.get("x-after")).map_or("", |v| v.to_str().unwrap_or(""));
    println!("trailers {} {} {}", head.status().as_u16(), String::from_utf8(content)?, after);
    many(&sender).await?;
    both(&mut sender).await?;
    goaway(&mut sender).await?;

    drop(sender); // closes the connection
    let end = driver.await?;
    println!("end {}", if end.is_h3_no_error() { "without error".into() } else { end.to_string() });
    endpoint.wait_idle().await;
    Ok(())
}

async fn begin(sender: &mut Sender, method: &str, path: &str) -> std::result::Result<Stream, StreamError> {
    let uri = format!("https://localhost{path}");
    let head =
        Request::builder().method(method).uri(uri).header("x-same", "a value").body(()).expect("a valid request");
    sender.send_request(head).await
}

/// exchange sends a request and returns its response: head, content and trailers.
async fn exchange(
    sender: &mut Sender,
    method: &str,
    path: &str,
    content: Bytes,
    trailers: Option<HeaderMap>,
) -> Result<(Response<()>, Vec<u8>, Option<HeaderMap>)> {
    let mut stream = begin(sender, method, path).await?;
    if !content.is_empty() {
        stream.send_data(content).await?;
    }
    if let Some(fields) = trailers {
        stream.send_trailers(fields).await?;
    }
    stream.finish().await?;
    let head = stream.recv_response().await?;
    let mut got = Vec::new();
    while receive(&mut stream, &mut got).await? {}
    Ok((head, got, stream.recv_trailers().await?))
}

/// receive appends the next part of the content of a response, and returns false at its end.
async fn receive(stream: &mut Stream, got: &mut Vec<u8>) -> Result<bool> {
    let Some(mut part) = stream.recv_data().await? else {
        return Ok(false);
    };
    got.extend_from_slice(&part.copy_to_bytes(part.remaining()));
    Ok(true)
}

/// many sends requests at the same time.
async fn many(sender: &Sender) -> Result<()> {
    let tasks: Vec<_> = (0..50)
        .map(|i: usize| {
            let mut sender = sender.clone();
            tokio::spawn(async move {
                let want = i.to_string().repeat(100);
                let (_, got, _) = exchange(&mut sender, "POST", "/many", want.clone().into(), None).await?;
                Result::Ok(got == want.into_bytes())
            })
        })
        .collect();
    let mut right = 0;
    for task in tasks {
        right += usize::from(task.await??);
    }
    println!("many {right}");
    Ok(())
}

/// both sends each part of a request once the part before it was echoed.
async fn both(sender: &mut Sender) -> Result<()> {
    let mut stream = begin(sender, "POST", "/both").await?;
    let mut got = Vec::new();
    let mut sent = 0;
    for size in [1, 1000, 30_000] {
        stream.send_data(vec![b'x'; size].into()).await?;
        if sent == 0 {
            println!("both {}", stream.recv_response().await?.status().as_u16());
        }
        sent += size;
        while got.len() < sent && receive(&mut stream, &mut got).await? {}
        println!("both {}", got.len());
    }
    stream.finish().await?;
    println!("both ends {}", !receive(&mut stream, &mut got).await?);
    Ok(())
}

/// goaway sends requests until the server wants no more, while another one is under way, which
/// then ends as usual.
async fn goaway(sender: &mut Sender) -> Result<()> {
    let mut stream = begin(sender, "POST", "/both").await?;
    let mut got = Vec::new();
    stream.send_data("before ".into()).await?;
    stream.recv_response().await?;
    while got.len() < "before ".len() && receive(&mut stream, &mut got).await? {}
    exchange(sender, "GET", "/shutdown", Bytes::new(), None).await?;
    loop {
        let mut next = match begin(sender, "GET", "/next").await {
            Err(StreamError::RemoteClosing { .. }) => break,
            other => other?,
        };
        next.finish().await?;
        match next.recv_response().await {
            // it was under way
            Err(StreamError::RemoteTerminate { code, .. }) if code == h3::error::Code::H3_REQUEST_REJECTED => continue,
            other => other?,
        };
        while receive(&mut next, &mut Vec::new()).await? {}
    }
    stream.send_data("after".into()).await?;
    stream.finish().await?;
    while receive(&mut stream, &mut got).await? {}
    println!("goaway {}", String::from_utf8(got)?);
    Ok(())
}
