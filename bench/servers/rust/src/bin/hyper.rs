// hyper on tokio, on one thread.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use peers::Job;
use tokio::io::{AsyncRead, AsyncWrite};

async fn hello(wait: Duration) -> Result<Response<Full<Bytes>>, Infallible> {
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
    Ok(Response::builder()
        .header("Content-Type", "text/plain")
        .body(Full::new(Bytes::from_static(b"Hello, World!")))
        .unwrap())
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, wait: Duration) {
    let _ = http1::Builder::new()
        .pipeline_flush(true)
        .serve_connection(TokioIo::new(stream), service_fn(move |_: Request<Incoming>| hello(wait)))
        .await;
}

fn main() {
    let job = Job::from_args();
    let acceptor = job.tls.map(|config| tokio_rustls::TlsAcceptor::from(Arc::new(config)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async move {
        let listener = tokio::net::TcpListener::bind(job.addr).await.unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            stream.set_nodelay(true).unwrap();
            let acceptor = acceptor.clone();
            tokio::task::spawn_local(async move {
                let Some(acceptor) = acceptor else { return serve(stream, job.wait).await };
                if let Ok(stream) = acceptor.accept(stream).await {
                    serve(stream, job.wait).await
                }
            });
        }
    });
}
