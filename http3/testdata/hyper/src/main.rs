//! A client and a server of HTTP/3 for tests.
//!
//! usage: hyper-peer client PORT CERTIFICATE
//!        hyper-peer server CERTIFICATE KEY
//!
//! The files are in DER.

mod client;
mod server;

pub type Error = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T> = std::result::Result<T, Error>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match args[..] {
        ["client", port, certificate] => runtime.block_on(client::run(port.parse()?, certificate)),
        ["server", certificate, key] => runtime.block_on(server::run(certificate, key)),
        _ => Err("usage: hyper-peer client PORT CERTIFICATE | server CERTIFICATE KEY".into()),
    }
}
