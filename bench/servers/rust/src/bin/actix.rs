// actix-web with one worker. The argument is the address.

use actix_web::{web, App, HttpResponse, HttpServer};

async fn hello() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body("Hello, World!")
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let addr = std::env::args().nth(1).expect("the address is missing");
    HttpServer::new(|| App::new().default_service(web::to(hello)))
        .workers(1)
        .backlog(4096)
        .bind(addr)?
        .run()
        .await
}
