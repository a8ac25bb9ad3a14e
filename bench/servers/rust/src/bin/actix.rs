// actix-web with one worker.

use std::time::Duration;

use actix_web::{web, App, HttpResponse, HttpServer};
use peers::Job;

async fn hello(wait: web::Data<Duration>) -> HttpResponse {
    if !wait.is_zero() {
        actix_web::rt::time::sleep(**wait).await;
    }
    HttpResponse::Ok().content_type("text/plain").body("Hello, World!")
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let job = Job::from_args();
    let wait = web::Data::new(job.wait);
    let server = HttpServer::new(move || App::new().app_data(wait.clone()).default_service(web::to(hello)))
        .workers(1)
        .backlog(4096);
    match job.tls {
        Some(config) => server.bind_rustls_0_23(job.addr, config)?,
        None => server.bind(job.addr)?,
    }
    .run()
    .await
}
