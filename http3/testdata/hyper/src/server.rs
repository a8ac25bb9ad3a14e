//! A server on a UDP port that it prints. It echoes content as it arrives, and trailers, until its
//! standard input ends. A request with the path /goaway makes its connection end gracefully.

use std::io::{Read, Write};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use h3::error::StreamError;
use h3::server::{RequestResolver, RequestStream};
use h3_quinn::{BidiStream, Connection};
use http::{HeaderMap, Request, Response};
use quinn::crypto::rustls::QuicServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::Result;

pub async fn run(certificate: &str, key: &str) -> Result<()> {
    let chain = vec![CertificateDer::from(std::fs::read(certificate)?)];
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(std::fs::read(key)?));
    let mut tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let endpoint = quinn::Endpoint::server(config, "127.0.0.1:0".parse()?)?;
    println!("{}", endpoint.local_addr()?.port());
    std::io::stdout().flush()?;
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let mut number = 0;
    while let Some(incoming) = endpoint.accept().await {
        number += 1;
        tokio::spawn(async move {
            if let Err(err) = serve(incoming, number).await {
                eprintln!("connection {number}: {err}");
            }
        });
    }
    Ok(())
}

async fn serve(incoming: quinn::Incoming, number: u32) -> Result<()> {
    let mut conn = h3::server::Connection::new(Connection::new(incoming.await?)).await?;
    loop {
        let request: RequestResolver<Connection, Bytes> = match conn.accept().await {
            Ok(Some(request)) => request,
            Ok(None) => return Ok(()),
            Err(err) if err.is_h3_no_error() => return Ok(()),
            Err(err) => return Err(err.into()),
        };
        let (head, stream) = match request.resolve_request().await {
            // a request that the client sends again, since GOAWAY has arrived
            Err(StreamError::RemoteTerminate { .. }) => continue,
            other => other?,
        };
        if head.uri().path() == "/goaway" {
            // with 0, GOAWAY has the id of this request, which says that it is not served
            conn.shutdown(1).await?;
        }
        tokio::spawn(async move {
            match respond(head, stream, number).await {
                Err(err) if !is_cancelled(&err) => {
                    eprintln!("request of connection {number}: {err}")
                }
                _ => (),
            }
        });
    }
}

/// is_cancelled reports whether an error is the end of a stream by the client.
fn is_cancelled(err: &crate::Error) -> bool {
    matches!(err.downcast_ref(), Some(StreamError::RemoteTerminate { .. }))
}

async fn respond(head: Request<()>, mut stream: RequestStream<BidiStream<Bytes>, Bytes>, number: u32) -> Result<()> {
    let same = head.headers().get("x-same").map_or("", |v| v.to_str().unwrap_or(""));
    let seen = format!("{} {} {same}", head.method(), head.uri().path()).trim_end().to_string();
    stream.send_response(Response::builder().status(103).header("link", "</a>").body(())?).await?;
    let response = Response::builder().header("x-seen", seen).header("x-connection", number);
    stream.send_response(response.body(())?).await?;
    while let Some(mut part) = stream.recv_data().await? {
        stream.send_data(part.copy_to_bytes(part.remaining())).await?;
    }
    let mut trailers = HeaderMap::new();
    if let Some(sum) = stream.recv_trailers().await?.as_ref().and_then(|t| t.get("x-sum")) {
        trailers.insert("x-after", sum.clone());
    }
    if !trailers.is_empty() {
        stream.send_trailers(trailers).await?;
    }
    stream.finish().await?;
    Ok(())
}
