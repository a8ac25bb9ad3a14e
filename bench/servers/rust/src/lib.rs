//! What the servers have in common: their command line, ADDRESS WAIT-MS [CERTIFICATE KEY], and
//! the configuration of TLS.

use std::fs::File;
use std::io::BufReader;
use std::time::Duration;

use rustls::crypto::{ring, CryptoProvider};
use rustls::ServerConfig;

pub struct Job {
    pub addr: String,
    pub wait: Duration,
    pub tls: Option<ServerConfig>,
}

impl Job {
    pub fn from_args() -> Job {
        let args: Vec<String> = std::env::args().skip(1).collect();
        assert!(args.len() == 2 || args.len() == 4, "usage: ADDRESS WAIT-MS [CERTIFICATE KEY]");
        Job {
            addr: args[0].clone(),
            wait: Duration::from_millis(args[1].parse().expect("the wait is no number")),
            tls: (args.len() == 4).then(|| tls(&args[2], &args[3])),
        }
    }
}

/// TLS 1.3 with the cipher that all servers of a comparison have.
fn tls(cert: &str, key: &str) -> ServerConfig {
    let open = |name| BufReader::new(File::open(name).unwrap());
    let certs = rustls_pemfile::certs(&mut open(cert)).collect::<Result<Vec<_>, _>>().unwrap();
    let key = rustls_pemfile::private_key(&mut open(key)).unwrap().expect("there is no key");
    let provider = CryptoProvider {
        cipher_suites: vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256],
        ..ring::default_provider()
    };
    ServerConfig::builder_with_provider(provider.into())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certs, key)
        .unwrap()
}
